"""Which limit it was is told at its value, with what to do instead."""

import pytest

from sandboxes.host.limits import MEGABYTE, Ending, Limits, in_words, limit_note
from sandboxes.results import CellError

LIMITS = Limits(memory=100 * MEGABYTE, processes=7, file=MEGABYTE, workspace=5 * MEGABYTE, tmp=2 * MEGABYTE)


@pytest.mark.parametrize(
    ("name", "message", "told"),
    [
        ("MemoryError", "", "memory is limited to 100 MB"),
        ("_ArrayMemoryError", "Unable to allocate 1 GiB", "memory is limited to 100 MB"),
        ("OSError", "[Errno 27] File too large", "one file may have 1 MB"),
        ("OSError", "[Errno 28] No space left on device", "/tmp and HOME have room for 2 MB each"),
        ("OSError", "[Errno 24] Too many open files: 'x'", "a process may have 1,024 files open"),
        ("BlockingIOError", "[Errno 11] Resource temporarily unavailable", "7 processes and threads are allowed"),
        ("RuntimeError", "can't start new thread", "7 processes and threads are allowed"),
        ("ValueError", "28 files", ""),
    ],
)
def test_of_an_exception(name: str, message: str, told: str) -> None:
    note = limit_note(CellError(name, message, ""), LIMITS)
    assert note.startswith(told)
    assert bool(note) == bool(told)


def test_no_exception_is_no_limit() -> None:
    assert limit_note(None, LIMITS) == ""


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (
            Ending(-9, "memory", 150_000_000),
            "the cell used 150 MB of memory, and 100 MB are allowed, so it was ended",
        ),
        (Ending(-9, "processes", 9), "the cell had 9 processes, and 7 are allowed, so it was ended; use fewer workers"),
        (
            Ending(-9, "workspace", 9_000_000),
            "the workspace has 9 MB, and 5 MB are allowed, so the cell was ended",
        ),
        (Ending(-11), "the Python process crashed: segmentation fault (signal 11, SIGSEGV)"),
        (Ending(-31), "the Python process made a system call that is not allowed"),
        (Ending(3), "the code ended the Python process with exit code 3"),
        (Ending(-64), "the Python process was ended (signal 64"),
    ],
)
def test_of_an_ending(ending: Ending, told: str) -> None:
    assert in_words(ending, LIMITS).startswith(told)
