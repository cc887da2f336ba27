"""A scripted OpenAI-compatible server: real HTTP, real streaming, and only the replies that a test wrote down.

```python
async with ScriptedServer([
    Say("1. Load the data\n2. Count"),
    Call("run_python", code="print(1)", purpose="count"),
    too_long(),
    lambda request: Say(f"you said {request.last!r}"),
]) as server:
    ...  # OPENAI_BASE_URL=server.base_url, any key
    assert server.requests[1].tools == ["run_python"]
```

Every POST to `/chat/completions` takes the next reply, whatever it asks for; both streamed and whole replies are
spoken, as the request wants. A request for which the script has no reply, and a reply that nobody asked for, fail the
test when the block is left. Retries of the client are requests, too.

The server runs in threads of its own, so other processes can be tested against it as well. Other paths answer as a real
server does (`GET /models` lists one model, the rest is 404) and are not part of the script.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.scripted_replies import (
    Call,
    Calls,
    Drop,
    Fault,
    Hang,
    Plain,
    RawCall,
    Request,
    Say,
    Scripted,
    bad_key,
    chunks,
    html_page,
    no_quota,
    rate_limited,
    stream_options_refused,
    too_long,
    tool_choice_refused,
    tools_refused,
    unknown_model,
    whole,
)

__all__ = [
    "Call",
    "Calls",
    "Drop",
    "Fault",
    "Hang",
    "Plain",
    "RawCall",
    "Request",
    "Say",
    "Scripted",
    "ScriptedServer",
    "bad_key",
    "html_page",
    "no_quota",
    "rate_limited",
    "stream_options_refused",
    "too_long",
    "tool_choice_refused",
    "tools_refused",
    "unknown_model",
]


class ScriptedServer:
    """An OpenAI-compatible endpoint that says what a script says; use with `async with`.

    Args:
        script: The replies, in order. A verdict is left out where no review is asked for: whether one is, the analysis
            decides.
        policy: Answers instead of a script, by what is asked, however often: as for processes that are killed.
    """

    def __init__(self, script: Sequence[Scripted] = (), *, policy: Callable[[Request], Plain] | None = None) -> None:
        self.script: list[Scripted] = list(script)
        """The replies that are still to come; a test may append to it."""
        self.requests: list[Request] = []
        """What was asked for so far."""
        self.problems: list[str] = []
        """What will fail the test."""
        self.stopping = threading.Event()
        self._policy = policy
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """What OPENAI_BASE_URL must be."""
        assert self._server is not None, "the server runs inside `async with` only"
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    async def __aenter__(self) -> "ScriptedServer":
        self._server = await asyncio.to_thread(_Server, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="scripted model")
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stopping.set()
        await asyncio.to_thread(self._stop)
        self._check(error)

    @contextmanager
    def for_one_test(self) -> Iterator[None]:
        """The script of one test of several that share the endpoint; what is wrong with it fails that one."""
        try:
            yield
            self._check(None)
        finally:
            self.script, self.requests, self.problems = [], [], []

    def _check(self, error: BaseException | None) -> None:
        self._leave_out_verdicts()
        if self.script:
            self.problems.append(f"{len(self.script)} replies were never asked for; the next one: {self.script[0]}")
        if error is not None:
            for problem in self.problems:
                error.add_note(f"scripted model: {problem}")
        elif self.problems:
            raise AssertionError("scripted model: " + "\n".join(self.problems))

    def reply_to(self, request: Request) -> Plain:
        """Take the next reply of the script. Called in the server's threads."""
        with self._lock:
            self.requests.append(request)
            if "submit_review now" not in request.last:
                self._leave_out_verdicts()
            if not self.script and self._policy is None:
                self.problems.append(f"request {len(self.requests)} has no reply: … {request.last[-300:]!r}")
                return Fault(418, "the script is over", headers={"x-should-retry": "false"})
            scripted: Scripted = self._policy or self.script.pop(0)
        if not callable(scripted):
            return scripted
        try:
            return scripted(request)
        except Exception as error:  # an assertion inside it must fail the test
            with self._lock:
                self.problems.append(f"the function for request {len(self.requests)} failed: {error!r}")
            return Fault(418, "the script failed", headers={"x-should-retry": "false"})

    def _leave_out_verdicts(self) -> None:
        while self.script and isinstance(self.script[0], Call) and self.script[0].name == "submit_review":
            del self.script[0]

    def _stop(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, scripted: ScriptedServer) -> None:
        self.scripted = scripted
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Conversation)

    def hang_up(self) -> None:
        """Close what clients keep open, so that the threads that read from it end."""
        for connection in list(self.connections):
            _hang_up(connection)


class _Conversation(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        self.server.connections.add(self.request)
        super().setup()

    def finish(self) -> None:
        self.server.connections.discard(self.request)
        super().finish()

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True  # the client lost patience, which is what some tests are about

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self.path.endswith("/v1/models"):
            self._send(200, json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}), {})
        else:
            self._send(404, json.dumps({"detail": "Not Found"}), {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self.path.endswith("/v1/chat/completions"):
            self._send(404, json.dumps({"detail": "Not Found"}), {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, body)
        reply = self.server.scripted.reply_to(request)
        match reply:
            case Fault():
                error = {
                    "message": reply.message,
                    "type": reply.type or None,
                    "param": None,
                    "code": reply.code or None,
                }
                self._send(
                    reply.status, json.dumps({"error": error}) if reply.body is None else reply.body, reply.headers
                )
            case Hang():
                self.server.scripted.stopping.wait(reply.seconds)
                self._drop()
            case Drop():
                if reply.after and request.streamed:
                    self._stream(list(chunks(Say("piece by piece " * reply.after), request))[: reply.after])
                elif reply.after:
                    self._head(200, {"Content-Length": "5000"})
                    self.wfile.write(b'{"id": "chatcmpl-1", ')
                self._drop()
            case _ if request.streamed:
                self._stream([*chunks(reply, request), "[DONE]"])
                self.wfile.write(b"0\r\n\r\n")
            case _:
                self._send(200, json.dumps(whole(reply, request)), {})

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, status: int, body: str, headers: dict[str, str]) -> None:
        content = body.encode()
        self._head(status, {"Content-Length": str(len(content)), **headers})
        self.wfile.write(content)

    def _stream(self, events: Sequence[Any]) -> None:
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        for event in events:
            data = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

    def _drop(self) -> None:
        self.close_connection = True
        _hang_up(self.connection)


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client was first
