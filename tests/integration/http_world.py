"""A server with users that several modules ask: who they are, what Alice has there, and where its spans go."""

import socket
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.serving import DevServer

CANARY = "canary-93ab"
"""In Alice's data, and so in what her analysis prints."""
PIECE = "application/offset+octet-stream"


@dataclass
class Collector:
    """Takes the spans of a server."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class World:
    """The server, who uses it, and Alice's analysis."""

    served: DevServer
    alice: httpx.Client
    bob: httpx.Client
    operator: httpx.Client
    keys: dict[str, str]
    thread: str
    spans: Collector


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
