"""Becomes a program that can lock no file, as on NFS without a lock service: `python -m tests.without_locks COMMAND…`.

Every lock is answered with ENOLCK, by the system's own filter of calls.
"""

import ctypes
import os
import struct
import sys

from sandboxes.inside.zygote import seccomp, system

NUMBERS = {"x86_64": {"flock": 73, "fcntl": 72}, "aarch64": {"flock": 32, "fcntl": 25}}
LOCKING = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW."""
ENOLCK = 37
SECOND_ARGUMENT = 24


def program() -> bytes:
    """The filter."""
    numbers = NUMBERS[system.MACHINE]
    refuse = (seccomp.RETURN, 0, 0, seccomp.FAIL | ENOLCK)
    lines = [(seccomp.LOAD, 0, 0, 0), (seccomp.EQUAL, 0, 1, numbers["flock"]), refuse]
    lines += [(seccomp.EQUAL, 0, 1 + 2 * len(LOCKING), numbers["fcntl"]), (seccomp.LOAD, 0, 0, SECOND_ARGUMENT)]
    for command in LOCKING:
        lines += [(seccomp.EQUAL, 0, 1, command), refuse]
    lines.append((seccomp.RETURN, 0, 0, seccomp.ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def main() -> None:
    """Go behind the filter, and become the program."""
    lines = program()
    system.no_new_privileges()
    kept = ctypes.create_string_buffer(lines, len(lines))
    header = struct.pack("@HP", len(lines) // 8, ctypes.addressof(kept))
    number = seccomp.SECCOMP[system.MACHINE]
    system.checked(system.syscall(number, seccomp.SET_MODE_FILTER, seccomp.ALL_THREADS, header), "seccomp")
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
