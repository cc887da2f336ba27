"""Turns a PNG into sixels, in a process of its own: a picture comes out of a sandbox, and is taken apart nowhere else.

Run as a script it reads the picture on stdin and writes sixels on stdout, within limits on memory and time. What comes
of it is held against the grammar of sixels before a terminal sees it.
"""

import io
import re
import resource
import subprocess
import sys
from collections.abc import Iterator

TALLEST = 2_000
"""Pixels."""
MOST_PIXELS = 16_000_000
MOST_BYTES = 8_000_000
"""Of sixels."""
MEMORY, CPU_SECONDS, SECONDS = 1 << 30, 10, 20.0
COLOURS = 256
BAND = 6
"""Rows that a character stands for."""
SIXELS = re.compile(rb"\x1bP0;1;0q[\"#;0-9?-~!$-]*\x1b\\", re.ASCII)
RUN = re.compile(rb"(.)\1{3,254}", re.DOTALL)


def as_sixels(png: bytes, width: int) -> str:
    """A picture as sixels; empty when it is none, is too large, or takes too long.

    Args:
        png: The picture.
        width: Pixels that it may be wide; a wider one is made smaller.
    """
    command = [sys.executable, "-P", __file__, str(width)]
    try:
        done = subprocess.run(command, input=png, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode or len(done.stdout) > MOST_BYTES or not SIXELS.fullmatch(done.stdout):
        return ""
    return done.stdout.decode("ascii")


def encoded(png: bytes, width: int) -> bytes:
    """The same, in this process.

    Raises:
        ValueError: it is no picture, or too large.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError("The picture has too many pixels.")
            drawn = image.convert("RGBA")
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise ValueError("This is no picture.") from error
    picture = Image.new("RGBA", drawn.size, "white")  # what a figure leaves out is paper
    picture.alpha_composite(drawn)
    share = min(1.0, width / picture.width, TALLEST / picture.height)
    if share < 1:
        picture = picture.resize((max(1, int(picture.width * share)), max(1, int(picture.height * share))))
    few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette = few.getpalette() or []
    return _written(few.tobytes(), few.width, few.height, palette)


def _written(pixels: bytes, width: int, height: int, palette: list[int]) -> bytes:
    """Sixels of pixels that are numbers of colours."""
    parts = [f'\x1bP0;1;0q"1;1;{width};{height}'.encode()]
    for number in sorted(set(pixels)):
        red, green, blue = (round(part * 100 / 255) for part in palette[3 * number : 3 * number + 3])
        parts.append(f"#{number};2;{red};{green};{blue}".encode())
    for top in range(0, height, BAND):
        rows = [pixels[row * width : (row + 1) * width] for row in range(top, min(top + BAND, height))]
        parts.append(b"$".join(_band(rows)))
        parts.append(b"-")
    return b"".join([*parts[:-1], b"\x1b\\"])


def _band(rows: list[bytes]) -> Iterator[bytes]:
    """Up to six rows, one colour after another."""
    for number in sorted(set(b"".join(rows))):
        bits = 0
        for place, row in enumerate(rows):
            table = bytearray(256)
            table[number] = 1 << place
            bits |= int.from_bytes(row.translate(bytes(table)))
        drawn = bits.to_bytes(len(rows[0])).rstrip(b"\0")
        shown = drawn.translate(bytes(one + 63 if one < 64 else 0 for one in range(256)))
        yield b"#%d%b" % (number, RUN.sub(lambda run: b"!%d%b" % (len(run[0]), run[1]), shown))


def main() -> int:
    """Answer the process that has started this one."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if sys.platform == "linux":  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        sys.stdout.buffer.write(encoded(sys.stdin.buffer.read(), int(sys.argv[1])))
    except (ValueError, MemoryError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
