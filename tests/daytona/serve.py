"""Serves the emulator on its own, for trying by hand and for the benchmark: `python -m tests.daytona.serve --port N`.

It prints one line of JSON with its address and its key, and ends with Ctrl-C, SIGTERM, or with the end of its standard
input when that is a pipe. `GET /counters` under its address says what went over the wire.
"""

import argparse
import json
import os
import select
import signal
import stat
import sys

from tests.daytona.emulator import Emulator


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--key", default="emulated-key", help="the API key that it takes")
    parser.add_argument("--python", default=sys.executable, help="the interpreter in the sandboxes")
    parser.add_argument("--start-seconds", type=float, default=0.0, help="how long a sandbox takes to start")
    parser.add_argument("--stop-seconds", type=float, default=0.0, help="how long a sandbox takes to stop")
    asked = parser.parse_args()
    reading, writing = os.pipe()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os.write(writing, b"."))
    emulator = Emulator(
        api_key=asked.key,
        python=asked.python,
        start_seconds=asked.start_seconds,
        stop_seconds=asked.stop_seconds,
        port=asked.port,
    )
    with emulator:
        sys.stdout.write(json.dumps({"api_url": emulator.api_url, "api_key": emulator.api_key}) + "\n")
        sys.stdout.flush()
        ends = [reading]
        if stat.S_ISFIFO(os.fstat(0).st_mode):
            ends.append(0)
        while True:
            ready, _, _ = select.select(ends, [], [])
            if reading in ready or not os.read(0, 1024):
                return


if __name__ == "__main__":
    main()
