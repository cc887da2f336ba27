"""The kernel: it carries messages between Jupyter and a session, and runs nothing itself.

What the session shows is a stranger's: HTML is cut down to harmless elements before a notebook, whose page could do
anything on this machine, gets it.
"""

import asyncio
import base64
from contextlib import AsyncExitStack, suppress
from importlib.metadata import version
from typing import Any

from ipykernel.kernelbase import Kernel

from graph.checkpoints.damage import DamagedThreadError
from graph.events import Event, Output
from graph.settings import Settings, SettingsError, read_settings
from graph.state import Cell, CellOutput
from sandboxes.base import SandboxError
from stepwell.cell_sessions import CellRun, CellSessions, open_cell_sessions
from stepwell.errors import ThreadError, UsageError
from stepwell.exports.archive import published_opener
from stepwell.exports.markdown import table
from stepwell.exports.pictures import Pictures, picture_type
from stepwell.forks import fork_here, fork_thread
from stepwell.jupyter_kernel.looking import (
    LONGEST,
    around_cursor,
    before_cursor,
    completeness,
    completing,
    inspecting,
    plain_names,
)
from stepwell.jupyter_kernel.notebook_threads import NotebookThread, NotebookThreads
from stepwell.labels import rename
from stepwell.last_session import OF_NOTEBOOKS, LastSession, LastSessionNote
from stepwell.runs import RunFailedError
from stepwell.steps import read_steps
from storage.artifacts import StorageError
from storage.blobs import BlobError

ERRORS = (
    ThreadError, UsageError, RunFailedError, SettingsError, SandboxError, StorageError, BlobError, DamagedThreadError,
)  # fmt: skip
MAGICS = ("%steps", "%back", "%fork", "%session")
HELP = (
    "%steps lists the steps; %back N goes to one; %fork [NAME] begins a new thread here; %session [new] says or begins"
)
INTERRUPTED = "The cell was interrupted; variables and files are as they were before it."


