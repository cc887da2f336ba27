"""Long analyses that go back, ask what if, and put two of their states together."""

# ruff: noqa: E501 (the lines of cells)

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from graph.events import CellFinished, CellStarted, Event, Finished, SessionRestored
from graph.settings import Settings
from stepwell.forks import fork_thread
from stepwell.runs import start
from stepwell.threads import read_thread
from tests.analyses import follow, only, with_model
from tests.integration.test_resume import published
from tests.integration.test_steps import after_cell, opened
from tests.other_process import ROOT
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

PLAN: Scripted = Call("submit_plan", steps=["Analyse"])
LOAD = """
import numpy as np, pandas as pd
df = pd.DataFrame({"k": np.arange(6_000) % 3, "v": np.arange(6_000.0)})
same, settings = df, {"threshold": 100.0}
def total(): return float(df.loc[df["v"] > settings["threshold"], "v"].sum())
df.to_csv("outputs/all.csv", index=False); open("outputs/log.txt", "w").write("load\\n")
print(total())
"""
FULL = sum(float(number) for number in range(101, 6_000))


def cell(code: str) -> Call:
    return Call("run_python", purpose=code.strip().splitlines()[0][:40], step=1, code=code)


def answer(text: str = "Done.") -> list[Scripted]:
    return [Call("submit_answer", answer=text, skipped=[]), Call("submit_review", good_enough=True, missing=[])]


def turn(*codes: str) -> list[Scripted]:
    """A whole turn: its plan, its cells, its answer."""
    return [PLAN, *map(cell, codes), *answer()]


def fine(events: list[Event]) -> Finished:
    """The end of a run all of whose cells ended well."""
    finished = [event.cell for event in events if isinstance(event, CellFinished)]
    assert [(one["status"], one["error"]) for one in finished] == [("ok", "")] * len(finished)
    assert isinstance(events[-1], Finished), events[-1]
    return events[-1]


async def test_an_analysis_goes_back_to_an_earlier_state_and_on_from_there(settings: Settings) -> None:
    script = turn(
        LOAD,
        "df.drop(df.index[df['k'] == 0], inplace=True); open('outputs/log.txt', 'a').write('drop\\n'); print(len(same))",
        "df['v'] = 0.0; settings['threshold'] = -1.0; import os; os.remove('outputs/all.csv'); print(total())",
    )
    script += turn(
        f"assert total() == {FULL} and same is df and len(df) == 6_000, (total(), len(df))\n"
        "assert open('outputs/log.txt').read() == 'load\\n' and len(pd.read_csv('outputs/all.csv')) == 6_000\n"
        "settings['threshold'] = 5_998.0; assert total() == 5_999.0; open('outputs/log.txt', 'a').write('again\\n')",
    )
    script += turn("assert total() == 5_999.0 and open('outputs/log.txt').read() == 'load\\nagain\\n'")
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        first = fine(await follow(start("Load, drop, spoil", settings=model)))
        back = await fork_thread(first.thread, step=1, new_turn=True, settings=model)
        events = await follow(start("Go back to all rows", thread=back, settings=model))
        fine(events)
        assert [event.number for event in only(events, CellStarted)] == [2]
        assert only(events, SessionRestored)[0].problems == []
        fine(await follow(start("And now?", thread=back, settings=model)))


async def test_what_if_branches_of_one_step_do_not_meet(settings: Settings) -> None:
    script = turn(LOAD, "open('outputs/log.txt', 'a').write('base\\n')")
    for threshold in (10, 1_000):
        script += turn(
            f"assert settings == {{'threshold': 100.0}}; settings['threshold'] = {threshold}\n"
            f"df.loc[0, 'v'] = {threshold}_000.0\nopen('outputs/log.txt', 'a').write('if {threshold}\\n')\n"
            "df.to_csv('outputs/all.csv', index=False); print(total())"
        )
    for threshold in (10, 1_000):
        expected = sum(float(number) for number in range(threshold + 1, 6_000)) + threshold * 1_000.0
        script += turn(
            f"assert total() == {expected}, total()\nassert pd.read_csv('outputs/all.csv')['v'][0] == {threshold}_000\n"
            f"assert open('outputs/log.txt').read() == 'load\\nbase\\nif {threshold}\\n'"
        )
    script += turn(f"assert total() == {FULL} and df['v'][0] == 0 and pd.read_csv('outputs/all.csv')['v'][0] == 0")
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        base = fine(await follow(start("Load", settings=model)))
        forks = [await fork_thread(base.thread, step=2, new_turn=True, settings=model) for _ in range(2)]
        for fork in forks:
            fine(await follow(start("What if?", thread=fork, settings=model)))
        for fork in [*forks, base.thread]:
            fine(await follow(start("Which?", thread=fork, settings=model)))


