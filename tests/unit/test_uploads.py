"""Uploads: in pieces, within limits, and each user's own. What may be named as an input of a server's user."""

import contextlib
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.inputs import InputError, InputSource, url_is_below
from storage.uploads import (
    MAX_FILES,
    MAX_OPEN,
    BusyUploadError,
    NoRoomError,
    NoSuchUploadError,
    UploadError,
    Uploads,
    UploadTooLargeError,
    UploadTypeError,
    WrongOffsetError,
)


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", max_bytes=1_000, user_bytes=2_500)


async def uploaded(uploads: Uploads, user: str, content: bytes, name: str = "sales.csv") -> str:
    """Upload a file; returns what names it."""
    upload = await uploads.create(user, name, len(content))
    async with uploads.open_writer(user, upload.id, 0) as receiver:
        await receiver.write(content)
    return upload.spec


async def test_pieces_become_a_file_that_its_user_can_name_as_an_input(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "sales.csv", 10)
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        await receiver.write(b"01234")
    source = InputSource(uploads=uploads, roots=()).of("alice")
    with pytest.raises(InputError, match="not complete"):
        async with source.fetch(upload.spec):
            pass
    async with uploads.open_writer("alice", upload.id, 5) as receiver:
        await receiver.write(b"56789")
    assert (await uploads.look("alice", upload.id)).complete
    assert await source.expand(upload.spec) == [upload.spec]
    async with source.fetch(upload.spec) as brought:
        assert (brought.name, brought.size, brought.source) == ("sales.csv", 10, upload.spec)
        assert brought.file.read_bytes() == b"0123456789"


async def test_nobody_names_another_users_upload(uploads: Uploads) -> None:
    spec = await uploaded(uploads, "alice", b"a,b\n")
    id = spec.removeprefix("upload:").partition("/")[0]
    for user in ("bob", "", "alice/../alice", "Alice"):
        with pytest.raises(InputError, match="no upload of yours"):
            async with InputSource(uploads=uploads).of(user).fetch(spec):
                pass
        with pytest.raises(NoSuchUploadError):
            await uploads.look(user, id)
        with pytest.raises(NoSuchUploadError):
            await uploads.remove(user, id)
        with pytest.raises(NoSuchUploadError):
            async with uploads.open_writer(user, id, 4):
                pass
        assert await uploads.all(user) == []
    assert len(await uploads.all("alice")) == 1


@pytest.mark.parametrize("id", ["..", "../x", "", ".", "A" * 32, "0" * 31, "0" * 32 + "/..", "lock", "0" * 31 + "\n"])
async def test_an_id_leads_nowhere_else(uploads: Uploads, id: str) -> None:
    await uploaded(uploads, "alice", b"x")
    with pytest.raises(NoSuchUploadError):
        await uploads.look("alice", id)
    with pytest.raises(InputError):
        async with InputSource(uploads=uploads).of("alice").fetch(f"upload:{id}/sales.csv"):
            pass


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\data\\sales.csv", "sales.csv"),
        ('a"\r\nSet-Cookie: x=1.csv', "a___Set-Cookie_ x=1.csv"),
        ("売上.csv", "売上.csv"),
    ],
)
async def test_a_name_is_made_safe(uploads: Uploads, given: str, kept: str) -> None:
    assert (await uploads.create("alice", given, 1)).name == kept


@pytest.mark.parametrize("name", ["", "   ", "x\0.csv", "run.exe", "noending", ".csv.sh", "x" * 2_000 + ".csv"])
async def test_a_name_or_kind_that_is_not_taken_is_refused(uploads: Uploads, name: str) -> None:
    with pytest.raises(UploadTypeError):
        await uploads.create("alice", name, 1)
    assert await uploads.all("alice") == []


async def test_what_is_too_large_is_refused_before_and_while_it_arrives(uploads: Uploads) -> None:
    with pytest.raises(UploadTooLargeError, match="1,001"):
        await uploads.create("alice", "a.csv", 1_001)
    announced = await uploads.create("alice", "a.csv", 10)
    with pytest.raises(UploadTooLargeError, match="announced"):
        async with uploads.open_writer("alice", announced.id, 0) as receiver:
            await receiver.write(b"x" * 11)
    unknown = await uploads.create("alice", "b.csv", None)
    async with uploads.open_writer("alice", unknown.id, 0) as receiver:
        await receiver.write(b"x" * 600)
        with pytest.raises(UploadTooLargeError):
            await receiver.write(b"x" * 600)
    assert (await uploads.look("alice", unknown.id)).offset == 600


async def test_a_user_cannot_take_more_room_than_he_has(uploads: Uploads) -> None:
    for _ in range(2):
        await uploaded(uploads, "alice", b"x" * 1_000)
    with pytest.raises(NoRoomError, match="2,500"):
        await uploads.create("alice", "a.csv", 600)
    unknown = await uploads.create("alice", "a.csv", None)
    with pytest.raises(UploadTooLargeError):
        async with uploads.open_writer("alice", unknown.id, 0) as receiver:
            await receiver.write(b"x" * 501)
    await uploaded(uploads, "bob", b"x" * 1_000)


@pytest.mark.slow
async def test_a_user_cannot_have_more_uploads_than_can_be_counted(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path / "uploads")
    for _ in range(MAX_OPEN):
        await uploads.create("alice", "a.csv", 1)
    with pytest.raises(NoRoomError, match="incomplete"):
        await uploads.create("alice", "a.csv", 1)
    first = await uploads.create("bob", "a.csv", 0)
    assert first.complete
    for number in range(MAX_FILES - 1):
        shutil.copytree(uploads.folder("bob", first.id), uploads.folder("bob", f"{number:032x}"))
    with pytest.raises(NoRoomError, match="2,000"):
        await uploads.create("bob", "a.csv", 0)


