"""Figures in terminals that can show pictures, by kitty's protocol, iTerm2's or sixels; elsewhere names are links.

The first two take a PNG as it is; for sixels another process takes it apart. A terminal says who it is in its
environment; one that does not is asked whether it shows sixels; STEPWELL_FIGURES overrules both.
"""

import base64
import fcntl
import os
import struct
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import unquote, urlsplit

from rich.style import Style
from rich.text import Text

from graph.state import Artifact
from stepwell.cli.sixel import as_sixels
from stepwell.cli.terminal_text import place

Protocol = Literal["kitty", "iterm", "sixel", "none"]
SHOWING = frozenset(get_args(Protocol)) - {"none"}
PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 4_000_000
"""Bytes of a picture that is shown."""
MOST = 4
"""Figures that are shown below an answer."""
WIDEST = 80
"""Columns."""
CELL_WIDTH = 10
"""Pixels of a column, where the terminal does not say how many it has."""
CHUNK = 4_096
"""Characters that kitty's protocol takes at a time."""


def protocol_of(
    wanted: str,
    environment: Mapping[str, str] = os.environ,
    shows_sixel: Callable[[], bool] = lambda: False,
) -> Protocol:
    """How this terminal shows pictures, by the setting and by what it says of itself.

    Args:
        wanted: The setting.
        environment: What says who it is.
        shows_sixel: Asks the terminal itself; called where nothing else tells.
    """
    if wanted in SHOWING:
        return cast("Protocol", wanted)
    if wanted == "none" or environment.get("TMUX") or environment.get("STY"):
        return "none"  # a multiplexer passes neither on
    program, term = environment.get("TERM_PROGRAM", ""), environment.get("TERM", "")
    if environment.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm"):
        return "iterm"
    return "sixel" if shows_sixel() else "none"


def shown(artifacts: Sequence[Artifact], cells: set[int], protocol: Protocol, columns: int) -> Iterator[str]:
    """What a terminal is sent to show the figures that some cells made.

    Args:
        artifacts: The published files.
        cells: The numbers of the cells.
        protocol: The terminal's.
        columns: How wide it is.
    """
    figures = [one for one in artifacts if one["cell"] in cells and one["name"].startswith("figures/")]
    for one in figures[:MOST] if protocol != "none" else ():
        content = _read(one["url"])
        if content is not None and (words := sent(content, protocol, min(columns, WIDEST))):
            yield words


def sent(content: bytes, protocol: Protocol, columns: int) -> str:
    """A picture in the words of a protocol, ended by a line feed; empty when there are none for it."""
    if protocol == "sixel":
        sixels = as_sixels(content, columns * _cell_width())
        return f"{sixels}\n" if sixels else ""
    text = base64.b64encode(content).decode()
    if protocol == "iterm":
        about = f"inline=1;preserveAspectRatio=1;size={len(content)};width={columns}"
        return f"\x1b]1337;File={about}:{text}\x07\n"
    pieces = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
    # q=2: the terminal says nothing back, which would be taken for something typed.
    keys = [f"a=T,f=100,q=2,c={columns},", *[""] * (len(pieces) - 1)]
    more = [1] * (len(pieces) - 1) + [0]
    said = [f"\x1b_G{key}m={m};{piece}\x1b\\" for key, m, piece in zip(keys, more, pieces, strict=True)]
    return "".join(said) + "\n"


def link_text(url: str) -> Text:
    """A file's place, which leads to it where the terminal knows links."""
    target = url
    if "://" not in url:
        target = Path(url).absolute().as_uri()
    safe = target.isascii() and target.isprintable() and " " not in target and ";" not in target
    return Text(place(url), Style(link=target) if safe else "")


def _cell_width() -> int:
    try:
        _, columns, width, _ = struct.unpack("HHHH", fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8)))
    except (OSError, ValueError):
        return CELL_WIDTH
    return width // columns or CELL_WIDTH if columns else CELL_WIDTH


def _read(url: str) -> bytes | None:
    path = Path(unquote(urlsplit(url).path)) if url.startswith("file://") else Path(url)
    if "://" in url and not url.startswith("file://"):
        return None
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    return content if content.startswith(PNG) else None
