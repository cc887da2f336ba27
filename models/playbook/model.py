"""The built-in playbook: answers where no language model is configured, with a fixed but real exploration of the data.

It is a chat model to the rest of Stepwell: it offers the tool calls that a hosted model would. It reads the situation
and no text of a prompt, and keeps nothing between calls: the same situation gives the same reply.
"""

import json
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from models.messages import NO_MODEL
from models.playbook.answer import write_answer
from models.playbook.cells import STAGES
from models.playbook.cells.loading import HELPERS, MANY, UNSORTED
from models.playbook.profiled_inputs import MAX_TABLES, loading_code, raw_code
from models.playbook.route import LOADING, Route, plan_for, walk
from models.situation import ProgramModel, PromptStep, Situation


class Playbook(ProgramModel):
    """A chat model without a language model."""

    @property
    def _llm_type(self) -> str:
        return "playbook"

    def _reply(self, situation: Situation, messages: Sequence[BaseMessage]) -> AIMessage:
        reply = self._next(situation)
        reply.response_metadata = {NO_MODEL: True}
        return reply

    def _next(self, situation: Situation) -> AIMessage:
        if situation["wanted"] == "review":
            verdict = {"good_enough": True, "missing": []}
            return self.call("submit_review", verdict, situation) if self.by_tool else AIMessage(json.dumps(verdict))
        route = walk(situation)
        begins = not situation["plan"] and not route.cells and situation["wanted"] == "cell"
        steps = list(plan_for(route)) if begins else []
        if begins:
            situation = Situation(**{**situation, "plan": [PromptStep(text=step, done=False) for step in steps]})
            route = walk(situation)
        if situation["missing"] or not route.todo or situation["wanted"] == "answer":
            answer, skipped = write_answer(route)
            if self.by_tool:
                return self.call("submit_answer", {"answer": answer, "skipped": skipped}, situation)
            return AIMessage(f"<answer>\n{answer}\n</answer>")
        stage, step = STAGES[route.todo[0]], route.step_of(route.todo[0])
        purpose, thought = stage.purpose_of(again=route.again), _thought(route)
        code = stage.code(_lead(route), again=route.again)
        if self.by_tool:
            arguments = {"purpose": purpose, "code": code, "step": step, **({"plan": steps} if steps else {})}
            return self.call("run_python", arguments, situation, thought)
        if step:
            code = code.replace(f"# {purpose}", f"# step {step}: {purpose}", 1)
        return AIMessage(f"{_numbered(steps)}{thought}\n\n```python\n{code}```")


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _lead(route: Route) -> str:
    """What a stage's body expects; what was given up is noted, and missing roles of columns are made up for."""
    inputs, turn, lines = route.inputs, route.situation["turn"], list[str]()
    question = " ".join(route.situation["question"].split())
    question = question if len(question) <= 200 else question[:199] + "…"
    match route.todo[0]:
        case "load":
            return loading_code(inputs, [], [], tolerant=route.again, sample=False)
        case "restart":
            return loading_code(
                inputs, route.findings, route.outdated, route.heavy, tolerant=True, sample=route.sampled
            )
        case "read":
            return f"{HELPERS}\nfindings, captions, paths = [], [], {list(inputs.others[:20])!r}"
        case "clean":
            lines.append(raw_code(inputs, tolerant=route.again, sample=route.sampled))
        case "focus":
            lines.append(f"paths = {[table.path for table in inputs.tables[:MAX_TABLES]]!r}\nquestion = {question!r}")
        case "list":
            lines.append(f"question = {question!r}")
        case "write" | "close":
            lines.append(f"stem = {'summary' if turn == 1 else f'follow-up-{turn}'!r}")
    lines[:0] = [] if any("def many(" in cell["code"] for cell in route.situation["cells"]) else [MANY.strip("\n")]
    if "quality" in route.left_out and route.todo[0] not in ("clean", "quality"):
        lines.insert(0, UNSORTED.strip("\n"))
    if route.again:
        lines += _before_again(route)
    for stage in sorted(route.left_out):
        if route.failures[stage] and stage not in route.worked:
            lines.append(f"note('Skipped', {f'{STAGES[stage].purpose} ({route.left_out[stage]}).'!r})")
    return "\n".join(lines)


def _before_again(route: Route) -> list[str]:
    """What stands before a second try: the error of the first, and that its findings do not count."""
    lines = [f"error_text = {route.last['error'] if route.last else ''!r}"]
    if route.todo[0] not in LOADING and (outdated := route.outdated):
        lines.append(f"findings[:] = [line for line in findings if line not in {outdated!r}]")
    return lines


def _thought(route: Route) -> str:
    """A sentence to itself beside the cell."""
    if route.last is None or route.last["status"] == "ok":
        return ""
    if route.again and route.last["status"] == "error":
        return f"The last cell failed ({route.last['error'][:200]}); this one takes care of that."
    goes_on = "the data are loaded again" if route.todo[0] in LOADING else "it is left out"
    return f"The last cell ended as {route.last['status']}; {goes_on}."
