"""`python -m tests.chaos --faults 1000 --seed 7`: disturb analyses until so many faults were done."""

import argparse
import asyncio
import random
import sys
import time

from tests.chaos.running import chaos


def main() -> int:
    """Print a report; 1 when something was not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--go-on", action="store_true", help="Do not stop at the first problem.")
    parser.add_argument("--kills", action="store_true", help="Only kill: the process, its group, or one below it.")
    options = parser.parse_args()
    tell = sys.stdout.write
    tell(f"seed {options.seed}\n")
    began = time.monotonic()
    chosen = {"parallel": options.parallel, "seed": options.seed, "go_on": options.go_on, "kills": options.kills}
    report = asyncio.run(chaos(options.faults, **chosen))
    seconds = time.monotonic() - began
    tell(f"{report.faults.total()} faults, {report.analyses} analyses, {report.lives} processes, {seconds:.0f} s\n")
    for what, count in sorted(report.faults.items(), key=lambda item: -item[1]):
        tell(f"  {count:4} {what}\n")
    tell("after which event:\n")
    for what, count in report.places.most_common():
        tell(f"  {count:4} {what}\n")
    tell(f"{report.unknown} cells were said to be of unknown outcome\n")
    for problem in report.problems:
        tell(f"PROBLEM {problem}\n")
    tell(f"{len(report.problems)} problems\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
