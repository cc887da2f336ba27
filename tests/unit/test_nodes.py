"""Nodes as plain functions: routing, reading replies, the script of an analysis, rebuilding a session."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langgraph.runtime import Runtime

from graph.build import after_approve, after_check_final, after_execute, after_generate, after_plan, build_graph
from graph.context import Context, context_of
from graph.settings import Prices
from graph.state import AskedCall, CallRecord, DecidedCall, Pending, PlanStep, Review, SandboxRef, State, Usage
from models.base import ModelAccessError, PromptForm, Reply, ReplyProblem, Tokens, ToolCall
from models.messages import tokens_of
from nodes.approve import approve_call
from nodes.budget import add_usage, budget_reached
from nodes.calls.held_cells import decide, dropped_call_notices, held, hold_cell, related_cells
from nodes.check_final import _read as read_review
from nodes.check_final import worth_reviewing
from nodes.generate import _stopped, generate
from nodes.next_step import Next, read_reply, tick
from nodes.prompts.instructions import environment_text, inputs_text, system_prompt
from nodes.prompts.observation import shorten
from nodes.prompts.prompt import write_prompt, write_review_prompt
from nodes.publishing import as_script
from nodes.restoration.line import BEGINNING, next_state_id
from nodes.restoration.receipt import receipt_text
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from nodes.upload import makers
from sandboxes.fake import FakeSandbox, ScriptedCell
from sandboxes.network import NO_NETWORK
from sandboxes.results import CellResult
from stepwell.cli.thread_lines import usage_line
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource
from tests.states import make_cell, make_file, make_input, make_state
from tests.unit.test_asking import RecitingModel

PENDING = Pending(purpose="p", code="c", step=1, thought="", call_id="x")


def runtime(**changes: Any) -> Runtime[Context]:
    return Runtime(context=Context(**changes))


@pytest.mark.parametrize(
    ("state", "goes_to"),
    [
        ({"pending": [PENDING]}, "execute"),
        ({"pending": [PENDING], "approval": "cells"}, "approve"),
        ({"pending": []}, "check_final"),
        ({"pending": [], "stopped": "The budget is used up."}, "upload"),
    ],
)
def test_after_generate(state: dict[str, Any], goes_to: str) -> None:
    assert after_generate(make_state(**state)) == goes_to


class CountingThreads(ThreadPoolExecutor):
    """The threads of an event loop, which count what they are given."""

    given = 0

    def submit(self, *work: Any, **named: Any) -> Any:
        self.given += 1
        return super().submit(*work, **named)


async def test_the_way_from_node_to_node_leads_through_no_thread(tmp_path: Path) -> None:
    async def nothing(*_: str) -> Any:
        raise AssertionError

    builder = build_graph(
        choose_model=nothing,
        open_sandbox=nothing,
        inputs=InputSource(),
        artifacts=Artifacts(str(tmp_path)),
        snapshots=SnapshotStore(Blobs.at(str(tmp_path))),
    )
    threads = CountingThreads(1)
    asyncio.get_running_loop().set_default_executor(threads)
    routes = {node: [one.path for one in branches.values()] for node, branches in builder.branches.items()}
    found = {node: await route.ainvoke(make_state(pending=[PENDING])) for node, [route] in routes.items()}
    assert found == {
        "plan": "execute", "generate": "execute", "approve": "execute", "execute": "execute", "check_final": "upload",
    }  # fmt: skip
    assert threads.given == 0


def test_after_the_other_nodes() -> None:
    review = Review(after_cell=1, answer="a", missing=["b"], round=1)
    assert after_plan(make_state(pending=[PENDING])) == "execute"
    assert after_plan(make_state(pending=[PENDING], approval="cells")) == "approve"
    assert after_plan(make_state(pending=[], proposal="It is 5.")) == "check_final"
    assert after_plan(make_state(pending=[], proposal="")) == "generate"
    assert after_approve(make_state(pending=[PENDING])) == "execute"
    assert after_approve(make_state(pending=[])) == "generate"
    assert after_execute(make_state(pending=[])) == "generate"
    assert after_execute(make_state(pending=[PENDING])) == "execute"
    assert after_execute(make_state(pending=[PENDING], approval="cells")) == "approve"
    assert after_check_final(make_state(review=review)) == "generate"
    assert after_check_final(make_state(review=None)) == "upload"


async def test_a_cell_that_was_ended_at_a_call_goes_to_whoever_decides_on_it_and_then_runs() -> None:
    asked = AskedCall(id="1", function="pay", digest="d", nth=1, arguments=[], place="")
    waiting = hold_cell(PENDING, asked, CallRecord(checkpoint="c", cell="s", calls=0), ["send('a'): returned"])
    assert after_execute(make_state(pending=[waiting])) == "approve_call"
    assert after_execute(make_state(pending=[waiting], approval="cells")) == "approve_call"
    changed = Pending(**{**waiting, "code": "other"})  # what was decided about other code does not count
    assert after_execute(make_state(pending=[changed])) == "execute"
    assert await approve_call(make_state(pending=[changed]), runtime()) == {}
    assert "these calls of it were made: send('a'): returned" in dropped_call_notices(changed)[0]
    once = decide(waiting, DecidedCall(function="pay", digest="d", nth=1, verdict="approve", remark=""))
    assert after_execute(make_state(pending=[once])) == "execute"
    twice = held(hold_cell(once, asked, CallRecord(checkpoint="e", cell="t", calls=1), []))
    assert twice is not None
    assert ([one["verdict"] for one in twice["decided"]], len(twice["records"])) == (["approve"], 2)


def test_earlier_cells_that_touch_a_name_are_named_with_their_lines() -> None:
    cells = [
        make_cell(1, code="x = 1"),
        make_cell(2, code="a = 1\npay = print"),
        make_cell(3, code="globals()['p' + 'ay'] = 1"),
        make_cell(4, code="pay(1)", status="rejected"),
    ]
    assert related_cells(cells, "pay") == [
        {"cell": 2, "lines": ["pay = print"]},
        {"cell": 3, "lines": ["globals()['p' + 'ay'] = 1"]},
    ]


def test_the_context_may_be_missing_or_a_dict() -> None:
    assert context_of(Runtime(context=None)) == Context()
    assert context_of(Runtime(context={"max_cells": 3})).max_cells == 3
    with pytest.raises(ValueError, match="extra"):
        context_of(Runtime(context={"max_cell": 3}))


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=arguments)


def test_a_cell_is_read_from_a_tool_call() -> None:
    reply = Reply("I look.", (call("run_python", purpose="look\nwell", code="```python\nprint(1)\n```", step=2),))
    (cell,) = read_reply(reply).cells
    assert (cell["code"], cell["purpose"], cell["step"], cell["thought"]) == ("print(1)", "look well", 2, "I look.")


@pytest.mark.parametrize("step", [None, "two", -1, True, 10**9, 1.5])
def test_a_step_that_is_no_step_is_none(step: Any) -> None:
    (cell,) = read_reply(Reply("", (call("run_python", code="x", step=step),))).cells
    assert cell["step"] == 0


def test_cells_go_before_an_answer_in_the_same_reply() -> None:
    reply = Reply("", (call("submit_answer", answer="a", skipped=[]), call("run_python", code="x")))
    assert read_reply(reply).cells
    assert not read_reply(reply).answer


@pytest.mark.parametrize(
    "calls", [(call("run_python", code="  "),), (call("submit_answer", answer=""),), (call("run_python"),)]
)
def test_an_empty_call_is_told_to_the_model(calls: tuple[ToolCall, ...]) -> None:
    with pytest.raises(ReplyProblem):
        read_reply(Reply("", calls))


def test_a_cell_is_read_from_text() -> None:
    (cell,) = read_reply(Reply("First\n```python\n# step 3: count them\nprint(1)\n```", ())).cells
    assert (cell["step"], cell["purpose"]) == (3, "count them")
    (cell,) = read_reply(Reply("```\nx = 1\n```", ())).cells
    assert (cell["step"], cell["purpose"]) == (0, "x = 1")


def test_an_answer_is_read_from_text() -> None:
    assert read_reply(Reply("<answer>Use ```python\nx\n``` so.</answer>", ())).answer.startswith("Use")
    assert read_reply(Reply("It is five.", ())).answer == "It is five."
    with pytest.raises(ReplyProblem):
        read_reply(Reply("<answer> </answer>", ()))


def test_a_plan_is_read_beside_the_first_cell_or_alone() -> None:
    steps = ["a", " b\nc "]
    beside = read_reply(Reply("", (call("run_python", code="x", plan=steps, done=[1, "2", True, "x"]),)), first=True)
    assert (beside.plan, beside.done, len(beside.cells)) == (("a", "b c"), (1, 2), 1)
    assert read_reply(Reply("", (call("submit_plan", steps=steps),)), first=True).plan == ("a", "b c")
    assert read_reply(Reply("1. a\n2. b", ()), first=True).plan == ("a", "b")
    assert read_reply(Reply("1. a\n2. b", ())).answer == "1. a\n2. b"
    text = read_reply(Reply("My plan:\n1. a\n2. b\n```python\n# step 2 (1 done): look\nx\n```", ()), first=True)
    assert (text.plan, text.done, text.cells[0]["purpose"]) == (("a", "b"), (1,), "look")
    assert read_reply(Reply("I look.\n- a\n- b\n```python\nx\n```", ()), first=True).plan == ()


@pytest.mark.parametrize(("steps", "first"), [([], True), (["a"], False)])
def test_a_plan_alone_is_no_reply_once_it_is_made_or_empty(steps: list[str], first: bool) -> None:
    with pytest.raises(ReplyProblem, match="run_python"):
        read_reply(Reply("", (call("submit_plan", steps=steps),)), first=first)


def test_steps_are_ticked_when_the_model_says_so_goes_on_or_answers() -> None:
    plan = [PlanStep(text=text, done=False) for text in "abc"]
    state = make_state(plan=plan, cells=[make_cell(1, step=1), make_cell(2, step=2, status="error")])

    def ticks(wanted: Next) -> list[bool]:
        return [step["done"] for step in tick(plan, wanted, state)]

    assert ticks(Next(cells=(Pending(**{**PENDING, "step": 1}),))) == [False, False, False]
    assert ticks(Next(cells=(Pending(**{**PENDING, "step": 2}),))) == [True, False, False]
    assert ticks(Next(cells=(PENDING,), done=(2, 7))) == [False, True, False]
    assert ticks(Next(answer="It is 5.")) == [True, False, False]


def test_a_review_is_read_or_sent_back() -> None:
    assert read_review(Reply("", (call("submit_review", good_enough=True, missing=["x"]),))) == []
    assert read_review(Reply('{"good_enough": false, "missing": ["x"]}', ())) == ["x"]
    for text in ("fine", '{"good_enough": "yes"}', '{"good_enough": false, "missing": []}'):
        with pytest.raises(ReplyProblem):
            read_review(Reply(text, ()))


def test_usage_is_added_by_node() -> None:
    state = make_state(usage={"plan": Usage(calls=1, input_tokens=10, output_tokens=1, estimated=False)})
    usage = add_usage(state, "plan", Tokens(calls=2, input=5, output=5, estimated=True))
    assert usage["plan"] == Usage(calls=3, input_tokens=15, output_tokens=6, estimated=True)


def test_cached_tokens_are_counted_where_an_endpoint_says_them() -> None:
    reply = AIMessage("x", usage_metadata=UsageMetadata(input_tokens=70, output_tokens=9, total_tokens=79))
    assert reply.usage_metadata is not None
    assert tokens_of(reply, [], []) == Tokens(1, 70, 9)
    reply.usage_metadata["input_token_details"] = {"cache_read": 64}
    usage = add_usage(make_state(), "step", tokens_of(reply, [], []) + Tokens(1, 30, 1))
    usage = add_usage(make_state(usage=usage), "step", Tokens(1, 10, 1, cached=5))
    assert usage["step"] == Usage(calls=3, input_tokens=110, output_tokens=11, estimated=False, cached_tokens=69)
    assert "110 tokens in (69 of them cached) and 11 out" in usage_line(make_state(usage=usage))


def test_budgets() -> None:
    state = make_state(usage={"plan": Usage(calls=1, input_tokens=900_000, output_tokens=100_000, estimated=False)})
    assert budget_reached(state, Context(), None) == ""
    assert budget_reached(state, Context(max_tokens=1_000_001), None) == ""
    assert "1,000,000" in budget_reached(state, Context(max_tokens=1_000_000), None)
    assert budget_reached(state, Context(max_cost=2), Prices((1.0, 10.0))) == ""
    assert "1.9000 spent" in budget_reached(state, Context(max_cost=1.9), Prices((1.0, 10.0)))
    with pytest.raises(ModelAccessError, match="STEPWELL_PRICES"):
        budget_reached(state, Context(max_cost=1), None)


def test_the_script_holds_what_ran_and_can_be_compiled() -> None:
    cells = [
        make_cell(1, code="x = 1"),
        make_cell(2, code='t = """\n  a\n"""\n1/0', status="error", error="ZeroDivisionError: division by zero"),
        make_cell(3, code="def f(:", status="error", error="SyntaxError"),
        make_cell(4, code="y = x\ny / 0", status="error", error="ZeroDivisionError"),
        make_cell(5, code="import os\nos._exit(1)", status="killed"),
        make_cell(6, code="z = y + 1", turn=2),
    ]
    uploaded = f"/home/ann/.stepwell/uploads/{'a' * 40}/{'b' * 32}/named/c.csv"
    inputs = [
        make_input(),
        {**make_input("inputs/b.csv"), "source": "https://ann:secret@example.org/b.csv"},
        {**make_input("inputs/c.csv"), "source": uploaded},
    ]
    state = make_state(cells=cells, turn=2, question="And then?", turns=[], inputs=inputs)
    script = as_script(state)
    assert "# inputs/sales.csv is a copy of /data/sales.csv\n" in script
    assert "secret" not in script
    assert "/home/ann" not in script
    namespace: dict[str, Any] = {}
    exec(compile(script, "analysis.py", "exec"), namespace)
    assert namespace["z"] == 2
    assert namespace["t"] == "\n  a\n"
    assert "# os._exit(1)" in script
    assert "# And then?" in script


def test_a_file_is_from_the_cell_that_last_wrote_it() -> None:
    first = make_cell(1, files=[make_file("outputs/a.csv")], figures=["figures/1.png"])
    second = make_cell(2, files=[make_file("outputs/a.csv", "changed"), make_file("figures/1.png", "deleted")])
    assert makers([first, second]) == {"outputs/a.csv": 2, "figures/1.png": 1}


def test_many_inputs_stay_bounded_in_the_prompt() -> None:
    inputs = [make_input(f"inputs/{number}.csv", "### x\n" + "y" * 2_000) for number in range(500)]
    assert len(inputs_text(make_state(inputs=inputs))) < 45_000
    assert "more files" in inputs_text(make_state(inputs=inputs))


def test_an_unreadable_input_is_told() -> None:
    text = inputs_text(make_state(inputs=[make_input(problem="It is empty (0 bytes).")]))
    assert "| ### inputs/sales.csv\n| Cannot be read: It is empty (0 bytes)." in text


def test_fonts_are_named_where_the_text_needs_them_and_versions_where_code_does() -> None:
    environment = {"python": "3.12.1", "packages": {"pandas": "3.1.1", "scipy": "1.17"}, "fonts": ["IPAexGothic"]}
    latin = environment_text(make_state(environment=environment, question="Größe der Städte, naïve"))
    assert latin == "Python 3.12.1 with pandas 3.1.1, scipy.\n"
    for asked in (
        make_state(environment=environment, question="売上は？"),
        make_state(environment=environment, inputs=[make_input(abstract="### inputs/a.csv\n도시")]),
        make_state(environment=environment, inputs=[make_input(path="inputs/销售.csv")]),
    ):
        assert "fall back to these fonts" in environment_text(asked)
    asked = make_state(environment={**environment, "fonts": []}, question="売上は？")
    assert "No font has Chinese, Japanese or Korean glyphs" in environment_text(asked)


@pytest.mark.parametrize("tools", [True, False])
def test_the_system_prompt_is_what_it_was(tools: bool) -> None:
    environment = {"python": "3.12.1", "packages": {"pandas": "3.1.1"}, "fonts": ["IPAexGothic"]}
    state = make_state(environment=environment, inputs=[make_input()])
    name = f"generate-{'tools' if tools else 'text'}.txt"
    expected = Path(__file__).parent / "prompts" / name
    assert system_prompt(state, Context(), tools=tools) == expected.read_text()


@pytest.mark.parametrize("tools", [True, False])
def test_instructions_reach_the_model_where_they_are_meant_for_it(tools: bool) -> None:
    context, form = (
        Context(instructions="Amounts are in euros.", review_instructions="It names its sources."),
        PromptForm(tools),
    )
    state = make_state(proposal="It is 5.")
    prompt = str(write_prompt(state, context, (), NO_NETWORK, form))
    review = str(write_review_prompt(state, context, (), NO_NETWORK, form)[-1].content)
    assert "What this analysis has to keep to as well\\nAmounts are in euros." in prompt
    assert "names its sources" not in prompt
    assert "It names its sources." in review
    plain = Context()
    assert "keep to as well" not in str(write_prompt(state, plain, (), NO_NETWORK, form))
    assert "does not hold" not in str(write_review_prompt(state, plain, (), NO_NETWORK, form)[-1].content)


async def test_a_sandbox_that_is_there_is_left_alone(tmp_path: Path) -> None:
    sandbox = FakeSandbox(tmp_path, cells=[CellResult("ok")])
    await sandbox.run("x", number=1, timeout=1, head="here")
    state = make_state(sandbox=SandboxRef(kind="fake", id="fake", snapshot="here"))
    assert await restore_session(sandbox, state, SnapshotStore(Blobs.at(str(tmp_path / "blobs")))) is None


async def test_a_session_is_rebuilt_from_the_cells_that_ended_by_themselves(tmp_path: Path) -> None:
    cells = [
        make_cell(1, code="one"),
        make_cell(2, code="two", status="error"),
        make_cell(3, code="three", status="killed"),
        make_cell(4, code="four", status="timeout"),
        make_cell(5, code="five", status="rejected"),
        make_cell(6, code="six"),
    ]
    snapshot = BEGINNING
    for number, code in ((1, "one"), (2, "two"), (4, "four"), (6, "six")):
        snapshot = next_state_id(snapshot, number, code)
    sandbox = FakeSandbox(
        tmp_path,
        cells=[
            ScriptedCell(CellResult("ok"), code="one"),
            ScriptedCell(CellResult("error"), code="two"),
            ScriptedCell(CellResult("error"), code="six"),
        ],
    )
    state = make_state(
        cells=cells, sandbox=SandboxRef(kind="fake", id="fake", snapshot=snapshot), inputs=[make_input()]
    )
    receipt = await restore_session(sandbox, state, SnapshotStore(Blobs.at(str(tmp_path / "blobs"))))
    assert receipt is not None
    assert receipt.cells == 3
    assert sandbox.head == snapshot
    words = receipt_text(receipt)
    assert "running 3 earlier cells again" in words
    assert "cell 4 had been interrupted" in words
    assert "cell 6 ended with error this time, with ok before" in words
    assert "inputs/sales.csv is no longer in the workspace" in words


def as_text(messages: list[BaseMessage]) -> str:
    return "\n".join(f"{message.text} {getattr(message, 'tool_calls', '')}" for message in messages)


@pytest.mark.parametrize("tools", [True, False])
def test_the_reviewer_sees_what_the_analyst_saw_within_its_room(tools: bool) -> None:
    turns = [{"number": 1, "question": "Before?", "plan": [], "answer": "So it was."}]
    state = make_state(turn=2, turns=turns, proposal="It is 5.", inputs=[make_input()])
    state["cells"] = [make_cell(1, "cell 1 · ok\nprinted five", turn=2, code="the_code()")]
    asked = write_prompt(state, Context(), (), NO_NETWORK, PromptForm(tools))
    review = write_review_prompt(state, Context(), (), NO_NETWORK, PromptForm(tools))
    assert review[: len(asked)] == asked
    for piece in ("So it was.", "### inputs/sales.csv", "the_code()", "printed five", "It is 5."):
        assert piece in as_text(review)
    state["cells"] = [make_cell(n, "o" * 4_000, turn=2, code="c" * 4_000) for n in range(1, 200)]
    small = write_review_prompt(state, Context(prompt_chars=16_000), (), NO_NETWORK, PromptForm(tools))
    assert len(as_text(small)) < 40_000


def test_a_review_is_asked_for_where_it_can_find_something() -> None:
    def reviewed(state: State, **knobs: Any) -> bool:
        return worth_reviewing(state, Context(**knobs))

    simple = make_state(cells=[make_cell(1)], plan=[])
    assert not reviewed(simple)
    assert reviewed(make_state(cells=[make_cell(1)], plan=[PlanStep(text=text, done=True) for text in "ab"]))
    assert reviewed(make_state(cells=[make_cell(1, status="error"), make_cell(2)]))
    delivery = make_cell(1, files=[make_file("outputs/a.csv")])
    assert not reviewed(make_state(cells=[delivery]))
    assert reviewed(make_state(cells=[delivery, make_cell(2)]))
    assert reviewed(make_state(cells=[make_cell(1, files=[make_file(f"outputs/{name}.csv") for name in "ab"])]))
    assert not reviewed(make_state(turn=2, cells=[delivery, make_cell(2, turn=2), make_cell(3, turn=2)]))
    assert reviewed(make_state(cells=[make_cell(number) for number in range(1, 5)]))
    earlier = [make_cell(number, turn=1) for number in range(1, 5)]
    assert not reviewed(make_state(turn=2, cells=[*earlier, make_cell(5, turn=2)], plan=[]))
    assert reviewed(simple, review="always")
    assert reviewed(simple, review_instructions="It names its sources.")
    assert not reviewed(simple, review_instructions="It names its sources.", review="never")


def test_the_script_of_an_analysis_can_be_read_whatever_its_cells_are_called() -> None:
    long = shorten("purpose " * 60, 200)
    cells = [make_cell(1, purpose=long), make_cell(2, status="error", error="KeyError: 'a\nb'", code="1/0")]
    compile(as_script(make_state(cells=cells)), "analysis.py", "exec")


def test_a_budget_that_ends_a_review_gives_the_answer_that_there_is() -> None:
    review = Review(after_cell=1, answer="It is 5.", missing=["A chart."], round=1)
    stopped = _stopped(make_state(review=review), "The token budget is used up.")
    assert (stopped["proposal"], stopped["concerns"]) == ("It is 5.", ["A chart."])


async def test_a_prompt_that_was_too_long_has_less_of_the_users_files_too() -> None:
    model = RecitingModel(script=[ContextOverflowError("too long"), "<answer>Four.</answer>"])

    async def choose_model(name: str) -> RecitingModel:
        return model

    files = [make_input(f"inputs/{number}.csv", abstract="### x\n" + "column\n" * 600) for number in range(20)]
    said = await generate(make_state(inputs=files), runtime(tool_calling="off"), choose_model=choose_model)
    assert said["proposal"] == "Four."
    first, second = ("".join(message.text for message in heard) for heard in model.heard)
    assert 0 < second.count("column") < 0.8 * first.count("column")
