"""Sessions in which something is planted that a restore does not bring back, without a word of the snapshot."""

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Planted:
    """A session with one difference."""

    kind: str
    code: str
    names: tuple[str, ...]
    """One of these must be named by the proof."""


ASKED = """
import sys
for _kind in [one for one in list(globals().values()) if isinstance(one, type) and one.__module__ == "__main__"]:
    _own = {"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__new__", "__getattr__"}
    if not _own.isdisjoint(vars(_kind)):
        sys.modules["stepwell_kernel.snapshots.objects.instances"].asked.add(_kind)
"""
"""Lets classes be asked how their objects are taken apart; else these come back whole, whatever a class says."""


def _planted(kind: str, names: str, code: str) -> Planted:
    return Planted(kind, textwrap.dedent(code) + ASKED, tuple(names.split()))


REDUCED = {
    "attributes dropped by __getstate__": "def __getstate__(self): return {'n': self.n}",
    "attributes dropped by __reduce__": "def __reduce__(self): return (type(self), ())",
    "a value changed by __reduce__": "def __reduce__(self): return (_make, (type(self), self.n + 1, self.items))",
    "a value changed by __setstate__": "def __setstate__(self, state): self.__dict__.update(state, n=0)",
    "another class from __reduce__": "def __reduce__(self): return (Other, (self.n, self.items))",
    "a list emptied by __reduce_ex__": "def __reduce_ex__(self, protocol): return (_make, (type(self), self.n, []))",
    "a text truncated by __getstate__": "def __getstate__(self): return {**self.__dict__, 'text': self.text[:3]}",
    "keys made texts by __getstate__": "def __getstate__(self): return {**self.__dict__, 'd': {'1': 1}}",
    "a tuple made a list": "def __getstate__(self): return {**self.__dict__, 'pair': list(self.pair)}",
    "an attribute added by __setstate__": "def __setstate__(self, state): self.__dict__.update(state, restored=True)",
}
WRAPPED = {
    "as a variable": "x = Thing(7)",
    "in a list": "x = [1, Thing(7)]",
    "in a dict": "x = {'a': {'b': Thing(7)}}",
    "as an attribute": "class Holder: pass\nx = Holder(); x.thing = Thing(7)",
    "in a closure": "def outer():\n    thing = Thing(7)\n    return lambda: thing\nx = outer()",
    "in the column of a frame": "import pandas as pd\nx = pd.DataFrame({'a': [Thing(7), Thing(7)]})",
}
THING = """
def _make(kind, n, items):
    made = kind.__new__(kind)
    made.__dict__.update(Thing().__dict__, n=n, items=items)
    return made
class Other:
    def __init__(self, n=0, items=()): self.n, self.items = n, items
class Thing:
    def __init__(self, n=3, items=(1, 2)):
        self.n, self.items, self.text, self.d, self.pair = n, list(items), "abcdef", {1: 1}, (1, 2)
        self.extra = {"a": [1]}
    %s
"""

CALLBACKS = [
    _planted(
        "callbacks",
        "x",
        """
        class Bus:
            def __init__(self): self.handlers = []
            def __getstate__(self): return {**self.__dict__, "handlers": []}
        def cb(event): return event
        x = Bus(); x.handlers.append(cb)
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        import weakref
        class Bus:
            def __init__(self): self.handlers = {}
            def __getstate__(self): return {"handlers": {}}
        class Listener:
            def on(self, event): return event
        listener = Listener(); x = Bus(); x.handlers["on"] = listener.on
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        class Button:
            on_click = None
            def __getstate__(self): return {}
        x = Button(); x.on_click = lambda: 1
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        from types import SimpleNamespace
        class Registry(dict):
            def __reduce__(self): return (Registry, ())
        x = SimpleNamespace(hooks=Registry(start=lambda: 1, stop=print))
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        from collections import deque
        class Queue(deque):
            def __reduce__(self): return (Queue, ())
        x = Queue([lambda: 1])
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        import string
        class Formatter(string.Formatter):
            def __getstate__(self): return {}
        x = Formatter(); x.convert = lambda value: value
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure
        class Drawn(Figure):
            def __getstate__(self):
                return {**super().__getstate__(), "on_draw": None}
        x = plt.figure(FigureClass=Drawn); x.on_draw = lambda event: 1
    """,
    ),
    _planted(
        "callbacks",
        "x",
        """
        class Step:
            __slots__ = ("name", "after")
            def __getstate__(self): return (None, {"name": self.name, "after": None})
            def __init__(self): self.name, self.after = "a", (lambda: 1)
        x = Step()
    """,
    ),
]

