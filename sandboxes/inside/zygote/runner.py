"""The process in which a sandbox's code runs: it gives up everything that it does not need, and becomes the kernel.

It is forked from the zygote, which has imported the analysis packages. User code runs only after it is isolated.
"""

import importlib
import json
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from typing import Any

from . import landlock, seccomp, system
from .private_root import HOME, OWN, SETTINGS, SYSTEM, WORKSPACE
from .system import PR_SET_DUMPABLE, bound_capabilities, die_with_parent, drop_capabilities, no_new_privileges, prctl

CONTROL, NOTICES, BEGIN = 3, 4, 5
"""Descriptors: the kernel's connection, ours to init, and the pipe from which the order comes."""
PER_USER_LIMITS = {
    resource.RLIMIT_MEMLOCK: 1 << 16,
    resource.RLIMIT_MSGQUEUE: 0,
    resource.RLIMIT_SIGPENDING: 1_024,
}
"""Counted by the system for a user: locked memory, message queues, signals and timers. A sandbox needs few of them."""


def run(config: dict[str, Any], proc: int) -> None:
    """Isolate this process, wait for the order, and carry it out; does not return.

    Args:
        config: The zygote's.
        proc: A descriptor of a `/proc` that shows this process; closed here.
    """
    os.setsid()
    if config["become"]:
        system.switch_user(config["user"], config["group"])
    if config["own_users"]:
        system.own_users(proc, system.INSIDE)
    os.close(proc)
    die_with_parent(signal.SIGKILL)  # only now: whoever changes his user loses it
    no_new_privileges()
    bound_capabilities()
    drop_capabilities()
    prctl(PR_SET_DUMPABLE, 1)
    _limit(config["limits"])
    if config["seccomp"]:
        seccomp.install(network=config["network"], strict=config["seccomp"] == "strict")
    _reseed()
    for part in importlib.import_module("stepwell_kernel.warm_up").PARTS:
        if _called():
            break
        with suppress(Exception):  # a cell will tell of what is wrong here
            part()
    with open(BEGIN, "rb") as order:
        text = order.read()
    if not text:
        os._exit(0)
    begin(config, json.loads(text))


def _called() -> bool:
    """Whether the order has come."""
    return bool(select.select([BEGIN], [], [], 0)[0])


def begin(config: dict[str, Any], order: dict[str, Any]) -> None:
    """Enter the workspace, close the last descriptor, and become the kernel or a program."""
    os.chdir(order["workspace"])
    if config["landlock"] and landlock.abi():
        landlock.restrict(**_landlock_rules(config, order), network=config["network"])
    os.environ.clear()
    os.environ.update(order["environment"])
    if "program" in order:
        _become_program(order)
    kernel = importlib.import_module("stepwell_kernel.session")
    kernel.Session(CONTROL, **order["kernel"]).serve()


def _landlock_rules(config: dict[str, Any], order: dict[str, Any]) -> dict[str, list[str]]:
    """The paths that Landlock leaves open."""
    if config["private_paths"]:
        return {
            "read": ["/"],
            "write": [WORKSPACE, HOME, f"{OWN}/spool", "/tmp", "/dev/shm"],
            "write_files": [f"{OWN}/reached", "/dev/null", "/dev/zero", "/dev/full"],
        }
    given = order["landlock"]
    own = [f"/proc/{os.getpid()}"]
    return {
        "read": [*config["read_only"], *SYSTEM, *SETTINGS, *given["read"], *own],
        "read_files": ["/dev/zero", "/dev/urandom", "/dev/random", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"],
        "write": given["write"],
        "write_files": [*given["write_files"], "/dev/null", "/dev/full"],
    }


def _limit(limits: dict[str, int]) -> None:
    """Set the limits that the operating system keeps for each process; 0 means that there is none."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what takes in a core may be a program of the host, run as root
    for which, most in PER_USER_LIMITS.items():
        hard = resource.getrlimit(which)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (allowed, allowed))
    for name, value in limits.items():
        if value:
            which = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(which)[1]
            allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (allowed, allowed))


def _reseed() -> None:
    """Reseed random generators: forks of one parent would draw the same numbers."""
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed()


def _become_program(order: dict[str, Any]) -> None:
    """Run a folder's `__main__` with the order's arguments, as `kernel/start.py` does."""
    code = 1
    try:
        start = importlib.import_module("stepwell_kernel.start")
        folder, *arguments = order["program"]
        os.close(CONTROL)
        start.run_program(folder, arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            code = code or 1
        os._exit(code)
