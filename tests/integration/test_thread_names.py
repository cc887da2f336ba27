"""Names and tags of threads: given, found by, searched for, kept through turns and repairs, gone with the thread."""

import asyncio
import sqlite3
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

import stepwell
from graph.checkpoints.factory import checkpoints_file, open_checkpoints
from graph.checkpoints.labels import Labels
from graph.settings import Settings
from stepwell.cli.maintenance import repair_threads
from stepwell.cli.thread_lines import detail_text
from stepwell.cli.thread_list import is_running, summary_json, thread_line
from stepwell.locks import lock_thread
from stepwell.thread_summaries import ThreadFilter, listed_without_states
from stepwell.threads import find_thread, open_graph, read_thread
from tests.integration.test_command import Desk, make_desk

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]


async def say(settings: Settings, question: str, answer: str = "", thread: str = "") -> str:
    """A thread that is asked, and may have answered an earlier question."""
    thread = thread or str(uuid.uuid4())
    async with open_graph(settings) as (graph, _):
        values = {"messages": [HumanMessage(question)], "question": question, "answer": answer}
        await graph.aupdate_state({"configurable": {"thread_id": thread}}, values, as_node="plan")
    return thread


async def test_a_thread_is_found_by_its_name_in_any_case(store: Settings) -> None:
    first, second = await say(store, "Which month?"), await say(store, "How many?")
    assert await stepwell.rename(first[:8], "  Sales of May ", settings=store) == first
    assert await find_thread("sales of may", store) == first
    assert [step.question for step in await stepwell.log("SALES OF MAY", settings=store)] == []
    with pytest.raises(stepwell.ThreadError, match=f"{first} is called sales of MAY already"):
        await stepwell.rename(second, "sales of MAY", settings=store)
    await stepwell.rename("Sales of May", "sales of MAY", settings=store)  # its own name in another case
    await stepwell.rename(second, first[:6], settings=store)  # a name goes before the beginning of an id
    assert await find_thread(first[:6], store) == second
    await stepwell.rename(first, "", settings=store)
    with pytest.raises(stepwell.ThreadError, match="No thread is called"):
        await find_thread("Sales of MAY", store)


@pytest.mark.parametrize("name", ["last", "LAST", "a@3", "-x", "a\nb", "x" * 101, str(uuid.UUID(int=7)), "\udcff"])
async def test_a_name_that_would_mean_something_else_is_refused(name: str, settings: Settings) -> None:
    thread = await say(settings, "Which month?")
    with pytest.raises(stepwell.ThreadError):
        await stepwell.rename(thread, name, settings=settings)
    assert [one.name for one in await stepwell.list_threads(settings=settings)] == [""]


async def test_tags_are_added_and_taken_away(store: Settings) -> None:
    thread = await say(store, "Which month?")
    assert await stepwell.tag(thread, "sales", "2026", settings=store) == ("2026", "sales")
    assert await stepwell.tag(thread, "Sales", "öl", settings=store) == ("2026", "sales", "öl")
    with pytest.raises(stepwell.ThreadError, match="has no tag other; it has 2026"):
        await stepwell.tag(thread, "2026", "other", remove=True, settings=store)
    assert await stepwell.tag(thread, "SALES", remove=True, settings=store) == ("2026", "öl")
    for wrong in ("", "two words", "a,b", "-x", "y" * 51):
        with pytest.raises(stepwell.ThreadError, match="cannot be a tag"):
            await stepwell.tag(thread, wrong, settings=store)
    assert await stepwell.tag(thread, settings=store) == ("2026", "öl")


async def test_tags_that_are_given_at_once_are_all_kept(store: Settings) -> None:
    thread = await say(store, "Which month?")
    words = [f"t{number}" for number in range(8)]
    await asyncio.gather(*(stepwell.tag(thread, word, settings=store) for word in words))
    assert await stepwell.tag(thread, settings=store) == tuple(words)


async def test_a_search_looks_in_names_questions_and_answers_and_sees_what_is_new(store: Settings) -> None:
    first, second = await say(store, "Which MONTH sold most?", "It was Größe May."), await say(store, "How many rows?")
    await stepwell.rename(second, "Inventory", settings=store)
    await stepwell.tag(second, "Stock", settings=store)

    async def found(search: str = "", *tags: str, limit: int = 20) -> list[str]:
        return [one.id for one in await stepwell.list_threads(search=search, tags=tags, limit=limit, settings=store)]

    assert await found() == [second, first]
    assert await found("may month") == await found("GRÖSSE") == [first]
    assert await found("inventory rows") == await found("", "stock") == [second]
    assert await found("month", "stock") == []
    assert await found("month", limit=1) == [first]  # the newest one does not match
    await say(store, "And which least?", thread=first)
    assert await found("least") == [first]
    assert [one.tags for one in await stepwell.list_threads(limit=2, settings=store)] == [(), ("Stock",)]


