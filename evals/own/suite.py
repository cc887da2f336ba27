"""Writes the suite: its questions in the plain format, and the files that they are about."""

import json
from pathlib import Path

from evals.own import deliver, long, single_others, single_trade, turns_others, turns_trade, unanswerable
from evals.own.forms import Line
from evals.own.making import world
from evals.own.packed import write_files

NAME = "own"
KINDS = (single_trade, single_others, deliver, unanswerable, turns_trade, turns_others, long)


def lines() -> list[Line]:
    """All tasks."""
    return [line for kind in KINDS for line in kind.tasks(world())]


def write_suite(folder: Path) -> Path:
    """Write files and questions; always the same bytes.

    Args:
        folder: Where they go; it is made where it is missing.

    Returns:
        The file of the questions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_files(folder, world())
    suite = folder / f"{NAME}.jsonl"
    suite.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines()), encoding="utf-8")
    return suite
