"""Files are handed over in parts, never run in a browser, and lie below their thread's folder."""

import asyncio
import contextlib
import hashlib
import io
import os
import re
import zipfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graph.state import Turn
from server.file_response import RangeFileResponse
from stepwell.errors import RefusedError
from stepwell.exports.archive import ArchiveEntry, archive_stream, zip_stream
from stepwell.exports.file_response import range_of
from stepwell.exports.served_files import disposition
from storage.artifacts import Artifacts, StorageError
from storage.blobs import Blobs
from storage.published_files import NoSuchArtifactError, PublishedFile, StoredFile, is_plain, open_published
from tests.states import make_state

THREAD = "0f0f0f0f-1111-4222-8333-444444444444"
CONTENT = bytes(range(256)) * 4_000


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    folder = tmp_path / "artifacts" / THREAD
    (folder / "figures").mkdir(parents=True)
    (folder / "data.bin").write_bytes(CONTENT)
    for name in ("page.html", "drawing.svg", "figures/plot.png", "notes.txt", "answer.md", "empty.csv", "feed.xml"):
        (folder / name).write_bytes(b"" if name == "empty.csv" else b"<script>alert(1)</script>")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "artifacts" / "other").mkdir()
    (tmp_path / "artifacts" / "other" / "theirs.csv").write_text("theirs")
    (folder / "link.csv").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.csv")
    return Artifacts.at(str(tmp_path / "artifacts"))


async def fetched(artifacts: Artifacts, name: str, method: str = "GET", **headers: str) -> httpx.Response:
    async def endpoint(request: Request) -> Response:
        return RangeFileResponse(request, name, partial(open_published, artifacts, THREAD, name))

    app = Starlette(routes=[Route("/", endpoint)])
    named = {one.replace("_", "-"): value for one, value in headers.items()}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        return await client.request(method, "/", headers=named)


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [("bytes=0-9", 0, 10), ("bytes=1000000-", 1_000_000, 1_024_000), ("bytes=-5", 1_023_995, 1_024_000),
     ("bytes=5-99999999", 5, 1_024_000), ("bytes=-99999999", 0, 1_024_000), ("bytes=262143-262144", 262_143, 262_145)],
)  # fmt: skip
async def test_a_part_is_handed_over(artifacts: Artifacts, asked: str, start: int, end: int) -> None:
    answer = await fetched(artifacts, "data.bin", range=asked)
    assert answer.status_code == 206
    assert answer.content == CONTENT[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"
    assert answer.headers["content-length"] == str(end - start)


@pytest.mark.parametrize(
    "asked", ["", "bytes=a-b", "bytes=9-5", "bytes=0-1,5-6", "lines=0-1", "bytes=-", "bytes=" + "9" * 30 + "-"]
)
async def test_what_is_no_range_is_the_whole(artifacts: Artifacts, asked: str) -> None:
    answer = await fetched(artifacts, "data.bin", range=asked)
    assert (answer.status_code, answer.content) == (200, CONTENT)


@pytest.mark.parametrize("asked", ["bytes=1024000-", "bytes=-0", "bytes=9999999-99999999"])
async def test_a_part_beyond_the_end_is_refused(artifacts: Artifacts, asked: str) -> None:
    answer = await fetched(artifacts, "data.bin", range=asked)
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(CONTENT)}"


async def test_who_has_it_already_gets_nothing_and_who_has_an_older_one_gets_all(artifacts: Artifacts) -> None:
    tag = (await fetched(artifacts, "data.bin")).headers["etag"]
    again = await fetched(artifacts, "data.bin", if_none_match=f'"x", {tag}')
    assert (again.status_code, again.content) == (304, b"")
    assert (await fetched(artifacts, "data.bin", range="bytes=0-0", if_range=tag)).status_code == 206
    assert (await fetched(artifacts, "data.bin", range="bytes=0-0", if_range='"older"')).status_code == 200
    head = await fetched(artifacts, "data.bin", "HEAD")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(CONTENT)))
    empty = await fetched(artifacts, "empty.csv")
    assert (empty.status_code, empty.content) == (200, b"")
    assert (await fetched(artifacts, "empty.csv", range="bytes=0-")).status_code == 416


