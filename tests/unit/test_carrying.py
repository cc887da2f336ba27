"""Inputs come into a sandbox that lacks them."""

import hashlib
from pathlib import Path

from graph.state import Input
from nodes.inputs import supply_inputs
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.fake import FakeSandbox
from storage.blobs import Blobs


def brought(name: str, content: bytes) -> Input:
    return Input(
        path=f"inputs/{name}", source=name, size=len(content), sha256=hashlib.sha256(content).hexdigest(), abstract="",
        problem="",
    )  # fmt: skip


async def test_an_empty_input_comes_along_and_one_that_is_nowhere_is_named(tmp_path: Path) -> None:
    sandbox = FakeSandbox(tmp_path / "sandbox")
    snapshots = SnapshotStore(Blobs.at(str(tmp_path / "blobs")))
    inputs = [brought("empty.csv", b""), brought("gone.csv", b"a,b")]
    problems = await supply_inputs(sandbox, {"inputs": inputs}, snapshots)
    assert problems == ["inputs/gone.csv is no longer in the workspace"]
    assert [(one.path, one.size) for one in await sandbox.files("inputs")] == [("inputs/empty.csv", 0)]
