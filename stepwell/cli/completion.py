"""What the shell offers when somebody presses the tabulator: threads by name or id, and the words that options take.

A shell waits for it at each press, so nothing of LangGraph is imported, and threads that only a database knows are not
offered. Whatever goes wrong is kept quiet: it would be written into the line that is being typed.
"""

import re
from typing import get_args

from sandboxes.network import Mode

MOST = 50
"""Threads that are offered, the newest."""
ONE_WORD = re.compile(r"[\w.-]+")
"""Names that a shell takes as they are; a thread with another one is offered by its id."""


def threads(incomplete: str) -> list[tuple[str, str]]:
    """The threads whose name or id begins so, each with its last question."""
    try:
        from graph.settings import read_settings
        from stepwell.cli.terminal_text import one_line
        from stepwell.thread_summaries import listed_without_states

        kept = listed_without_states(read_settings(), limit=MOST) or []
    except Exception:
        return []
    offered = [("last", "the thread that was worked on last")] if kept else []
    for summary in kept:
        called = summary.name if ONE_WORD.fullmatch(summary.name) else summary.id[:8]
        offered.append((called, one_line(summary.question, 80)))
        if called != summary.id[:8] and incomplete and summary.id.startswith(incomplete):
            offered.append((summary.id[:8], one_line(summary.question, 80)))
    return [(word, text) for word, text in offered if word.startswith(incomplete)]


def network_modes(incomplete: str) -> list[str]:
    """The values of `--network`."""
    return [mode for mode in get_args(Mode) if mode.startswith(incomplete)]


def sandbox_kinds(incomplete: str) -> list[str]:
    """The values of `--sandbox`."""
    return [kind for kind in ("local", "docker", "daytona") if kind.startswith(incomplete)]


def reviews(incomplete: str) -> list[str]:
    """The values of `--review`."""
    return [when for when in ("auto", "always", "never") if when.startswith(incomplete)]
