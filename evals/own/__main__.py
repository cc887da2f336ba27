"""`python -m evals.own FOLDER` writes the suite and its files into a folder."""

import sys
from pathlib import Path

from evals.own.suite import write_suite


def main() -> int:
    """Write, and say where the questions are."""
    if len(sys.argv) != 2:
        sys.stderr.write("Name one folder: python -m evals.own FOLDER.\n")
        return 2
    sys.stdout.write(f"{write_suite(Path(sys.argv[1]))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
