"""What belongs to whom on the LangGraph server: `auth` in langgraph.json.

Threads, runs, crons and assistants are marked with their owner in their metadata, and each query is filtered by that
mark; store items lie below a namespace of their owner's. What is not named here is refused.
"""

from typing import Any

from langgraph_sdk import Auth

from graph.app import policy, settings
from graph.context import KnobError
from graph.users.identity import LOCAL, OWNER, Identity
from server.checkpoints import opened
from server.given_knobs import check
from server.owners import Owners
from server.request_rules import check_calls_elsewhere, check_config, check_crons, cron_of
from server.users import UnknownUserError, Users

SYSTEM = {"created_by": "system"}
"""What the server itself makes: one assistant for each graph, which everybody may use and nobody may change."""
KEEP = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:@+")

NO_THREAD = "Thread or assistant not found."
"""What LangGraph says of a thread that is not there."""

auth = Auth()
users = Users.of(settings)
owners = Owners(lambda: opened.here, settings.home / "owners")

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
    """What is not allowed below is not allowed; without users everything is."""
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
    """The first label of a user's namespaces: his id, with `%` and hexadecimal for what a label may not have."""
    return "".join(one if one in KEEP else "".join(f"%{byte:02X}" for byte in one.encode()) for one in user)


def _check_knobs(ctx: Auth.types.AuthContext, value: Any) -> None:
    try:
        check(value, ctx.user.identity, policy)
    except KnobError as error:
        raise Auth.exceptions.HTTPException(status_code=422, detail=str(error)) from None


def _identity(ctx: Auth.types.AuthContext, value: Any = None) -> Identity:
    thread, run = ((value or {}).get(name) for name in ("thread_id", "run_id"))
    return Identity(str(thread or ""), str(run or ""), ctx.user.identity if users.asked_for else None)


def _check_cron_run(ctx: Auth.types.AuthContext, value: Any) -> None:
    """See that a cron may run, and that it is somebody's: `server.crons` removes those that are nobody's."""
    if not cron_of(value):
        return
    check_crons(settings)
    if users.asked_for and ctx.user.identity in ("", LOCAL):
        raise Auth.exceptions.HTTPException(status_code=403, detail="This cron was made before there were users.")


def _bytes(said: bytes | str) -> bytes:
    return said.encode("latin-1", "replace") if isinstance(said, str) else said


def _alone(ctx: Auth.types.AuthContext) -> bool:
    return not users.asked_for and ctx.user.identity == LOCAL


def _owned(ctx: Auth.types.AuthContext) -> Filter:
    return {OWNER: ctx.user.identity}


def _mark(ctx: Auth.types.AuthContext, value: Any) -> None:
    # In place where there is one: LangGraph reads the very dict that it handed over.
    if isinstance(value.get("metadata"), dict):
        value["metadata"][OWNER] = ctx.user.identity
    else:
        value["metadata"] = {OWNER: ctx.user.identity}
