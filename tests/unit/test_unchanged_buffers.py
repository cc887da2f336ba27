"""Both ways to see whether a large buffer changed since the last snapshot: digests, and maps of what was written."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sandboxes.inside.kernel.snapshots.storing.blobs import hash_of
from sandboxes.inside.kernel.snapshots.storing.block_digests import BLOCK, check_of, digests_of
from sandboxes.inside.kernel.snapshots.storing.change_detection import (
    UNKNOWN,
    BufferDigests,
    Change,
    MappedBlobs,
    change_detector,
)

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
        for piece, (known, blocks) in zip(cut, before.changes(KEY, cut), strict=True):
            names.append(hash_of(piece) if blocks or not known else known)
            (tmp_path / names[-1]).write_bytes(piece)
        before.note(KEY, names, [*pieces(array)])
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
    assert before.changes(KEY, pieces(made())) == [UNKNOWN] * 6


def test_what_did_not_change_keeps_its_names(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    array = made()
    names = keep(array)
    before.begin()
    assert before.changes(KEY, pieces(array.copy())) == [(name, ()) for name in names]
    assert names == [hash_of(piece) for piece in pieces(array)]


@pytest.mark.parametrize("at", [0, 1_234_567, (6 << 20) - 1])
def test_one_changed_byte_is_noticed(before: Before, keep: Callable[[np.ndarray], list[str]], at: int) -> None:
    array = made()
    names = keep(array)
    array[at] ^= 1
    before.begin()
    found = before.changes(KEY, pieces(array))
    block = (at & (1 << 20) - 1) // BLOCK
    assert found == [(name, (block,) if number == at >> 20 else ()) for number, name in enumerate(names)]
    assert keep(array) != names
    array[at] ^= 1
    assert keep(array) == names


def test_a_buffer_of_another_length_is_not_known(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    keep(made())
    before.begin()
    assert before.changes(KEY, pieces(made()[: 5 << 20])) == [UNKNOWN] * 5


def test_what_a_refused_snapshot_saw_does_not_count(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    array = made()
    names = keep(array)
    changed = array.copy()
    changed[7] ^= 1
    before.begin()
    before.changes(KEY, pieces(changed))
    before.note(KEY, ["0" * 64, *names[1:]], [pieces(changed)[0], *[None] * 5])
    before.begin()  # it was never settled
    assert before.changes(KEY, pieces(array)) == [(name, ()) for name in names]
    assert before.changes(KEY, pieces(changed))[0] == (names[0], (0,))


def test_what_is_patched_is_compared_with_its_blob(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    array = made()
    names, changed = keep(array), list[Change]()
    for at in (5, 40_000):  # a block more each time, all of them beside the blob
        array[at] ^= 1
        before.begin()
        changed = before.changes(KEY, pieces(array))
        before.note(KEY, names, [None] * 6)
        before.settle()
    assert changed == [(names[0], (0, 2)), *((name, ()) for name in names[1:])]


def test_a_buffer_to_which_nobody_wrote_is_told_at_once(
    before: Before, keep: Callable[[np.ndarray], list[str]]
) -> None:
    array = made()
    names, asked = keep(array), list[object]()
    for at in (None, None, 5, None):  # from then on its first piece has a patch
        if at is not None:
            array[at] ^= 1
        before.begin()
        before.changes(KEY, pieces(array))
        asked.append(before.again(KEY))
        if asked[-1] is None:
            before.note(KEY, names, [None] * 6)
        before.check(KEY)
        before.settle()
    pages = before.blocks._pages if isinstance(before, BufferDigests) else None
    if pages is None or not pages.works():
        assert asked == [None] * 4
    else:
        assert asked == [asked[0], (names, before.check(KEY)), None, None]
        assert asked[0] in (None, asked[1])


def test_what_a_restored_snapshot_has_is_known(before: Before, tmp_path: Path) -> None:
    array = made()
    names = [hash_of(piece) for piece in pieces(array)]
    for name, piece in zip(names, pieces(array), strict=True):
        (tmp_path / name).write_bytes(piece)
    before.learn(KEY, names, list(map(len, pieces(array))), [before.look(piece) for piece in pieces(array.copy())])
    array[3 << 20] ^= 1
    before.begin()
    assert before.changes(KEY, pieces(array)) == [(name, (0,) if at == 3 else ()) for at, name in enumerate(names)]


def test_the_check_is_that_of_the_blobs_as_they_are(before: Before, keep: Callable[[np.ndarray], list[str]]) -> None:
    if not isinstance(before, BufferDigests):
        assert before.check(KEY) == ""
        return
    chosen, array = random.Random(0), made()
    seen = set()
    for step in range(24):
        if step % 3:
            at = chosen.randrange(len(array))
            array[at : at + chosen.choice([1, BLOCK, 3 << 20])] ^= 1
        keep(array)
        seen.add(before.check(KEY))
        digest = before.blocks._digest
        assert before.check(KEY) == check_of([digests_of(piece, digest) for piece in pieces(array)], digest)
    assert len(seen) == 17
