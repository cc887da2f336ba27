"""Writes random cells that make, share and change things, and a cell that describes all there is."""

# ruff: noqa: E501 (the lines of cells)

from dataclasses import dataclass

from hypothesis import strategies as some

NAMES = [f"v{i}" for i in range(24)]
ARRAYS = [f"v{i}" for i in range(30, 38)]
"""Names that hold arrays mostly, so that views are made often."""

MAKERS = [
    "{n} = [{i}, 'text {i}', {f}]",
    "{n} = {{'a': {i}, 'b': [{i}], 'c': {{}}}}",
    "{n} = {{{i}, 'x', ({i}, {f})}}",
    "{n} = ({i}, [{i}], {{'t': {f}}})",
    "{x} = np.arange({size}.0)",
    "{x} = np.zeros(({rows}, 70), dtype='i4')",
    "{x} = np.asfortranarray(np.arange({rows} * 60.0).reshape({rows}, 60))",
    "{x} = np.array([None, {i}, [], 'o'], dtype=object)",
    "{x} = np.arange({rows}).astype('M8[D]')",
    "{n} = bytearray({rows} * 8)",
    "{n} = pd.DataFrame({{'a': np.arange({rows}.0), 'b': ['s', None] * ({rows} // 2), 'c': pd.Categorical(['x', 'y'] * ({rows} // 2))}})",
    "{n} = pd.Series(np.arange({size}.0), name='{n}')",
    "{n} = Thing({i})",
    "{n} = collections.deque([{i}], maxlen=9)",
    "{n} = lambda a=0: (a, {i}, number, {o} if '{o}' in globals() else None)[:3]",
    "{n} = counter({i})",
    "{n} = functools.partial(add, {i})",
    "{n} = {i}",
    "{n} = 'text {i} ' * {rows}",
    "{x} = np.ma.array(np.arange({rows}.0), mask=[False, True] * ({rows} // 2))",
    "{n} = Fault({i}, 'text')",
    "{n} = collections.OrderedDict(a={i}, b=[{i}])",
]
SHARERS = [
    "{n} = {o}",
    "{n} = [{o}, {p}]",
    "{n} = {{'o': {o}, 'p': {p}}}",
    "{n} = ({o}, {p})",
    "{n} = Thing({o})",
    "{n} = Thing({o}).say",
    "{n} = functools.partial(add, {o})",
    "{n} = holds({o})",
    "{n} = {o}.keys() if isinstance({o}, dict) else [{o}]",
    "{n} = types.MappingProxyType({o}) if isinstance({o}, dict) else [{o}]",
    "{n} = weakref.ref({o}) if type({o}) is Thing else ({o},)",
    "{n} = Fault({i}, {o})",
    "{n} = np.ma.array({y}, copy=False) if type({y}) is np.ndarray and {y}.dtype.kind == 'f' else [{y}]",
    "{x} = np.lib.stride_tricks.sliding_window_view({y}, 2) if type({y}) is np.ndarray and {y}.ndim == 1 and len({y}) > 2 else [{y}]",
    "{n} = memoryview({o}) if type({o}) is bytearray else [{o}]",
    "{x} = np.frombuffer({o}, 'u1') if type({o}) is bytearray else ({o},)",
    "{x} = {y}[{i} % 3 :: 2] if isinstance({y}, np.ndarray) else [{o}]",
    "{x} = {y}.T if isinstance({y}, np.ndarray) else [{o}]",
    "{x} = {y}[::-1][:5] if isinstance({y}, np.ndarray) else {{'k': {o}}}",
    "{n} = {o}['a'] if isinstance({o}, pd.DataFrame) else [{o}]",
    "{n} = {o}[['a', 'b']] if isinstance({o}, pd.DataFrame) else {o}",
    "{n} = {o}.copy(deep=False) if isinstance({o}, (pd.DataFrame, pd.Series)) else {o}",
    "if type({o}) is list and len({o}) < 12: {o}.append({p})",
    "if type({o}) is dict and len({o}) < 12: {o}['k{i}'] = {p}",
    "if type({o}) is Thing: {o}.other = {p}",
    "if type({o}) is list and len({o}) < 12: {o}.append({o})",
]
CHANGERS = [
    "change({o}, {i})",
    "change({x}, {i})",
    "change({y}, {i})",
    "{n} = [{x}, {y}]",
    "change(globals()['{o}'], {i})",
    "number += {i}",
    "Thing.made = Thing.made[-5:] + [{i}]",
    "globals().pop('{n}', None)",
    "call({o})",
]
START = """
import collections, functools, hashlib, types, weakref
import numpy as np, pandas as pd
number = 0
class Thing:
    made = []
    def __init__(self, value): self.value = value
    def say(self): return number, type(self.value).__name__
class Fault(Exception):
    def __init__(self, code, held): super().__init__(str(code)); self.code, self.held = code, held
def add(a, b=1): return (type(a).__name__, b, number)
def counter(start):
    count = start
    def up():
        nonlocal count
        count += 1
        return count, number
    return up
def holds(value):
    def get(): return value
    return get
def call(value):
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return value()
def change(value, i):
    if isinstance(value, np.ndarray) and value.size and value.flags.writeable:
        spot = tuple(i % size for size in value.shape)
        value[spot] = i % 100
    elif isinstance(value, pd.DataFrame) and len(value): value.loc[i % len(value), "a"] = float(i)
    elif isinstance(value, pd.Series) and len(value) and value.dtype.kind == "f": value.iloc[i % len(value)] = float(i)
    elif type(value) is bytearray: value[i % len(value)] = i % 256
    elif type(value) is memoryview and not value.readonly: value[i % len(value)] = i % 256
    elif type(value) is list: value[0] = i
    elif type(value) in (dict, collections.OrderedDict): value["a"] = i
    elif type(value) is Fault: value.held = i
    elif type(value) is collections.deque: value.append(i)
    elif type(value) is set: value.add(i)
    elif type(value) is Thing: value.extra = i
"""
DESCRIBE = """
def describe():
    seen, out = {}, []
    def array(a):
        if a.dtype.hasobject: return [look(b) for b in a.ravel()[:20]]
        return hashlib.md5(a.tobytes()).hexdigest()
    def look(v):
        kind = type(v)
        if kind in (int, float, str, bool, type(None), bytes): return repr(v)[:80]
        if kind is tuple and all(type(x) in (int, float, str, type(None)) for x in v): return repr(v)
        if id(v) in seen: return "#%d" % seen[id(v)]
        seen[id(v)] = len(seen); keep.append(v)
        name = kind.__name__
        if kind in (list, tuple, collections.deque): return [name, *map(look, v)]
        if kind is set: return [name, sorted(map(repr, v))]
        if kind in (dict, collections.OrderedDict, types.MappingProxyType): return [name, *((k, look(x)) for k, x in v.items())]
        if name.endswith("dict_keys"): return [name, list(v)]
        if kind is weakref.ref: return [name, look(v())]
        if kind is Fault: return [name, v.code, v.args, look(v.held)]
        if kind is np.ma.MaskedArray: return [name, str(v.dtype), v.shape, v.fill_value, look(v.data), look(v.mask)]
        if kind is np.ndarray: return [name, str(v.dtype), v.shape, v.strides, v.flags.writeable, array(v)]
        if kind is bytearray: return [name, bytes(v).hex()[:40], hashlib.md5(v).hexdigest()]
        if kind is memoryview: return [name, v.nbytes, v.readonly, hashlib.md5(v).hexdigest()]
        if kind is pd.DataFrame: return [name, v.to_csv()[:2000], list(map(str, v.dtypes)), look(v.index), look(v.columns)]
        if kind is pd.Series: return [name, v.name, str(v.dtype), hashlib.md5(v.to_csv().encode()).hexdigest()]
        if kind is Thing: return [name, sorted((k, str(look(x))) for k, x in v.__dict__.items()), v.say()]
        if kind is types.MethodType: return [name, v.__name__, look(v.__self__)]
        if kind is functools.partial: return [name, look(v.func), look(v.args)]
        if kind is types.FunctionType:
            cells = [look(c.cell_contents) for c in v.__closure__ or ()]
            return [name, v.__qualname__, v.__globals__ is globals(), look(v.__defaults__), cells]
        return [name, str(v)[:100]]
    keep = []
    for n in sorted(k for k in globals() if k[0] == "v" and k[1:].isdigit()):
        out.append((n, look(globals()[n])))
    arrays = [v for v in keep if type(v) is np.ndarray and v.size]
    shares = [tuple(j for j, b in enumerate(arrays) if np.may_share_memory(a, b)) for a in arrays]
    out.append(("shares", [s for s in shares if len(s) > 1], number, Thing.made))
    return out
for line in describe(): print(line)
"""


@dataclass(frozen=True)
class Round:
    """Changes before a snapshot, and changes after it that both the live and the restored session make."""

    before: str
    after: str
    restored: bool
    """Whether the snapshot is restored; else it is only what later ones build upon."""
    goes_on: bool
    """Whether the restored session goes on afterwards, or the live one."""


def statements() -> some.SearchStrategy[str]:
    """A statement; one that does not fit what it finds does nothing."""
    kinds = some.sampled_from([*[MAKERS] * 3, *[SHARERS] * 4, *[CHANGERS] * 5])
    return some.builds(
        _statement,
        text=kinds.flatmap(some.sampled_from),
        n=some.sampled_from(NAMES),
        o=some.sampled_from(NAMES),
        p=some.sampled_from(NAMES),
        x=some.sampled_from(ARRAYS),
        y=some.sampled_from(ARRAYS),
        i=some.integers(0, 999),
        f=some.floats(0, 1, width=16),
        rows=some.integers(2, 59).map(lambda half: 2 * half),
        size=some.sampled_from((3, 50, 5_000)),
    )


def _statement(text: str, **values: object) -> str:
    made = text.format(**values)
    return f"try:\n    {made}\nexcept (NameError, TypeError, KeyError, IndexError, ValueError, BufferError): pass"
