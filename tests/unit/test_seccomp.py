"""The filter of system calls: what it says to each call on each machine, and that the kernel enforces it."""

import errno
import itertools
import re
import signal
import struct
from pathlib import Path

import pytest

from sandboxes.inside.zygote import seccomp, system
from tests.unit.classic_bpf import answer
from tests.unit.walled import ending, python, walled

ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
DENIED = FAIL | errno.EPERM
MACHINES = ("x86_64", "aarch64")
MODES = list(itertools.product((False, True), (False, True)))
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
TABLES = seccomp.REFUSED | seccomp.ABSENT | seccomp.REFUSED_WITHOUT_NAMESPACES | seccomp.LOOKED_AT
ORDINARY = {
    "x86_64": [0, 1, 257, 3, 9, 10, 12, 13, 59, 231, 62, 434, 462, 42, 49, 44, 45, 46, 47, 202, 268, 259],
    "aarch64": [63, 64, 56, 57, 222, 226, 214, 134, 221, 94, 129, 434, 462, 203, 200, 206, 207, 211, 212, 98, 53, 33],
}
"""Numbers of read, write, openat, close, mmap, mprotect, brk, rt_sigaction, execve, exit_group, kill, pidfd_open,
mseal, connect, bind, sendto, recvfrom, sendmsg, recvmsg, futex, fchmodat, mknodat."""

needs_filter = pytest.mark.skipif(not seccomp.supported(), reason="no filter for this machine")


def said(machine: str, name: str, *arguments: int, network: bool = False, strict: bool = False) -> int:
    """What the filter says to a call by its name."""
    number = TABLES[name][MACHINES.index(machine)]
    assert number is not None
    program = seccomp.program(network=network, strict=strict, machine=machine)
    return answer(program, seccomp.ARCHITECTURE[machine], number, arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernel_s_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"no {HEADERS[machine]} here")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", HEADERS[machine].read_text(), re.MULTILINE)
    known = {name: int(number) for name, number in found}
    column = MACHINES.index(machine)
    for name, numbers in (TABLES | {"seccomp": tuple(seccomp.SECCOMP.values())}).items():
        if name in known or max(number or 0 for number in numbers) <= max(known.values()):
            assert numbers[column] == known.get(name), name
        else:
            assert numbers[0] == numbers[1], f"{name} is newer than the headers here: one number everywhere"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "strict"), MODES)
def test_ordinary_calls_are_allowed_in_every_mode(machine: str, network: bool, strict: bool) -> None:
    program = seccomp.program(network=network, strict=strict, machine=machine)
    for number in ORDINARY[machine]:
        assert answer(program, seccomp.ARCHITECTURE[machine], number) == ALLOW, number


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "strict"), MODES)
def test_every_jump_lands_inside_the_program_whatever_the_number(machine: str, network: bool, strict: bool) -> None:
    program = seccomp.program(network=network, strict=strict, machine=machine)
    answers = {answer(program, seccomp.ARCHITECTURE[machine], number) for number in range(600)}
    assert answers <= {ALLOW, DENIED, FAIL | errno.ENOSYS, FAIL | errno.EAFNOSUPPORT, FAIL | errno.EOPNOTSUPP}
    for code, when_true, when_false, _ in struct.iter_unpack("=HBBI", program):
        assert code == seccomp.RETURN or max(when_true, when_false) < 256


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "strict"), MODES)
def test_calls_that_are_refused_are_refused_in_every_mode(machine: str, network: bool, strict: bool) -> None:
    column = MACHINES.index(machine)
    for name, numbers in seccomp.REFUSED.items():
        if numbers[column] is not None:
            assert said(machine, name, 1, 2, 3, network=network, strict=strict) == DENIED, name
    for name, numbers in seccomp.ABSENT.items():
        if numbers[column] is not None:
            assert said(machine, name, network=network, strict=strict) == FAIL | errno.ENOSYS, name


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed(machine: str) -> None:
    program = seccomp.program(network=True, strict=False, machine=machine)
    i386, arm, other = 0x40000003, 0x40000028, seccomp.ARCHITECTURE[MACHINES[1 - MACHINES.index(machine)]]
    for architecture in (i386, arm, other, 0):
        assert answer(program, architecture, ORDINARY[machine][0]) == KILL


