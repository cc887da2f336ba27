"""The filter of system calls that a sandbox lives behind: classic BPF, assembled here for x86_64 and aarch64.

It names what is refused. What kernels newer than this file offer is answered with ENOSYS, so that nothing is allowed
because nobody had heard of it. The kernel keeps the answer for calls whose arguments do not matter in a bitmap
(since 5.11), so the length of the program costs an allowed call nothing.
"""

import ctypes
import errno
import functools
import struct
import sys

from .system import MACHINE, checked, syscall

COLUMN = {"x86_64": 0, "aarch64": 1}
"""The machines that there is a filter for, and where their numbers stand in the tables below."""

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""`AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64`: what the kernel says that a call was made as."""

NEWEST = 469
"""`file_setattr`, the newest call known here (Linux 6.17). Numbers from 424 on are the same on every machine."""

X32 = 0x40000000
"""The bit that makes a call on x86_64 one of the x32 ABI, where the numbers mean other calls."""

REFUSED: dict[str, tuple[int | None, int | None]] = {
    # mounts, by the old interface and the new
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    # namespaces
    "unshare": (272, 97), "setns": (308, 268),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    # large and often broken parts of the kernel
    "bpf": (321, 280), "perf_event_open": (298, 241), "vmsplice": (278, 75),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # memory that no process holds counts for no limit and no watchdog
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186),
    # keys belong to users, not to namespaces
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    # the machine itself
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "create_module": (174, None), "query_module": (178, None),
    "get_kernel_syms": (177, None), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "nfsservctl": (180, 42),
    "syslog": (103, 116), "vhangup": (153, 58), "sethostname": (170, 161), "setdomainname": (171, 162),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None),
    "sysfs": (139, None), "_sysctl": (156, None), "ustat": (136, None), "lsm_set_self_attr": (460, 460),
    # files by handle, past every path
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "lookup_dcookie": (212, 18),
    # where memory lies, also that of other processes
    "move_pages": (279, 239), "migrate_pages": (256, 238), "set_mempolicy_home_node": (450, 450),
}  # fmt: skip
"""Calls that fail with EPERM: their numbers on x86_64 and on aarch64; None where there is no such call."""

ABSENT: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    # counted for the whole machine, or for a user and not for a sandbox: one could use up what all others need
    "io_setup": (206, 0), "io_destroy": (207, 1), "io_submit": (209, 2), "io_cancel": (210, 3),
    "io_getevents": (208, 4), "io_pgetevents": (333, 292),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "mq_open": (240, 180),
}  # fmt: skip
"""Calls that fail with ENOSYS, as on a kernel without them, because programs then do it another way.

