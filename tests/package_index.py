"""A tiny index of packages (PEP 503) for tests, with small wheels that are made here."""

import asyncio
import base64
import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def wheel(name: str, version: str, files: dict[str, str], *, needs: tuple[str, ...] = (), script: str = "") -> bytes:
    """A pure-Python wheel.

    Args:
        name: The distribution.
        version: Its version.
        files: Path → text.
        needs: What it depends on.
        script: `name = module:function`, if it has a command.
    """
    info = f"{name}-{version}.dist-info"
    wanted = "".join(f"Requires-Dist: {one}\n" for one in needs)
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wanted}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if script:
        content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script}\n"
    record = ""
    for path, text in content.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return made.getvalue()


class Index:
    """Packages by their file names, served over HTTP."""

    def __init__(self, wheels: dict[str, bytes]) -> None:
        self.wheels = wheels
        self.asked: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
            self.asked.append(path)
            status, kind, body = self._page(path)
            head = (
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _page(self, path: str) -> tuple[str, str, bytes]:
        name = path.rstrip("/").rpartition("/")[2]
        if name in self.wheels:
            return "200 OK", "application/octet-stream", self.wheels[name]
        found = [file for file in self.wheels if file.split("-")[0].replace("_", "-") == name]
        if not found:
            return "404 Not Found", "text/plain", b"no such package"
        links = "".join(f'<a href="/files/{file}">{file}</a>\n' for file in found)
        return "200 OK", "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()


@asynccontextmanager
async def package_index(*wheels: tuple[str, bytes]) -> AsyncIterator[Index]:
    """An index that serves on loopback: file name, content."""
    index = Index(dict(wheels))
    server = await asyncio.start_server(index.serve, "127.0.0.1", 0)
    index.port = server.sockets[0].getsockname()[1]
    async with server:
        yield index