async def test_two_states_are_put_together_in_a_third(settings: Settings) -> None:
    script = turn(LOAD)
    script += turn("df.groupby('k', as_index=False)['v'].sum().to_csv('outputs/sums.csv', index=False)")
    script += turn("df.groupby('k', as_index=False)['v'].max().to_csv('outputs/tops.csv', index=False)")

    script += turn(
        "sums, tops = pd.read_csv('inputs/sums.csv'), pd.read_csv('inputs/tops.csv')\n"
        f"assert total() == {FULL} and 'all.csv' in __import__('os').listdir('outputs')\n"
        "both = sums.merge(tops, on='k', suffixes=('_sum', '_max'))\n"
        "assert list(both['v_max']) == [5_997.0, 5_998.0, 5_999.0] and both['v_sum'].sum() == df['v'].sum()\n"
        "both.to_csv('outputs/both.csv', index=False)"
    )
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        base = fine(await follow(start("Load", settings=model)))
        made = []
        for question in ("Sums?", "Tops?"):
            fork = await fork_thread(base.thread, step=1, new_turn=True, settings=model)
            made.append(fine(await follow(start(question, thread=fork, settings=model))))
        urls = [
            next(one["url"] for one in finished.artifacts if one["name"] == name)
            for finished, name in zip(made, ("sums.csv", "tops.csv"), strict=True)
        ]
        third = await fork_thread(base.thread, step=1, new_turn=True, settings=model)
        end = fine(await follow(start("Put them together", thread=third, files=urls, settings=model)))
    assert len(published(end, "both.csv").splitlines()) == 4
    assert {one["path"] for one in (await read_thread(third, settings)).state["inputs"]} == {
        "inputs/sums.csv",
        "inputs/tops.csv",
    }
    assert (
        "inputs" not in (await read_thread(base.thread, settings)).state
        or not ((await read_thread(base.thread, settings)).state["inputs"])
    )


@pytest.mark.parametrize("step", [1, 7, 11])
async def test_a_fork_of_a_twelve_step_analysis_and_the_original_see_nothing_of_each_other(
    settings: Settings, step: int
) -> None:
    begin = (
        "import numpy as np\ntrail, grid = [], np.zeros((12, 200))\nview = grid[:, 0]\ndef seen(): return list(trail)"
    )
    does = "trail.append({0}); view[{0} - 1] = {0}; open('outputs/{0}.txt', 'w').write('{0}')"
    does += "; open('outputs/log.txt', 'a').write('{0}\\n')"
    cells = [does.format(number) for number in range(1, 13)]
    look = (
        "import os\nassert seen() == {0} and view.base is grid and list(grid[:, 0][grid[:, 0] > 0]) == {1}, seen()\n"
        "assert open('outputs/log.txt').read().split() == [str(n) for n in {0}]\n"
        "assert sorted(os.listdir('outputs')) == sorted(['log.txt', *[f'{{n}}.txt' for n in {2}]]), os.listdir('outputs')"
    )
    before, whole = list(range(1, step + 1)), list(range(1, 13))
    script = turn(f"{begin}\n{cells[0]}", *cells[1:])
    script += turn(
        look.format(before, before, before),
        "trail.append(99); view[:] = -view; os.remove('outputs/1.txt'); open('outputs/log.txt', 'a').write('99\\n')",
    )
    script += turn(
        look.format(whole, whole, whole),
        "trail.append(13); view[0] = 13; open('outputs/13.txt', 'w').write('13'); open('outputs/log.txt', 'a').write('13\\n')",
    )
    script += turn(look.format([*before, 99], [], before[1:]))
    script += turn(look.format([*whole, 13], [13, *whole[1:]], [*whole, 13]))
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        original = fine(await follow(start("Twelve steps", settings=model))).thread
        fork = await fork_thread(original, step=step, new_turn=True, settings=model)
        fine(await follow(start("Otherwise", thread=fork, settings=model)))
        fine(await follow(start("Go on", thread=original, settings=model)))
        fine(await follow(start("Look", thread=fork, settings=model)))
        fine(await follow(start("Look", thread=original, settings=model)))


