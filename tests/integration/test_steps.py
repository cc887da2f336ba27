"""Every step is a place to come back to: variables and files return without finished cells running again."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from graph.checkpoints.factory import open_checkpoints
from graph.context import Context
from graph.events import (
    ApprovalAsked,
    CellFinished,
    CellStarted,
    Event,
    Finished,
    Notice,
    SessionRestored,
    SnapshotSaved,
)
from graph.settings import Settings, SettingsError
from graph.state import Pending
from graph.wiring import make_blobs, make_sandboxes, wire
from nodes.restoration.manifests import blobs_of
from stepwell.cleanup import delete, gc
from stepwell.errors import ThreadError
from stepwell.runs import Decision, resume, start
from stepwell.threads import read_thread
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending, published
from tests.other_process import ROOT, killed_in_a_cell
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

PLAN: Scripted = Call("submit_plan", steps=["Count"])


class Effects:
    """How often cells ran to their end: a line each, in the shared cache folder, which no step brings back."""

    def __init__(self, home: Path) -> None:
        self.file = home / "cache" / "matplotlib" / "effects"
        self.file.parent.mkdir(parents=True)

    def cell(self, number: int, code: str = "") -> Call:
        """A cell that keeps `xN`, appends to a workspace file, and counts."""
        own = f"x{number} = {number}\nopen('outputs/log.txt', 'a').write('{number}\\n')\n"
        count = f"\nopen({str(self.file)!r}, 'a').write('{number}\\n')\nprint({number})"
        return Call("run_python", purpose=f"count {number}", step=1, code=own + code + count)

    @property
    def seen(self) -> list[int]:
        return [int(line) for line in self.file.read_text().split()]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Without walls: a cell has to leave a trace that no step brings back, to be counted."""
    return settings.model_copy(update={"isolation": "process"})


@pytest.fixture
def effects(settings: Settings) -> Effects:
    return Effects(settings.home)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
    """The graph itself, as somebody holds it who uses LangGraph directly."""
    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        builder = wire(
            settings,
            sandboxes,
            artifacts=Artifacts(settings.artifacts),
            blobs=make_blobs(settings),
            input_roots=None,
        )
        yield builder.compile(checkpointer=saver, name="stepwell")


async def after_cell(graph: CompiledStateGraph[Any, Any, Any, Any], thread: str, number: int) -> RunnableConfig:
    """The newest checkpoint after a cell and before the next one."""
    async for snapshot in graph.aget_state_history({"configurable": {"thread_id": thread}}):
        if len(snapshot.values.get("cells") or []) == number and snapshot.next == ("generate",):
            return snapshot.config
    raise AssertionError(f"no checkpoint after cell {number}")


def stored(settings: Settings) -> set[Path]:
    return {file for file in (settings.home / "blobs").glob("??/*") if len(file.name) == 64}


def make_old(settings: Settings) -> None:
    """Age all blobs beyond the grace period."""
    old = time.time() - 7_200
    for file in stored(settings):
        os.utime(file, (old, old))


async def test_after_a_kill_finished_cells_do_not_run_again(
    tmp_path: Path, settings: Settings, effects: Effects
) -> None:
    slow = "import time, pathlib\npathlib.Path('outputs/flag').touch()\n"
    slow += "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)"
    check = "assert x1 + x2 + x3 == 6"
    script = [PLAN, effects.cell(1), effects.cell(2), effects.cell(3, slow), effects.cell(4, check), *ending()]
    async with ScriptedServer(script) as server:
        flag = await killed_in_a_cell("Count", settings, server.base_url)
        (flag.parents[1] / "inputs" / "go").touch()
        events = await follow(resume(flag.parts[-4], settings=with_model(settings, server.base_url)))
    assert published(last(events, Finished), "log.txt") == "1\n2\n3\n4\n"
    assert effects.seen == [1, 2, 3, 4]
    assert [event.number for event in only(events, CellStarted)] == [3, 4]
    back = only(events, SessionRestored)[0]
    assert (back.from_cell, back.cells, back.problems, back.lost) == (2, 0, [], [])
    assert back.restored >= 2


