"""Turning whatever a model's client raises into one sentence for a person, or into what to try next.

Errors are told apart by their attributes and the names of their classes, so that no provider's package is imported
for it. What an endpoint said is quoted, cut, and without keys.
"""

import json
import os
import re
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from langchain_core import exceptions as langchain
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from models.base import ModelAccessError, ModelError, ModelUnavailableError
from models.providers import OPENAI, provider_of

Objection = Literal["", "too long", "tools", "choice", "usage", "broke off"]
"""What an endpoint objected to that the next request can do without; `broke off`: the same may be tried again."""

OPENAI_URL = "https://api.openai.com/v1"

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|contextwindowexceeded|string_above_max_length"
    r"|(?:context|prompt|sequence|input)[ _](?:length|window|size)[^.]{0,80}(?:exceed|limit|long|maximum|large)"
    r"|maximum (?:context|prompt|model|sequence|input) length|max(?:imum)?[ _]context"
    r"|exceeds? the (?:available )?context"
    r"|(?:prompt|input|request|message)s? (?:is |are )?too (?:long|large)|too many (?:input |prompt )?tokens"
    r"|(?:input |prompt )?token count[^.]{0,40}exceeds|reduce the length|input tokens exceed"
    r"|tokens \+ `?max_new_tokens`? must be|longer than the (?:model|maximum)"
)
_NO_KEY = re.compile(
    r"(?:invalid|incorrect|missing|no|bad)[ _-]api[ _-]?key|api[ _-]?key[ _](?:not valid|invalid|required)"
)
_NO_MONEY = re.compile(r"insufficient[_ ](?:quota|balance|credit|funds)|exceeded your current quota|billing|payment")
_KEYS = re.compile(r"\b(?:sk|pk|rk|gsk|xai|key|hf|nvapi|AIza)[-_]?[\w*.-]{12,}|(?<=[Bb]earer )\S+")
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")


def objection(error: Exception, model: BaseChatModel, *, tools: bool, chosen: bool) -> Objection:
    """What the endpoint objects to and can be left out; empty when it is something else.

    Args:
        error: What the client raised.
        model: Which model was asked.
        tools: Whether tools were offered.
        chosen: Whether one of them was demanded.
    """
    if isinstance(error, NotImplementedError) and tools:
        return "tools"
    status = _status(error)
    words = _words(error).lower()
    for name in (_name(model), *_urls(model)):
        words = words.replace(name.lower(), "") if name else words
    if status in (401, 403) or "model_not_found" in words:
        return ""
    if isinstance(error, langchain.ContextOverflowError) or status == 413 or _TOO_LONG.search(words):
        return "too long"
    if status in (400, 404, 422, 500, 501):
        if "stream_options" in words or "include_usage" in words:
            return "usage"
        if chosen and re.search(r"tool[_ ]?choice", words):
            return "choice"
        if tools and re.search(r"tool|function", words):
            return "tools"
    # The client repeats requests that got no reply, but not those whose reply broke off in the middle.
    return "broke off" if status is None and _broke_off(error) else ""


CERTIFICATE = "its certificate is not accepted"


def explain(error: Exception, model: BaseChatModel) -> ModelError:
    """The error that tells a person what happened and what to do."""
    status = _status(error)
    words = _words(error)
    if isinstance(error, langchain.ModelTimeoutError | TimeoutError) or "timeout" in type(error).__name__.lower():
        return ModelUnavailableError(
            f"The model {_name(model)!r} at {_where(model)} did not answer in time: "
            "resume later, or raise STEPWELL_MODEL_TIMEOUT."
        )
    if status is not None:
        return _by_status(status, words, model)
    if _is_connection(error):
        if (cause := _cause(error)) == CERTIFICATE:
            return ModelUnavailableError(
                f"The model's endpoint {_where(model)} cannot be reached ({cause}): where a proxy signs connections, "
                "name the file with its certificate in SSL_CERT_FILE, then resume."
            )
        return ModelUnavailableError(
            f"The model's endpoint {_where(model)} cannot be reached ({cause}): "
            f"check the network and {_address_variable(model)}, then resume."
        )
    if _looks_foreign(error):
        return _foreign(model, _quoted(words, model))
    lowered = words.lower()
    if _NO_MONEY.search(lowered) or "rate_limit" in lowered or "rate limit" in lowered:
        return _by_status(429, words, model)
    if re.search(r"server_error|overloaded|internal error|unavailable", lowered):
        return _by_status(500, words, model)
    return ModelError(
        f"The model {_name(model)!r} at {_where(model)} failed ({type(error).__name__}: {_quoted(words, model)}): "
        "resume to try again, or choose another model."
    )


