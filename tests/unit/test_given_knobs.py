"""Knobs are looked at wherever a request may bring them, before the platform drops those that it does not know."""

from pathlib import Path
from typing import Any

import pytest

from graph.context import KnobError
from graph.settings import Settings
from graph.users.policy import Policy, read_policy
from server.auth import check

WAYS: dict[str, Any] = {
    "a run on LangGraph": lambda knobs: {"kwargs": {"context": knobs, "config": {"configurable": {"user-agent": "x"}}}},
    "a run on Aegra": lambda knobs: {"context": knobs, "config": None},
    "a config on Aegra": lambda knobs: {"config": {"configurable": {**knobs, "thread_id": "t"}}},
    "an assistant": lambda knobs: {"assistant_id": "a", "context": knobs, "metadata": {}},
    "an assistant's config": lambda knobs: {"assistant_id": "a", "config": {"configurable": knobs}},
    "a cron": lambda knobs: {"payload": {"context": knobs}, "schedule": "* * * * *"},
    "a cron's config": lambda knobs: {"payload": {"config": {"configurable": knobs}}},
}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"aproval": "cells"}, "'aproval'"),
    ({"max_cells": "many"}, "max_cells cannot be"),
    ({"cell_timeout": 1e8}, "cell_timeout is 100,000,000"),
    ({"model": "langsmith:x"}, "model is"),
    ({"sandbox": "daytona"}, "sandbox is"),
    ({"max_snapshot_bytes": 10**15}, "max_snapshot_bytes is"),
]


@pytest.fixture
def policy() -> Policy:
    Path("policy.toml").write_text("")
    read = read_policy(Settings(policy=Path("policy.toml")))
    assert read is not None
    return read


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize(("knobs", "words"), BAD)
def test_a_knob_that_may_not_be_is_refused_on_every_way_in(
    way: str, knobs: dict[str, Any], words: str, policy: Policy
) -> None:
    with pytest.raises(KnobError, match=words):
        check(WAYS[way](knobs), "key:bob", policy)


@pytest.mark.parametrize("way", sorted(WAYS))
def test_what_may_be_passes(way: str, policy: Policy) -> None:
    check(WAYS[way]({"approval": "cells", "max_cells": 5}), "key:bob", policy)
    check(WAYS[way]({}), "key:bob", policy)


def test_without_users_the_bounds_are_nobodys_but_the_names_count() -> None:
    check(WAYS["an assistant"]({"cell_timeout": 1e8}), "local", None)
    with pytest.raises(KnobError):
        check(WAYS["an assistant"]({"aproval": "cells"}), "local", None)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(KnobError):
        check({"context": ["approval"]}, "local", None)
