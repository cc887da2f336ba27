"""`python -m tests.random_programs --programs 1000 --seed 7`: run programs, restored at random steps, and compare."""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.random_programs.paths import try_path
from tests.random_programs.running import Report, try_session

TOGETHER = 50
"""Programs of one session."""
ON_A_PATH = 4
"""Programs of one session that goes back and on: with many, one of them has threads, and nothing comes from memory."""


async def run(programs: int, seed: int, *, parallel: int, only: str, program: int | None, paths: bool) -> Report:
    """Run programs, many to a session."""
    report, tell, attempt = Report(), sys.stdout.write, try_path if paths else try_session
    together = ON_A_PATH if paths else TOGETHER
    seeds = [only] if only else [f"{seed}-{number}" for number in range(-(-programs // together))]
    places = asyncio.Semaphore(parallel)
    with tempfile.TemporaryDirectory(prefix="stepwell-cache-") as cache:

        async def one(name: str) -> None:
            async with places:
                try:
                    found = await attempt(name, Path(cache), together, only=program)
                except Exception as error:
                    tell(f"seed {name}: {type(error).__name__}: {str(error)[:2000]}\n")
                    raise
            report.add(found)
            for difference in found.differences:
                tell(f"{difference}\n")
            tell(f"{report.programs} programs, {len(report.differences)} differences\n")
            sys.stdout.flush()

        await asyncio.gather(*map(one, seeds))
    return report


def main() -> int:
    """Print a report; 1 when something is different and nothing was said of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1_000)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--session", default="", help="Only the session of this seed, as a difference names it.")
    parser.add_argument("--program", type=int, help="Only this program of each session: the 19 of `p19c_`.")
    parser.add_argument("--paths", action="store_true", help="Go back and on along random paths.")
    options = parser.parse_args()
    tell = sys.stdout.write
    tell(f"seed {options.seed}\n")
    began = time.monotonic()
    chosen = {"parallel": options.parallel, "only": options.session, "program": options.program, "paths": options.paths}
    report = asyncio.run(run(options.programs, options.seed, **chosen))
    seconds = time.monotonic() - began
    tell(f"{report.programs} programs, {report.restores} restores, {report.answers:,} answers, {seconds:.0f} s\n")
    for what, count in report.named.most_common():
        tell(f"  {count:4} named: {what}\n")
    tell(f"{len(report.differences)} differences of which nothing was said\n")
    return 1 if report.differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
