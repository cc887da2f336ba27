"""Both stores of checkpoints do all that LangGraph asks of one, and lose nothing that a thread is rebuilt from."""

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import psycopg
import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from graph.checkpoints.advisory_lock import hold_thread_in_database
from graph.checkpoints.factory import open_checkpoints, plain_values
from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.journal import STARTED
from graph.checkpoints.postgres_saver import open_postgres, watched
from graph.checkpoints.saver import Saver
from graph.settings import Settings, SettingsError
from graph.state import State, append
from tests.postgres_server import PostgresServer, in_database

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]


async def test_it_passes_the_conformance_suite_in_full(store: Settings) -> None:
    @checkpointer_test(name=f"ours-{uuid.uuid4()}")
    async def ours() -> AsyncIterator[Saver]:
        async with open_checkpoints(store) as saver:
            yield saver

    report = await validate(ours)
    assert {name: result.failures for name, result in report.results.items() if result.passed is not True} == {}
    assert set(report.results) == {
        "put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread", "prune",
    }  # fmt: skip


async def test_what_waits_for_a_snapshot_is_seen_by_nobody_before(store: Settings, saver: Saver) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}
    go, checkpoint = asyncio.Event(), empty_checkpoint()

    async def keep() -> list[str]:
        await go.wait()
        return []

    saver.holds.begin(config["configurable"]["thread_id"], keep())
    at = await saver.aput(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
    assert at["configurable"]["checkpoint_id"] == checkpoint["id"]
    await saver.aput_writes(at, [("cells", [{"number": 1}])], str(uuid.uuid4()))
    await saver.aput_writes(at, [(STARTED, {"task": "t"})], str(uuid.uuid4()))
    async with open_checkpoints(store) as other:
        assert await other.aget_tuple(config) is None
    reading = asyncio.ensure_future(saver.aget_tuple(config))
    go.set()
    async with open_checkpoints(store) as other:
        for found in (await reading, await other.aget_tuple(config)):
            assert found is not None
            assert found.checkpoint["id"] == checkpoint["id"]
            assert {channel for _, channel, _ in found.pending_writes or []} == {"cells", STARTED}


def add_cell(state: Any) -> Any:
    """A cell that names a snapshot, as `execute` does."""
    number = len(state.get("cells") or []) + 1
    return {
        "cells": [{"number": number, "snapshot": snapshot_of(number)}],
        "messages": [HumanMessage(f"cell {number}")],
    }


def ask(state: Any) -> Any:
    """A node that waits for somebody, when it is asked to."""
    if "wait" in state["messages"][-2].text:
        return {"question": interrupt("approve?")}
    return {"question": "none"}


def snapshot_of(number: int) -> str:
    return f"{number:064x}"


class OftenWhole(TypedDict, total=False):
    """State's growing channels, with a full copy after a few writes."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=7)]
    cells: Annotated[list[Any], DeltaChannel(append, snapshot_frequency=5)]
    question: str


class Thread:
    """A thread of a small graph with State's own channels."""

    def __init__(self, saver: Saver, id: str = "", schema: type = State) -> None:
        builder: StateGraph[Any, None, Any, Any] = StateGraph(schema)
        builder.add_node("add", add_cell)
        builder.add_node("ask", ask)
        builder.add_edge(START, "add")
        builder.add_edge("add", "ask")
        builder.add_edge("ask", END)
        self.graph = builder.compile(checkpointer=saver)
        self.id = id or str(uuid.uuid4())
        self.saver = saver

    def config(self, run: str = "") -> RunnableConfig:
        config: RunnableConfig = {"configurable": {"thread_id": self.id}}
        return {**config, "metadata": {"run_id": run}} if run else config

    async def say(self, text: str, run: str = "") -> None:
        given: Any = {"messages": [HumanMessage(text)]}
        await self.graph.ainvoke(given, self.config(run))

    async def texts(self) -> list[str]:
        values = (await self.graph.aget_state(self.config())).values
        return [message.text for message in values.get("messages") or []]

    async def cells(self) -> list[int]:
        return [cell["number"] for cell in (await self.graph.aget_state(self.config())).values.get("cells") or []]

    async def count(self) -> int:
        return len(await self.saver.checkpoint_rows(self.id))


async def test_a_run_that_is_rolled_back_leaves_nothing_and_the_next_one_goes_on_from_before(saver: Saver) -> None:
    thread = Thread(saver)
    await thread.say("one", "run-1")
    before, count = await thread.texts(), await thread.count()
    await thread.say("a secret, sent by mistake", "run-2")
    await saver.adelete_for_runs(["run-2"])
    assert await thread.texts() == before
    assert await thread.count() == count
    assert [row.value for row in await written(saver, thread) if "secret" in str(row.value)] == []
    await thread.say("two", "run-3")
    assert await thread.texts() == ["one", "cell 1", "two", "cell 2"]
    assert await thread.cells() == [1, 2]


async def test_rolling_back_a_decision_leaves_the_question_waiting(saver: Saver) -> None:
    thread = Thread(saver)
    await thread.say("wait", "run-1")
    waiting = (await thread.graph.aget_state(thread.config())).interrupts
    await thread.graph.ainvoke(Command(resume="yes"), thread.config("run-2"))
    assert (await thread.graph.aget_state(thread.config())).next == ()
    await saver.adelete_for_runs(["run-2"])
    state = await thread.graph.aget_state(thread.config())
    assert (state.next, state.interrupts) == (("ask",), waiting)
    await thread.graph.ainvoke(Command(resume="no"), thread.config("run-3"))
    assert (await thread.graph.aget_state(thread.config())).values["question"] == "no"


async def test_deleting_an_earlier_run_loses_nothing_of_what_later_ones_are_built_on(saver: Saver) -> None:
    thread = Thread(saver)
    await thread.say("one", "run-1")
    await thread.say("two", "run-2")
    before = await thread.texts()
    await saver.adelete_for_runs(["run-1"])
    assert await thread.texts() == before
    assert await thread.cells() == [1, 2]
    await thread.say("three", "run-3")
    assert await thread.cells() == [1, 2, 3]


async def test_pruning_keeps_the_newest_state_whole_and_forgets_other_branches(saver: Saver) -> None:
    thread = Thread(saver)
    await thread.say("one")
    beginning = await thread.graph.aget_state(thread.config())
    await thread.say("left behind")
    await thread.graph.aupdate_state(
        beginning.config, {"messages": [HumanMessage("on the other branch")]}, as_node="ask"
    )
    texts, count = await thread.texts(), await thread.count()
    await saver.aprune([thread.id], strategy="keep_latest")
    assert await thread.texts() == texts == ["one", "cell 1", "on the other branch"]
    assert await thread.count() < count
    assert not [row for row in await written(saver, thread) if "left behind" in str(row.value)]
    await thread.say("two")
    assert await thread.cells() == [1, 2]
    with pytest.raises(ValueError, match="keep_latest and delete"):
        await saver.aprune([thread.id], strategy="some")


async def test_a_long_thread_is_pruned_to_the_full_copy_that_it_is_rebuilt_from(saver: Saver) -> None:
    thread = Thread(saver, schema=OftenWhole)
    for number in range(20):
        await thread.say(f"question {number}")
    texts, count = await thread.texts(), await thread.count()
    await saver.aprune([thread.id])
    assert await thread.texts() == texts
    assert await thread.cells() == list(range(1, 21))
    assert 1 < await thread.count() < count / 2
    found = await saver.referenced_hashes(thread.id)
    assert {snapshot_of(number) for number in range(1, 21)} <= found


async def test_what_gc_keeps_are_the_snapshots_of_the_branches_that_are_left(saver: Saver) -> None:
    thread = Thread(saver)
    await thread.say("one", "run-1")
    await thread.say("two", "run-2")
    assert {snapshot_of(1), snapshot_of(2)} <= await saver.referenced_hashes()
    await saver.adelete_for_runs(["run-2"])
    found = await saver.referenced_hashes()
    assert snapshot_of(1) in found
    assert snapshot_of(2) not in found
    await saver.aprune([thread.id], strategy="delete")
    assert await saver.referenced_hashes() == set()


async def test_what_a_thread_gave_up_is_not_needed_goes_to_copies_and_can_be_taken_back(saver: Saver) -> None:
    thread, other = Thread(saver), Thread(saver)
    await thread.say("one")
    await other.say("one")  # the same snapshot
    given = GivenUp.now("keep last 1")
    await saver.give_up(thread.id, {snapshot_of(1): given})
    await saver.give_up(thread.id, {snapshot_of(1): GivenUp.now("older than 30d")})  # what was said first stays
    assert await saver.given_up(thread.id) == {snapshot_of(1): given}
    assert snapshot_of(1) not in await saver.referenced_hashes(thread.id)
    assert snapshot_of(1) in (await saver.hashes_by_thread(thread.id))[thread.id]
    assert snapshot_of(1) in await saver.referenced_hashes()
    await saver.give_up(other.id, {snapshot_of(1): given})
    assert snapshot_of(1) not in await saver.referenced_hashes()
    copy, fork = str(uuid.uuid4()), str(uuid.uuid4())
    await saver.acopy_thread(thread.id, copy)
    await saver.copy_given_up(thread.id, fork)
    assert await saver.given_up(copy) == await saver.given_up(fork) == {snapshot_of(1): given}
    await saver.take_back(thread.id, [snapshot_of(1)])
    assert set(await saver.all_given_up()) == {other.id, copy, fork}
    for one in (other.id, copy, fork):
        await saver.adelete_thread(one)
    assert await saver.all_given_up() == {}


async def test_a_copy_goes_its_own_way_and_outlives_the_original(saver: Saver) -> None:
    thread = Thread(saver)
    await thread.say("one", "run-1")
    copy = Thread(saver, str(uuid.uuid4()))
    await saver.acopy_thread(thread.id, copy.id)
    await saver.adelete_for_runs(["run-1"])
    assert await thread.texts() == []
    await thread.say("one")
    await copy.say("of the copy")
    assert await thread.texts() == ["one", "cell 1"]
    await saver.adelete_thread(thread.id)
    assert await copy.texts() == ["one", "cell 1", "of the copy", "cell 2"]
    assert snapshot_of(1) in await saver.referenced_hashes()
    assert [head.thread for head in await saver.newest_threads(limit=5)] == [copy.id]


async def test_many_processes_may_open_a_new_store_at_once(store: Settings) -> None:
    async def use() -> None:
        async with open_checkpoints(store) as saver:
            await Thread(saver).say("one")

    await asyncio.gather(*(use() for _ in range(6)))
    async with open_checkpoints(store) as saver:
        assert len(await saver.newest_threads(limit=10)) == 6


async def test_a_thread_is_the_first_ones_who_claims_it_and_one_that_was_there_before_is_nobodys(
    store: Settings,
) -> None:
    threads = [str(uuid.uuid4()) for _ in range(4)]
    async with open_checkpoints(store) as one, open_checkpoints(store) as other:
        for thread in threads:
            both = await asyncio.gather(one.claim(thread, "alice"), other.claim(thread, "bob"))
            assert sorted(both) == [False, True]
            first, second = ("alice", "bob") if both[0] else ("bob", "alice")
            assert await other.claim(thread, first)
            await one.delete_checkpoints([thread])
            assert not await one.claim(thread, second)
        at = await one.aput(
            {"configurable": {"thread_id": "before", "checkpoint_ns": ""}}, empty_checkpoint(), {"source": "input"}, {}
        )
        assert at
        assert not await other.claim("before", "alice")


async def test_a_thread_is_found_by_the_beginning_of_its_id_and_remembers_what_a_run_left(saver: Saver) -> None:
    thread = Thread(saver, "abc%_1234")
    await Thread(saver, "abcX_1234").say("one")
    config: RunnableConfig = {**thread.config(), "metadata": {"stepwell_context": "knobs"}}
    given: Any = {"messages": [HumanMessage("hello")]}
    await thread.graph.ainvoke(given, config)
    assert await saver.threads_beginning_with("abc%") == ["abc%_1234"]
    assert sorted(await saver.threads_beginning_with("abc")) == ["abc%_1234", "abcX_1234"]
    assert await saver.newest_metadata(thread.id, "stepwell_context") == "knobs"
    assert await saver.newest_metadata("abcX_1234", "stepwell_context") is None
    assert await saver.change_metadata("abcX_1234", "stepwell_context", "other 'knobs'")
    assert await saver.newest_metadata("abcX_1234", "stepwell_context") == "other 'knobs'"
    assert not await saver.change_metadata("nobody", "stepwell_context", "knobs")


async def written(saver: Saver, thread: Thread) -> list[Any]:
    return await saver.written_rows(thread.id, values=("messages", "cells"), names=())


@asynccontextmanager
async def refused(word: str) -> AsyncIterator[None]:
    with pytest.raises(SettingsError) as raised:
        yield
    assert word in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_a_thread_is_there_as_long_as_anything_of_it_is(saver: Saver) -> None:
    assert not await saver.has("left")
    at: Any = {"configurable": {"thread_id": "left", "checkpoint_ns": "", "checkpoint_id": "1"}}
    await saver.aput_writes(at, [("channel", "value")], "task", "~__pregel_pull, execute")
    assert await saver.has("left")
    await saver.delete_checkpoints(["left"])
    assert not await saver.has("left")


async def test_a_database_that_cannot_be_reached_is_one_sentence(settings: Settings) -> None:
    nowhere = in_database(settings, "postgresql://me:secret-word@127.0.0.1:9/none")
    async with refused("STEPWELL_DATABASE_URL"), open_checkpoints(nowhere):
        raise AssertionError("it was opened")


async def test_a_database_that_goes_away_ends_the_block_in_one_sentence_and_is_there_again_later(
    postgres: PostgresServer, settings: Settings
) -> None:
    store = in_database(settings, postgres.new_database())
    async with open_checkpoints(store) as saver:
        thread = Thread(saver)
        await thread.say("one")
        await asyncio.to_thread(postgres.hang_up)
        assert await thread.texts() == ["one", "cell 1"]
    url = store.database_url.get_secret_value()
    async with refused("STEPWELL_DATABASE_URL"), open_postgres(url, plain_values(), patience=0.5) as saver:
        await asyncio.to_thread(postgres.end)
        try:
            await Thread(saver, thread.id).texts()
        finally:
            await asyncio.to_thread(postgres.begin)
    async with open_checkpoints(store) as saver:
        assert await Thread(saver, thread.id).texts() == ["one", "cell 1"]


async def test_a_connection_notices_that_the_database_is_gone_without_a_word(postgres: PostgresServer) -> None:
    async with await psycopg.AsyncConnection.connect(watched(postgres.url)) as connection:
        with socket.socket(fileno=os.dup(connection.fileno())) as its:
            assert its.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 15_000
            assert its.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 5
    assert "tcp_user_timeout=7000" in watched(f"{postgres.url}?tcp_user_timeout=7000")


async def test_who_holds_a_thread_learns_that_the_database_answers_no_more(
    postgres: PostgresServer, settings: Settings
) -> None:
    store = in_database(settings, postgres.new_database())
    async with open_checkpoints(store):
        pass
    url = store.database_url.get_secret_value()
    async with hold_thread_in_database("t", url, patience=1) as hold:
        async with await psycopg.AsyncConnection.connect(postgres.url, autocommit=True) as other:
            found = await other.execute("select pid from pg_locks where locktype = 'advisory' and pid is not null")
            holders = [int(row[0]) for row in await found.fetchall()]
        assert len(holders) == 1
        os.kill(holders[0], signal.SIGSTOP)
        try:
            assert hold.lost is not None
            await hold.lost
        finally:
            os.kill(holders[0], signal.SIGCONT)
