"""What a server offers over HTTP, as a user meets it: uploads, files, steps, an archive; and what operators see."""

import contextlib
import io
import json
import os
import socket
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis

from tests.security.two_users import client_of
from tests.serving import Served, json_lines, serving, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("http")]

CANARY = "canary-93ab"
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "10"))
PIECE = "application/offset+octet-stream"


@dataclass
class Collector:
    """Takes the spans of a server."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class World:
    """The server, who uses it, and Alice's analysis."""

    served: Served
    alice: httpx.Client
    bob: httpx.Client
    operator: httpx.Client
    keys: dict[str, str]
    thread: str
    spans: Collector


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    collector = Collector()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield collector
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("http")
    settings, keys = with_keys(folder / "settings", "alice", "bob", "operator")
    settings |= {
        "STEPWELL_MAX_INPUT_BYTES": "3000000",
        "STEPWELL_UPLOAD_USER_MB": "50",
        "LOG_JSON": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    with serving(folder, settings) as served:
        alice, bob, operator = (client_of(served, keys[name]) for name in ("alice", "bob", "operator"))
        with alice, bob, operator:
            table = (served.project / "data" / "sales.csv").read_bytes().replace(b"north", CANARY.encode())
            file = alice.post("/stepwell/uploads", params={"name": "sales.csv"}, content=table).json()["file"]
            thread = alice.post("/threads", json={}).json()["thread_id"]
            ask(alice, thread, "What stands out?", file)
            yield World(served, alice, bob, operator, keys, thread, collector)


def ask(client: httpx.Client, thread: str, question: str, *files: str) -> dict[str, Any]:
    """Ask, and wait for the thread's state."""
    given = {"messages": [{"role": "user", "content": question}], "files": list(files)}
    client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "stepwell", "input": given}).raise_for_status()
    state: dict[str, Any] = client.get(f"/threads/{thread}/state").json()
    return state


def asked_as_it_is(world: World, path: str) -> bytes:
    """What Bob is answered for a path that no client tidies up first."""
    with socket.create_connection(("127.0.0.1", int(world.served.url.rpartition(":")[2]))) as line:
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: {world.keys['bob']}\r\n\r\n"
        line.sendall(head.encode())
        answer = b""
        while piece := line.recv(65_536):
            answer += piece
    return answer


# Uploads


def test_an_upload_goes_on_where_the_connection_broke(world: World) -> None:
    content = os.urandom(2_500_000)
    begun = world.alice.post(
        "/stepwell/uploads", params={"name": "large.parquet"}, headers={"Upload-Length": str(len(content))}
    )
    assert (begun.status_code, begun.headers["upload-offset"]) == (201, "0")
    place = begun.headers["location"]
    host, _, port = world.served.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as line:
        head = (
            f"PATCH {place} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {world.keys['alice']}\r\n"
            f"Upload-Offset: 0\r\nContent-Type: {PIECE}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        line.sendall(head.encode() + content[:1_700_000])
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
    stored = list((world.served.home / "uploads").glob(f"*/{place.rpartition('/')[2]}/content"))
    assert [one.read_bytes() for one in stored] == [content]
    assert world.alice.delete(place).status_code == 204
    assert world.alice.get(place).status_code == 404


def test_uploads_in_pieces_of_unknown_number_arrive_whole(world: World) -> None:
    sent = world.alice.post(
        "/stepwell/uploads", params={"name": "a.csv"}, content=iter([b"a,b\n", b"1,2\n"] * 1_000)
    ).json()
    assert (sent["size"], sent["complete"]) == (8_000, True)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"params": {}}, 400),
        ({"params": {"name": "a.exe"}}, 415),
        ({"params": {"name": "a"}}, 415),
        ({"headers": {"Upload-Length": "3000001"}}, 413),
        ({"headers": {"Upload-Length": "-1"}}, 400),
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
    assert world.alice.get("/stepwell/ready").status_code == 200
    assert world.alice.get(f"/stepwell/threads/{world.thread}/artifacts").status_code == 200


# Files


