"""Figures without savefig: every open pyplot figure becomes a PNG when it is shown, or at the end of its cell.

matplotlib's own Agg backend draws them. What all backends share is changed instead of adding one of ours, because
code says `matplotlib.use("Agg")` so often: `print_figure` notes which figures the cell saved itself, and `show` is
what it is in a notebook: the open figures appear and are closed, so the next plot starts on a new one.
"""

import os
import sys
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from . import fonts
from .brief import cut, type_name
from .displays import Displays
from .imports import AfterImport, Then

MAX_PIXELS = 4_000
"""Pixels of the longer side of a saved figure; a larger one is saved with fewer dots per inch."""


class Screen:
    """Where figures go: PNG files in the workspace, told by display frames.

    Args:
        root: The workspace.
        displays: Sends the frames.
        is_here: Whether this process is the session, not a child that a cell forked: there nothing is shown.
    """

    def __init__(self, root: str, displays: Displays, is_here: Callable[[], bool]) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        self._displays = displays
        self.is_here = is_here
        self._settled: weakref.WeakSet[Any] = weakref.WeakSet()
        self._saving = False
        displays.drawn = self._drawn

    def begin(self) -> None:
        """Forget which figures the last cell saved or showed."""
        self._settled = weakref.WeakSet()

    def saved(self, figure: Any, target: Any) -> None:
        """Note that the cell's own code saved a figure to a file in the workspace."""
        if self._saving or not isinstance(target, str | os.PathLike):
            return
        if os.path.realpath(os.fsdecode(target)).startswith(self._root):
            self._settled.add(figure)

    def show(self, figure: Any, kind: str) -> None:
        """Save a figure as PNG and tell of it; a figure that cannot be drawn is told of in words."""
        self._settled.add(figure)
        self._saving = True
        path = ""
        try:
            path, full = self._displays.picture()
            width, height = figure.get_size_inches()
            dpi = min(figure.dpi, MAX_PIXELS / max(width, height))
            figure.savefig(full, format="png", dpi=dpi, bbox_inches="tight")
            text = describe(figure)
        except Exception as error:  # drawing runs what the user put into the figure
            path = ""
            text = cut(f"a figure could not be drawn: {type_name(error)}: {error}", 1_000)
        finally:
            self._saving = False
        self._displays.send(kind, text=text, path=path)

    def _drawn(self, value: object, kind: str) -> bool:
        known = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
        if not isinstance(known, type) or not issubclass(type(value), known):
            return False
        self.show(value, kind)
        return True

    def show_counted(self, figure: Any) -> None:
        """Show a figure if the cell may show one more thing."""
        if self._displays.room():
            self.show(figure, "figure")

    def sweep(self) -> None:
        """Show every open figure that the cell neither saved nor showed, and close them all."""
        pylab = sys.modules.get("matplotlib._pylab_helpers")
        if pylab is None or not pylab.Gcf.figs:
            return
        try:
            for manager in pylab.Gcf.get_all_fig_managers():
                figure = manager.canvas.figure
                if figure not in self._settled:
                    self.show_counted(figure)
        finally:
            pylab.Gcf.destroy_all()


class _Process:
    """What this process has changed in matplotlib, once and for all."""

    screen: Screen | None = None
    changed: ClassVar[set[str]] = set()


def install(root: str, displays: Displays, is_here: Callable[[], bool]) -> Screen:
    """Be ready for matplotlib, or change what is imported already; nothing is imported now."""
    screen = _Process.screen = Screen(root, displays, is_here)
    prepare()
    sys.meta_path.insert(0, AfterImport({name: then for name, then in WATCHED.items() if name not in sys.modules}))
    return screen


def prepare() -> None:
    """Change what is imported already; a parent of sandboxes does so before it forks them."""
    for name, change in WATCHED.items():
        if name in sys.modules and name not in _Process.changed:
            _Process.changed.add(name)
            change(sys.modules[name])
            if change is _change_backends:
                _renew_backend()


def _renew_backend() -> None:
    """A backend that is loaded holds what `show` was before the change, and so does pyplot."""
    agg: Any = sys.modules.get("matplotlib.backends.backend_agg")
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if agg is not None and pyplot is not None and hasattr(agg, "_BackendAgg"):
        agg.show = agg._BackendAgg.show
        pyplot.switch_backend("agg")


def describe(figure: Any) -> str:
    """What a figure says in words: its titles and axis labels."""
    parts = [figure.get_suptitle()] if hasattr(figure, "get_suptitle") else []
    for axes in figure.axes[:12]:
        labels = [label for label in (axes.get_xlabel(), axes.get_ylabel()) if label]
        parts.append(" ".join(filter(None, (axes.get_title(), f"({', '.join(labels)})" if labels else ""))))
    return cut("figure: " + "; ".join(filter(None, parts)) if any(parts) else "figure", 400)


def _change_backends(bases: Any) -> None:
    """Teach `matplotlib.backend_bases` about the screen."""
    print_figure = bases.FigureCanvasBase.print_figure

    def print_and_note(self: Any, filename: Any, *args: Any, **options: Any) -> Any:
        result = print_figure(self, filename, *args, **options)
        if (screen := _Process.screen) is not None:
            screen.saved(self.figure, filename)
        return result

    def show_all(cls: Any, *args: Any, **options: Any) -> None:
        if (screen := _Process.screen) is not None and screen.is_here():
            screen.sweep()

    def show_one(self: Any) -> None:
        if (screen := _Process.screen) is not None and screen.is_here():
            screen.show_counted(self.canvas.figure)

    print_and_note.__name__ = print_figure.__name__
    print_and_note.__doc__ = print_figure.__doc__
    bases.FigureCanvasBase.print_figure = print_and_note
    bases._Backend.show = classmethod(show_all)
    bases.FigureManagerBase.pyplot_show = classmethod(show_all)
    bases.FigureManagerBase.show = show_one


WATCHED: dict[str, Then] = {
    "matplotlib": fonts.do_not_tell_of_building,
    "matplotlib.backend_bases": _change_backends,
    "matplotlib.font_manager": fonts.extend,
}
"""What is changed of matplotlib, by the module in which it is."""
