"""A report: an analysis as one HTML file that needs nothing else, runs no scripts and prints well."""

import ast
import base64
import builtins
import difflib
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from graph.state import Artifact, Cell, CellOutput
from nodes.answer_checks.number_sources import NumberSources
from nodes.cell_outputs import outputs_shown
from nodes.computed_answers import ONLY_VALUES
from nodes.prompts.observation import REJECTED
from stepwell.exports.analysis import AnalysedTurn, Analysis
from stepwell.exports.beside import figures_beside
from stepwell.exports.markdown import prose, table
from stepwell.exports.pictures import Drawn, picture_type
from storage.clean_text import clean, shown_code

if TYPE_CHECKING:
    from jinja2 import Environment

STATUS_WORDS = {
    "ok": "done",
    "error": "failed",
    "timeout": "time limit",
    "killed": "ended from outside",
    "rejected": "rejected",
    "unknown": "end not seen",
}
"""How a cell ended, in words."""
DIFF_KINDS = {"+": "added", "-": "removed", "@": "place"}
FILES = re.compile(r"^--- .*\n\+\+\+ .*\n(?=@)", re.MULTILINE)
"""The names of two files above their differences: alone such a line is a comment of SQL that was removed."""


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """An output of a cell as the templates show it."""

    kind: str
    text: str = ""
    html: Markup | None = None
    picture: str = ""
    """The address of its picture."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell as the templates show it."""

    number: int
    purpose: str
    thought: Markup
    source: str
    status: str
    words: str
    """How it ended."""
    seconds: float
    outputs: tuple[ShownOutput, ...]
    files: tuple[tuple[str, str], ...]
    """What it wrote: the words, and the address; empty where it cannot be had."""
    calls: tuple[str, ...]
    back_to: int | None
    aside: bool
    """A later cell went back over it."""
    values: tuple[tuple[str, str], ...]
    """What it computed for the answer: the expression, and the text that it became."""
    remark: str = ""
    """Why its user rejected it."""
    edited: str = ""
    """That its code is not the model's own, in words."""
    difference: tuple[tuple[str, str], ...] = ()
    """What somebody changed in it before it ran: the lines of a diff, each with its kind."""

    @property
    def only_values(self) -> bool:
        """Whether it did nothing but compute the values of an answer."""
        return self.source == ONLY_VALUES

    @property
    def code(self) -> Markup:
        """Its code with colours, made when it is shown: a long page begins before all of it is made."""
        return highlighted(self.source)


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A question with all that belongs to it, as the templates show it."""

    number: int
    question: str
    plan: tuple[tuple[str, bool], ...]
    cells: tuple[ShownCell, ...]
    answer: Markup
    concerns: tuple[str, ...]
    ended: bool
    seconds: float


def report(analysis: Analysis, drawn: Drawn, *, made: str = "", waits: bool = False) -> str:
    """The report as HTML.

    Args:
        analysis: What it is about.
        drawn: Its pictures.
        made: When the analysis came to be, in words.
        waits: Whether its newest question waits for a decision.
    """
    environment = templates()
    page = environment.get_template("report.html.jinja")
    turns = [
        shown_turn(analysis, turn, _cell_picture(drawn), partial(_answer_picture, drawn), named=False)
        for turn in analysis.turns
    ]
    return page.render(
        title=clean(analysis.title),
        thread=analysis.thread,
        step=analysis.step,
        made=made,
        waits=waits,
        inputs=[(clean(one["path"]), one["size"], clean(one["problem"])) for one in analysis.inputs],
        turns=turns,
        figures=figures_beside(
            analysis, {turn.number: turn.answer for turn in turns}, partial(_published_picture, drawn)
        ),
        style=Markup(stylesheet()),  # noqa: S704 - our own
    )


def shown_turn(
    analysis: Analysis,
    turn: AnalysedTurn,
    cell_picture: Callable[[int, str], str],
    answer_picture: Callable[[str], str],
    link: Callable[[str], str] = lambda path: "",
    *,
    written: Callable[[int, str], str] = lambda number, path: "",
    named: bool = True,
) -> ShownTurn:
    """A question for the templates.

    Args:
        analysis: What it belongs to.
        turn: The question.
        cell_picture: The address of a figure by the cell's number and its path; empty where it cannot be had.
        answer_picture: The address of a picture by what the answer calls it.
        link: The address of a file by what the answer calls it.
        written: The address of a file by the number of the cell that wrote it, and its path.
        named: Whether users are named by their ids; not in what leaves the server.
    """
    numbers = NumberSources([cell for cell in analysis.cells_before(turn) if cell["number"] not in analysis.aside],
                            turn.answer, turn.question)  # fmt: skip
    return ShownTurn(
        number=turn.number,
        question=clean(turn.question).strip(),
        plan=tuple((clean(step["text"]), step["done"]) for step in turn.plan),
        cells=tuple(
            shown_cell(
                cell,
                cell_picture,
                partial(written, cell["number"]),
                aside=cell["number"] in analysis.aside,
                named=named,
            )
            for cell in turn.cells
            if cell["code"] != ONLY_VALUES or cell.get("values")
        ),
        answer=_safe(prose(turn.answer, numbers=numbers, picture=answer_picture, link=link))
        if turn.answer
        else Markup(),
        concerns=tuple(map(clean, turn.concerns)),
        ended=turn.ended,
        seconds=sum(cell["seconds"] for cell in turn.cells),
    )


def shown_cell(
    cell: Cell,
    picture: Callable[[int, str], str],
    link: Callable[[str], str] = lambda path: "",
    *,
    aside: bool = False,
    named: bool = True,
) -> ShownCell:
    """A cell for the templates.

    Args:
        cell: The cell.
        picture: The address of a figure by the cell's number and its path; empty where it cannot be had.
        link: The address of a file by its path; empty where it cannot be had.
        aside: Whether a later cell went back over it.
        named: Whether the user who edited it is named by their id.
    """
    status = cell["status"]
    files = [one for one in cell["files"] if one["path"] not in cell["figures"]]
    return ShownCell(
        number=cell["number"],
        purpose=clean(" ".join(cell["purpose"].split())) or "untitled",
        thought=_safe(prose(cell["thought"])) if cell["thought"].strip() else Markup(),
        source=cell["code"],
        status=status,
        words=STATUS_WORDS.get(status, status),
        seconds=cell["seconds"],
        outputs=tuple(_shown_output(one, cell["number"], picture) for one in outputs_shown(cell)),
        files=tuple(
            (clean(f"{one['path']} ({one['change']})"), link(one["path"]) if one["change"] != "deleted" else "")
            for one in files
        ),
        calls=tuple(map(clean, cell.get("calls") or [])),
        back_to=cell.get("back_to"),
        aside=aside,
        values=tuple((clean(one["expression"]), _value(one["text"])) for one in cell.get("values") or []),
        remark=clean(cell["observation"].partition(REJECTED)[2]) if status == "rejected" else "",
        edited=_edited(cell, named=named),
        difference=tuple(diff_lines(difference(cell["edited"]["original"], cell["code"])))
        if cell.get("edited", {}).get("original")
        else (),
    )


def _edited(cell: Cell, *, named: bool) -> str:
    """Whose code it is, where it is not the model's alone."""
    hand = cell.get("edited")
    if hand is None:
        return ""
    who = (named and clean(hand["by"])) or "the user"
    # What was sent whole may be a person's, or of the model of an agent or an editor: State does not tell.
    return f"edited by {who} before it ran" if hand["original"] else "sent as code, not written by Stepwell's model"


