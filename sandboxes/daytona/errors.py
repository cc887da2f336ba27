"""The edge: what Daytona answers becomes our errors, once, here.

| Daytona says | we |
|---|---|
| 429 | wait as long as its `Retry-After-…` header says, and ask again: it was not carried out |
| 401, 403, no key | `KeyRefusedError`, which names the key; the toolbox says that of a sandbox that is gone, too |
| 400, 403: a limit of the account is reached | `DaytonaQuotaError`: who makes a sandbox frees one, and asks again |
| 502, 503, 504, a broken connection | ask again if what was asked for may be done twice |
| 409 while a state changes | wait, and ask again |
| a sandbox that is not there, or does not run | `NotRunningError`: whoever asked looks at its state |
| 400, 422 for another reason than a state or a full disk | `SandboxRefusedError`: asking again does not help |
| everything else | `SandboxUnavailableError`, with what it said |
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError

T = TypeVar("T")

TRIES = 5
FIRST_PAUSE = 0.25
"""Seconds; doubled each time."""
MOST_PATIENCE = 120.0
"""Seconds that are waited for a rate limit or a change of state in sum."""
BROKEN = (502, 503, 504)
MAX_SAID = 300
PASSING = re.compile(
    r"\bstate\b|runner|not st(arted|opped)|no space|no room|disk full|no such file|in progress|try again", re.IGNORECASE
)
"""What a 400 says that may be otherwise a moment later."""
LIMIT = re.compile(r"(limit|quota) (exceeded|reached)|exceed\w* (the )?.{0,40}(limit|quota)", re.IGNORECASE)

REFUSED = (
    "Daytona does not accept the key ({said}). Set DAYTONA_API_KEY to a key of https://app.daytona.io/dashboard/keys "
    "that may make and delete sandboxes."
)
NO_KEY = (
    "Sandboxes in Daytona need a key: set DAYTONA_API_KEY (https://app.daytona.io/dashboard/keys), or choose another "
    "kind of sandbox."
)


class NotRunningError(SandboxUnavailableError):
    """The sandbox does not run, or there is none; nothing was done."""


class KeyRefusedError(SandboxRefusedError):
    """The key does not allow what was asked; from the toolbox it may mean that the sandbox is gone."""


class DaytonaQuotaError(SandboxRefusedError):
    """A limit of the account is reached."""

    @property
    def of_disk(self) -> bool:
        """Whether it is the disk: that is held by sandboxes that are stopped, too."""
        return re.search(r"\b(disk|storage)\b", str(self), re.IGNORECASE) is not None


class ConflictError(SandboxUnavailableError):
    """There is one of that name already, or its state is changing."""


async def asked(doing: str, call: Callable[[], Awaitable[T]], *, again: bool) -> T:
    """Ask Daytona.

    Args:
        doing: What for, as in "could not …".
        call: Makes the request anew each time.
        again: Whether it may be made twice when nobody knows whether it was carried out.

    Raises:
        ConflictError: what was asked for is there already.
        NotRunningError: the sandbox does not run, or there is none.
        SandboxRefusedError: the key is not good.
        SandboxUnavailableError: it cannot be done now.
    """
    pause, began, tries = FIRST_PAUSE, time.monotonic(), 0
    while True:
        try:
            return await call()
        except Exception as error:  # the client has several families of exceptions, with no common base
            if not _theirs(error):
                raise
            tries += 1
            waits = _pause(error, pause, again=again)
            patient = time.monotonic() - began + (waits or 0.0) < MOST_PATIENCE
            limited = _status(error) in (429, 409)
            if waits is None or not patient or (tries >= TRIES and not limited):
                raise translated(doing, error) from error
            await asyncio.sleep(waits)
            pause = min(2 * pause, 8.0)


def _pause(error: Exception, pause: float, *, again: bool) -> float | None:
    """How long to wait before asking again; None: asking again does not help."""
    status = _status(error)
    if status == 429:
        return retry_after(getattr(error, "headers", None) or {}, pause)
    if status == 409:
        return pause if "state change" in str(error).lower() else None
    if status in BROKEN or (status is None and _connection_broke(error)):
        return pause if again else None
    return None


def retry_after(headers: Mapping[str, Any], default: float) -> float:
    """Seconds that an answer asks to wait: `Retry-After-<throttler>`, the longest of them."""
    found = [default]
    for name, value in headers.items():
        if str(name).lower().startswith("retry-after"):
            try:
                found.append(float(value))
            except (TypeError, ValueError):
                continue
    return min(max(found), MOST_PATIENCE)


def translated(doing: str, error: Exception) -> Exception:
    """What Daytona said, as one of our errors."""
    status, said = _status(error), _said(error)
    lowered = said.lower()
    if status in (400, 403) and LIMIT.search(said):
        return DaytonaQuotaError(f"Daytona could not {doing}: {said.rstrip('.')}.")
    if status in (401, 403) or "credentials not found" in lowered:
        return KeyRefusedError(REFUSED.format(said=said.rstrip(".")))
    if status == 404 or (status == 400 and ("is the sandbox started" in lowered or "not started" in lowered)):
        return NotRunningError(f"Daytona could not {doing}: {said}")
    if status == 409:
        return ConflictError(f"Daytona could not {doing}: {said}")
    if status == 429:
        said = f"too many requests for its rate limit ({said})"
    if status == 422 or (status == 400 and not PASSING.search(said)):
        return SandboxRefusedError(f"Daytona could not {doing}: {said.rstrip('.')}.")
    return SandboxUnavailableError(f"Daytona could not {doing}: {said.rstrip('.')}.")


def broken(error: BaseException) -> bool:
    """Whether the connection broke, or what is behind the proxy does not answer: the sandbox itself may be well."""
    return isinstance(error, Exception) and (_connection_broke(error) or _status(error) in BROKEN)


def _theirs(error: Exception) -> bool:
    """Whether it comes from Daytona's client or from what it is built on, and is no mistake of ours."""
    module = type(error).__module__.partition(".")[0]
    return module.startswith("daytona") or module in ("aiohttp", "httpx") or isinstance(error, (OSError, TimeoutError))


def _connection_broke(error: Exception) -> bool:
    name = type(error).__name__
    return name in ("DaytonaConnectionError", "DaytonaConnectionTimeoutError") or isinstance(
        error, (ConnectionError, TimeoutError)
    )


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None) or getattr(error, "status", None)
    if status is None:
        # Some requests of the client lose the status; it is on the error underneath.
        cause = error.__cause__
        status = getattr(cause, "status_code", None) or getattr(cause, "status", None) if cause is not None else None
    return status if isinstance(status, int) else None


def _said(error: Exception) -> str:
    """What it says, in words: an answer that the client passes on as it came is JSON with a message in it."""
    said = re.sub(r", url='[^']*'", "", " ".join(str(error).split()))
    if (start := said.find("{")) >= 0:
        with suppress(ValueError, AttributeError):
            answer, end = json.JSONDecoder().raw_decode(said, start)
            wrongs = answer.get("errors")
            message = answer.get("message") or (wrongs[0] if isinstance(wrongs, list) and wrongs else "")
            said = f"{said[:start]}{message}{said[end:]}"
    return (said.strip() or type(error).__name__)[:MAX_SAID]
