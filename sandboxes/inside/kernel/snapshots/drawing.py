"""Figures of matplotlib: what is called when an artist changes, which its own pickling drops for the most part.

Without it a colorbar does not follow its image any more, and a slider calls nothing.
"""

import itertools
import sys
from typing import Any

OF_WINDOWS = (
    ("matplotlib.backend_bases", "FigureManagerBase"),
    ("matplotlib.backend_bases", "NavigationToolbar2"),
    ("matplotlib.backend_bases", "FigureCanvasBase"),
)
"""What a figure gets anew when it is restored, with its callbacks."""
WINDOW_MODULES = ("matplotlib.backend_bases", "matplotlib.pyplot", "matplotlib.backends")


def reduce_callbacks(pickler: Any, registry: Any) -> Any:
    """Matplotlib's callbacks with all that they call. Its own pickling counts up, too: each pickle would differ."""
    state = registry.__getstate__()
    registry._cid_gen = itertools.count(state["_cid_gen"])
    called = {
        signal: {cid: function for cid, one in known.items() if _is_kept(function := one())}
        for signal, known in registry.callbacks.items()
    }
    state["callbacks"] = {signal: known for signal, known in called.items() if known}
    return make_callbacks, (type(registry),), state, None, None, set_callbacks


def _is_kept(function: Any) -> bool:
    """Whether a callback is the user's, an artist's or a widget's; those of windows are made anew."""
    if function is None:
        return False
    owner = getattr(function, "__self__", None)
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in OF_WINDOWS]
    if isinstance(owner, tuple(kind for kind in kinds if isinstance(kind, type))):
        return False
    module = str(getattr(function, "__module__", ""))
    return not (owner is None and module.startswith(WINDOW_MODULES))


def make_callbacks(kind: Any) -> Any:
    """Empty callbacks."""
    return kind.__new__(kind)


def set_callbacks(registry: Any, state: Any) -> None:
    """Fill them; loading changes the state that it is given."""
    registry.__setstate__(dict(state))
