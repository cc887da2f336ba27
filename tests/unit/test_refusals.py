"""What the graph refuses in the middle of a request is answered with a status and one sentence."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graph.checkpoints.thread_lock import ThreadHeldError
from graph.users.edited_state import EditError
from graph.users.identity import IdentityError
from server.rates import handlers, refusal


async def answer_to(error: Exception) -> httpx.Response:
    async def raises(request: Request) -> Response:
        raise error

    app = Starlette(routes=[Route("/", raises)], exception_handlers={**handlers})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as http:
        return await http.get("/")


@pytest.mark.parametrize(
    ("error", "status"),
    [(EditError("Not yours."), 422), (IdentityError("Leave it out."), 422), (ThreadHeldError("Wait."), 409)],
)
async def test_a_refusal_of_the_graph_is_answered_with_its_sentence(error: Exception, status: int) -> None:
    answer = await answer_to(error)
    assert (answer.status_code, answer.json()) == (status, {"detail": str(error)})


async def test_another_error_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        await answer_to(RuntimeError("broken"))


def test_the_error_that_a_server_made_of_a_refusal_is_known_by_its_cause() -> None:
    made = HTTPException(500, "Failed to update thread state")
    assert refusal(made) is None
    made.__cause__ = EditError("Not yours.")
    found = refusal(made)
    assert found is not None
    assert (found.status, str(found)) == (422, "Not yours.")
