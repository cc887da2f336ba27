"""Figures of matplotlib: what is called when an artist changes, which its own pickling drops for the most part.

Without it a colorbar does not follow its image any more, and a slider calls nothing. Buttons with a mark have kept what
was drawn below it.
"""

import importlib
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


def reduce_grouper(_pickler: Any, grouper: Any) -> Any:
    """Which axes are shared, of all figures, is kept in a class of matplotlib."""
    of_axes = sys.modules["matplotlib.axes._base"]._AxesBase
    if grouper is of_axes._twinned_axes:
        return find_grouper, ("",)
    name = next((name for name, one in of_axes._shared_axes.items() if one is grouper), None)
    return NotImplemented if name is None else (find_grouper, (name,))


def find_grouper(name: str) -> Any:
    """Which axes share one of that name, or are twins."""
    of_axes = importlib.import_module("matplotlib.axes._base")._AxesBase
    return of_axes._shared_axes[name] if name else of_axes._twinned_axes


def reduce_region(_pickler: Any, region: Any) -> Any:
    """What was drawn in a part of a figure, which is kept to draw over it."""
    return make_region, (bytes(memoryview(region)), region.get_extents())


def make_region(pixels: bytes, place: tuple[int, int, int, int]) -> Any:
    """That part again: taken out of a drawing that has nothing else."""
    left, top, right, bottom = place
    renderer = importlib.import_module("matplotlib.backends.backend_agg").RendererAgg(right, bottom, 72)
    row, width = right * 4, (right - left) * 4
    drawn = memoryview(renderer._renderer).cast("B")
    for line in range(bottom - top):
        start = (top + line) * row + left * 4
        drawn[start : start + width] = pixels[line * width : (line + 1) * width]
    box = importlib.import_module("matplotlib.transforms").Bbox([[left, 0], [right, bottom - top]])
    return renderer.copy_from_bbox(box)
