"""The workspace comes back exactly as it was."""

# ruff: noqa: E501 (the lines of cells)

import asyncio
import os
from pathlib import Path

import pytest

from tests.contract.conftest import Steps

LIST = r"""
import hashlib, os, stat
for folder, folders, names in sorted(os.walk(".")):
    folders[:] = sorted(name for name in folders if name not in ("inputs", "__pycache__"))
    for name in sorted(names + [n for n in folders]):
        path = os.path.join(folder, name); s = os.lstat(path)
        what = os.readlink(path) if stat.S_ISLNK(s.st_mode) else "folder" if stat.S_ISDIR(s.st_mode) else hashlib.sha256(open(path, "rb").read()).hexdigest()[:8]
        print(path, oct(s.st_mode), what, s.st_mtime_ns if stat.S_ISREG(s.st_mode) else "")
"""


async def test_files_folders_links_permissions_and_times(steps: Steps) -> None:
    await steps.run(r"""
        import os
        os.makedirs("a/b/empty"); open("a/b/x.txt", "w").write("x"); open("a/none", "w").close()
        os.symlink("b/x.txt", "a/link"); os.symlink("b", "a/folder"); os.symlink("nowhere", "dangling")
        open("run.sh", "w").write("#!/bin/sh\n"); os.chmod("run.sh", 0o755); os.chmod("a/b/x.txt", 0o400); os.chmod("a/b/empty", 0o500)
        open("big.bin", "wb").write(os.urandom(3_500_000)); open("outputs/ü 1.txt", "w").write("ü")
        os.utime("run.sh", ns=(5, 1_234_567_890_123_456_789))
        open(b"\xff.bin", "wb").write(b"1")
    """)
    before = await steps.run(LIST)
    assert "big.bin" in before
    await steps.take_up()
    assert await steps.run(LIST) == before


async def test_the_workspace_is_made_exactly_so(steps: Steps) -> None:
    await steps.run("""
        import os
        os.makedirs("kept"); open("kept/a", "w").write("a"); open("changed", "w").write("old"); open("gone", "w").write("gone"); open("file", "w").write("f")
    """)
    first = await steps.keep()
    await steps.run("""
        import shutil
        open("changed", "w").write("new"); os.remove("gone"); open("added", "w").write("x"); shutil.rmtree("kept"); open("kept", "w").write("a file now")
        os.remove("file"); os.makedirs("file/deep"); os.makedirs("locked/in"); os.chmod("locked", 0)
        open("same-size", "w").write("aaa")
    """)
    await asyncio.to_thread((steps.folder("workspace") / "inputs" / "mine.csv").write_text, "1")
    second = await steps.keep()
    listed = await steps.run(LIST)
    spool = await asyncio.to_thread(lambda: list(steps.folder("spool").iterdir()))
    await steps.sandbox.supply_blobs(spool)
    await steps.sandbox.restore(first.id)
    assert (
        await steps.run("""
        import os
        print(sorted(os.listdir(".")), open("changed").read(), os.listdir("kept"), open("file").read(), os.listdir("inputs"))
    """)
        == "['changed', 'figures', 'file', 'gone', 'inputs', 'kept', 'outputs'] old ['a'] f ['mine.csv']\n"
    )
    await steps.sandbox.restore(second.id)
    assert await steps.run(LIST) == listed


