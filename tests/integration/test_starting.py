"""What commands import before they do anything: the heavy packages only where they are used."""

import asyncio
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from graph.checkpoints.factory import checkpoints_file
from graph.settings import Settings
from stepwell.threads import list_threads, open_graph, saver_of

HEAVY = {
    "aiohttp", "anthropic", "duckdb", "httpx", "langchain_core", "langchain_openai", "langgraph", "langsmith", "lxml",
    "matplotlib", "numpy", "openai", "openpyxl", "pandas", "polars", "pyarrow", "requests", "rich", "scipy", "sklearn",
    "statsmodels", "tiktoken",
}  # fmt: skip
OF_THE_GRAPH = {"aiohttp", "httpx", "langchain_core", "langgraph", "langsmith", "requests", "rich"}
"""What `run` needs before it can say anything; the rest belongs to the sandbox, or to the first call of the model."""
SAY = """names = {name.partition(".")[0] for name, module in sys.modules.items() if module}; \
sys.stderr.write("imported: " + " ".join(sorted(names)))"""
COMMAND = """
import sys
from stepwell.command import main
try:
    main()
finally:
    SAY
"""
START_OF_RUN = """
import sys
import stepwell.cli.run
SAY
"""
START_OF_A_CALL = """
import gc, sys
from stepwell.command import main
sys.argv[1:] = ["--version"]
try:
    main()
except SystemExit:
    pass
import models.endpoint
print(gc.get_freeze_count(), *gc.get_threshold()[:1])
kept = [[] for _ in range(2 * gc.get_threshold()[0])]
print(gc.get_freeze_count() > 100_000, *gc.get_threshold()[:1])
SAY
"""
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANGGRAPH_STRICT_MSGPACK": "true"}


def _ended(program: str, *words: str, home: Path) -> tuple[str, set[str]]:
    """What it wrote to stdout, and the packages that it had imported in the end."""
    ended = subprocess.run(
        [sys.executable, "-c", program.replace("SAY", SAY), *words],
        env={**ENVIRONMENT, "STEPWELL_HOME": str(home), "HOME": str(home)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, set(ended.stderr.rpartition("imported: ")[2].split())


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("threads", "--help")])
def test_help_imports_nothing_heavy(tmp_path: Path, words: tuple[str, ...]) -> None:
    printed, imported = _ended(COMMAND, *words, home=tmp_path)
    assert "Usage" in printed
    assert "typer" in imported
    assert not imported & HEAVY


@pytest.mark.slow
def test_run_starts_without_what_only_cells_and_models_use(tmp_path: Path) -> None:
    _, imported = _ended(START_OF_RUN, home=tmp_path)
    assert "langgraph" in imported
    assert not imported & (HEAVY - OF_THE_GRAPH)


@pytest.mark.slow
def test_the_models_client_costs_no_other_transport_and_no_look_for_garbage(tmp_path: Path) -> None:
    printed, imported = _ended(START_OF_A_CALL, home=tmp_path)
    assert printed.splitlines()[1:] == ["0 400000", "True 50000"]
    assert "openai" in imported
    assert "aiohttp" not in imported


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


async def _list(home: Path) -> tuple[str, set[str]]:
    return await asyncio.to_thread(_ended, COMMAND, "threads", home=home)


def kept_rows(home: Path) -> int:
    with closing(sqlite3.connect(checkpoints_file(home))) as connection:
        (found,) = connection.execute("select count(*) from stepwell_summaries").fetchone()
    return int(found)


async def _ask(settings: Settings, thread: str, question: str) -> None:
    async with open_graph(settings) as (graph, _):
        values = {"messages": [HumanMessage(question)], "question": question}
        await graph.aupdate_state({"configurable": {"thread_id": thread}}, values, as_node="plan")


@pytest.mark.slow
async def test_threads_that_did_not_change_are_listed_without_langgraph(settings: Settings, tmp_path: Path) -> None:
    thread, other = str(uuid.uuid4()), str(uuid.uuid4())
    await _ask(settings, thread, "Which month sold most?")
    await _ask(settings, other, "How many rows?")
    listed = await list_threads(settings=settings)

    printed, imported = await _list(tmp_path)
    lines = [line.split("\t") for line in printed.splitlines()]
    assert [(line[0], line[1], line[4]) for line in lines] == [(one.id, one.status, one.question) for one in listed]
    assert [one.question for one in listed] == ["How many rows?", "Which month sold most?"]
    assert not imported & HEAVY

    await _ask(settings, thread, "And which least?")
    printed, imported = await _list(tmp_path)
    assert [line.split("\t")[4] for line in printed.splitlines()] == ["And which least?", "How many rows?"]
    assert "langgraph" in imported
    assert "langgraph" not in (await _list(tmp_path))[1]


@pytest.mark.slow
async def test_what_is_written_at_a_threads_end_is_not_overlooked(settings: Settings, tmp_path: Path) -> None:
    thread = str(uuid.uuid4())
    await _ask(settings, thread, "Which month sold most?")
    [before] = await list_threads(settings=settings)
    async with open_graph(settings) as (graph, _):
        snapshot = await graph.aget_state({"configurable": {"thread_id": thread}})
        await saver_of(graph).aput_writes(snapshot.config, [("__error__", "It failed.")], snapshot.tasks[0].id)
    printed, _ = await _list(tmp_path)
    assert before.status == "paused"
    assert printed.split("\t")[1] == "failed"


async def test_a_deleted_threads_summary_is_gone(settings: Settings, tmp_path: Path) -> None:
    thread = str(uuid.uuid4())
    await _ask(settings, thread, "Which month sold most?")
    await list_threads(settings=settings)
    assert await asyncio.to_thread(kept_rows, tmp_path) == 1
    async with open_graph(settings) as (graph, _):
        await saver_of(graph).adelete_thread(thread)
    assert await asyncio.to_thread(kept_rows, tmp_path) == 0
