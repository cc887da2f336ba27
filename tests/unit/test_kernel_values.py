"""How the kernel shortens values, finds semicolons and names libraries."""

import ast
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.inside.kernel.cells import ends_with_semicolon
from sandboxes.inside.kernel.side_effects import Scan, changes
from sandboxes.inside.kernel.summaries import clean, cut, listing, long_repr, short
from sandboxes.inside.kernel.tracebacks import library_of

VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=30), st.binary(max_size=30)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=15,
)


@given(VALUES)
def test_a_short_value_is_shown_as_repr_shows_it(value: object) -> None:
    assert long_repr(value, 100_000) == repr(value)


@given(VALUES, st.integers(5, 80))
def test_no_text_is_longer_than_its_limit(value: object, limit: int) -> None:
    assert len(long_repr(value, limit)) <= max(limit, 60) + limit
    assert len(short(value, 60)) <= 62


def test_values_that_hold_themselves_are_shown() -> None:
    loop: list[object] = [1]
    loop.append(loop)
    assert long_repr(loop, 100) == "[1, ...]"


def test_texts_are_cut_and_cleaned() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert clean("a\ud800") == "a\\ud800"
    assert listing(["aaa", "bbb", "ccc"], 11) == "aaa, bbb, …"
    assert listing(["aaa", "bbb", "ccc"], 9) == "aaa, …"
    assert listing([], 10) == ""


@pytest.mark.parametrize(
    ("code", "silent"),
    [
        ("x", False),
        ("x;", True),
        ("x ; # y", True),
        ("x  # ;", False),
        ("'é;'", False),
        ("'é'; ", True),
        ("(x\n);", True),
        ("f(';')", False),
        ("a; b", False),
    ],
)
def test_a_semicolon_at_the_end_is_found(code: str, silent: bool) -> None:
    last = ast.parse(code).body[-1]
    assert isinstance(last, ast.Expr)
    assert ends_with_semicolon(code, last) is silent


def test_source_files_are_named_by_their_library() -> None:
    assert library_of("/x/lib/python3.11/site-packages/pandas/core/frame.py") == "pandas"
    assert library_of("/x/site-packages/six.py") == "six"
    assert library_of(os.path.join(os.path.dirname(os.__file__), "json", "decoder.py")) == "json"  # noqa: PTH118, PTH120
    assert library_of("<frozen importlib._bootstrap>") == "importlib"
    assert library_of("pandas/_libs/index.pyx") == "compiled code"


def test_a_scan_that_was_cut_short_claims_no_deletion(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = Scan(str(tmp_path))
    (tmp_path / "a").unlink()
    after = Scan(str(tmp_path))
    assert [change["change"] for change in changes(before, after)] == ["deleted"]
    after.complete = False
    assert changes(before, after) == []


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="nothing is mounted in a folder that all can read")
def test_a_scan_leaves_out_what_is_mounted() -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        name = Path(file.name).name
        assert name in Scan("/dev/shm").files
        assert not any(path.startswith("shm/") for path in Scan("/dev").files)
