"""How the command ends: its exit codes, and one sentence instead of a traceback."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.settings import Settings

FINISHED, FAILED, MISUSED, WAITING, UNREAD, PAUSED = 0, 1, 2, 3, 4, 130
"""The exit codes that scripts may rely on."""

PIPE_BROKEN = 141
"""What a shell reports for a program that was ended by a closed pipe."""


def run_command(work: Callable[[], int], *, connects: bool = True) -> int:
    """Do the work of a command.

    Args:
        work: What it does.
        connects: Whether it may connect to other machines over TLS; what that needs takes a while to import.

    Returns:
        Its exit code. Mistakes of the user and errors of ours are said on stderr in one sentence each; with
        STEPWELL_DEBUG=1 errors of ours keep their traceback.
    """
    try:
        if connects:
            _trust_what_the_system_trusts()
        code = work()
        sys.stdout.flush()
    except BrokenPipeError:
        return _after_broken_pipe()
    except KeyboardInterrupt:
        print_error("stopped.")
        return PAUSED
    except Exception as error:  # the last place where an error can be turned into a sentence
        if _is_mistake(error):
            print_error(f"error: {error}")
            return MISUSED
        if said := _failure(error):
            print_error(f"error: {said}")
            return FAILED
        if os.environ.get("STEPWELL_DEBUG", "") not in ("", "0"):
            raise
        print_error(f"internal error: {described(error)} (set STEPWELL_DEBUG=1 for the traceback)")
        return FAILED
    return code


class _Start:
    announced = False


def announce_start() -> None:
    """Say on a terminal that the command has begun: what it works with takes seconds to import on a busy machine."""
    if sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown", ""):
        sys.stderr.write("starting …")
        sys.stderr.flush()
        _Start.announced = True


def take_back_start() -> None:
    """Remove that line, now that there is something to show."""
    if _Start.announced:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
        _Start.announced = False


def _trust_what_the_system_trusts() -> None:
    """Have every connection trust the system's certificates, too: a company's proxy is known there and nowhere else.

    In the command only: a program that imports `stepwell` decides this for itself.
    """
    import truststore

    truststore.inject_into_ssl()


def print_error(text: str) -> None:
    """Say something on stderr, whatever the view is."""
    from stepwell.cli.terminal_text import clean, wrapped

    take_back_start()
    text = clean(text)
    sys.stderr.write((wrapped(text) if sys.stderr.isatty() else text) + "\n")
    sys.stderr.flush()


def warn_without_isolation(settings: "Settings") -> None:
    """Say on stderr, in red on a terminal, that code runs without isolation, if it does."""
    from graph.settings import NO_ISOLATION_WARNING

    if settings.without_isolation:
        take_back_start()
        red, plain = ("\x1b[1;31m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
        sys.stderr.write(f"{red}{NO_ISOLATION_WARNING}{plain}\n")
        sys.stderr.flush()


def described(error: BaseException) -> str:
    """An unexpected exception in one short line."""
    from stepwell.cli.terminal_text import one_line

    message = one_line(str(error), 500)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _is_mistake(error: Exception) -> bool:
    from graph.settings import NotNowError, SettingsError
    from stepwell.errors import ThreadError, UsageError

    return isinstance(error, UsageError | SettingsError | ThreadError) and not isinstance(error, NotNowError)


def _failure(error: Exception) -> str:
    """What failed without anybody's mistake, in one sentence; empty when the error does not say it."""
    from graph.checkpoints.damage import disk_problem
    from graph.settings import NotNowError
    from sandboxes.base import SandboxError
    from storage.artifacts import StorageError
    from storage.blobs import BlobError

    if isinstance(error, SandboxError | StorageError | BlobError | NotNowError):
        return str(error)
    return disk_problem(error) if isinstance(error, OSError) else ""


def _after_broken_pipe() -> int:
    # Python flushes stdout once more on its way out; let that go nowhere.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return PIPE_BROKEN
