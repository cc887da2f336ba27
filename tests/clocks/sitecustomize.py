"""A wall clock that is wrong: a process with this folder in PYTHONPATH is SHIFTED_SECONDS ahead of the others."""

import os
import time

_seconds = float(os.environ.get("SHIFTED_SECONDS", "0"))
_time, _time_ns = time.time, time.time_ns


def _shifted() -> float:
    return _time() + _seconds


def _shifted_ns() -> int:
    return _time_ns() + int(_seconds * 1e9)


if _seconds:
    time.time, time.time_ns = _shifted, _shifted_ns
