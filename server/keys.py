"""`python -m server.keys add NAME`: make an API key, print it once, and add its hash to the file of keys."""

import argparse
import os
import sys
from datetime import date
from pathlib import Path

from graph.settings import SettingsError, read_settings
from server.api_keys import line_of, new_key


def main(arguments: list[str] | None = None) -> int:
    """Add a key; removing one is deleting its line."""
    parser = argparse.ArgumentParser(prog="python -m server.keys", description="Add an API key of a server.")
    parser.add_argument("do", choices=["add"])
    parser.add_argument("name", help="whose key it is; a name may have several")
    parser.add_argument("--until", type=date.fromisoformat, help="the last day on which it is taken: 2027-01-31")
    parser.add_argument("--operator", action="store_true", help="it also opens the metrics")
    parser.add_argument("--file", type=Path, help="default: STEPWELL_API_KEYS")
    given = parser.parse_args(arguments)
    try:
        file = given.file or read_settings().api_keys
        if file is None:
            raise SettingsError("Say which file: --file, or STEPWELL_API_KEYS.")
        key = new_key()
        line = line_of(given.name, key, until=given.until, operator=given.operator)
        file.parent.mkdir(parents=True, exist_ok=True)
        # For its owner alone, from the first byte on.
        with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "ab+") as out:
            if out.tell():
                out.seek(-1, os.SEEK_END)
                line = line if out.read(1) == b"\n" else f"\n{line}"  # as some editors leave the last one
            out.write(f"{line}\n".encode())
    except (SettingsError, ValueError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{key}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
