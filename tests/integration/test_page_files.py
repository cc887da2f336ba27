"""Files over the page: uploads that go on where they were, downloads in parts."""

import asyncio
import hashlib
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from langchain_core.messages import HumanMessage

from graph.settings import Settings
from graph.state import Artifact, SandboxRef, Turn
from graph.wiring import make_blobs
from stepwell.threads import open_graph
from storage.artifacts import Artifacts, mime_of
from tests.page_process import PageInside, page_inside
from tests.states import make_input, make_state

PIECE = {"Content-Type": "application/offset+octet-stream"}
MOVIE = bytes(range(256)) * 2_000
SAID = b"![Units](outputs/a.png), [the film](movie.mp4)"
ROWS = b"region,units\nnorth,7\n"
LONG = ROWS + b"".join(b"south,%d\n" % number for number in range(40_000))


@pytest.fixture
async def page(settings: Settings) -> AsyncIterator[PageInside]:
    async with page_inside(settings.model_copy(update={"max_input_bytes": 100_000})) as inside:
        yield inside


async def begun(page: PageInside, name: str, size: int) -> httpx.Response:
    return await page.client.post(f"/uploads?name={name}", headers={"Upload-Length": str(size)})


async def test_an_upload_goes_on_where_it_was_and_a_question_takes_it(page: PageInside) -> None:
    answer = await begun(page, "sales.csv", 12)
    place, file = answer.headers["location"], answer.json()["file"]
    assert (answer.status_code, place.startswith("/uploads/")) == (201, True)

    async def send(offset: int, data: bytes) -> httpx.Response:
        return await page.client.patch(place, content=data, headers={**PIECE, "Upload-Offset": str(offset)})

    assert (await send(0, b"a,b\n1,")).status_code == 204
    early = await page.client.post("/new", data={"question": "What?", "file": file}, files=[("file", ("", b""))])
    assert early.status_code == 422
    assert "is not complete: 6 bytes have arrived" in early.text
    known = await page.client.head(place)
    assert (known.headers["upload-offset"], known.headers["upload-length"]) == ("6", "12")
    wrong = await send(4, b"1,2\n")
    assert (wrong.status_code, wrong.headers["upload-offset"]) == (409, "6")
    assert (await send(6, b"2\n3,4\n")).headers["upload-offset"] == "12"
    uploads, user = page.backend.upload_place()
    kept, _ = await asyncio.to_thread(uploads.content, user, file)
    assert await asyncio.to_thread(kept.read_bytes) == b"a,b\n1,2\n3,4\n"
    assert (await page.backend.uploaded(file)).name == "sales.csv"
    assert (await page.client.get(f"{place}/remark")).text == ""
    empty = await begun(page, "empty.csv", 0)
    assert "is empty" in (await page.client.get(f"{empty.headers['location']}/remark")).text
    assert (await page.client.delete(place)).status_code == 204
    assert (await page.client.get(f"{place}/remark")).status_code == 422
    assert (await page.client.head(place)).status_code == 404


async def test_what_is_too_large_is_refused_before_it_is_sent(page: PageInside) -> None:
    refused = await begun(page, "large.csv", 100_001)
    assert refused.status_code == 413
    assert refused.json()["detail"] == "100,001 bytes are too many; one file may have 100,000."
    assert (await page.client.options("/uploads")).headers["tus-max-size"] == "100000"
    new = (await page.client.get("/new")).text
    assert 'data-most="100000"' in new
    assert "so the built-in playbook answers" in new, "before it is asked"


