"""The results of an evaluation: JSON Lines, and the page that sums them up."""

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal, Self

from stepwell.errors import UsageError

RESULTS, REPORT, MODEL = "results.jsonl", "report.md", "model.txt"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one task."""

    task: str
    thread: str
    status: Literal["right", "wrong", "broken off"]
    why: str
    """Why it is not right; empty when it is."""
    parts: int
    """Values and files that were checked."""
    parts_right: int
    input_tokens: int
    output_tokens: int
    calls: int
    cells: int
    cost: float | None
    """By STEPWELL_PRICES; None where there are none."""
    seconds: float | None
    """Of the turns that ran in this process; None when all of them had run before."""
    estimated: bool = False
    """True when the endpoint did not report some tokens, and they were counted by characters."""
    cached_tokens: int = 0
    """Of the input tokens, those that the endpoint says it had in its cache."""
    unchecked: int = 0
    """Problems that could not be checked; `why` says why."""

    def broken_off(self, why: str) -> Self:
        """The same, of a task that did not come to its end."""
        return replace(self, status="broken off", why=why)

    def without(self, unchecked: Sequence[str]) -> Self:
        """The same, of a task of which some problems could not be checked.

        Args:
            unchecked: Why not, one text each.
        """
        if not unchecked:
            return self
        why = "; ".join([*([self.why] if self.why else []), f"not checked: {', '.join(unchecked)}"])
        status = self.status if self.parts else "broken off"
        return replace(self, status=status, why=why, unchecked=len(unchecked))

    def timed(self, seconds: float | None) -> Self:
        """The same, with the time that was measured when it ran."""
        return replace(self, seconds=seconds)


def wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson's score interval at 95 %: between which shares the true accuracy lies."""
    if not total:
        return 0.0, 1.0
    z = 1.959964
    share, squared = right / total, z * z / total
    middle = (share + squared / 2) / (1 + squared)
    half = z * math.sqrt(share * (1 - share) / total + squared / (4 * total)) / (1 + squared)
    return max(0.0, middle - half), min(1.0, middle + half)


def write_results(folder: Path, results: Sequence[Result], title: str) -> None:
    """Keep the results and their page; whoever reads them meanwhile sees the old or the new ones."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in results)
    for name, text in ((RESULTS, lines), (REPORT, report(results, title))):
        partial = folder / f".{name}.partial"
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, folder / name)  # noqa: PTH105 - the name says that it goes over what is there


def read_results(folder: Path) -> dict[str, Result]:
    """The results that a folder holds, by task; none when it holds none yet.

    Raises:
        UsageError: a line cannot be read.
    """
    file = folder / RESULTS
    if not file.exists():
        return {}
    needed = {field.name for field in fields(Result) if field.default is MISSING}
    known = {field.name for field in fields(Result)}
    found: dict[str, Result] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            given = json.loads(line)
            if not needed <= set(given) <= known:
                raise ValueError("other fields than a result has")
            found[given["task"]] = Result(**given)
        except (ValueError, TypeError) as error:
            raise UsageError(f"Line {number} of {file} is no result: {error}; remove the file.") from None
    return found


def keep_model(folder: Path, model: str) -> None:
    """Write down which model a run asks.

    Raises:
        UsageError: it has asked another one before.
    """
    file = folder / MODEL
    if file.exists() and (before := file.read_text(encoding="utf-8").strip()) != model:
        raise UsageError(
            f"The evaluation {folder.name} was begun with the model {before}; give this one another --name."
        )
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{model}\n", encoding="utf-8")


def summary(results: Iterable[Result]) -> list[str]:
    """The evaluation in a few lines."""
    done = list(results)
    right = sum(one.status == "right" for one in done)
    low, high = wilson(right, len(done))
    costs = [one.cost for one in done if one.cost is not None]
    seconds = [one.seconds for one in done if one.seconds is not None]
    parts, parts_right = sum(one.parts for one in done), sum(one.parts_right for one in done)
    estimated = sum(one.estimated for one in done)
    cached = sum(one.cached_tokens for one in done)
    unchecked = sum(one.unchecked for one in done)
    share = right / len(done) if done else 0.0
    return [
        f"right: {right} of {len(done)} ({share:.1%}; 95 % interval {low:.1%} to {high:.1%})",
        f"values and files: {parts_right} of {parts} right{f'; {unchecked} not checked' if unchecked else ''}",
        f"broken off: {sum(one.status == 'broken off' for one in done)}",
        f"tokens: {sum(one.input_tokens for one in done):,} in{f' ({cached:,} of them cached)' if cached else ''}, "
        f"{sum(one.output_tokens for one in done):,} out"
        f"{f'; estimated in {estimated} tasks' if estimated else ''}",
        f"calls: {sum(one.calls for one in done):,}; cells: {sum(one.cells for one in done):,}",
        f"cost: {sum(costs):.4f}" if costs else "cost: not known (STEPWELL_PRICES is not set)",
        f"seconds: {sum(seconds):,.1f}, of the {len(seconds)} tasks that ran without a break",
    ]


def report(results: Sequence[Result], title: str) -> str:
    """The page, in Markdown."""
    head = [f"# {_cell(title)}", "", *(f"- {line}" for line in summary(results)), ""]
    table = ["| task | status | why | calls | cells | tokens | thread |", "|---|---|---|---|---|---|---|"]
    rows = [
        f"| {_cell(one.task)} | {one.status} | {_cell(one.why)} | {one.calls} | {one.cells} "
        f"| {one.input_tokens + one.output_tokens:,} | {f'`{one.thread}`' if one.thread else ''} |"
        for one in results
    ]
    return "\n".join([*head, *table, *rows, ""])


def _cell(text: str) -> str:
    """A text that ends no cell of a table and is no markup: answers come from models, and names from files."""
    line = " ".join(text.split())[:300]
    return "".join(f"\\{c}" if c in "|`*_[]<>\\" else c for c in line)