class StepwellKernel(Kernel):
    """One notebook's kernel."""

    implementation = "stepwell"
    implementation_version = version("stepwell")
    last: LastSession | None = None
    """This notebook's session, where a kernel that was killed or restarted has left it behind."""
    banner = f"Stepwell {implementation_version}. {HELP}."
    language_info = {  # noqa: RUF012 - as the base has it
        "name": "python",
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
        "codemirror_mode": {"name": "ipython", "version": 3},
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self._stack = AsyncExitStack()
        self._sessions: CellSessions | None = None
        self._running: asyncio.Task[CellRun] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._variables: list[str] = []
        self._settings: Settings | None = None
        self._kept: NotebookThreads | None = None
        self._now = NotebookThread()
        self._opening = asyncio.Lock()
        self._note: LastSessionNote | None = None
        try:
            self._settings = read_settings()
        except SettingsError:
            return  # said when the first cell runs
        home = self._settings.home
        self._kept = NotebookThreads.of(home, getattr(self.parent, "connection_file", ""))
        self._now = self._kept.read()
        self.execution_count = self._now.cells
        self._note = LastSessionNote(home, OF_NOTEBOOKS)

    def start(self) -> None:
        """Take messages; the session of a kernel that was killed or restarted begins to come back."""
        super().start()  # type: ignore[no-untyped-call]
        if self.last is not None:
            self.io_loop.add_callback(self._open_ahead)

    async def _open_ahead(self) -> None:
        with suppress(*ERRORS):  # the first cell says what is wrong
            await self._open()

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        """Run a cell as a step, or do what a magic of this kernel says; silent code of front ends is not run."""
        if silent or not code.strip():
            return self._fine()
        try:
            magic = code.strip().split()
            if magic[0] in MAGICS and "\n" not in code.strip():
                self._stream("stdout", await self._magic(magic[0], magic[1:]))
                return self._fine()
            return await self._cell(code)
        except ERRORS as error:
            return self._failed(type(error).__name__, str(error), [str(error)])

    async def _cell(self, code: str) -> dict[str, Any]:
        sessions = await self._open()
        # Its own task: an interrupt ends the cell, and not the kernel's work on messages.
        self._loop = asyncio.get_running_loop()
        self._running = asyncio.ensure_future(sessions.run(code, session=self._now.thread, on_event=self._told))
        try:
            found = await self._running
        except asyncio.CancelledError:
            return self._failed("KeyboardInterrupt", INTERRUPTED, [f"KeyboardInterrupt: {INTERRUPTED}"])
        finally:
            self._running = None
        self._keep(NotebookThread(found.session, found.cell["number"] if found.cell is not None else self._now.cells))
        self._variables = [row["name"] for row in found.variables]
        restored = found.restored
        if restored is not None:
            lost = f"; not brought back: {', '.join(restored.lost)}" if restored.lost else ""
            self._stream("stderr", f"The session was brought back{lost}.\n")
        for notice in found.notices:
            self._stream("stderr", f"{notice}\n")
        if found.cell is None:
            text = f"The cell waits for approval: stepwell resume {found.session} --approve-cell"
            return self._failed("ApprovalNeeded", text, [text])
        return await self._shown(found.session, found.cell)

    async def _shown(self, thread: str, cell: Cell) -> dict[str, Any]:
        """Send what a cell showed besides what it printed; gives the reply."""
        error: list[str] = []
        for output in cell.get("outputs") or []:
            match output["kind"]:
                case "stdout" | "stderr":
                    continue  # sent while it ran
                case "error":
                    error = output["text"].splitlines()
                case _:
                    await self._show(thread, cell, output)
        if cell["status"] == "ok":
            return self._fine()
        name, _, message = (cell["error"] or cell["status"]).partition(": ")
        return self._failed(name, message, error or cell["observation"].splitlines())

    async def _show(self, thread: str, cell: Cell, output: CellOutput) -> None:
        data: dict[str, str] = {"text/plain": output["text"]}
        if path := output.get("path"):
            assert self._settings is not None, "cells run with settings"
            opener = await asyncio.to_thread(published_opener, self._settings, thread)
            picture = await Pictures((await self._open()).services.blobs, opener, ()).of_cell(cell, path)
            if kind := picture_type(picture):
                data = {kind: base64.b64encode(picture).decode(), "text/plain": f"<{path}>"}
        if html := output.get("html"):
            data["text/html"] = table(html)
        content = {"data": data, "metadata": {}}
        if output["kind"] == "result":
            self._send("execute_result", {**content, "execution_count": self.execution_count})
        else:
            self._send("display_data", content)

    def _told(self, event: Event) -> None:
        if isinstance(event, Output):
            self._stream(event.stream, event.text)

    async def _magic(self, name: str, words: list[str]) -> str:
        sessions = await self._open()
        thread = self._now.thread
        if name == "%session" and words == ["new"]:
            self._keep(NotebookThread())
            self.execution_count = 0
            self._variables = []
            return "The next cell begins a new thread.\n"
        if name == "%session" and len(words) == 1:
            self._keep(NotebookThread(await sessions.find(words[0]), self._now.cells))
            return f"thread {self._now.thread}\n"
        if not thread:
            raise UsageError("There is no thread yet; the first cell begins one.")
        match name:
            case "%session" if not words:
                return f"thread {thread}, step {self._now.cells}\n"
            case "%steps" if not words:
                tree = await read_steps(sessions.services.saver, thread)
                return "".join(
                    f"{one.name:>5}{' *' if one.head else '  '} {one.cell['status']:<8} {one.cell['purpose']}\n"
                    for one in tree.steps
                    if one.cell is not None
                )
            case "%back" if len(words) == 1:
                await sessions.last.leave(thread)
                await fork_here(thread, step=words[0], new_turn=True, settings=self._settings)
                self._keep(NotebookThread(thread, int("".join(filter(str.isdigit, words[0])) or 0)))
                return f"Variables and files are as they were after step {words[0]}.\n"
            case "%fork" if len(words) < 2:
                new = await fork_thread(thread, new_turn=True, settings=self._settings)
                self._keep(NotebookThread(new, self._now.cells))
                if words:
                    await rename(new, words[0], settings=self._settings)
                return f"Further cells go to thread {new}.\n"
        raise UsageError(HELP)

    async def _open(self) -> CellSessions:
        if self._settings is None:
            self._settings = read_settings()  # says what is wrong
        async with self._opening:
            if self._sessions is None:
                opening = open_cell_sessions(settings=self._settings, note=self._note, last=self.last)
                self._sessions = await self._stack.enter_async_context(opening)
                try:
                    await self._sessions.find(self._now.thread or "none")
                except ThreadError:
                    self._now = NotebookThread()  # it was deleted
            return self._sessions

    def _keep(self, now: NotebookThread) -> None:
        self._now = now
        self.execution_count = now.cells
        if self._kept is not None:
            self._kept.write(now)

    async def interrupt_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Interrupt the cell that runs; comes on another thread."""
        if self._running is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._running.cancel)
        assert self.session is not None, "messages come over it"
        self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Names that what stands before the cursor can go on with."""
        name = before_cursor(code, cursor_pos)
        owner, dot, start = name.rpartition(".")
        if dot and self._now.thread:
            said = await (await self._open()).peek(self._now.thread, completing(name))
            matches = [f"{owner}.{one}" for one in said.splitlines()]
        else:
            matches = plain_names(start, self._variables)
        return {
            "status": "ok",
            "matches": matches,
            "cursor_start": cursor_pos - len(name),
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()
    ) -> dict[str, Any]:
        """What is known of the name at the cursor."""
        name = around_cursor(code, cursor_pos)
        said = ""
        if name and self._now.thread:
            said = (await (await self._open()).peek(self._now.thread, inspecting(name))).strip()[:LONGEST]
        data = {"text/plain": said} if said else {}
        return {"status": "ok", "found": bool(said), "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        """Whether a console may run what was typed."""
        return {"status": completeness(code), "indent": "    "}

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """End the session's process; its steps stay."""
        closing = self._close(leave=restart)  # where the session is: this is another thread's event loop
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(closing, self.io_loop.asyncio_loop))  # type: ignore[attr-defined]
        return {"status": "ok", "restart": restart}

    async def _close(self, *, leave: bool) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self._stack.aclose()
        self._sessions = self.last = None
        if self._note is not None:
            await asyncio.to_thread(self._note.close, leave=leave)

    def _fine(self) -> dict[str, Any]:
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _failed(self, name: str, message: str, lines: list[str]) -> dict[str, Any]:
        content = {"ename": name, "evalue": message, "traceback": lines}
        self._send("error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    def _stream(self, name: str, text: str) -> None:
        self._send("stream", {"name": name, "text": text})

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        self.send_response(self.iopub_socket, kind, content)  # type: ignore[no-untyped-call]