async def test_a_piece_at_the_wrong_place_or_beside_another_is_refused(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "a.csv", 10)
    with pytest.raises(WrongOffsetError) as refused:
        async with uploads.open_writer("alice", upload.id, 3):
            pass
    assert refused.value.offset == 0
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        with pytest.raises(BusyUploadError):
            async with uploads.open_writer("alice", upload.id, 0):
                pass
        await receiver.write(b"x" * 10)
    assert (await uploads.look("alice", upload.id)).complete


async def test_old_uploads_are_swept_away_and_new_ones_are_not(uploads: Uploads) -> None:
    old, new = await uploads.create("alice", "a.csv", 10), await uploads.create("alice", "b.csv", 10)
    os.utime(uploads.folder("alice", old.id) / "content", (1, 1))
    assert await uploads.sweep() == 1
    assert [one.id for one in await uploads.all("alice")] == [new.id]


async def test_without_uploads_the_scheme_means_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        await InputSource().expand("upload:" + "0" * 32 + "/a.csv")


@pytest.mark.parametrize(
    ("url", "beginning", "below"),
    [
        ("https://data.example.org/a.csv", "https://data.example.org", True),
        ("https://data.example.org/public/a.csv", "https://data.example.org/public/", True),
        ("https://DATA.example.org/public/a.csv", "https://data.example.org/public", True),
        ("https://anywhere.org/a.csv", "https://", True),
        ("s3://bucket/public/a.csv", "s3://bucket/public/", True),
        ("ftp://anywhere.org/a.csv", "*", True),
        ("http://data.example.org/a.csv", "https://data.example.org", False),
        ("https://data.example.org.evil.com/a.csv", "https://data.example.org", False),
        ("https://data.example.org:8443/a.csv", "https://data.example.org", False),
        ("https://data.example.org@evil.com/a.csv", "https://data.example.org", False),
        ("https://user@data.example.org/a.csv", "https://data.example.org", False),
        ("https://data.example.org/publicity/a.csv", "https://data.example.org/public", False),
        ("https://data.example.org/public/../a.csv", "https://data.example.org/public", False),
        ("https://data.example.org/public/%2e%2e/a.csv", "https://data.example.org/public", False),
        ("https://data.example.org/public/%252e%252e/a.csv", "https://data.example.org/public", False),
        ("https://data.example.org\t.evil.com/a.csv", "https://data.example.org.evil.com", False),
        ("https://evil.com\\@data.example.org/a.csv", "https://data.example.org", False),
        ("s3://bucket/private/a.csv", "s3://bucket/public/", False),
        ("s3://bucket/public/../private/a.csv", "s3://bucket/public/", False),
        ("https://[broken/a.csv", "https://", False),
    ],
)
def test_a_url_lies_below_another_or_does_not(url: str, beginning: str, below: bool) -> None:
    assert url_is_below(url, beginning) is below


@pytest.fixture
def redirecting() -> Iterator[str]:
    """A web server whose `/go` leads to its `/secret`."""

    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path.startswith("/open/go") else 200)
            self.send_header("Location", "/secret")
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"a\n12\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_only_urls_that_the_operator_names_are_fetched_redirections_included(redirecting: str) -> None:
    source = InputSource(urls=(f"{redirecting}/open",))
    async with source.fetch(f"{redirecting}/open/a.csv") as brought:
        assert brought.size == 5
    for refused in (f"{redirecting}/secret", "http://169.254.169.254/latest", "s3://bucket/a.csv"):
        with pytest.raises(InputError, match="STEPWELL_INPUT_URLS"):
            await source.expand(refused)
        with pytest.raises(InputError, match="STEPWELL_INPUT_URLS"):
            async with source.fetch(refused):
                pass
    with pytest.raises(InputError, match="STEPWELL_INPUT_URLS"):
        async with source.fetch(f"{redirecting}/open/go.csv"):
            pass
    async with InputSource().fetch(f"{redirecting}/open/go.csv") as brought:
        assert brought.size == 5


async def test_no_url_is_fetched_when_none_is_named() -> None:
    with pytest.raises(InputError, match="upload the file instead"):
        await InputSource(urls=()).expand("https://example.org/a.csv")


async def test_an_upload_that_was_removed_says_so(uploads: Uploads) -> None:
    spec = await uploaded(uploads, "alice", b"x")
    await uploads.remove("alice", spec[7:39])
    with pytest.raises(UploadError):
        uploads.content("alice", spec)


async def test_uploads_of_unknown_size_do_not_each_get_all_the_room(uploads: Uploads) -> None:
    ids = [(await uploads.create("alice", f"{number}.csv", None)).id for number in range(4)]
    async with contextlib.AsyncExitStack() as open_at_once:
        receivers = [await open_at_once.enter_async_context(uploads.open_writer("alice", id, 0)) for id in ids]
        for receiver in receivers[:2]:
            await receiver.write(b"x" * 900)
        with pytest.raises(UploadTooLargeError, match="may be uploaded"):
            await receivers[2].write(b"x" * 900)
        await receivers[3].write(b"x" * 700)
    assert sum(one.offset for one in await uploads.all("alice")) <= 2_500


async def test_an_upload_that_is_removed_while_it_arrives_is_a_refusal(uploads: Uploads) -> None:
    upload = await uploads.create("alice", "sales.csv", None)
    async with uploads.open_writer("alice", upload.id, 0) as receiver:
        await receiver.write(b"a,b")
        await uploads.remove("alice", upload.id)
        with pytest.raises(NoSuchUploadError, match="was removed"):
            await receiver.mark_complete()
