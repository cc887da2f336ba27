"""Figures without savefig: every open pyplot figure becomes a PNG when it is shown, or at the end of its cell.

matplotlib's own Agg backend draws them. What all backends share is changed instead of adding one of ours, because
code says `matplotlib.use("Agg")` so often: `print_figure` notes which figures the cell saved itself, and `show` is
what it is in a notebook: the open figures appear and are closed, so the next plot starts on a new one.
"""

import glob
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import re
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

from .output import Displays
from .summaries import cut, type_name

FONT_PACKAGES = ("mplfonts", "matplotlib_fontja", "koreanize_matplotlib")
NAMES = re.compile(
    r"noto (sans|serif)( mono)? (cjk|sc|tc|hk|jp|kr)\b|source han|wenquanyi|ipa(ex)?\s?(gothic|mincho)|ipapgothic|nanum"
    r"|droid sans fallback|ar pl |simhei|simsun|microsoft (yahei|jhenghei)|pingfang|hiragino|heiti|stheiti|songti"
    r"|yu ?gothic|meiryo|ms (p?gothic|p?mincho)|malgun|apple(gothic| sd gothic)|arial unicode|takao|vl ?gothic|unifont"
    r"|sarasa|lxgw|baekmuk|un ?dotum",
    re.IGNORECASE,
)
SAMPLES = "中あ가"
"""One Chinese character, one kana, one hangul syllable: a family is of use when it has any of them."""
MAX_FAMILIES = 6


def silence_cache_message(module: ModuleType) -> None:
    """Called once matplotlib is there, before it looks for fonts: its remark on a slow machine is no result."""
    logging.getLogger("matplotlib.font_manager").addFilter(
        lambda record: "building the font cache" not in record.getMessage()
    )


def bundled_files() -> list[str]:
    """The font files that Python packages carry."""
    files: list[str] = []
    for name in FONT_PACKAGES:
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for ending in ("ttf", "otf", "ttc"):
                files += sorted(
                    glob.glob(os.path.join(glob.escape(folder), "fonts", "**", f"*.{ending}"), recursive=True)
                )
    return files


def families(manager: ModuleType) -> list[str]:
    """The installed families with such glyphs, the most complete first; those that packages carry are registered.

    Args:
        manager: `matplotlib.font_manager`.
    """
    fonts: Any = manager.fontManager
    known = {font.fname for font in fonts.ttflist}
    for file in bundled_files():
        if file not in known:
            try:
                fonts.addfont(file)
            except Exception:  # a font file that matplotlib cannot read is no font
                continue
    found: dict[str, int] = {}
    for font in fonts.ttflist:
        if font.name not in found and NAMES.search(font.name):
            found[font.name] = _coverage(font.fname)
    useful = [name for name in found if found[name]]
    return sorted(useful, key=lambda name: (-found[name], name))[:MAX_FAMILIES]


def _coverage(file: str) -> int:
    """How many Chinese characters a font file has, plus one for each sample that it has; 0 when it has none."""
    from matplotlib.ft2font import FT2Font

    try:
        characters = FT2Font(file).get_charmap()
    except Exception:  # a font file that cannot be read is no font
        return 0
    samples = sum(ord(sample) in characters for sample in SAMPLES)
    return samples and samples + sum(0x4E00 <= character <= 0x9FFF for character in characters)


def extend(module: ModuleType) -> None:
    """Put the families behind every font that `matplotlib.font_manager` finds."""
    manager: Any = module
    find = getattr(manager.FontManager, "_find_fonts_by_props", None)
    behind = families(module)
    if not behind:
        return
    if find is None:  # a matplotlib that changed inside: works until a style sets the family
        import matplotlib

        matplotlib.rcParams["font.family"] = [*matplotlib.rcParams["font.family"], *behind]
        return

    looked_up: dict[tuple[Any, ...], list[Any]] = {}

    def fallbacks(self: Any, prop: Any) -> list[Any]:
        """Which files they are depends on the cut of the letters alone; matplotlib asks for every text it draws."""
        key = (prop.get_style(), prop.get_variant(), prop.get_weight(), prop.get_stretch())
        if key not in looked_up:
            properties = prop.copy()
            properties.set_file(None)
            paths = []
            for family in behind:
                properties.set_family(family)
                paths.append(self.findfont(properties, "ttf", fallback_to_default=False))
            looked_up[key] = paths
        return looked_up[key]

    def find_with_fallbacks(self: Any, prop: Any, fontext: str = "ttf", *args: Any, **options: Any) -> Any:
        found = find(self, prop, fontext, *args, **options)
        if fontext != "ttf" or not isinstance(found, list):
            return found
        return found + [path for path in fallbacks(self, manager.FontProperties._from_any(prop)) if path not in found]

    manager.FontManager._find_fonts_by_props = find_with_fallbacks


