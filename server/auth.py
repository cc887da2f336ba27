"""What belongs to whom on the LangGraph server: `auth` in langgraph.json.

Threads, runs, crons and assistants are marked with their owner in their metadata, and each query is filtered by that
mark; store items lie below a namespace of their owner's. What is not named here is refused.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langgraph_sdk import Auth

from graph.app import policy, settings
from graph.checkpoints.saver import Saver
from graph.context import KnobError, parse_context
from graph.settings import Settings, named
from graph.users.identity import LOCAL, OWNER, Identity, unknown_key
from graph.users.policy import Policy
from server.checkpoints import open_savers
from server.users import UnknownUserError, Users
from storage.inputs import url_is_below

BELOW = ("kwargs", "payload", "params")
"""Where LangGraph's runs and crons, and Aegra's commands, have what the request said."""
REFUSED, FORBIDDEN = 422, 403


def check_config(value: Mapping[str, Any], identity: Identity) -> None:
    """Check that no `config`, `context`, `metadata` or `checkpoint` in a request names another thread, run or user.

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
        yield identity.mismatch("metadata", said.get("metadata"))
        yield identity.mismatch("context", said.get("context"))
        yield identity.mismatch("checkpoint", said.get("checkpoint"))
        if not isinstance(config, Mapping):
            continue
        yield identity.mismatch("config.configurable", config.get("configurable"))
        yield identity.mismatch("config.metadata", config.get("metadata"))
        yield identity.mismatch("config", {"run_id": config.get("run_id")})


def check_calls_elsewhere(value: Mapping[str, Any], settings: Settings) -> None:
    """Check that a webhook leads where the operator allows it, on a server with users.

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
    """Check that crons are allowed.

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
    return any(url_is_below(url, beginning) for beginning in beginnings if urlsplit(beginning).hostname)


def _parts(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield value
    for name in BELOW:
        if isinstance(part := value.get(name), Mapping):
            yield part


PLATFORMS = frozenset(
    {
        "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "run_id", "assistant_id", "graph_id",
        "user_id", "cron_id",
    }
)  # fmt: skip
"""What LangGraph's own clients write into `configurable` beside knobs."""
RESERVED = ("__", "langgraph_")


def check(value: Mapping[str, Any], user: str, policy: Policy | None) -> None:
    """Check what a run, an assistant or a cron would be made of, as an auth handler gets it.

    Args:
        value: The handler's; LangGraph has a run's parts in `kwargs`, a cron's in `payload`, Aegra has all beside one
            another.
        user: Who sends it.
        policy: What they may ask for; None: whatever they like, as long as there is such a knob.

    Raises:
        KnobError: a knob is unknown, or of a wrong type, or more than the user may ask for.
    """
    for given in _given(value):
        if not isinstance(given, Mapping):
            raise KnobError("The context of a run has to be an object: a value for each knob.")
        _check({name: one for name, one in given.items() if not _of_platform(str(name))}, user, policy)


def _given(value: Mapping[str, Any]) -> Iterator[object]:
    if isinstance(run := value.get("kwargs"), Mapping):
        # LangGraph has put headers and more into `configurable` by now, after it made `context` of what was there.
        yield run.get("context") or {}
    for part in (value, value.get("payload")):
        if isinstance(part, Mapping):
            yield part.get("context") or {}
            config = part.get("config")
            yield (config.get("configurable") if isinstance(config, Mapping) else None) or {}


def _check(knobs: Mapping[str, Any], user: str, policy: Policy | None) -> None:
    if policy is None:
        parse_context(knobs)
    else:
        policy.of(user).knobs(knobs)


def _of_platform(name: str) -> bool:
    return name in PLATFORMS or name.startswith(RESERVED)


ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Owners:
    """For each thread that a user ever made, a hash of the owner's id."""

    saver: Callable[[], Saver | None]
    """The checkpoints, where they are ours."""
    folder: Path
    """Where it is remembered else: a small file for each thread."""

    async def take(self, thread: str, user: str) -> bool:
        """Make a thread the user's, unless it was somebody else's, or nobody's, before.

        Returns:
            Whether it is the user's now.
        """
        if not ID.fullmatch(thread):
            return False
        mark = hashlib.sha256(user.encode("utf-8", "surrogateescape")).hexdigest()
        if (saver := self.saver()) is not None:
            return await saver.claim(thread.lower(), mark)
        return await asyncio.to_thread(self._take, thread.lower(), mark.encode())

    def _take(self, thread: str, mark: bytes) -> bool:
        file = self.folder / thread[:2] / thread
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f"{thread}.{os.getpid()}.{id(mark):x}.partial")
        partial.write_bytes(mark)
        try:
            os.link(partial, file)  # of two at once, one is first, and nobody sees half a file
        except FileExistsError:
            return file.read_bytes() == mark
        finally:
            partial.unlink(missing_ok=True)
        return True


SYSTEM = {"created_by": "system"}
"""What the server itself makes: one assistant for each graph, which everybody may use and nobody may change."""
KEEP = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:@+")

NO_THREAD = "Thread or assistant not found."
"""What LangGraph says of a thread that is not there."""

