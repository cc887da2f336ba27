"""Analyses whose cells call somebody outside, who counts; and clients that go on when their server goes away."""

import asyncio
import json
import re
from collections import Counter
from types import TracebackType
from typing import Any, Self

import httpx
from langgraph_sdk import get_client

from tests.scripted_model import Call, Plain, Request

CELLS = 6
HELD = 4
"""The cell that is answered, in half of the analyses, only when the test says so: it runs until then."""
PATIENCE = 120.0
ASKED = re.compile(r"\[count (\d+) at (\d+)\]")


def next_count(request: Request) -> Plain | None:
    """What a model answers to a question of these analyses; None when it is asked for something else."""
    text = json.dumps(request.body["messages"])
    asked = ASKED.findall(text)
    if not asked:
        return None
    name, port = asked[-1]
    for number in range(1, CELLS + 1):
        purpose = f"count {name}/{number}"
        if purpose not in text:  # every cell that ran is there with its purpose, however it ended
            code = (
                f"import socket, time\nwith socket.create_connection(('127.0.0.1', {port})) as outside:\n"
                f"    outside.sendall(b'{name}/{number}\\n')\n    outside.recv(1)\n"
                f"time.sleep(0.2)\nseen = [*globals().get('seen', []), {number}]\nprint(seen)"
            )
            return Call("run_python", purpose=purpose, step=1, code=code)
    return Call("submit_answer", answer=f"Counted {name} to {CELLS}.", skipped=[])


class Counts:
    """Somebody outside of all sandboxes who counts, and the clients; an async context manager.

    Args:
        queue_is_shared: Whether any of the servers can say how a run of another goes.
        api_key: Of the user whose analyses they are.
    """

    def __init__(self, *, queue_is_shared: bool = False, api_key: str | None = None) -> None:
        self._queue_is_shared = queue_is_shared
        self._key = api_key
        self.effects: Counter[str] = Counter()
        """By analysis and cell."""
        self.asked = 0
        """Analyses whose question a server has taken."""
        self._held: set[str] = set()
        self._released = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._called, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._released.set()
        self._server.close()
        await self._server.wait_closed()

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = (await reader.readline()).decode().strip()
        self.effects[call] += 1
        number, _, cell = call.partition("/")
        if int(cell) == HELD and int(number) % 4 in (0, 3):  # as many with even numbers as with odd ones
            self._held.add(call)
            await self._released.wait()
        writer.close()

    async def reach(self, *, effects: int = 0, held: int = 0, asked: int = 0) -> None:
        """Wait until so many cells have done something, run on until they are released, or were asked for."""
        async with asyncio.timeout(PATIENCE):
            while self.effects.total() < effects or len(self._held) < held or self.asked < asked:
                await asyncio.sleep(0.05)

    def release(self) -> None:
        """Let the cells that are held end."""
        self._released.set()

    async def analysis(self, number: int, url: str, other: str) -> dict[str, Any]:
        """Ask a server, and stay with the analysis until it is over.

        Args:
            number: Names the analysis. Of those with odd numbers in pairs the client goes on at the other server; the
                others wait until their own is there again.
            url: The server.
            other: Another one.

        Returns:
            The thread's state in the end.
        """
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        given: dict[str, Any] = {"messages": [{"role": "user", "content": f"[count {number} at {port}]"}]}
        async with get_client(url=url, api_key=self._key) as client:
            thread = (await client.threads.create())["thread_id"]
            run = (await client.runs.create(thread, "stepwell", input=given))["run_id"]
            self.asked += 1
            moves = number // 2 % 2 == 1 and not self._queue_is_shared
            while True:
                try:
                    await client.runs.join(thread, run)
                    break
                except httpx.HTTPError:
                    pass  # it has tried a few times by itself
                if moves:
                    await self._go_on(other, thread)
                    moves = False
                await asyncio.sleep(0.2)
            while True:
                try:
                    values: Any = (await client.threads.get_state(thread))["values"]
                    return dict(values)
                except httpx.HTTPError:  # its server is being restarted
                    await asyncio.sleep(0.2)

    def check(self, states: list[dict[str, Any]]) -> None:
        """Every analysis has its one answer, and no cell did twice what it does outside."""
        for number, state in enumerate(states):
            answers = [turn["answer"] for turn in state["turns"]]
            assert answers == [f"Counted {number} to {CELLS}."], state["cells"]
            done = {cell["purpose"]: cell["status"] for cell in state["cells"]}
            assert list(done) == [f"count {number}/{cell}" for cell in range(1, CELLS + 1)]
            assert len(done) == len(state["cells"])
            for purpose, status in done.items():
                times = self.effects[purpose.removeprefix("count ")]
                assert (status == "ok" and times == 1) or (status == "unknown" and times <= 1), (purpose, status, times)

    async def _go_on(self, url: str, thread: str) -> None:
        async with get_client(url=url, api_key=self._key) as client:
            while True:
                try:
                    about = {"graph_id": "stepwell"}
                    await client.threads.create(thread_id=thread, if_exists="do_nothing", metadata=about)
                    await client.runs.wait(thread, "stepwell", input=None)
                    return
                except httpx.HTTPError:
                    await asyncio.sleep(0.2)