Then = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds the watched modules as everybody else would, and calls what waits for them."""

    def __init__(self, watched: Mapping[str, Then]) -> None:
        self._watched = dict(watched)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a watched module, with a loader that calls back; None for all others."""
        then = self._watched.get(fullname)
        if then is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                del self._watched[fullname]
                spec.loader = _Loader(spec.loader, then)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, then: Then) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            self._then(module)
        except Exception:  # a library that changed inside loses our comforts, not its import
            return


MAX_PIXELS = 4_000
"""Pixels of the longer side of a saved figure; a larger one is saved with fewer dots per inch."""


class FigureCapture:
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
        self._handled: weakref.WeakSet[Any] = weakref.WeakSet()
        self._saving = False
        displays.drawn = self._drawn

    def begin(self) -> None:
        """Forget which figures the last cell saved or showed."""
        self._handled = weakref.WeakSet()

    def saved(self, figure: Any, target: Any) -> None:
        """Note that the cell's own code saved a figure to a file in the workspace."""
        if self._saving or not isinstance(target, str | os.PathLike):
            return
        if os.path.realpath(os.fsdecode(target)).startswith(self._root):
            self._handled.add(figure)

    def show(self, figure: Any, kind: str) -> None:
        """Save a figure as PNG and tell of it; a figure that cannot be drawn is told of in words."""
        self._handled.add(figure)
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
                if figure not in self._handled:
                    self.show_counted(figure)
        finally:
            pylab.Gcf.destroy_all()


class _Patches:
    """What this process has changed in matplotlib, once and for all."""

    screen: FigureCapture | None = None
    changed: ClassVar[set[str]] = set()


def install(root: str, displays: Displays, is_here: Callable[[], bool]) -> FigureCapture:
    """Patch matplotlib if it is imported, else when it is imported."""
    screen = _Patches.screen = FigureCapture(root, displays, is_here)
    prepare()
    sys.meta_path.insert(0, AfterImport({name: then for name, then in WATCHED.items() if name not in sys.modules}))
    return screen


def prepare() -> None:
    """Change what is imported already; a parent of sandboxes does so before it forks them."""
    for name, change in WATCHED.items():
        if name in sys.modules and name not in _Patches.changed:
            _Patches.changed.add(name)
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
    """Patch `matplotlib.backend_bases`."""
    print_figure = bases.FigureCanvasBase.print_figure

    def print_and_note(self: Any, filename: Any, *args: Any, **options: Any) -> Any:
        result = print_figure(self, filename, *args, **options)
        if (screen := _Patches.screen) is not None:
            screen.saved(self.figure, filename)
        return result

    def show_all(cls: Any, *args: Any, **options: Any) -> None:
        if (screen := _Patches.screen) is not None and screen.is_here():
            screen.sweep()

    def show_one(self: Any) -> None:
        if (screen := _Patches.screen) is not None and screen.is_here():
            screen.show_counted(self.canvas.figure)

    print_and_note.__name__ = print_figure.__name__
    print_and_note.__doc__ = print_figure.__doc__
    bases.FigureCanvasBase.print_figure = print_and_note
    bases._Backend.show = classmethod(show_all)
    bases.FigureManagerBase.pyplot_show = classmethod(show_all)
    bases.FigureManagerBase.show = show_one


WATCHED: dict[str, Then] = {
    "matplotlib": silence_cache_message,
    "matplotlib.backend_bases": _change_backends,
    "matplotlib.font_manager": extend,
}
"""What is changed of matplotlib, by the module in which it is."""
