"""A terminal is asked what it can do, and its answer never becomes something typed."""

import os
import pty
import select
import signal
import sys
from collections.abc import Iterator

import pytest

PATIENCE = 60.0
PROGRAM = """
import signal, sys
from stepwell.cli.terminal_input import TerminalInput
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
typing = TerminalInput(seconds=float(sys.argv[1]))
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
print("sixel:", typing.shows_sixel(), typing.shows_sixel(), flush=True)
typing.silence()
print("silent", flush=True)
signal.sigwait([signal.SIGUSR1])
typing.give_back()
typing.give_back()
print("typed:", ascii(input("? ")), flush=True)
"""
ASKED = "\x1b[c"


class Program:
    """The program above in a terminal of its own, spawned and not forked."""

    def __init__(self, seconds: float) -> None:
        self._file, line = pty.openpty()
        name = os.ttyname(line)
        files = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        command = [sys.executable, "-c", PROGRAM, str(seconds)]
        self._pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=files, setsid=True)
        os.close(line)
        self.written = ""

    def until(self, words: str) -> str:
        """All that it has written, once these words are there."""
        while words not in self.written:
            ready, _, _ = select.select([self._file], [], [], PATIENCE)
            assert ready, self.written
            self.written += os.read(self._file, 65_536).decode()
        return self.written

    def press(self, keys: str) -> None:
        os.write(self._file, keys.encode())

    def go_on(self) -> None:
        os.kill(self._pid, signal.SIGUSR1)

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._file)


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    found = Program(request.param)
    yield found
    found.close()


def reads(program: Program, typed: str) -> None:
    """What is typed after all that is what is read, and nothing of an answer was ever shown."""
    program.go_on()
    program.until("? ")
    program.press(f"{typed}\n")
    program.until(f"typed: {typed!r}")
    assert "62" not in program.written
    assert "^[" not in program.written


@pytest.mark.parametrize("program", [PATIENCE], indirect=True)
@pytest.mark.parametrize(
    ("answer", "shows"),
    [("\x1b[?62;4;22c", True), ("\x1b[?4c", True), ("\x1b[?62;1;22c", False), ("\x1b[?64;14;40c", False)],
)  # fmt: skip
def test_a_terminal_says_whether_it_shows_sixels(program: Program, answer: str, shows: bool) -> None:
    program.until("ready")
    program.go_on()
    program.until(ASKED)
    program.press(answer[:3])
    program.press(answer[3:])
    program.until(f"sixel: {shows} {shows}")
    assert program.until("silent").count(ASKED) == 1, "it is asked once"
    reads(program, "yes")


@pytest.mark.parametrize("program", [0.05], indirect=True)
def test_one_that_says_nothing_shows_none(program: Program) -> None:
    program.until("ready")
    program.go_on()
    program.until("sixel: False False")
    program.until("silent")
    reads(program, "no")


@pytest.mark.parametrize("program", [0.05], indirect=True)
def test_an_answer_that_comes_late_is_not_taken_for_something_typed(program: Program) -> None:
    program.until("ready")
    program.go_on()
    program.until("silent")
    program.press("\x1b[?62;4c")
    reads(program, "maybe")


@pytest.mark.parametrize("program", [PATIENCE], indirect=True)
def test_who_types_ahead_is_not_disturbed(program: Program) -> None:
    program.until("ready")
    program.press("ahead\n")
    program.until("ahead")  # echoed, so it waits there
    program.go_on()
    program.until("sixel: False False")
    program.until("silent")
    program.go_on()
    program.until("typed: 'ahead'")
    assert ASKED not in program.written


@pytest.mark.parametrize("program", [0.05], indirect=True)
def test_typing_is_not_echoed_while_it_runs(program: Program) -> None:
    program.until("ready")
    program.go_on()
    program.until("silent")
    program.press("\x1b[?62;4clist")
    program.go_on()
    program.until("? ")
    program.press("seen\n")
    program.until("typed:")
    assert "list" not in program.written.partition("typed:")[0]
    assert "seen" in program.written.partition("typed:")[0]


def test_a_pipe_is_not_asked() -> None:
    from stepwell.cli.terminal_input import TerminalInput

    source, target = os.pipe()
    typing = TerminalInput(source, target)
    assert not typing.shows_sixel()
    typing.silence()
    typing.give_back()
    os.close(target)
    assert os.read(source, 10) == b""
    os.close(source)
