"""What users use up is counted where it is spent, kept beyond the process, and held against their quotas."""

import asyncio
import contextlib
import contextvars
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from graph.checkpoints.holds import Holds
from graph.context import Context, KnobError, context_of
from graph.locked_graph import LockedGraph
from graph.settings import Prices, Settings
from graph.state import Artifact, State
from graph.users.consumption import Consumption, Meter, QuotaError, current_meter
from graph.users.policy import Quotas, read_policy
from graph.wiring import make_sandboxes
from models.base import Tokens
from nodes.budget import add_usage, budget_reached
from nodes.upload import bytes_of
from sandboxes.host.session_pool import owner


class Analysis:
    """A graph of one node that asks a model, keeps a snapshot and publishes, as the real nodes count it."""

    def __init__(self) -> None:
        self.contexts: list[Context] = []
        self.owners: list[Any] = []
        self.stopped: list[str] = []

    def builder(self) -> Any:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Context)

        async def step(state: State, runtime: Runtime[Context]) -> State:
            context = context_of(runtime)
            self.contexts.append(context)
            self.owners.append(owner.get())
            self.stopped.append(budget_reached(state, context, None))
            usage = add_usage(state, "step", Tokens(calls=1, input=70, output=30))
            if (meter := current_meter.get()) is not None:
                meter.keep(600_000)
                meter.publish(100_000)
            return {"usage": usage}

        builder.add_node("step", step)
        builder.add_edge(START, "step")
        builder.add_edge("step", END)
        return builder


@asynccontextmanager
async def served(analysis: Analysis, settings: Settings, policy: str) -> AsyncIterator[Any]:
    async with serving(analysis.builder(), settings, policy, InMemorySaver()) as graph:
        yield graph


@asynccontextmanager
async def serving(builder: Any, settings: Settings, policy: str, saver: InMemorySaver) -> AsyncIterator[Any]:
    Path("policy.toml").write_text(policy)
    settings = settings.model_copy(update={"policy": Path("policy.toml"), "api_keys": Path("keys")})
    read = await asyncio.to_thread(read_policy, settings)
    async with make_sandboxes(settings) as sandboxes:
        compiled = builder.compile(checkpointer=saver, name="stepwell")
        # A server makes copies of the graph.
        yield LockedGraph.around(compiled, settings, sandboxes, policy=read).copy()


def of(user: str, thread: str) -> Any:
    return {"configurable": {"thread_id": thread, "langgraph_auth_user": SimpleNamespace(identity=user)}}


ASK = {"question": "a"}


async def test_a_run_above_its_bound_does_not_begin(settings: Settings) -> None:
    analysis = Analysis()
    async with served(analysis, settings, "[limits]\ncell_timeout = 60") as graph:
        for bad in ({"cell_timeout": 61}, {"aproval": "cells"}, {"max_cells": "many"}, {"model": "x"}):
            with pytest.raises(KnobError):
                await graph.ainvoke(ASK, of("key:bob", "t"), context=bad)
        assert analysis.contexts == []
        await graph.ainvoke(ASK, of("key:bob", "t"), context={"cell_timeout": 5, "approval": "cells"})
        await graph.ainvoke(ASK, of("key:bob", "t"))
    first, second = analysis.contexts
    assert (first.cell_timeout, first.approval) == (5, "cells")
    assert (second.cell_timeout, "approval" in second.model_fields_set) == (60, False)
    assert analysis.owners[0].name == "key:bob"


@pytest.mark.parametrize("thread", ["t", ""])
async def test_a_run_whose_parts_are_asked_for_in_tasks_of_their_own_counts_too(
    settings: Settings, thread: str
) -> None:
    analysis = Analysis()
    async with served(analysis, settings, "[quotas]\nsandboxes = 7") as graph:
        if not thread:
            graph.checkpointer = None
        config = (
            of("key:bob", thread)
            if thread
            else {"configurable": {"langgraph_auth_user": SimpleNamespace(identity="key:bob")}}
        )
        stream = graph.astream(ASK, config, stream_mode=["values", "debug"])
        with contextlib.suppress(StopAsyncIteration):
            while True:
                await asyncio.create_task(anext(stream), context=contextvars.Context())
    assert [(one.name, one.places) for one in analysis.owners] == [("key:bob", 7)]
    used = await Consumption.of(settings).look("key:bob")
    assert (used.input, used.output, used.bytes) == (70, 30, 700_000 if thread else 0)


async def test_a_snapshot_that_is_stored_as_the_run_ends_is_counted(settings: Settings) -> None:
    class Holding(InMemorySaver):
        holds = Holds()

    consumption, saver = Consumption.of(settings), Holding()
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(State, context_schema=Context)

    async def keep(meter: Meter) -> list[str]:
        while not (await consumption.look("key:bob")).input:  # the run's last part has been counted
            await asyncio.sleep(0)
        meter.keep(600_000)
        return []

    async def step(state: State) -> State:
        meter = current_meter.get()
        assert meter is not None
        meter.spend(70, 30)
        saver.holds.begin("t", keep(meter))
        return {}

    builder.add_node("step", step)
    builder.add_edge(START, "step")
    async with serving(builder, settings, "[quotas]\ndisk_mb = 1", saver) as graph:
        await graph.ainvoke(ASK, of("key:bob", "t"))
    assert (await consumption.look("key:bob")).bytes == 600_000


