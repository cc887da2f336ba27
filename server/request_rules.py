"""What a request for a run, a cron or an assistant may hold, on LangGraph's servers and on Aegra alike.

The graph looks at each run again (`graph.users.identity`); here a request learns at once what is wrong with it.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from langgraph_sdk import Auth

from graph.settings import Settings, named
from graph.users.identity import Identity, unknown_key
from storage.inputs import begins_with

BELOW = ("kwargs", "payload", "params")
"""Where LangGraph's runs and crons, and Aegra's commands, have what the request said."""
REFUSED, FORBIDDEN = 422, 403


def check_config(value: Mapping[str, Any], identity: Identity) -> None:
    """See that no `config`, `context`, `metadata` or `checkpoint` in a request names another thread, run or user.

    Args:
        value: What an authorization handler is given.
        identity: Whose request it is, and which thread and run it is for.

    Raises:
        Auth.exceptions.HTTPException: something does, or `config` has a key that LangGraph does not know.
    """
    for problem in _problems(value, identity):
        if problem:
            raise Auth.exceptions.HTTPException(status_code=REFUSED, detail=problem)


def _problems(value: Mapping[str, Any], identity: Identity) -> Iterator[str]:
    for said in _parts(value):
        config = said.get("config")
        yield unknown_key(config)
        yield identity.named_otherwise("metadata", said.get("metadata"))
        yield identity.named_otherwise("context", said.get("context"))
        yield identity.named_otherwise("checkpoint", said.get("checkpoint"))
        if not isinstance(config, Mapping):
            continue
        yield identity.named_otherwise("config.configurable", config.get("configurable"))
        yield identity.named_otherwise("config.metadata", config.get("metadata"))
        yield identity.named_otherwise("config", {"run_id": config.get("run_id")})


def check_calls_elsewhere(value: Mapping[str, Any], settings: Settings) -> None:
    """See that a webhook leads to where the operator lets it, on a server with users.

    Raises:
        Auth.exceptions.HTTPException: it does not.
    """
    if not settings.has_users:
        return
    for said in _parts(value):
        if said.get("webhook") and not may_be_called(str(said["webhook"]), named(settings.webhooks)):
            sentence = "Webhooks may not go there; the server's operator says with STEPWELL_WEBHOOKS where they may."
            raise Auth.exceptions.HTTPException(status_code=FORBIDDEN, detail=sentence)


def check_crons(settings: Settings) -> None:
    """See that crons are allowed.

    Raises:
        Auth.exceptions.HTTPException: they are not.
    """
    if settings.has_users and not settings.crons:
        sentence = "Crons are off on this server; its operator can allow them with STEPWELL_CRONS=true."
        raise Auth.exceptions.HTTPException(status_code=FORBIDDEN, detail=sentence)


def cron_of(value: Mapping[str, Any]) -> str:
    """The cron that a run comes from; empty when a request begins it."""
    for said in _parts(value):
        config = said.get("config")
        configurable = config.get("configurable") if isinstance(config, Mapping) else None
        if isinstance(configurable, Mapping) and configurable.get("cron_id"):
            return str(configurable["cron_id"])
    return ""


def may_be_called(url: str, beginnings: tuple[str, ...]) -> bool:
    """Whether a webhook lies below one of these URLs. They name hosts, so a host of one's own network is named, too."""
    return any(begins_with(url, beginning) for beginning in beginnings if urlsplit(beginning).hostname)


def _parts(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield value
    for name in BELOW:
        if isinstance(part := value.get(name), Mapping):
            yield part
