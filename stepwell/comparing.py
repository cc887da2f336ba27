"""What two steps differ in: questions, code, variables, files, answers."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from graph.settings import Settings, given_or_read
from graph.state import State
from stepwell.steps import at_step
from stepwell.threads import reading


@dataclass(frozen=True, slots=True)
class Changes:
    """What is only in the one, only in the other, and different in both, by name."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    """`name: before -> after`."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What B has otherwise than A."""

    cells_in_common: int
    """The cells at the beginning that are the same in both."""
    questions: Changes
    code: str
    """The cells after those in common, as a unified diff; empty when there are none."""
    variables: Changes
    files: Changes
    answers: tuple[str, str] | None
    """Both, when they differ."""

    @property
    def nothing(self) -> bool:
        """Whether the two are the same in all of this."""
        none = Changes((), (), ())
        return not self.code and self.answers is None and self.questions == self.variables == self.files == none


async def compare(a: tuple[str, int | None], b: tuple[str, int | None], settings: Settings | None = None) -> Difference:
    """Compare two steps, of one thread or of two.

    Args:
        a: A thread's full id, and the number of a cell or None for where it is now.
        b: The same for the other.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or step.
    """
    async with reading(await given_or_read(settings)) as (graph, _):
        one, other = [cast("State", (await at_step(graph, *step)).values) for step in (a, b)]
    codes = [[cell["code"] for cell in state.get("cells") or []] for state in (one, other)]
    common = next((n for n, (x, y) in enumerate(zip(*codes, strict=False)) if x != y), min(map(len, codes)))
    answers = (one.get("answer") or "", other.get("answer") or "")
    return Difference(
        cells_in_common=common,
        questions=_changes(_questions(one), _questions(other)),
        code="\n".join(difflib.unified_diff(_lines(one, common), _lines(other, common), "a", "b", lineterm="", n=2)),
        variables=_changes(_variables(one), _variables(other)),
        files=_changes(_files(one), _files(other)),
        answers=answers if answers[0] != answers[1] else None,
    )


def _changes(one: Mapping[str, str], other: Mapping[str, str]) -> Changes:
    return Changes(
        removed=tuple(name for name in one if name not in other),
        added=tuple(name for name in other if name not in one),
        changed=tuple(
            f"{name}: {one[name]} -> {other[name]}" for name in one if name in other and one[name] != other[name]
        ),
    )


def _questions(state: State) -> dict[str, str]:
    asked = [*(turn["question"] for turn in state.get("turns") or []), state.get("question") or ""]
    return dict.fromkeys((question for question in asked if question), "")


def _lines(state: State, common: int) -> list[str]:
    lines: list[str] = []
    for cell in (state.get("cells") or [])[common:]:
        lines += [f"# cell: {cell['purpose']} ({cell['status']})", *cell["code"].splitlines()]
    return lines


def _variables(state: State) -> dict[str, str]:
    return {row["name"]: f"{row['kind']} {row['summary']}".strip() for row in state.get("namespace") or []}


def _files(state: State) -> dict[str, str]:
    there: dict[str, Any] = {}
    for cell in state.get("cells") or []:
        for file in cell["files"]:
            if file["change"] == "deleted":
                there.pop(file["path"], None)
            else:
                there[file["path"]] = f"{file['size']:,} bytes"
    return there