async def test_the_day_of_a_user_ends_their_turns_and_nobody_elses(settings: Settings) -> None:
    analysis = Analysis()
    async with served(analysis, settings, "[quotas]\ntokens_a_day = 150") as graph:
        for thread in ("one", "two", "three"):
            await graph.ainvoke(ASK, of("key:bob", thread))
        await graph.ainvoke(ASK, of("key:alice", "hers"))
    assert [bool(said) for said in analysis.stopped] == [False, False, True, False]
    assert "tokens of today are used up (200 spent)" in analysis.stopped[2]


async def test_the_count_survives_a_restart_and_an_edited_state(settings: Settings) -> None:
    analysis = Analysis()
    async with served(analysis, settings, "[quotas]\ntokens_a_day = 150") as graph:
        await graph.ainvoke(ASK, of("key:bob", "one"))
        await graph.aupdate_state(of("key:bob", "one"), {"usage": {}})
        await graph.ainvoke(ASK, of("key:bob", "one"))
    again = Analysis()
    async with served(again, settings, "[quotas]\ntokens_a_day = 150") as graph:
        await graph.ainvoke(ASK, of("key:bob", "two"))
    assert "(200 spent)" in again.stopped[0]


async def test_who_keeps_all_that_they_may_has_to_delete_something(settings: Settings) -> None:
    analysis = Analysis()
    consumption = Consumption(settings.home / "quotas")
    async with served(analysis, settings, "[quotas]\ndisk_mb = 1") as graph:
        await graph.ainvoke(ASK, of("key:bob", "one"))
        await graph.ainvoke(ASK, of("key:bob", "one"))
        # 600 kB more each time, and the same 100 kB published.
        assert (await consumption.look("key:bob")).bytes == 1_300_000
        with pytest.raises(QuotaError, match="delete threads"):
            await graph.ainvoke(ASK, of("key:bob", "two"))
        await graph.ainvoke(ASK, of("key:alice", "hers"))
        await consumption.forget("key:bob", "one")
        await graph.ainvoke(ASK, of("key:bob", "two"))
    assert [one.max_snapshot_bytes for one in analysis.contexts] == [1_000_000, 300_000, 1_000_000, 1_000_000]


def test_no_edit_of_state_makes_published_files_take_less_than_nothing() -> None:
    old, new = (Artifact(name="a", url="", size=size, sha256="", mime="", cell=1) for size in (-(10**12), 300))
    assert bytes_of([old, new]) == 300


async def test_money_is_counted_with_the_prices(settings: Settings) -> None:
    analysis = Analysis()
    dear = settings.model_copy(update={"prices": "1000,10000"})
    async with served(analysis, dear, "[quotas]\ncost_a_day = 0.5") as graph:
        await graph.ainvoke(ASK, of("key:bob", "one"))
        await graph.ainvoke(ASK, of("key:bob", "two"))
        await graph.ainvoke(ASK, of("key:bob", "three"))
    assert [bool(said) for said in analysis.stopped] == [False, False, True]


async def test_another_day_begins_at_nothing_and_a_damaged_file_costs_the_count_alone(tmp_path: Path) -> None:
    consumption = Consumption(tmp_path, Prices((1, 1)))
    await consumption.add("key:bob", "t", 5, 6, 7, None)
    (file,) = tmp_path.glob("*.json")
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "day": "2020-01-01"}))
    used = await consumption.add("key:bob", "t", 1, 2, 0, 9)
    assert (used.input, used.output, used.bytes) == (1, 2, 16)
    file.write_text("{")
    assert (await consumption.look("key:bob")).bytes == 0
    await consumption.add("key:bob", "t", 1, 2, 0, 9)
    assert (await consumption.look("key:bob")).bytes == 9


async def test_what_cannot_be_read_for_a_while_is_not_counted_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    consumption = Consumption(tmp_path)
    await consumption.add("key:bob", "before", 5, 6, 7, 8)
    (file,) = tmp_path.glob("*.json")
    aside = file.rename(tmp_path / "aside")
    file.symlink_to(file.name)  # reading it fails, and not because there is none; writing it would not
    meter = Meter(consumption, "key:bob", "t", Quotas())
    await meter.begin()
    meter.spend(1, 2)
    meter.keep(3)
    meter.publish(4)
    await meter.flush(now=True)
    assert "cannot be written down" in caplog.text
    with pytest.raises(OSError, match="symbolic links"):
        await consumption.add("key:bob", "t", 1, 2, 3, 4)
    assert file.is_symlink()
    file.unlink()
    aside.rename(file)
    await meter.flush(now=True)
    used = await consumption.look("key:bob")
    assert (used.input, used.output, used.bytes) == (6, 8, 22)
    await meter.flush(now=True)
    assert (await consumption.look("key:bob")).input == 6


async def test_without_users_nothing_is_counted(settings: Settings) -> None:
    analysis = Analysis()
    async with make_sandboxes(settings) as sandboxes:
        graph: Any = LockedGraph.around(analysis.builder().compile(checkpointer=InMemorySaver()), settings, sandboxes)
        await graph.ainvoke(ASK, of("", "t"), context={"cell_timeout": 1e8})
    assert analysis.contexts[0].cell_timeout == 1e8
    assert not (settings.home / "quotas").exists()
