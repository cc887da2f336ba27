"""The zygote's loop: it forks one sandbox for each request of the host, and passes it its folders.

Single-threaded, because only such a process can be forked safely. What the host sends is one JSON object a message:
`spawn` (with the descriptors of a sandbox that is to be made ready) and `begin` (with a descriptor on which that
sandbox's init is reached, and the folders of the host that it gets).
"""

import array
import json
import os
import signal
import socket
from contextlib import suppress
from typing import Any

from . import init, interpreter, landlock, measuring, seccomp, system
from .preloading import preload, threads
from .private_root import MS_PRIVATE, MS_REC, copy_of_tree, mount, restrict_mount
from .system import MACHINE, die_with_parent

MAX_MESSAGE = 1 << 20


def serve(control: int) -> None:
    """Take the configuration from the host, and serve until it closes the connection; does not return."""
    host = socket.socket(fileno=control)
    config = json.loads(host.recv(MAX_MESSAGE))
    try:
        _refuse_when_lacking(config)
        config["read_only"] += [path for path in interpreter.places() if path not in config["read_only"]]
        if config["private_root"]:
            _enter(config)
        os.environ.update(config.pop("caches"))
        preload(config.pop("preload"))
        seccomp.program(network=config["network"], strict=config["seccomp"] == "strict")  # once for all of them
        if threads() > 1:
            raise OSError("one of the packages that were imported has started threads")
    except Exception as error:
        host.send(json.dumps({"event": "failed", "why": f"{error}"}).encode())
        os._exit(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    host.send(json.dumps({"event": "ready"}).encode())
    ForkServer(config, host).serve()


def _refuse_when_lacking(config: dict[str, Any]) -> None:
    """Refuse a level whose walls this kernel or this machine does not have.

    Raises:
        OSError: it lacks one.
    """
    if not seccomp.supported():
        raise OSError(f"there is no filter of system calls for this Python on {MACHINE}")
    if not config["private_root"] and not landlock.abi():
        raise OSError("this kernel has no Landlock, or it is switched off")


def _enter(config: dict[str, Any]) -> None:
    """Enter the namespaces in which sandboxes are made; an ordinary user becomes root in users of his own.

    The process that was started stays outside and waits, so that the host sees one process, which ends with this one.
    """
    if config["become"]:
        system.unshare(system.NEW_MOUNTS | system.NEW_PIDS)
    else:
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        system.own_users(proc, 0, system.NEW_MOUNTS | system.NEW_PIDS)
        os.close(proc)
    child = os.fork()
    if child:
        os.closerange(3, 256)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    die_with_parent(signal.SIGKILL)
    mount(None, "/", None, MS_REC | MS_PRIVATE)


class ForkServer:
    """Forks sandboxes."""

    def __init__(self, config: dict[str, Any], host: socket.socket) -> None:
        self._config = config
        self._host = host
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if config["limits"]["DATA"]:
            config["limits"]["DATA"] += measuring.reserved(self._proc)
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC) if config["private_root"] else -1

    def serve(self) -> None:
        """Answer the host until it closes the connection."""
        while True:
            message, attached, _, _ = self._host.recvmsg(MAX_MESSAGE, 1_024)
            if not message:
                os._exit(0)
            given = array.array("i")
            for level, kind, data in attached:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    given.frombytes(data[: len(data) - len(data) % given.itemsize])
            order = json.loads(message)
            try:
                if order["op"] == "spawn":
                    self._spawn(list(given))
                else:
                    self._begin(order, given[0])
            finally:
                for descriptor in given:
                    os.close(descriptor)

    def _spawn(self, given: list[int]) -> None:
        """Fork the first process of a sandbox, as number 1 of process numbers of its own.

        Where that is refused, the host sees the connection end, and all other sandboxes go on.
        """
        child = -1
        with suppress(OSError):
            if self._config["private_root"]:
                system.unshare(system.NEW_PIDS)
            child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._host.detach()
                init.serve(self._config, given, self._proc)
            finally:
                os._exit(1)
        if self._config["private_root"]:
            system.enter(self._home, system.NEW_PIDS)
        if child > 0:
            _send_pidfd(child, given[3])

    def _begin(self, order: dict[str, Any], host: int) -> None:
        """Open the folders that a sandbox gets, as they are here, and pass them to its init."""
        order["trees"], trees = [], array.array("i")
        try:
            if self._config["private_root"]:
                for name, (path, read_only) in order.pop("folders").items():
                    tree = copy_of_tree(path)
                    trees.append(tree)
                    order["trees"].append(name)
                    restrict_mount(tree, read_only=read_only)
        except OSError as error:
            order["why"] = str(error)
        passing = socket.socket(fileno=host)
        attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, trees)] if trees else []
        with suppress(OSError):  # it has ended; the host sees that
            passing.sendmsg([json.dumps(order).encode()], attached)
        passing.detach()
        for tree in trees:
            os.close(tree)


def _send_pidfd(process: int, connection: int) -> None:
    """Give the host a hold on a sandbox's first process, for when that does not answer; an old kernel has none."""
    speaking = socket.socket(fileno=connection)
    with suppress(OSError):
        hold = os.pidfd_open(process)
        try:
            socket.send_fds(speaking, [json.dumps({"event": "forked"}).encode()], [hold])
        finally:
            os.close(hold)
    speaking.detach()
