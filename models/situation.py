"""What the prompts of the nodes are written from, as data: for a model that is a program and cannot read prose.

A node hands it to `ask` beside the prompt. Only a model with the method `with_situation` gets it; to all others nothing
of it is sent, and nothing of it is stored: whoever resumes, forks or replays has it from the state again.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from typing_extensions import TypedDict

Wanted = Literal["cell", "answer", "review"]
"""What the reply is to be. `cell`: the next cell, with the plan beside the first, or the answer when nothing is left.
`answer`: no cell may run any more."""


class PromptInput(TypedDict):
    """A file that the user brought."""

    path: str
    """Where it lies in the workspace: `inputs/…`."""
    abstract: str
    """Its profile."""
    problem: str
    """Why it cannot be read; empty when it can."""
    source: str
    """What the user named: a local path or a URL."""
    size: int


class PromptStep(TypedDict):
    """A step of the plan."""

    text: str
    done: bool


class PromptCell(TypedDict):
    """A cell that ran, or was refused."""

    turn: int
    step: int
    """The plan step that it worked on, from 1; 0 for none."""
    purpose: str
    code: str
    status: Literal["ok", "error", "timeout", "killed", "rejected", "unknown"]
    observation: str
    error: str
    """`NameError: name 'x' is not defined`, or empty."""


class PromptVariable(TypedDict):
    """A variable of the session."""

    name: str
    kind: str
    """Its type."""


class Situation(TypedDict):
    """The analysis at one call of a model. JSON values only."""

    wanted: Wanted
    turn: int
    """Which question of the thread this is, from 1."""
    question: str
    plan: Sequence[PromptStep]
    """Empty before the first cell, and where none was made."""
    inputs: Sequence[PromptInput]
    cells: Sequence[PromptCell]
    """Of all turns, in their order."""
    variables: Sequence[PromptVariable]
    missing: Sequence[str]
    """What the check found missing in the answer that was sent back; empty when none was."""
    functions: Sequence[str]
    """The names of the host functions that cells may call."""
    network: str
    """What cells may reach: `none`, `allowlist` or `full`."""


@runtime_checkable
class ReadsSituation(Protocol):
    """A chat model that replies by the situation instead of by the text of the prompt."""

    def with_situation(self, situation: Situation) -> BaseChatModel:
        """The model for one call in this situation."""
        ...
