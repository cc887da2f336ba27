"""The conversation as chat pages show it: a message for each reply with cells, for each cell's result, for each answer.

Models never read it; their prompts are built by `nodes.prompts`. Each tool call that it shows is answered, since
clients and providers refuse a conversation in which one is not.
"""

import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import quote

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from graph.state import Artifact, Cell, Pending
from nodes.computed_answers import ONLY_VALUES
from nodes.generative_ui import Component, components_for, is_figure, pictures_as_links
from nodes.publishing import as_code, relinked

CELL_TOOL = "run_python"
"""What a call that is shown is of. Its answer has the same name: assistant-ui shows nothing where the two differ."""
MOST_SHOWN = 20
"""Figures, and files, that are shown below an answer."""


def reply_messages(cells: Sequence[Pending]) -> list[AIMessage]:
    """A reply with cells, each of which gets a call that its result answers.

    A cell that only computes the values of an answer is not shown: the answer is.
    """
    if cells[0]["code"] == ONLY_VALUES:
        return []
    for cell in cells:
        cell["call_id"] = cell["call_id"] or f"call_{uuid.uuid4().hex[:12]}"
    calls = [
        ToolCall(name=CELL_TOOL, args={"purpose": cell["purpose"], "code": cell["code"]}, id=cell["call_id"])
        for cell in cells
    ]
    return [AIMessage(cells[0]["thought"], tool_calls=calls)]


def result_messages(pending: Pending, cell: Cell) -> list[ToolMessage]:
    """What a cell printed, in answer to its call."""
    if not pending["call_id"]:
        return []
    status: Literal["success", "error"] = "success" if cell["status"] == "ok" else "error"
    return [ToolMessage(cell["observation"], tool_call_id=pending["call_id"], name=CELL_TOOL, status=status)]


def not_run(cells: Iterable[Pending], why: str) -> list[ToolMessage]:
    """Answers to the calls of cells that will not run."""
    return [
        ToolMessage(f"Not run: {why}.", tool_call_id=one["call_id"], name=CELL_TOOL, status="error")
        for one in cells
        if one["call_id"]
    ]


async def answer_message(
    answer: str,
    published: Sequence[Artifact],
    cells: Collection[int],
    link: Callable[[str], Awaitable[str]],
    components: Collection[str] = (),
) -> tuple[AIMessage, list[Component]]:
    """The answer, in which links and pictures lead to where the published files can be had, and what goes with it.

    Where a page can open the files, figures and files of this turn that the answer does not link are shown below it.
    A page that has a component for figures is given them for it; the answer has links to them, and no pictures.

    Args:
        answer: Markdown, with links to workspace files.
        published: The files.
        cells: The numbers of this turn's cells.
        link: What a browser opens to see a file of this name; empty where there is nothing.
        components: The names of those that the page has.
    """
    links = {one["name"]: url for one in published if (url := await link(one["name"]))}
    reachable = [one for one in published if one["name"] in links]
    named = links | {path: links[one["name"]] for one in reachable for path in _paths(one)}
    text = relinked(answer, named)
    titles: dict[str, str] = {}
    if "figure" in components:
        text, titles = pictures_as_links(text, {links[one["name"]]: one["name"] for one in reachable if is_figure(one)})
    more = [one for one in reachable if one["cell"] in cells and f"]({links[one['name']]}" not in text]
    below = "figure" not in components
    figures = [one for one in more if below and one["name"].startswith("figures/")]
    files = [one for one in more if one not in figures]
    pictures = [f"![{quote(PurePosixPath(one['name']).name)}]({links[one['name']]})" for one in figures[:MOST_SHOWN]]
    listed = [f"- [{as_code(one['name'])}]({links[one['name']]})" for one in files[:MOST_SHOWN]]
    if left := max(0, len(figures) - MOST_SHOWN) + max(0, len(files) - MOST_SHOWN):
        listed.append(f"- {left} more among the thread's artifacts")
    parts = [text, *pictures, *(["Files:", "\n".join(listed)] if listed else [])]
    for_them = components_for(components, reachable, cells, links, titles, text)
    return AIMessage("\n\n".join(parts), id=str(uuid.uuid4())), for_them[:MOST_SHOWN]


def _paths(one: Artifact) -> list[str]:
    """What an answer may call a published file: by its workspace path, with or without the folder."""
    path = one.get("path") or one["name"]
    below = path.removeprefix("outputs/")
    return [path] if path.startswith("figures/") else [below, f"outputs/{below}"]
