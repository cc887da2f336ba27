"""Whole analyses whose snapshots lie on an S3-compatible server, also when it is not there."""

import asyncio
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from graph.events import CellFinished, CellStarted, Event, Failed, Finished, Notice, SessionRestored, SnapshotSaved
from graph.settings import Settings, SettingsError
from stepwell.cleanup import delete, gc
from stepwell.runs import resume, start
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending, published
from tests.integration.test_steps import Effects
from tests.other_process import ROOT
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

PLAN: Scripted = Call("submit_plan", steps=["Count"])


@dataclass
class Store:
    """An S3-compatible server in this process, which can be away for a time, and a bucket on it."""

    port: int
    bucket: str
    server: Any = None

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/blobs"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        self.server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", self.port, verbose=False)
        self.server.start()
        self.port = self.server.get_host_and_port()[1]

    def end(self) -> None:
        if self.server is not None:
            self.server.stop()
        self.server = None


REFUSAL = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>InvalidAccessKeyId</Code><Message>The AWS Access Key Id you provided does not exist.</Message></Error>"""


class Refusing(BaseHTTPRequestHandler):
    """An S3-compatible server that does not know the key."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(REFUSAL)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(REFUSAL)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    s3fs = pytest.importorskip("s3fs")
    made = Store(0, f"bucket-{uuid.uuid4().hex[:8]}")
    made.begin()
    with configured(made.endpoint, monkeypatch):
        s3fs.S3FileSystem().mkdir(made.bucket)
        yield made
    made.end()


