"""Whose run this is and which thread it works on: what the server says, never what a request carries.

A server puts the thread, the run and the user into `configurable` after it has looked at a request, over whatever the
request had there. LangGraph then copies every key of `config` that it does not know over `configurable`. So a run is
looked at before that happens: it is refused when `config` has such a key, or when any other place names somebody else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

KNOWN = frozenset(
    {"tags", "metadata", "callbacks", "run_name", "max_concurrency", "recursion_limit", "configurable", "run_id"}
)
"""What LangGraph's `RunnableConfig` has."""
OF_SERVERS = frozenset({"interrupt_before", "interrupt_after"})
"""What Aegra adds; it names nodes."""
LOCAL = "local"
"""The id of everybody on a server without users."""
OWNER = "stepwell_owner"
"""The key in metadata that says whose something is."""
USER = "langgraph_auth_user"
USER_ID = "langgraph_auth_user_id"


class IdentityError(ValueError):
    """A run names another thread, run or user than the server; the message says where, and what to do."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the server knows of a run."""

    thread: str | None = None
    """None where the server does not say; then it may be named by anything, as in all of these."""
    run: str | None = None
    user: str | None = None

    def mismatch(self, place: str, said: object) -> str:
        """Why something cannot be taken, in one sentence; empty when it names nothing else than this.

        Args:
            place: Where it stands in the request.
            said: A mapping with anything in it.
        """
        if not isinstance(said, Mapping):
            return ""
        for name, own in (("thread_id", self.thread), ("run_id", self.run), (USER_ID, self.user), (OWNER, self.user)):
            if own is not None and said.get(name) is not None and str(said[name]) != own:
                return f"`{place}` names another `{name}` than the run has; leave it out."
        return ""


def unknown_key(config: object) -> str:
    """Why a `config` cannot be taken, in one sentence; empty when it has no key that LangGraph does not know."""
    if not isinstance(config, Mapping):
        return ""
    unknown = sorted(str(key)[:100] for key in config if key not in KNOWN)
    if not unknown:
        return ""
    return f"`config` has no key {unknown[0]!r}; it may have {', '.join(sorted(KNOWN))}."


def identity_in(config: RunnableConfig | None, context: object = None, *, users: bool = False) -> Identity:
    """Who and what a run is for, from the config that the server starts it with, before LangGraph changes that.

    Args:
        config: As the server handed it over.
        context: The run's context, where that is not yet of our type.
        users: Whether the server has users, so that each run must be somebody's.

    Raises:
        IdentityError: it has keys that LangGraph would copy over the server's, names somebody else, or, where there
            are users, nobody.
    """
    said: Mapping[str, Any] = config or {}
    if problem := unknown_key({key: value for key, value in said.items() if key not in OF_SERVERS}):
        raise IdentityError(problem)
    found = said.get("configurable") or {}
    thread, run = (str(found[name]) if found.get(name) else None for name in ("thread_id", "run_id"))
    identity = Identity(thread, run, _name_of(found.get(USER)) if users else None)
    for problem in _problems(identity, said, context, users=users):
        if problem:
            raise IdentityError(problem)
    return identity


def _problems(identity: Identity, said: Mapping[str, Any], context: object, *, users: bool) -> Iterator[str]:
    found = said.get("configurable") or {}
    if users and identity.user in ("", LOCAL):
        yield "Nobody is named whose run this is; it was made before this server had users, so make it anew."
    if users and found.get("user_id") not in (None, "", identity.user):
        yield "`config.configurable` names another `user_id` than the run has; leave it out."
    yield identity.mismatch("config.configurable", found)
    yield identity.mismatch("metadata", said.get("metadata"))
    yield identity.mismatch("context", context)
    if identity.run and said.get("run_id") is not None and str(said["run_id"]) != identity.run:
        yield "`config` names another `run_id` than the run has; leave it out."


def without_unknown_keys(config: RunnableConfig | None) -> RunnableConfig:
    """A config without keys that LangGraph would copy over what the server says."""
    return cast("RunnableConfig", {key: value for key, value in (config or {}).items() if key in KNOWN})


def thread_of(runtime: Runtime[Any]) -> str:
    """The thread's id; a run without a thread (a stateless one) has its run's id instead.

    Raises:
        ValueError: the graph was called without either.
    """
    info = runtime.execution_info
    name = (info.thread_id or info.run_id) if info is not None else None
    if not name:
        raise ValueError('A run needs a thread: pass config={"configurable": {"thread_id": …}}.')
    return name


def user_of(runtime: Runtime[Any]) -> str:
    """Who started the run, as the server that runs it has found out; empty where nobody asks."""
    return _name_of(runtime.server_info.user) if runtime.server_info is not None else ""


def _name_of(user: object) -> str:
    """The id of a user that the server has authenticated: an object of its own, which no request can hold."""
    name = getattr(user, "identity", None)
    return name if isinstance(name, str) else ""
