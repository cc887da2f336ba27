"""What the host knows of a cell that is running, in any sandbox: what it has printed, shown and called so far."""

import asyncio
import codecs
import contextvars
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sandboxes.functions import Functions
from sandboxes.host import replies
from sandboxes.host.calls import Calls, FloodError
from sandboxes.host.limits import MEGABYTE
from sandboxes.inside.bridge.supervision import BoundedOutput, Sampler
from sandboxes.inside.kernel import frames
from sandboxes.results import CapturedText, CellError, CellResult, Display, Streamed

FLOOD = 20 * replies.MAX_DISPLAYS
"""Things shown by one cell after which its session is ended."""
MAX_FRAMES = 10_000
"""Frames of one cell, of any kind, and …"""
MAX_BYTES = 1_000 * MEGABYTE
"""… their bytes, after which its session is ended: an honest one shows and calls far less."""
OnOutput = Callable[[Streamed], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRequest:
    """A cell that a session is to run; see `Sandbox.run`."""

    code: str
    number: int
    timeout: float
    grace: float
    """Seconds that an interrupted cell has to end by itself."""
    head: str
    on_output: OnOutput | None
    functions: Functions | None
    values: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRequest:
    """A request to a session's kernel that is not a cell, such as a snapshot."""

    kind: str
    content: Mapping[str, Any]
    answer: str
    """The kind of the frame that ends it."""
    timeout: float
    grace: float
    body: Mapping[str, Any] | None

    @property
    def packed_body(self) -> bytes:
        """What goes with it, as it is sent."""
        return b"" if self.body is None else json.dumps(self.body).encode()


class Capture(BoundedOutput):
    """What is kept of a stream whose bytes are taken as they come."""

    def leave_out(self, count: int) -> None:
        """Count bytes that the bridge left out between head and tail."""
        self._after += max(0, count)

    def text(self) -> CapturedText:
        """All of it as text; a character that was cut in two is counted among what is left out."""
        tail, dropped = self.tail, self.dropped
        if not dropped:
            whole = bytes(self.head) + tail
            return CapturedText(head=whole.decode("utf-8", "replace"))
        cut = _cut_short(self.head)
        head = self.head[: len(self.head) - cut]
        start = 0
        while start < len(tail) and tail[start] & 0xC0 == 0x80 and len(tail) - start > self._kept - 4:
            start += 1
        return CapturedText(
            head=head.decode("utf-8", "replace"),
            tail=tail[start:].decode("utf-8", "replace"),
            dropped=dropped + cut + start,
        )


class Live:
    """Turns the bytes of a stream into pieces of text for a listener: all of the head, then samples."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sampler = Sampler()
        self._sampling = False

    def pieces(self, data: bytes, *, full: bool) -> str:
        """The text to pass on now; empty when there is none.

        Args:
            data: The bytes that came.
            full: Whether the stream's head is complete.
        """
        if not full:
            return self._decoder.decode(data)
        self._sampler.add(data)
        sample = self._sampler.take().decode("utf-8", "ignore")
        if self._sampling:
            return sample
        self._sampling = True
        return "\n… much output: from here on only now and then …\n" + sample


def _cut_short(data: bytearray) -> int:
    """How many bytes at the end belong to a character that is not complete."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if needs > back else 0
    return 0


@dataclass(slots=True)
class CellStream:
    """One stream of a cell: what is kept of it, and what is passed on while it runs."""

    name: Literal["stdout", "stderr"]
    capture: Capture = field(default_factory=Capture)
    live: Live = field(default_factory=Live)


class FunctionOffer:
    """The functions that a kernel was last told of."""

    def __init__(self) -> None:
        self._told = b"[]"

    def frame(self, functions: Functions | None) -> bytes:
        """The frame that tells the kernel which functions there are; empty when it knows."""
        offered = json.dumps(
            [function.as_json() for function in functions.descriptions] if functions is not None else []
        ).encode()
        if offered == self._told:
            return b""
        self._told = offered
        return frames.pack({"type": "functions"}, offered)

    def forget(self) -> None:
        """Tell the next kernel again."""
        self._told = b""


class RunningCell:
    """A cell that runs, or another request to a kernel, and what has come of it so far."""

    def __init__(self, on_output: OnOutput | None, answer: str = "done") -> None:
        self.answer = answer
        """The type of the frame that ends it."""
        self.id = secrets.token_hex(16)
        self.stdout = CellStream("stdout")
        self.stderr = CellStream("stderr")
        self.displays: list[Display] = []
        self.ended: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """What the kernel said in the end, unread; see `read_answer`."""
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the kernel says that it has begun with what it was asked."""
        self._began = time.monotonic()
        self._shown = 0
        self._frames = 0
        self._bytes = 0
        self.calls: Calls | None = None
        self._on_output = on_output
        self._context = contextvars.copy_context()

    def order(self, request: CellRequest) -> bytes | CellResult:
        """The frame that makes the kernel run it; a result instead when it is too large."""
        code = request.code.encode("utf-8", "replace")
        header = {"type": "run", "id": self.id, "number": request.number, "head": request.head, "code": len(code)}
        try:
            return frames.pack(header, code + (json.dumps(request.values).encode() if request.values else b""))
        except frames.ProtocolError:
            limit = f"a cell may have {frames.MAX_BODY:,} bytes of code; write the data to a file instead"
            return CellResult(status="error", error=CellError("ValueError", limit, f"ValueError: {limit}"))

    def hear(self, header: dict[str, Any], body: bytes) -> None:
        """Process a frame of the kernel; frames of an earlier cell are dropped.

        Raises:
            FloodError: there are too many.
        """
        kind = header.get("type")
        self._frames += 1
        self._bytes += len(body)
        if self._frames > MAX_FRAMES or self._bytes > MAX_BYTES:
            raise FloodError(f"it sent more than the {MAX_FRAMES:,} messages or {MAX_BYTES:,} bytes that a cell may")
        if header.get("id") != self.id:
            return
        if kind == "display":
            self.show(header, body)
        elif kind == "call" and self.calls is not None:
            self.calls.take(header, body)
        elif kind == "uncall" and self.calls is not None:
            self.calls.drop(header.get("call"))
        elif kind == "begun" and not self.begun.done():
            self.begun.set_result(None)
        elif kind == self.answer and not self.ended.done():
            self.ended.set_result(body)

    async def read_answer(self) -> dict[str, Any]:
        """The content of the frame that ended it; a large one is parsed in another process."""
        return await replies.read(self.ended.result())

    async def result(self, *, late: bool, timeout: float) -> CellResult:
        """The result by the kernel's answer, without output.

        Args:
            late: Whether it was interrupted at its time limit.
            timeout: That limit, in seconds.
        """
        answer = await self.read_answer()
        failed = answer.get("status") != "ok"
        return CellResult(
            status="timeout" if late else "error" if failed else "ok",
            error=replies.error(answer) if failed else None,
            namespace=replies.namespace(answer),
            files=replies.files(answer),
            note=f"interrupted at its time limit of {timeout:g} s; variables are kept" if late else "",
            reached=replies.reached(answer),
            values=() if failed or late else replies.values(answer),
        )

    def with_output(self, result: CellResult) -> CellResult:
        """The result with all that it printed and showed, and how long it took."""
        return replace(
            result,
            stdout=self.stdout.capture.text(),
            stderr=self.stderr.capture.text(),
            displays=tuple(self.displays),
            seconds=time.monotonic() - self._began,
        )

    def take(self, stream: CellStream, data: bytes) -> None:
        """Keep what it printed, and pass it on."""
        stream.capture.add(data)
        if self._on_output is not None:
            text = stream.live.pieces(data, full=stream.capture.full)
            if text:
                self._tell(Streamed(stream.name, text=text))

    def take_sample(self, stream: CellStream, data: bytes) -> None:
        """Pass on some of what it printed, which is not kept."""
        if self._on_output is not None and (text := stream.live.pieces(data, full=True)):
            self._tell(Streamed(stream.name, text=text))

    def show(self, header: dict[str, Any], body: bytes) -> None:
        """Keep what it showed, and pass it on.

        Raises:
            FloodError: it is far more than a kernel lets a cell show.
        """
        self._shown += 1
        if self._shown > FLOOD:
            raise FloodError(f"a cell showed more than {FLOOD} things")
        if self._shown > replies.MAX_DISPLAYS or len(body) > replies.MAX_DISPLAY_BYTES:
            return
        shown = replies.display(header, body)
        if shown is not None:
            self.displays.append(shown)
            self._tell(Streamed("display", display=shown))

    def _tell(self, streamed: Streamed) -> None:
        if self._on_output is not None:
            self._context.run(self._on_output, streamed)
