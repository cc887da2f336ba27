"""One analysis through a server: its own numbers go in, and all that comes out must be about these and no others."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient

CELLS = 4
"""Of the playbook's ten: it loads, cleans, counts and describes, with a figure."""
SPREAD = 31
MARK = re.compile(r"mark(\d{4})")
PUBLISHED = {"answer.md", "analysis.py", "figures/cell-004-1.png"}


def table_of(number: int) -> str:
    """The input of an analysis: how many rows, how they are called and what is in them is its own."""
    lines = [f"day,mark{number:04}_amount,group"]
    lines += [
        f"2025-01-{row % 28 + 1:02},{number + row * 7 % SPREAD},mark{number:04}-{'abc'[row % 3]}"
        for row in range(rows_of(number))
    ]
    return "\n".join(lines) + "\n"


def rows_of(number: int) -> int:
    """How many rows it has."""
    return 2 * SPREAD + number


def said_of(number: int) -> list[str]:
    """What the answer must have in it."""
    return [
        f"mark{number:04}.csv has {rows_of(number)} rows and 3 columns.",
        f"range {number} to {number + SPREAD - 1}.",
        f"'mark{number:04}-a'",
    ]


@dataclass
class Seen:
    """What came of an analysis, as its user sees it."""

    number: int
    user: str
    thread: str = ""
    seconds: float = 0.0
    """From the first request to the end of the run."""
    failed: str = ""
    """What went wrong on the way."""
    told: list[dict[str, Any]] = field(default_factory=list)
    """The events of the run."""
    state: dict[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Empty when all is there and its own, else `failed`, `lost` or `mixed up`, and what."""
        if self.failed:
            return f"failed: {self.failed}"
        answer = str(self.state.get("answer") or "")
        texts = [str(self.told), str(self.state), str(self.steps), *(file.decode() for file in self._texts())]
        others = {mark for text in texts for mark in MARK.findall(text)} - {f"{self.number:04}"}
        if others:
            return f"mixed up: it has {', '.join(sorted(others))} in it"
        if wrong := [said for said in said_of(self.number) if said not in answer]:
            return f"{'mixed up' if answer else 'lost'}: the answer has no {wrong[0]!r}"
        wanted = list(range(1, CELLS + 1))
        for what, numbers in (
            ("the stream", [event["cell"]["number"] for event in self.told if event["event"] == "cell_finished"]),
            ("the state", [cell["number"] for cell in self.state.get("cells") or []]),
            ("the steps", [step["number"] for step in self.steps]),
        ):
            if numbers != wanted:
                return f"lost: {what} has cells {numbers}"
        if bad := [cell["number"] for cell in self.state["cells"] if cell["status"] != "ok"]:
            return f"failed: cells {bad}"
        if missing := PUBLISHED - {name for name, content in self.files.items() if content}:
            return f"lost: {', '.join(sorted(missing))}"
        if said_of(self.number)[0].encode() not in self.files["answer.md"]:
            return "mixed up: answer.md is not of this analysis"
        return ""

    def _texts(self) -> list[bytes]:
        return [content for name, content in self.files.items() if not name.endswith(".png")]


async def analyse(client: LangGraphClient, user: str, number: int) -> Seen:
    """Upload the input, ask, follow the run to its end, then look at everything that it left."""
    seen = Seen(number, user)
    began = time.perf_counter()
    try:
        http = client.http.client
        name = f"mark{number:04}.csv"
        sent = await http.post("/stepwell/uploads", params={"name": name}, content=table_of(number).encode())
        sent.raise_for_status()
        seen.thread = (await client.threads.create())["thread_id"]
        question = {"role": "user", "content": f"What stands out in {name}?"}
        given: dict[str, Any] = {"messages": [question], "files": [sent.json()["file"]]}
        async for part in client.runs.stream(
            seen.thread, "stepwell", input=given, context={"max_cells": CELLS}, stream_mode="custom"
        ):
            if part.event == "error":
                seen.failed = str(part.data)[:300]
            elif part.event.startswith("custom") and isinstance(part.data, dict):
                seen.told.append(part.data)
        seen.seconds = time.perf_counter() - began
        await _look(client, http, seen)
    except (httpx.HTTPError, OSError) as error:
        seen.failed = f"{type(error).__name__} {error}"[:300]
    return seen


async def _look(client: LangGraphClient, http: httpx.AsyncClient, seen: Seen) -> None:
    state: Any = await client.threads.get_state(seen.thread)
    seen.state = state["values"] or {}
    if state["next"] or state["tasks"]:
        seen.failed = seen.failed or f"its run has not ended: {str(state['tasks'])[:200]}"
    base = f"/stepwell/threads/{seen.thread}"
    seen.steps = await _json(http, f"{base}/steps", "steps")
    for one in await _json(http, f"{base}/artifacts", "artifacts"):
        answer = await http.get(one["href"])
        answer.raise_for_status()
        seen.files[one["name"]] = answer.content


async def _json(http: httpx.AsyncClient, path: str, name: str) -> list[dict[str, Any]]:
    answer = await http.get(path)
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()[name]
    return found


def counted(analyses: Sequence[Seen], asked: int) -> dict[str, int]:
    """How many were lost, mixed up, and failed; one that nothing is known of is lost."""
    words = [seen.verdict.partition(":")[0] for seen in analyses if seen.verdict]
    lost = words.count("lost") + asked - len(analyses)
    return {"lost": lost, "mixed up": words.count("mixed up"), "failed": words.count("failed")}
