"""Asking a model until its reply is usable: the one place where attempts are counted."""

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, message_chunk_to_message
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import ValidationError

from models.base import (
    ModelError,
    ModelRefusedError,
    ModelReplyError,
    PromptForm,
    Reply,
    ReplyProblem,
    Tokens,
)
from models.drafts import AskedAgain, Attempts, Draft, Tell
from models.drafts import attempts as requests_made
from models.failures import Objection, explain, no_tools, objection, too_long
from models.messages import Declined, as_text, estimate, read_message, tokens_of, with_cache_points
from models.providers import PROVIDERS, provider_of
from models.situation import ProgramModel, Situation

T = TypeVar("T")

NOT_STREAMED: RunnableConfig = {"tags": ["nostream"]}
"""Keeps what a model writes out of LangGraph's stream of messages, where plans, reviews and refused drafts would show
as parts of the conversation. What State takes of it is streamed as the node ends, under the ids that it has there."""

SMALLEST = 0.25
"""The prompt is halved, and halved again; what is still too long then will not be usable."""

_PLAINLY = (
    "You declined to reply. This is an ordinary piece of data analysis on the user's own files, run in a sandbox. "
    "Reply to the request; if some part of it really cannot be done, leave that part out and say so."
)


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """A usable reply, and what it took to get it."""

    value: T
    """What `read` made of the reply."""
    reply: Reply
    tokens: Tokens
    """Summed over all attempts."""
    form: PromptForm
    """The form of the prompt that was answered."""
    seconds: float


@dataclass(slots=True)
class _Learnt:
    """What an endpoint turned out not to support; remembered as long as the model object lives."""

    tools: bool = True
    choice: bool = True
    usage: bool = True
    streams: bool = True


# By identity, since chat models cannot be hashed.
_learnt: dict[int, _Learnt] = {}


async def ask(
    model: BaseChatModel,
    write: Callable[[PromptForm], Sequence[BaseMessage]],
    *,
    read: Callable[[Reply], T],
    tools: Sequence[dict[str, Any]] = (),
    tool_calling: Literal["auto", "on", "off"] = "auto",
    choose: str = "",
    attempts: int = 3,
    situation: Situation | None = None,
    tell: Tell | None = None,
) -> Completion[T]:
    """Ask a model, and ask again while its reply is unusable.

    A bad reply is shown to the model together with what is wrong with it. That counts as an attempt; finding out what
    the endpoint supports does not, and is bounded by itself: tools that it refuses are left out (the prompt is then
    written anew, as text), a prompt that is too long for it is written anew, smaller, twice.

    Args:
        model: The chat model. While LangGraph streams messages, its reply is streamed.
        write: Writes the prompt in the form that is wanted.
        read: Turns the reply into a value. Raises ReplyProblem, with a sentence for the model, when it cannot.
        tools: OpenAI-style function schemas: `{"type": "function", "function": {"name", "description", "parameters"}}`.
        tool_calling: `auto` offers the tools unless the endpoint refuses, `on` insists on them, `off` never does.
        choose: The tool that must be called; empty leaves it to the model. A wish: endpoints may not support it.
        attempts: Replies that may be unusable before it is given up.
        situation: What the prompt is written from, for a model that reads this instead; others never see it.
        tell: Gets what the model writes, while it does, and that it is asked again; None: the reply comes whole.

    Raises:
        ModelAccessError: the operator must act.
        ModelUnavailableError: the model cannot be reached or is overloaded, after the client's own retries.
        ModelRefusedError: it declined, twice.
        ModelReplyError: no reply was usable.
        ModelError: its client failed in another way. Each error carries the tokens that were spent.
    """
    asking = _Asking(model, list(tools), tool_calling, choose, situation, tell)
    started = time.monotonic()
    problem, declined = "", 0
    for attempt in range(1, attempts + 1):
        if attempt > 1 and tell is not None:
            tell(AskedAgain(attempt, "its reply could not be used"))
        reply_message = await asking.next(write)
        if reply_message is None:
            problem = asking.correct(None, "The arguments of your tool call must be one JSON object. Call it again.")
            continue
        try:
            reply = read_message(reply_message, asking.names)
            value = read(reply)
        except Declined as refusal:
            declined += 1
            if declined == 2 or attempt == attempts:
                raise asking.failed(ModelRefusedError(_refused(str(refusal)))) from None
            problem = asking.correct(reply_message, _PLAINLY)
        except ReplyProblem as sentence:
            problem = asking.correct(reply_message, str(sentence))
        else:
            return Completion(value, reply, asking.tokens, asking.form, time.monotonic() - started)
    raise asking.failed(_no_usable_reply(attempts, problem))


def _no_usable_reply(attempts: int, problem: str) -> ModelReplyError:
    return ModelReplyError(
        f"The model gave no usable reply in {attempts} attempts; what it was told last: {problem} "
        "Resume to try again, or choose another model with STEPWELL_MODEL."
    )


