"""What `ask` promises of any chat model, also of other providers: endings, refusals, errors by their attributes."""

import gc
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError, ModelAuthenticationError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, SecretStr

from models import completion
from models.base import (
    ModelAccessError,
    ModelError,
    ModelRefusedError,
    ModelReplyError,
    ModelUnavailableError,
    PromptForm,
    Reply,
    ReplyProblem,
    Tokens,
)
from models.completion import ask
from models.failures import explain, objection, without_keys
from models.messages import Declined, as_text, read_message

TOOL = {"type": "function", "function": {"name": "run_python", "description": "", "parameters": {"type": "object"}}}


class RecitingModel(BaseChatModel):
    """Says or raises what it was given, in order; knows no tools. Being asked once more than that is an error."""

    script: list[Any]
    heard: list[list[BaseMessage]] = Field(default_factory=list)
    model_name: str = "reciter"
    api_key: SecretStr = SecretStr("secret-of-the-reciter")

    @property
    def _llm_type(self) -> str:
        return "reciting"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise AssertionError("only the async way is used")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        assert not kwargs, f"nothing was bound, but {kwargs} came"
        self.heard.append(list(messages))
        said = self.script.pop(0)
        if isinstance(said, BaseException):
            raise said
        message = said if isinstance(said, AIMessage) else AIMessage(said)
        return ChatResult(generations=[ChatGeneration(message=message)])


def write(form: PromptForm) -> Sequence[BaseMessage]:
    return [HumanMessage(f"{'tools' if form.tools else 'text'} {form.size:g}")]


def words(reply: Reply) -> str:
    return reply.text


async def test_a_model_without_tools_is_asked_in_text() -> None:
    model = RecitingModel(script=["42"])
    asked = await ask(model, write, read=words, tools=[TOOL])
    assert asked.value == "42"
    assert asked.form == PromptForm(tools=False)
    assert model.heard[0][0].text == "text 1"


async def test_a_model_without_tools_that_must_use_them_is_the_operators_matter() -> None:
    with pytest.raises(ModelAccessError, match="refuses tool calling"):
        await ask(RecitingModel(script=[]), write, read=words, tools=[TOOL], tool_calling="on")


async def test_what_was_learnt_of_a_model_goes_with_it() -> None:
    model = RecitingModel(script=["42"])
    await ask(model, write, read=words, tools=[TOOL])
    key = id(model)
    assert key in completion._learnt
    del model
    gc.collect()
    assert key not in completion._learnt


async def test_the_attempts_are_counted() -> None:
    def never(reply: Reply) -> str:
        raise ReplyProblem(f"Not {reply.text}.")

    model = RecitingModel(script=["a", "b"])
    with pytest.raises(ModelReplyError, match=r"2 attempts.*Not b\.") as caught:
        await ask(model, write, read=never, attempts=2)
    assert caught.value.tokens.calls == 2
    assert caught.value.tokens.estimated
    assert [message.text for message in model.heard[1]] == ["text 1", "a", "Not a."]


async def test_all_corrections_stay_in_the_prompt_also_when_it_gets_smaller() -> None:
    def third(reply: Reply) -> str:
        if reply.text != "c":
            raise ReplyProblem(f"Not {reply.text}.")
        return reply.text

    model = RecitingModel(script=["a", ContextOverflowError("too long"), "b", "c"])
    asked = await ask(model, write, read=third)
    assert asked.form == PromptForm(tools=False, size=0.5)
    assert [message.text for message in model.heard[3]] == ["text 0.5", "a", "Not a.", "b", "Not b."]


async def test_an_error_after_a_bad_reply_carries_what_was_spent() -> None:
    model = RecitingModel(script=["", ModelAuthenticationError("no")])
    with pytest.raises(ModelAccessError) as caught:
        await ask(model, write, read=words)
    assert caught.value.tokens.calls == 1


