"""The knobs of one run, editable in Studio and on the command line."""

import json
from difflib import get_close_matches
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, ValidationError

MOST_CELLS = 1_000
"""Cells that a turn may have at most, whatever its knobs say."""


class KnobError(ValueError):
    """A knob of a run is unknown, of a wrong type, or more than may be asked for; the message is one sentence."""


class Context(BaseModel):
    """What one run may do and how it goes about it. Every field has a working default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(
        default="",
        max_length=200,
        title="Model",
        description="A model's name at the configured endpoint (`gpt-5.4`), `provider:name`, or `playbook`. "
        "Empty: STEPWELL_MODEL, else the built-in playbook.",
        json_schema_extra={"langgraph_nodes": ["plan", "generate", "check_final"]},
    )
    tool_calling: Literal["auto", "on", "off"] = Field(
        default="auto",
        title="Tool calling",
        description="Ask for code by tool call (`on`), read it out of the text (`off`), "
        "or by tool call unless the endpoint refuses (`auto`).",
        json_schema_extra={"langgraph_nodes": ["generate"]},
    )
    instructions: str = Field(
        default="",
        max_length=20_000,
        title="Instructions",
        description="What the analysis keeps to besides Stepwell's own rules: definitions, house style, what to leave "
        "alone. The model is told so.",
        json_schema_extra={"langgraph_nodes": ["plan", "generate"], "langgraph_type": "prompt"},
    )
    review_instructions: str = Field(
        default="",
        max_length=20_000,
        title="What an answer must have",
        description="Checked, besides Stepwell's own checks, before an answer is accepted.",
        json_schema_extra={"langgraph_nodes": ["check_final"], "langgraph_type": "prompt"},
    )
    sandbox: str = Field(
        default="local",
        max_length=50,
        title="Sandbox",
        description="The kind of sandbox that code runs in.",
        json_schema_extra={"langgraph_nodes": ["plan", "execute", "upload"]},
    )
    approval: Literal["none", "cells"] = Field(
        default="none",
        title="Approval",
        description="`cells`: wait for somebody to approve, edit or reject each cell before it runs.",
        json_schema_extra={"langgraph_nodes": ["approve"]},
    )
    approve_plan: bool = Field(
        default=False,
        title="Plan first",
        description="Make a plan first, and wait for somebody to approve, edit or reject it before any cell runs.",
        json_schema_extra={"langgraph_nodes": ["plan"]},
    )
    language: str = Field(
        default="",
        max_length=100,
        title="Language of the answer",
        description="Empty: the language of the question.",
        json_schema_extra={"langgraph_nodes": ["generate"]},
    )
    ui: list[Literal["figure", "table"]] = Field(
        default_factory=list,
        title="Components of the page",
        description="What the page shows with components of its own: figures and tables are pushed for "
        "those. Empty: figures are pictures in the answer's Markdown, tables are links.",
        json_schema_extra={"langgraph_nodes": ["upload"]},
    )
    max_cells: int = Field(
        default=30,
        ge=1,
        le=MOST_CELLS,
        title="Cells per turn",
        description="Then the model must answer.",
        json_schema_extra={"langgraph_nodes": ["generate"]},
    )
    cell_timeout: float = Field(
        default=120.0,
        gt=0,
        allow_inf_nan=False,
        title="Cell time limit",
        description="Seconds one cell may run.",
        json_schema_extra={"langgraph_nodes": ["execute"]},
    )
    call_timeout: float = Field(
        default=60.0,
        gt=0,
        allow_inf_nan=False,
        title="Call time limit",
        description="Seconds one call of a host function may take; it counts as time of its cell, too.",
        json_schema_extra={"langgraph_nodes": ["execute"]},
    )
    review: Literal["always", "auto", "never"] = Field(
        default="auto",
        title="Review by the model",
        description="Whether the model looks at its answer once more, after Stepwell's own checks: `auto` where it may "
        "find something (several steps or cells, files, a cell that failed, or wishes of what an answer must have).",
        json_schema_extra={"langgraph_nodes": ["check_final"]},
    )
    max_reviews: int = Field(
        default=2,
        ge=0,
        le=10,
        title="Reviews",
        description="Times an answer may be sent back to be improved.",
        json_schema_extra={"langgraph_nodes": ["check_final"]},
    )
    max_tokens: int = Field(
        default=0,
        ge=0,
        title="Token budget",
        description="Tokens in and out for one thread; 0: no limit.",
        json_schema_extra={"langgraph_nodes": ["plan", "generate", "check_final"]},
    )
    max_cost: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        title="Money budget",
        description="For one thread, in the currency of STEPWELL_PRICES; 0: no limit.",
        json_schema_extra={"langgraph_nodes": ["plan", "generate", "check_final"]},
    )
    observation_chars: int = Field(
        default=4_000,
        ge=200,
        title="Observation size",
        description="Characters of a cell's result shown to the model.",
        json_schema_extra={"langgraph_nodes": ["execute"]},
    )
    abstract_chars: int = Field(
        default=2_000,
        ge=200,
        title="Input abstract size",
        description="Characters of an input's profile.",
        json_schema_extra={"langgraph_nodes": ["plan"]},
    )
    prompt_chars: int = Field(
        default=60_000,
        ge=8_000,
        title="Prompt size",
        description="Characters of history in one prompt.",
        json_schema_extra={"langgraph_nodes": ["generate"]},
    )
    max_snapshot_bytes: int = Field(
        default=8_000_000_000,
        ge=0,
        title="Largest snapshot",
        description="Bytes that keeping one step may add; beyond that it is rebuilt by running cells again.",
        json_schema_extra={"langgraph_nodes": ["execute"]},
    )
    max_rebuild_seconds: float = Field(
        default=60.0,
        ge=0,
        allow_inf_nan=False,
        title="Rebuild limit",
        description="Seconds in all that cells may have taken that run again automatically for a variable that a "
        "snapshot could not save; beyond that it is reported lost. 0: none run again.",
        json_schema_extra={"langgraph_nodes": ["execute"]},
    )
    max_artifact_bytes: int = Field(
        default=1_000_000_000,
        ge=1,
        title="Largest artifact",
        description="Bytes; larger ones are named, not published.",
        json_schema_extra={"langgraph_nodes": ["upload"]},
    )
    max_upload_bytes: int = Field(
        default=10_000_000_000,
        ge=1,
        title="All artifacts together",
        description="Bytes; what is beyond that is counted, not published.",
        json_schema_extra={"langgraph_nodes": ["upload"]},
    )

    def approval_after(self, before: Literal["none", "cells"] | None) -> Literal["none", "cells"]:
        """Whether cells wait for approval: a run that says nothing of it leaves its thread's mode as it was before."""
        return before if before and "approval" not in self.model_fields_set else self.approval