async def test_a_further_question_finds_variables_and_files_without_running_cells(
    settings: Settings, effects: Effects
) -> None:
    make = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3]})\nview = df\ndef total(k): return k * df['a'].sum()"
    use = (
        "df.loc[0, 'a'] = 10\nassert view is df and total(2) == 30\nassert open('outputs/log.txt').read() == '1\\n2\\n'"
    )
    told: list[str] = []

    def tells(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    review = Call("submit_review", good_enough=True, missing=[])
    async with ScriptedServer(
        [PLAN, effects.cell(1, make), *ending(), PLAN, effects.cell(2, use), tells, review]
    ) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model)), Finished)
        events = await follow(start("And now?", thread=first.thread, settings=model))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"]
    assert effects.seen == [1, 2]
    assert only(events, SessionRestored)[0].cells == 0
    assert "restored from the snapshot after cell 1. Variables and files are as they were." in told[0]


async def test_each_step_says_that_it_is_kept(settings: Settings, effects: Effects) -> None:
    async with ScriptedServer([PLAN, effects.cell(1), effects.cell(2), *ending()]) as server:
        events = await follow(start("Count", settings=with_model(settings, server.base_url)))
    kept = only(events, SnapshotSaved)
    assert [event.number for event in kept] == [1, 2]
    assert all(event.snapshot and event.why_not == "" for event in kept)
    cells = (await read_thread(last(events, Finished).thread, settings)).state["cells"]
    assert [cell["snapshot"] for cell in cells] == [event.snapshot for event in kept]
    assert [cell["snapshot_bytes"] for cell in cells] == [event.bytes for event in kept]
    names = [type(event).__name__ for event in events]
    assert names.index("CellFinished") < names.index("SnapshotSaved")


async def test_a_fork_has_the_variables_and_files_of_its_step_and_the_original_keeps_its_own(
    settings: Settings, effects: Effects
) -> None:
    script: list[Scripted] = [PLAN, effects.cell(1), effects.cell(2, "d = {'of': 2}"), effects.cell(3), *ending()]
    fork = Pending(
        purpose="fork",
        code=(
            "assert 'x3' not in globals() and d == {'of': 2}\n"
            "assert open('outputs/log.txt').read() == '1\\n2\\n'\n"
            "d['of'] = 'fork'\nopen('outputs/log.txt', 'a').write('fork\\n')\nforked = True"
        ),
        step=1,
        thought="",
        call_id="fork",
    )
    check = (
        "assert d == {'of': 2} and 'forked' not in globals() and x3 == 3\n"
        "assert open('outputs/log.txt').read() == '1\\n2\\n3\\n4\\n'"
    )
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        thread = last(await follow(start("Count", settings=model)), Finished).thread
        async with opened(model) as graph:
            newest = (await graph.aget_state({"configurable": {"thread_id": thread}})).config
            old = await after_cell(graph, thread, 2)
            branch = await graph.aupdate_state(old, {"pending": [fork]}, as_node="generate")
            server.script += ending("Forked.")
            forked = await graph.ainvoke(None, branch)
            assert forked["answer"] == "Forked."
            state = (await graph.aget_state({"configurable": {"thread_id": thread}})).values
            assert [cell["status"] for cell in state["cells"]] == ["ok", "ok", "ok"]
            assert state["cells"][2]["purpose"] == "fork"
            # The original goes on from its own newest checkpoint, in the same sandbox.
            server.script += [PLAN, effects.cell(4, check), *ending("Went on.")]
            onward = await graph.aupdate_state(newest, {"messages": [("user", "Go on")]}, as_node="__start__")
            went_on = await graph.ainvoke(None, onward)
            assert went_on["answer"] == "Went on."
            state = (await graph.aget_state({"configurable": {"thread_id": thread}})).values
            assert [cell["status"] for cell in state["cells"]] == ["ok"] * 4
            named = {
                cell["snapshot"]
                async for snapshot in graph.aget_state_history({"configurable": {"thread_id": thread}})
                for cell in snapshot.values.get("cells") or []
            }
    assert effects.seen == [1, 2, 3, 4]
    assert len(named) == 5  # of both branches
    make_old(settings)
    await gc(settings=settings)
    blobs = make_blobs(settings)
    for name in named:
        needed = blobs_of(await blobs.read(name, max_bytes=10_000_000))
        assert await blobs.has(needed) == needed


