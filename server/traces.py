"""OpenTelemetry: a span for each run and, below it, one for each node. Only where an address for them is configured."""

import os
from typing import Any, Protocol

ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The variables by which OpenTelemetry itself is configured."""


class Span(Protocol):
    """Something that goes on."""

    def end(self, outcome: str, said: dict[str, Any]) -> None:
        """It has ended so; `said` are numbers and words, no contents."""


class Traces(Protocol):
    """Where spans begin."""

    def begin(self, name: str, thread: str, run: str, above: Span | None) -> Span:
        """One begins, below another or by itself."""

    def close(self) -> None:
        """Send what has not been sent."""


class NoSpan:
    """A span that nobody wants."""

    def end(self, outcome: str, said: dict[str, Any]) -> None:
        """Nothing is told."""


class NoTraces:
    """Tells nobody."""

    def begin(self, name: str, thread: str, run: str, above: Span | None) -> Span:
        """A span that nobody wants."""
        return NoSpan()

    def close(self) -> None:
        """There is nothing to send."""


def configured() -> Traces:
    """What the environment asks for: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME` and the like."""
    if not any(os.environ.get(name) for name in ADDRESSES) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return NoTraces()
    from server.otel import Otel

    return Otel()
