"""A sandbox of Daytona's as the machine of a bridged one: commands and files by its toolbox, streams by contexts.

A stream is the output of an interpreter context, which takes one request at a time and cannot be cancelled: one that
did not end by itself is not used again.
"""

import base64
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.bridged.machine import End, Machine
from sandboxes.daytona.client import Clients
from sandboxes.daytona.errors import KeyRefusedError, translated
from sandboxes.daytona.lifecycle import Lifecycle
from sandboxes.daytona.options import Options

if TYPE_CHECKING:
    from daytona import AsyncSandbox, OutputMessage
    from daytona_toolbox_api_client_async import InterpreterContext

MAX_CODE = 200_000
"""Characters of code; a longer request is uploaded."""


class DaytonaMachine(Machine):
    """The sandbox of one thread; see `Lifecycle` for the arguments."""

    kind = "daytona"
    isolation = "Daytona: a sandbox on Daytona's machines; nothing runs on this one."
    noun = "the Daytona sandbox"
    advice = "Choose another snapshot or image with STEPWELL_DAYTONA_SNAPSHOT or STEPWELL_DAYTONA_IMAGE."

    def __init__(self, clients: Clients, options: Options, id: str, *, keep: bool = True) -> None:
        self._sandbox = Lifecycle(clients, options, id, keep=keep)
        self.late_seconds = options.late_seconds
        self._context: tuple[int, InterpreterContext] | None = None
        """With the life of the sandbox that it is in."""
        self._dropped: list[tuple[int, InterpreterContext]] = []

    async def life(self, *, start: bool) -> int:
        """Say which of its lives it is in; see `Machine.life`."""
        if start:
            await self._sandbox.ready()
        elif not await self._sandbox.runs():
            return 0
        self.was_stored = self._sandbox.was_stored
        return self._sandbox.life

    async def execute(self, command: str, *, doing: str, seconds: float, again: bool) -> str:
        """Run a shell command; see `Machine.execute`."""

        async def call(sandbox: "AsyncSandbox") -> str:
            return (await sandbox.process.exec(command, timeout=int(seconds))).result

        return await self._sandbox.use(doing, call, again=again)

    async def upload(self, files: Mapping[str, bytes | str], *, doing: str) -> None:
        """Copy files there in one request; see `Machine.upload`."""

        async def call(sandbox: "AsyncSandbox") -> None:
            from daytona import FileUpload

            await sandbox.fs.upload_files([FileUpload(source, path) for path, source in files.items()])

        await self._sandbox.use(doing, call)

    async def download(self, files: Mapping[str, Path | None], *, doing: str) -> dict[str, bytes | None]:
        """Copy files from there in one request; see `Machine.download`."""

        async def call(sandbox: "AsyncSandbox") -> dict[str, bytes | None]:
            from daytona import FileDownloadRequest

            asked = [FileDownloadRequest(path, str(target) if target else None) for path, target in files.items()]
            found: dict[str, bytes | None] = {}
            for response in await sandbox.fs.download_files(asked):
                if response.error is None and response.result is not None:
                    found[response.source] = response.result if isinstance(response.result, bytes) else None
            return found

        return await self._sandbox.use(doing, call)

    async def stream(self, program: str, base: str, message: bytes, hear: Callable[[str], None]) -> str:
        """Have `attach` run in a context; see `Machine.stream`."""
        encoded = base64.b64encode(message).decode()
        argument = repr(encoded)
        if len(encoded) > MAX_CODE:
            uploaded = f"{base}/in/{secrets.token_hex(16)}"
            await self.upload({uploaded: encoded.encode()}, doing="send a request to the sandbox")
            argument = f"open({uploaded!r}).read()"
        code = f"__import__('runpy').run_path({program!r})['attach']({base!r}, {argument})"
        sandbox, context = await self._in_context(base)

        def take(message: "OutputMessage") -> None:
            hear(message.output)

        try:
            ended = await sandbox.code_interpreter.run_code(code, context=context, on_stdout=take, timeout=0)
        except BaseException as error:
            self._drop_context()
            if isinstance(error, Exception) and isinstance(getattr(error.__cause__, "status", None), int):
                # The handshake was refused. The client does not say why: one that is stopped is a 400, too.
                failure = translated("open a connection to the sandbox", error)
                final = isinstance(failure, SandboxRefusedError) and not isinstance(failure, KeyRefusedError)
                if final and await self._goes_on():
                    raise failure from error
                raise SandboxUnavailableError(str(error)) from error
            raise
        if ended.error is None:
            return ""
        self._drop_context()
        return f"{ended.error.name}: {ended.error.value}"

    async def _goes_on(self) -> bool:
        try:
            return await self._sandbox.runs()
        except SandboxUnavailableError:
            return True  # that could not be said; trying will show

    async def _in_context(self, base: str) -> "tuple[AsyncSandbox, InterpreterContext]":
        """The context of ours, a new one if there is none in this life of the sandbox."""
        await self._sandbox.ready()
        life = self._sandbox.life
        if self._context is None or self._context[0] != life:
            self._drop_context()
            dropped, self._dropped = [one for of, one in self._dropped if of == life], []

            async def call(sandbox: "AsyncSandbox") -> "InterpreterContext":
                for context in dropped:
                    with suppress(Exception):  # it goes with the sandbox in any case
                        await sandbox.code_interpreter.delete_context(context)
                return await sandbox.code_interpreter.create_context(cwd=base)

            made = await self._sandbox.use("make an interpreter context", call)
            self._context = life, made
        return await self._sandbox.ready(), self._context[1]

    def _drop_context(self) -> None:
        """Never use this context again: its worker may have died, or may be busy with what nobody waits for."""
        if self._context is not None:
            self._dropped.append(self._context)
            self._context = None

    async def end(self, how: End) -> None:
        """Stop or delete it; see `Machine.end`."""
        match how:
            case "keep":
                await self._sandbox.stop()
            case "spare":
                await self._sandbox.release()
            case "delete":
                await self._sandbox.delete()

    async def hold(self) -> None:
        """Keep it as long as possible; see `Machine.hold`."""
        await self._sandbox.hold()

    async def settled(self) -> None:
        """Wait until everything that was cancelled has been undone; see `Machine.settled`."""
        await self._sandbox.settled()
