"""Both ways to see whether a large buffer changed since the last snapshot: digests, and maps of what was written."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sandboxes.inside.kernel.snapshots.blobs import hash_of
from sandboxes.inside.kernel.snapshots.change_detection import BufferDigests, MappedBlobs, change_detector

Before = BufferDigests | MappedBlobs
KEY = ("df", 0, 6 << 20)


@pytest.fixture(params=["digests", "maps"])
def before(request: pytest.FixtureRequest, tmp_path: Path) -> Before:
    if request.param == "maps":
        return MappedBlobs([str(tmp_path)])
    found = change_detector([str(tmp_path)])
    assert isinstance(found, BufferDigests), "xxhash comes with the default install"
    return found


@pytest.fixture
def keep(before: Before, tmp_path: Path) -> Callable[[np.ndarray], list[str]]:
    """Keep a buffer as a snapshot does: write what is new."""

    def keep(array: np.ndarray) -> list[str]:
        cut = pieces(array)
        before.begin()
        names = []
        for piece, known in zip(cut, before.names(KEY, cut), strict=True):
            names.append(known or hash_of(piece))
            (tmp_path / names[-1]).write_bytes(piece)
        before.note(KEY, names)
        before.settle()
        return names

    return keep


def pieces(array: np.ndarray) -> list[memoryview]:
    flat = memoryview(array.data).cast("B")
    return [flat[start : start + (1 << 20)] for start in range(0, len(flat), 1 << 20)]


def made() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, 6 << 20, dtype="u1")


def test_what_was_never_kept_is_not_known(before: Before) -> None:
    before.begin()
    assert before.names(KEY, pieces(made())) == [""] * 6


def test_what_did_not_change_keeps_its_names(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    array = made()
    names = keep(array)
    before.begin()
    assert before.names(KEY, pieces(array.copy())) == names
    assert names == [hash_of(piece) for piece in pieces(array)]


@pytest.mark.parametrize("at", [0, 1_234_567, (6 << 20) - 1])
def test_one_changed_byte_is_noticed(before: Before, keep: Callable[[np.ndarray], list[str]], at: int) -> None:
    array = made()
    names = keep(array)
    array[at] ^= 1
    before.begin()
    found = before.names(KEY, pieces(array))
    assert [number for number, name in enumerate(found) if not name] == [at >> 20]
    assert keep(array) != names
    array[at] ^= 1
    assert keep(array) == names


def test_a_buffer_of_another_length_is_not_known(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    keep(made())
    before.begin()
    assert before.names(KEY, pieces(made()[: 5 << 20])) == [""] * 5


def test_what_a_refused_snapshot_saw_does_not_count(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    array = made()
    names = keep(array)
    changed = array.copy()
    changed[7] ^= 1
    before.begin()
    before.note(KEY, [name or "0" * 64 for name in before.names(KEY, pieces(changed))])
    before.begin()  # it was never settled
    assert before.names(KEY, pieces(array)) == names
    assert before.names(KEY, pieces(changed))[0] == ""