@pytest.mark.parametrize(
    ("name", "shown", "kind"),
    [("page.html", "attachment", "text/html; charset=utf-8"), ("drawing.svg", "attachment", "image/svg+xml"),
     ("feed.xml", "attachment", ("text/xml; charset=utf-8", "application/xml")),
     ("answer.md", "attachment", "text/markdown; charset=utf-8"), ("figures/plot.png", "inline", "image/png"),
     ("notes.txt", "inline", "text/plain; charset=utf-8")],
)  # fmt: skip
async def test_nothing_is_shown_in_place_that_could_run(
    artifacts: Artifacts, name: str, shown: str, kind: str | tuple[str, ...]
) -> None:
    answer = await fetched(artifacts, name)
    assert answer.headers["content-disposition"].split(";")[0] == shown
    assert answer.headers["content-type"] in ((kind,) if isinstance(kind, str) else kind)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name",
    ["../secret", "../other/theirs.csv", "figures/../../secret", "/etc/passwd", "link.csv", "up/secret", "pipe.csv",
     "figures", "", ".", "..", "nothing.csv", "figures//plot.png", "./notes.txt", "notes.txt/", "notes.txt\0", "a\\b",
     "figures/plot.png/x", "x" * 300, "\ud800.csv"],
)  # fmt: skip
async def test_a_name_leads_to_the_threads_own_files_alone(artifacts: Artifacts, name: str) -> None:
    with pytest.raises(NoSuchArtifactError):
        async with open_published(artifacts, THREAD, name):
            pass
    answer = await fetched(artifacts, name)
    assert answer.status_code == 404
    assert b"secret" not in answer.content


@pytest.mark.parametrize("thread", ["..", ".", "", "../artifacts/other", f"{THREAD}/figures"])
async def test_a_thread_is_no_path(artifacts: Artifacts, thread: str) -> None:
    with pytest.raises(NoSuchArtifactError):
        async with open_published(artifacts, thread, "theirs.csv"):
            pass


async def test_files_in_object_storage_are_read_in_parts(artifacts: Artifacts) -> None:
    import fsspec

    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file(f"/bucket/{THREAD}/data.bin", CONTENT)
    filesystem.pipe_file("/bucket/secret", b"secret")
    remote = Artifacts.at("memory://bucket")
    answer = await fetched(remote, "data.bin", range="bytes=100-1048676")
    assert (answer.status_code, answer.content) == (206, CONTENT[100:])
    for name in ("../secret", "none.csv", ""):
        assert (await fetched(remote, name)).status_code == 404


async def test_a_file_in_object_storage_that_is_replaced_on_the_way_does_not_come_as_half_of_each() -> None:
    import fsspec

    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file(f"/bucket/{THREAD}/long.bin", bytes(3 << 20))
    async with open_published(Artifacts.at("memory://bucket"), THREAD, "long.bin") as file:
        pieces = file.pieces(0, file.size)
        assert not any(await anext(pieces))
        filesystem.pipe_file(f"/bucket/{THREAD}/long.bin", b"x" * (3 << 20))
        with pytest.raises(StorageError, match="was replaced while it was read"):
            assert [piece async for piece in pieces]


