"""Whether two values are the same by the rules of DSEval; runs in the sandbox, where both of them are."""

import contextlib
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

TABLES = (pd.DataFrame, pd.Series, pd.Index)
NUMBERS = (int, float, np.number)
BOOLEANS = (bool, np.bool_)
SHOWN = 100
DEEPEST = 50

Options = Mapping[str, Any]


def difference(reference: Any, found: Any, options: Options) -> str:
    """What differs, in a few words; empty where nothing does."""
    if options.get("type_only"):
        return "" if type(reference) is type(found) else _types(reference, found)
    if options.get("value_only"):
        reference, found = _bare(reference), _bare(found)
    return _difference(reference, found, options)


def _difference(reference: Any, found: Any, options: Options) -> str:
    both = (reference, found)
    for kinds, compare in (
        (BOOLEANS, _booleans),
        (NUMBERS, _numbers),
        (np.ndarray, _arrays),
        (TABLES, _tables),
        ((list, tuple), _sequences),
        (dict, _mappings),
    ):
        if any(isinstance(one, kinds) for one in both):
            return compare(*both, options) if all(isinstance(one, kinds) for one in both) else _types(*both)
    if all(hasattr(one, "tocsr") for one in both):
        return _sparse(reference, found, options)
    return "" if bool(reference == found) else _values(reference, found)


def _types(reference: Any, found: Any) -> str:
    return f"a {type(found).__name__} where a {type(reference).__name__} is right"


def _values(reference: Any, found: Any) -> str:
    return f"{_shown(found)} where {_shown(reference)} is right"


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _booleans(reference: Any, found: Any, _: Options) -> str:
    return "" if bool(reference) == bool(found) else _values(reference, found)


def _numbers(reference: Any, found: Any, options: Options) -> str:
    if any(isinstance(one, BOOLEANS) for one in (reference, found)):
        return _types(reference, found)
    if (least := options.get("metrictol")) is not None:
        return "" if found >= reference * least else f"{found} where at least {reference * least} is right"
    return "" if np.isclose(found, reference, equal_nan=True, **_tolerances(options)) else _values(reference, found)


def _tolerances(options: Options) -> dict[str, Any]:
    return {"rtol": options.get("rtol", 1e-5), "atol": options.get("atol", 1e-8)}


def _arrays(reference: Any, found: Any, options: Options) -> str:
    if options.get("strict_type") and reference.dtype != found.dtype:
        return f"an array of {found.dtype} where {reference.dtype} is right"
    if reference.shape != found.shape:
        return f"an array of the shape {found.shape} where {reference.shape} is right"
    if all(np.issubdtype(one.dtype, np.floating) for one in (reference, found)):
        same = bool(np.allclose(found, reference, equal_nan=True, **_tolerances(options)))
    else:
        same = bool(np.array_equal(reference, found))
    return "" if same else "an array with other values"


def _sparse(reference: Any, found: Any, options: Options) -> str:
    if reference.shape != found.shape:
        return f"a sparse matrix of the shape {found.shape} where {reference.shape} is right"
    kept, others = (one.tocsr().sorted_indices() for one in (reference, found))
    same = np.array_equal(kept.indices, others.indices) and np.array_equal(kept.indptr, others.indptr)
    return "" if same and np.allclose(kept.data, others.data, **_tolerances(options)) else "another sparse matrix"


def _tables(reference: Any, found: Any, options: Options) -> str:
    kind = next(one for one in TABLES if isinstance(reference, one))
    if not isinstance(found, kind):
        return _types(reference, found)
    try:
        if kind is not pd.Index:
            reference, found = _loosened(reference, found, options)
        if kind is pd.DataFrame:
            pd.testing.assert_frame_equal(reference, found)
        elif kind is pd.Series:
            pd.testing.assert_series_equal(reference, found)
        else:
            pd.testing.assert_index_equal(reference, found)
    except AssertionError as error:
        return f"another {kind.__name__}: {' '.join(str(error).split())[: 3 * SHOWN]}"
    except Exception:  # values that cannot be compared one by one
        return "" if reference.equals(found) else f"another {kind.__name__}"
    return ""


