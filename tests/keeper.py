"""Ends what a run of tests left, and removes its folder, when its input is closed: `python -m tests.keeper FOLDER`.

Its input is closed by the run when it ends, and by the system when the run is killed. What the run started has the
folder as `TMPDIR` in its environment, or works in it. What worked there before the run, or has a terminal that is not
the run's, is somebody else's and goes on.
"""

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from tests import process_table


def main() -> None:
    """Wait, then clear up."""
    folder, since = Path(sys.argv[1]), process_table.began(os.getpid())
    while os.read(0, 1):
        pass
    try:
        process_table.end_all(f"TMPDIR={folder}", folder, since)
    finally:
        for path, folders, _ in os.walk(folder):
            for name in folders:
                inside = Path(path, name)
                with suppress(OSError):  # it goes meanwhile
                    if not inside.is_symlink():
                        inside.chmod(0o700)  # some tests lock theirs
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
