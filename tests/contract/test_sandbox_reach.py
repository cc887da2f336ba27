"""What a cell reaches outside of its sandbox is noted, before it happens; what it does inside is not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from tests.contract.conftest import Run, fine, has_shared_memory

HERE = "import os, socket, subprocess, sqlite3, urllib.request, pathlib\n"
CALL = "s = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(s.getsockname()).close()\n"

OUTSIDE = {
    "a connection": (CALL, "network 127.0.0.1"),
    "a datagram": ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", "network 127.0.0.1"),
    "a page": ("try: urllib.request.urlopen('http://127.0.0.1:9')\nexcept OSError: pass", "network 127.0.0.1"),
    "a program": ("subprocess.run(['true'])", "program true"),
    "a shell": ("os.system('true')", "program true"),
    "a shell's line": ("subprocess.run('true', shell=True)", "program /bin/sh"),
    "a file": ("open(OUT / 'a.txt', 'a').close()", "file {out}/a.txt"),
    "a file by number": ("os.close(os.open(OUT / 'a', os.O_CREAT | os.O_WRONLY))", "file {out}/a"),
    "a removed file": ("(OUT / 'there').unlink()", "file {out}/there"),
    "a file that is moved out": ("open('a', 'w').close(); os.rename('a', OUT / 'a')", "file {out}/a"),
    "a folder": ("(OUT / 'folder').mkdir()", "file {out}/folder"),
    "a file through a link": ("os.symlink(OUT, 'link'); open('link/a', 'w').close()", "file {out}/a"),
    "a database": ("sqlite3.connect(OUT / 'a.db').close()", "file {out}/a.db"),
    "a process": ("os.kill(os.getppid(), 0)", "signal to process"),
    "a child's doing": (
        "pid = os.fork()\nif not pid:\n    open(OUT / 'a', 'w').close(); os._exit(0)\nos.waitpid(pid, 0)",
        "file {out}/a",
    ),
    "an address for compiled code": ("'s3://bucket/table.parquet'", "an address (s3://…)"),
}

INSIDE = {
    "nothing": "x = 1",
    "a file": "open('outputs/a.txt', 'w').write('x')",
    "a temporary file": "import tempfile\nopen(tempfile.mkstemp()[1], 'w').close()",
    "its home": "pathlib.Path.home().joinpath('x').write_text('x')",
    "a file that is only read": "open('/usr/bin/env', 'rb').read(); os.listdir('/usr')",
    "a database": "sqlite3.connect('outputs/a.db').execute('create table t (a)'); sqlite3.connect(':memory:')",
    "a figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('outputs/a.png')",
    "the machine": "import platform\nplatform.uname(), platform.processor()",
    "a model on all cores": "from sklearn.ensemble import RandomForestClassifier as R\n"
    "R(3, n_jobs=2).fit([[0], [1]], [0, 1])",
    "nowhere": "open(os.devnull, 'w').close()",
    "the event loop": "import asyncio\nawait asyncio.sleep(0)",
    "a file address": "'file:///tmp/x'",
    "a pool": "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as p: p.map(abs, [1])",
}


@pytest.fixture
async def open_sandbox(tmp_path: Path, cache: Path) -> AsyncIterator[Sandbox]:
    """A sandbox without walls."""
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation="process") as opened:
        yield await opened.open("local", "contract")


@pytest.fixture
def run_open(open_sandbox: Sandbox) -> Run:
    async def run(code: str, *, head: str = "") -> CellResult:
        return await open_sandbox.run(code, number=1, timeout=60.0, head=head)

    return run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "there").touch()
    return folder


@pytest.mark.parametrize("what", OUTSIDE)
async def test_what_a_cell_reaches_outside_is_noted(open_sandbox: Sandbox, run_open: Run, out: Path, what: str) -> None:
    code, expected = OUTSIDE[what]
    fine(await run_open(HERE + f"OUT = pathlib.Path({str(out)!r})", head="before"))
    result = await run_open(code, head="after")
    expected = expected.format(out=out)
    note = await open_sandbox.reached()
    assert note.head == "after"
    assert any(found.startswith(expected) for found in note.what), note.what
    assert result.reached == note.what


async def test_what_a_cell_does_inside_is_no_reach(sandbox: Sandbox, run: Run) -> None:
    fine(await run(HERE, head="before"))
    for what, code in INSIDE.items():
        if what == "a pool" and not has_shared_memory(sandbox):
            continue
        assert fine(await run(code, timeout=120)).reached == (), what
        assert (await sandbox.reached()).what == (), what


@pytest.mark.parametrize("what", OUTSIDE)
async def test_behind_walls_nothing_is_reached(sandboxes: Sandboxes, out: Path, what: str) -> None:
    sandbox = await sandboxes.open("local", "walled")
    code, _ = OUTSIDE[what]
    fine(await sandbox.run(HERE + f"OUT = pathlib.Path({str(out)!r})", number=1, timeout=60))
    before = await asyncio.to_thread(lambda: sorted(out.iterdir()))
    result = await sandbox.run(code, number=2, timeout=60)
    assert result.reached == ()
    assert await asyncio.to_thread(lambda: sorted(out.iterdir())) == before


async def test_the_note_is_there_when_the_cell_dies(run_open: Run) -> None:
    fine(await run_open(HERE))
    result = await run_open(f"{CALL}os.kill(os.getpid(), 9)", head="after")
    assert result.status == "killed"
    assert result.reached == ("network 127.0.0.1",)


async def test_the_next_cell_begins_with_nothing(run_open: Run) -> None:
    fine(await run_open(HERE + CALL))
    assert fine(await run_open("x = 1", head="after")).reached == ()


async def test_a_cell_that_reaches_for_everything_is_noted_in_a_bounded_way(run_open: Run) -> None:
    many = (
        "import os\nfor n in range(10_000):\n    try: os.rmdir(f'/nowhere/{n}' + 'x' * 500)\n    except OSError: pass"
    )
    result = await run_open(many)
    assert len(result.reached) == 20
    assert all(len(one) <= 200 for one in result.reached)


async def test_any_sandbox_names_where_its_note_is(any_sandbox: Sandbox) -> None:
    first = await any_sandbox.reached()
    assert first.sandbox
    assert (await any_sandbox.reached()).sandbox == first.sandbox