def _loosened(reference: Any, found: Any, options: Options) -> tuple[Any, Any]:
    """Both without what is not to matter.

    Raises:
        AssertionError: they have other columns.
    """
    frames = isinstance(reference, pd.DataFrame)
    if options.get("ignore_names"):
        if reference.index.nlevels == found.index.nlevels:
            found = found.rename_axis(index=reference.index.names)
        if frames and set(reference.columns) == set(found.columns):
            found = found[reference.columns]
        elif frames and len(reference.columns) == len(found.columns):
            found = found.set_axis(reference.columns, axis="columns")
        elif not frames:
            found = found.rename(reference.name)
    if options.get("ignore_order") or options.get("ignore_index"):
        if frames:
            if set(reference.columns) != set(found.columns):
                raise AssertionError(f"columns {list(found.columns)} where {list(reference.columns)} are right")
            found = found[list(reference.columns)]
        reference, found = reference.reset_index(drop=True), found.reset_index(drop=True)
    if options.get("ignore_order"):
        by = {"by": list(reference.columns)} if frames else {}
        reference, found = (one.sort_values(**by).reset_index(drop=True) for one in (reference, found))
    if options.get("ignore_dtypes"):
        with contextlib.suppress(TypeError, ValueError):  # the comparison says what differs
            found = found.astype(reference.dtypes.to_dict() if frames else reference.dtype)
    return reference, found


def _sequences(reference: Any, found: Any, options: Options) -> str:
    if len(reference) != len(found):
        return f"{len(found)} values where {len(reference)} are right"
    if options.get("ignore_order"):
        reference, found = (sorted(one, key=lambda value: (str(type(value)), value)) for one in (reference, found))
    for place, (one, other) in enumerate(zip(reference, found, strict=True), 1):
        if said := _difference(one, other, options):
            return f"value {place}: {said}"
    return ""


def _mappings(reference: Any, found: Any, options: Options) -> str:
    if options.get("ignore_index"):
        return _sequences(list(reference.values()), list(found.values()), options)
    if reference.keys() != found.keys():
        return f"the keys {_shown(list(found))} where {_shown(list(reference))} are right"
    for key, value in reference.items():
        if said := _difference(value, found[key], options):
            return f"{_shown(key)}: {said}"
    return ""


def _bare(value: Any) -> Any:
    """Without the container that it is in, and a single value without a list around it."""
    if isinstance(value, pd.DataFrame):
        value = value.to_numpy()
    if isinstance(value, np.ndarray | pd.Series | pd.Index):
        value = value.tolist()
    if isinstance(value, list | tuple | set):
        value = [_bare(one) for one in value]
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def unchanged(before: Any, after: Any, depth: int = 0) -> bool:
    """Whether a variable is as it was. Objects that compare by identity are looked into: these may be copies."""
    if before is after or depth > DEEPEST:
        return True
    if type(before) is not type(after):
        return False
    if isinstance(before, types.FunctionType):
        return bool(before.__code__ == after.__code__) and unchanged(before.__defaults__, after.__defaults__, depth + 1)
    if isinstance(before, type):
        return bool(before.__qualname__ == after.__qualname__)
    if isinstance(before, dict):
        return list(before) == list(after) and all(unchanged(before[key], after[key], depth + 1) for key in before)
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(
            unchanged(one, other, depth + 1) for one, other in zip(before, after, strict=True)
        )
    if not any("__eq__" in vars(one) for one in type(before).__mro__[:-1]):
        return unchanged(getattr(before, "__dict__", None), getattr(after, "__dict__", None), depth + 1)
    try:
        return not _difference(before, after, {})
    except Exception:  # comparing runs the code of what is compared
        return False
