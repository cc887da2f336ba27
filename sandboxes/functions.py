"""Functions that the host offers to cells: their descriptions, and the calls that come from a sandbox.

A sandbox passes on names and bytes. What is in the bytes (`sandboxes.inside.kernel.values`) is not read on the way.
"""

import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from sandboxes.inside.kernel import values

Kind = Literal["POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, as `inspect` has it."""

    name: str
    kind: Kind = "POSITIONAL_OR_KEYWORD"
    annotation: str = ""
    optional: bool = False
    default: Any = ...
    """A JSON value; `...` when it is none, or when there is no default."""

    def as_json(self) -> dict[str, Any]:
        """As JSON for the sandbox."""
        said = asdict(self)
        if self.default is ...:
            del said["default"]
        return said


@dataclass(frozen=True, slots=True)
class Description:
    """A function as the code of a cell sees it."""

    name: str
    doc: str = ""
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    needs_approval: bool = False
    """Whether each call waits for somebody's approval; a sandbox is not told."""

    def as_json(self) -> dict[str, Any]:
        """As JSON for the sandbox."""
        parameters = [parameter.as_json() for parameter in self.parameters]
        return {"name": self.name, "doc": self.doc, "parameters": parameters, "returns": self.returns}

    def signature(self) -> inspect.Signature:
        """Its signature; annotations are texts."""
        return values.signature(self.as_json())


@dataclass(frozen=True, slots=True)
class Call:
    """A call that came out of a sandbox. Nothing of it is trusted."""

    name: str
    arguments: bytes
    """Packed: `args` and `kwargs`."""
    place: str = field(default="", compare=False)
    """Where in the code it was made, as the sandbox says."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The value that a function returned."""

    value: bytes
    """Packed: `value`."""


@dataclass(frozen=True, slots=True)
class Raised:
    """Why there is no value: it failed, or was not called."""

    message: str
    """For the code of the cell, in a sentence."""
    kind: str = ""
    """The type of the exception, by name; empty when it was not called."""


class Functions(Protocol):
    """What is offered to one cell."""

    @property
    def descriptions(self) -> Sequence[Description]:
        """What can be called."""

    async def call(self, call: Call) -> Returned | Raised:
        """Call one. Several may run at a time; the task is cancelled when the cell stops waiting."""


@runtime_checkable
class StepSource(Protocol):
    """Functions of a cell that can also read earlier steps."""

    async def read_step(self, request: bytes) -> Returned | Raised:
        """Lay out blobs of an earlier step for the cell to read; the request is as the sandbox has sent it."""
