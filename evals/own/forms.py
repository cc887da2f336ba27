"""The forms of tasks: one question, or turns whose answers are computed from the states before them."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from evals.tasks import Value

Line = dict[str, Any]
"""A task as a line of a suite in the plain format."""
S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
UNANSWERABLE = "cannot be answered"
CHECK_FIRST = f"If the files do not hold what is needed to answer, answer `{UNANSWERABLE}`."


def single(name: str, files: str, question: str, *expected: Value, decimals: int = 2) -> Line:
    """A task of one question.

    Args:
        name: The task's id.
        files: Their names, with spaces between.
        question: What is asked, with the rule of rounding.
        expected: The values, not rounded.
        decimals: How many are asked for.
    """
    values = [exact(one) for one in expected]
    return {
        "id": name,
        "question": question,
        "files": files.split(),
        "expected": values[0] if len(values) == 1 else values,
        "tolerance": half_a_unit(decimals),
    }


def delivery(name: str, files: str, question: str, delivered: Mapping[str, Mapping[str, Any]], *answer: Value) -> Line:
    """A task that has to deliver tables, perhaps with an answer."""
    expected: Line = {"files": {file: dict(about) for file, about in delivered.items()}}
    if answer:
        expected["answer"] = [exact(one) for one in answer]
    given = {"id": name, "question": question, "files": files.split(), "expected": expected}
    return given | {"tolerance": half_a_unit(2)} if answer else given


@dataclass(frozen=True, slots=True)
class Turn(Generic[S]):
    """One turn: what is asked, the state that follows from earlier ones, and the answer from all of them."""

    question: str
    state: Callable[[Sequence[S]], S]
    """From the states of the turns before; the first turn gets none."""
    answer: Callable[[Sequence[S]], Sequence[Value]]
    """From the states up to this turn's own."""


def play(name: str, files: str, turns: Iterable[Turn[S]], decimals: int = 2) -> Line:
    """A task of several turns."""
    states: tuple[S, ...] = ()
    questions, expected = [], []
    for turn in turns:
        states = (*states, turn.state(states))
        questions.append(turn.question)
        expected.append([exact(one) for one in turn.answer(states)])
    return {
        "id": name,
        "question": questions,
        "files": files.split(),
        "expected": expected,
        "tolerance": half_a_unit(decimals),
    }


def half_a_unit(decimals: int) -> float:
    """How far an answer that was rounded to so many decimals is off at most."""
    return float(f"5.01e-{decimals + 1}")


def exact(value: Value) -> Value:
    """A number without the last bits that depend on the order of a sum."""
    return round(value, 9) if isinstance(value, float) else value


def best(totals: Mapping[K, float], *, least: bool = False) -> K:
    """The key with the greatest value, or the least; there has to be only one, by a margin."""
    ranked = sorted(totals, key=lambda key: totals[key], reverse=not least)
    if len(ranked) > 1 and abs(totals[ranked[0]] - totals[ranked[1]]) < 1e-6:
        raise ValueError(f"{ranked[0]} and {ranked[1]} are tied.")
    return ranked[0]


def summed(pairs: Iterable[tuple[K, int]]) -> dict[K, int]:
    """The sum for each key."""
    totals: dict[K, int] = {}
    for key, value in pairs:
        totals[key] = totals.get(key, 0) + value
    return totals


def grouped(pairs: Iterable[tuple[K, S]]) -> dict[K, list[S]]:
    """The values for each key."""
    groups: dict[K, list[S]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
