"""Sixels: what a terminal would draw is what the picture shows, and nothing else comes to a terminal."""

import io
import re
import zlib

import pytest
from PIL import Image, ImageDraw

from stepwell.cli.figures import sent
from stepwell.cli.sixel import MOST_PIXELS, SIXELS, as_sixels, encoded

TOKEN = re.compile(rb"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)(.)|(\$)|(-)|([?-~])", re.DOTALL)


def drawn(sixels: bytes) -> Image.Image:
    """What a terminal draws: written from the description of the format, and not from the encoder."""
    head = re.match(rb'\x1bP[\d;]*q"1;1;(\d+);(\d+)', sixels)
    assert head is not None
    picture = Image.new("RGB", (int(head[1]), int(head[2])), (255, 0, 255))
    body = sixels[head.end() :].removesuffix(b"\x1b\\")
    palette: dict[int, tuple[int, ...]] = {}
    across, down, colour, at = 0, 0, (0, 0, 0), 0
    while at < len(body):
        token = TOKEN.match(body, at)
        assert token is not None, body[at : at + 20]
        at = token.end()
        if token[1]:
            palette[int(token[1])] = tuple(round(int(part) * 255 / 100) for part in token.group(2, 3, 4))
        elif token[5]:
            colour = palette[int(token[5])]  # type: ignore[assignment]
        elif token[8]:
            across = 0
        elif token[9]:
            across, down = 0, down + 6
        else:
            times, bits = int(token[6] or 1), (token[7] or token[10])[0] - 63
            for column in range(across, across + times):
                for bit in range(6):
                    if bits >> bit & 1:
                        picture.putpixel((column, down + bit), colour)
            across += times
    return picture


def png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def differences(one: Image.Image, other: Image.Image) -> list[int]:
    assert one.size == other.size
    return [abs(a - b) for a, b in zip(one.tobytes(), other.convert("RGB").tobytes(), strict=True)]


def chart() -> Image.Image:
    picture = Image.new("RGBA", (203, 101), (0, 0, 0, 0))
    pen = ImageDraw.Draw(picture)
    for number, colour in enumerate(["#1f77b4", "#ff7f0e", "#2ca02c"]):
        pen.rectangle((20 + 60 * number, 90 - 25 * (number + 1), 60 + 60 * number, 90), fill=colour)
    pen.line((0, 100, 202, 0), fill="#000000")
    return picture


def test_a_chart_is_drawn_pixel_by_pixel_on_white() -> None:
    picture = chart()
    paper = Image.new("RGBA", picture.size, "white")
    paper.alpha_composite(picture)
    sixels = encoded(png(picture), 1_000)
    assert SIXELS.fullmatch(sixels)
    assert max(differences(drawn(sixels), paper)) <= 1, "sixels have colours in hundredths"
    assert len(sixels) < 20_000
    assert as_sixels(png(picture), 1_000).encode() == sixels, "the same from the process of its own"


def test_many_colours_become_few() -> None:
    picture = Image.merge("RGB", [Image.linear_gradient("L"), Image.radial_gradient("L"), Image.new("L", (256, 256))])
    found = differences(drawn(encoded(png(picture), 1_000)), picture)
    assert sum(found) / len(found) < 6


@pytest.mark.parametrize("height", [1, 5, 6, 7, 12, 13])
def test_the_last_rows_are_there(height: int) -> None:
    picture = Image.new("RGB", (300, height), "#cc3300")
    assert max(differences(drawn(encoded(png(picture), 1_000)), picture)) <= 1


def test_a_picture_that_is_too_wide_is_made_smaller() -> None:
    assert drawn(encoded(png(chart()), 100)).size == (100, 49)
    small = sent(png(chart()), "sixel", 5)
    assert drawn(small.strip().encode()).width < 203


def bomb() -> bytes:
    """A small file that says it has more pixels than are decoded."""
    header = b"IHDR" + (MOST_PIXELS).to_bytes(4) + (2).to_bytes(4) + bytes([8, 2, 0, 0, 0])
    parts = [len(part[4:]).to_bytes(4) + part + zlib.crc32(part).to_bytes(4)
             for part in (header, b"IDAT" + zlib.compress(bytes(100)), b"IEND")]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", bomb(), png(chart())[:-40][:200]])
def test_what_is_no_picture_is_not_shown(content: bytes) -> None:
    with pytest.raises(ValueError, match="picture"):
        encoded(content, 800)
    assert as_sixels(content, 800) == ""
    assert sent(content, "sixel", 80) == ""


@pytest.mark.parametrize(
    "said", [b"\x1b]0;owned\x07", b"\x1bP0;1;0q~\x1b\\\x1b[31m", b"\x1bP0;1;0q\x9c~\x1b\\", b"~\n"]
)
def test_only_sixels_come_to_a_terminal(said: bytes) -> None:
    assert not SIXELS.fullmatch(said)
