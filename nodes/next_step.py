"""What the model wants next: ask for it, and read the reply. `plan` and `generate` ask the same way.

A reply holds cells to run, or the answer, and beside either the plan of the turn and the plan steps that are done.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from graph.context import context_of
from graph.events import ModelAnswered, ModelAsked, Planned, Proposed, emit, telling
from graph.state import Pending, PlanStep, State
from models.base import ChooseModel, PromptForm, Reply, ReplyProblem
from models.completion import ask
from models.replies import answer_in, code_in, prose_around, steps_in
from nodes.budget import add_usage
from nodes.cell_magics.magics import python_of
from nodes.computed_answers import ONLY_VALUES, placeholders, with_answer
from nodes.prompts.conversation import situation_of
from nodes.prompts.instructions import last_call, plan_first
from nodes.prompts.observation import shorten
from nodes.prompts.prompt import write_prompt
from nodes.prompts.tools import TOOLS
from nodes.shown_conversation import reply_messages
from sandboxes.functions import Description
from sandboxes.network import Network

MAX_PARALLEL_CELLS = 5
"""Cells taken from one reply; they run one after the other."""
SPARE_CELLS = 3
"""Cells beyond the most of a turn that may compute the values of its answer."""
MAX_STEPS = 12
STEP_CHARS = 400
FIRST_LINE = re.compile(
    r"^\s*#\s*(?=step\s|back\s)(?:step\s+(?P<step>\d{1,4})\s*(?:\((?P<done>[\d, ]*)\s*done\)\s*)?)?"
    r"(?:,?\s*back\s+to\s+(?:cell\s+)?(?P<back>\d{1,6})\s*)?(?<=[\d) ])[:.\-]\s*(?P<purpose>.*)",
    re.IGNORECASE,
)


CELL_OR_ANSWER = "Give the next cell now (run_python), or the whole answer (submit_answer)."
NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+\S", re.MULTILINE)
"""A line of a plan that is written as text."""


@dataclass(frozen=True, slots=True)
class Next:
    """What the model wants next."""

    cells: tuple[Pending, ...] = ()
    answer: str = ""
    skipped: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    done: tuple[int, ...] = ()
    """Plan steps that it says are done, from 1."""


async def next_step(
    state: State,
    runtime: Runtime[Any],
    *,
    node: Literal["plan", "generate"],
    choose_model: ChooseModel,
    functions: Sequence[Description],
    network: Network,
) -> State:
    """Ask for the next cell or the answer of this turn; gives what State holds of the reply.

    A first reply may be a plan and nothing else: then `pending` and `proposal` stay empty.

    Raises:
        ModelError: no usable reply could be had; the thread can be resumed.
    """
    context = context_of(runtime)
    used = sum(cell["turn"] == state["turn"] for cell in state.get("cells") or [])
    must_answer = used >= context.max_cells
    first = not used and not state.get("plan")
    planning = first and bool(state.get("plan_waits"))
    agreed = context.approve_plan and not used and bool(state.get("plan"))

    def write(form: PromptForm) -> list[BaseMessage]:
        closing = last_call(context.max_cells, tools=form.tools) if must_answer else ""
        closing = plan_first(tools=form.tools) if planning else closing
        return write_prompt(state, context, functions, network, form, closing=closing)

    def read(reply: Reply) -> Next:
        wanted = read_reply(reply, first=first)
        if planning:
            return only_plan(wanted)
        wanted = computed(replace(wanted, plan=()) if agreed else wanted)
        _check_back(wanted.cells, len(state.get("cells") or []))
        if node != "plan" and not (wanted.cells or wanted.answer):
            raise ReplyProblem(CELL_OR_ANSWER)
        room = context.max_cells - used
        if must_answer and wanted.cells:
            if wanted.cells[0]["code"] != ONLY_VALUES:
                raise ReplyProblem(last_call(context.max_cells, tools=bool(reply.calls)))
            if room <= -SPARE_CELLS:
                raise ReplyProblem("Give the answer without placeholders: no more expressions are evaluated.")
            room = 1
        return replace(wanted, cells=wanted.cells[:room])

    emit(runtime, ModelAsked(node=node))
    asked = await ask(
        await choose_model(context.model),
        write,
        read=read,
        tools=TOOLS,
        tool_calling=context.tool_calling,
        choose="submit_answer" if must_answer else "",
        situation=situation_of(state, "answer" if must_answer else "cell", functions, network),
        tell=telling(runtime, node),
    )
    emit(runtime, ModelAnswered(node, asked.tokens.input, asked.tokens.output, asked.seconds))
    told: State = {"notices": []} if asked.value.cells or asked.value.answer else {}  # a plan alone does not heed them
    return {**_as_state(asked.value, state, runtime), **told, "usage": add_usage(state, node, asked.tokens)}


def _as_state(wanted: Next, state: State, runtime: Runtime[Any]) -> State:
    """What State holds of the cells, the answer and the plan that the model gave."""
    changed: State = {}
    plan = state.get("plan") or []
    if wanted.plan:
        plan = [PlanStep(text=text, done=False) for text in wanted.plan]
    ticked = tick(plan, wanted, state)
    if ticked != (state.get("plan") or []):
        changed["plan"] = ticked
    if wanted.plan:
        emit(runtime, Planned(ticked))
    if wanted.cells:
        cells = [Pending(**{**wanted.cells[0], "planned": True}), *wanted.cells[1:]] if wanted.plan else wanted.cells
        return {
            **changed,
            "messages": list(reply_messages(wanted.cells)),
            "pending": list(cells),
            "approval": context_of(runtime).approval_after(state.get("approval")),
        }
    if wanted.answer:
        emit(runtime, Proposed(wanted.answer))
        changed["plan_waits"] = False
    return {**changed, "proposal": wanted.answer, "skipped": list(wanted.skipped), "pending": []}


def computed(wanted: Next) -> Next:
    """The same, with a cell that evaluates the placeholders of an answer, where it has any.

    Raises:
        ReplyProblem: there are too many; the text tells the model.
    """
    if wanted.cells or not placeholders(wanted.answer):
        return wanted
    cell = _pending(ONLY_VALUES, purpose="Compute the values of the answer", step=None, thought="", call_id="")
    return replace(wanted, answer="", skipped=(), cells=with_answer([cell], wanted.answer, wanted.skipped))


def only_plan(wanted: Next) -> Next:
    """The plan of a reply to somebody who wants to see it first, or its answer; cells alone are a plan of one step.

    The cells are dropped: the model writes them once somebody has agreed to the plan, perhaps to another one.

    Raises:
        ReplyProblem: it is an answer whose values only a cell could compute.
    """
    if wanted.cells:
        return Next(plan=wanted.plan or (wanted.cells[0]["purpose"],))
    if placeholders(wanted.answer):
        raise ReplyProblem("Nothing is computed yet: give the plan, or an answer without placeholders.")
    return wanted


def _check_back(cells: Sequence[Pending], last: int) -> None:
    """Refuse to go back to a cell that there is not.

    Raises:
        ReplyProblem: the text tells the model.
    """
    for cell in cells:
        if not 0 <= cell.get("back_to", 0) <= last:
            there = f"cells 1 to {last}" if last else "no cell yet"
            raise ReplyProblem(
                f"There is no cell {cell['back_to']} to go back to; there are {there}, and 0 is the beginning."
            )


def tick(plan: Sequence[PlanStep], wanted: Next, state: State) -> list[PlanStep]:
    """The plan with the steps ticked that the model says are done: by number, by a later one, or by answering.

    Going on and answering count for steps on which a cell of this turn ended well.
    """
    worked = {
        cell["step"] for cell in state.get("cells") or [] if cell["turn"] == state["turn"] and cell["status"] == "ok"
    }
    before = len(plan) + 1 if wanted.answer else max((cell["step"] for cell in wanted.cells), default=0)
    return [
        PlanStep(
            text=step["text"], done=step["done"] or number in wanted.done or (number in worked and number < before)
        )
        for number, step in enumerate(plan, 1)
    ]


def read_reply(reply: Reply, *, first: bool = False) -> Next:
    """What a reply wants.

    Args:
        reply: The model's.
        first: Whether it is the first of a turn, which may be a plan and nothing else.

    Raises:
        ReplyProblem: it cannot be used; the text tells the model.
    """
    return _read_calls(reply, first=first) if reply.calls else _read_text(reply, first=first)


def _read_calls(reply: Reply, *, first: bool) -> Next:
    by_name: dict[str, list[Any]] = {}
    for call in reply.calls:
        by_name.setdefault(call.name, []).append(call)
    plan = read_plan(next((call.arguments.get("steps") for call in by_name.get("submit_plan", [])), None))
    answers = by_name.get("submit_answer", [])
    if cells := by_name.get("run_python"):
        pending = tuple(
            _read_cell(call, reply.text if place == 0 else "") for place, call in enumerate(cells[:MAX_PARALLEL_CELLS])
        )
        if answer := _answer_beside(cells, answers):
            pending = with_answer(pending, answer, _skipped(answers))
        return Next(
            cells=pending,
            plan=plan or read_plan(cells[0].arguments.get("plan")),
            done=tuple(number for call in cells for number in _numbers(call.arguments.get("done"))),
        )
    if answers:
        answer = str(answers[0].arguments.get("answer") or "").strip()
        if not answer:
            raise ReplyProblem("submit_answer was called without `answer`. Call it again with the whole answer.")
        return Next(answer=answer, skipped=_skipped(answers))
    if plan and first:
        return Next(plan=plan)
    raise ReplyProblem(CELL_OR_ANSWER)


def _answer_beside(cells: Sequence[Any], answers: Sequence[Any]) -> str:
    """The answer that is given with cells: of the last cell that has one, or of a call beside them."""
    given = [call.arguments.get("answer") for call in (*answers[:1], *cells[:MAX_PARALLEL_CELLS])]
    answer = next((text.strip() for text in reversed(given) if isinstance(text, str) and text.strip()), "")
    placeholders(answer)
    return answer


def _skipped(answers: Sequence[Any]) -> tuple[str, ...]:
    skipped = answers[0].arguments.get("skipped") if answers else None
    return tuple(str(item) for item in skipped) if isinstance(skipped, list) else ()


def _read_cell(call: Any, thought: str) -> Pending:
    code = _python(str(call.arguments.get("code") or ""))
    if not code.strip():
        raise ReplyProblem("run_python was called without `code`. Call it again with the Python to run.")
    purpose, step = str(call.arguments.get("purpose") or ""), call.arguments.get("step")
    cell = _pending(code, purpose=purpose, step=step, thought=thought, call_id=call.id)
    back_to = call.arguments.get("back_to")
    if back_to is not None and "back_to" not in cell:
        if not re.fullmatch(r"-?[0-9]{1,6}", str(back_to)):
            raise ReplyProblem("`back_to` has to be the number of an earlier cell; leave it out to go on from here.")
        cell["back_to"] = int(back_to)
    return cell


def _read_text(reply: Reply, *, first: bool) -> Next:
    answer = answer_in(reply.text)
    code = code_in(reply.text)
    if answer is not None and not (code and placeholders(answer)):
        if not answer.strip():
            raise ReplyProblem("The <answer> is empty. Write the whole answer in it.")
        return Next(answer=answer.strip())
    if code:
        said = prose_around(reply.text)
        steps = read_plan(steps_in(said)) if first and len(NUMBERED.findall(said)) > 1 else ()
        named = FIRST_LINE.match(code)
        cells = (_pending(code, purpose="", step=None, thought="" if steps else said, call_id=""),)
        return Next(
            cells=with_answer(cells, answer, ()) if answer else cells,
            plan=steps,
            done=_numbers(re.findall(r"\d+", named["done"] or "")) if named else (),
        )
    if not reply.text.strip():
        raise ReplyProblem("The reply holds neither code nor an answer.")
    lines = [line for line in reply.text.splitlines() if line.strip()]
    if first and all(NUMBERED.match(line) for line in lines):
        return Next(plan=read_plan(steps_in(reply.text)))
    return Next(answer=reply.text.strip())


def read_plan(given: object) -> tuple[str, ...]:
    """The steps of a plan as a model gives it: a list, or a text with one step a line."""
    steps = [str(step) for step in given] if isinstance(given, list) else steps_in(str(given or ""))
    return tuple(shorten(" ".join(step.split()), STEP_CHARS) for step in steps if step.strip())[:MAX_STEPS]


def _numbers(given: object) -> tuple[int, ...]:
    """The numbers of plan steps in what a model gave."""
    listed = [str(one) for one in given] if isinstance(given, list) else [str(given)]
    return tuple(int(one) for one in listed if re.fullmatch(r"[0-9]{1,3}", one))


def _python(code: str) -> str:
    """The code of a tool call; some models put a fence around it."""
    return (code_in(code) or code).strip("\n") if code.lstrip().startswith("```") else code.strip("\n")


def _pending(code: str, *, purpose: str, step: Any, thought: str, call_id: str) -> Pending:
    code = python_of(code)
    first = None if purpose else FIRST_LINE.match(code)
    if first:
        step, purpose = int(first["step"] or 0), first["purpose"]
    if not purpose:
        lines = [line.strip() for line in code.splitlines() if line.strip()]
        purpose = lines[0].lstrip("# ") if lines else "an empty cell"
    number = step if isinstance(step, int) and not isinstance(step, bool) and 0 < step < 1_000 else 0
    cell = Pending(
        purpose=shorten(" ".join(purpose.split()), 200),
        code=code,
        step=number,
        thought=shorten(thought.strip(), 2_000),
        call_id=call_id,
    )
    if first and first["back"]:
        cell["back_to"] = int(first["back"])
    return cell