@pytest.mark.slow
async def test_an_approval_in_another_process_finds_the_variables(settings: Settings, effects: Effects) -> None:
    script = [PLAN, effects.cell(1), effects.cell(2, "assert x1 == 1"), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        asked = last(await follow(start("Count", settings=model, context=Context(approval="cells"))), ApprovalAsked)
        approve = Decision("approve")
        asked = last(await follow(resume(asked.thread, decision=approve, settings=model)), ApprovalAsked)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        environment |= {
            "STEPWELL_HOME": str(settings.home),
            "STEPWELL_ISOLATION": settings.isolation,
            "STEPWELL_ARTIFACTS": settings.artifacts,
            "OPENAI_BASE_URL": server.base_url,
            "STEPWELL_MODEL": "scripted",
        }
        command = [sys.executable, "-c", "from stepwell.command import main; main()"]
        done = await asyncio.to_thread(
            subprocess.run,
            [*command, "resume", asked.thread, "--approve-cell", "--no-approve"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert "session restored from the snapshot after cell 1" in done.stderr
    assert effects.seen == [1, 2]


async def test_a_dead_interpreter_is_restored_from_the_snapshot(settings: Settings, effects: Effects) -> None:
    die = Call("run_python", purpose="die", step=1, code="import os; os.kill(os.getpid(), 9)")
    script = [PLAN, effects.cell(1), die, effects.cell(3, "assert x1 == 1"), *ending()]
    async with ScriptedServer(script) as server:
        events = await follow(start("Count", settings=with_model(settings, server.base_url)))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok", "killed", "ok"]
    assert effects.seen == [1, 3]
    assert only(events, SessionRestored)[0].from_cell == 1


@pytest.mark.slow
async def test_a_damaged_blob_is_said_and_cells_run_again(settings: Settings, effects: Effects) -> None:
    async with ScriptedServer(
        [PLAN, effects.cell(1), effects.cell(2), *ending(), PLAN, effects.cell(3, "assert x1 + x2 == 3"), *ending()]
    ) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model)), Finished)
        for file in stored(settings):
            data = file.read_bytes()
            file.chmod(0o600)
            file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        events = await follow(start("Go on", thread=first.thread, settings=model))
    back = only(events, SessionRestored)[0]
    assert (back.from_cell, back.cells) == (0, 2)
    assert any("cannot be used" in problem and "damaged" in problem for problem in back.problems)
    assert effects.seen == [1, 2, 1, 2, 3]
    assert published(last(events, Finished), "log.txt") == "1\n2\n3\n"
    assert only(events, SnapshotSaved)[0].why_not == ""


