"""Write a thread as a file to hand on: `stepwell.export` and `stepwell export`."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from graph.checkpoints.damage import disk_problem, reporting_damage
from graph.settings import Settings, settings_or_default
from graph.state import State
from graph.wiring import make_blobs
from stepwell.errors import FileThereError, ThreadError, UsageError
from stepwell.exports.analysis import Analysis, analysis_of
from stepwell.exports.archive import Opener, archive_stream, published, published_opener
from stepwell.exports.notebook import notebook
from stepwell.exports.pictures import Drawn, Pictures
from stepwell.exports.report import report
from stepwell.steps import parse_step_name, state_at_step
from stepwell.thread_summaries import updated_at
from stepwell.threads import find_thread, open_graph
from storage.blobs import Blobs

Format = Literal["html", "ipynb", "zip"]
FORMATS: dict[str, Format] = {".html": "html", ".htm": "html", ".ipynb": "ipynb", ".zip": "zip"}
"""By a file's ending."""
OFFERED = "report.html, notebook.ipynb or archive.zip"


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was written."""

    thread: str
    path: Path
    format: Format
    bytes: int


class Exporter:
    """Makes documents of one state of a thread.

    Args:
        thread: Its id.
        state: What it holds.
        blobs: Where its snapshots are.
        opener: Opens its published files.
        step: The step's name; empty for where the thread is now.
        updated: When it came to be.
        waits: Whether somebody has to decide before it goes on.
    """

    def __init__(
        self,
        thread: str,
        state: State,
        *,
        blobs: Blobs,
        opener: Opener,
        step: str = "",
        updated: datetime | None = None,
        waits: bool = False,
    ) -> None:
        self._thread, self._state, self._step, self._updated = thread, state, step, updated
        self._blobs, self._opener, self._waits = blobs, opener, waits

    async def pieces(self, form: Format) -> AsyncIterator[bytes]:
        """The file in this format, piece by piece.

        Raises:
            ThreadError: nothing was asked yet.
        """
        if form == "zip":
            async for piece in self._archive():
                yield piece
            return
        analysis, drawn = await self._read()
        text = await asyncio.to_thread(self._report if form == "html" else notebook, analysis, drawn)
        yield text.encode("utf-8", "replace")

    def require_question(self) -> str:
        """Check that there is something to write.

        Returns:
            What it is about, in a line.

        Raises:
            ThreadError: nothing was asked yet.
        """
        return analysis_of(self._thread, self._state).title

    async def _archive(self) -> AsyncIterator[bytes]:
        documents: dict[str, str] = {}
        with suppress(ThreadError):  # what was published is handed out all the same
            analysis, drawn = await self._read()
            documents["report.html"] = await asyncio.to_thread(self._report, analysis, drawn)
            documents["notebook.ipynb"] = await asyncio.to_thread(notebook, analysis, drawn)
        async for piece in archive_stream(self._state, self._opener, documents):
            yield piece

    async def _read(self) -> tuple[Analysis, Drawn]:
        analysis = analysis_of(self._thread, self._state, step=self._step, updated=self._updated)
        pictures = Pictures(self._blobs, self._opener, published(self._state))
        return analysis, await pictures.read(analysis.cells)

    def _report(self, analysis: Analysis, drawn: Drawn) -> str:
        when = analysis.updated
        made = f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if when is not None else ""
        return report(analysis, drawn, made=made, waits=self._waits)


async def export(
    name: str, to: str | os.PathLike[str], *, overwrite: bool = False, settings: Settings | None = None
) -> Exported:
    """Write a thread, or a step of it, as a report, a notebook or an archive.

    Args:
        name: `THREAD@STEP`; without a step: where the thread is now.
        to: The file; its ending says which: `.html`, `.ipynb` or `.zip`.
        overwrite: Whether a file of that name may be replaced.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or step, or nothing was asked yet.
        UsageError: the ending is none of these, or the file cannot be written there.
    """
    target = await asyncio.to_thread(Path(to).expanduser)
    form = FORMATS.get(target.suffix.lower())
    if form is None:
        raise UsageError(f"{os.fspath(to)!r} names no format; end it as {OFFERED} do.")
    await asyncio.to_thread(_check_target, target, overwrite=overwrite)
    settings = await settings_or_default(settings)
    prefix, step = parse_step_name(name)
    thread = await find_thread(prefix, settings)
    exporter = await exporter_at(thread, step, settings)
    exporter.require_question()
    return Exported(thread, target, form, await _write(exporter.pieces(form), target, overwrite=overwrite))


async def exporter_at(thread: str, step: str | None, settings: Settings) -> Exporter:
    """Makes documents of a thread.

    Args:
        thread: Its full id.
        step: The step's name; None: where the thread is now.
        settings: Where threads are kept.

    Raises:
        ThreadError: there is no such thread or step.
    """
    blobs, opener = make_blobs(settings), published_opener(settings, thread)
    async with open_graph(settings) as (graph, _):
        if step is not None:
            place = await state_at_step(graph, thread, step)
            shown, when = place.step.name, place.step.when
            return Exporter(thread, place.state, blobs=blobs, opener=opener, step=shown, updated=when)
        with reporting_damage(thread):
            head = await graph.aget_state({"configurable": {"thread_id": thread}})
    state: State = head.values  # type: ignore[assignment]  # LangGraph calls it a dict
    waits = bool(head.interrupts)
    return Exporter(thread, state, blobs=blobs, opener=opener, updated=updated_at(head), waits=waits)


def _check_target(target: Path, *, overwrite: bool) -> None:
    if target.is_dir():
        raise UsageError(f"{target} is a folder; give a file in it, such as {target / 'report.html'}.")
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}; make it first.")
    if target.exists() and not overwrite:
        raise FileThereError(target)


async def _write(pieces: AsyncIterator[bytes], target: Path, *, overwrite: bool) -> int:
    """Write a file whole or not at all; returns its size."""
    partial = target.with_name(f".stepwell-{secrets.token_hex(8)}.partial")
    size = 0
    try:
        with await asyncio.to_thread(partial.open, "xb") as out:
            async for piece in pieces:
                size += len(piece)
                await asyncio.to_thread(out.write, piece)
        await asyncio.to_thread(_put, partial, target, overwrite=overwrite)
    except OSError as error:
        raise UsageError(disk_problem(error) or f"{target} cannot be written ({error.strerror or error}).") from None
    finally:
        with suppress(OSError):
            await asyncio.to_thread(partial.unlink, missing_ok=True)
    return size


def _put(partial: Path, target: Path, *, overwrite: bool) -> None:
    if not overwrite and target.exists():
        raise FileThereError(target)
    partial.replace(target)
