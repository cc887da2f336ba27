"""What the rest of Stepwell knows of models: how to get one, what a reply holds, and the errors.

```
ModelError                 the model could not be used
├─ ModelAccessError        the operator must act: key, model name, permission, address, missing package
├─ ModelUnavailableError   unreachable, too slow, overloaded or out of quota; trying again later may help
├─ ModelRefusedError       the model declined to answer
└─ ModelReplyError         it answered, but never usably
```
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

ChooseModel = Callable[[str], Awaitable[BaseChatModel]]
"""`await choose_model(name)`: the chat model of that name; the configured one when the name is empty."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What was spent on a model. Adds up with `+`."""

    calls: int = 0
    """Replies received, usable or not."""
    input: int = 0
    output: int = 0
    estimated: bool = False
    """True when an endpoint reported nothing and some tokens were counted as characters / 4."""

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            self.estimated or other.estimated,
        )


class ModelError(Exception):
    """The model could not be used.

    Its text is one sentence for a person and says what to do; keys are cut out of whatever an endpoint said.
    """

    def __init__(self, message: str, *, tokens: Tokens | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens or Tokens()
        """What was spent before it failed."""


class ModelAccessError(ModelError):
    """The operator must act: the key, the name, the address, a permission or a package is wrong."""


class ModelUnavailableError(ModelError):
    """It cannot be reached, is too slow, overloaded or out of quota; trying again later may help."""


class ModelRefusedError(ModelError):
    """The model declined to answer; its words are in the message, cut."""


class ModelReplyError(ModelError):
    """No usable reply within the allowed attempts; what was wrong with the last one is in the message."""


class ReplyProblem(Exception):  # noqa: N818 - a remark to the model, which leads to another reply; not an error
    """A reply cannot be used. Its text is a sentence addressed to the model, which is asked again with it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to be run."""

    id: str
    """What a tool message must answer; empty when the call was read out of the text."""
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, without its reasoning."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptForm:
    """The form in which a prompt is wanted."""

    tools: bool = True
    """True: the tools are offered as tools. False: the prompt must say how to answer in plain text."""
    size: float = 1.0
    """Share of the usual prompt size: 1.0, then 0.5 and 0.25 after the endpoint said that the prompt is too long."""