auth = Auth()
users = Users.of(settings)
owners = Owners(lambda: open_savers.here, settings.home / "owners")

Filter = dict[str, Any]


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes] | dict[str, str]) -> dict[str, Any]:
    """Who sends a request to one of LangGraph's routes; Aegra hands headers over as text."""
    try:
        user = await users.sender({_bytes(name): _bytes(value) for name, value in headers.items()})
    except UnknownUserError as error:
        raise Auth.exceptions.HTTPException(status_code=401, detail=str(error)) from None
    return {"identity": user.id, "display_name": user.id.partition(":")[2] or user.id, "permissions": []}


@auth.on
async def refuse(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Refuse what no handler below allows; without users everything is allowed."""
    return _alone(ctx)


@auth.on.threads
async def threads(ctx: Auth.types.AuthContext, value: Any) -> Filter | None:
    """A thread, its runs and its checkpoints are its owner's."""
    if ctx.action in ("create", "create_run", "update"):
        check_config(value, _identity(ctx, value))
    if ctx.action == "create_run":
        check_calls_elsewhere(value, settings)
        _check_cron_run(ctx, value)
        _check_knobs(ctx, value)
    if _alone(ctx):
        return None
    thread = value.get("thread_id") if ctx.action in ("create", "create_run") else None
    # Files of a thread outlive it: nobody gets at them by making a thread of the same id.
    if thread is not None and not await owners.take(str(thread), ctx.user.identity):
        raise Auth.exceptions.HTTPException(status_code=404, detail=NO_THREAD)
    if ctx.action in ("create", "create_run", "update"):
        _mark(ctx, value)
    return _owned(ctx)


@auth.on.crons
async def crons(ctx: Auth.types.AuthContext, value: Any) -> Filter | None:
    """A cron is its owner's."""
    if ctx.action in ("create", "update"):
        check_crons(settings)
        check_config(value, _identity(ctx, value))
        check_calls_elsewhere(value, settings)
        _check_knobs(ctx, value)
    if _alone(ctx):
        return None
    if ctx.action in ("create", "update"):
        _mark(ctx, value)
    return _owned(ctx)


@auth.on.assistants
async def assistants(ctx: Auth.types.AuthContext, value: Any) -> Filter | None:
    """An assistant is its owner's; the server's own may be read by all."""
    if ctx.action in ("create", "update"):
        check_config(value, _identity(ctx))
        _check_knobs(ctx, value)
    if _alone(ctx):
        return None
    if ctx.action in ("create", "update"):
        _mark(ctx, value)
        if value["metadata"].get("created_by") == "system":
            raise Auth.exceptions.HTTPException(status_code=403, detail="Only the server makes system assistants.")
    if ctx.action in ("read", "search"):
        return {"$or": [_owned(ctx), SYSTEM]}
    return _owned(ctx)


@auth.on.store
async def store(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Store items lie below a namespace that begins with their owner."""
    if _alone(ctx):
        return
    own = label_of(ctx.user.identity)
    namespace = tuple(value.get("namespace") or ())
    if not namespace and ctx.action in ("search", "list_namespaces"):
        value["namespace"] = (own,)
    elif not namespace or namespace[0] != own:
        raise Auth.exceptions.HTTPException(status_code=403, detail=f"Your namespaces begin with {own!r}.")


def label_of(user: str) -> str:
    """The first label of a user's namespaces: their id, with `%` and hexadecimal for what a label may not have."""
    return "".join(one if one in KEEP else "".join(f"%{byte:02X}" for byte in one.encode()) for one in user)


def _check_knobs(ctx: Auth.types.AuthContext, value: Any) -> None:
    try:
        check(value, ctx.user.identity, policy)
    except KnobError as error:
        raise Auth.exceptions.HTTPException(status_code=422, detail=str(error)) from None


def _identity(ctx: Auth.types.AuthContext, value: Any = None) -> Identity:
    thread, run = ((value or {}).get(name) for name in ("thread_id", "run_id"))
    return Identity(str(thread or ""), str(run or ""), ctx.user.identity if users.auth_required else None)


def _check_cron_run(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Check that a cron may run and has an owner: `server.crons` removes those that are nobody's."""
    if not cron_of(value):
        return
    check_crons(settings)
    if users.auth_required and ctx.user.identity in ("", LOCAL):
        raise Auth.exceptions.HTTPException(status_code=403, detail="This cron was made before there were users.")


def _bytes(said: bytes | str) -> bytes:
    return said.encode("latin-1", "replace") if isinstance(said, str) else said


def _alone(ctx: Auth.types.AuthContext) -> bool:
    return not users.auth_required and ctx.user.identity == LOCAL


def _owned(ctx: Auth.types.AuthContext) -> Filter:
    return {OWNER: ctx.user.identity}


def _mark(ctx: Auth.types.AuthContext, value: Any) -> None:
    # In place where there is one: LangGraph reads the very dict that it handed over.
    if isinstance(value.get("metadata"), dict):
        value["metadata"][OWNER] = ctx.user.identity
    else:
        value["metadata"] = {OWNER: ctx.user.identity}
