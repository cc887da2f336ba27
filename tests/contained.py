"""Becomes what a program is in a container, as far as sandboxes notice: `python -m tests.contained PROFILE COMMAND…`.

An ordinary user with `no_new_privs` behind a filter of system calls. The filter is read from a file in the format of
Docker's profiles (a list of refused calls), or is `none`, or `default`: what Docker's own profile refuses to a user
without capabilities, as far as our walls need it. Begin as an ordinary user: `tests.security.as_user`.
"""

import ctypes
import json
import os
import struct
import sys
from pathlib import Path

from sandboxes.inside.zygote import seccomp, system

MOUNTS = ["mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "mount_setattr"]
REFUSED_BY_DEFAULT = [*MOUNTS, "unshare", "setns", "keyctl", "add_key", "request_key", "bpf", "perf_event_open"]
EPERM, ENOSYS = 1, 38


def refused_in(profile: str) -> list[str]:
    """The calls that a profile refuses."""
    if profile == "none":
        return []
    if profile == "default":
        return REFUSED_BY_DEFAULT
    said = json.loads(Path(profile).read_text())
    assert said["defaultAction"] == "SCMP_ACT_ALLOW"
    return [name for rule in said["syscalls"] for name in rule["names"]]


def program(profile: str) -> bytes:
    """A filter that refuses what the profile does."""
    column = seccomp.COLUMN[system.MACHINE]
    known = seccomp.REFUSED | seccomp.ABSENT | seccomp.LOOKED_AT
    lines = [(seccomp.LOAD, 0, 0, 0)]
    for name in refused_in(profile):
        number = known[name][column]
        if number is not None:
            lines += [(seccomp.EQUAL, 0, 1, number), (seccomp.RETURN, 0, 0, seccomp.FAIL | EPERM)]
    if profile == "default":
        clone3, clone = known["clone3"][column], seccomp.LOOKED_AT["clone"][column]
        assert clone3 is not None
        lines += [(seccomp.EQUAL, 0, 1, clone3), (seccomp.RETURN, 0, 0, seccomp.FAIL | ENOSYS)]
        lines += [(seccomp.EQUAL, 0, 3, clone), (seccomp.LOAD, 0, 0, 16)]
        lines += [(seccomp.ANY_BIT, 0, 1, seccomp.CLONE_NEW), (seccomp.RETURN, 0, 0, seccomp.FAIL | EPERM)]
    lines.append((seccomp.RETURN, 0, 0, seccomp.ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def main() -> None:
    """Read the command line, go behind the filter, and become the program."""
    profile, *command = sys.argv[1:]
    lines = program(profile)
    system.no_new_privileges()
    kept = ctypes.create_string_buffer(lines, len(lines))
    header = struct.pack("@HP", len(lines) // 8, ctypes.addressof(kept))
    number = seccomp.SECCOMP[system.MACHINE]
    system.checked(system.syscall(number, seccomp.SET_MODE_FILTER, seccomp.ALL_THREADS, header), "seccomp")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
