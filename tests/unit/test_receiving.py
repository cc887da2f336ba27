"""A body is written while it arrives; a sender who is slow, or leaves, loses nothing of what he has sent."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect

from stepwell.tus import receive
from storage.uploads import Uploads, UploadTooLargeError


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", max_bytes=5_000_000)


async def pieces(*sent: bytes | BaseException, pause: float = 0.0) -> AsyncIterator[bytes]:
    for one in sent:
        await asyncio.sleep(pause)
        if isinstance(one, BaseException):
            raise one
        yield one


async def test_a_body_is_written_whole(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "a.csv", 3_000_002)
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        await receive(pieces(b"x" * 1_500_000, b"y" * 1_500_000, b"", b"zz"), receiver)
    assert (await uploads.look("alice", upload.id)).complete
    content = (uploads.folder("alice", upload.id) / "content").read_bytes()
    assert content == b"x" * 1_500_000 + b"y" * 1_500_000 + b"zz"


async def test_who_sends_nothing_is_waited_for_only_so_long_and_can_resume(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "a.csv", 6)

    async def stops() -> AsyncIterator[bytes]:
        yield b"abc"
        await asyncio.Event().wait()

    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        with pytest.raises(TimeoutError, match="resume the upload"):
            await receive(stops(), receiver, idle=0.05)
    assert (await uploads.look("alice", upload.id)).offset == 3
    async with uploads.open_writer("alice", upload.id, 3) as receiver:
        await receive(pieces(b"def"), receiver)
    assert (await uploads.look("alice", upload.id)).complete


async def test_who_sends_a_byte_at_a_time_does_not_hold_the_connection(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "a.csv", 1_000)
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        with pytest.raises(TimeoutError, match="bytes a second"):
            await receive(pieces(*[b"x"] * 1_000, pause=0.02), receiver, idle=0.1, slowest=1e6)
    assert 0 < (await uploads.look("alice", upload.id)).offset < 1_000


async def test_what_came_before_the_connection_broke_is_kept(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "a.csv", 6)
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        with pytest.raises(ClientDisconnect):
            await receive(pieces(b"abcd", ClientDisconnect()), receiver)
    assert (await uploads.look("alice", upload.id)).offset == 4


async def test_more_than_was_announced_is_refused(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "a.csv", 6)
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        with pytest.raises(UploadTooLargeError):
            await receive(pieces(b"abcdefg"), receiver)
    assert (await uploads.look("alice", upload.id)).offset == 0