def test_the_x32_abi_is_killed_and_its_plain_numbers_do_not_exist() -> None:
    program = seccomp.program(network=True, strict=False, machine="x86_64")
    ptrace_of_x32 = 521
    assert answer(program, seccomp.ARCHITECTURE["x86_64"], 0x40000000 | ptrace_of_x32) == KILL
    assert answer(program, seccomp.ARCHITECTURE["x86_64"], 0x40000000) == KILL
    assert answer(program, seccomp.ARCHITECTURE["x86_64"], ptrace_of_x32) == FAIL | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_newer_than_this_filter_do_not_exist(machine: str) -> None:
    program = seccomp.program(network=True, strict=False, machine=machine)
    assert answer(program, seccomp.ARCHITECTURE[machine], seccomp.NEWEST) == ALLOW
    for number in (seccomp.NEWEST + 1, 1000, 0x3FFFFFFF):
        assert answer(program, seccomp.ARCHITECTURE[machine], number) == FAIL | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_makes_processes_and_threads_and_no_namespaces(machine: str) -> None:
    thread, child, vfork = 0x3D0F00, 0x1200011, 0x4111
    for flags in (thread, child, vfork, signal.SIGCHLD):
        assert said(machine, "clone", flags) == ALLOW
    for new in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert said(machine, "clone", new | signal.SIGCHLD) == DENIED
        assert said(machine, "clone", new | 1 << 40) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "strict"), MODES)
def test_only_these_families_of_sockets_exist(machine: str, network: bool, strict: bool) -> None:
    for family in range(64):
        allowed = family in (2, 10) if network else False
        allowed = allowed or (family == 1 and not strict)
        expected = ALLOW if allowed else FAIL | errno.EAFNOSUPPORT
        for high in (0, 1 << 32):
            assert said(machine, "socket", family | high, 1, network=network, strict=strict) == expected
            pair = ALLOW if family == 1 else FAIL | errno.EAFNOSUPPORT
            assert said(machine, "socketpair", family | high, 1, network=network, strict=strict) == pair


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_a_pair_of_sockets_cannot_be_turned_to_a_path(machine: str) -> None:
    cloexec = 0x80000
    for kind in (1, 5, 1 | cloexec):
        assert said(machine, "socketpair", 1, kind, strict=True) == ALLOW
    for kind in (2, 3, 2 | cloexec, 3 | 1 << 32):
        assert said(machine, "socketpair", 1, kind, strict=True) == DENIED
        assert said(machine, "socketpair", 1, kind) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "strict"), MODES)
def test_room_is_not_taken_at_once_and_pipes_stay_as_they_are(machine: str, network: bool, strict: bool) -> None:
    assert said(machine, "fallocate", 3, 0, 0, 4096, network=network, strict=strict) == FAIL | errno.EOPNOTSUPP
    for high in (0, 1 << 32):
        for command in (0, 1, 2, 3, 4, 6, 14, 1030, 1032, 1033):
            assert said(machine, "fcntl", 3, command | high, network=network, strict=strict) == ALLOW
        for command in (1026, 1031):
            assert said(machine, "fcntl", 3, command | high, network=network, strict=strict) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("network", "strict"), MODES)
def test_what_is_counted_for_the_machine_or_a_user_is_not_there(machine: str, network: bool, strict: bool) -> None:
    for name in ("io_setup", "io_submit", "io_getevents", "inotify_init1", "mq_open"):
        assert said(machine, name, network=network, strict=strict) == FAIL | errno.ENOSYS, name
    for name in ("semget", "msgget", "shmget", "keyctl", "add_key"):
        assert said(machine, name, network=network, strict=strict) == DENIED, name


