"""The probes. Each returns true when it got through; an `OSError` means that it was blocked."""

import ctypes
import errno
import os
import resource
import socket
from collections.abc import Callable
from typing import Any

Facts = dict[str, Any]
libc = ctypes.CDLL(None, use_errno=True)
SECONDS = 1.0


def _read(facts: Facts) -> bool:
    with open(facts["file"], "rb") as reading:
        return bool(reading.read(1))


def _write(facts: Facts) -> bool:
    os.close(os.open(facts["file"], os.O_WRONLY))
    return True


def _system(facts: Facts) -> bool:
    os.close(os.open(os.__file__, os.O_WRONLY))
    return True


def _input(facts: Facts) -> bool:
    os.close(os.open("inputs/probe", os.O_WRONLY | os.O_CREAT, 0o600))
    return True


def _stat(facts: Facts) -> bool:
    os.stat(facts["file"])
    return True


def _connect(facts: Facts) -> bool:
    with socket.create_connection(("127.0.0.1", facts["port"]), SECONDS):
        return True


def _odd_sockets(facts: Facts) -> bool:
    for family in (16, 17, 38, 40):  # netlink, packet, crypto, vsock
        for kind in (socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
            except OSError:
                continue
            return True
    return False


def _unix(facts: Facts) -> bool:
    with socket.socket(socket.AF_UNIX) as connecting:
        connecting.connect(facts["socket"])
        return True


def _abstract(facts: Facts) -> bool:
    with socket.socket(socket.AF_UNIX) as connecting:
        connecting.connect("\0" + facts["abstract"])
        return True


def _look_at(facts: Facts) -> bool:
    if not facts["process"]:
        return False
    with open(f"/proc/{facts['process']}/environ", "rb") as reading:
        return bool(reading.read(1))


def _trace(facts: Facts) -> bool:
    if not facts["process"]:
        return False
    ctypes.set_errno(0)
    # PTRACE_SEIZE: unlike an attach it does not stop the process where it works
    return libc.ptrace(0x4206, facts["process"], None, None) == 0 or ctypes.get_errno() not in (
        errno.EPERM,
        errno.ENOSYS,
    )


def _signal(facts: Facts) -> bool:
    if not facts["process"]:
        return False
    os.kill(facts["process"], 0)
    return True


def _calls(facts: Facts) -> bool:
    for number, arguments in facts["calls"]:
        ctypes.set_errno(0)
        answer = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
        if answer != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            return True
    return False


def _privileges(facts: Facts) -> bool:
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, sets)
    return any(sets) or libc.prctl(39, 0, 0, 0, 0) != 1


def _unlimited(name: str) -> Callable[[Facts], bool]:
    return lambda facts: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] == resource.RLIM_INFINITY


def _of_the_user(facts: Facts) -> bool:
    most = {"MEMLOCK": 1 << 20, "MSGQUEUE": 0, "SIGPENDING": 4_096}
    hard = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in most}
    return any(value == resource.RLIM_INFINITY or value > most[name] for name, value in hard.items())


def _all_at_once(facts: Facts) -> bool:
    with open("room", "wb") as file:
        try:
            return bool(libc.fallocate(file.fileno(), 0, ctypes.c_long(0), ctypes.c_long(1 << 20)) == 0)
        finally:
            os.remove("room")


def _cores(facts: Facts) -> bool:
    return resource.getrlimit(resource.RLIMIT_CORE)[1] != 0


PROBES: dict[str, tuple[str, Callable[[Facts], bool]]] = {
    "reads a file of the machine": ("files read", _read),
    "writes a file of the machine": ("files written", _write),
    "writes to the Python that it runs in": ("files written", _system),
    "writes to its inputs": ("files written", _input),
    "sees that a file of the machine exists": ("metadata", _stat),
    "connects to a service of the machine": ("network", _connect),
    "makes sockets to the kernel and the hypervisor": ("network", _odd_sockets),
    "looks into another process": ("processes", _look_at),
    "attaches to another process": ("processes", _trace),
    "signals a process of the machine": ("signals", _signal),
    "connects to a socket file of the machine": ("IPC", _unix),
    "connects to an abstract socket of the machine": ("IPC", _abstract),
    "makes calls that are to be refused": ("system calls", _calls),
    "uses up what all programs of its user share": ("system calls", _of_the_user),
    "has privileges, or can gain some": ("system calls", _privileges),
    "can leave its memory behind as a core": ("files written", _cores),
    "takes memory without limit": ("memory", _unlimited("DATA")),
    "starts processes without limit": ("process count", _unlimited("NPROC")),
    "writes files without limit": ("disk", _unlimited("FSIZE")),
    "takes room on the disk without writing": ("disk", _all_at_once),
}
"""What is tried, and the property that it belongs to."""