def publish(folder: Path) -> list[Artifact]:
    folder.mkdir(parents=True)
    published = []
    files = {
        "movie.mp4": MOVIE,
        "report.pdf": b"%PDF-1.4 x",
        "a.png": b"png",
        "answer.md": SAID,
        "analysis.py": b"x = 1",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        mime = mime_of(name)
        published.append(Artifact(name=name, url=str(folder / name), size=len(data), sha256=digest, mime=mime, cell=1))
    return published


@pytest.fixture
async def movie(page: PageInside) -> str:
    """The address of a published file."""
    thread = str(uuid.uuid4())
    published = await asyncio.to_thread(publish, Path(Artifacts.at(page.backend.settings.artifacts).folder(thread)))
    turn = Turn(number=1, question="What?", plan=[], answer="This.")
    known = {**make_input("inputs/rows.csv"), "sha256": hashlib.sha256(ROWS).hexdigest(), "size": len(ROWS)}
    long = {**make_input("inputs/long.csv"), "sha256": hashlib.sha256(LONG).hexdigest(), "size": len(LONG)}
    state = make_state(turns=[turn], answer="This.", artifacts=published, concerns=[], question="What?",
                       messages=[HumanMessage("What?")], inputs=[make_input("inputs/rows.parquet"), known, long],
                       sandbox=SandboxRef(kind="local", id=thread, snapshot=""))  # fmt: skip
    async with open_graph(page.backend.settings) as (graph, _):
        await graph.aupdate_state({"configurable": {"thread_id": thread}}, dict(state), as_node="upload")
    return f"/threads/{thread}/artifacts/movie.mp4"


async def test_a_download_that_broke_off_goes_on(page: PageInside, movie: str) -> None:
    whole = await page.client.get(movie)
    assert (whole.status_code, whole.content, whole.headers["accept-ranges"]) == (200, MOVIE, "bytes")
    tag = whole.headers["etag"]
    for asked, start, end in (("0-0", 0, 1), ("1000-", 1_000, len(MOVIE)), ("-300", len(MOVIE) - 300, len(MOVIE))):
        part = await page.client.get(movie, headers={"Range": f"bytes={asked}", "If-Range": tag})
        assert (part.status_code, part.content) == (206, MOVIE[start:end])
        assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{len(MOVIE)}"
        assert part.headers["content-length"] == str(end - start)
        assert "sandbox" in part.headers["content-security-policy"]
    beyond = await page.client.get(movie, headers={"Range": f"bytes={len(MOVIE)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(MOVIE)}")
    replaced = await page.client.get(movie, headers={"Range": "bytes=5-", "If-Range": '"another"'})
    assert (replaced.status_code, replaced.content) == (200, MOVIE)
    head = await page.client.head(movie)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(MOVIE)))
    assert (await page.client.get(movie, headers={"If-None-Match": tag})).status_code == 304


async def test_a_pdf_is_shown_in_the_page_and_read_in_parts(page: PageInside, movie: str) -> None:
    report = movie.replace("movie.mp4", "report.pdf")
    part = await page.client.get(report, headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"%PDF")
    assert part.headers["content-disposition"].startswith("inline")
    assert part.headers["x-frame-options"] == "SAMEORIGIN"
    saved = await page.client.get(f"{report}?download=1")
    assert saved.headers["content-disposition"].startswith("attachment")
    missing = await page.client.get(movie.replace("movie", "nothing"))
    assert (missing.status_code, "text/html" in missing.headers["content-type"]) == (404, True)


async def test_what_is_known_of_an_input_is_shown_without_a_session(page: PageInside, movie: str) -> None:
    shown = await page.client.get(movie.replace("artifacts/movie.mp4", "inputs/inputs/rows.parquet"))
    assert shown.status_code == 200, "nothing of this thread could be restored"
    assert "CSV, 3 columns" in shown.text
    assert "10 B" in shown.text


async def test_an_input_that_the_store_has_is_shown_without_a_session(
    page: PageInside, movie: str, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    await asyncio.to_thread(rows.write_bytes, ROWS)
    await make_blobs(page.backend.settings).add_file(rows, hashlib.sha256(ROWS).hexdigest())
    shown = await page.client.get(movie.replace("artifacts/movie.mp4", "inputs/inputs/rows.csv"))
    assert shown.status_code == 200, "nothing of this thread could be restored"
    assert "<td>7</td>" in shown.text
    assert (await page.client.get(movie.replace("artifacts/movie.mp4", "input-files/inputs/rows.csv"))).content == ROWS


async def test_of_a_long_input_only_the_beginning_is_read(page: PageInside, movie: str, tmp_path: Path) -> None:
    """So the preview does not notice that its end is damaged; a download does."""
    blobs, name = make_blobs(page.backend.settings), hashlib.sha256(LONG).hexdigest()
    long = tmp_path / "long.csv"
    await asyncio.to_thread(long.write_bytes, LONG)
    await blobs.add_file(long, name)

    def damage() -> None:
        (kept,) = Path(blobs.location).rglob(name)
        kept.chmod(0o600)
        with kept.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 255]))

    await asyncio.to_thread(damage)
    shown = await page.client.get(movie.replace("artifacts/movie.mp4", "inputs/inputs/long.csv"))
    assert shown.status_code == 200
    assert "<td>7</td>" in shown.text
    assert "<td>150</td>" in shown.text
    assert "<td>39999</td>" not in shown.text
    down = await page.client.get(movie.replace("artifacts/movie.mp4", "input-files/inputs/long.csv"))
    assert down.status_code != 200


async def test_an_answer_and_a_script_are_previewed_as_what_they_are(page: PageInside, movie: str) -> None:
    thread = movie.removesuffix("/artifacts/movie.mp4")
    answer = (await page.client.get(f"{thread}/files/answer.md")).text
    assert f'<img src="{thread}/artifacts/a.png" alt="Units">' in answer
    assert f'<a href="{thread}/files/movie.mp4"' in answer
    assert '<span class="mi">1</span>' in (await page.client.get(f"{thread}/files/analysis.py")).text