@contextmanager
def configured(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Settings of fsspec and the keys, as an operator gives them."""
    s3fs = pytest.importorskip("s3fs")
    from fsspec.config import conf, set_conf_env

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", endpoint)
    set_conf_env(conf)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        yield
    finally:
        conf.pop("s3", None)
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def effects(settings: Settings) -> Effects:
    return Effects(settings.home)


def on(store: Store, settings: Settings) -> Settings:
    return settings.model_copy(update={"blobs": store.url, "isolation": "process"})


def environment_of(model: Settings) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "FSSPEC_"))}
    return {
        **kept,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "STEPWELL_HOME": str(model.home),
        "STEPWELL_ISOLATION": model.isolation,
        "STEPWELL_ARTIFACTS": model.artifacts,
        "STEPWELL_BLOBS": model.blobs,
        "OPENAI_BASE_URL": model.openai_base_url,
        "STEPWELL_MODEL": "scripted",
    }


async def in_its_own_process(model: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", "from stepwell.command import main; main()", *arguments]
    environment = environment_of(model)
    return await asyncio.to_thread(
        lambda: subprocess.run(line, env=environment, capture_output=True, text=True, timeout=150)
    )


async def test_another_process_restores_from_it_and_gc_and_delete_free_it(
    store: Store, settings: Settings, effects: Effects
) -> None:
    keep = "import numpy as np\ndata = np.random.default_rng(1).random(300_000)\nview = data[5:]"
    check = "data[5] = 9\nassert view[0] == 9 and x1 + x2 == 3 and open('outputs/log.txt').read() == '1\\n2\\n3\\n'"
    script = [PLAN, effects.cell(1, keep), effects.cell(2), *ending()]
    async with ScriptedServer([*script, PLAN, effects.cell(3, check), *ending()]) as server:
        model = with_model(on(store, settings), server.base_url)
        events = await follow(start("Count", settings=model))
        thread = last(events, Finished).thread
        assert all(event.snapshot for event in only(events, SnapshotSaved))
        asked = await in_its_own_process(model, "ask", thread, "And now?")
    assert asked.returncode == 0, asked.stderr
    assert "restored from the snapshot after cell 2" in asked.stderr
    assert effects.seen == [1, 2, 3]
    assert not (settings.home / "blobs").exists()
    assert (await gc(settings=on(store, settings), grace=-1)).removed == 0
    swept = await delete(thread, settings=on(store, settings))
    assert swept.removed_bytes > 2_000_000
    assert (await gc(settings=on(store, settings), grace=-1)).kept == 0


async def test_two_processes_write_to_it_at_once(store: Store, settings: Settings, tmp_path: Path) -> None:
    keep = "import numpy as np\ndata = np.random.default_rng(1).random(300_000)\nprint(len(data))"
    script = [PLAN, *(Call("run_python", purpose="p", step=1, code=f"{keep}\nx = {n}") for n in range(3)), *ending()]
    async with ScriptedServer(script) as one, ScriptedServer(script) as other:
        models = [with_model(on(store, settings), server.base_url) for server in (one, other)]
        done = await asyncio.gather(*(in_its_own_process(model, "run", "Count", "--json") for model in models))
    assert [process.returncode for process in done] == [0, 0], [process.stderr for process in done]
    threads = {path.name for path in (settings.home / "threads").iterdir() if len(path.name) == 36}
    assert len(threads) == 2
    for thread in sorted(threads):
        check = "assert x == 2 and (data == np.random.default_rng(1).random(300_000)).all()"
        code = Call("run_python", purpose="p", step=1, code=check)
        async with ScriptedServer([PLAN, code, *ending()]) as server:
            model = with_model(on(store, settings), server.base_url)
            events = await follow(start("Check", thread=thread, settings=model))
        assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"]
        assert (only(events, SessionRestored)[0].cells, only(events, SessionRestored)[0].problems) == (0, [])
        await delete(thread, settings=on(store, settings))
    assert (await gc(settings=on(store, settings), grace=-1)).kept == 0


async def test_it_goes_away_in_the_middle_and_the_analysis_goes_on(
    store: Store, settings: Settings, effects: Effects
) -> None:
    told: list[str] = []
    kept, events = threading.Event(), list[Event]()

    def away(request: Request) -> Call:
        assert kept.wait(60)  # the model is asked while the snapshot is taken
        store.end()
        return effects.cell(2)

    def answer(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    script: list[Scripted] = [PLAN, effects.cell(1), away, effects.cell(3), answer, *ending()[1:]]
    async with ScriptedServer(script) as server:
        model = with_model(on(store, settings), server.base_url)
        async for event in start("Count", settings=model):
            events.append(event)
            if isinstance(event, SnapshotSaved):
                kept.set()
        thread = last(events, Finished).thread
        assert [bool(event.snapshot) for event in only(events, SnapshotSaved)] == [True, False, False]
        assert store.url in only(events, SnapshotSaved)[1].why_not
        warnings = [event.text for event in only(events, Notice) if event.level == "warning"]
        assert [store.url in text for text in warnings] == [False, True]  # the first: this run has no walls
        assert "The step after cell 2 has no snapshot" in told[0]
        # While it is away nothing can be restored: one sentence, no cell runs again, and the thread stays as it was.
        server.script += [PLAN, effects.cell(4, "assert x3 == 3"), *ending()]
        stopped = await follow(start("And now?", thread=thread, settings=model))
        assert store.url in last(stopped, Failed).error
        assert "\n" not in last(stopped, Failed).error
        assert only(stopped, CellStarted) == []
        assert effects.seen == [1, 2, 3]
        store.begin()
        events = await follow(resume(thread, settings=model))
    back = only(events, SessionRestored)[0]
    assert (back.from_cell, back.cells) == (1, 2)
    assert effects.seen == [1, 2, 3, 2, 3, 4]
    assert published(last(events, Finished), "log.txt") == "1\n2\n3\n4\n"
    assert only(events, SnapshotSaved)[0].snapshot


async def test_wrong_keys_are_one_sentence_and_cost_only_the_snapshots(
    settings: Settings, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("s3fs")
    refusing = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=refusing.serve_forever, args=(0.02,))
    thread.start()
    try:
        with configured(f"http://127.0.0.1:{refusing.server_address[1]}", monkeypatch):
            async with ScriptedServer([PLAN, effects.cell(1), effects.cell(2), *ending()]) as server:
                unreachable = settings.model_copy(update={"blobs": "s3://private/blobs", "isolation": "process"})
                model = with_model(unreachable, server.base_url)
                events = await follow(start("Count", settings=model))
            assert isinstance(events[-1], Finished)
            why = only(events, SnapshotSaved)[0].why_not
            assert "s3://private/blobs" in why
            assert "\n" not in why
            assert "test-secret" not in why
            assert effects.seen == [1, 2]
            with pytest.raises(SettingsError, match="s3://private/blobs"):
                await gc(settings=model)
    finally:
        await asyncio.to_thread(refusing.shutdown)
        refusing.server_close()
        thread.join()
