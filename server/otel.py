"""Spans as OpenTelemetry has them, sent over OTLP and HTTP."""

import os
from dataclasses import dataclass
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span as Opened
from opentelemetry.trace import StatusCode, set_span_in_context

from server.traces import Span


@dataclass(frozen=True, slots=True)
class OtelSpan:
    """A span that is under way."""

    opened: Opened

    def end(self, outcome: str, said: dict[str, Any]) -> None:
        """End it, with what is said as attributes."""
        for name, value in {"outcome": outcome, **said}.items():
            self.opened.set_attribute(f"stepwell.{name}", value)
        if outcome == "failed":
            self.opened.set_status(StatusCode.ERROR, str(said.get("error", "")))
        self.opened.end()


class Otel:
    """A provider of our own, so that what the server itself traces goes where it is told to."""

    def __init__(self) -> None:
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "stepwell"}
        self._provider = TracerProvider(resource=Resource.create(named))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("stepwell")

    def begin(self, name: str, thread: str, run: str, above: Span | None) -> Span:
        """Begin a span."""
        context = set_span_in_context(above.opened) if isinstance(above, OtelSpan) else None
        attributes = {"stepwell.thread_id": thread, "stepwell.run_id": run}
        return OtelSpan(self._tracer.start_span(f"stepwell {name}", context, attributes=attributes))

    def close(self) -> None:
        """Send what has not been sent."""
        self._provider.shutdown()