ALIASES = [
    _planted(
        "aliases",
        "a b x",
        """
        class Box:
            def __init__(self, rows): self.rows = rows
            def __getstate__(self): return {"rows": list(self.rows)}
        a = [1, 2]; x = Box(a)
    """,
    ),
    _planted(
        "aliases",
        "a x",
        """
        class Box:
            def __init__(self, rows): self.rows = rows
            def __reduce__(self): return (Box, (dict(self.rows),))
        a = {"k": 1}; x = Box(a)
    """,
    ),
    _planted(
        "aliases",
        "a x",
        """
        import numpy as np
        class Window:
            def __init__(self, rows): self.rows = rows
            def __getstate__(self): return {"rows": self.rows.copy()}
        a = np.arange(10.0); x = Window(a[2:5])
    """,
    ),
    _planted(
        "aliases",
        "a x",
        """
        import pandas as pd
        class Model:
            def __init__(self, frame): self.frame = frame
            def __getstate__(self): return {"frame": self.frame.copy()}
        a = pd.DataFrame({"v": [1, 2]}); x = Model(a)
    """,
    ),
    _planted(
        "aliases",
        "x",
        """
        class Node:
            def __init__(self): self.left = self.right = [1]
            def __getstate__(self): return {"left": list(self.left), "right": list(self.right)}
        x = Node()
    """,
    ),
    _planted(
        "aliases",
        "a x",
        """
        class Node:
            def __deepcopy__(self, memo): return self
        class Link:
            def __init__(self, to): self.to = to
            def __reduce__(self): return (Link, (_again(self.to),))
        def _again(node):
            made = Node(); made.__dict__.update(node.__dict__); return made
        a = Node(); a.v = 1; x = Link(a)
    """,
    ),
    _planted(
        "aliases",
        "a x",
        """
        class Cell(list):
            def __reduce__(self): return (Cell, ([list(one) for one in self],))
        a = [1]; x = Cell([a, a])
    """,
    ),
    _planted(
        "aliases",
        "a b x y",
        """
        class Half:
            def __init__(self, shared): self.shared = shared
            def __getstate__(self): return {"shared": set(self.shared)}
        a = {1, 2}; x, y = Half(a), Half(a)
    """,
    ),
]

SETTINGS = [
    _planted(
        "settings",
        "colormaps",
        """
        import matplotlib
        from matplotlib.colors import ListedColormap
        matplotlib.colormaps.register(ListedColormap(["red", "blue"], name="mine"))
    """,
    ),
    _planted("settings", "builtins", "import builtins\ndelattr(builtins, 'copyright')"),
    _planted(
        "settings",
        "matplotlib",
        """
        import matplotlib.units as units
        class Money: pass
        class Converter(units.ConversionInterface): pass
        units.registry[Money] = Converter()
    """,
    ),
    _planted("settings", "hooks", "import sys\nsys.__dict__.update(excepthook=lambda *args: None)"),
    _planted("settings", "hooks", "import sys\nsys.__dict__.update(unraisablehook=lambda *args: None)"),
    _planted(
        "settings",
        "finders",
        """
        import importlib.machinery, sys
        sys.meta_path.append(importlib.machinery.WindowsRegistryFinder)
    """,
    ),
    _planted(
        "settings",
        "finders",
        """
        import sys
        sys.meta_path.append(sys.meta_path.pop(0))
    """,
    ),
    _planted(
        "settings",
        "logging",
        """
        import logging
        class Quiet(logging.Handler):
            def __reduce__(self): return (logging.NullHandler, ())
            def emit(self, record): pass
        logging.getLogger("mine").addHandler(Quiet())
    """,
    ),
    _planted(
        "settings",
        "decimal context settings",
        """
        import decimal
        class Exact(decimal.Context):
            def __reduce__(self): return (decimal.Context, ())
        decimal.setcontext(Exact(prec=7))
    """,
    ),
]

