"""Steps with large groups of plain objects are what they were, whether the groups have changed or not."""

from pathlib import Path

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.contract.conftest import fine, printed

MAKE = """
them = [{"id": i, "name": f"name {i}", "tags": [i % 7, i % 3], "score": i / 7, "pair": (i, [i])} for i in range(6_000)]
more = {f"key {i}": {i: [str(i)]} for i in range(9_000)}
"""
CELLS = (
    "pass",
    "pass",
    "them[4_000]['tags'].append('new')",
    "pass",
    "import gc; gc.collect(); total = sum(one['score'] for one in them)",
    "more['key 5'][5][0] += 'x'",
    "one = them[77]",
    "one['pair'][1].clear(); del one",
    "them[4_001], them[4_000] = them[4_000], them[4_001]",
    "pass",
    "pass",
    "del them[10:]",
    "them.clear(); gc.collect()",
)
LOOK = "import hashlib; print(hashlib.sha256(repr((them, more)).encode()).hexdigest())"


async def test_each_step_comes_back_as_it_was(tmp_path: Path, cache: Path) -> None:
    store = SnapshotStore(Blobs.at(str(tmp_path / "blobs")))
    steps = []
    async with Sandboxes(tmp_path / "s", cache=cache) as opened:
        sandbox = await opened.open("local", "first")
        for number, code in enumerate((MAKE, *CELLS), 1):
            fine(await sandbox.run(code, number=number, timeout=60.0))
            had = printed(await sandbox.run(LOOK, number=0, timeout=60.0))
            kept = await store.keep(sandbox, [], limit_bytes=1 << 30)
            assert kept.snapshot, kept.why_not
            steps.append((kept.snapshot, had))
    async with Sandboxes(tmp_path / "other", cache=cache) as opened:
        other = await opened.open("local", "second")
        for snapshot, had in (*steps, steps[2]):
            await store.restore(other, snapshot, damaged=set())
            assert printed(await other.run(LOOK, number=0, timeout=60.0)) == had
