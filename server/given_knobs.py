"""Looks at the knobs of a run before the platform does, which drops unknown ones in silence.

A run whose `aproval` is dropped would run its cells unapproved. The graph looks at what is left once more.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from graph.context import KnobError, read_knobs
from graph.users.policy import Policy

PLATFORMS = frozenset(
    {
        "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "run_id", "assistant_id", "graph_id",
        "user_id", "cron_id",
    }
)  # fmt: skip
"""What LangGraph's own clients write into `configurable` beside knobs."""
RESERVED = ("__", "langgraph_")


def check(value: Mapping[str, Any], user: str, policy: Policy | None) -> None:
    """Look at what a run, an assistant or a cron is to be made of, as an auth handler gets it.

    Args:
        value: The handler's; LangGraph has a run's parts in `kwargs`, a cron's in `payload`, Aegra has all beside one
            another.
        user: Who sends it.
        policy: What they may ask for; None: whatever they like, as long as there is such a knob.

    Raises:
        KnobError: a knob is unknown, or of a wrong type, or more than the user may ask for.
    """
    for given in _given(value):
        if not isinstance(given, Mapping):
            raise KnobError("The context of a run has to be an object: a value for each knob.")
        _check({name: one for name, one in given.items() if not _of_platform(str(name))}, user, policy)


def _given(value: Mapping[str, Any]) -> Iterator[object]:
    if isinstance(run := value.get("kwargs"), Mapping):
        # LangGraph has put headers and more into `configurable` by now, after it made `context` of what was there.
        yield run.get("context") or {}
    for part in (value, value.get("payload")):
        if isinstance(part, Mapping):
            yield part.get("context") or {}
            config = part.get("config")
            yield (config.get("configurable") if isinstance(config, Mapping) else None) or {}


def _check(knobs: Mapping[str, Any], user: str, policy: Policy | None) -> None:
    if policy is None:
        read_knobs(knobs)
    else:
        policy.of(user).knobs(knobs)


def _of_platform(name: str) -> bool:
    return name in PLATFORMS or name.startswith(RESERVED)