async def test_a_refusal_in_the_only_attempt_is_final() -> None:
    refusal = AIMessage("I must not.", response_metadata={"stop_reason": "refusal"})
    with pytest.raises(ModelRefusedError, match=r"I must not\."):
        await ask(RecitingModel(script=[refusal]), write, read=words, attempts=1)


async def test_a_mistake_in_the_reader_is_not_taken_for_a_bad_reply() -> None:
    with pytest.raises(ZeroDivisionError):
        await ask(RecitingModel(script=["42"]), write, read=lambda reply: 1 // 0)


async def test_an_unknown_error_is_one_sentence_without_the_key() -> None:
    error = RuntimeError("client broke\nwith secret-of-the-reciter and Bearer abcdefgh in it")
    with pytest.raises(ModelError) as caught:
        await ask(RecitingModel(script=[error]), write, read=words)
    assert type(caught.value) is ModelError
    assert caught.value.__cause__ is error
    assert "client broke" in str(caught.value)
    assert "secret-of-the-reciter" not in str(caught.value)
    assert "abcdefgh" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        {"finish_reason": "length"},
        {"finish_reason": "lengthlength"},
        {"finish_reason": "MAX_TOKENS"},
        {"stop_reason": "max_tokens"},
        {"stop_reason": "model_context_window_exceeded"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_every_providers_word_for_cut_off_is_known(said: dict[str, Any]) -> None:
    with pytest.raises(ReplyProblem, match="cut off"):
        read_message(AIMessage("x = 1", response_metadata=said), [])


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", response_metadata={"finish_reason": "content_filter"}),
        AIMessage("", response_metadata={"finish_reason": "SAFETY"}),
        AIMessage("", response_metadata={"finish_reason": "PROHIBITED_CONTENT"}),
        AIMessage("", response_metadata={"stop_reason": "refusal"}),
        AIMessage("", response_metadata={"stopReason": "guardrail_intervened"}),
        AIMessage("", response_metadata={"incomplete_details": {"reason": "content_filter"}}),
        AIMessage("", additional_kwargs={"refusal": "no"}),
        AIMessage([{"type": "refusal", "refusal": "no"}]),
        AIMessage([{"type": "non_standard", "value": {"type": "refusal", "refusal": "no"}}]),
    ],
)
def test_every_providers_way_to_decline_is_known(message: AIMessage) -> None:
    with pytest.raises(Declined):
        read_message(message, [])


def test_a_usual_ending_is_no_problem() -> None:
    for reason in ("stop", "STOP", "end_turn", "tool_use", "tool_calls", "eos", "stop_sequence", "COMPLETE"):
        assert read_message(AIMessage("42", response_metadata={"finish_reason": reason}), []) == Reply("42")


def test_blocks_of_reasoning_are_not_the_text() -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": "maybe 41"},
        {"type": "reasoning", "reasoning": "or 43"},
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "42."},
    ]
    assert read_message(AIMessage(blocks), []).text == "It is 42."


def test_calls_of_tools_when_there_are_none_are_left_out() -> None:
    call = {"name": "run_python", "args": {"code": "x"}, "id": "1"}
    assert read_message(AIMessage("42", tool_calls=[call]), []) == Reply("42")
    with pytest.raises(ReplyProblem, match="empty"):
        read_message(AIMessage("", tool_calls=[call]), [])


def test_a_call_without_a_number_gets_one() -> None:
    call: dict[str, Any] = {"name": "run_python", "args": {}, "id": None}
    reply = read_message(AIMessage("", tool_calls=[call]), ["run_python"])
    assert reply.calls[0].id.startswith("call_")


def test_a_bad_reply_is_shown_as_plain_text_of_bounded_size() -> None:
    call = {"name": "run_python", "args": {"code": "größe"}, "id": "1"}
    shown = as_text(AIMessage("<think>hm</think>a\x00b\ud800", tool_calls=[call]))
    assert shown == 'ab?\n(called run_python with {"code": "größe"})'
    assert len(as_text(AIMessage("x" * 50_000))) < 4_100
    assert as_text(AIMessage("")) == "(nothing)"


