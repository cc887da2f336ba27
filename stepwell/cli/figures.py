"""Figures in terminals that can show pictures, by kitty's protocol or iTerm2's; elsewhere their names are links.

Both take a PNG as it is, so nothing of it is decoded here. Nobody is asked what they can: a terminal's answer would mix
with what is being typed. A terminal says who it is in its environment, and STEPWELL_FIGURES overrules that.
"""

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from rich.style import Style
from rich.text import Text

from graph.state import Artifact
from stepwell.cli.terminal_text import place

Protocol = Literal["kitty", "iterm", "none"]
PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 4_000_000
"""Bytes of a picture that is shown."""
MOST = 4
"""Figures that are shown below an answer."""
WIDEST = 80
"""Columns."""
CHUNK = 4_096
"""Characters that kitty's protocol takes at a time."""


def protocol_of(wanted: str, environment: Mapping[str, str] = os.environ) -> Protocol:
    """How this terminal shows pictures, by the setting and by what it says of itself."""
    if wanted in ("kitty", "iterm"):
        return "kitty" if wanted == "kitty" else "iterm"
    if wanted == "none" or environment.get("TMUX") or environment.get("STY"):
        return "none"  # a multiplexer passes neither on
    program, term = environment.get("TERM_PROGRAM", ""), environment.get("TERM", "")
    if environment.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    return "iterm" if program in ("iTerm.app", "WezTerm") else "none"


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
        if (content := _read(one["url"])) is not None:
            yield sent(content, protocol, min(columns, WIDEST))


def sent(content: bytes, protocol: Protocol, columns: int) -> str:
    """A picture in the words of a protocol, ended by a line feed."""
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
