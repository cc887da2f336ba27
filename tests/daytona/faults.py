"""What can go wrong on demand.

A fault waits for a kind of request and is used up: `emulator.faults.add(RateLimited(on="create", times=2))`. Kinds:

- control plane: `create get list start recover stop archive delete labels network autostop autoarchive autodelete ttl
  activity`
- toolbox: `upload download list_files info folder move permissions delete_file exec create_context list_contexts
  delete_context run work_dir home_dir version`

`*` stands for each of them. When a connection fails, the SDK itself asks again, twice and unseen, if the method is GET,
PUT or DELETE (not for `download` and `run`); `Unreached(on="get", times=3)` is what arrives.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeVar

Moment = Literal["before", "after", "start", "cell", "transfer", "name"]
What = Literal["stopped", "archived", "deleted", "forgotten", "failed", "contexts lost", "workers killed"]
"""What can happen to a sandbox. `forgotten`: it is deleted, and the proxy has heard of that."""


@dataclass(kw_only=True)
class Fault:
    """Something that goes wrong with a request."""

    moment: ClassVar[Moment] = "before"
    on: str = "*"
    """The kind of request."""
    times: int = 1
    """How many requests it meets; -1: all of them."""
    skip: int = 0
    """How many such requests pass before it meets one."""
    sandbox: str = ""
    """Only requests for the sandbox with this name or id; empty: any."""
    met: int = field(default=0, init=False)
    """How many it has met."""


@dataclass(kw_only=True)
class Answered(Fault):
    """The request is not carried out; this is the answer."""

    status: int = 500
    message: str = "Internal server error"

    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        return {}


@dataclass(kw_only=True)
class BadGateway(Answered):
    """The proxy does not reach what is behind it."""

    status: int = 502
    message: str = "bad gateway"


@dataclass(kw_only=True)
class RateLimited(Answered):
    """Too many requests. The headers carry the name of the throttler as a suffix."""

    status: int = 429
    message: str = "ThrottlerException: Too Many Requests"
    retry_after: int = 1
    """Seconds."""
    throttler: Literal["authenticated", "sandbox-create", "sandbox-lifecycle"] = "authenticated"

    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        return {
            f"Retry-After-{self.throttler}": str(self.retry_after),
            f"X-RateLimit-Limit-{self.throttler}": "300",
            f"X-RateLimit-Remaining-{self.throttler}": "0",
            f"X-RateLimit-Reset-{self.throttler}": str(self.retry_after),
        }


@dataclass(kw_only=True)
class Slow(Fault):
    """The request is carried out late."""

    seconds: float = 1.0


@dataclass(kw_only=True)
class SlowAnswer(Fault):
    """The request is carried out at once; its answer comes late. A client that gives up leaves what it asked for."""

    moment = "after"
    seconds: float = 1.0


@dataclass(kw_only=True)
class Unanswered(Fault):
    """The request is carried out; the connection ends without an answer."""

    moment = "after"


@dataclass(kw_only=True)
class Unreached(Fault):
    """The connection ends; the request is not carried out."""


@dataclass(kw_only=True)
class Happens(Fault):
    """Something happens to the sandbox just before a request for it is carried out."""

    what: What = "stopped"


@dataclass(kw_only=True)
class SlowStart(Fault):
    """Creating or starting takes longer."""

    moment = "start"
    on: str = "create"
    seconds: float = 1.0


@dataclass(kw_only=True)
class StartFails(Fault):
    """Creating or starting ends in a state of error."""

    moment = "start"
    on: str = "create"
    state: Literal["error", "build_failed"] = "error"
    reason: str = "no runner is available"
    recoverable: bool = False
    """Whether the service can be asked to recover it; starting it is refused either way."""


@dataclass(kw_only=True)
class NameTaken(Fault):
    """Another worker creates the same sandbox a moment earlier: the request is answered with 409."""

    moment = "name"
    on: str = "create"


@dataclass(kw_only=True)
class InCell(Fault):
    """Something happens while a cell runs, once so many frames of it have been sent."""

    moment = "cell"
    on: str = "run"
    after_frames: int = 0
    """0: as soon as the worker has the code."""


@dataclass(kw_only=True)
class Dropped(InCell):
    """The connection ends without a close frame; the code runs on."""


@dataclass(kw_only=True)
class Closed(InCell):
    """The server closes the WebSocket; the code runs on."""

    code: int = 1001
    reason: str = ""


@dataclass(kw_only=True)
class HappensInCell(InCell):
    """Something happens to the sandbox of the cell, or to the worker that runs it."""

    what: What = "workers killed"


@dataclass(kw_only=True)
class OutOfDisk(Fault):
    """An upload finds the disk full after so many bytes of its files. The file it was at stays cut short."""

    moment = "transfer"
    on: str = "upload"
    after_bytes: int = 0


@dataclass(kw_only=True)
class CutShort(Fault):
    """A download's connection ends after so many bytes of its files."""

    moment = "transfer"
    on: str = "download"
    after_bytes: int = 0


F = TypeVar("F", bound=Fault)


class Faults:
    """The faults that wait. Tests add; the emulator's thread takes."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def add(self, fault: F) -> F:
        """Let something go wrong; the fault itself says in `met` how often it did."""
        self._waiting.append(fault)
        return fault

    def clear(self) -> None:
        """Let nothing more go wrong."""
        self._waiting.clear()

    def take(self, moment: Moment, kind: str, *names: str) -> list[Fault]:
        """The faults that a request meets now.

        Args:
            moment: When in the life of the request it is asked.
            kind: The kind of request.
            names: What its sandbox is called.
        """
        met = []
        for fault in list(self._waiting):
            if fault.moment != moment or fault.on not in ("*", kind) or fault.times == 0:
                continue
            if fault.sandbox and fault.sandbox not in names:
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.times -= 1 if fault.times > 0 else 0
            if moment != "cell":
                fault.met += 1
            met.append(fault)
        return met
