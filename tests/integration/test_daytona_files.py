"""The emulated Daytona's files and commands, seen through the real SDK."""

import asyncio
from pathlib import Path

import pytest
from daytona import (
    AsyncSandbox,
    DaytonaError,
    FileDownloadRequest,
    FileUpload,
)
from daytona.common.errors import (
    DaytonaBadRequestError,
    DaytonaForbiddenError,
    DaytonaNotFoundError,
    DaytonaTimeoutError,
)

from tests.daytona.emulator import Emulator


async def test_files_go_up_and_down_in_bulk(sandbox: AsyncSandbox, emulator: Emulator, tmp_path: Path) -> None:
    big = b"0123456789abcdef" * 200_000
    source, target = tmp_path / "source", tmp_path / "target"
    await asyncio.to_thread(source.write_bytes, big)
    before = emulator.counters.copy()
    await sandbox.fs.upload_files(
        [FileUpload(str(source), "new/folder/big"), FileUpload(b"", "empty"), FileUpload(b"small", '名前 "x".txt')]
    )
    got = await sandbox.fs.download_files(
        [
            FileDownloadRequest("new/folder/big", str(target)),
            FileDownloadRequest("empty"),
            FileDownloadRequest('名前 "x".txt'),
            FileDownloadRequest("missing"),
            FileDownloadRequest("new"),
        ]
    )
    spent = emulator.counters - before
    assert await asyncio.to_thread(target.read_bytes) == big
    assert [one.result for one in got[1:3]] == [b"", b"small"]
    assert got[3].error_details is not None
    assert (got[3].error_details.status_code, got[3].error_details.code) == (404, "FILE_NOT_FOUND")
    assert got[4].error is not None
    assert (spent.requests["upload"], spent.requests["download"]) == (1, 1)
    assert spent.uploaded_bytes == spent.downloaded_bytes == len(big) + 5
    assert spent.bytes_up > len(big)
    assert spent.bytes_down > len(big)


async def test_files_are_streamed(sandbox: AsyncSandbox) -> None:
    await sandbox.fs.upload_file_stream(b"abc" * 100_000, "streamed")
    chunks = [chunk async for chunk in await sandbox.fs.download_file_stream("streamed")]
    assert b"".join(chunks) == b"abc" * 100_000


async def test_folders_and_files_are_listed_changed_and_removed(sandbox: AsyncSandbox) -> None:
    files = sandbox.fs
    await files.create_folder("a/b", "755")
    await files.upload_file(b"x", "a/b/c")
    assert [(one.name, one.is_dir) for one in await files.list_files("a")] == [("b", True)]
    deep = await files.list_files("a", depth=2)  # v0.190.0 does not know of depth, nor of paths
    assert [(one.name, one.path) for one in deep] == [("b", None)]
    await files.set_file_permissions("a/b/c", mode="600")
    found = await files.get_file_info("a/b/c")
    assert (found.size, found.is_dir, found.permissions, found.mode) == (1, False, "0600", "-rw-------")
    await files.move_files("a/b/c", "a/d")
    with pytest.raises(DaytonaNotFoundError):
        await files.get_file_info("a/b/c")
    with pytest.raises(DaytonaBadRequestError, match="recursive"):
        await files.delete_file("a")
    await files.delete_file("a", recursive=True)
    with pytest.raises(DaytonaNotFoundError):
        await files.list_files("a")


async def test_a_path_is_the_same_in_files_and_in_code(sandbox: AsyncSandbox) -> None:
    home = await sandbox.get_work_dir()
    await sandbox.fs.upload_file(b"x", f"{home}/there")
    assert (await sandbox.process.exec(f"cat {home}/there; cat there")).result == "xx"


async def test_nothing_is_written_outside_of_the_sandbox(sandbox: AsyncSandbox, tmp_path: Path) -> None:
    with pytest.raises(DaytonaError, match="permission denied"):
        await sandbox.fs.upload_file(b"x", str(tmp_path / "outside"))
    with pytest.raises(DaytonaForbiddenError):
        await sandbox.fs.create_folder("../../outside", "755")
    assert not await asyncio.to_thread((tmp_path / "outside").exists)


async def test_commands_have_one_stream_a_folder_and_a_time_limit(sandbox: AsyncSandbox) -> None:
    await sandbox.fs.create_folder("below", "755")
    done = await sandbox.process.exec("pwd; echo error >&2; echo $X; exit 3", cwd="below", env={"X": "y"})
    assert done.exit_code == 3
    assert done.result == f"{await sandbox.get_work_dir()}/below\nerror\ny\n"
    with pytest.raises(DaytonaTimeoutError):
        await sandbox.process.exec("echo lost; setsid sleep 100 & sleep 100", timeout=1)
    assert (await sandbox.process.exec("true", cwd="nowhere")).exit_code == -1
