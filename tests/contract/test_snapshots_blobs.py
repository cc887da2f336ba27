"""Snapshots are whole or not there at all, only what is new is written, and damage is found before loading."""

# ruff: noqa: E501 (the lines of cells)

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sandboxes.base import SandboxLostError, SnapshotMissingError
from tests.contract.conftest import Steps


def named(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


def manifest_of(blobs: dict[str, bytes], id: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(blobs[id])
    return content


async def test_every_blob_is_what_its_name_says_and_the_manifest_names_them_all(steps: Steps) -> None:
    await steps.run("import numpy as np; a = np.arange(1_000_000); s = 'x'; open('f', 'w').write('file')")
    taken = await steps.keep()
    blobs = await asyncio.to_thread(named, steps.folder("spool"))
    assert {name: hashlib.sha256(data).hexdigest() for name, data in blobs.items()} == {name: name for name in blobs}
    manifest = manifest_of(blobs, taken.id)
    assert manifest["format"] == 1
    assert manifest["blobs"] == sorted(set(blobs) - {taken.id})
    assert set(taken.new) == set(blobs)
    assert taken.new[-1] == taken.id
    assert taken.bytes == sum(map(len, blobs.values()))
    assert manifest["packages"].keys() >= {"numpy"}
    assert manifest["files"]["f"]["chunks"] == [hashlib.sha256(b"file").hexdigest()]


async def test_only_what_changed_is_written_and_a_cell_that_changes_nothing_writes_nothing(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, pandas as pd
        df = pd.DataFrame({f"c{i}": np.random.rand(200_000) for i in range(8)})
        many = {f"k{i}": [i] for i in range(50_000)}
        items = [f"text {i}" for i in range(100)]
    """)
    first = await steps.keep()
    assert first.bytes > 12_000_000
    again = await steps.keep()
    assert (again.id, again.new, again.bytes) == (first.id, (), 0)
    await steps.run("df.loc[5, 'c3'] = 7")
    assert (await steps.keep()).bytes < 1_700_000, "one column of eight was changed"
    await steps.run("df['c9'] = 1.0; items.append('more')")
    assert (await steps.keep()).bytes < 1_700_000


WRITES = (
    "a[5_000_000:5_008_192] += 1",
    "io.BytesIO(os.urandom(8_192)).readinto(memoryview(a)[9_000_000:9_008_192])",
    "end = os.open('b', os.O_CREAT | os.O_RDWR); os.pwrite(end, os.urandom(8_192), 0); "
    "os.preadv(end, [memoryview(a)[100:8_292]], 0); os.close(end); os.remove('b'); del end",
    "t = threading.Thread(target=lambda: a[20 << 20 : (20 << 20) + 8_192].sort()); t.start(); t.join(); del t",
    "ctypes.memset(a.ctypes.data + (23 << 20) + 7, 9, 8_192)",
)
"""What writes 8 kB into an array: Python, C, the system, another thread, an address."""


async def test_small_changes_of_a_large_array_take_little_and_come_back(steps: Steps) -> None:
    await steps.run("""
        import ctypes, hashlib, io, os, threading
        import numpy as np
        a = np.random.default_rng(0).integers(0, 255, 24 << 20, dtype="u1")
        mark = lambda: hashlib.sha256(a).hexdigest()
    """)
    assert (await steps.keep()).bytes > 24 << 20
    marks: list[tuple[str, str]] = []
    for write in WRITES:
        said = await steps.run(f"{write}\nprint(mark())")
        taken = await steps.keep()
        assert 0 < taken.bytes < 150_000
        marks.append((taken.id, said))
    assert len({said for _, said in marks}) == len(WRITES)
    for id, said in (marks[1], marks[-1]):
        await steps.take_up_at(id)
        assert await steps.run("print(mark())") == said
    said = await steps.run("a[::3 << 20] ^= 1; print(mark())")
    assert (await steps.keep()).bytes < 400_000, "what was restored is known, with its patches"
    await steps.take_up()
    assert await steps.run("print(mark())") == said


@pytest.mark.parametrize(
    "change",
    [
        "alias.iloc[0, 0] = 5.0",
        "change()",
        "globals()['d' + 'f'].iloc[0, 0] = 5.0",
        "held[0]['k'].iloc[0, 0] = 5.0",
        "import ctypes; ctypes.memset(df['a'].to_numpy().ctypes.data, 64, 8)",
        "import gc; [f for f in gc.get_objects() if isinstance(f, pd.DataFrame) and f is df][0].iloc[0, 0] = 5.0",
        "import threading; t = threading.Thread(target=change); t.start(); t.join(); del t",
    ],
)
async def test_a_change_is_noticed_however_it_is_made(steps: Steps, change: str) -> None:
    await steps.run("""
        import numpy as np, pandas as pd
        df = pd.DataFrame({"a": np.zeros(10_000), "b": np.ones(10_000)})
        alias, held = df, ({"k": df},)
        def change(): df.iloc[0, 0] = 5.0
    """)
    await steps.keep()
    await steps.run(change)
    value = await steps.run("print(df.iloc[0, 0])")
    assert value != "0.0\n"
    await steps.take_up()
    assert await steps.run("print(df.iloc[0, 0])") == value


async def test_a_snapshot_that_is_too_large_is_refused_and_leaves_nothing(steps: Steps) -> None:
    await steps.run(
        "import numpy as np; small = [1]; huge = np.random.rand(500_000); open('large.bin', 'wb').write(bytes(range(256)) * 4_000)"
    )
    kept = await steps.keep()
    before = await asyncio.to_thread(named, steps.folder("spool"))
    await steps.run("huge += 1; more = np.random.rand(300_000)")
    refused = await steps.sandbox.snapshot(limit_bytes=3_000_000)
    assert refused.id == ""
    assert "more than the 3.0 MB" in refused.refused
    assert "huge" in refused.refused
    assert await asyncio.to_thread(named, steps.folder("spool")) == before
    await steps.run("huge -= 0; del more; open('huge.bin', 'wb').write(__import__('os').urandom(9_000_000))")
    refused = await steps.sandbox.snapshot(limit_bytes=5_000_000)
    assert "huge.bin (9.0 MB)" in refused.refused
    assert await asyncio.to_thread(named, steps.folder("spool")) == before
    taken = await steps.keep()
    assert taken.id != kept.id
    await steps.take_up_at(taken.id)
    assert await steps.run("print(small, len(huge))") == "[1] 500000\n"


@pytest.mark.slow
async def test_a_flipped_bit_or_a_missing_blob_is_named_and_nothing_is_loaded(steps: Steps) -> None:
    await steps.run("import numpy as np; a = np.arange(300_000); b = [1]; open('f.bin', 'wb').write(b'f' * 2_000_000)")
    taken = await steps.keep()
    blobs = await asyncio.to_thread(named, steps.folder("spool"))
    for name in sorted(blobs)[: 1 if steps.elsewhere else len(blobs)]:
        for damaged in (None, bytes([blobs[name][0] ^ 1]) + blobs[name][1:], blobs[name] + b"x"):
            await steps.open()
            await steps.run("x = 1; open('mine', 'w').write('x')")
            await asyncio.to_thread(_write, steps.folder("blobs"), {**blobs, name: damaged})
            with pytest.raises(SnapshotMissingError, match=name):
                await steps.sandbox.restore(taken.id)
            assert steps.sandbox.head == ""
            assert await steps.run("print('a' in globals(), __import__('os').path.exists('f.bin'))") == "False False\n"


def _write(folder: Path, blobs: dict[str, bytes | None]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in blobs.items():
        if data is not None:
            (folder / name).write_bytes(data)


async def test_a_snapshot_of_another_python_gives_its_data_and_its_definitions(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, pandas as pd
        def f(): return 1
        class C: pass
        c, data, df, g = C(), {"a": [1]}, pd.DataFrame({"a": [1, 2], "s": ["x", "y"]}), lambda: 1
        c.held = df
    """)
    taken = await steps.keep()
    blobs = await asyncio.to_thread(named, steps.folder("spool"))
    manifest = manifest_of(blobs, taken.id)
    manifest["cache_tag"], manifest["python"], manifest["packages"]["pandas"] = "cpython-399", "3.99.0", "0.1"
    other = json.dumps(manifest).encode()
    id = hashlib.sha256(other).hexdigest()
    await steps.open()
    await asyncio.to_thread(_write, steps.folder("blobs"), {**blobs, id: other})
    receipt = await steps.sandbox.restore(id)
    assert {one.name for one in receipt.lost} == {"g"}
    assert all("cpython-399" in one.reason for one in receipt.lost)
    assert receipt.restored == ("np", "pd", "f", "C", "c", "data", "df")
    assert receipt.versions[0].startswith("Python 3.99.0 -> 3.")
    assert receipt.versions[1].startswith("pandas 0.1 -> ")
    assert receipt.versions[2] == "defined again from their source: f, C"


async def test_a_snapshot_of_a_later_format_is_refused(steps: Steps) -> None:
    for content in (b'{"format": 99}', b"no manifest"):
        id = hashlib.sha256(content).hexdigest()
        await asyncio.to_thread(_write, steps.folder("blobs"), {id: content})
        with pytest.raises(SnapshotMissingError):
            await steps.sandbox.restore(id)


async def test_a_restored_session_writes_only_what_is_new(steps: Steps) -> None:
    await steps.run("""
        import numpy as np, pandas as pd
        df = pd.DataFrame({"a": np.random.rand(300_000), "s": ["text"] * 300_000})
        arrays = [np.random.rand(1_000), np.asfortranarray(np.random.rand(300, 300))]
        small = {f"k{i}": i for i in range(1_000)}
        def f(): return small
        class C: pass
    """)
    first = await steps.take_up()
    assert first.lost == ()
    taken = await steps.keep()
    assert taken.bytes < 40_000, "a session that was only restored has nothing new but its manifest and small streams"
    await steps.take_up()
    assert await steps.run("print(len(df), f() is small, float(df['a'].sum()) > 0)") == "300000 True True\n"


async def test_the_head_is_the_snapshot(steps: Steps) -> None:
    await steps.run("x = 1")
    taken = await steps.keep()
    assert steps.sandbox.head == taken.id
    await steps.take_up_at(taken.id)
    assert steps.sandbox.head == taken.id
    await steps.run("x = 2")
    assert steps.sandbox.head == ""


async def test_blobs_leave_the_spool_and_a_name_that_is_none_is_refused(steps: Steps, tmp_path: Path) -> None:
    await steps.run("x = 1")
    taken = await steps.keep()
    await steps.sandbox.take_blobs(taken.new, tmp_path / "out")
    assert (await asyncio.to_thread(named, tmp_path / "out")).keys() == set(taken.new)
    await steps.sandbox.drop_blobs(taken.new)
    await steps.sandbox.supplied_blobs()  # at the latest with what is asked next
    assert await asyncio.to_thread(named, steps.folder("spool")) == {}
    with pytest.raises(SnapshotMissingError):
        await steps.sandbox.take_blobs(taken.new[:1], tmp_path / "out")
    with pytest.raises(ValueError, match="not the name of a blob"):
        await steps.sandbox.take_blobs(["../../etc/passwd"], tmp_path / "out")
    with pytest.raises(SnapshotMissingError):
        await steps.sandbox.restore("0" * 64)


async def test_a_blob_that_is_named_from_two_folders_is_given_once(steps: Steps, tmp_path: Path) -> None:
    data = [bytes([number]) * 1_000_000 for number in range(20)]
    files = [tmp_path / side / hashlib.sha256(one).hexdigest() for one in data for side in ("here", "there")]
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    for file, one in zip(files, (one for one in data for _ in range(2)), strict=True):
        await asyncio.to_thread(file.write_bytes, one)
    await steps.sandbox.supply_blobs(files)
    assert await steps.sandbox.supplied_blobs() >= {file.name for file in files}


async def test_code_that_dies_while_it_is_pickled_leaves_no_snapshot(steps: Steps) -> None:
    await steps.run("""
        import copyreg, os
        class Dies:
            def __init__(self): self.left_out = (one for one in "")  # so that the class is asked
        copyreg.pickle(Dies, lambda one: os._exit(7))
        big = list(range(100_000)); dies = Dies()
    """)
    with pytest.raises(SandboxLostError):
        await steps.sandbox.snapshot(limit_bytes=1 << 30)
    left = await asyncio.to_thread(named, steps.folder("spool"))
    assert not [data for data in left.values() if data.startswith(b'{"')], "a manifest would make it visible"
    with pytest.raises(SandboxLostError, match="between two cells"):
        await steps.run("print(big)")
    assert await steps.run("print('big' in globals())") == "False\n"
    await steps.keep()
    left = await asyncio.to_thread(named, steps.folder("spool"))
    assert not [name for name in left if name.startswith(".")]