@pytest.mark.slow
async def test_a_snapshot_over_the_limit_is_refused_and_the_analysis_goes_on(
    settings: Settings, effects: Effects
) -> None:
    big = "import random\nbig = random.Random(1).randbytes(3_000_000)"
    told: list[str] = []

    def answer(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    third = effects.cell(3, "assert len(big) == 3_000_000")  # asked for while the step before was refused
    script = [PLAN, effects.cell(1), effects.cell(2, big), third, answer, *ending()[1:]]
    script += [PLAN, effects.cell(4, "assert x3 == 3 and len(big) == 3_000_000"), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        context = Context(max_snapshot_bytes=1_000_000)
        events = await follow(start("Count", settings=model, context=context))
        finished = last(events, Finished)
        assert [bool(event.snapshot) for event in only(events, SnapshotSaved)] == [True, False, False]
        warnings = [event.text for event in only(events, Notice) if event.level == "warning"]
        warnings = [text for text in warnings if "without walls" not in text]  # these tests run so
        assert len(warnings) == 1
        assert "The step after cell 2 has no snapshot" in warnings[0]
        assert "The step after cell 2 has no snapshot" in told[0]
        assert effects.seen == [1, 2, 3]
        # Coming back: the snapshot of cell 1, and the two cells after it again.
        events = await follow(start("Go on", thread=finished.thread, context=Context(), settings=model))
    back = only(events, SessionRestored)[0]
    assert (back.from_cell, back.cells) == (1, 2)
    assert effects.seen == [1, 2, 3, 2, 3, 4]
    assert only(events, SnapshotSaved)[0].snapshot


async def make_thread(settings: Settings, effects: Effects, seed: int) -> str:
    keep = f"import numpy as np\ndata = np.random.default_rng({seed}).random(50_000)"
    async with ScriptedServer([PLAN, effects.cell(1, keep), effects.cell(2), *ending()]) as server:
        return last(await follow(start("Count", settings=with_model(settings, server.base_url))), Finished).thread


async def check_thread(settings: Settings, effects: Effects, thread: str, seed: int) -> list[Event]:
    check = f"assert (data == np.random.default_rng({seed}).random(50_000)).all()"
    async with ScriptedServer([PLAN, effects.cell(3, check), *ending()]) as server:
        events = await follow(start("Check", thread=thread, settings=with_model(settings, server.base_url)))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"]
    return events


async def test_gc_removes_what_no_checkpoint_names_and_keeps_the_rest(
    tmp_path: Path, settings: Settings, effects: Effects
) -> None:
    thread = await make_thread(settings, effects, 1)
    before = stored(settings)
    orphan = settings.home / "blobs" / "00" / ("0" * 64)
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"orphan")
    assert (await gc(settings=settings)).removed == 0  # young
    make_old(settings)
    counted = await gc(settings=settings, dry_run=True)
    assert (counted.removed, counted.removed_bytes, counted.kept) == (1, 6, len(before))
    assert orphan.exists()
    assert await gc(settings=settings) == counted
    assert stored(settings) == before
    events = await check_thread(settings, effects, thread, 1)
    assert only(events, SessionRestored)[0].cells == 0


@pytest.mark.slow
async def test_deleting_a_thread_frees_what_only_it_held(settings: Settings, effects: Effects) -> None:
    first = await make_thread(settings, effects, 1)
    second = await make_thread(settings, effects, 1)
    third = await make_thread(settings, effects, 2)
    before = stored(settings)
    swept = await delete(third, settings=settings)
    assert swept.removed_bytes > 400_000
    assert len(stored(settings)) == len(before) - swept.removed
    assert not (settings.home / "threads" / third).exists()
    with pytest.raises(ThreadError, match="There is no thread"):
        await read_thread(third, settings)
    with pytest.raises(ThreadError, match="There is no thread"):
        await delete(third, settings=settings)
    assert (await delete(second, settings=settings)).removed_bytes < 400_000
    await check_thread(settings, effects, first, 1)
    await delete(first, settings=settings)
    assert stored(settings) == set()


@pytest.mark.slow
async def test_gc_refuses_a_store_that_other_data_folders_use(
    tmp_path: Path, settings: Settings, effects: Effects
) -> None:
    shared = settings.model_copy(update={"blobs": str(tmp_path / "shared")})
    await make_thread(shared, effects, 1)
    await gc(settings=shared)
    elsewhere = Blobs.at(shared.blobs, owner=tmp_path / "elsewhere" / "owner")
    (tmp_path / "x").write_bytes(b"")
    await elsewhere.add_file(tmp_path / "x", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    with pytest.raises(SettingsError, match="other data folders"):
        await gc(settings=shared, grace=0)


@pytest.mark.slow
async def test_snapshots_may_lie_at_a_url(tmp_path: Path, settings: Settings, effects: Effects) -> None:
    url = settings.model_copy(update={"blobs": f"file://{tmp_path}/elsewhere"})
    thread = await make_thread(url, effects, 1)
    assert not (settings.home / "blobs").exists()
    assert only(await check_thread(url, effects, thread, 1), SessionRestored)[0].cells == 0
