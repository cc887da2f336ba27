"""Uploads over HTTP, as a user meets them: in pieces, within limits, under any name."""

import io
import os
import socket
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.integration.http_world import PIECE, World, ask

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("http")]


def test_an_upload_goes_on_where_the_connection_broke(world: World) -> None:
    content = os.urandom(2_500_000)
    begun = world.alice.post(
        "/stepwell/uploads", params={"name": "large.parquet"}, headers={"Upload-Length": str(len(content))}
    )
    assert (begun.status_code, begun.headers["upload-offset"]) == (201, "0")
    place = begun.headers["location"]
    host, _, port = world.served.url.removeprefix("http://").partition(":")

    def stored() -> list[Path]:
        return list((world.served.home / "uploads").glob(f"*/{place.rpartition('/')[2]}/content"))

    with socket.create_connection((host, int(port))) as line:
        head = (
            f"PATCH {place} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {world.keys['alice']}\r\n"
            f"Upload-Offset: 0\r\nContent-Type: {PIECE}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        line.sendall(head.encode() + content[:1_700_000])
        while sum(one.stat().st_size for one in stored()) < 1_000_000:
            time.sleep(0.02)
    headers = {"Content-Type": PIECE, "Upload-Offset": "7"}
    wrong = world.alice.patch(place, content=b"x", headers=headers)
    while wrong.status_code == 423:  # the server has not noticed yet that nobody is there any more
        wrong = world.alice.patch(place, content=b"x", headers=headers)
    kept = int(world.alice.head(place).headers["upload-offset"])
    assert 1_000_000 < kept <= 1_700_000
    assert (wrong.status_code, wrong.headers["upload-offset"]) == (409, str(kept))
    headers["Upload-Offset"] = str(kept)
    done = world.alice.patch(place, content=content[kept:], headers=headers)
    assert (done.status_code, done.headers["upload-offset"]) == (204, str(len(content)))
    assert world.alice.get(place).json()["complete"] is True
    assert [one.read_bytes() for one in stored()] == [content]
    assert world.alice.delete(place).status_code == 204
    assert world.alice.get(place).status_code == 404


def test_uploads_in_pieces_of_unknown_number_arrive_whole(world: World) -> None:
    sent = world.alice.post(
        "/stepwell/uploads", params={"name": "a.csv"}, content=iter([b"a,b\n", b"1,2\n"] * 1_000)
    ).json()
    assert (sent["size"], sent["complete"]) == (8_000, True)


def test_an_upload_whose_length_is_told_at_its_end_loses_nothing(world: World) -> None:
    """It was answered with a complete upload of no bytes, and the client took that for success."""
    about = world.alice.options("/stepwell/uploads").headers["tus-extension"]
    assert "creation-defer-length" in about.split(",")
    begun = world.alice.post(
        "/stepwell/uploads", params={"name": "a.csv"}, headers={"Tus-Resumable": "1.0.0", "Upload-Defer-Length": "1"}
    )
    place = begun.headers["location"]
    assert (begun.status_code, begun.json()["complete"]) == (201, False)

    def send(offset: int, content: bytes, **length: str) -> int:
        said = {"Upload-Offset": str(offset), **{name.replace("_", "-"): value for name, value in length.items()}}
        return world.alice.patch(place, content=content, headers={"Content-Type": PIECE, **said}).status_code

    assert send(0, b"a,b\n") == 204
    known = world.alice.head(place).headers
    assert (known["upload-defer-length"], known["upload-offset"]) == ("1", "4")
    assert "upload-length" not in known
    assert not world.alice.get(place).json()["complete"]
    assert send(4, b"1,2\n", Upload_Length="3") == 400, "more has arrived"
    assert send(4, b"", Upload_Length="3000001") == 413
    assert send(4, b"1,2\n", Upload_Length="8") == 204
    assert world.alice.head(place).headers["upload-length"] == "8"
    assert world.alice.get(place).json()["complete"]
    assert send(8, b"", Upload_Length="9") == 400, "it cannot be changed"
    assert world.alice.delete(place).status_code == 204


def test_a_first_piece_may_come_with_the_beginning_of_such_an_upload(world: World) -> None:
    headers = {"Content-Type": PIECE, "Upload-Defer-Length": "1"}
    begun = world.alice.post("/stepwell/uploads", params={"name": "a.csv"}, content=b"a,b\n", headers=headers)
    assert (begun.status_code, begun.json()["offset"], begun.json()["complete"]) == (201, 4, False)
    last = {"Content-Type": PIECE, "Upload-Offset": "4", "Upload-Length": "4"}
    place = begun.headers["location"]
    assert world.alice.patch(place, content=b"", headers=last).status_code == 204
    assert world.alice.get(place).json()["complete"]
    assert world.alice.delete(place).status_code == 204


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"params": {}}, 400),
        ({"params": {"name": "a.exe"}}, 415),
        ({"params": {"name": "a"}}, 415),
        ({"headers": {"Upload-Length": "3000001"}}, 413),
        ({"headers": {"Upload-Length": "-1"}}, 400),
        ({"headers": {"Upload-Defer-Length": "0"}}, 400),
        ({"headers": {"Upload-Defer-Length": "1", "Upload-Length": "3"}}, 400),
        ({"headers": {"Upload-Length": "9" * 40}}, 400),
        ({"headers": {"Upload-Metadata": "filename not-base64!"}}, 400),
        ({"headers": {"Tus-Resumable": "0.2.2"}}, 412),
        ({"content": b"\x1f\x8b", "headers": {"Content-Encoding": "gzip"}}, 415),
        ({"content": b"x" * 3_000_001}, 413),
        ({"content": "stream"}, 413),
    ],
)
def test_what_cannot_be_uploaded_is_refused_in_a_sentence_and_leaves_nothing(
    world: World, request_: dict[str, Any], status: int
) -> None:
    before = world.bob.get("/stepwell/uploads").json()
    given = {"params": {"name": "a.csv"}, **request_}
    if given.get("content") == "stream":
        given["content"] = (b"x" * 100_000 for _ in range(31))
    answer = world.bob.post("/stepwell/uploads", **given)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"].endswith((".", "sales.csv"))
    assert world.bob.get("/stepwell/uploads").json() == before


