"""Look at each file in a process of its own, so that none costs another, and print what was found as JSON."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict

from .abstract import render
from .findings import Column, Findings, Look, Table, UnreadableError, clean
from .looking import look_at

SECONDS = 20.0
TOTAL_SECONDS = 120.0
GRACE = 2.0
"""Seconds beyond its budget after which a look is ended from outside."""


def main(arguments: Sequence[str]) -> int:
    """Print one JSON list with an object for each path: `path`, `abstract`, `problem`."""
    parser = argparse.ArgumentParser(prog="profiler", description="Describe files for a language model.")
    parser.add_argument("--chars", type=int, default=2000, help="most characters of one abstract")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most seconds for one file")
    parser.add_argument("--total-seconds", type=float, default=TOTAL_SECONDS, help="most seconds for all files")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args(arguments)
    print(json.dumps(profile(options.paths, options.chars, options.seconds, options.total_seconds)))
    return 0


def profile(
    paths: Sequence[str], chars: int, seconds: float = SECONDS, total_seconds: float = TOTAL_SECONDS
) -> list[dict[str, str]]:
    """Describe files, in the order given.

    Args:
        paths: Paths, relative to the working directory.
        chars: Most characters of one abstract.
        seconds: Most seconds for one file.
        total_seconds: Most seconds for all; the files after that are only named.
    """
    end = time.monotonic() + total_seconds
    entries = []
    for path in paths:
        left = end - time.monotonic()
        if left < min(1.0, total_seconds / 2):
            found = Findings(kind="not looked at: the time for all files was used up")
        else:
            found = _apart(path, min(seconds, left))
        entries.append({"path": path, "abstract": render(path, found, chars), "problem": found.problem})
    return entries


def _apart(path: str, seconds: float) -> Findings:
    """Look at a file in a child process: a crash, a hang or a lack of memory in a parser stays there."""
    if not hasattr(os, "fork"):
        return _guarded(path, seconds, lambda _: None)
    reader, writer = os.pipe()
    sys.stdout.flush()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        with contextlib.redirect_stdout(sys.stderr):
            return _guarded(path, seconds, lambda _: None)
    if child == 0:
        _child(path, seconds, reader, writer)
    os.close(writer)
    data, ended = _receive(reader, time.monotonic() + seconds + min(GRACE, seconds))
    os.close(reader)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return _result(data, status, timed_out=not ended, seconds=seconds)


def _child(path: str, seconds: float, reader: int, writer: int) -> None:
    """Never returns; what libraries print goes nowhere, so that the parent prints nothing but its list."""
    code = 1
    try:
        os.close(reader)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)

        def send(found: Findings) -> None:
            data = json.dumps(asdict(found)).encode() + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        send(_guarded(path, seconds, send))
        code = 0
    finally:
        os._exit(code)


def _guarded(path: str, seconds: float, publish: Callable[[Findings], None]) -> Findings:
    warnings.simplefilter("ignore")
    try:
        size = os.path.getsize(path) if os.path.exists(path) else 0  # noqa: PTH110, PTH202
        return look_at(Look(path, size, seconds, publish))
    except UnreadableError as error:
        return Findings(problem=str(error))
    except MemoryError:
        return Findings(problem="needs more memory to be opened than there is")
    except RecursionError:
        return Findings(problem="is nested too deeply to be read")
    except Exception as error:  # whatever a parser raises over a file is said, and costs no other file
        traceback.print_exc()  # goes nowhere in a child; shown when this is run by hand in one process
        return Findings(problem=f"cannot be read: {type(error).__name__}: {clean(error, 160)}")


def _receive(reader: int, deadline: float) -> tuple[bytes, bool]:
    """Read until the child closes its end or the time is over."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return b"".join(parts), False
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts), True
        parts.append(part)


def _result(data: bytes, status: int, *, timed_out: bool, seconds: float) -> Findings:
    """The last complete message of the child, with a remark when it did not come to its end."""
    complete = data.rsplit(b"\n", 1)[0].rsplit(b"\n", 1)[-1] if b"\n" in data else b""
    found = revive(json.loads(complete)) if complete else Findings()
    if timed_out:
        found.remarks.insert(0, f"the time of {seconds:.0f} s ran out, so this is only what was found until then")
    elif status:
        signalled = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
        found.problem = found.problem or f"the program that reads it broke down ({signalled})"
    return found


def revive(data: dict[str, object]) -> Findings:
    """Make findings of what `asdict` made of them."""
    found = Findings(**data)  # type: ignore[arg-type]
    tables: list[Table] = []
    for entry in data["tables"]:  # type: ignore[attr-defined]
        table = Table(**entry)
        table.columns = [Column(**column) for column in entry["columns"]]
        tables.append(table)
    found.tables = tables
    return found