The flags of `clone3` lie in memory, where a filter cannot look: libc falls back to `clone`. Memory behind a
descriptor that is not mapped counts for no limit and no watchdog.
"""

REFUSED_WITHOUT_NAMESPACES: dict[str, tuple[int | None, int | None]] = {
    "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197),
    "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_unlink": (241, 181),
}  # fmt: skip
"""System V objects and message queues have no path that Landlock could guard: with no namespace of their own they
would be those of the host."""

LOOKED_AT: dict[str, tuple[int, int]] = {
    "clone": (56, 220), "socket": (41, 198), "socketpair": (53, 199), "ioctl": (16, 29),
    "personality": (135, 92), "prlimit64": (302, 261), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "setsockopt": (54, 208), "fcntl": (72, 25), "fallocate": (285, 47),
    "prctl": (157, 167), "userfaultfd": (323, 282),
}  # fmt: skip
"""Calls whose arguments decide, or that are answered in a way of their own."""

SECCOMP = {"x86_64": 317, "aarch64": 277}

CLONE_NEW = 0x7E020000
"""Every `CLONE_NEW…` flag that `clone` can take."""

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPE_MASK = 1, 5, 0xF
TIOCSTI, TIOCLINUX, TIOCSETD = 0x5412, 0x541C, 0x5423
UFFD_TRACKING = 0x80801
"""`O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY`: as the kernel of a session opens it, to learn what was written."""
UFFDIO_SERVING = (0xC028AA03, 0xC020AA04, 0xC028AA05, 0xC020AA07, 0xC020AA08)
"""`UFFDIO_COPY`, `ZEROPAGE`, `MOVE`, `CONTINUE`, `POISON`: what who answers page faults needs, and nobody else."""
F_NOTIFY, F_SETPIPE_SZ = 1026, 1031
PR_SET_DUMPABLE = 4
SOL_SOCKET, SO_SNDBUF, SO_RCVBUF, SO_LINGER = 1, 7, 8, 13
PERSONALITY_QUERY = 0xFFFFFFFF

LOAD, AND, EQUAL, GREATER, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x45, 0x06
"""The instructions used, by their classic BPF codes (`linux/bpf_common.h`)."""

KILL, ALLOW, FAIL = 0x80000000, 0x7FFF0000, 0x00050000
SET_MODE_FILTER, ALL_THREADS = 1, 1

Instruction = tuple[int, int, int, int]
"""Code, how many instructions to skip when it holds, how many when not, operand (`struct sock_filter`)."""


def supported() -> bool:
    """Whether there is a filter for this machine: its numbers are known and this Python speaks its native ABI."""
    native = sys.platform == "linux" and sys.byteorder == "little" and ctypes.sizeof(ctypes.c_void_p) == 8
    return native and MACHINE in COLUMN


@functools.cache
def program(*, network: bool, strict: bool, machine: str = MACHINE) -> bytes:
    """The filter, as an array of `struct sock_filter`.

    Args:
        network: Whether sockets of the internet may be made. Never netlink, packet, vsock or crypto sockets.
        strict: Whether there are no namespaces around the sandbox: then nothing of the host may be reachable that
            has no path, or a path that Landlock does not guard (Unix sockets, System V objects, message queues).
        machine: As `platform.machine()` says it.

    Raises:
        ValueError: there is no filter for such a machine.
    """
    if machine not in COLUMN:
        raise ValueError(f"there is no filter of system calls for {machine}, only for {' and '.join(COLUMN)}")
    column = COLUMN[machine]
    lines: list[Instruction] = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCHITECTURE[machine]), _answer(KILL), (LOAD, 0, 0, 0)]
    if machine == "x86_64":
        lines += [(AT_LEAST, 0, 1, X32), _answer(KILL)]
    lines += [(GREATER, 0, 1, NEWEST), _failing(errno.ENOSYS)]
    refused = REFUSED | REFUSED_WITHOUT_NAMESPACES if strict else REFUSED
    for table, number in ((refused, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for numbers in table.values():
            call = numbers[column]
            if call is not None:
                lines += [(EQUAL, 0, 1, call), _failing(number)]
    for name, rule in _rules(network=network, strict=strict).items():
        # Each rule ends with an answer, so nothing after it sees an argument in place of the number.
        lines += [(EQUAL, 0, len(rule), LOOKED_AT[name][column]), *rule]
    lines.append(_answer(ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def install(*, network: bool, strict: bool) -> None:
    """Put this process, all of its threads and everything that it starts behind the filter, for good.

    `no_new_privs` has to be set already. For the arguments see `program`.

    Raises:
        ValueError: there is no filter for this machine.
        OSError: the kernel refuses it.
    """
    if not supported():
        raise ValueError(f"there is no filter of system calls for this Python on {MACHINE}")
    lines = program(network=network, strict=strict)
    kept = ctypes.create_string_buffer(lines, len(lines))
    header = struct.pack("@HP", len(lines) // 8, ctypes.addressof(kept))
    result = checked(syscall(SECCOMP[MACHINE], SET_MODE_FILTER, ALL_THREADS, header), "seccomp")
    if result:
        raise OSError(errno.EBUSY, f"seccomp: thread {result} cannot be put behind the filter")


def _rules(*, network: bool, strict: bool) -> dict[str, list[Instruction]]:
    """For each call that is looked at: what its arguments must be.

    Only the low half of an argument is compared: all of these are 32 bits wide in the kernel, which ignores the rest.
    """
    families = [AF_INET, AF_INET6] if network else []
    socketpair = _only(0, [AF_UNIX], errno.EAFNOSUPPORT)
    if strict:
        # A pair of datagram sockets can still be sent to, or connected to, any socket that has a path.
        kinds = [SOCK_STREAM, SOCK_SEQPACKET]
        typed = [_argument(1), (AND, 0, 0, SOCK_TYPE_MASK), *_among(kinds, errno.EPERM)]
        socketpair = [_argument(0), (EQUAL, 1, 0, AF_UNIX), _failing(errno.EAFNOSUPPORT), *typed]
    rules = {
        "clone": [_argument(0), (ANY_BIT, 0, 1, CLONE_NEW), _failing(errno.EPERM), _answer(ALLOW)],
        "socket": _only(0, families if strict else [AF_UNIX, *families], errno.EAFNOSUPPORT),
        "socketpair": socketpair,
        "ioctl": [_argument(1), *_except([TIOCSTI, TIOCLINUX, TIOCSETD, *UFFDIO_SERVING])],
        # Answered as done: the kernel too takes such a wish for a hint. What waits in sockets is nobody's memory, and
        # whoever closes a socket that lingers waits: that may be the host, to which one can be passed.
        "setsockopt": [
            *(_argument(1), (EQUAL, 1, 0, SOL_SOCKET), _answer(ALLOW), _argument(2)),
            *((EQUAL, 2, 0, SO_SNDBUF), (EQUAL, 1, 0, SO_RCVBUF), (EQUAL, 0, 1, SO_LINGER)),
            *(_failing(0), _answer(ALLOW)),
        ],
        # What waits in pipes counts for a user, and is nobody's memory; who watches a folder learns what others do.
        "fcntl": [_argument(1), *_except([F_SETPIPE_SZ, F_NOTIFY])],
        # For tracking writes only. Faults of the system's own code, by which it could be held up, are left out.
        "userfaultfd": _only(0, [UFFD_TRACKING], errno.EPERM),
        # Who cannot be looked into cannot be measured.
        "prctl": [_argument(0), *_except([PR_SET_DUMPABLE])],
        # It takes a whole disk before anybody can look; libc then writes where a program only wants the room.
        "fallocate": [_failing(errno.EOPNOTSUPP)],
        "personality": _only(0, [PERSONALITY_QUERY], errno.EPERM),
        # Limits of another process of the same user can be lowered until it dies; not even Landlock is asked.
        "prlimit64": _only(0, [0], errno.EPERM),
    }
    # Of this process only: the sandbox's first one has the same user, and must not be slowed down.
    for name in ("sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"):
        rules[name] = _only(0, [0], errno.EPERM)
    for name, itself in (("setpriority", 0), ("ioprio_set", 1)):
        other = [_argument(0), (EQUAL, 1, 0, itself), _failing(errno.EPERM)]
        rules[name] = [*other, *_only(1, [0], errno.EPERM)]
    return rules


def _argument(index: int) -> Instruction:
    return (LOAD, 0, 0, 16 + 8 * index)


def _answer(value: int) -> Instruction:
    return (RETURN, 0, 0, value)


def _failing(number: int) -> Instruction:
    return (RETURN, 0, 0, FAIL | number)


def _only(index: int, values: list[int], number: int) -> list[Instruction]:
    return [_argument(index), *_among(values, number)]


def _among(values: list[int], number: int) -> list[Instruction]:
    """Allowed when what is loaded is one of these, else an error."""
    tests = [(EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [*tests, _failing(number), _answer(ALLOW)]


def _except(values: list[int]) -> list[Instruction]:
    """Refused when what is loaded is one of these, else allowed."""
    tests = [(EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [*tests, _answer(ALLOW), _failing(errno.EPERM)]