def parse_context(given: object) -> Context:
    """The knobs that somebody has given.

    Raises:
        KnobError: one is unknown or cannot be used.
    """
    if isinstance(given, Context):
        return given
    try:
        return Context.model_validate(given or {})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0])[:100] if problem["loc"] else ""
    if not name:
        raise KnobError("The context of a run has to be an object: a value for each knob.")
    if problem["type"] == "extra_forbidden":
        meant = get_close_matches(name, Context.model_fields, n=1)
        hint = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(Context.model_fields)}."
        raise KnobError(f"There is no knob {name!r}; {hint}")
    wanted = problem["msg"].replace("String should ", "").replace("Input should ", "").partition(", unable")[0]
    raise KnobError(f"{name} cannot be {_shown(problem['input'])}: it has to {wanted}.")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def stored_context(kept: object) -> Context:
    """The knobs that a checkpoint's metadata holds; what today's Context does not know or allow has its default."""
    try:
        values = json.loads(kept) if isinstance(kept, str) else {}
    except ValueError:
        values = {}
    if not isinstance(values, dict):
        return Context()
    try:
        return Context.model_validate(values)
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors()}
        return Context.model_validate({name: value for name, value in values.items() if name not in wrong})


def context_of(runtime: Runtime[Any]) -> Context:
    """The run's context; the defaults when the caller gave none (LangGraph then hands over `None`, or a plain dict)."""
    context = runtime.context
    if isinstance(context, Context):
        return context
    return Context.model_validate(context or {})
