"""What replies instead of a model while a notebook is imported: its cells, one after the other, and a report.

It reads the situation and no text of a prompt, costs nothing, and keeps nothing between calls: where it goes on is
said by the cells that have run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from graph.context import MOST_CELLS, Context
from models.base import ChooseModel, ModelAccessError
from models.messages import NO_MODEL
from models.selection import NOTEBOOK
from models.situation import ProgramModel, PromptCell, PromptInput, Situation
from stepwell.notebooks.layout import PURPOSE, in_folder, lay_out, set_up
from stepwell.notebooks.notebook_file import Notebook, NotebookCell

KEY = "stepwell_notebook"
"""Where the question of an import carries the notebook: it is kept, forked and deleted with the thread."""
NAMED = 20
"""Cells, or left-out parts, that the report names one by one."""
NOT_FOUND = ("No such file", "FileNotFoundError", "No files found", "does not exist", "not found")


def notebook_in(messages: Sequence[BaseMessage]) -> Notebook | None:
    """The notebook that the newest question brought; None when it is a question as people ask them."""
    asked = next((message for message in reversed(messages) if message.type == "human"), None)
    given = asked.additional_kwargs.get(KEY) if asked is not None else None
    known = isinstance(given, dict) and Notebook.__required_keys__ <= given.keys()
    return cast("Notebook", given) if known else None


def import_knobs(context: Context) -> Context:
    """The knobs of an import, over those that the user chose: nothing is asked of a model, and nothing is spent."""
    changes = {"model": NOTEBOOK, "tool_calling": "on", "max_cells": MOST_CELLS, "approve_plan": False}
    return context.model_copy(update={**changes, "max_tokens": 0, "max_cost": 0.0})


class ModelsOfRun:
    """Chooses the notebook for an import, and otherwise the model that the settings name."""

    def __init__(self, configured: ChooseModel) -> None:
        self.notebook: Notebook | None = None
        self._configured = configured

    async def __call__(self, name: str) -> BaseChatModel:
        """The chat model of that name."""
        if name != NOTEBOOK:
            return await self._configured(name)
        if self.notebook is None:
            raise ModelAccessError(f"{NOTEBOOK!r} names no model: it is what imports of notebooks run by.")
        return NotebookModel(notebook=dict(self.notebook))


class NotebookModel(ProgramModel):
    """A chat model that gives the cells of a notebook."""

    notebook: dict[str, Any]

    @property
    def _llm_type(self) -> str:
        return NOTEBOOK

    def _reply(self, situation: Situation, messages: Sequence[BaseMessage]) -> AIMessage:
        reply = self._next(cast("Notebook", self.notebook), situation)
        reply.response_metadata = {NO_MODEL: True}
        return reply

    def _next(self, notebook: Notebook, situation: Situation) -> AIMessage:
        if situation["wanted"] == "review":
            return self.call("submit_review", {"good_enough": True, "missing": []}, situation)
        own = [cell for cell in situation["cells"] if cell["turn"] == situation["turn"]]
        done = progress(notebook, situation["inputs"], own)
        if done.stopped or (own and not done.left) or situation["wanted"] == "answer":
            answer = report(notebook, done, number=len(situation["cells"])).replace("{{", "{ {")  # no placeholders
            skipped = [f"{number}: not all of its cells ran" for number in _unfinished(situation)]
            return self.call("submit_answer", {"answer": answer, "skipped": skipped}, situation)
        layout = lay_out(notebook, situation["inputs"])
        before = 1 if layout.needed else 0
        plan = {} if own else {"plan": notebook["sections"]}
        if len(own) < before:
            sizes = {one["path"]: one["size"] for one in situation["inputs"]}
            made = {"purpose": PURPOSE, "code": set_up(layout, sizes), "step": 1}
            return self.call("run_python", {**made, **plan}, situation)
        place = len(own) - before
        cell = notebook["cells"][place]
        code = in_folder(cell["code"], place, notebook["first_move"], layout.folder)
        wanted = {"purpose": cell["purpose"], "code": code, "step": cell["section"], **plan}
        return self.call("run_python", wanted, situation, cell["markdown"])


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import has come."""

    ran: tuple[tuple[NotebookCell | None, PromptCell], ...]
    """The cells of the thread with those of the notebook; None: the cell that sets things up."""
    left: int
    """Cells of the notebook that have not run."""
    stopped: bool
    """Whether the last cell ended the import."""

    @property
    def stopped_at(self) -> int:
        """The number, in the turn, of the cell that ended the import; 0: none has."""
        return len(self.ran) if self.stopped else 0

    def unexpected(self) -> list[int]:
        """The places of the cells that failed and that were not expected to."""
        return [place for place, (known, cell) in enumerate(self.ran) if _failed(known, cell)]


def progress(notebook: Notebook, inputs: Sequence[PromptInput], cells: Sequence[PromptCell]) -> ImportProgress:
    """How far an import has come.

    Args:
        notebook: What is imported.
        inputs: The thread's.
        cells: Those of the turn.
    """
    before = 1 if lay_out(notebook, inputs).needed else 0
    known: list[NotebookCell | None] = [*([None] * before), *notebook["cells"]]
    ran = tuple(zip(known, cells, strict=False))
    failed = bool(ran) and _failed(*ran[-1]) and (ran[-1][0] is None or not notebook["keep_going"])
    return ImportProgress(ran, len(known) - max(len(ran), before), stopped=failed)