def test_every_published_file_is_listed_and_comes_whole(world: World) -> None:
    listed = world.alice.get(f"/stepwell/threads/{world.thread}/artifacts").json()["artifacts"]
    assert {"answer.md", "analysis.py"} <= {one["name"] for one in listed}
    assert any(one["figure"] for one in listed)
    for one in listed:
        answer = world.alice.get(one["href"])
        assert (answer.status_code, len(answer.content)) == (200, one["size"])
        part = world.alice.get(one["href"], headers={"Range": "bytes=2-5"})
        assert (part.status_code, part.content) == (206, answer.content[2:6])


def test_only_what_a_thread_published_is_found_whatever_its_state_says(world: World, tmp_path: Path) -> None:
    thread = world.bob.post("/threads", json={"metadata": {"graph_id": "stepwell"}}).json()["thread_id"]
    folder = world.served.home / "artifacts" / thread
    folder.mkdir(parents=True)
    (folder / "page.html").write_text("<script>alert(document.domain)</script>")
    (folder / "unlisted.csv").write_text("x")
    (folder / "link.csv").symlink_to(world.served.home.parent / "settings" / "keys")
    names = [
        "page.html",
        "link.csv",
        "../../../settings/keys",
        "/etc/passwd",
        f"../{world.thread}/answer.md",
        "",
        "a\r\nb",
    ]
    said = [
        {"name": name, "url": "/etc/passwd", "size": 1, "sha256": "", "mime": "text/html", "cell": 0} for name in names
    ]
    odd = [{"name": 5}, "page.html", None, {"url": "file:///etc/passwd"}]
    changed = world.bob.post(
        f"/threads/{thread}/state", json={"values": {"artifacts": said + odd}, "as_node": "upload"}
    )
    assert changed.status_code == 200, changed.text
    listed = world.bob.get(f"/stepwell/threads/{thread}/artifacts").json()["artifacts"]
    assert [one["name"] for one in listed] == ["page.html", "link.csv"]
    page = world.bob.get(f"/stepwell/threads/{thread}/artifacts/page.html")
    assert page.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in page.headers["content-security-policy"]
    base = f"/stepwell/threads/{thread}/artifacts"
    for path in (
        f"{base}/unlisted.csv", f"{base}/link.csv", f"{base}/..%2f..%2f..%2fsettings%2fkeys", f"{base}/%2fetc%2fpasswd",
        f"{base}/..%252f..%252fkeys", f"{base}/..%5c..%5ckeys", f"{base}/page.html%00.png", f"{base}//etc/passwd",
        f"{base}/..%2f{world.thread}%2fanswer.md", "/stepwell/threads/..%2f..%2fx/artifacts/keys",
        f"/stepwell/threads/{world.thread}/artifacts/answer.md",
    ):  # fmt: skip
        answer = asked_as_it_is(world, path)
        assert b" 404 " in answer.split(b"\r\n")[0], (path, answer[:300])
    with zipfile.ZipFile(io.BytesIO(world.bob.get(f"/stepwell/threads/{thread}/export").content)) as archive:
        assert archive.namelist() == ["answers.md", "page.html", "missing.txt"]


def test_the_archive_holds_answer_code_and_files(world: World) -> None:
    answer = world.alice.get(f"/stepwell/threads/{world.thread}/export")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert {"answers.md", "analysis.py", "answer.md", "summary.xlsx"} <= set(archive.namelist())
        assert "What stands out?" in archive.read("answers.md").decode()
        compile(archive.read("analysis.py"), "analysis.py", "exec")


# Steps


def test_steps_make_a_tree_with_code_output_variables_and_files(world: World) -> None:
    steps = world.alice.get(f"/stepwell/threads/{world.thread}/steps").json()["steps"]
    assert [one["id"] for one in steps] == [str(number) for number in range(1, len(steps) + 1)]
    assert [one["head"] for one in steps] == [False] * (len(steps) - 1) + [True]
    step = world.alice.get(f"/stepwell/threads/{world.thread}/steps/4").json()
    assert step["code"]
    assert step["observation"].startswith("cell 4 ")
    assert step["purpose"] == steps[3]["purpose"]
    assert {"name", "kind", "summary"} <= set(step["namespace"][0])
    figure = next(path for path in step["workspace"] if path.startswith("figures/"))
    png = world.alice.get(f"/stepwell/threads/{world.thread}/steps/4/files/{figure}")
    assert png.content.startswith(b"\x89PNG")
    assert png.headers["content-disposition"].startswith("inline")
    assert len(png.content) == step["workspace"][figure]
    assert world.alice.get(f"/stepwell/threads/{world.thread}/steps/1/files/{figure}").status_code == 404
    for name in ("0", "99", "4b", "x", "..", "4@5"):
        assert world.alice.get(f"/stepwell/threads/{world.thread}/steps/{name}").status_code == 404


