"""Files go in and come out; nothing that code left in the workspace leads out of it."""

import contextlib
import hashlib
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.base import Sandbox, SandboxUnavailableError
from sandboxes.results import WorkspaceFile
from tests.contract.conftest import Run, fine, printed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source.csv"
    file.write_bytes(b"a,b\n1,2\n")
    return file


async def test_a_file_goes_in_and_comes_out(any_sandbox: Sandbox, source: Path, tmp_path: Path) -> None:
    await any_sandbox.put(source, "inputs/deep/data.csv")
    assert await any_sandbox.files("inputs") == [WorkspaceFile("inputs/deep/data.csv", 8)]
    assert await any_sandbox.files(".") == [WorkspaceFile("inputs/deep/data.csv", 8)]
    fetched = await any_sandbox.fetch("inputs/deep/data.csv", tmp_path / "back.csv", max_bytes=8)
    assert (tmp_path / "back.csv").read_bytes() == source.read_bytes()
    assert (fetched.path, fetched.size) == ("inputs/deep/data.csv", 8)
    assert fetched.sha256 == hashlib.sha256(source.read_bytes()).hexdigest()


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "", "a\0b"])
async def test_paths_that_leave_the_workspace_are_refused(any_sandbox: Sandbox, source: Path, path: str) -> None:
    with pytest.raises(ValueError, match="workspace"):
        await any_sandbox.put(source, path)
    with pytest.raises(ValueError, match="workspace"):
        await any_sandbox.fetch(path, source.with_name("back"), max_bytes=100)


