"""Publish what the analysis made, and close the turn."""

import asyncio
import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from graph.context import Context, knobs, thread_of
from graph.events import Notice, Published, tell
from graph.functions import NOTHING, HostFunctions
from graph.state import Artifact, Cell, State, Turn
from nodes.calling import functions_called
from nodes.catching_up import caught_up
from nodes.published_names import OURS, published_names, shown
from nodes.snapshots import Snapshots
from sandboxes.base import OpenSandbox, Sandbox
from storage.artifacts import Artifacts, StorageError, mime_of
from storage.published import NoSuchArtifactError, opened

FOLDERS = ("outputs", "figures")
MAX_FILES = 500


@dataclass(frozen=True, slots=True)
class Publisher:
    """One upload on its way: where to, what is there already, and what was published now."""

    artifacts: Artifacts
    thread: str
    folder: Path
    known: dict[str, Artifact]

    async def publish(self, name: str, file: Path, *, size: int, sha256: str, cell: int) -> tuple[Artifact, bool]:
        """Publish one file unless the very same is there. Returns it, and whether it is new."""
        before = self.known.get(name)
        wanted = f"{self.artifacts.folder(self.thread)}/{name}"
        if before and before["sha256"] == sha256 and before["url"] == wanted and await self._still_there(name):
            return before, False
        url = await self.artifacts.publish(self.thread, name, file)
        return Artifact(name=name, url=url, size=size, sha256=sha256, mime=mime_of(name), cell=cell), True

    async def _still_there(self, name: str) -> bool:
        try:
            async with opened(self.artifacts, self.thread, name):
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
    open_sandbox: OpenSandbox,
    artifacts: Artifacts,
    snapshots: Snapshots,
    functions: HostFunctions = NOTHING,
) -> State:
    """Publish outputs and figures, with checksum, type and the cell that wrote each; then the answer and the code.

    Raises:
        StorageError: the destination cannot be written; what was published stays, and the thread can be resumed.
        SandboxError: the sandbox cannot be reached.
    """
    context = knobs(runtime)
    thread = thread_of(runtime)
    answer = state.get("answer") or state.get("proposal") or ""
    known = {one["name"]: one for one in state.get("artifacts") or []}
    current: dict[str, Artifact] = {}
    staging = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-upload-")
    try:
        publisher = Publisher(artifacts, thread, Path(staging.name), known)
        if state.get("cells"):
            sandbox = await open_sandbox(context.sandbox, thread)
            await caught_up(sandbox, state, runtime, snapshots, functions, open_sandbox)
            await _publish_files(state, runtime, sandbox, publisher, current, context)
        turn = state["turn"]
        answer_name = "answer.md" if turn == 1 else f"answer-{turn}.md"
        texts = {answer_name: f"# {_title(state['question'])}\n\n{answer}\n"}
        if state.get("cells"):
            texts["analysis.py"] = as_script(state)
        for name, text in texts.items():
            current[name], new = await publisher.publish_text(name, text)
            if new:
                tell(runtime, Published(current[name]))
    finally:
        await asyncio.to_thread(staging.cleanup)
    answers = {name: one for name, one in known.items() if OURS.fullmatch(name) and name not in current}
    return {
        "answer": answer,
        "artifacts": [*answers.values(), *current.values()],
        "concerns": [*(state.get("concerns") or []), *([state["stopped"]] if state.get("stopped") else [])],
        "turns": [
            Turn(
                number=turn,
                question=state["question"],
                plan=[step["text"] for step in state.get("plan") or []],
                answer=answer,
            )
        ],
        "messages": [AIMessage(answer)],
        "proposal": "",
    }


async def _publish_files(
    state: State,
    runtime: Runtime[Context],
    sandbox: Sandbox,
    publisher: Publisher,
    current: dict[str, Artifact],
    context: Context,
) -> None:
    made_by = makers(state.get("cells") or [])
    files = [file for folder in FOLDERS for file in await sandbox.files(folder)]
    if len(files) > MAX_FILES:
        tell(
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
            tell(runtime, Notice(f"{seen_as} was not published: {error}", "warning"))
            continue
        room -= fetched.size
        cell = made_by.get(file.path, 0)
        current[name], new = await publisher.publish(name, staged, size=fetched.size, sha256=fetched.sha256, cell=cell)
        if new:
            tell(runtime, Published(current[name]))
            if name not in (file.path, file.path.removeprefix("outputs/")) and not OURS.fullmatch(name):
                tell(runtime, Notice(f"{seen_as} is published as {name}, a name that every system takes."))
    if too_much:
        tell(
            runtime,
            Notice(
                f"{too_much:,} files were not published: together the files of an analysis may have "
                f"{context.max_upload_bytes:,} bytes (max_upload_bytes); they stay in the workspace.",
                "warning",
            ),
        )


def makers(cells: list[Cell]) -> dict[str, int]:
    """For each workspace file, the cell that last wrote it."""
    made_by: dict[str, int] = {}
    for cell in cells:
        for path in [*cell["figures"], *(file["path"] for file in cell["files"] if file["change"] != "deleted")]:
            made_by[path] = cell["number"]
    return made_by


def as_script(state: State) -> str:
    """The cells that ran, as one Python file that can be run again beside `inputs/` (IPython for top-level `await`)."""
    questions = {turn["number"]: turn["question"] for turn in state.get("turns") or []} | {
        state["turn"]: state["question"]
    }
    parts = ['"""The code of this analysis, cell by cell. Run it in a folder that holds inputs/ and outputs/."""\n']
    if functions := sorted({name for cell in state.get("cells") or [] for name in functions_called(cell)}):
        parts.append(
            f"# It calls functions of the program that ran it; define them here first: {', '.join(functions)}\n"
        )
    turn = 0
    for cell in state.get("cells") or []:
        if cell["turn"] != turn:
            turn = cell["turn"]
            question = "\n".join(f"# {line}" for line in questions.get(turn, "").splitlines())
            parts.append(f"\n# ==== Question {turn} ====\n{question}\n")
        head = f"\n# %% cell {cell['number']}: {_one_line(cell['purpose'])}"
        if cell["status"] in ("rejected", "killed", "unknown"):
            code = "\n".join(f"# {line}" for line in cell["code"].splitlines())
            parts.append(f"{head} ({cell['status']}; left out)\n{code}\n")
        elif cell["status"] == "ok":
            parts.append(f"{head}\n{cell['code']}\n")
        else:
            parts.append(f"{head} ({cell['status']}: {_one_line(cell['error'])})\n" + _guarded(cell["code"]))
    return "".join(parts)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _guarded(code: str) -> str:
    """A cell that failed, so that the script goes on after it as the session did."""
    indented = "\n".join(f"    {line}" if line.strip() else "" for line in code.splitlines())
    try:
        compile(code, "cell", "exec")
    except (SyntaxError, ValueError):
        return "\n".join(f"# {line}" for line in code.splitlines()) + "\n"
    if '"""' in code or "'''" in code:  # indenting would change the text in them
        return f"try:\n    exec({code!r}, globals())\nexcept Exception as error:\n    print(repr(error))\n"
    return f"try:\n{indented}\nexcept Exception as error:\n    print(repr(error))\n"


def _title(question: str) -> str:
    first = question.strip().splitlines()[0] if question.strip() else "Answer"
    return first if len(first) <= 200 else first[:199] + "…"