async def test_inputs_are_not_copied(steps: Steps, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    await asyncio.to_thread(source.write_bytes, b"x" * 500_000)
    await steps.sandbox.put(source, "inputs/in.csv")
    await steps.run("x = 1")
    assert (await steps.keep()).bytes < 20_000


async def test_only_what_changed_of_a_large_file_is_stored_again(steps: Steps) -> None:
    await steps.run("import os; open('big', 'wb').write(os.urandom(10 << 20))")
    await steps.keep()
    assert (await steps.keep()).bytes == 0
    await steps.run("f = open('big', 'r+b'); f.seek(5 << 20); f.write(b'changed'); f.close(); del f")
    assert 1 << 20 <= (await steps.keep()).bytes < (1 << 20) + 20_000
    await steps.run("open('big', 'ab').write(b'more')")
    assert (await steps.keep()).bytes < 20_000
    await steps.take_up()
    assert await steps.run("d = open('big', 'rb').read(); print(len(d), d[5 << 20:][:7], d[-4:])") == (
        "10485764 b'changed' b'more'\n"
    )


async def test_a_change_that_keeps_size_and_time_is_noticed(steps: Steps) -> None:
    await steps.run("import os; open('f', 'w').write('one'); s = os.stat('f')")
    await steps.keep()
    await steps.run("open('f', 'w').write('two'); os.utime('f', ns=(s.st_atime_ns, s.st_mtime_ns))")
    await steps.take_up()
    assert await steps.run("print(open('f').read())") == "two\n"


async def test_what_leads_out_of_the_workspace_is_named_and_left_out(steps: Steps) -> None:
    await steps.run("""
        import os
        os.symlink("/etc/passwd", "absolute"); os.symlink("../../..", "upwards"); os.mkfifo("pipe"); open("fine", "w").write("1")
    """)
    taken = await steps.keep()
    assert {(one.name, one.type) for one in taken.lost} == {("absolute", "file"), ("upwards", "file"), ("pipe", "file")}
    await steps.take_up_at(taken.id)
    assert await steps.run(
        "print(os.path.exists('fine'), [os.path.lexists(n) for n in ('absolute', 'upwards', 'pipe')])"
    ) == ("True [False, False, False]\n")


async def test_renamed_files_cost_nothing_and_stale_bytecode_does_not_come_between(steps: Steps) -> None:
    await steps.run("""
        import os
        open("a.bin", "wb").write(os.urandom(2 << 20)); open("tool.py", "w").write("V = 1"); os.utime("tool.py", (1, 1))
        import tool
    """)
    first = await steps.keep()
    await steps.run("os.rename('a.bin', 'b.bin'); open('tool.py', 'w').write('V = 2'); os.utime('tool.py', (1, 1))")
    assert (await steps.keep()).bytes < 20_000
    spool = await asyncio.to_thread(lambda: list(steps.folder("spool").iterdir()))
    await steps.run("import importlib; importlib.reload(tool)")
    await steps.sandbox.supply_blobs(spool)
    await steps.sandbox.restore(first.id)
    assert await steps.run("print(tool.V, os.path.exists('a.bin'))") == "1 True\n"
    assert os.sep == "/"


async def test_two_names_of_one_file_come_back_whichever_is_met_first(steps: Steps) -> None:
    """In a table of files `a.txt` stands before `a/x`; whoever walks through the folders meets `a/x` first."""
    await steps.run("""
        import os
        os.makedirs("a"); open("a/x", "w").write("1"); os.link("a/x", "a.txt")
    """)
    await steps.take_up()
    assert (
        await steps.run("open('a.txt', 'a').write('2'); print(open('a/x').read(), os.stat('a/x').st_nlink)") == "12 2\n"
    )


async def test_what_is_written_into_a_mapped_file_is_kept(steps: Steps) -> None:
    """Its times change with the first write to a page only, and later ones would be missed."""
    await steps.run("""
        import mmap
        file = open("mapped", "w+b"); file.write(bytes(9_000)); file.flush(); m = mmap.mmap(file.fileno(), 9_000); m[0] = 1
    """)
    for _ in range(10):  # until the file counts as one that nobody writes just now
        await steps.keep()
    await steps.run("m[0] = 2")
    kept = await steps.keep()
    await steps.take_up_at(kept.id)
    assert await steps.run("print(open('mapped', 'rb').read(1))") == "b'\\x02'\n"


@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_what_is_being_written_and_what_is_locked_stay_as_they_are(steps: Steps) -> None:
    await steps.run("""
        import bz2, csv, fcntl, gzip, lzma, sqlite3, subprocess, sys
        written = {one.__name__: one.open("w." + one.__name__, "wt") for one in (gzip, bz2, lzma)}; rows = csv.writer(written["gzip"])
        lock = open("x.lock", "w"); fcntl.lockf(lock, fcntl.LOCK_EX)
        owner = open("y.lock", "w"); fcntl.lockf(owner, fcntl.LOCK_EX); print("4711", file=owner, flush=True)
        con = sqlite3.connect("a.db"); con.execute("create table t (a)"); con.commit(); con.execute("insert into t values (1)")
        def elsewhere(code): return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode
        LOCKS = "import fcntl; fcntl.lockf(open('{}.lock', 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        WRITES = "import sqlite3; sqlite3.connect('a.db', timeout=0, isolation_level=None).execute('insert into t values (9)')"
    """)
    for letter in "abc":
        await steps.run(f"""
            for number in range(5000): rows.writerow([number, "{letter}" * 20])
            for name in ("bz2", "lzma"): written[name].write("{letter}" * 50_000)
        """)
        await steps.keep()
    assert await steps.run("""
        print(elsewhere(LOCKS.format("x")), elsewhere(LOCKS.format("y")), elsewhere(WRITES), open("y.lock").read())
        for one in written.values(): one.close()
        con.commit(); print(con.execute("select * from t").fetchall())
        print([len(one.open("w." + one.__name__, "rt").read()) for one in (gzip, bz2, lzma)])
    """) == ("1 1 1 4711\n\n[(1,)]\n[386670, 150000, 150000]\n")