FILES = [
    _planted(
        "files",
        "outputs/a.csv",
        """
        import os
        class Rewrites:
            def __reduce__(self): return (_write, ())
        def _write():
            open("outputs/a.csv", "w").write("other"); return Rewrites()
        open("outputs/a.csv", "w").write("1,2"); x = Rewrites()
    """,
    ),
    _planted(
        "files",
        "outputs/b.csv",
        """
        import os
        class Removes:
            def __reduce__(self): return (_remove, ())
        def _remove():
            os.unlink("outputs/b.csv"); return Removes()
        open("outputs/b.csv", "w").write("1,2"); x = Removes()
    """,
    ),
    _planted(
        "files",
        "outputs/c.csv",
        """
        import os
        class Closes:
            def __reduce__(self): return (_mode, ())
        def _mode():
            os.chmod("outputs/c.csv", 0o400); return Closes()
        open("outputs/c.csv", "w").write("1,2"); x = Closes()
    """,
    ),
    _planted(
        "files",
        "outputs/d.csv",
        """
        class Appends:
            def __setstate__(self, state): open("outputs/d.csv", "a").write("3")
            def __getstate__(self): return {"a": 1}
        open("outputs/d.csv", "w").write("1,2"); x = Appends()
    """,
    ),
    _planted(
        "files",
        "note.txt",
        """
        import os, tempfile
        path = os.path.join(tempfile.gettempdir(), "note.txt")
        class Writes:
            def __reduce__(self): return (_write, (path,))
        def _write(path):
            open(path, "w").write("other"); return Writes()
        open(path, "w").write("1"); x = Writes()
    """,
    ),
]

CODE = [
    _planted(
        "code",
        "p",
        """
        class Point(tuple):
            def __new__(cls, x, y): return tuple.__new__(cls, (x, y))
        p = Point(1, 2)
    """,
    ),
    _planted(
        "code",
        "x",
        """
        class Lazy:
            def __getattr__(self, name): return self.made[name]
            def __init__(self): self.made = {"a": 1}
        x = Lazy()
    """,
    ),
    _planted(
        "code",
        "x y",
        """
        class Counted:
            made = 0
            def __new__(cls, *args):
                cls.made += 1
                return object.__new__(cls)
            def __reduce__(self): return (Counted, ())
        x = Counted(); y = Counted
    """,
    ),
    _planted(
        "code",
        "x",
        """
        import functools
        class Part(functools.partial):
            def __reduce__(self): return (functools.partial, (self.func,))
        x = Part(int, base=2)
    """,
    ),
    _planted(
        "code",
        "x",
        """
        import numpy as np
        class Tagged(np.ndarray):
            def __reduce__(self): return (_tagged, (np.asarray(self),))
        def _tagged(array): return array.view(Tagged)
        x = np.arange(3).view(Tagged); x.unit = "m"
    """,
    ),
    _planted(
        "code",
        "x",
        """
        import pandas as pd
        x = pd.DataFrame({"a": [1]}); x.source_note = "from the survey"
    """,
    ),
    _planted(
        "code",
        "x",
        """
        class Temperature(float):
            def __reduce__(self): return (Temperature, (round(self),))
        x = Temperature(3.7)
    """,
    ),
    _planted(
        "code",
        "x",
        """
        class Failing(Exception):
            def __reduce__(self): return (Failing, ("restored",))
        x = Failing("the original", 3)
    """,
    ),
    _planted(
        "code",
        "x",
        """
        import datetime
        class Moment(datetime.datetime):
            def __reduce_ex__(self, protocol): return (Moment, (2000, 1, 1))
        x = Moment(2024, 5, 6)
    """,
    ),
]

PLANTED = [
    *(
        Planted(f"{what}, {where}", THING % method + code + ASKED, ("x",))
        for what, method in REDUCED.items()
        for where, code in WRAPPED.items()
    ),
    *CALLBACKS,
    *ALIASES,
    *SETTINGS,
    *FILES,
    *CODE,
]