def difference(original: str, edited: str) -> str:
    """What an edit changes, as a unified diff without the names of files."""
    lines = list(difflib.unified_diff(original.split("\n"), edited.rstrip("\n").split("\n"), lineterm="", n=3))
    return "\n".join(lines[2:]) or " (nothing differs)"


def variables_in(expression: str) -> list[str]:
    """The names that a Python expression reads, without those that it binds itself or that Python has."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in its texts
            tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    names = sorted(found, key=lambda node: (node.lineno, node.col_offset))
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | {
        node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)
    }
    return list(dict.fromkeys(node.id for node in names if node.id not in bound and not hasattr(builtins, node.id)))


def diff_lines(text: str) -> list[tuple[str, str]]:
    """The lines of a unified diff, each with what it is: added, removed, a place, or the same."""
    lines = FILES.sub("", text).split("\n")
    return [(DIFF_KINDS.get(line[:1], "same"), shown_code(line)) for line in lines]


@lru_cache(maxsize=2_000)
def highlighted(code: str) -> Markup:
    """Python as HTML with classes for colours."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    formatter = HtmlFormatter(nowrap=True)
    return _safe(highlight(shown_code(code), PythonLexer(stripnl=False), formatter))


@cache
def stylesheet() -> str:
    """The style of threads, on light and dark screens and on paper."""
    from pygments.formatters import HtmlFormatter

    own = templates().get_template("thread.css").render()
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return f"{_only_tokens(light)}\n@media screen and (prefers-color-scheme: dark) {{\n{_only_tokens(dark)}\n}}\n{own}"


@cache
def templates() -> "Environment":
    """The templates; what is put into them is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("stepwell.exports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["variables"] = variables_in
    return made


def data_address(data: bytes) -> str:
    """A picture as a `data:` address; empty for a type that documents do not take."""
    mime = picture_type(data)
    return f"data:{mime};base64,{base64.b64encode(data).decode()}" if mime else ""


def _only_tokens(rules: str) -> str:
    """The colours of code without those of its background and of line numbers, which are the page's own."""
    return "\n".join(line for line in rules.splitlines() if line.startswith(".code ."))


def _cell_picture(drawn: Drawn) -> Callable[[int, str], str]:
    return lambda number, path: data_address(drawn.of_cell(number, path))


def _answer_picture(drawn: Drawn, path: str) -> str:
    return data_address(drawn.of_answer(path))


def _published_picture(drawn: Drawn, one: Artifact) -> tuple[str, ...]:
    address = _answer_picture(drawn, one.get("path") or one["name"])
    return (address,) if address else ()


def _value(text: str) -> str:
    """What an expression of an answer became; a table is shown as one."""
    return _safe(prose(text)) if text.lstrip().startswith("|") else clean(text)


def _shown_output(output: CellOutput, number: int, picture: Callable[[int, str], str]) -> ShownOutput:
    text = clean(output["text"])
    if path := output.get("path", ""):
        address = picture(number, path)
        return ShownOutput(output["kind"], picture=address, title=clean(path), text="" if address else text)
    if html := output.get("html", ""):
        shown = table(html)
        if "<table" in shown:
            return ShownOutput(output["kind"], html=_safe(shown))
    return ShownOutput(output["kind"], text=text)


def _safe(text: str) -> Markup:
    """HTML that was made harmless, or that Pygments wrote."""
    return Markup(text)  # noqa: S704 - see above