def test_a_fork_in_the_same_thread_is_a_branch(world: World) -> None:
    thread = world.alice.post(f"/threads/{world.thread}/copy").json()["thread_id"]
    steps = world.alice.get(f"/stepwell/threads/{thread}/steps").json()["steps"]
    third = next(one for one in steps if one["id"] == "3")
    run = {"assistant_id": "stepwell", "input": None, "checkpoint": {"checkpoint_id": third["checkpoint"]}}
    world.alice.post(f"/threads/{thread}/runs/wait", json=run).raise_for_status()
    after = world.alice.get(f"/stepwell/threads/{thread}/steps").json()["steps"]
    branch = next(one for one in after if one["id"] == "4b")
    assert (branch["parent"], branch["branch"]) == ("3", "b")
    assert next(one["id"] for one in after if one["head"]).endswith("b")
    assert [one["id"] for one in after if one["branch"] == "a"] == [one["id"] for one in steps]


# Operation


def test_operators_see_cells_sandboxes_tokens_and_failures(world: World) -> None:
    thread = world.alice.post("/threads", json={}).json()["thread_id"]
    ask(world.alice, thread, "Look", "upload:none")
    for path in ("/metrics", "/stepwell/metrics"):
        text = world.operator.get(path).text
        numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("stepwell_"))
        assert float(numbers['stepwell_cells_total{status="ok"}']) >= 8
        assert float(numbers["stepwell_cell_seconds_count"]) >= 8
        assert float(numbers['stepwell_sandboxes{state="active"}']) >= 1
        assert float(numbers['stepwell_failures_total{error="InputError",node="plan"}']) >= 1
        assert float(numbers['stepwell_model_calls_total{node="generate"}']) >= 8
        assert 'stepwell_tokens_total{direction="in",node="generate"}' in numbers
        assert float(numbers['stepwell_node_seconds_count{node="execute"}']) >= 8


def test_the_log_names_threads_and_steps_and_no_contents_and_keys(world: World) -> None:
    world.alice.get("/stepwell/uploads?name=x", headers={"Cookie": "secret-cookie"})
    text = world.served.log.read_text()
    lines = [line for line in json_lines(text) if line.get("logger") == "stepwell"]
    steps = [line for line in lines if line.get("thread_id") == world.thread and line.get("node") == "execute"]
    assert [line["step"] for line in steps][:3] == [1, 2, 3]
    assert all(line["status"] and line["run_id"] for line in steps)
    assert any(line.get("outcome") == "failed" and line.get("error") == "InputError" for line in lines)
    for secret in (CANARY, *world.keys.values(), "secret-cookie"):
        assert secret not in text


def test_each_run_is_a_trace_with_its_nodes(world: World) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with contextlib.suppress(httpx.HTTPError):
        world.alice.get("/ok")
    spans = []
    for body in list(world.spans.bodies):
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert names["service.name"] == "stepwell"
            spans += [span for scope in resource.scope_spans for span in scope.spans]
    mine = [
        span for span in spans
        if any(one.key == "stepwell.thread_id" and one.value.string_value == world.thread for one in span.attributes)
    ]  # fmt: skip
    run = next(span for span in mine if span.name == "stepwell run")
    nodes = [span for span in mine if span.parent_span_id == run.span_id]
    assert {span.name for span in nodes} >= {
        "stepwell plan",
        "stepwell generate",
        "stepwell execute",
        "stepwell upload",
    }
    assert {span.trace_id for span in mine} == {run.trace_id}
    assert CANARY.encode() not in b"".join(world.spans.bodies)


def test_the_openapi_document_tells_of_our_routes(world: World) -> None:
    document = world.alice.get("/openapi.json").json()
    ours = {path: methods for path, methods in document["paths"].items() if path.startswith("/stepwell/")}
    assert len(ours) >= 10
    for path, methods in ours.items():
        for method, said in methods.items():
            assert said["summary"], (path, method)
            assert said["responses"], (path, method)
    assert json.dumps(document["security"]) == '[{"key": []}, {"apiKey": []}]'


