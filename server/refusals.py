"""What the graph refuses while a request waits for it, such as an edit of State, as answers of HTTP.

LangGraph's server asks the handlers of the application that it is given. Aegra makes an `HTTPException` with the status
500 of whatever an edit raises, and keeps what it was as that one's cause.
"""

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import Response

from graph.checkpoints.damage import DiskError
from graph.checkpoints.thread_lock import ThreadHeldError
from graph.users.edited_state import EditError
from graph.users.identity import IdentityError
from server.routing import RefusedError

STATUSES: Mapping[type[Exception], int] = {EditError: 422, IdentityError: 422, ThreadHeldError: 409, DiskError: 507}

Handler = Callable[[Request, Exception], Awaitable[Response]]


def refusal(error: BaseException | None) -> RefusedError | None:
    """What to answer to an error, or to one that it comes from; None when the graph refused nothing."""
    while error is not None:
        for kind, status in STATUSES.items():
            if isinstance(error, kind):
                return RefusedError(status, str(error))
        error = error.__cause__
    return None


async def answer(request: Request, error: Exception) -> Response:
    """Say why something was refused, with its status.

    Raises:
        Exception: the error itself, when it is none of the graph's refusals.
    """
    refused = refusal(error)
    if refused is None:
        raise error
    return refused.answer()


handlers: Mapping[type[Exception], Handler] = dict.fromkeys(STATUSES, answer)
"""For Starlette's `exception_handlers`."""