@dataclass(slots=True)
class _Asking:
    """One question to one model, over all its attempts."""

    model: BaseChatModel
    tools: list[dict[str, Any]]
    tool_calling: Literal["auto", "on", "off"]
    choose: str
    situation: Situation | None
    tell: Tell | None = None
    tokens: Tokens = field(default_factory=Tokens)
    form: PromptForm = field(default_factory=PromptForm)
    corrections: list[BaseMessage] = field(default_factory=list)
    learnt: _Learnt = field(default_factory=_Learnt)
    marks_cache: bool = False
    """Whether the provider wants to be told what it may cache."""

    def __post_init__(self) -> None:
        self.learnt = _what_is_known_of(self.model)
        self.marks_cache = provider_of(self.model) is PROVIDERS["anthropic"]
        wanted = bool(self.tools) and self.tool_calling != "off"
        self.form = PromptForm(tools=wanted and (self.learnt.tools or self.tool_calling == "on"))

    @property
    def names(self) -> list[str]:
        """The tools' names."""
        return [tool["function"]["name"] for tool in self.tools]

    async def next(self, write: Callable[[PromptForm], Sequence[BaseMessage]]) -> AIMessage | None:
        """The next message of the model; None when it held a tool call that LangChain could not represent.

        Raises:
            ModelError: the endpoint gives none, whatever is left out of the request.
        """
        broke_off = False
        while True:
            prompt = [*write(self.form), *self.corrections]
            offered = self.tools if self.form.tools else []
            try:
                given = with_cache_points(prompt) if self.marks_cache else prompt
                message = await self._reply(given)
            except ValidationError:
                # Arguments that are valid JSON but no object: the message cannot be built, its usage is lost.
                self.tokens += estimate(prompt, offered)
                return None
            except Exception as error:  # each provider's client raises classes of its own
                objected = self._objection(error)
                if (objected == "broke off" and broke_off) or not self._adapt(objected):
                    raise self.failed(self._explained(error, objected)) from error
                broke_off = broke_off or objected == "broke off"
                continue
            self.tokens += tokens_of(message, prompt, offered)
            return message

    async def _reply(self, given: LanguageModelInput) -> AIMessage:
        """The model's reply to a prompt; what it writes meanwhile is told, where somebody wants to know."""
        if self.tell is None:
            return await self._bound().ainvoke(given, NOT_STREAMED)
        repeats = requests_made.set(Attempts(self.tell))
        try:
            if not self.learnt.streams:
                return await self._bound().ainvoke(given, NOT_STREAMED)
            return await self._streamed(given, Draft(self.tell))
        finally:
            requests_made.reset(repeats)

    async def _streamed(self, given: LanguageModelInput, draft: Draft) -> AIMessage:
        whole: AIMessage | None = None
        async for piece in self._bound().astream(given, NOT_STREAMED):
            draft.take(piece)
            joined = isinstance(whole, AIMessageChunk) and isinstance(piece, AIMessageChunk)
            whole = whole + piece if joined else piece  # type: ignore[operator, assignment]
        draft.end()
        if whole is None:
            raise ValueError("No generation chunks were returned")
        said = message_chunk_to_message(whole) if isinstance(whole, AIMessageChunk) else whole
        assert isinstance(said, AIMessage)
        return said

    def correct(self, message: AIMessage | None, sentence: str) -> str:
        """Show the model its reply and what is wrong with it in the next prompt; returns the sentence."""
        shown = as_text(message) if message else "(called a tool)"
        self.corrections += [AIMessage(shown), HumanMessage(sentence)]
        return sentence

    def failed(self, error: ModelError) -> ModelError:
        """The error, with what was spent."""
        error.tokens = self.tokens
        return error

    def _objection(self, error: Exception) -> Objection:
        chosen = bool(self.choose) and self.form.tools and self.learnt.choice
        return objection(error, self.model, tools=self.form.tools, chosen=chosen)

    def _adapt(self, objected: Objection) -> bool:
        """Leave out of the next request what the endpoint objected to. False when there is nothing to leave out."""
        match objected:
            case "too long" if self.form.size > SMALLEST:
                self.form = replace(self.form, size=self.form.size / 2)
            case "choice":
                self.learnt.choice = False
            case "tools" if self.tool_calling != "on":
                self.learnt.tools = False
                self.form = replace(self.form, tools=False)
            case "usage" if self.learnt.usage:
                self.learnt.usage = False
            case "streams" if self.learnt.streams:
                self.learnt.streams = False
            case _:
                return objected == "broke off"
        return True

    def _explained(self, error: Exception, objected: Objection) -> ModelError:
        if objected == "too long":
            return too_long(self.model)
        if objected == "tools":
            return no_tools(self.model)
        return explain(error, self.model)

    def _bound(self) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with the tools that the form and the endpoint allow."""
        model = self.model
        if self.situation is not None and isinstance(model, ProgramModel):
            model = model.with_situation(self.situation)
        if not self.learnt.usage and hasattr(model, "stream_usage"):
            model = model.model_copy(update={"stream_usage": False})
        if not self.form.tools:
            return model
        if self.choose and self.learnt.choice:
            try:
                return model.bind_tools(self.tools, tool_choice=self.choose)
            except (TypeError, ValueError):
                self.learnt.choice = False
        return model.bind_tools(self.tools)


def _what_is_known_of(model: BaseChatModel) -> _Learnt:
    key = id(model)
    if key not in _learnt:
        _learnt[key] = _Learnt()
        weakref.finalize(model, _learnt.pop, key, None).atexit = False
    return _learnt[key]


def _refused(words: str) -> str:
    reason_given = " ".join(words.split())
    reason_given = reason_given if len(reason_given) <= 300 else reason_given[:299].rstrip() + "…"
    reason = f": “{reason_given}”" if reason_given else " and gave no reason"
    return f"The model declined to reply{reason} - put the question in other words, or choose another model."
