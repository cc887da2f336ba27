"""Publish what the analysis made, and close the turn."""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from langgraph.runtime import Runtime

from graph.context import Context, context_of
from graph.events import Notice, Published, emit
from graph.state import Artifact, Cell, State, Turn
from graph.users.consumption import current_meter
from graph.users.identity import thread_of
from nodes.generative_ui import push
from nodes.publishing import OURS, as_document, as_script, is_renamed, published_names, reason_for, shown
from nodes.restoration.line import line_of
from nodes.restoration.restore import RestoreService
from nodes.shown_conversation import answer_message
from sandboxes.base import Sandbox
from sandboxes.host.scratch import scratch_folder
from storage.artifacts import Artifacts, StorageError, mime_of
from storage.published_files import NoSuchArtifactError, open_published

FOLDERS = ("outputs", "figures")
MAX_FILES = 500


@dataclass(frozen=True, slots=True)
class Publisher:
    """One upload on its way: where to, what is there already, and what was published now."""

    artifacts: Artifacts
    thread: str
    folder: Path
    known: dict[str, Artifact]

    async def publish(
        self, name: str, file: Path, *, size: int, sha256: str, cell: int, path: str = ""
    ) -> tuple[Artifact, bool]:
        """Publish one file unless the very same is there. Returns it, and whether it is new.

        Args:
            name: What it is called there.
            file: What is published.
            size: Its bytes.
            sha256: Its checksum.
            cell: The cell that wrote it.
            path: Where it lies in the workspace, if its name does not tell.
        """
        before = self.known.get(name)
        wanted = self.artifacts.address(self.thread, name)
        if before and before["sha256"] == sha256 and before["url"] == wanted and await self._still_there(name):
            return before, False
        url = await self.artifacts.publish(self.thread, name, file)
        artifact = Artifact(name=name, url=url, size=size, sha256=sha256, mime=mime_of(name), cell=cell)
        if path:
            artifact["path"] = path
        return artifact, True

    async def _still_there(self, name: str) -> bool:
        try:
            async with open_published(self.artifacts, self.thread, name):
                return True
        except (NoSuchArtifactError, StorageError):  # publishing it will tell what is wrong with the storage
            return False

    async def publish_text(self, name: str, text: str) -> tuple[Artifact, bool]:
        """Publish a text of ours."""
        content = text.encode()
        file = self.folder / "text"
        await asyncio.to_thread(file.write_bytes, content)
        return await self.publish(name, file, size=len(content), sha256=hashlib.sha256(content).hexdigest(), cell=0)


async def upload(
    state: State,
    runtime: Runtime[Context],
    *,
    restoring: RestoreService,
    artifacts: Artifacts,
) -> State:
    """Publish outputs and figures, with checksum, type and the cell that wrote each; then the answer and the code.

    Raises:
        StorageError: the destination cannot be written; what was published stays, and the thread can be resumed.
        SandboxError: the sandbox cannot be reached.
    """
    context = context_of(runtime)
    thread = thread_of(runtime)
    answer = state.get("answer") or state.get("proposal") or ""
    known = {one["name"]: one for one in state.get("artifacts") or []}
    current: dict[str, Artifact] = {}
    concerns = [*(state.get("concerns") or []), *([state["stopped"]] if state.get("stopped") else [])]
    concerns += state.get("unread") or []
    async with scratch_folder("upload") as staging:
        publisher = Publisher(artifacts, thread, staging, known)
        if state.get("cells"):
            sandbox = await restoring.open(runtime)
            receipt = await restoring.restore(sandbox, state, runtime)
            concerns += receipt.concerns
            restoring.prove_last(sandbox, state)
            await _publish_files(state, runtime, sandbox, publisher, current, context)
        turn = state["turn"]
        for name, text in _texts(state, answer, current, concerns).items():
            current[name], new = await publisher.publish_text(name, text)
            if new:
                emit(runtime, Published(current[name]))
    answers = {name: one for name, one in known.items() if OURS.fullmatch(name) and name not in current}
    if (meter := current_meter.get()) is not None:
        meter.publish(bytes_of({**known, **current}.values()))
    await restoring.proofs.settle(thread)
    proved, notices = restoring.proofs.take(thread, runtime)
    numbers, link = _numbers(state, turn), partial(artifacts.link, thread)
    message, components = await answer_message(answer, list(current.values()), numbers, link, context.ui)
    return {
        **({"proofs": proved, "notices": [*(state.get("notices") or []), *notices]} if proved else {}),
        "answer": answer,
        "artifacts": [*answers.values(), *current.values()],
        "concerns": concerns,
        "turns": [
            Turn(
                number=turn,
                question=state["question"],
                plan=[step["text"] for step in state.get("plan") or []],
                answer=answer,
            )
        ],
        "messages": [message],
        **({"ui": push(components, turn, message)} if components else {}),
        "proposal": "",
    }


