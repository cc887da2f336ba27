"""What a server tells operators: metrics for Prometheus, spans for OpenTelemetry, and a line of the log for each node.

It hangs in LangChain's callbacks, so the graph knows nothing of it. It never sees contents pass.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp
from opentelemetry.trace import NoOpTracerProvider, Span, StatusCode, Tracer, set_span_in_context
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from graph.app import sandboxes
from server.routing import response_schema, route

NODES = frozenset({"plan", "approve_plan", "generate", "approve", "approve_call", "execute", "check_final", "upload"})
GRAPH = "stepwell"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The variables of OpenTelemetry that say where spans are sent; without them none are made."""

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

CELLS = Counter("stepwell_cells", "Cells that have ended, by how", ["status"])
CELL_SECONDS = Histogram("stepwell_cell_seconds", "How long cells ran", buckets=SECONDS)
NODE_SECONDS = Histogram("stepwell_node_seconds", "How long nodes of the graph ran", ["node"], buckets=SECONDS)
FAILURES = Counter("stepwell_failures", "Nodes that ended with an error, by its kind", ["node", "error"])
CALLS = Counter("stepwell_model_calls", "Calls of models", ["node"])
TOKENS = Counter("stepwell_tokens", "Tokens of models, as they report them", ["node", "direction"])
SNAPSHOT_BYTES = Counter("stepwell_snapshot_bytes", "Bytes that snapshots added to the store")

logger = logging.getLogger("stepwell")


@dataclass(slots=True)
class ActiveSpan:
    """A node, or a whole run, that goes on."""

    name: str
    thread: str
    run: str
    span: Span
    usage: dict[str, int] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)


class TelemetryCallback(AsyncCallbackHandler):
    """Told by LangChain of everything that runs in this process; looks at the graph's runs and nodes alone."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._begun: dict[UUID, ActiveSpan] = {}
        self._late: dict[str, Mapping[str, Any]] = {}
        """Cells whose snapshot is taken while the next node works, by thread."""

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
        span = self._tracer.start_span(
            f"stepwell {name if is_node else 'run'}",
            set_span_in_context(above.span) if above is not None else None,
            attributes={"stepwell.thread_id": thread, "stepwell.run_id": run},
        )
        self._begun[run_id] = ActiveSpan(name, thread, run, span, _usage(inputs, name) if is_node else {})

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """It has ended."""
        begun = self._begun.pop(run_id, None)
        if begun is None:
            return
        seconds = time.monotonic() - begun.since
        said: dict[str, Any] = {"seconds": round(seconds, 3)}
        if begun.name in NODES:
            NODE_SECONDS.labels(begun.name).observe(seconds)
            self._count_late(begun)
            said |= _counted(begun, outputs if isinstance(outputs, dict) else {})
            for cell in outputs.get("cells") or [] if isinstance(outputs, dict) else []:
                if "snapshot" not in cell:
                    self._late[begun.thread] = cell
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
                self._count_late(begun)
                FAILURES.labels(begun.name, said["error"]).inc()
            self._tell(begun, "failed", said)

    def _count_late(self, begun: ActiveSpan) -> None:
        """Count a snapshot that was not there when its cell had ended; by now it is, or there is none."""
        SNAPSHOT_BYTES.inc(self._late.pop(begun.thread, {}).get("snapshot_bytes") or 0)

    def _tell(self, begun: ActiveSpan, what: str, said: dict[str, Any]) -> None:
        what_ended = begun.name if begun.name in NODES else "run"
        level = logging.WARNING if what == "failed" else logging.INFO
        named = {"thread_id": begun.thread, "run_id": begun.run, "node": what_ended, "outcome": what}
        logger.log(level, "%s %s", what_ended, what, extra={**named, **said})
        begun.span.set_attributes({f"stepwell.{name}": value for name, value in {"outcome": what, **said}.items()})
        if what == "failed":
            begun.span.set_status(StatusCode.ERROR, said["error"])
        begun.span.end()


def observe() -> Callable[[], None]:
    """Observe all runs of this process from now on.

    Returns:
        Sends the spans that have not been sent; blocks.
    """
    shut_down: Callable[[], None] = _nothing_to_send
    tracer = NoOpTracerProvider().get_tracer(GRAPH)
    if any(os.environ.get(name) for name in ENDPOINTS):
        tracer, shut_down = _exported()
    observer = TelemetryCallback(tracer)
    # The default, since runs begin in contexts that have nothing to do with this one.
    register_configure_hook(ContextVar("stepwell_observer", default=observer), inheritable=True)
    return shut_down


def _exported() -> tuple[Tracer, Callable[[], None]]:
    """A tracer with a provider of its own, so that what the server itself traces goes where it is told to."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": GRAPH}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer(GRAPH), provider.shutdown


def _nothing_to_send() -> None:
    return


def _counted(begun: ActiveSpan, outputs: dict[str, Any]) -> dict[str, Any]:
    """Count what a node gave back; the numbers, and no text, for the log."""
    said: dict[str, Any] = {}
    for cell in outputs.get("cells") or []:
        CELLS.labels(cell["status"]).inc()
        CELL_SECONDS.observe(cell["seconds"])
        SNAPSHOT_BYTES.inc(cell.get("snapshot_bytes") or 0)
        said |= {"step": cell["number"], "status": cell["status"], "cell_seconds": cell["seconds"]}
    now = _usage(outputs, begun.name)
    spent = {key: now[key] - begun.usage.get(key, 0) for key in now}
    if any(spent.values()):
        CALLS.labels(begun.name).inc(max(spent["calls"], 0))
        TOKENS.labels(begun.name, "in").inc(max(spent["input_tokens"], 0))
        TOKENS.labels(begun.name, "out").inc(max(spent["output_tokens"], 0))
        said |= spent
    return said


def _usage(state: Any, node: str) -> dict[str, int]:
    of = state.get("usage") if isinstance(state, dict) else None
    one = of.get(node) if isinstance(of, dict) else None
    return {key: int(one[key]) for key in ("calls", "input_tokens", "output_tokens")} if isinstance(one, dict) else {}


class SandboxCollector(Collector):
    """Counts sandboxes when somebody looks.

    Args:
        count: How many there are, by state.
    """

    def __init__(self, count: Callable[[], Mapping[str, int]]) -> None:
        self._count = count

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The numbers now."""
        family = GaugeMetricFamily("stepwell_sandboxes", "Sandboxes of this process, by state", labels=["state"])
        for state, number in self._count().items():
            family.add_metric([state], number)
        yield family


REGISTRY.register(SandboxCollector(lambda: sandboxes.counts))


@route(
    "/stepwell/metrics",
    "GET",
    summary="Numbers for Prometheus",
    responses={200: response_schema("text/plain", {"type": "string"}, "In the text format of Prometheus.")},
    refusals=[403],
    tag="Stepwell: operation",
)
async def metrics(request: Request) -> Response:
    """For operators; the same stands in LangGraph's `/metrics`, where the server has that."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