@pytest.mark.parametrize("machine", MACHINES)
def test_a_process_cannot_keep_from_being_looked_into(machine: str) -> None:
    set_name, no_new_privileges = 15, 38
    for high in (0, 1 << 32):
        assert said(machine, "prctl", 4 | high, 0) == DENIED
        for option in (1, 3, set_name, no_new_privileges):
            assert said(machine, "prctl", option | high, 1) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_writes_to_memory_can_be_tracked_and_page_faults_not_answered(machine: str) -> None:
    cloexec, nonblock, user_mode_only = 0x80000, 0x800, 1
    assert said(machine, "userfaultfd", cloexec | nonblock | user_mode_only) == ALLOW
    for flags in (0, user_mode_only, cloexec, cloexec | nonblock, 0xFFFFFFFF):
        assert said(machine, "userfaultfd", flags) == DENIED
    copy, zero_page, move, resume, poison = 0xC028AA03, 0xC020AA04, 0xC028AA05, 0xC020AA07, 0xC020AA08
    register, protect, scan = 0xC020AA00, 0xC018AA06, 0xC0606610
    for high in (0, 1 << 32):
        for request in (copy, zero_page, move, resume, poison):
            assert said(machine, "ioctl", 7, request | high) == DENIED
        for request in (register, protect, scan):
            assert said(machine, "ioctl", 7, request | high) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_keys_cannot_be_pushed_into_a_terminal_whatever_the_high_bits_are(machine: str) -> None:
    tiocgwinsz = 0x5413
    for high in (0, 1 << 32, 0xFFFFFFFF << 32):
        for request in (0x5412, 0x541C, 0x5423):
            assert said(machine, "ioctl", 0, request | high) == DENIED
        assert said(machine, "ioctl", 0, tiocgwinsz | high) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_the_personality_can_be_asked_for_and_not_changed(machine: str) -> None:
    assert said(machine, "personality", 0xFFFFFFFF) == ALLOW
    for value in (0, 0x0040000, 0x0400000):
        assert said(machine, "personality", value) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("strict", [False, True])
def test_limits_can_be_set_for_oneself_alone(machine: str, strict: bool) -> None:
    assert said(machine, "prlimit64", 0, 7, strict=strict) == ALLOW
    assert said(machine, "prlimit64", 1, 7, strict=strict) == DENIED


@pytest.mark.parametrize("machine", MACHINES)
def test_wishes_for_larger_buffers_of_sockets_and_for_lingering_are_not_heard(machine: str) -> None:
    sol_socket, ipproto_tcp, so_reuseaddr, so_sndbuf, so_rcvbuf, so_linger = 1, 6, 2, 7, 8, 13
    for high in (0, 1 << 32):
        for option in (so_sndbuf, so_rcvbuf, so_linger):
            assert said(machine, "setsockopt", 0, sol_socket | high, option | high) == FAIL | 0
            assert said(machine, "setsockopt", 0, ipproto_tcp, option) == ALLOW
        assert said(machine, "setsockopt", 0, sol_socket, so_reuseaddr | high) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_without_namespaces_nothing_without_a_path_is_shared(machine: str) -> None:
    for name in seccomp.REFUSED_WITHOUT_NAMESPACES:
        assert said(machine, name, strict=True) == DENIED, name
        assert said(machine, name) == ALLOW, name


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("strict", [False, True])
def test_only_one_s_own_priority_can_be_changed(machine: str, strict: bool) -> None:
    for name in ("sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"):
        assert said(machine, name, 0, strict=strict) == ALLOW
        assert said(machine, name, 77, strict=strict) == DENIED
    itself, of_the_user = {"setpriority": 0, "ioprio_set": 1}, {"setpriority": 2, "ioprio_set": 3}
    for name, which in itself.items():
        assert said(machine, name, which, 0, strict=strict) == ALLOW
        assert said(machine, name, which, 77, strict=strict) == DENIED
        assert said(machine, name, of_the_user[name], 0, strict=strict) == DENIED


def test_a_machine_without_a_filter_gets_none() -> None:
    with pytest.raises(ValueError, match="no filter of system calls for riscv64, only for x86_64 and aarch64"):
        seccomp.program(network=False, strict=False, machine="riscv64")


def test_it_is_not_supported_where_the_machine_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "MACHINE", "riscv64")
    assert not seccomp.supported()
    with pytest.raises(ValueError, match="riscv64"):
        seccomp.install(network=False, strict=False)


INSTALLED = "from sandboxes.inside.zygote import seccomp\nseccomp.install(network=%s, strict=%s)\n"
TRYING = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return errno.errorcode.get(ctypes.get_errno(), "")
numbers = {name: pair[seccomp.COLUMN[seccomp.MACHINE]] for name, pair in
           (seccomp.REFUSED | seccomp.ABSENT | seccomp.REFUSED_WITHOUT_NAMESPACES | seccomp.LOOKED_AT).items()}
