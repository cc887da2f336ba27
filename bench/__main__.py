"""Run the benchmarks and print their tables: `python -m bench`, or `python -m bench overhead snapshots --quick`."""

import argparse
import asyncio
import sys

from rich.console import Console

from bench import (
    agents,
    branches,
    daytona,
    earlier,
    floods,
    history,
    long_analyses,
    many_cells,
    overhead,
    proving,
    sandboxes,
    server,
    server_turns,
    snapshots,
    start,
    step_costs,
    tokens,
)

BENCHMARKS = (
    "overhead",
    "tokens",
    "snapshots",
    "steps",
    "many",
    "earlier",
    "proving",
    "branches",
    "long",
    "start",
    "sandboxes",
    "daytona",
    "agents",
    "server",
    "turns",
    "history",
    "floods",
)
MEASURED = {
    "snapshots": snapshots.measure,
    "steps": step_costs.measure,
    "many": many_cells.measure,
    "earlier": earlier.measure,
    "proving": proving.measure,
    "branches": branches.measure,
    "long": long_analyses.measure,
    "start": start.measure,
    "sandboxes": sandboxes.measure,
    "daytona": daytona.measure,
    "agents": agents.measure,
    "server": server.measure,
    "turns": server_turns.measure,
    "history": history.measure,
    "floods": floods.measure,
}
WIDTH = 150
"""Characters of a line where the output is not a terminal."""


async def main(names: list[str], *, quick: bool) -> None:
    """Run the named benchmarks, or all."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    for name in names or BENCHMARKS:
        if name in MEASURED:
            async for printed in MEASURED[name](quick=quick):
                console.print(printed, highlight=False)
                console.print()
        else:
            console.print(await {"overhead": overhead.measure, "tokens": tokens.measure}[name]())
            console.print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench", description="Print the benchmarks' tables.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all without one")
    parser.add_argument("--quick", action="store_true", help="small data, few rounds, few analyses")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in BENCHMARKS]:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    asyncio.run(main(asked.names, quick=asked.quick))
