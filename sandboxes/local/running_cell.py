"""What the host knows of a cell that is running: what it printed and showed so far."""

import asyncio
import contextvars
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sandboxes import replies
from sandboxes.calls import Calls, FloodError
from sandboxes.output import Capture, Live
from sandboxes.results import Display, Streamed

FLOOD = 20 * replies.MAX_DISPLAYS
"""Things shown by one cell after which its session is ended."""
OnOutput = Callable[[Streamed], None]


@dataclass(slots=True)
class Stream:
    """One stream of a cell: what is kept of it, and what is passed on while it runs."""

    name: Literal["stdout", "stderr"]
    capture: Capture = field(default_factory=Capture)
    live: Live = field(default_factory=Live)


class RunningCell:
    """What is known of the cell that is running."""

    def __init__(self, on_output: OnOutput | None, answer: str = "done") -> None:
        self.answer = answer
        """The type of the frame that ends it."""
        self.id = secrets.token_hex(16)
        self.stdout = Stream("stdout")
        self.stderr = Stream("stderr")
        self.displays: list[Display] = []
        self.ended: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        """What the kernel said in the end."""
        self._shown = 0
        self.calls: Calls | None = None
        self._on_output = on_output
        self._context = contextvars.copy_context()

    def take(self, stream: Stream, data: bytes) -> None:
        """Keep what it printed, and pass it on."""
        stream.capture.add(data)
        if self._on_output is not None:
            text = stream.live.pieces(data, full=stream.capture.full)
            if text:
                self._tell(Streamed(stream.name, text=text))

    def take_sample(self, stream: Stream, data: bytes) -> None:
        """Pass on some of what it printed, which is not kept."""
        if self._on_output is not None and (text := stream.live.pieces(data, full=True)):
            self._tell(Streamed(stream.name, text=text))

    def show(self, body: bytes) -> None:
        """Keep what it showed, and pass it on.

        Raises:
            FloodError: it is far more than a kernel lets a cell show.
        """
        self._shown += 1
        if self._shown > FLOOD:
            raise FloodError(f"a cell showed more than {FLOOD} things")
        if self._shown > replies.MAX_DISPLAYS or len(body) > replies.MAX_DISPLAY_BYTES:
            return
        shown = replies.display(replies.content(body))
        if shown is not None:
            self.displays.append(shown)
            self._tell(Streamed("display", display=shown))

    def _tell(self, streamed: Streamed) -> None:
        if self._on_output is not None:
            self._context.run(self._on_output, streamed)