def test_a_run_that_waits_for_somebody_is_no_failure(world: World) -> None:
    def failures() -> str:
        text = world.operator.get("/stepwell/metrics").text
        return "\n".join(line for line in text.splitlines() if line.startswith("stepwell_failures_total"))

    before = failures()
    thread = world.alice.post("/threads", json={}).json()["thread_id"]
    file = world.alice.post("/stepwell/uploads?name=a.csv", content=b"a,b\n1,2\n3,4\n").json()["file"]
    given = {"messages": [{"role": "user", "content": "What stands out?"}], "files": [file]}
    run = {"assistant_id": "stepwell", "input": given, "context": {"approval": "cells"}}
    said = world.alice.post(f"/threads/{thread}/runs/wait", json=run).json()
    assert said["__interrupt__"]
    lines = [line for line in json_lines(world.served.log.read_text()) if line.get("thread_id") == thread]
    assert {line["outcome"] for line in lines if line.get("node") == "approve"} == {"waits"}
    assert failures() == before


def test_a_browser_may_read_what_a_resumable_upload_is_told(world: World) -> None:
    page = {"Origin": "https://app.example.org"}
    begun = world.alice.post("/stepwell/uploads?name=a.csv", headers={"Upload-Length": "3", **page})
    assert begun.headers["access-control-allow-origin"] == "*"
    exposed = begun.headers["access-control-expose-headers"].lower()
    assert {"location", "upload-offset", "etag", "content-disposition"} <= set(exposed.split(", "))
    asked = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "upload-offset", **page}
    preflight = httpx.options(f"{world.served.url}{begun.headers['location']}", headers=asked)
    assert preflight.status_code == 200
    assert "PATCH" in preflight.headers["access-control-allow-methods"]
    about = world.alice.options("/stepwell/uploads")
    assert (about.status_code, about.headers["tus-max-size"]) == (204, "3000000")


def test_a_server_that_cannot_store_uploads_is_not_ready(world: World) -> None:
    folder = world.served.home / "uploads"
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    try:
        said = httpx.get(f"{world.served.url}/stepwell/ready")
        assert said.status_code == 503
        assert said.json() == {"ok": False, "checks": {"data folder": True, "uploads": False, "snapshots": True}}
        refused = world.alice.post("/stepwell/uploads?name=a.csv", content=b"x")
        assert refused.status_code == 507
        assert httpx.get(f"{world.served.url}/stepwell/health").status_code == 200
    finally:
        folder.unlink()
        aside.rename(folder)
    assert httpx.get(f"{world.served.url}/stepwell/ready").status_code == 200


# Whatever else one may send


@pytest.fixture
def document(world: World) -> Any:
    """Our part of the OpenAPI document."""
    said = world.alice.get("/openapi.json").json()
    said["paths"] = {path: methods for path, methods in said["paths"].items() if path.startswith("/stepwell/")}
    # Either of two headers says who it is; this takes each of them for needed.
    said["components"] = {"securitySchemes": {"key": said["components"]["securitySchemes"]["key"]}}
    said["security"] = [{"key": []}]
    return schemathesis.openapi.from_dict(said)


schemathesis.serializer.alias(PIECE, "application/octet-stream")
described = schemathesis.pytest.from_fixture("document")


@described.parametrize()
@hypothesis.settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
def test_every_answer_is_one_that_the_document_promises(case: Any, world: World) -> None:
    parameters = case.path_parameters or {}
    if "thread_id" in parameters and int(str(parameters["thread_id"]).encode().hex(), 16) % 4:
        parameters["thread_id"] = world.thread  # else nothing but "no such thread" would be looked at
    key = world.keys["operator" if case.path.endswith("/metrics") else "alice"]
    case.call_and_validate(
        base_url=world.served.url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
        # Kinds of files, offsets and the like are refused for what they mean, with a status that the document names;
        # and parameters that nobody has heard of are passed over, as HTTP has it.
        excluded_checks=schemathesis.checks.CHECKS.get_by_names(
            ["positive_data_acceptance", "negative_data_rejection"]
        ),
    )
