"""What operators see of a server: numbers, a log, traces, readiness; and nothing of what users have in it."""

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client

from tests.integration.http_world import CANARY, World, ask
from tests.scripted_model import Call, ScriptedServer
from tests.serving import json_lines, serving, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("http")]


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
        assert 'stepwell_model_calls_total{node="generate"}' not in numbers, "the playbook is no language model"
        assert float(numbers['stepwell_node_seconds_count{node="execute"}']) >= 8


async def test_operators_see_calls_and_tokens_of_models(model: ScriptedServer, tmp_path: Path) -> None:
    model.script += [Call("run_python", purpose="Add", code=f"n = {number}") for number in range(8)]
    model.script += [Call("submit_answer", answer="It is {{n}}.")]
    settings, keys = with_keys(tmp_path / "settings", "alice", "operator")
    environment = {
        **settings,
        "STEPWELL_MODEL": "scripted",
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "none",
    }
    question: Any = {"messages": [{"role": "user", "content": "How much is it?"}]}
    with serving(tmp_path / "served", environment) as served:
        alice, operator = (get_client(url=served.url, headers={"X-Api-Key": keys[one]}) for one in keys)
        async with alice, operator:
            await alice.runs.wait(None, "stepwell", input=question, context={"review": "never"})
            for path in ("/metrics", "/stepwell/metrics"):
                text = (await operator.http.client.get(path)).text
                numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("stepwell_"))
                assert float(numbers['stepwell_model_calls_total{node="generate"}']) >= 8
                assert float(numbers['stepwell_tokens_total{direction="in",node="generate"}']) > 0


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
    until = time.monotonic() + 120
    while (ready := httpx.get(f"{world.served.url}/stepwell/ready")).status_code != 200:  # its first cell may still run
        assert time.monotonic() < until, ready.text
        time.sleep(0.1)
    folder = world.served.home / "uploads"
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    try:
        said = httpx.get(f"{world.served.url}/stepwell/ready")
        assert said.status_code == 503
        checks = {"data folder": True, "uploads": False, "snapshots": True, "cells": True}
        assert said.json() == {"ok": False, "checks": checks}
        refused = world.alice.post("/stepwell/uploads?name=a.csv", content=b"x")
        assert refused.status_code == 507
        assert httpx.get(f"{world.served.url}/stepwell/health").status_code == 200
    finally:
        folder.unlink()
        aside.rename(folder)
    assert httpx.get(f"{world.served.url}/stepwell/ready").status_code == 200
