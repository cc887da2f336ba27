"""Blobs that a sandbox gets are the store's own files only where it can do nothing to them."""

import asyncio
from pathlib import Path

import pytest

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.host import blobs
from sandboxes.inside.zygote.private_root import OWN
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.contract.conftest import fine, printed

NAME = "a" * 64
TRY = f"""
import os
folder = {OWN + "/blobs"!r}
def tried(what, *arguments):
    try: what(*arguments)
    except OSError as error: return error.strerror
    return "done"
for name in os.listdir(folder):
    path = os.path.join(folder, name)
    said = {{tried(os.chmod, path, 0o600), tried(os.truncate, path, 0), tried(os.utime, path),
             tried(os.unlink, path), tried(os.rename, path, path + "x"), tried(lambda: open(path, "r+b")),
             tried(os.link, path, "mine"), tried(os.setxattr, path, "user.a", b"b")}}
    if "done" in said: print("changed", said)
print(len(os.listdir(folder)) > 3)
"""


@pytest.mark.parametrize("level", ["namespaces", pytest.param("landlock", marks=pytest.mark.slow)])
async def test_no_cell_can_change_the_store_by_the_blobs_that_it_has(tmp_path: Path, cache: Path, level: str) -> None:
    store = SnapshotStore(Blobs.at(str(tmp_path / "blobs")))
    async with Sandboxes(tmp_path / "s", cache=cache, isolation=level) as opened:
        sandbox = await opened.open("local", "one")
        fine(await sandbox.run("import numpy as np; x = np.random.rand(1_000_000)", number=1, timeout=60.0))
        kept = await store.keep(sandbox, [], limit_bytes=1 << 30)
        await store.restore(sandbox, kept.snapshot, damaged=set())
        there = list((tmp_path / "s" / "one" / "blobs").iterdir())
        linked = [file for file in there if file.stat().st_nlink > 1]
        assert linked if level == "namespaces" else not linked
        before = {file: (file.stat().st_mode, file.stat().st_mtime_ns, file.read_bytes()) for file in linked}
        if level == "namespaces":
            assert printed(await sandbox.run(TRY, number=2, timeout=60.0)) == "True\n"
        assert before == {file: (file.stat().st_mode, file.stat().st_mtime_ns, file.read_bytes()) for file in linked}
        assert all(file.stat().st_nlink > 1 for file in linked)


def left_by_another(store: Path, folder: Path) -> None:
    store.mkdir()
    folder.mkdir(parents=True)
    (store / NAME).write_bytes(b"content")
    blobs.supply(folder, [store / NAME], link=True)
    assert (folder / NAME).stat().st_nlink == 2


@pytest.mark.slow
async def test_a_weaker_level_does_not_find_links_that_another_left(tmp_path: Path, cache: Path) -> None:
    store, folder = tmp_path / "store", tmp_path / "s" / "one" / "blobs"
    await asyncio.to_thread(left_by_another, store, folder)
    async with Sandboxes(tmp_path / "s", cache=cache, isolation="landlock") as opened:
        sandbox = await opened.open("local", "one")
        fine(await sandbox.run("1", number=1, timeout=60.0))
        assert not await asyncio.to_thread((folder / NAME).exists)
    assert await asyncio.to_thread((store / NAME).read_bytes) == b"content"


def test_what_others_may_not_read_is_copied(tmp_path: Path) -> None:
    store, folder = tmp_path / NAME, tmp_path / "blobs"
    store.write_bytes(b"content")
    store.chmod(0o600)
    blobs.supply(folder, [store], link=True)
    assert (folder / NAME).read_bytes() == b"content"
    assert store.stat().st_nlink == 1
    assert not store.samefile(folder / NAME)