@pytest.mark.parametrize(
    "name",
    ['a"\r\nX-Evil: 1.csv', "../../../etc/cron.d/x.csv", "..\\..\\x.csv", "\u202egpj.csv", "a;b=c.csv", "'%0d%0a.csv"],
)
def test_a_files_name_is_no_header_and_no_path(world: World, name: str) -> None:
    answer = world.alice.post("/stepwell/uploads", params={"name": name}, content=b"a\n1\n")
    assert answer.status_code == 201
    kept = answer.json()["name"]
    assert not set(kept) & set('/\\"\r\n')
    assert ".." not in kept
    assert "x-evil" not in answer.headers
    folder = next((world.served.home / "uploads").glob(f"*/{answer.json()['id']}"))
    assert sorted(file.name for file in folder.iterdir() if file.name != "lock") == ["about.json", "content"]


def test_a_zip_bomb_costs_the_analysis_and_not_the_server(world: World) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", b"<Types/>")
        archive.writestr("xl/workbook.xml", b"<workbook/>" + b" " * 400_000_000)
    assert len(bomb.getvalue()) < 3_000_000
    file = world.alice.post("/stepwell/uploads", params={"name": "b.xlsx"}, content=bomb.getvalue()).json()["file"]
    thread = world.alice.post("/threads", json={}).json()["thread_id"]
    state = ask(world.alice, thread, "What is in it?", file)
    assert state["values"]["inputs"][0]["problem"]
    said = world.alice.get("/stepwell/ready").json()["checks"]
    assert all(said[name] for name in ("data folder", "uploads", "snapshots")), said  # its first cell may still run
    assert world.alice.get(f"/stepwell/threads/{world.thread}/artifacts").status_code == 200