class ForeignError(Exception):
    """An error as other providers' clients raise it, whatever attributes they have."""

    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        vars(self).update(attributes)


class ReadTimeout(Exception):  # noqa: N818 - named like the one of httpx
    pass


class APIConnectionError(Exception):
    pass


class Response:
    status_code = 429


MODEL = RecitingModel(script=[])


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ForeignError("bad", status_code=401), ModelAccessError, "does not accept the key"),
        (ForeignError("bad", code=403), ModelAccessError, "does not allow"),
        (ForeignError("slow", response=Response()), ModelUnavailableError, "rate"),
        (ForeignError("busy", http_status=503), ModelUnavailableError, "HTTP 503"),
        (ForeignError("over", status_code=529), ModelUnavailableError, "HTTP 529"),
        (ForeignError("model: no such", status_code=404), ModelAccessError, "no model 'reciter'"),
        (ValueError({"message": "gone", "code": 502}), ModelUnavailableError, "gone"),
        (ModelAuthenticationError("bad"), ModelAccessError, "key"),
        (ReadTimeout(""), ModelUnavailableError, "in time"),
        (TimeoutError(), ModelUnavailableError, "STEPWELL_MODEL_TIMEOUT"),
        (APIConnectionError("x"), ModelUnavailableError, "cannot be reached"),
        (ConnectionResetError("x"), ModelUnavailableError, "broke off"),
        (KeyError("Response missing 'choices' key: ['a']"), ModelAccessError, "OPENAI_BASE_URL"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_errors_are_told_apart_by_their_attributes(error: Exception, kind: type[ModelError], said: str) -> None:
    explained = explain(error, MODEL)
    assert type(explained) is kind
    assert said in str(explained)
    assert explained.tokens == Tokens()


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
        "Input is too long for requested model.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Please reduce the length of the messages or completion.",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "`inputs` tokens + `max_new_tokens` must be <= 4096",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "The prompt (length 5000) is longer than the maximum model length of 4096",
        "Trying to keep the first 5000 tokens when context the overflows. However, the context length is exceeded.",
        "Requested token count exceeds the model's maximum context length of 262144 tokens",
    ],
)
def test_a_prompt_that_is_too_long_is_known_by_any_servers_words(words: str) -> None:
    assert objection(ForeignError(words, status_code=400), MODEL, tools=True, chosen=True) == "too long"


@pytest.mark.parametrize(
    ("error", "objected"),
    [
        (ForeignError("x does not support tools", status_code=400), "tools"),
        (ForeignError("tool_choice must be auto", status_code=400), "choice"),
        (ForeignError("reciter is no model", status_code=404), ""),
        (ForeignError("invalid tool key", status_code=401), ""),
        (ForeignError("tools are down", status_code=503), ""),
        (ForeignError("model_not_found: toolmaker", status_code=404), ""),
        (ForeignError("Request too large for small-1 on tokens per min", status_code=429), "too long"),
        (ForeignError("Rate limit reached", status_code=429), ""),
        (ForeignError("entity too large", status_code=413), "too long"),
        (NotImplementedError(), "tools"),
    ],
)
def test_only_what_can_be_left_out_is_an_objection(error: Exception, objected: str) -> None:
    assert objection(error, MODEL, tools=True, chosen=True) == objected


def test_a_model_named_for_its_tools_is_not_taken_for_a_refusal_of_them() -> None:
    model = RecitingModel(script=[], model_name="toolfunction-7b")
    error = ForeignError("The model `toolfunction-7b` does not exist", status_code=404)
    assert objection(error, model, tools=True, chosen=False) == ""


def test_keys_are_cut_out_of_what_others_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_VENDOR_API_KEY", "strange|format|of|a|key")
    said = "got sk-proj-abcdefghijklmnop, Bearer xyz123 and strange|format|of|a|key from http://me:pw@host/v1"
    assert without_keys(said) == "got [key], Bearer [key] and [key] from http://host/v1"