"""


@needs_filter
def test_the_kernel_refuses_what_the_filter_names() -> None:
    code = INSTALLED % (False, False) + TRYING
    code += "print({name: call(numbers[name], -1, -1, -1) for name in [*seccomp.REFUSED, *seccomp.ABSENT]"
    code += " if numbers[name] is not None})"
    answers = eval(walled(code))
    assert {name for name, said in answers.items() if said == "ENOSYS"} == set(seccomp.ABSENT)
    assert {said for name, said in answers.items() if name not in seccomp.ABSENT} == {"EPERM"}


@needs_filter
def test_the_kernel_refuses_sockets_by_family() -> None:
    code = """
def made(family, kind=socket.SOCK_STREAM):
    try:
        socket.socket(family, kind).close()
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
print([made(family) for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)],
      [made(family, socket.SOCK_RAW) for family in (socket.AF_NETLINK, socket.AF_PACKET)],
      [made(family, socket.SOCK_SEQPACKET) for family in (socket.AF_VSOCK, socket.AF_ALG)],
      len(socket.socketpair()))
"""
    refused = "EAFNOSUPPORT"
    never = f"['{refused}', '{refused}'] ['{refused}', '{refused}'] 2"
    assert walled(INSTALLED % (False, False) + TRYING + code) == f"['made', '{refused}', '{refused}'] {never}"
    assert walled(INSTALLED % (True, False) + TRYING + code) == f"['made', 'made', 'made'] {never}"
    assert walled(INSTALLED % (False, True) + TRYING + code) == f"['{refused}', '{refused}', '{refused}'] {never}"
    assert walled(INSTALLED % (True, True) + TRYING + code) == f"['{refused}', 'made', 'made'] {never}"


@needs_filter
def test_threads_programs_and_pools_still_work_behind_the_strictest_filter() -> None:
    code = """
import concurrent.futures, multiprocessing, subprocess, threading
if __name__ == "__main__":
    thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
    print(subprocess.run(["echo", "program"], capture_output=True, text=True).stdout.strip())
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(abs, [-1, -2]))
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        print(pool.submit(abs, -3).result())
"""
    assert walled(INSTALLED % (False, True) + code).split("\n") == ["thread", "program", "[1, 2]", "3"]


@pytest.mark.slow
@needs_filter
def test_what_analyses_import_works_behind_the_strictest_filter() -> None:
    code = """
import io, tempfile
import duckdb, matplotlib, numpy, pandas, polars, pyarrow, pyarrow.parquet, scipy.linalg, sklearn.linear_model
matplotlib.use("agg")
import matplotlib.pyplot
frame = pandas.DataFrame({"a": range(1000), "b": [str(value) for value in range(1000)]})
with tempfile.TemporaryDirectory() as folder:
    frame.to_parquet(folder + "/x.parquet")
    assert polars.scan_parquet(folder + "/x.parquet").select(polars.col("a").sum()).collect().item() == 499500
    assert duckdb.sql(f"select sum(a) from '{folder}/x.parquet'").fetchall() == [(499500,)]
    numpy.memmap(folder + "/m", mode="w+", shape=4)[:] = 1
figure, axes = matplotlib.pyplot.subplots(); axes.plot([1, 2]); figure.savefig(io.BytesIO(), format="png")
sklearn.linear_model.LinearRegression(n_jobs=2).fit(frame[["a"]], frame["a"])
assert scipy.linalg.eigvals(numpy.eye(300)).sum() == 300
print("worked")
"""
    assert walled(INSTALLED % (False, True) + code) == "worked"


@needs_filter
@pytest.mark.skipif(system.MACHINE != "x86_64", reason="machine code of x86_64")
def test_a_call_of_the_x32_abi_kills_the_process() -> None:
    code = "import ctypes\nctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))\n"
    assert ending(INSTALLED % (False, False) + code) == -signal.SIGSYS


@needs_filter
def test_it_cannot_be_taken_off_and_children_have_it_too() -> None:
    code = INSTALLED % (False, False) + TRYING
    code += """
import subprocess
print(subprocess.run([sys.executable, "-c", "import socket; socket.socket()"], capture_output=True, text=True).stderr)
"""
    assert "Address family not supported" in walled(code)


@needs_filter
def test_without_no_new_privs_an_ordinary_user_is_told_why() -> None:
    code = "from sandboxes.inside.zygote import system\nsystem.drop_capabilities()\n" + INSTALLED % (False, False)
    done = python(code)
    assert done.returncode == 1
    assert "seccomp: Permission denied" in done.stderr
