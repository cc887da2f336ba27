"""The blob store: what goes in comes out, or its name is said; several writers and gc do not hurt one another."""

import asyncio
import hashlib
import io
import os
import subprocess
import sys
import time
import tracemalloc
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import fsspec
import pytest

from storage.artifacts import StorageError
from storage.blob_folder import FolderBackend
from storage.blobs import BlobError, BlobMissingError, Blobs
from storage.compression import MAGIC, WHOLE, compress_file, decompressed
from storage.published_files import StoredFile

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    """An S3-compatible server in this process; only where both packages are installed. Each test has its bucket."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_bucket(monkeypatch: pytest.MonkeyPatch, s3_server: str) -> Iterator[str]:
    """A bucket there."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", s3_server)
    import fsspec
    from fsspec.config import conf, set_conf_env

    set_conf_env(conf)
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    fsspec.filesystem("s3").mkdir(name)
    yield f"s3://{name}/blobs"
    conf.pop("s3", None)


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.xdist_group("s3"))])
async def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Blobs]:
    """A store of each kind."""
    if request.param == "folder":
        yield Blobs.at(str(tmp_path / "blobs"), owner=tmp_path / "me")
    elif request.param == "memory":
        yield Blobs.at(f"memory://{uuid.uuid4().hex}", owner=tmp_path / "me")
    else:
        yield Blobs.at(request.getfixturevalue("s3_bucket"), owner=tmp_path / "me")


@pytest.fixture
def make(tmp_path: Path) -> Callable[[bytes], tuple[Path, str]]:
    """Write a file; it and the hash of its content come back."""

    def write(data: bytes) -> tuple[Path, str]:
        file = tmp_path / f"file-{uuid.uuid4().hex}"
        file.write_bytes(data)
        return file, hashlib.sha256(data).hexdigest()

    return write


Make = Callable[[bytes], tuple[Path, str]]


async def listed(blobs: Blobs) -> set[str]:
    return {stored.name async for stored in blobs.names()}