def stopped_at(values: Mapping[str, Any]) -> int:
    """The number of the cell at which the import that a thread is at has stopped; 0 when it did not, or is none."""
    notebook = notebook_in(values.get("messages") or [])
    if notebook is None:
        return 0
    own = [cell for cell in values.get("cells") or [] if cell["turn"] == values.get("turn")]
    stopped = progress(notebook, values.get("inputs") or [], own).stopped
    return int(own[-1]["number"]) if stopped else 0


def _failed(known: NotebookCell | None, cell: PromptCell) -> bool:
    expected = known is not None and known["may_fail"] and cell["status"] == "error"
    return cell["status"] not in ("ok", "rejected") and not expected


def _unfinished(situation: Situation) -> list[int]:
    return [number for number, step in enumerate(situation["plan"], 1) if not step["done"]]


def report(notebook: Notebook, done: ImportProgress, *, number: int) -> str:
    """What an import says at its end: how many cells ran, which failed, and what was not run and why.

    Args:
        notebook: What was imported.
        done: How it went.
        number: Of the thread's last cell.
    """
    first = number - len(done.ran) + 1
    ran = [(first + place, known, cell) for place, (known, cell) in enumerate(done.ran)]
    own = [one for one in ran if one[1] is not None]
    total = len(notebook["cells"])
    name = _code(notebook["name"])
    parts = [
        f"The {total} code cells of {name} ran, in order and without a model."
        if len(own) == total > 1
        else f"{len(own)} of the {total} code cells of {name} ran, in order and without a model."
    ]
    failed = [ran[place] for place in done.unexpected()]
    if done.stopped:
        parts.append(_stopped(notebook, ran[-1][2], ran[-1][0], done.left))
    elif failed:
        parts.append(
            "These cells failed, and the import went on:\n\n" + _listed(_ended(one[0], one[2]) for one in failed)
        )
    if missing := [hint for _, _, cell in failed if (hint := _missing_file(notebook, cell))]:
        parts.append("\n".join(dict.fromkeys(missing)))
    if expected := [one for one in own if one[2]["status"] == "error" and one not in failed]:
        told = _listed(_ended(one[0], one[2]) for one in expected)
        parts.append(f"These failed as the notebook expects (`raises-exception`):\n\n{told}")
    if refused := [one for one in own if one[2]["status"] == "rejected"]:
        parts.append("You refused " + ", ".join(f"cell {one[0]}" for one in refused[:NAMED]) + "; the import went on.")
    if left_out := [f"cell {one[0]}: {_code(what)}" for one in own if one[1] for what in one[1]["not_run"]]:
        parts.append("Not run of cells that ran, since only IPython knows it:\n\n" + _listed(left_out))
    if not done.stopped:
        parts.append("Go to any cell with `stepwell show THREAD@N` or `stepwell fork THREAD@N`, or ask on.")
    return "\n\n".join(parts)


def _stopped(notebook: Notebook, cell: PromptCell, number: int, left: int) -> str:
    rest = f"{left} cells after it were not run" if left != 1 else "1 cell after it was not run"
    going_on = (
        f"Import it with `--keep-going` to run the cells after one that fails; or ask on: "
        f"variables and files are as they are after cell {number}, and `stepwell fork THREAD@{number - 1}` goes back "
        "to before it."
        if number > 1
        else "Import it with `--keep-going` to run the cells after one that fails; or ask on from here."
    )
    return f"The import stopped: {_ended(number, cell)} {rest[0].upper()}{rest[1:]}. {going_on}"


def _ended(number: int, cell: PromptCell) -> str:
    ways = {
        "timeout": "took too long",
        "killed": "ended its Python process",
        "unknown": "was broken off, and may have had effects outside of the sandbox",
    }
    how = f"failed with {_code(cell['error'])}" if cell["error"] else ways.get(cell["status"], "failed")
    return f"cell {number} ({_code(cell['purpose'])}) {how}."


def _missing_file(notebook: Notebook, cell: PromptCell) -> str:
    """Which file beside the notebook a failed cell asked for, if any: names are compared, and nothing is looked up."""
    said = f"{cell['error']}\n{cell['observation'][-2_000:]}"
    if not any(words in said for words in NOT_FOUND):
        return ""
    error = cell["error"] or said
    known = [name for name in notebook["beside"] if name in error] or [
        name for name in notebook["beside"] if name.rpartition("/")[2] in error
    ]
    if not known:
        return ""
    file = _code(max(known, key=len))
    return f"{file} lies beside the notebook and was not given; import it with {_code(notebook['name'])} and {file}."


def _listed(items: Any) -> str:
    lines = [f"- {item}" for item in items]
    more = [f"- and {len(lines) - NAMED} more"] if len(lines) > NAMED else []
    return "\n".join([*lines[:NAMED], *more])


def _code(text: str) -> str:
    """A text of the notebook as code, so that it cannot act as Markdown in the report."""
    text = " ".join(text.replace("`", "'").split())
    return f"`{text if len(text) <= 300 else text[:299] + '…'}`"
