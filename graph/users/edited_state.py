"""What an edit of State may name: snapshots and inputs that the thread has already, and none of another user's.

Snapshots and inputs are named in State by hashes of their contents, and the store gives out what State names. A run
puts into State what its own sandbox has handed over. Who edits State over a server's routes could put in any hash, so
an edit is held against the state that it changes.
"""

from collections.abc import Mapping, Set
from typing import Any

from langgraph.types import Command, Send, StateUpdate

from storage.blobs import NAME

SNAPSHOT, CONTENT, SANDBOX = "snapshot", "sha256", "sandbox"
KEYS = (SNAPSHOT, CONTENT)
"""Under which State names contents: those of cells and of the sandbox, and those of inputs and published files."""
PLACES = (("cells", SNAPSHOT), ("sandbox", SNAPSHOT), ("inputs", CONTENT), ("artifacts", CONTENT))
"""Where nodes write such names. Other parts of State hold whatever a request began its run with."""
Named = tuple[str, str]
"""What something is, and its name: a file is not to be taken for a snapshot, since users write files as they like."""


class EditError(ValueError):
    """An edit of State is refused; the message says why."""


def named_in(values: object) -> set[Named]:
    """The contents and sandboxes that an edit names, however deep in it."""
    found: set[Named] = set()
    ahead: list[Any] = [values]
    while ahead:
        match ahead.pop():
            case Mapping() as mapping:
                found |= _named_by(mapping)
                ahead += mapping.values()
            case Command(update=update, goto=goto, resume=resume):
                ahead += [update, goto, resume]
            case Send(arg=arg):
                ahead.append(arg)
            case StateUpdate(values=given):
                ahead.append(given)
            case list() | tuple() | set() | frozenset() as several:
                ahead += several
            case _:
                pass
    return found


def _named_by(mapping: Mapping[Any, Any]) -> set[Named]:
    found = {(key, one) for key in KEYS if isinstance(one := mapping.get(key), str) and NAME.fullmatch(one)}
    if "kind" in mapping and isinstance(id := mapping.get("id"), str):  # a `SandboxRef`, wherever it stands
        found.add((SANDBOX, id))
    return found


def known_in(state: Mapping[str, Any]) -> set[Named]:
    """The contents and the sandbox that the nodes of a thread have put into its state."""
    found: set[Named] = set()
    for place, key in PLACES:
        said = state.get(place) or []
        several = [said] if isinstance(said, Mapping) else said
        found |= {(key, one[key]) for one in several if isinstance(one, Mapping) and isinstance(one.get(key), str)}
    if isinstance(sandbox := state.get("sandbox"), Mapping):  # no more than an edit would have had to be known for
        found |= {one for one in _named_by(sandbox) if one[0] == SANDBOX}
    return found


def check_edit(named: Set[Named], *states: Mapping[str, Any]) -> None:
    """Check that an edit names only what is known.

    Args:
        named: What it names.
        states: Those of the thread that may be named from.

    Raises:
        EditError: it names something else.
    """
    if named - set[Named]().union(*map(known_in, states)):
        raise EditError(
            "This edit of State names a snapshot, an input or a sandbox that the thread does not have; "
            "name those that are in its state, or leave `snapshot`, `sha256` and `sandbox` as they are."
        )
