"""What runs in a process that is disturbed: the command, or a program that offers functions.

Run as a program it is the parent of them: each is forked from it, as a thousand of them would otherwise mostly import.
Its only argument is the descriptor of a socket. A request is a line of JSON with three descriptors: stdout, stderr, and
where the process's id and how it ended are written to. A request without them names a folder to mount a small disk on.
"""

import asyncio
import atexit
import ctypes
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from pathlib import Path
from typing import Any

CLOCK = Path(__file__).parents[1] / "clocks" / "sitecustomize.py"
PRELOADED = (
    "stepwell.command",
    "stepwell.runs",
    "stepwell.cli.run",
    "graph.app",
    "graph.checkpoints.factory",
    "langchain_openai",
    "langgraph.checkpoint.sqlite.aio",
)


def serve(control: socket.socket) -> None:
    """Fork a process for each request, until the other side closes."""
    for name in PRELOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 3)
        if not data:
            return
        if not descriptors:
            control.send(str(_mount(**json.loads(data))).encode())
            continue
        if os.fork() == 0:
            control.close()
            _watch(json.loads(data), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _mount(folder: str, megabytes: int) -> int:
    """Mount a disk in memory; gives 0 or the error's number."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.mount(b"none", folder.encode(), b"tmpfs", 0, f"size={megabytes}m,mode=700".encode())
    return ctypes.get_errno() if done else 0


def _watch(request: dict[str, Any], out: int, errors: int, status: int) -> None:
    """Fork the process, and tell its id and how it ended: nobody but its parent can."""
    for number in (signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _live(request, out, errors)
    os.close(out)
    os.close(errors)
    os.write(status, f"{pid}\n".encode())
    _, ended = os.waitpid(pid, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def _live(request: dict[str, Any], out: int, errors: int) -> None:
    """Be that process, up to its end."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(out, 1)
    os.dup2(errors, 2)
    os.close(out)
    os.close(errors)
    sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    runpy.run_path(str(CLOCK))
    code = 1
    try:
        code = _work(request)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _work(request: dict[str, Any]) -> int:
    words = request["words"]
    if words[0] == "program":
        return asyncio.run(_program("".join(words[1:]), Path(request["folder"]), request["cancel_after"]))
    from stepwell.command import main

    sys.argv = ["stepwell", *words]
    main()
    return 0


async def _program(thread: str, folder: Path, cancel_after: int) -> int:
    """Run or resume an analysis with functions; exit codes as the command's."""
    task = asyncio.create_task(_follow(thread, folder, cancel_after))
    try:
        return await task
    except asyncio.CancelledError:
        return 130
    except Exception as error:  # as a program that says what happened and ends
        sys.stderr.write(f"error: {type(error).__name__}: {error}\n")
        return 2


async def _follow(thread: str, folder: Path, cancel_after: int) -> int:
    from graph.events import Finished
    from graph.functions.registry import HostFunction
    from stepwell.runs import resume, start

    def write(name: str, text: str) -> str:
        with (folder / name).open("a") as file:
            file.write(f"{text}\n")
        return text

    def send(text: str) -> str:
        """Send a message."""
        return write("sent", text)

    def look(what: str) -> str:
        """Look something up."""
        return write("looked", what)

    offered = [HostFunction(send), HostFunction(look, repeatable=True)]
    run = resume(thread, functions=offered) if thread else start("Count", functions=offered)
    told, last = 0, None
    async for event in run:
        sys.stdout.write(json.dumps(event.as_json()) + "\n")
        sys.stdout.flush()
        told, last = told + 1, event
        if told == cancel_after:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
    return 0 if isinstance(last, Finished) else 1


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
