"""Compares two evaluations question by question: what became right or wrong, and what each took."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from evals.results import RESULTS, Result, read_results
from stepwell.errors import UsageError

Pair = tuple[Result, Result]


def print_comparison(before: Path, after: Path, page: Path | None) -> int:
    """Say in what two runs differ.

    Args:
        before: The folder with the results of one.
        after: That of the other.
        page: Where it goes in Markdown; None: nowhere.

    Raises:
        UsageError: a folder holds no results, or they have no question in common.
    """
    one, two = _results(before), _results(after)
    pairs = [(one[task], two[task]) for task in one if task in two]
    if not pairs:
        raise UsageError(f"{before} and {after} have no question in common; compare two runs of one suite.")
    lines = comparison(pairs, alone=len(set(one) ^ set(two)))
    sys.stdout.write("\n".join(lines) + "\n")
    if page is not None:
        _write(page, [f"# {before.name} and {after.name}", "", *(f"- {_plain(line)}" for line in lines), ""])
    return 0


def _results(folder: Path) -> dict[str, Result]:
    found = read_results(folder)
    if not found:
        raise UsageError(f"{folder} holds no {RESULTS}; name the folder that `stepwell eval` wrote.")
    return found


def _write(page: Path, lines: Sequence[str]) -> None:
    try:
        page.write_text("\n".join(lines), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The page {page} cannot be written: {error.strerror}.") from None


def _plain(line: str) -> str:
    """Without markup: names of tasks come from files."""
    return "".join(f"\\{c}" if c in "|`*_[]<>\\" else c for c in line)


def comparison(pairs: Sequence[Pair], alone: int = 0) -> list[str]:
    """The comparison in lines.

    Args:
        pairs: The results of both runs for each question.
        alone: How many questions only one of them has.
    """
    gained = [two.task for one, two in pairs if one.status != "right" and two.status == "right"]
    lost = [one.task for one, two in pairs if one.status == "right" and two.status != "right"]
    first, second = (sum(pair[which].status == "right" for pair in pairs) for which in (0, 1))
    chance = mcnemar(len(gained), len(lost))
    return [
        f"questions: {len(pairs)} in both" + (f", {alone} in one only, which are left out" if alone else ""),
        f"right: {first} and {second}; difference {(second - first) / len(pairs):+.1%} "
        f"(McNemar's exact test: p = {chance:.3f})",
        f"right in the second only: {', '.join(gained) or 'none'}",
        f"right in the first only: {', '.join(lost) or 'none'}",
        *(_used(pairs, name) for name in ("input_tokens", "output_tokens", "calls", "cells")),
        _seconds(pairs),
    ]


def _used(pairs: Sequence[Pair], name: str) -> str:
    one, two = (sum(getattr(pair[which], name) for pair in pairs) for which in (0, 1))
    return f"{name.replace('_', ' ')}: {one:,} and {two:,}"


def _seconds(pairs: Sequence[Pair]) -> str:
    both = [(one.seconds, two.seconds) for one, two in pairs if one.seconds is not None and two.seconds is not None]
    one, two = (sum(pair[which] for pair in both) for which in (0, 1))
    return f"seconds: {one:,.1f} and {two:,.1f}, of the {len(both)} questions that ran without a break in both"


def mcnemar(gained: int, lost: int) -> float:
    """McNemar's exact test: how likely so uneven a split is, two-sided, if neither run were better."""
    total, least = gained + lost, min(gained, lost)
    return min(1.0, float(2 * sum(math.comb(total, k) for k in range(least + 1)) / 2**total))
