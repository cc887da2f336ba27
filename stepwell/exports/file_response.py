"""How a file is handed to a browser: the part that it asked for (RFC 9110), and nothing that runs there."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from stepwell.errors import RefusedError
from stepwell.exports.served_files import INLINE, SAFE, content_type, disposition
from storage.artifacts import mime_of
from storage.published_files import PublishedFile

RANGE = re.compile(r"bytes=(\d*)-(\d*)")
DIGITS = 18


class FileResponse(Response):
    """Hands over a file, or the part of it that was asked for; it is opened when the answer is sent, and closed then.

    What opening it raises is raised then, and `RefusedError` for a part beyond the end.

    Args:
        request: What asks for it.
        name: What it is called.
        open: Opens it.
        known: Its size and version, where it need not be opened for these.
        inline: MIME types that a browser may show itself.
        more: Headers that take the place of the usual ones.
    """

    def __init__(
        self,
        request: Request,
        name: str,
        open: Callable[[], AbstractAsyncContextManager[PublishedFile]],
        known: tuple[int, str] | None = None,
        *,
        inline: frozenset[str] = INLINE,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.begun = False
        """Whether something of the answer may have been sent."""
        self._known = known
        self._request = request
        self._name = name
        self._open = open
        self._inline = inline
        self._more = more

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        if self._known is not None and isinstance(answer := self._head(*self._known), Response):
            await answer(scope, receive, send)
            return
        async with self._open() as file:
            answer = await self._answer(file)
            self.begun = True
            await answer(scope, receive, send)

    async def _answer(self, file: PublishedFile) -> Response:
        head = self._head(file.size, file.version)
        if isinstance(head, Response):
            return head
        status, headers, start, end = head
        pieces = file.pieces(start, end)
        first = await anext(pieces, b"")  # while an error can still be answered

        async def all_pieces() -> AsyncIterator[bytes]:
            yield first
            async for piece in pieces:
                yield piece

        return StreamingResponse(all_pieces(), status, headers)

    def _head(self, size: int, version: str) -> Response | tuple[int, dict[str, str], int, int]:
        """The whole answer, when nothing of the file is in it; else its status, its headers, and which part comes.

        Raises:
            RefusedError: the part that is asked for lies beyond the end.
        """
        asked = self._request.headers
        kind = mime_of(self._name)
        tag = f'"{version}"'
        headers = {
            **SAFE,
            **self._more,
            "ETag": tag,
            "Accept-Ranges": "bytes",
            "Content-Type": content_type(kind),
            "Content-Disposition": disposition(self._name, inline=kind in self._inline and not self._as_download()),
        }
        if tag in [one.strip().removeprefix("W/") for one in asked.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        status, start, end = 200, 0, size
        part = range_of(asked.get("range", ""), size) if asked.get("if-range", tag) == tag else None
        if part is not None:
            status, (start, end) = 206, part
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        headers["Content-Length"] = str(end - start)
        if self._request.method == "HEAD":
            return Response(status_code=status, headers=headers)
        return status, headers, start, end

    def _as_download(self) -> bool:
        return self._request.query_params.get("download", "") not in ("", "0", "false")


def range_of(asked: str, size: int) -> tuple[int, int] | None:
    """The part of a file that a `Range` asks for, as its first byte and the one after its last; None: all of it.

    Several ranges at once are answered with the whole, as RFC 9110 allows.

    Raises:
        RefusedError: it lies beyond the end.
    """
    found = RANGE.fullmatch(asked.strip())
    if found is None or not (found[1] or found[2]) or max(len(found[1]), len(found[2])) > DIGITS:
        return None
    if not found[1]:
        start, end = max(size - int(found[2]), 0), size
    else:
        start, end = int(found[1]), size
        if found[2]:
            if int(found[2]) < start:
                return None  # no valid range, so there is none
            end = min(int(found[2]) + 1, size)
    if start >= end:
        raise RefusedError(416, f"The file has {size:,} bytes.", {"Content-Range": f"bytes */{size}"})
    return start, end