async def test_what_is_known_of_a_file_is_answered_without_opening_it() -> None:
    def unopened() -> contextlib.AbstractAsyncContextManager[PublishedFile]:
        raise AssertionError("it was opened")

    async def endpoint(request: Request) -> Response:
        return RangeFileResponse(request, "long.csv", unopened, known=(10, "v1"))

    app = Starlette(routes=[Route("/", endpoint)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        head = await client.head("/")
        assert (head.status_code, head.headers["content-length"]) == (200, "10")
        assert (await client.get("/", headers={"If-None-Match": head.headers["etag"]})).status_code == 304
        assert (await client.get("/", headers={"Range": "bytes=10-"})).status_code == 416


async def test_a_piece_that_is_not_there_is_said_before_the_answer_begins(tmp_path: Path) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"))
    (tmp_path / "piece").write_bytes(b"12345")
    there = hashlib.sha256(b"12345").hexdigest()
    await blobs.add_file(tmp_path / "piece", there)

    @contextlib.asynccontextmanager
    async def stored() -> AsyncIterator[PublishedFile]:
        yield StoredFile(blobs, ("0" * 64, there), 10, "v1", piece=5)

    async def endpoint(request: Request) -> Response:
        return RangeFileResponse(request, "long.csv", stored, known=(10, "v1"))

    app = Starlette(routes=[Route("/", endpoint)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        said = await client.get("/")
        assert (said.status_code, said.json()["detail"]) == (503, "A piece of the file cannot be read.")
        assert (await client.get("/", headers={"Range": "bytes=5-"})).content == b"12345"


async def test_no_file_stays_open(artifacts: Artifacts) -> None:
    before = len(await asyncio.to_thread(os.listdir, "/proc/self/fd"))
    for name in ("data.bin", "link.csv", "pipe.csv", "figures", "none"):
        await fetched(artifacts, name)
    assert len(await asyncio.to_thread(os.listdir, "/proc/self/fd")) <= before


@given(st.text(max_size=60))
def test_no_name_ends_a_header_or_begins_another(name: str) -> None:
    written = disposition(name, inline=False)
    assert re.fullmatch(r"attachment; filename=\"[A-Za-z0-9._-]+\"; filename\*=UTF-8''[A-Za-z0-9._~%-]*", written)


@given(st.text(max_size=40), st.integers(0, 2_000))
def test_a_range_lies_within_the_file(asked: str, size: int) -> None:
    for text in (asked, f"bytes={asked}"):
        with contextlib.suppress(RefusedError):
            part = range_of(text, size)
            assert part is None or 0 <= part[0] < part[1] <= size


@given(st.text(max_size=40))
def test_a_plain_name_stays_below_its_folder(name: str) -> None:
    if is_plain(name):
        assert os.path.normpath(f"/folder/{name}").startswith("/folder/")


async def test_an_archive_holds_all_files_and_names_those_that_are_gone(artifacts: Artifacts) -> None:
    names = ["data.bin", "figures/plot.png", "link.csv", "none.csv", "empty.csv"]
    entries = [ArchiveEntry(name, partial(open_published, artifacts, THREAD, name)) for name in names]
    pieces = [piece async for piece in zip_stream({"answers.md": "# Ü"}, entries)]
    assert max(len(piece) for piece in pieces) < len(CONTENT)
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["answers.md", "data.bin", "figures/plot.png", "empty.csv", "missing.txt"]
        assert archive.read("data.bin") == CONTENT
        assert archive.read("missing.txt").decode().splitlines()[1:] == ["link.csv", "none.csv"]


async def test_the_answers_of_an_archive_link_its_files(artifacts: Artifacts) -> None:
    published = [{"name": "data.bin", "url": "", "size": 1, "sha256": "", "mime": "", "cell": 1}]
    turn = Turn(number=1, question="What?", plan=[], answer="[It](outputs/data.bin), [gone](outputs/gone.csv)")
    state = make_state(turns=[turn], artifacts=published)
    stream = archive_stream(state, lambda one: open_published(artifacts, THREAD, one["name"]), {})
    pieces = [piece async for piece in stream]
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert "[It](data.bin), [gone](outputs/gone.csv)" in archive.read("answers.md").decode()


async def test_a_storage_that_cannot_be_reached_is_said_to_be_away() -> None:
    class Away(contextlib.AbstractAsyncContextManager[PublishedFile]):
        async def __aenter__(self) -> PublishedFile:
            raise StorageError("s3://bucket cannot be read (EndpointConnectionError).")

        async def __aexit__(self, *raised: object) -> None:
            return None

    async def endpoint(request: Request) -> Response:
        return RangeFileResponse(request, "sales.csv", Away)

    app = Starlette(routes=[Route("/", endpoint)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        said = await client.get("/")
    assert (said.status_code, said.json()["detail"]) == (503, "s3://bucket cannot be read (EndpointConnectionError).")