async def command(model: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "STEPWELL_HOME": str(model.home),
        "STEPWELL_ISOLATION": model.isolation,
        "STEPWELL_ARTIFACTS": model.artifacts,
        "OPENAI_BASE_URL": model.openai_base_url,
        "STEPWELL_MODEL": "scripted",
    }
    line = [sys.executable, "-c", "from stepwell.command import main; main()", *arguments]
    run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    return await asyncio.to_thread(run, line, env=environment, capture_output=True, text=True, timeout=120)


async def test_approvals_in_processes_of_their_own_find_variables_and_files(settings: Settings, tmp_path: Path) -> None:
    log = tmp_path / "ran.txt"
    note = f"\nopen({str(log)!r}, 'a').write('{{0}}\\n')"
    use = (
        "assert same is df and total() > 0 and open('outputs/log.txt').read() == 'load\\n'; settings['threshold'] = 0.0"
    )
    end = "assert settings == {'threshold': 0.0} and edited == 1"
    script = [PLAN, cell(LOAD + note.format(1)), cell(use + note.format(2)), cell(end + note.format(3)), *answer()]
    edited = tmp_path / "edited.py"
    edited.write_text(use + "; edited = 1" + note.format(2))
    async with ScriptedServer(script) as server:
        open_to_all = settings.model_copy(update={"isolation": "process"})  # each cell writes down that it ran
        model = with_model(open_to_all, server.base_url)
        begun = await command(model, "run", "--approve", "Load")
        assert not log.exists(), begun.stderr
        first = await command(model, "resume", "last", "--approve-cell")
        assert log.read_text() == "1\n", first.stderr
        second = await command(model, "resume", "last", "--edit", str(edited))
        assert log.read_text() == "1\n2\n", second.stderr
        third = await command(model, "resume", "last", "--approve-cell")
    assert third.returncode == 0, third.stderr
    assert log.read_text() == "1\n2\n3\n"
    assert "session restored from the snapshot after cell 2" in third.stderr
    assert len({begun.returncode, first.returncode, second.returncode, 0}) == 2  # all three say that they wait


async def test_old_checkpoints_of_langgraph_itself_bring_back_variables_and_files(settings: Settings) -> None:
    later = "total_before = total(); df['v'] = 1.0; open('outputs/log.txt', 'a').write('later\\n')"
    script = turn(LOAD, later)
    state_of_first = f"assert total() == {FULL} and open('outputs/log.txt').read() == 'load\\n' and same is df"
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        thread = fine(await follow(start("Load", settings=model))).thread
        async with opened(model) as graph:
            old = await after_cell(graph, thread, 1)
            # A replay from there: what comes next is asked for and run again, on the state of that checkpoint.
            server.script += [
                cell(f"{state_of_first} and 'total_before' not in globals()\n{later}"),
                *answer("Replayed."),
            ]
            replayed = await graph.ainvoke(None, old)
            assert replayed["answer"] == "Replayed."
            # A question at that checkpoint.
            server.script += turn(f"{state_of_first}\nnewer = 1")
            asked = await graph.ainvoke({"messages": [HumanMessage("And from here?")]}, old)
            assert asked["answer"] == "Done."
            state = (await graph.aget_state({"configurable": {"thread_id": thread}})).values
            assert [one["status"] for one in state["cells"]] == ["ok", "ok"]
            # Another edit of the same checkpoint, in a third branch, that LangGraph routes by itself.
            branch = await graph.aupdate_state(old, {"notices": ["Look once more."]})
            server.script += [cell(f"{state_of_first} and 'newer' not in globals()"), *answer("Third.")]
            assert (await graph.ainvoke(None, branch))["answer"] == "Third."
            state = (await graph.aget_state({"configurable": {"thread_id": thread}})).values
            assert [one["status"] for one in state["cells"]] == ["ok", "ok"]
        # The command goes on from the newest branch.
        server.script += turn(f"{state_of_first} and 'newer' not in globals()")
        fine(await follow(start("And?", thread=thread, settings=model)))