async def test_a_missing_file_or_folder(any_sandbox: Sandbox, source: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await any_sandbox.fetch("outputs/none", source.with_name("back"), max_bytes=100)
    with pytest.raises(FileNotFoundError):
        await any_sandbox.fetch("outputs", source.with_name("back"), max_bytes=100)
    with pytest.raises(FileNotFoundError):
        await any_sandbox.put(source.with_name("none"), "inputs/none")
    assert await any_sandbox.files("outputs/none") == []
    assert not source.with_name("back").exists()


async def test_a_file_that_is_too_large_is_refused_whole(any_sandbox: Sandbox, source: Path) -> None:
    await any_sandbox.put(source, "outputs/data.csv")
    with pytest.raises(ValueError, match="8 bytes, more than the 7"):
        await any_sandbox.fetch("outputs/data.csv", source.with_name("back"), max_bytes=7)
    assert list(source.parent.glob("*back*")) == []
    assert list(source.parent.glob(".stepwell*")) == []


async def test_reset_keeps_the_inputs_only(any_sandbox: Sandbox, source: Path) -> None:
    await any_sandbox.put(source, "inputs/data.csv")
    await any_sandbox.put(source, "outputs/deep/data.csv")
    await any_sandbox.reset()
    assert await any_sandbox.files(".") == [WorkspaceFile("inputs/data.csv", 8)]
    assert any_sandbox.head == ""


async def test_closing_twice_is_allowed_and_keeps_the_files(any_sandbox: Sandbox, source: Path) -> None:
    await any_sandbox.put(source, "outputs/data.csv")
    await any_sandbox.close()
    await any_sandbox.close()
    assert await any_sandbox.files("outputs") == [WorkspaceFile("outputs/data.csv", 8)]


async def test_inputs_can_be_read_and_replaced_but_are_read_only(sandbox: Sandbox, run: Run, source: Path) -> None:
    await sandbox.put(source, "inputs/data.csv")
    assert printed(await run("import os\nprint(oct(os.stat('inputs/data.csv').st_mode & 0o777))")) == "0o444\n"
    source.write_bytes(b"new")
    await sandbox.put(source, "inputs/data.csv")
    assert printed(await run("print(open('inputs/data.csv').read())")) == "new\n"


TRAPS = """
import os, socket
open('outputs/good.txt', 'w').write('good')
os.symlink({secret!r}, 'outputs/link.txt')
os.symlink({folder!r}, 'outputs/folder')
os.symlink('good.txt', 'outputs/inner.txt')
os.symlink('/proc/self/environ', 'outputs/environ.txt')
os.mkfifo('outputs/pipe.txt')
try: os.link({secret!r}, 'outputs/hard.txt')
except OSError: pass
with open('outputs/sparse.bin', 'wb') as file: file.truncate(900 << 20)
open(b'outputs/bad-\\xff.txt', 'w').close()
open('outputs/line\\nend.txt', 'w').close()
os.makedirs('outputs/sub'); open('outputs/sub/x', 'w').close()
"""


async def test_traps_are_not_followed(sandbox: Sandbox, run: Run, tmp_path: Path, own_folder: Path) -> None:
    folder = tmp_path / "outside"
    folder.mkdir()
    secret = folder / "secret.txt"
    secret.write_text("secret")
    fine(await run(TRAPS.format(secret=str(secret), folder=str(folder))))
    with contextlib.suppress(FileExistsError):  # a sandbox that sees no such file cannot link to it
        (own_folder / "workspace/outputs/hard.txt").hardlink_to(secret)
    assert await sandbox.files("outputs") == [
        WorkspaceFile("outputs/bad-\udcff.txt", 0),
        WorkspaceFile("outputs/good.txt", 4),
        WorkspaceFile("outputs/line\nend.txt", 0),
        WorkspaceFile("outputs/sparse.bin", 900 << 20),
        WorkspaceFile("outputs/sub/x", 0),
    ]
    assert await sandbox.files("outputs/folder") == []
    target = tmp_path / "target"
    for name in ("link.txt", "folder/secret.txt", "inner.txt", "environ.txt", "pipe.txt", "hard.txt", "folder", "sub"):
        with pytest.raises(FileNotFoundError):
            await sandbox.fetch(f"outputs/{name}", target, max_bytes=1 << 20)
    with pytest.raises(ValueError, match="943,718,400 bytes"):
        await sandbox.fetch("outputs/sparse.bin", target, max_bytes=1 << 20)
    assert not target.exists()


async def test_put_does_not_write_through_links(sandbox: Sandbox, run: Run, source: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "there.csv").write_text("untouched")
    code = f"import os\nos.symlink({str(outside)!r}, 'out')\nos.symlink({str(outside / 'there.csv')!r}, 'there.csv')"
    fine(await run(code))
    with pytest.raises(ValueError, match="not a folder of the workspace"):
        await sandbox.put(source, "out/data.csv")
    await sandbox.put(source, "there.csv")
    assert (outside / "there.csv").read_text() == "untouched"
    assert sorted(path.name for path in outside.iterdir()) == ["there.csv"]
    assert printed(await run("print(os.path.islink('there.csv'))")) == "False\n"


async def test_put_into_the_place_of_a_folder_is_refused(sandbox: Sandbox, source: Path) -> None:
    with pytest.raises(ValueError, match="folder"):
        await sandbox.put(source, "outputs")
    assert await sandbox.files(".") == []


async def test_reset_empties_everything(sandbox: Sandbox, run: Run, source: Path, tmp_path: Path) -> None:
    await sandbox.put(source, "inputs/data.csv")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    left = printed(await run("import os, tempfile\nprint(os.listdir(tempfile.gettempdir()))"))
    code = f"""
x = 1
import os, tempfile
os.makedirs('locked/inner'); open('locked/inner/file', 'w').close()
os.chmod('locked/inner', 0); os.chmod('locked', 0o555)
os.rmdir('figures'); os.symlink({str(outside)!r}, 'figures')
open(os.path.join(tempfile.gettempdir(), 'left'), 'w').close()
"""
    fine(await run(code, head="one"))
    assert sandbox.head == "one"
    await sandbox.reset()
    assert sandbox.head == ""
    assert (outside / "kept.txt").exists()
    code = "import os, tempfile\nprint('x' in dir(), sorted(os.listdir()), os.listdir(tempfile.gettempdir()))"
    assert printed(await run(code)) == f"False ['figures', 'inputs', 'outputs'] {left}"
    assert printed(await run("print(open('inputs/data.csv').read())")) == "a,b\n1,2\n\n"


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file may grow beyond a megabyte: what a full disk looks like to whoever writes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("any_sandbox", ["local", "fake"], indirect=True)  # Daytona's disk is filled among its faults
async def test_a_full_disk_is_one_clear_sentence(any_sandbox: Sandbox, source: Path, small_disk: None) -> None:
    with source.open("r+b") as file:
        file.truncate(1 << 20)
    await any_sandbox.put(source, "inputs/fits.csv")
    endless = Path("/dev/zero")
    with pytest.raises(SandboxUnavailableError, match=r"^There is no room left .*STEPWELL_HOME\.$"):
        await any_sandbox.put(endless, "inputs/large.csv")
    assert await any_sandbox.files(".") == [WorkspaceFile("inputs/fits.csv", 1 << 20)]


async def test_a_name_that_the_disk_refuses_is_one_clear_sentence(any_sandbox: Sandbox, source: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match="cannot be written"):
        await any_sandbox.put(source, "inputs/" + "x" * 300)
    assert await any_sandbox.files(".") == []