def too_long(model: BaseChatModel) -> ModelError:
    """The error for a prompt that stayed too long after it was shortened."""
    return ModelAccessError(
        f"Even a quarter of the usual prompt is too long for the model {_name(model)!r} at {_where(model)}: choose a "
        "model with a larger context, enlarge the context in the server's settings, or lower the prompt size."
    )


def no_tools(model: BaseChatModel) -> ModelError:
    """The error for an endpoint that refuses the tools that the run insists on."""
    return ModelAccessError(
        f"The model {_name(model)!r} at {_where(model)} refuses tool calling: "
        "set tool calling to `auto` or `off`, or choose another model with STEPWELL_MODEL."
    )


def without_keys(text: str) -> str:
    """Cut keys out of a text that somebody else wrote."""
    for name, value in os.environ.items():
        if len(value) >= 8 and re.search(r"KEY|TOKEN|SECRET|PASSWORD", name, re.IGNORECASE):
            text = text.replace(value, "[key]")
    return _USERINFO.sub("", _KEYS.sub("[key]", text))


def _by_status(status: int, words: str, model: BaseChatModel) -> ModelError:
    name, where, said = _name(model), _where(model), _quoted(words, model)
    provider = provider_of(model) or OPENAI
    lowered = words.lower()
    if status == 401 or (status in (400, 403) and _NO_KEY.search(lowered)):
        return ModelAccessError(f"{where} does not accept the key: correct {provider.key} ({said}).")
    if status == 403:
        return ModelAccessError(
            f"{where} does not allow this key to use the model {name!r}: "
            f"choose another with STEPWELL_MODEL, or another {provider.key} ({said})."
        )
    if status == 404:
        if "<html" not in lowered and (re.search(r"\bmodel", lowered) or name.lower() in lowered):
            return ModelAccessError(f"There is no model {name!r} at {where}: correct STEPWELL_MODEL ({said}).")
        return _foreign(model, said)
    if status in (402, 429) and (status == 402 or _NO_MONEY.search(lowered)):
        return ModelUnavailableError(
            f"The account at {where} has no credit left: top it up or use another model, then resume ({said})."
        )
    if status == 429:
        return ModelUnavailableError(f"{where} is limiting the rate of requests: wait a little, then resume ({said}).")
    if status in (408, 409) or status >= 500:
        return ModelUnavailableError(
            f"The model {name!r} at {where} is failing or overloaded (HTTP {status}): "
            f"resume later, or choose another with STEPWELL_MODEL ({said})."
        )
    return ModelAccessError(
        f"{where} refused the request to the model {name!r} (HTTP {status}): "
        f"check STEPWELL_MODEL and the model's settings ({said})."
    )


def _foreign(model: BaseChatModel, said: str) -> ModelError:
    return ModelAccessError(
        f"What answers at {_where(model)} does not speak like a chat model's endpoint: "
        f"check {_address_variable(model)}, which usually ends in /v1 ({said})."
    )


def _status(error: Exception) -> int | None:
    """The HTTP status, wherever a provider's client keeps it."""
    body = error.args[0] if error.args and isinstance(error.args[0], dict) else getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    candidates = [
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "http_status", None),
        getattr(error, "code", None),
        # A status inside a reply that HTTP called a success.
        inner.get("code") if isinstance(inner, dict) else None,
        inner.get("status") if isinstance(inner, dict) else None,
    ]
    for candidate in candidates:
        if str(candidate).isdecimal() and 400 <= int(str(candidate)) < 600:
            return int(str(candidate))
    for kind, status in (
        (langchain.ModelAuthenticationError, 401),
        (langchain.ModelPermissionDeniedError, 403),
        (langchain.ModelNotFoundError, 404),
        (langchain.ModelRateLimitError, 429),
        (langchain.ModelAPIError, 500),
    ):
        if isinstance(error, kind):
            return status
    return None


