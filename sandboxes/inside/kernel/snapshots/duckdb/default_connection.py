"""Says whether duckdb has made its default connection, which asking duckdb for it makes: 20 ms, and threads that stay.

No call says it. In the library the connection is in a variable within functions, with a byte beside it that says
whether it was made (C++ calls that a guard); a function that needs it reads both first. Two functions that the library
exports by name do: where both begin in the way that is known, and with the same two addresses, these are read.
"""

import ctypes
import functools
import platform
import re
import sys

GETS = "_ZN6duckdb18DuckDBPyConnection17DefaultConnectionEv"
SETS = "_ZN6duckdb18DuckDBPyConnection20SetDefaultConnectionESt10shared_ptrIS0_E"
BEGINS = re.compile(
    rb"\x0f\xb6\x05(?P<guard>.{4})"  # movzx eax, byte [rip + guard]
    rb"\x84\xc0(?:\x74.|\x0f\x84.{4})"  # test al, al; je to where it is made
    rb"[\x48\x4c]\x8b[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](?P<variable>.{4})",  # mov, qword [rip + variable]
    re.DOTALL,
)
WITHIN = 48
"""Bytes of a function among which that is."""


def may_exist() -> bool:
    """Whether there is a default connection; also where that cannot be known."""
    found = _variable()
    if found is None:
        return True
    guard, variable = found
    if not ctypes.c_uint8.from_address(guard).value:
        return False
    holder = ctypes.c_uint64.from_address(variable).value
    return not holder or bool(ctypes.c_uint64.from_address(holder).value)


@functools.cache
def _variable() -> tuple[int, int] | None:
    """The addresses of the guard and of the variable; None: they are not known."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL(sys.modules["_duckdb"].__file__)
        functions = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in (GETS, SETS)]
    except (KeyError, OSError, AttributeError):  # a version that is put together in another way
        return None
    found = {_read(function) for function in functions}
    return found.pop() if len(found) == 1 else None


def _read(function: int) -> tuple[int, int] | None:
    code = BEGINS.search(ctypes.string_at(function, WITHIN))
    if code is None:
        return None
    guard, variable = (
        function + code.end(name) + int.from_bytes(code[name], "little", signed=True) for name in ("guard", "variable")
    )
    return guard, variable
