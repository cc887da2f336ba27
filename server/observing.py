"""Sees each node of each run begin and end, and tells it to metrics, traces and the log. It never sees contents pass.

It hangs in LangChain's callbacks, so the graph knows nothing of it.
"""

import asyncio
import logging
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp

from server import metrics
from server.traces import Span, Traces

NODES = frozenset({"plan", "generate", "approve", "approve_call", "execute", "check_final", "upload"})
GRAPH = "stepwell"

logger = logging.getLogger("stepwell")


@dataclass(slots=True)
class Begun:
    """A node, or a whole run, that goes on."""

    name: str
    thread: str
    run: str
    span: Span
    usage: dict[str, int] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)


class Observer(AsyncCallbackHandler):
    """Told by LangChain of everything that runs in this process; looks at the graph's runs and nodes alone."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._begun: dict[UUID, Begun] = {}

    async def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """A run or a node begins."""
        name, about = str(kwargs.get("name") or ""), metadata or {}
        is_node = name in NODES and about.get("langgraph_node") == name
        if not is_node and not (name == GRAPH and parent_run_id is None):
            return
        thread, run = str(about.get("thread_id") or ""), str(about.get("run_id") or "")
        above = self._begun.get(parent_run_id) if parent_run_id is not None else None
        span = self._traces.begin(name if is_node else "run", thread, run, above.span if above is not None else None)
        self._begun[run_id] = Begun(name, thread, run, span, _usage(inputs, name) if is_node else {})

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """It has ended."""
        begun = self._begun.pop(run_id, None)
        if begun is None:
            return
        seconds = time.monotonic() - begun.since
        said: dict[str, Any] = {"seconds": round(seconds, 3)}
        if begun.name in NODES:
            metrics.NODE_SECONDS.labels(begun.name).observe(seconds)
            said |= _counted(begun, outputs if isinstance(outputs, dict) else {})
        self._tell(begun, "ended", said)

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It has ended with an error, waits for somebody, or was interrupted."""
        begun = self._begun.pop(run_id, None)
        if begun is None:
            return
        said: dict[str, Any] = {"seconds": round(time.monotonic() - begun.since, 3)}
        if isinstance(error, GraphBubbleUp):
            self._tell(begun, "waits", said)
        elif isinstance(error, asyncio.CancelledError):
            self._tell(begun, "interrupted", said)
        else:
            # Its message may quote a file or an address with a key in it; its kind does not.
            said["error"] = type(error).__name__
            if begun.name in NODES:
                metrics.FAILURES.labels(begun.name, said["error"]).inc()
            self._tell(begun, "failed", said)

    def _tell(self, begun: Begun, what: str, said: dict[str, Any]) -> None:
        what_ended = begun.name if begun.name in NODES else "run"
        level = logging.WARNING if what == "failed" else logging.INFO
        named = {"thread_id": begun.thread, "run_id": begun.run, "node": what_ended, "outcome": what}
        logger.log(level, "%s %s", what_ended, what, extra={**named, **said})
        begun.span.end(what, said)


def observe(traces: Traces) -> None:
    """Look on from now on, in all runs of this process."""
    one = Observer(traces)
    # The default, since runs begin in contexts that have nothing to do with this one.
    register_configure_hook(ContextVar("stepwell_observer", default=one), inheritable=True)


def _counted(begun: Begun, outputs: dict[str, Any]) -> dict[str, Any]:
    """Count what a node gave back; the numbers, and no text, for the log."""
    said: dict[str, Any] = {}
    for cell in outputs.get("cells") or []:
        metrics.CELLS.labels(cell["status"]).inc()
        metrics.CELL_SECONDS.observe(cell["seconds"])
        metrics.SNAPSHOT_BYTES.inc(cell.get("snapshot_bytes") or 0)
        said |= {"step": cell["number"], "status": cell["status"], "cell_seconds": cell["seconds"]}
    now = _usage(outputs, begun.name)
    spent = {key: now[key] - begun.usage.get(key, 0) for key in now}
    if any(spent.values()):
        metrics.CALLS.labels(begun.name).inc(max(spent["calls"], 0))
        metrics.TOKENS.labels(begun.name, "in").inc(max(spent["input_tokens"], 0))
        metrics.TOKENS.labels(begun.name, "out").inc(max(spent["output_tokens"], 0))
        said |= spent
    return said


def _usage(state: Any, node: str) -> dict[str, int]:
    of = state.get("usage") if isinstance(state, dict) else None
    one = of.get(node) if isinstance(of, dict) else None
    return {key: int(one[key]) for key in ("calls", "input_tokens", "output_tokens")} if isinstance(one, dict) else {}
