"""Whole analyses for tests: run them to their end and collect what they told."""

import csv
from pathlib import Path
from typing import TypeVar

from graph.events import Event
from graph.settings import Settings
from stepwell.runs import Run

E = TypeVar("E", bound=Event)


async def follow(run: Run) -> list[Event]:
    """All events of a run."""
    return [event async for event in run]


def only(events: list[Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def last(events: list[Event], kind: type[E]) -> E:
    """The last event, which must be of this kind."""
    assert isinstance(events[-1], kind), events[-1]
    return events[-1]


def write_sales(file: Path, rows: int = 60) -> Path:
    """A small table: month, region, units, price."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["month", "region", "units", "price"])
        for number in range(rows):
            writer.writerow(
                [
                    f"2025-{number % 12 + 1:02}-01",
                    ("north", "south", "east")[number % 3],
                    number * 7 % 31,
                    2.5 + number % 4,
                ]
            )
    return file


def with_model(settings: Settings, base_url: str, **changes: object) -> Settings:
    """The same settings with a scripted endpoint."""
    return settings.model_copy(update={"openai_base_url": base_url, "model": "scripted", **changes})
