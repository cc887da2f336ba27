"""What people are told of a model's reply before it is whole: what it has written so far; that it is asked again."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.utils.json import parse_partial_json

SHOWN_ARGUMENTS = ("code", "answer")
"""The arguments of tool calls that people can read while they are written."""
EVERY = 40
"""Characters of a call's arguments after which they are read anew: reading them at each token would take longer."""
LONGEST = 20_000
"""Characters of a call's arguments beyond which nothing more of it is told."""


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of a reply, in the order in which it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """The model is asked once more."""

    request: int
    """Which request this is, from 2."""
    reason: str


Tell = Callable[[Written | AskedAgain], None]


@dataclass(slots=True)
class Draft:
    """A reply that is being written.

    Args:
        tell: Gets what people can read of it, piece by piece.
    """

    tell: Tell
    _arguments: dict[int, str] = field(default_factory=dict)
    _read: dict[int, int] = field(default_factory=dict)
    _told: dict[tuple[int, str], str] = field(default_factory=dict)

    def take(self, chunk: AIMessage) -> None:
        """Tell what is new with a chunk; a whole message is told by what becomes of it."""
        if not isinstance(chunk, AIMessageChunk):
            return
        if text := str(chunk.text):
            self.tell(Written(text))
        for part in chunk.tool_call_chunks:
            index, written = part.get("index"), part.get("args")
            if isinstance(index, int) and written:
                self._arguments[index] = self._arguments.get(index, "") + written
                if len(self._arguments[index]) - self._read.get(index, 0) >= EVERY:
                    self._look_at(index)

    def end(self) -> None:
        """Tell what is left."""
        for index in self._arguments:
            self._look_at(index)

    def _look_at(self, index: int) -> None:
        arguments = self._arguments[index]
        self._read[index] = len(arguments)
        if len(arguments) > LONGEST:
            return
        try:
            read: Any = parse_partial_json(arguments)
        except ValueError:
            return  # what comes next may mend it
        for name in SHOWN_ARGUMENTS if isinstance(read, dict) else ():
            value = read.get(name)
            before = self._told.get((index, name), "")
            # An escape sequence of which half is there may be read as something else at first.
            if isinstance(value, str) and value.startswith(before) and value != before:
                self._told[index, name] = value
                self.tell(Written(value[len(before) :] if before else f"\n{value}"))


@dataclass(slots=True)
class Attempts:
    """The requests that a client makes for one question to a model: it repeats by itself those that fail."""

    tell: Tell
    status: int = 0
    """Of the last response; 0 when there was none."""

    def begins(self, repeated: int) -> None:
        """A request goes out that is so many-th repetition of one."""
        if repeated:
            reason = f"HTTP {self.status}" if self.status else "no answer in time, or no connection"
            self.tell(AskedAgain(repeated + 1, reason))
        self.status = 0


attempts: ContextVar[Attempts | None] = ContextVar("attempts", default=None)
"""Those of the question that is being asked, for the hooks of the HTTP client."""