async def test_a_thread_that_somebody_works_on_is_running(settings: Settings) -> None:
    """It was listed as paused, and `stepwell resume` refused to go on with it."""
    first, second = await say(settings, "Which month?"), await say(settings, "How many?")
    async with lock_thread(first, settings):
        assert await asyncio.to_thread(is_running, first, settings)
        assert not await asyncio.to_thread(is_running, second, settings)
    assert not await asyncio.to_thread(is_running, first, settings)
    [_, one] = await stepwell.list_threads(settings=settings)
    assert thread_line(one, running=True)[1] == "running"
    assert summary_json(one, running=True)["running"] is True
    assert "running" not in summary_json(one)
    detail = replace(await read_thread(first, settings), running=True)
    shown = await asyncio.to_thread(detail_text, detail)
    assert "running, 0 cells" in shown
    assert f"Another program works on it now; look again with: stepwell show {first[:8]}" in shown
    assert "stepwell resume" not in shown


async def test_what_is_kept_of_a_thread_is_believed_only_while_it_is_so(store: Settings) -> None:
    thread = await say(store, "Which month?")
    async with open_checkpoints(store) as saver:
        await saver.keep_summary(thread, await saver.mark(thread), "kept")
        assert await saver.kept_summary(thread) == "kept"
    await say(store, "And now?", thread=thread)
    async with open_checkpoints(store) as saver:
        assert await saver.kept_summary(thread) is None
    assert [one.question for one in await stepwell.list_threads(settings=store)] == ["And now?"]


async def test_names_and_tags_go_with_the_thread_and_not_with_its_copies(store: Settings) -> None:
    thread, copy = await say(store, "Which month?"), str(uuid.uuid4())
    await stepwell.rename(thread, "May", settings=store)
    await stepwell.tag(thread, "sales", settings=store)
    await say(store, "And now?", thread=thread)
    async with open_checkpoints(store) as saver:
        await saver.acopy_thread(thread, copy)
        assert await saver.labels() == {thread: Labels("May", ("sales",))}
    await stepwell.delete(thread, settings=store)
    async with open_checkpoints(store) as saver:
        assert await saver.labels() == {}
        assert not await saver.change_labels(thread, lambda _: Labels("again"))
    await stepwell.rename(copy, "May", settings=store)


async def test_a_repair_keeps_names(settings: Settings) -> None:
    thread = await say(settings, "Which month?")
    await stepwell.rename(thread, "May", settings=settings)
    await repair_threads(settings)
    assert await find_thread("May", settings) == thread


def make_older(home: Path) -> None:
    """Leave of the list what the version before names and searches had."""
    with closing(sqlite3.connect(checkpoints_file(home))) as connection, connection:
        connection.execute("update stepwell_summaries set summary = json_remove(summary, '$.text')")
        connection.execute("drop table stepwell_labels")


async def test_a_list_of_an_older_version_is_made_anew(settings: Settings) -> None:
    async def at_once(search: str) -> int | None:
        found = await asyncio.to_thread(listed_without_states, settings, limit=5, wanted=ThreadFilter(search))
        return None if found is None else len(found)

    thread = await say(settings, "Which month?", "It was May.")
    await stepwell.list_threads(settings=settings)
    assert await at_once("may") == 1
    await asyncio.to_thread(make_older, settings.home)
    assert await at_once("") is None
    assert [one.id for one in await stepwell.list_threads(search="may", settings=settings)] == [thread]
    assert (await at_once("may"), await at_once("nobody")) == (1, 0)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def test_the_commands_name_tag_find_and_measure_threads(desk: Desk) -> None:
    thread = desk.events("run", "What does this table hold?", "sales.csv", "--max-cells", "1")[0]["thread"]
    assert f"{thread} is called May now" in desk.command("rename", "last", "May").stderr
    assert desk.command("tag", "may", "sales", "2026").stdout == "2026\nsales\n"
    (line,) = desk.command("threads", "--tag", "SALES", "--search", "table HOLD", "--size").stdout.splitlines()
    fields = line.split("\t")
    assert fields[0] == thread
    assert fields[5:7] == ["May", "2026,sales"]
    assert int(fields[7]) > (desk.folder / "sales.csv").stat().st_size
    shown = desk.command("show", "May").stdout
    assert "\nname: May\ntags: 2026, sales\n" in shown
    fork = desk.command("fork", "May@1").stdout.strip()
    assert fork != thread
    assert "name:" not in desk.command("show", fork).stdout
    none = desk.command("threads", "--search", "nowhere")
    assert (none.returncode, none.stdout) == (0, "")
    assert "No thread matches" in none.stderr
    for words in (("rename", "May"), ("rename", "May", "x", "--remove"), ("tag", "May", "--remove")):
        refused = desk.command(*words)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
    assert desk.command("rename", "May", "--remove").returncode == 0
    assert desk.command("show", "May").returncode == 2
