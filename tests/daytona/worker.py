"""The process of an interpreter context: reads cells from descriptor 0, runs them in one dictionary, reports on 1.

A copy of this file lies in each sandbox. Descriptor 1 is nothing but the pipe of the protocol, one JSON object a line:
what subprocesses and `os.write` put there is no JSON and is lost, and takes the next line with it when it has no
newline at its end. Nothing here is gentler than the real worker is said to be.
"""

import builtins
import io
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any


class Reporting:
    """Writes the protocol's lines. An interrupt that comes meanwhile waits for the end of the line."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._writing = False
        self._interrupted = False
        self.running = False

    def say(self, **said: str) -> None:
        """Write one line."""
        line = json.dumps(said).encode() + b"\n"
        with self._turn:
            self._writing = threading.current_thread() is threading.main_thread()
            try:
                while line:
                    line = line[os.write(1, line) :]
            finally:
                self._writing = False
        if self._interrupted and threading.current_thread() is threading.main_thread():
            self._interrupted = False
            raise KeyboardInterrupt

    def on_interrupt(self, *_: object) -> None:
        """SIGINT: nothing while no cell runs."""
        if not self.running:
            return
        if self._writing:
            self._interrupted = True
            return
        raise KeyboardInterrupt


class Output(io.TextIOBase):
    """What stands for `sys.stdout` and `sys.stderr`: whole lines, or what has come to a kilobyte."""

    def __init__(self, reporting: Reporting, name: str) -> None:
        self._reporting = reporting
        self._name = name
        self._kept = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Text is never encoded here."""
        return "utf-8"

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def write(self, text: str) -> int:
        """Keep text until a line is whole."""
        self._kept += text
        if "\n" in text or len(self._kept) > 1024:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Report what is kept."""
        kept, self._kept = self._kept, ""
        if kept:
            self._reporting.say(type=self._name, text=kept)


def traced(error: BaseException) -> str:
    """The traceback without the frames of this file."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))


def run(code: str, names: dict[str, Any], reporting: Reporting) -> str:
    """Run one cell; how it ended: `completed` or `interrupted`."""
    ended = "completed"
    reporting.running = True
    try:
        exec(compile(code, "<string>", "exec"), names)
    except SystemExit:
        pass  # the real worker takes it for a good end
    except KeyboardInterrupt:
        ended = "interrupted"
    except BaseException as error:
        reporting.running = False
        reporting.say(type="error", name=type(error).__name__, value=str(error), traceback=traced(error))
    finally:
        reporting.running = False
    sys.stdout.flush()
    sys.stderr.flush()
    return ended


def main() -> None:
    """Run cells until there are no more."""
    reporting = Reporting()
    signal.signal(signal.SIGINT, reporting.on_interrupt)
    names: dict[str, Any] = {"__name__": "__main__", "__doc__": None, "__package__": None, "__builtins__": builtins}
    sys.stdout, sys.stderr = Output(reporting, "stdout"), Output(reporting, "stderr")
    while line := sys.stdin.readline():
        cell = json.loads(line)
        before = dict(os.environ)
        os.environ.update(cell.get("envs") or {})
        ended = run(cell["code"], names, reporting)
        if cell.get("envs"):
            os.environ.clear()
            os.environ.update(before)
        reporting.say(type="control", text=ended)
    os._exit(0)


if __name__ == "__main__":
    main()
