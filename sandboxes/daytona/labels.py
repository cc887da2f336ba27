"""What a sandbox in Daytona says of itself: whose it is, and its state."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daytona import AsyncSandbox

LABEL = "stepwell"
"""The label that all of ours have; its value is the prefix of their names."""
THREAD_LABEL = "stepwell-thread"
"""The thread that it belongs to."""
KEEPING_LABEL = "stepwell-keeping"
"""Those have it whose time until deletion says what is in them; in older versions it only said what was configured."""


def state_of(sandbox: "AsyncSandbox") -> str:
    """Its state, by Daytona's name for it."""
    state = sandbox.state
    return str(getattr(state, "value", state) or "")
