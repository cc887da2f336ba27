"""A file is published once, and again when it is not there any more."""

import asyncio
import hashlib
from pathlib import Path

import fsspec
import pytest

from nodes.upload import Publisher
from storage.artifacts import Artifacts


@pytest.mark.parametrize("remote", [False, True])
async def test_a_file_that_was_removed_is_published_again(tmp_path: Path, remote: bool) -> None:
    destination = "memory://published" if remote else str(tmp_path / "artifacts")
    file = tmp_path / "file"
    file.write_bytes(b"a,b")
    sha256 = hashlib.sha256(b"a,b").hexdigest()
    publisher = Publisher(Artifacts.at(destination), "thread", tmp_path, {})
    first, new = await publisher.publish("data/t.csv", file, size=3, sha256=sha256, cell=1)
    assert new
    publisher.known["data/t.csv"] = first
    assert await publisher.publish("data/t.csv", file, size=3, sha256=sha256, cell=2) == (first, False)
    filesystem, path = await asyncio.to_thread(fsspec.url_to_fs, first["url"])
    await asyncio.to_thread(filesystem.rm, path)
    assert (await publisher.publish("data/t.csv", file, size=3, sha256=sha256, cell=2))[1]
    assert await asyncio.to_thread(filesystem.exists, path)
