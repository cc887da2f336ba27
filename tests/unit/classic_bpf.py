"""A tiny interpreter of classic BPF as seccomp runs it, so that the filter of every machine is tested on any."""

import struct
from collections.abc import Sequence

LOAD, AND, EQUAL, GREATER, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x25, 0x35, 0x45, 0x06


def answer(program: bytes, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the filter says to a system call.

    Raises:
        AssertionError: the program is one that the kernel would not take.
    """
    assert len(program) % 8 == 0
    lines = list(struct.iter_unpack("=HBBI", program))
    assert 0 < len(lines) <= 4096, "BPF_MAXINSNS"
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *(value & (1 << 64) - 1 for value in padded))
    accumulator = place = 0
    while True:
        code, when_true, when_false, operand = lines[place]
        place += 1
        if code == RETURN:
            return int(operand)
        if code == LOAD:
            assert operand % 4 == 0
            assert operand + 4 <= len(data)
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif code == AND:
            accumulator &= operand
        else:
            holds = {
                EQUAL: accumulator == operand,
                GREATER: accumulator > operand,
                AT_LEAST: accumulator >= operand,
                ANY_BIT: bool(accumulator & operand),
            }[code]
            place += when_true if holds else when_false
