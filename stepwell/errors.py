"""What the command, the Python API and the routes refuse: each message is one sentence."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response


class ThreadError(Exception):
    """The thread does not exist, is ambiguous, busy, or not in a state for this."""


class UsageError(Exception):
    """The command was used wrongly; the message says what to do."""


class RefusedError(Exception):
    """A request is refused, with a status of HTTP and a sentence that says what to do."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = dict(headers or {})

    def answer(self) -> "Response":
        """The refusal as an answer."""
        from starlette.responses import JSONResponse

        return JSONResponse({"detail": str(self)}, self.status, self.headers)