def _texts(state: State, answer: str, files: Mapping[str, Artifact], concerns: Sequence[str]) -> dict[str, str]:
    """The answer as a document, and the code of the cells, by the names of their files."""
    name = "answer.md" if state["turn"] == 1 else f"answer-{state['turn']}.md"
    texts = {name: as_document(state["question"], answer, files.values(), concerns)}
    if state.get("cells"):
        texts["analysis.py"] = as_script(state)
    return texts


def _numbers(state: State, turn: int) -> set[int]:
    """The numbers of a turn's cells."""
    return {cell["number"] for cell in state.get("cells") or [] if cell["turn"] == turn}


async def _publish_files(
    state: State,
    runtime: Runtime[Context],
    sandbox: Sandbox,
    publisher: Publisher,
    current: dict[str, Artifact],
    context: Context,
) -> None:
    made_by = makers(line_of(state.get("cells") or []))
    files = [file for folder in FOLDERS for file in await sandbox.files(folder)]
    if len(files) > MAX_FILES:
        emit(
            runtime,
            Notice(
                f"Only {MAX_FILES} of {len(files):,} files were published; the others stay in the workspace.", "warning"
            ),
        )
    names = published_names(file.path for file in files)
    room, too_much = context.max_upload_bytes, 0
    for file in files[:MAX_FILES]:
        name, seen_as = names[file.path], shown(file.path)
        staged = publisher.folder / "file"
        if file.size > room:  # by its length, whatever it takes on disk: a hole in a file is as long once it is copied
            too_much += 1
            continue
        try:
            fetched = await sandbox.fetch(file.path, staged, max_bytes=min(context.max_artifact_bytes, room))
        except (FileNotFoundError, ValueError) as error:
            emit(runtime, Notice(f"{seen_as} was not published: {error}", "warning"))
            continue
        room -= fetched.size
        cell = made_by.get(file.path, 0)
        renamed = is_renamed(file.path, name)
        current[name], new = await publisher.publish(
            name,
            staged,
            size=fetched.size,
            sha256=fetched.sha256,
            cell=cell,
            path=seen_as if renamed else "",
        )
        if new:
            emit(runtime, Published(current[name]))
            if renamed:
                emit(runtime, Notice(f"{seen_as} is published as {name}{reason_for(file.path)}."))
    if too_much:
        emit(
            runtime,
            Notice(
                f"{too_much:,} files were not published: together the files of an analysis may have "
                f"{context.max_upload_bytes:,} bytes (max_upload_bytes); they stay in the workspace.",
                "warning",
            ),
        )


def bytes_of(published: Iterable[Artifact]) -> int:
    """The bytes of published files. State says them of earlier ones, and its owner may edit it: none counts below 0."""
    return sum(max(0, one["size"]) for one in published)


def makers(cells: list[Cell]) -> dict[str, int]:
    """For each workspace file, the cell that last wrote it."""
    made_by: dict[str, int] = {}
    for cell in cells:
        for path in [*cell["figures"], *(file["path"] for file in cell["files"] if file["change"] != "deleted")]:
            made_by[path] = cell["number"]
    return made_by
