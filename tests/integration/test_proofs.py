"""What a trial restore of a step finds reaches the model, State, the events and `show`; it keeps to its share."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from bench.scripted import ScriptedChat
from graph.build import build_graph
from graph.checkpoints.factory import open_checkpoints
from graph.context import Context
from graph.events import Notice, StepProved, read_event
from graph.settings import Settings
from graph.state import Cell, Proof
from graph.wiring import make_blobs, make_sandboxes
from models.playbook.model import Playbook
from nodes.restoration.proofs import Proofs, in_words
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.fake import FakeSandbox
from sandboxes.opening import Sandboxes
from stepwell.cli.inspection import step_detail
from stepwell.step_detail import show_step
from storage.artifacts import Artifacts
from storage.inputs import InputSource
from tests.states import make_cell

DETACHED = """
import copyreg
class Bus:
    def __init__(self): self.handlers, self.left_out = [], (one for one in "")  # so that the class is asked
copyreg.pickle(Bus, lambda one: (object.__new__, (Bus,)))
bus = Bus(); bus.handlers.append(lambda event: event)
"""
LONG = 120.0
SAMPLE = Path(__file__).parents[2] / "examples" / "birdstrikes.csv"


class AttentiveChat(ScriptedChat):
    """Writes its review once nothing is being proved any more; notes what had been proved by then."""

    _proofs: Proofs = PrivateAttr()
    _used: list[float] = PrivateAttr(default_factory=list)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if kwargs.get("demanded") == "submit_review":
            await self._proofs.settle("thread")
            self._used.append(self._proofs.cpu)
        return self._generate(messages, stop, **kwargs)


class Analysis:
    """A graph whose cells are given, with proofs that are waited for."""

    def __init__(self, settings: Settings, sandboxes: Sandboxes, saver: Any, proofs: Proofs, cells: list[str]) -> None:
        self.model: BaseChatModel = ScriptedChat(cells=cells)

        async def choose_model(name: str) -> BaseChatModel:
            return self.model

        self.graph = build_graph(
            choose_model=choose_model,
            open_sandbox=sandboxes.open,
            inputs=InputSource(),
            artifacts=Artifacts.at(settings.artifacts),
            snapshots=SnapshotStore(make_blobs(settings)),
            proofs=proofs,
        ).compile(checkpointer=saver)
        self.sandboxes = sandboxes
        self.proofs = proofs
        self.proved: list[StepProved] = []
        self.notices: list[str] = []

    async def run(
        self, *files: Path, approval: Literal["none", "cells"] = "none", review: Literal["auto", "always"] = "auto"
    ) -> dict[str, Any]:
        """Run a turn, or up to the first pause; State."""
        config: Any = {"configurable": {"thread_id": "thread"}}
        given: Any = {"messages": [HumanMessage("Go")], "files": list(map(str, files))}
        context = Context(approval=approval, review=review)
        async for data in self.graph.astream(given, config, context=context, stream_mode="custom", durability="sync"):
            event = read_event(data)
            if isinstance(event, StepProved):
                self.proved.append(event)
            elif isinstance(event, Notice):
                self.notices.append(event.text)
        state: dict[str, Any] = (await self.graph.aget_state(config)).values
        return state


@asynccontextmanager
async def analysing(settings: Settings, *cells: str, share: float = 1.0) -> AsyncIterator[Analysis]:
    async with make_sandboxes(settings) as sandboxes, open_checkpoints(settings) as saver:
        snapshots = SnapshotStore(make_blobs(settings))
        proofs = Proofs(snapshots, share=share, max_bytes=1 << 30, settle_seconds=LONG)
        yield Analysis(settings, sandboxes, saver, proofs, list(cells))


async def test_a_difference_reaches_state_events_and_show(settings: Settings) -> None:
    async with analysing(settings, DETACHED) as analysis:
        state = await analysis.run()
    (proof,) = state["proofs"]
    assert (proof["cell"], proof["outcome"]) == (1, "differs")
    assert proof["differs"] == [{"name": "bus", "how": "comes back different"}]
    assert json.loads(json.dumps(proof)) == proof
    (event,) = analysis.proved
    assert (event.number, event.outcome, event.differs) == (1, "differs", ["bus comes back different"])
    assert event.cpu > 0
    assert event.share > 0
    assert any("`bus` would come back different" in said for said in analysis.notices)
    assert any("`bus` would come back different" in said for said in state["notices"]), "the model is told next"
    detail = await show_step("thread@1", settings)
    assert detail.proof == proof
    assert "- bus comes back different" in step_detail(detail)


async def test_what_is_proved_is_said_in_show(settings: Settings) -> None:
    async with analysing(settings, "x = [1, 2]") as analysis:
        state = await analysis.run()
    assert [proof["outcome"] for proof in state["proofs"]] == ["proved"]
    assert not [said for said in state["notices"] if "trial" in said]
    assert "A trial restore brought everything back as it was" in step_detail(await show_step("thread@1", settings))


async def test_the_last_step_is_proved_while_the_answer_is_reviewed(settings: Settings) -> None:
    """So that the end of the turn has nothing to wait for."""
    async with analysing(settings, "x = 1", "x = 2") as analysis:
        analysis.model = model = AttentiveChat(cells=["x = 1", "x = 2"])
        model._proofs = analysis.proofs
        analysis.proofs.cpu = 1e9  # nothing is proved but what must be
        state = await analysis.run(review="always")
    assert [used > 1e9 for used in model._used] == [True]
    assert [(proof["cell"], proof["outcome"]) for proof in state["proofs"]] == [(2, "proved")]


@pytest.mark.slow
async def test_of_the_playbook_s_own_analysis_all_comes_back(settings: Settings) -> None:
    """A first run warns of nothing."""
    async with analysing(settings) as analysis:
        analysis.model = Playbook()
        state = await analysis.run(SAMPLE)
    assert state["answer"]
    assert state["proofs"][-1]["cell"] == len(state["cells"])
    assert [(proof["cell"], proof["differs"], proof["why"]) for proof in state["proofs"] if proof["differs"]] == []
    assert not [said for said in analysis.notices if "trial restore" in said]


@pytest.mark.slow
async def test_what_a_session_imports_by_itself_is_no_difference(settings: Settings) -> None:
    """One of a zygote that imports nothing is compared with another of that zygote."""
    async with analysing(settings, "x = [1]") as analysis:
        await analysis.sandboxes.open("local", "thread", bare=True)
        state = await analysis.run()
    assert [(proof["outcome"], proof["differs"]) for proof in state["proofs"]] == [("proved", [])]


async def test_a_step_before_a_pause_is_proved(settings: Settings) -> None:
    async with analysing(settings, "x = [1]", "x = [2]") as analysis:
        state = await analysis.run(approval="cells")
        assert not state.get("cells")
        from langgraph.types import Command

        config: Any = {"configurable": {"thread_id": "thread"}}
        await analysis.graph.ainvoke(
            Command(resume={"verdict": "approve"}), config, context=Context(approval="cells"), durability="sync"
        )
        state = (await analysis.graph.aget_state(config)).values
    assert len(state["cells"]) == 1
    assert [(proof["cell"], proof["outcome"]) for proof in state["proofs"]] == [(1, "proved")]


async def test_no_step_is_proved_when_that_is_switched_off(settings: Settings) -> None:
    async with analysing(settings, DETACHED, share=0.0) as analysis:
        state = await analysis.run()
    assert not state.get("proofs")
    assert analysis.proved == []
    assert "STEPWELL_PROOF_SHARE" in step_detail(await show_step("thread@1", settings))


async def test_a_sandbox_that_cannot_be_proved_is_said_not_to_be(settings: Settings, tmp_path: Path) -> None:
    sandbox: Sandbox = FakeSandbox(tmp_path)
    proofs = Proofs(SnapshotStore(make_blobs(settings)), share=1.0, max_bytes=1 << 30)
    cell = make_cell(3, snapshot="a" * 64)
    proofs.begin(sandbox, cell, always=False)
    proofs.begin(sandbox, cell, always=True)
    proofs.begin(sandbox, cell, always=True)
    taken = _taken(proofs, sandbox.id)
    assert [(one["outcome"], one["why"]) for one in taken] == [
        ("not proved", "a sandbox of kind fake has no copy of its session to compare with")
    ]


async def test_proofs_keep_to_their_share(settings: Settings) -> None:
    """Beyond it, only the steps at the ends of turns are proved."""
    async with make_sandboxes(settings) as sandboxes:
        sandbox = await sandboxes.open("local", "thread")
        snapshots = SnapshotStore(make_blobs(settings))
        proofs = Proofs(snapshots, share=1e-9, max_bytes=1 << 30, settle_seconds=LONG)
        proofs.cpu = 100.0
        cell = await _kept(sandbox, snapshots, "x = 1")
        proofs.begin(sandbox, cell, always=False)
        await proofs.settle("thread")
        assert _taken(proofs, "thread") == []
        proofs.begin(sandbox, cell, always=True)
        await proofs.settle("thread")
        assert [one["outcome"] for one in _taken(proofs, "thread")] == ["proved"]
    assert proofs.cpu > 100.0


async def test_the_end_of_a_turn_insists_on_a_step_of_known_kinds(settings: Settings) -> None:
    async with make_sandboxes(settings) as sandboxes:
        sandbox = await sandboxes.open("local", "thread")
        snapshots = SnapshotStore(make_blobs(settings))
        proofs = Proofs(snapshots, share=1.0, max_bytes=1 << 30, settle_seconds=LONG)
        for number, expected in ((1, ["proved"]), (2, [])):
            cell = await _kept(sandbox, snapshots, f"x = {number}")
            proofs.begin(sandbox, cell, always=False)
            await proofs.settle("thread")
            assert [one["outcome"] for one in _taken(proofs, "thread")] == expected
            if not expected:
                proofs.begin(sandbox, cell, always=True)
        await proofs.settle("thread")
        assert [one["outcome"] for one in _taken(proofs, "thread")] == ["proved"]


async def test_a_closed_sandbox_ends_its_proof_without_a_word(settings: Settings) -> None:
    async with make_sandboxes(settings) as sandboxes:
        sandbox = await sandboxes.open("local", "thread")
        snapshots = SnapshotStore(make_blobs(settings))
        proofs = Proofs(snapshots, share=1.0, max_bytes=1 << 30, settle_seconds=LONG)
        proofs.begin(sandbox, await _kept(sandbox, snapshots, DETACHED), always=True)
        await asyncio.sleep(0)
    await proofs.settle("thread")
    assert [one for one in _taken(proofs, "thread") if one["outcome"] == "not proved"] == []


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("comes back detached from `f`", "`cb` would come back detached from `f`"),
        ("does not come back", "`cb` would not come back"),
        ("is a setting that does not come back as it was", "`cb` is a setting that does not come back as it was"),
    ],
)
def test_the_model_is_told_in_plain_words(how: str, said: str) -> None:
    assert in_words(4, [{"name": "cb", "how": how}]) == (
        f"A trial restore of the step after cell 4 found a difference: {said}. Keep the cells that make it repeatable."
    )


async def _kept(sandbox: Sandbox, snapshots: SnapshotStore, code: str) -> Cell:
    await sandbox.run(code, number=1, timeout=60.0, head="a" * 64)
    kept = await snapshots.keep(sandbox, [], limit_bytes=1 << 30)
    assert kept.snapshot, kept.why_not
    return make_cell(1, snapshot=kept.snapshot)


def _taken(proofs: Proofs, thread: str) -> list[Proof]:
    class Silent:
        def stream_writer(self, data: dict[str, Any]) -> None:
            pass

    runtime: Any = Silent()
    return proofs.take(thread, runtime)[0]
