"""The bridge: one process in the sandbox that holds the kernel, and through which all requests to it go.

It belongs to one owner at a time, a session of the host's that names itself by a token. What was said about the request
of now is kept until the next one, so an owner whose connection broke off hears the rest on another one, and a request
that arrives twice is done once.
"""

import fcntl
import os
import selectors
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from typing import Any

from . import blobs
from .kernel_process import KernelProcess, StreamCapture, become_subreaper, reap
from .requests import BridgeClient, HostRequest, Inbox, note, packed
from .supervision import complaint

POLL_SECONDS = 0.02
"""How often messages are looked for while a request is under way."""
SOON_SECONDS = 0.002
"""How often while the cell waits for the answer to a call."""
FLUSH_SECONDS = 0.03
"""How long output is gathered before it is passed on."""
BUSY_SECONDS = 20.0
"""How long an owner may be silent while its request is under way before another may take over."""
IDLE_SECONDS = 5.0
"""How long it may be silent between its requests."""
UNRESPONSIVE_SECONDS = 10.0
"""How long a kernel that waits for orders may take to read one."""

DISCARDED = "the sandbox was closed or reset while the cell ran"


class Bridge:
    """The state of the bridge.

    Args:
        base: The folder of the sandbox's things.
        listener: Where contexts and commands connect.
    """

    def __init__(self, base: str, listener: socket.socket) -> None:
        self._base = base
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._inbox = Inbox(base)
        self._kernel: KernelProcess | None = None
        self._request: HostRequest | None = None
        self._client: BridgeClient | None = None
        self._owner, self._who = "", ""
        self._last_heard = 0.0
        """When the last message of the owner came."""
        self._flushed = 0.0
        self._why_gone = ""
        self._calls = 0
        """Calls of the cell that are not answered, as far as we see."""

    def serve(self) -> None:
        """Serve until the sandbox ends."""
        while True:
            busy = self._client is not None or (self._request is not None and not self._request.done)
            poll = SOON_SECONDS if self._calls > 0 else POLL_SECONDS
            for key, _ in self._selector.select(poll if busy else None):
                key.data()
            if busy:
                self._take_messages()
            self._do_due()

    def _accept(self) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            client = BridgeClient(connection)
            self._selector.register(connection, selectors.EVENT_READ, lambda: self._read_client(client))

    def _read_client(self, client: BridgeClient) -> None:
        descriptor = client.connection
        messages = client.read()
        if client.closed:
            self._forget(descriptor)
            return
        if client.waiting:
            client.send()
        for header, body in messages:
            self._answer(client, header, body)

    def _forget(self, descriptor: socket.socket) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(descriptor)

    def _answer(self, client: BridgeClient, header: dict[str, Any], body: bytes) -> None:
        if header.get("do") == "attach":
            self._attach(client, header, body)
        elif header.get("do") == "end":
            self._end(client, header)
        else:
            self._hang_up(client, packed("nothing"))

    def _hang_up(self, client: BridgeClient, data: bytes = b"") -> None:
        self._forget(client.connection)
        if client.closed:
            return
        client.connection.setblocking(True)
        client.connection.settimeout(5.0)
        client.send(data, last=True)
        client.close()

    def _end(self, client: BridgeClient, header: dict[str, Any]) -> None:
        """End the session if the client owns it. `keep`: the client goes on with another one."""
        ours = header.get("token") == self._owner or self._free_in() <= 0
        if ours:
            self._drop_kernel(DISCARDED)
            self._do_due()
            self._owner = self._owner if header.get("keep") else ""
        self._hang_up(client, packed("ended", ours=ours))

    def _free_in(self) -> float:
        """The seconds until another worker may take over."""
        if not self._owner:
            return 0.0
        under_way = self._request is not None and not self._request.done
        return self._last_heard + (BUSY_SECONDS if under_way else IDLE_SECONDS) - time.monotonic()

    def _claim(self, header: dict[str, Any]) -> bool:
        """Make the client the owner, if it is not; false if another one is."""
        token = str(header.get("token", ""))
        if token != self._owner:
            if self._free_in() > 0:
                return False
            self._drop_kernel("another worker took the sandbox over")
            self._do_due()
            self._owner, self._request = token, None
            self._inbox.clear()
        self._who, self._last_heard = str(header.get("who", "")), time.monotonic()
        return True

    def _attach(self, client: BridgeClient, header: dict[str, Any], body: bytes) -> None:
        if header.get("token") != self._owner and (header.get("again") or not header.get("fresh")):
            # It means a session that is not here any more, or has begun in a life of the sandbox that is over.
            self._hang_up(client, packed("lost", why="the sandbox was started anew, or another worker took it over"))
            return
        if not self._claim(header):
            self._hang_up(client, packed("taken", who=self._who, seconds=round(self._free_in(), 1)))
            return
        if self._client is not None:
            self._hang_up(self._client)
        self._client = client
        self._take_messages()
        if self._request is None or self._request.n != header["n"]:
            self._begin(header, body)
        assert self._request is not None
        client.send(b"".join(self._request.log[int(header.get("seen", 0)) :]))

    def _take_messages(self) -> None:
        for header, body in self._inbox.take():
            if header.get("token") != self._owner or not self._owner:
                continue  # of an earlier owner
            self._last_heard = time.monotonic()
            request, do = self._request, header.get("do")
            if do == "ask" and (request is None or request.n != header["n"]):
                self._begin(header, body)
            elif request is None or header.get("n") != request.n or request.done:
                continue
            elif do == "say":
                self._calls -= int(header.get("answers", 1))
                self._send_to_kernel(body)
            elif do == "interrupt":
                request.interrupt(header.get("grace"))
            elif do == "kill":
                self._drop_kernel(DISCARDED)

    def _begin(self, header: dict[str, Any], body: bytes) -> None:
        """Pass a request on to the kernel, a new one if that is asked for."""
        if self._request is not None and not self._request.done:
            self._drop_kernel("its owner asked something else")
            self._do_due()
        fresh = bool(header.get("fresh"))
        if fresh or (self._kernel is not None and self._kernel.ended):
            self._drop_kernel("")
        request, self._calls = HostRequest(self._base, header), 0
        self._request = request
        self._send("begun")  # a client whose connection is dead by now sees that it does not come
        blobs.retire(self._base, header.get("drop", []))
        if fresh:
            self._start(str(header.get("network", "none")))
        elif self._kernel is None:
            self._send("lost", why=self._why_gone or "its process ended between two cells")
            self._end_request()
            return
        assert self._kernel is not None
        self._kernel.stdout.begin()
        self._kernel.stderr.begin()
        for stream in (self._kernel.stdout, self._kernel.stderr):
            self._selector.register(stream.pipe, selectors.EVENT_READ, partial(self._read_output, stream))
        self._send_to_kernel(body)
        request.last_sent = time.monotonic()

    def _read_output(self, stream: StreamCapture) -> None:
        if stream.read() is None:
            with suppress(KeyError, ValueError):
                self._selector.unregister(stream.pipe)

    def _start(self, network: str) -> None:
        self._why_gone = ""
        blobs.retire_all(self._base)
        self._kernel = KernelProcess(self._base, network)
        self._selector.register(self._kernel.control, selectors.EVENT_READ, self._read_kernel)

    def _drop_kernel(self, why: str) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is None:
            return
        self._why_gone = why or self._why_gone
        if self._request is not None and not self._request.done:
            code = kernel.kill()
            self._finish(kernel, code=code, discarded=bool(why))
        for watched in (kernel.control, kernel.stdout.pipe, kernel.stderr.pipe):
            with suppress(KeyError, ValueError):
                self._selector.unregister(watched)
        kernel.close()

    def _send_to_kernel(self, data: bytes) -> None:
        if self._kernel is not None:
            more = self._kernel.send(data)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if more else 0)
            with suppress(KeyError):
                self._selector.modify(self._kernel.control, events, self._read_kernel)

    def _read_kernel(self) -> None:
        kernel = self._kernel
        if kernel is None:
            return
        if kernel.waiting:
            self._send_to_kernel(b"")
        received = kernel.receive()
        if received is None:
            self._drop_connection(kernel)
            return
        for header, body in received:
            request = self._request
            if header.get("type") == "hello" and not kernel.greeted:
                kernel.greeted = True
                if request is not None:
                    request.begin()
            if request is None or request.done or (header.get("id") != request.id and header.get("type") != "hello"):
                continue
            if header.get("type") == request.answer:
                self._finish(kernel, header=header, body=body)
            else:
                for stream in (kernel.stdout, kernel.stderr):
                    stream.read()
                self._flush(kernel)  # what was printed before comes before
                self._calls += header.get("type") == "call"
                self._send("kernel", body, header=header)
        if kernel.protocol_error:
            self._drop_connection(kernel)

    def _drop_connection(self, kernel: KernelProcess) -> None:
        """The kernel's connection cannot be used any more: it has ended, or something else wrote to it."""
        with suppress(KeyError, ValueError):
            self._selector.unregister(kernel.control)
        deadline = time.monotonic() + 2.0
        while not kernel.ended and time.monotonic() < deadline:
            time.sleep(0.01)
        code = kernel.kill()
        self._finish(kernel, code=code, protocol_error=kernel.protocol_error)

    def _finish(
        self,
        kernel: KernelProcess,
        *,
        header: dict[str, Any] | None = None,
        body: bytes = b"",
        code: int | None = None,
        discarded: bool = False,
        protocol_error: bool = False,
    ) -> None:
        """The request is over: all that was printed comes before the kernel's last word."""
        request = self._request
        if request is None or request.done:
            return
        for stream in (kernel.stdout, kernel.stderr):
            with suppress(KeyError, ValueError):
                self._selector.unregister(stream.pipe)
            stream.drain()
        why = "" if kernel.greeted else complaint(kernel.stderr.head().decode("utf-8", "replace"))
        self._flush(kernel)
        for name, stream in (("stdout", kernel.stdout), ("stderr", kernel.stderr)):
            dropped, tail = stream.rest()
            if tail and not request.quiet:
                self._send("rest", tail, stream=name, dropped=dropped)
        if header is not None:
            self._send("kernel", body, header=header)
        self._end_request(code=code, discarded=discarded, protocol_error=protocol_error, failed=why)

    def _end_request(self, **how: Any) -> None:
        request = self._request
        assert request is not None
        request.done, request.ended_at = True, time.monotonic()
        self._last_heard = time.monotonic()
        ended = {name: getattr(request, name) for name in ("late", "ignored_interrupt", "unresponsive")}
        self._send("over", **{**ended, "reached": note(self._base), **how})

    def _flush(self, kernel: KernelProcess) -> None:
        self._flushed = time.monotonic()
        request = self._request
        for name, stream in (("stdout", kernel.stdout), ("stderr", kernel.stderr)):
            head, sample = stream.head(), stream.sample()
            if request is not None and not request.quiet:
                if head:
                    self._send("output", head, stream=name)
                if sample and not request.done:
                    self._send("sample", sample, stream=name)

    def _send(self, kind: str, body: bytes = b"", **more: Any) -> None:
        assert self._request is not None
        frame = self._request.add(kind, body, **more)
        if self._client is not None and not self._client.closed:
            self._client.send(frame)

    def _do_due(self) -> None:
        """Do what is due: limits, output, the end of a request, closing a connection that is not needed."""
        request, kernel, now = self._request, self._kernel, time.monotonic()
        if request is not None and not request.done and kernel is not None:
            if now - self._flushed >= FLUSH_SECONDS:
                self._flush(kernel)
            reap(kernel.process.pid)
            if kernel.ended:
                self._read_kernel()
                if not request.done:  # something that it left behind holds its connection
                    self._drop_connection(kernel)
            if not request.done:
                self._limit(request, kernel, now)
        if self._client is None or request is None:
            return
        if tick := request.tick():
            self._client.send(tick)
        if request.done and kernel is not None and kernel.ended:
            self._client.send(packed("gone"))
            self._drop_kernel("")
        if request.done and now >= request.ended_at + request.linger:
            client, self._client = self._client, None
            if not client.closed:
                self._hang_up(client)
        elif self._client.waiting:
            self._client.send()

    def _limit(self, request: HostRequest, kernel: KernelProcess, now: float) -> None:
        action = request.due_action(now)
        if action == "interrupt":
            kernel.interrupt()
        elif action == "kill":
            self._drop_kernel("")
        elif request.quiet and kernel.unresponsive_seconds > UNRESPONSIVE_SECONDS:
            request.unresponsive = True
            self._drop_kernel("")


def main(base: str) -> None:
    """Serve one sandbox; another bridge that serves it already is left to it."""
    lock = os.open(os.path.join(base, "bridge.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(0)
    for name in ("workspace", "home", "tmp", "cache", "spool", "blobs", "in", "out"):
        os.makedirs(os.path.join(base, name), exist_ok=True)
    os.chdir(base)
    with suppress(FileNotFoundError):
        os.unlink("bridge.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("bridge.sock")
    os.chmod("bridge.sock", 0o600)
    listener.listen(16)
    become_subreaper()
    Bridge(base, listener).serve()
