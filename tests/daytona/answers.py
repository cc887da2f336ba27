"""What both halves of the service answer when they refuse: one JSON shape, one exception for it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus

from aiohttp import web


class RefusedError(Exception):
    """The service says no; the middleware makes the answer of it."""

    def __init__(
        self, status: int, message: str, *, code: str = "", source: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.source = source
        self.headers = dict(headers or {})

    def answer(self, request: web.Request) -> web.Response:
        """The answer to that request."""
        source = self.source or ("DAYTONA_API" if request.path.startswith("/api/") else "DAYTONA_DAEMON")
        said = {
            "statusCode": self.status,
            "error": HTTPStatus(self.status).phrase,
            "message": self.message,
            "source": source,
            "path": request.path,
            "timestamp": now(),
        }
        if self.code:
            said["code"] = self.code
        return web.json_response(said, status=self.status, headers=self.headers)


def now() -> str:
    """The time, as the service writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
