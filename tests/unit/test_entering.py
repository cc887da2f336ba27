"""Entering groups goes on beside other work, and is over when it is said to be; what hinders it is told."""

import os
import threading
from pathlib import Path

import pytest

from sandboxes.inside.zygote.init import ControlGroupJoin


def test_it_writes_into_every_door_and_closes_them() -> None:
    ends = [os.pipe() for _ in range(2)]
    entering = ControlGroupJoin(writing for _, writing in ends)
    entering.end()
    assert [os.read(reading, 10) for reading, _ in ends] == [b"0", b"0"]
    for reading, writing in ends:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(writing)
        os.close(reading)


def test_it_goes_on_beside_and_is_waited_for() -> None:
    reading, writing = os.pipe()
    size = os.write(writing, b"x" * 65_536)
    entering = ControlGroupJoin([writing])
    ended = threading.Event()

    def wait() -> None:
        entering.end()
        ended.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not ended.wait(0.2), "the door does not open yet"
    data = b""
    while len(data) <= size:
        data += os.read(reading, 65_536)
    waiting.join(10)
    assert ended.is_set()
    assert data.endswith(b"x0")
    os.close(reading)


def test_a_door_that_stays_closed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "door").touch()
    entering = ControlGroupJoin([os.open(tmp_path / "door", os.O_RDONLY)])
    with pytest.raises(OSError, match=r"its control group: .*Bad file descriptor"):
        entering.end()


def test_without_a_group_there_is_nothing_to_wait_for() -> None:
    ControlGroupJoin([]).end()
