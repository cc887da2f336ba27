"""What the command, the Python API and the routes refuse: each message is one sentence."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response


class ThreadError(Exception):
    """The thread does not exist, is ambiguous, busy, or not in a state for this.

    Args:
        sentence: What is wrong and what to do.
        in_chat: The same for who sits in `stepwell chat`, where that is another command; empty: it is not.
    """

    def __init__(self, sentence: str, in_chat: str = "") -> None:
        super().__init__(sentence)
        self.in_chat = in_chat


class UsageError(Exception):
    """The command was used wrongly; the message says what to do."""


class FileThereError(UsageError):
    """A file would be replaced, and nobody said that it may be."""

    def __init__(self, file: object, replace: str = "overwrite=True") -> None:
        super().__init__(f"{file} is there already; give another name, or {replace}.")
        self.file = file


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
