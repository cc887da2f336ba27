"""What both supervisors of a kernel share: what is kept of output, why a start failed, when a request is broken off."""

import time
from pathlib import Path

from sandboxes.inside.bridge.requests import HostRequest
from sandboxes.inside.bridge.supervision import BoundedOutput, FirstBytes, Sampler, complaint


def test_what_comes_after_the_head_is_told_and_the_middle_is_counted() -> None:
    output = BoundedOutput(kept=4)
    assert [output.add(data) for data in (b"ab", b"cdef", b"ghijklmnop")] == [b"", b"ef", b"ghijklmnop"]
    assert (bytes(output.head), output.dropped, output.tail) == (b"abcd", 8, b"mnop")


def test_a_sample_is_the_newest_and_none_follows_at_once() -> None:
    sampler = Sampler()
    assert sampler.take() == b""
    sampler.add(b"a")
    sampler.add(b"b" * 3_000)
    assert sampler.take() == b"b" * 2_048
    sampler.add(b"c")
    assert sampler.take() == b""


def test_a_program_s_output_is_cut_at_its_limit() -> None:
    kept = FirstBytes(limit=5)
    for data in (b"abc", b"def", b"ghi"):
        kept.add(data)
    assert kept.text() == "abcde"


def test_a_complaint_is_the_last_line_of_a_traceback_or_the_first_line() -> None:
    assert complaint("Traceback (most recent call last):\n  File\nValueError: x\n") == "ValueError: x"
    assert complaint("bad interpreter\nmore\n") == "bad interpreter"
    assert complaint("  \n", "it was ended") == "it was ended"
    assert complaint("x" * 1_000) == "x" * 300


def test_a_request_is_interrupted_twice_and_then_killed(tmp_path: Path) -> None:
    now = time.monotonic()
    request = HostRequest(str(tmp_path), {"n": 1, "timeout": 1_000, "grace": 10})
    assert (request.due_action(now + 900), request.late) == ("", False)
    assert (request.due_action(now + 1_100), request.late) == ("interrupt", True)
    assert [request.due_action(now + after) for after in (1_104, 1_106, 1_109, 1_112)] == ["", "interrupt", "", "kill"]
    assert request.ignored_interrupt


def test_an_interrupt_before_the_kernel_is_there_is_not_forgotten_when_it_greets(tmp_path: Path) -> None:
    request = HostRequest(str(tmp_path), {"n": 1, "timeout": 1_000, "fresh": True})
    request.interrupt(4.0)
    request.begin()
    assert request.due_action(time.monotonic()) == "interrupt"


def test_a_kernel_that_never_greets_is_killed_without_an_interrupt(tmp_path: Path) -> None:
    request = HostRequest(str(tmp_path), {"n": 1, "timeout": 1_000, "fresh": True})
    assert request.due_action(time.monotonic() + 61) == "kill"
    assert not request.late
