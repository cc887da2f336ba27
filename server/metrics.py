"""What Prometheus is told: LangGraph's `/metrics` shows it beside the server's own numbers, ours shows it elsewhere."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from graph.app import sandboxes
from server.routing import answered, route

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

CELLS = Counter("stepwell_cells", "Cells that have ended, by how", ["status"])
CELL_SECONDS = Histogram("stepwell_cell_seconds", "How long cells ran", buckets=SECONDS)
NODE_SECONDS = Histogram("stepwell_node_seconds", "How long nodes of the graph ran", ["node"], buckets=SECONDS)
FAILURES = Counter("stepwell_failures", "Nodes that ended with an error, by its kind", ["node", "error"])
CALLS = Counter("stepwell_model_calls", "Calls of models", ["node"])
TOKENS = Counter("stepwell_tokens", "Tokens of models, as they report them", ["node", "direction"])
SNAPSHOT_BYTES = Counter("stepwell_snapshot_bytes", "Bytes that snapshots added to the store")


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
    responses={200: answered("text/plain", {"type": "string"}, "In the text format of Prometheus.")},
    refusals=[403],
    tag="Stepwell: operation",
)
async def metrics(request: Request) -> Response:
    """For operators; the same stands in LangGraph's `/metrics`, where the server has that."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
