"""Which chat model a name stands for, built once per event loop."""

import asyncio
import os
import weakref
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from models.base import ChooseModel, ModelAccessError
from models.failures import without_keys
from models.providers import ENDPOINT, PROVIDERS, split_name
from storage.missing_packages import install_command

PLAYBOOK = "playbook"
"""The name of the built-in model that needs no key and no network."""

NOTEBOOK = "notebook"
"""What replies instead of a model while the cells of a notebook are run as they are."""

NO_KEY_NEEDED = "no-key-needed"
"""Sent to endpoints of one's own (Ollama, vLLM, llama.cpp): their clients insist on a key, they do not."""

CONNECT_SECONDS = 10.0
"""An address where nothing listens is given up earlier than a reply that is being written."""


def make_chooser(
    *,
    model: str,
    api_key: str,
    base_url: str,
    timeout: float,
    max_retries: int,
    temperature: float | None = None,
    served: bool = False,
) -> ChooseModel:
    """Make the function that turns a name into a chat model.

    A name is `playbook`, `provider:name` for a provider that LangChain knows, or else the name of a model at the
    OpenAI-compatible endpoint, colons and all. The empty name stands for `model`; if that is empty too, for the
    playbook.

    Args:
        model: The name that is used when a run gives none.
        api_key: The endpoint's key. May be empty when `base_url` names a server of one's own. Other providers read
            their own variables.
        base_url: The endpoint, up to and including `/v1`; empty for OpenAI's.
        timeout: Seconds that a reply may take; while it is streamed, seconds between two pieces of it.
        max_retries: How often the client repeats a request after a rate limit, a timeout or a server error.
        temperature: None leaves it to the model; many models accept nothing else.
        served: Whether users of a server read what is wrong.

    Returns:
        A function that raises ModelAccessError when the model of a name cannot be built. Nothing is imported or
        checked before it is called.
    """
    # An HTTP client belongs to the event loop that it was first used in, so models are kept by loop.
    built: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, BaseChatModel]]
    built = weakref.WeakKeyDictionary()
    options: dict[str, Any] = {"timeout": timeout, "max_retries": max_retries}
    if temperature is not None:
        options["temperature"] = temperature

    def build(name: str) -> BaseChatModel:
        if name == PLAYBOOK:
            from models.playbook.model import Playbook

            playbook: BaseChatModel = Playbook()
            return playbook
        provider, rest = split_name(name)
        if provider and not rest:
            raise ModelAccessError(f"{name!r} names a provider but no model: write {provider}:NAME in STEPWELL_MODEL.")
        if provider in ENDPOINT:
            return build_endpoint(rest, api_key=api_key.strip(), base_url=base_url.strip(), options=options)
        return build_provider(provider, rest, api_key=api_key.strip(), options=options, served=served)

    async def choose_model(name: str) -> BaseChatModel:
        name = name.strip() or model.strip() or PLAYBOOK
        models = built.setdefault(asyncio.get_running_loop(), {})
        if name not in models:
            # In a thread: the client's packages take a second to import, and it reads certificates from disk.
            models.setdefault(name, await asyncio.to_thread(build, name))
        return models[name]

    return choose_model


def build_endpoint(name: str, *, api_key: str, base_url: str, options: dict[str, Any]) -> BaseChatModel:
    """Build the chat model of an OpenAI-compatible endpoint. Imports packages and reads files: not for an event loop.

    Raises:
        ModelAccessError: there is no key, or the key or the address cannot be one.
    """
    if base_url and (urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname):
        raise ModelAccessError(f"OPENAI_BASE_URL is {base_url!r}: write it as http(s)://HOST[:PORT]/v1.")
    if not api_key and not base_url:
        raise ModelAccessError(
            f"There is no key for the model {name!r}: set OPENAI_API_KEY, set OPENAI_BASE_URL for a server "
            "of your own, or choose the built-in model with STEPWELL_MODEL=playbook."
        )
    if not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise ModelAccessError(
            "OPENAI_API_KEY holds a space or a character that no key has: copy the key again, without quotes."
        )
    import openai

    from models.endpoint import EndpointChat, observed_client

    seconds = options["timeout"]
    return EndpointChat(
        **{
            **options,
            "model": name,
            "base_url": base_url or None,
            "api_key": api_key or NO_KEY_NEEDED,
            # As an object, not a number: for a number LangChain hands out one HTTP client to all event loops.
            "timeout": openai.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            "stream_chunk_timeout": seconds,
            "http_async_client": observed_client(),
            # A cell runs longer between two calls than idle connections live; one that is left open outlives its event
            # loop, or turns out to be dead when it is used again.
            "default_headers": {"Connection": "close"},
            # Off by default at other addresses than OpenAI's, and then streamed replies report no tokens.
            "stream_usage": True,
            # Compatible servers speak chat completions; at OpenAI itself a few models speak nothing but responses.
            "use_responses_api": False if base_url else None,
        }
    )


def build_provider(
    provider: str, name: str, *, api_key: str, options: dict[str, Any], served: bool = False
) -> BaseChatModel:
    """Build the chat model of another provider. Imports packages and reads files: not for an event loop.

    Args:
        provider: Its name.
        name: The model's.
        api_key: The endpoint's key, which no other provider may get.
        options: For the client.
        served: Whether users of a server read what is wrong.

    Raises:
        ModelAccessError: its package is missing, or it lacks a key or a setting.
    """
    from langchain.chat_models import init_chat_model

    needs = PROVIDERS[provider]
    # Some providers' classes know neither a timeout nor retries and refuse to be told.
    plain = {key: value for key, value in options.items() if key == "temperature"}
    problem: Exception | None = None
    for given in (options, plain):
        try:
            built: BaseChatModel = init_chat_model(name, model_provider=provider, **given)
            if holds_key_of_endpoint(built, needs.key, api_key):
                problem = None  # of an earlier try
                break
            return built
        except ImportError as error:
            command = install_command(needs.package, served=served)
            raise ModelAccessError(
                f"The provider {provider!r} needs a package that is not installed: run {command}."
            ) from error
        except Exception as error:  # each provider's client has its own way of saying that a key is missing
            problem = error
    if problem is None:
        raise ModelAccessError(
            f"The provider {provider!r} needs a key of its own, since OPENAI_API_KEY is for the configured endpoint "
            f"alone: set {needs.key}."
        )
    reason = without_keys(" ".join(str(problem).split()))[:200]
    raise ModelAccessError(
        f"The model {name!r} of the provider {provider!r} cannot be set up: "
        f"check {needs.key} and the provider's other settings ({type(problem).__name__}: {reason})."
    ) from problem


def holds_key_of_endpoint(model: BaseChatModel, own: str, api_key: str) -> bool:
    """Whether a provider's client fell back to the key of the configured endpoint, which it would send elsewhere.

    Args:
        model: The client.
        own: The variable with the provider's own key.
        api_key: The endpoint's key.
    """
    keys = {api_key, os.environ.get("OPENAI_API_KEY", "").strip()} - {"", os.environ.get(own, "").strip()}
    clients = [getattr(model, name, None) for name in ("root_client", "root_async_client", "client", "async_client")]
    held = [*vars(model).values(), *(getattr(client, "api_key", None) for client in clients)]
    plain = (one.get_secret_value() if isinstance(one, SecretStr) else one for one in held)
    return any(isinstance(one, str) and one.strip() in keys for one in plain)
