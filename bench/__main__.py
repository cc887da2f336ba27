"""Run the benchmarks and print their tables: `python -m bench`, or `python -m bench overhead tokens`."""

import asyncio
import sys

from rich.console import Console

from bench import overhead, tokens

BENCHMARKS = {"overhead": overhead.measure, "tokens": tokens.measure}


async def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    console = Console()
    for name in names or BENCHMARKS:
        console.print(await BENCHMARKS[name]())
        console.print()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