async def test_what_goes_in_comes_out(blobs: Blobs, make: Make, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    file, name = make(data)
    await blobs.add_file(file, name)
    await blobs.add_file(file, name)
    assert file.read_bytes() == data
    assert await blobs.has([name, "0" * 64]) == {name}
    assert await blobs.fetch(name, tmp_path / "out") == len(data)
    assert (tmp_path / "out").read_bytes() == data
    assert not (tmp_path / "out").stat().st_mode & 0o222
    assert await blobs.read(name, max_bytes=len(data)) == data
    assert await blobs.read_beginning(name, 2_000_000) == data[:2_000_000]
    with pytest.raises(BlobError, match="more than"):
        await blobs.read(name, max_bytes=len(data) - 1)
    found = [stored async for stored in blobs.names()]
    assert [(stored.name, stored.size) for stored in found] == [(name, len(data))]
    assert 0 <= found[0].age + 1 < 60
    assert await blobs.other_owners() == []
    (tmp_path / "me").write_text("somebody else")
    assert len(await blobs.other_owners()) == 1


async def test_an_empty_blob_is_one_too(blobs: Blobs, make: Make, tmp_path: Path) -> None:
    file, name = make(b"")
    await blobs.add_file(file, name)
    assert await blobs.fetch(name, tmp_path / "out") == 0
    assert (tmp_path / "out").read_bytes() == b""


async def test_files_that_arrive_are_moved_in(blobs: Blobs, make: Make) -> None:
    _, first = make(b"one")
    _, second = make(b"two")
    async with blobs.staging() as arrivals:
        arrivals.place(first).write_bytes(b"one")
        arrivals.place(second).write_bytes(b"two")
        assert await asyncio.to_thread(arrivals.read, first, max_bytes=3) == b"one"
        with pytest.raises(BlobError, match="more than"):
            await asyncio.to_thread(arrivals.store, [first, second], max_bytes=5)
        with pytest.raises(BlobError, match="more than"):  # what they are packed to does not count
            await asyncio.to_thread(arrivals.store, [first, second], max_bytes=6, settled={first: 4})
        assert await asyncio.to_thread(arrivals.store, [first, second], max_bytes=6) == 6
        assert list(arrivals.folder.iterdir()) == []
    assert not arrivals.folder.exists()
    assert await blobs.has([first, second]) == {first, second}


async def test_lent_files_are_checked(blobs: Blobs, make: Make) -> None:
    pairs = [make(data) for data in (b"one", b"two", b"three")]
    for file, name in pairs:
        await blobs.add_file(file, name)
    async with blobs.checkout([name for _, name in pairs]) as files:
        assert [(file.name, file.read_bytes()) for file in files] == [
            (name, content) for (_, name), content in zip(pairs, (b"one", b"two", b"three"), strict=True)
        ]
    assert await blobs.has([name for _, name in pairs]) == {name for _, name in pairs}
    with pytest.raises(BlobMissingError) as failure:
        async with blobs.checkout([pairs[0][1], "0" * 64]):
            raise AssertionError("not all blobs are there")
    assert failure.value.name == "0" * 64


async def test_other_content_than_the_name_says_is_refused(blobs: Blobs, make: Make) -> None:
    file, name = make(b"good")
    with pytest.raises(BlobError, match="other content"):
        await blobs.add_file(file, "0" * 64)
    async with blobs.staging() as arrivals:
        arrivals.place(name).write_bytes(b"bad")
        with pytest.raises(BlobError, match="other content"):
            await asyncio.to_thread(arrivals.store, [name], max_bytes=100)
        arrivals.place(name).write_bytes(b"good")
        with pytest.raises(BlobError, match="other content"):
            await asyncio.to_thread(arrivals.store, [name], max_bytes=100, hashes={name: "0" * 64})
    assert await listed(blobs) == set()


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
async def test_what_is_no_hash_is_no_name(tmp_path: Path, name: str) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    with pytest.raises(BlobError, match="does not name a blob"):
        await blobs.fetch(name, tmp_path / "out")
    with pytest.raises(BlobError, match="does not name a blob"):
        await blobs.has([name])


async def test_a_missing_blob_is_named(blobs: Blobs, tmp_path: Path) -> None:
    with pytest.raises(BlobMissingError, match="000000000000… is missing") as failure:
        await blobs.fetch("0" * 64, tmp_path / "out")
    assert failure.value.name == "0" * 64
    with pytest.raises(BlobMissingError):
        await blobs.read("0" * 64, max_bytes=10)
    assert list(tmp_path.glob("*out*")) == []


async def test_a_flipped_bit_is_found_and_the_content_can_be_stored_again(tmp_path: Path, make: Make) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    data = os.urandom(100_000)
    file, name = make(data)
    await blobs.add_file(file, name)
    stored = tmp_path / "blobs" / name[:2] / name
    stored.chmod(0o600)
    stored.write_bytes(data[:50_000] + bytes([data[50_000] ^ 1]) + data[50_001:])
    with pytest.raises(BlobMissingError, match="damaged") as failure:
        await blobs.fetch(name, tmp_path / "out")
    assert failure.value.name == name
    assert not (tmp_path / "out").exists()
    assert await blobs.has([name]) == set()
    await blobs.add_file(file, name)
    await blobs.fetch(name, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == data


async def test_a_damaged_manifest_is_found_too(blobs: Blobs, make: Make) -> None:
    import fsspec

    file, name = make(b"content")
    await blobs.add_file(file, name)
    location = blobs.location if "://" in blobs.location else f"file://{blobs.location}"
    filesystem, path = fsspec.url_to_fs(f"{location}/{name[:2]}/{name}")
    if "://" not in blobs.location:
        await asyncio.to_thread(Path(path).chmod, 0o600)
    await asyncio.to_thread(filesystem.pipe_file, path, b"Content")
    with pytest.raises(BlobMissingError, match="damaged"):
        await blobs.read(name, max_bytes=100)
    assert await blobs.has([name]) == set()


async def test_what_is_young_is_not_removed(blobs: Blobs, make: Make) -> None:
    file, name = make(b"content")
    await blobs.add_file(file, name)
    found = [stored async for stored in blobs.names()]
    assert await blobs.delete(found) == []
    assert await blobs.has([name]) == {name}
    assert [stored.name for stored in await blobs.delete(found, grace=-1)] == [name]
    assert await blobs.has([name]) == set()
    assert await blobs.delete(found, grace=-1) == []


async def test_adding_again_makes_young(tmp_path: Path, make: Make) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    file, name = make(b"content")
    await blobs.add_file(file, name)
    old = time.time() - 7_200
    os.utime(tmp_path / "blobs" / name[:2] / name, (old, old))
    found = [stored async for stored in blobs.names()]
    assert found[0].age > 7_000
    await blobs.add_file(file, name)  # after gc had listed it
    assert await blobs.delete(found) == []
    os.utime(tmp_path / "blobs" / name[:2] / name, (old, old))
    assert len(await blobs.delete(found)) == 1


async def test_what_was_added_again_since_it_was_listed_stays_whatever_the_grace(tmp_path: Path, make: Make) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    (first, kept), (second, gone) = make(b"kept"), make(b"gone")
    await blobs.add_file(first, kept)
    await blobs.add_file(second, gone)
    found = [stored async for stored in blobs.names()]
    await blobs.add_file(first, kept)  # by an analysis that began when nobody else was at work
    assert [stored.name for stored in await blobs.delete(found, grace=-1)] == [gone]
    assert await listed(blobs) == {kept}


async def test_what_killed_writers_leave_is_listed_and_removed(tmp_path: Path) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    (tmp_path / "blobs" / "arriving" / "taking-x").mkdir(parents=True)
    (tmp_path / "blobs" / "arriving" / "taking-x" / "0").write_bytes(b"half")
    (tmp_path / "blobs" / "arriving" / ("0" * 64 + ".ab")).write_bytes(b"half")
    found = [stored async for stored in blobs.names()]
    assert [(stored.name, stored.size) for stored in found] == [("", 4), ("", 4)]
    assert len(await blobs.delete(found, grace=-1)) == 2
    assert await listed(blobs) == set()


async def test_what_others_keep_beside_the_blobs_is_not_among_them(blobs: Blobs, make: Make) -> None:
    file, name = make(b"content")
    await blobs.add_file(file, name)
    filesystem, root = await asyncio.to_thread(fsspec.url_to_fs, blobs.location, use_listings_cache=False)
    for other in ("artifacts/a-thread/report.csv", "inputs/sales.csv", "notes.txt"):
        await asyncio.to_thread(filesystem.makedirs, f"{root}/{other}".rpartition("/")[0], exist_ok=True)
        await asyncio.to_thread(filesystem.pipe_file, f"{root}/{other}", b"somebody's")
    found = [stored async for stored in blobs.names()]
    assert [stored.name for stored in found] == [name]
    assert len(await blobs.delete(found, grace=-1)) == 1
    for other in ("artifacts/a-thread/report.csv", "inputs/sales.csv", "notes.txt"):
        assert await asyncio.to_thread(filesystem.cat_file, f"{root}/{other}") == b"somebody's"


class BadOnce(FolderBackend):
    """A folder of which the first reading of each blob goes wrong, as a transfer can."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.read: set[str] = set()

    def open(self, name: str) -> BinaryIO:
        """Read one."""
        again = name in self.read
        self.read.add(name)
        return super().open(name) if again else io.BytesIO(b"cut o")


async def test_one_bad_transfer_condemns_no_blob(make: Make, tmp_path: Path) -> None:
    blobs = Blobs(BadOnce(tmp_path / "blobs"))
    file, name = make(b"a manifest")
    await blobs.add_file(file, name)
    assert await blobs.read(name, max_bytes=100) == b"a manifest"


async def test_an_owner_whose_name_was_never_written_gets_one(make: Make, tmp_path: Path) -> None:
    (tmp_path / "me").touch()  # a process was killed before it wrote
    blobs = Blobs.at(str(tmp_path / "blobs"), owner=tmp_path / "me")
    await blobs.add_file(*make(b"content"))
    other = Blobs.at(str(tmp_path / "blobs"), owner=tmp_path / "another")
    assert await other.other_owners() == [(tmp_path / "me").read_text()]


@pytest.mark.slow
def test_a_large_zstd_file_is_not_read_into_memory(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv.zst"
    with file.open("wb") as out:
        out.write(MAGIC)
        out.truncate(2 * WHOLE)
    tracemalloc.start()
    try:
        compress_file(file)
        assert tracemalloc.get_traced_memory()[1] < WHOLE / 4
    finally:
        tracemalloc.stop()
    with decompressed(file.open("rb")) as stream:
        assert stream.read(len(MAGIC)) == MAGIC
        size = len(MAGIC)
        while piece := stream.read(1 << 20):
            assert not any(piece)
            size += len(piece)
    assert size == 2 * WHOLE


WRITER = """
import asyncio, hashlib, pathlib, sys
from storage.blobs import Blobs
async def main(folder, store):
    blobs = Blobs.at(store)
    for number in range(60):
        data = str(number % 20).encode() * 5_000
        file = pathlib.Path(folder) / str(number)
        file.write_bytes(data)
        await blobs.add_file(file, hashlib.sha256(data).hexdigest())
asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_writers_and_a_gc_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    folders = [tmp_path / f"writer-{number}" for number in range(3)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    writers = []
    for folder in folders:
        folder.mkdir()
        command = [sys.executable, "-c", WRITER, str(folder), str(tmp_path / "blobs")]
        writers.append(await asyncio.create_subprocess_exec(*command, env=environment))
    while any(writer.returncode is None for writer in writers):
        await blobs.delete([stored async for stored in blobs.names()], grace=3_600)
        await asyncio.sleep(0.01)
    assert [await writer.wait() for writer in writers] == [0, 0, 0]
    expected = {hashlib.sha256(str(number).encode() * 5_000).hexdigest() for number in range(20)}
    assert await listed(blobs) == expected
    for name in expected:
        await blobs.fetch(name, tmp_path / "out")


async def test_a_store_that_cannot_be_written_is_one_sentence(tmp_path: Path, make: Make) -> None:
    (tmp_path / "file").write_text("in the way")
    file, name = make(b"content")
    with pytest.raises(BlobError, match="STEPWELL_BLOBS"):
        await Blobs.at(str(tmp_path / "file" / "blobs")).add_file(file, name)
    with pytest.raises(BlobError, match="no-such-protocol"):
        await Blobs.at("no-such-protocol://x").add_file(file, name)
    with pytest.raises(BlobError) as told:
        await Blobs.at("no-such-protocol://x", shown="the store").add_file(file, name)
    assert str(told.value) == "The blobs in the store cannot be used (ValueError).", "users are not told where it is"


def test_the_location_hides_passwords() -> None:
    assert "secret" not in Blobs.at("sftp://me:secret@host/blobs").location


def test_what_a_killed_process_left_of_distant_blobs_is_removed_by_the_next(tmp_path: Path) -> None:
    program = "from storage.blob_url import transfer_folder as p; import os; (p() / 'taking').mkdir()"
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    left = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", f"{program}; os._exit(1)"], env=environment, check=False)
        left.append({folder.name for folder in tmp_path.glob("*/*")})
        assert (tmp_path / f"stepwell-blobs-{os.getuid()}").stat().st_mode & 0o777 == 0o700
    assert [len(names) for names in left] == [1, 1]
    assert left[0] != left[1]


TABLE = b"".join(b"%d,north,%d\n" % (number, number * 7 % 31) for number in range(60_000))
FRAME = b"\x28\xb5\x2f\xfd"


@pytest.mark.parametrize(
    "data", [TABLE, FRAME, FRAME + os.urandom(2_000), FRAME * 1_000, b"x" * 511], ids=lambda data: f"{len(data)} bytes"
)
async def test_how_a_blob_lies_in_the_store_does_not_show(
    blobs: Blobs, make: Make, tmp_path: Path, data: bytes
) -> None:
    file, name = make(data)
    await blobs.add_file(file, name)
    assert await blobs.read(name, max_bytes=len(data)) == data
    assert await blobs.read_beginning(name, 2_000_000) == data[:2_000_000]
    assert await blobs.fetch(name, tmp_path / "out") == len(data)
    assert (tmp_path / "out").read_bytes() == data
    for check in (True, False):
        async with blobs.checkout([name], check=check) as files:
            assert [lent.read_bytes() for lent in files] == [data]
            assert [lent.name for lent in files] == [name]
    assert await listed(blobs) == {name}


async def test_a_table_takes_less_room_and_noise_takes_no_more(blobs: Blobs, make: Make) -> None:
    for data, least, most in ((TABLE, 0.01, 0.5), (os.urandom(len(TABLE)), 1.0, 1.0)):
        name = hashlib.sha256(data).hexdigest()
        async with blobs.staging() as arrivals:
            arrivals.place(name).write_bytes(data)
            size = await asyncio.to_thread(arrivals.store, [name], max_bytes=len(data))
        assert least <= size / len(data) <= most
        assert {stored.size async for stored in blobs.names() if stored.name == name} == {size}


@pytest.mark.parametrize("at", [2, 20, -1])
async def test_a_flipped_bit_in_a_packed_blob_is_found(make: Make, tmp_path: Path, at: int) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    file, name = make(TABLE)
    await blobs.add_file(file, name)
    stored = tmp_path / "blobs" / name[:2] / name
    flipped = bytearray(stored.read_bytes())
    flipped[at] ^= 1
    stored.chmod(0o600)
    stored.write_bytes(flipped)
    with pytest.raises(BlobMissingError, match="damaged"):
        await blobs.fetch(name, tmp_path / "out")
    assert await blobs.has([name]) == set()


async def test_a_part_of_a_stored_file_is_read_from_its_pieces_alone(blobs: Blobs, make: Make) -> None:
    pieces = [b"first", b"secnd", b"la"]
    files = [make(piece) for piece in pieces]
    for file, name in files:
        await blobs.add_file(file, name)
    names = tuple(name for _, name in files)
    whole = StoredFile(blobs, names, 12, "v", piece=5)
    for start, end in ((0, 12), (0, 1), (4, 6), (5, 10), (9, 12), (11, 12), (3, 3)):
        read = b"".join([piece async for piece in whole.pieces(start, end)])
        assert read == b"firstsecndla"[start:end], (start, end)
    absent = StoredFile(blobs, (names[0], "0" * 64, names[2]), 12, "v", piece=5)
    assert [piece async for piece in absent.pieces(10, 12)] == [b"la"]  # nothing else is looked at
    for wrong, part in ((absent, (4, 6)), (StoredFile(blobs, names, 11, "v", piece=5), (10, 11))):
        with pytest.raises(StorageError):
            [piece async for piece in wrong.pieces(*part)]