def _words(error: Exception) -> str:
    """All that the endpoint said: the exception's text, and the body that its text may leave out."""
    said = str(error)
    body = getattr(error, "body", None)
    if isinstance(body, str):
        extra = body
    elif body:
        extra = json.dumps(body, ensure_ascii=False, default=str)
    else:
        extra = ""
    return f"{said} {extra}" if extra and extra not in said else said


def _quoted(words: str, model: BaseChatModel, limit: int = 200) -> str:
    """An endpoint's words on one line, short, without markup and keys."""
    for value in vars(model).values():
        if isinstance(value, SecretStr) and len(value.get_secret_value()) >= 4:
            words = words.replace(value.get_secret_value(), "[key]")
    plain = " ".join(re.sub(r"<[^<>]*>", " ", without_keys(words)).split())
    message = re.search(r"""["']message["']: ["](.+?)["][,}]""", plain)
    plain = (message[1] if message else plain).strip().rstrip(".") or "it gave no reason"
    return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"


def _name(model: BaseChatModel) -> str:
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return model._llm_type


def _urls(model: BaseChatModel) -> list[str]:
    values = [getattr(model, attribute, None) for attribute in ("openai_api_base", "base_url", "anthropic_api_url")]
    return [value for value in values if isinstance(value, str) and value]


def _where(model: BaseChatModel) -> str:
    urls = _urls(model)
    if not urls:
        return OPENAI_URL if provider_of(model) is OPENAI else f"its provider ({model._llm_type})"
    split = urlsplit(urls[0])
    # A user name and a password may stand before the host, a key behind it.
    return urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path, "", ""))


def _address_variable(model: BaseChatModel) -> str:
    provider = provider_of(model)
    return "OPENAI_BASE_URL" if provider is None or provider is OPENAI else "the provider's settings"


def _is_connection(error: BaseException) -> bool:
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    module = type(error).__module__.partition(".")[0]
    return (
        isinstance(error, langchain.ModelConnectionError | ConnectionError)
        or "ConnectionError" in names
        or (module in ("httpx", "httpx2", "httpcore", "aiohttp"))
    )


def _chain(error: BaseException) -> list[BaseException]:
    chain = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) and inner not in chain:
        chain.append(inner)
    return chain


def _broke_off(error: Exception) -> bool:
    """Whether the connection was lost after the reply had begun."""
    return any(
        type(link).__name__ in ("ReadError", "ClientPayloadError")
        or (type(link).__name__ == "RemoteProtocolError" and "without sending complete" in str(link))
        for link in _chain(error)
    )


def _cause(error: BaseException) -> str:
    """Why there is no connection, in the words of the operating system where it has some."""
    text = " ".join(f"{type(link).__name__} {link}" for link in _chain(error)).lower()
    for sign, reason in (
        ("certificate", CERTIFICATE),
        ("refused", "connection refused"),
        ("all connection attempts failed", "connection refused"),
        ("gaierror", "its name is unknown"),
        ("name or service", "its name is unknown"),
        ("name resolution", "its name is unknown"),
        ("unreachable", "network unreachable"),
        ("disconnected", "the connection broke off"),
        ("protocolerror", "the connection broke off"),
        ("readerror", "the connection broke off"),
        ("reset", "the connection broke off"),
    ):
        if sign in text:
            return reason
    return "no connection"


def _looks_foreign(error: Exception) -> bool:
    """Whether a reply came that is no chat completion at all: a web page, another API."""
    words = str(error)
    signs = (
        "Unexpected response type from OpenAI-compatible endpoint",
        "Response missing 'choices' key",
        "null value for 'choices'",
        "No generation chunks were returned",
        "No generations found in stream",
    )
    return isinstance(error, json.JSONDecodeError) or any(sign in words for sign in signs)
