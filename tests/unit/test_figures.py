"""Figures in a terminal: which ones, in whose protocol, and what is never read."""

import base64
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from graph.events import CellFinished, Finished, Started
from graph.state import Artifact
from stepwell.cli.figures import LARGEST, PNG, link_text, protocol_of, sent, shown
from stepwell.cli.live_view import LiveView
from tests.unit.test_views import THREAD, cell

PICTURE = PNG + bytes(range(256)) * 40


def figure(file: Path, number: int = 1, name: str = "figures/a.png") -> Artifact:
    return {"name": name, "url": file.as_uri(), "size": 1, "sha256": "0" * 64, "mime": "image/png", "cell": number}


@pytest.mark.parametrize(
    ("wanted", "environment", "expected"),
    [
        ("auto", {"TERM": "xterm-kitty"}, "kitty"),
        ("auto", {"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ("auto", {"TERM": "xterm-ghostty"}, "kitty"),
        ("auto", {"TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ("auto", {"TERM_PROGRAM": "WezTerm"}, "iterm"),
        ("auto", {"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, "none"),
        ("auto", {"TERM": "xterm-256color"}, "none"),
        ("none", {"TERM": "xterm-kitty"}, "none"),
        ("iterm", {}, "iterm"),
        ("kitty", {"TMUX": "/tmp/tmux"}, "kitty"),
    ],
)
def test_a_terminal_is_known_by_its_environment_and_the_setting_goes_before(
    wanted: str, environment: dict[str, str], expected: str
) -> None:
    assert protocol_of(wanted, environment) == expected


def test_a_terminal_that_says_nothing_of_itself_is_asked_and_no_other() -> None:
    asked: list[str] = []

    def shows() -> bool:
        asked.append("sixel?")
        return True

    assert protocol_of("auto", {"TERM": "foot"}, shows) == "sixel"
    assert asked == ["sixel?"]
    for wanted, environment in (
        ("none", {}),
        ("auto", {"TMUX": "x"}),
        ("auto", {"TERM": "xterm-kitty"}),
        ("iterm", {}),
    ):
        assert protocol_of(wanted, environment, shows) in ("none", "kitty", "iterm")
    assert protocol_of("sixel", {}, shows) == "sixel"
    assert asked == ["sixel?"]


def test_kitty_gets_the_picture_whole_in_pieces_and_answers_nothing() -> None:
    text = sent(PICTURE, "kitty", 80)
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", text)
    assert "".join(piece for _, piece in pieces) == base64.b64encode(PICTURE).decode()
    assert pieces[0][0] == "a=T,f=100,q=2,c=80,m=1"
    assert [keys for keys, _ in pieces[1:]] == ["m=1"] * (len(pieces) - 2) + ["m=0"]
    assert max(len(piece) for _, piece in pieces) <= 4_096
    assert re.sub(r"\x1b_G[^\x1b]*\x1b\\", "", text) == "\n"


def test_iterm_gets_it_in_one() -> None:
    found = re.fullmatch(
        r"\x1b]1337;File=inline=1;preserveAspectRatio=1;size=(\d+);width=40:([^\x07]*)\x07\n",
        sent(PICTURE, "iterm", 40),
    )
    assert found
    assert (int(found[1]), base64.b64decode(found[2])) == (len(PICTURE), PICTURE)


def test_only_pictures_of_these_cells_are_read_and_nothing_that_only_says_so(tmp_path: Path) -> None:
    good, text, large, link = (tmp_path / name for name in ("good.png", "text.png", "large.png", "link.png"))
    good.write_bytes(PICTURE)
    text.write_text("\x1b]0;owned\x07")
    large.write_bytes(PNG + bytes(LARGEST))
    link.symlink_to(good)
    every = [figure(one) for one in (text, large, link, tmp_path / "gone.png", tmp_path)]
    every += [figure(good), figure(good, 2), figure(good, 1, "table.png"), {**figure(good), "url": "s3://b/a.png"}]
    assert len(list(shown(every, {1}, "kitty", 80))) == 0, "the first four are none"
    assert list(shown([figure(good), figure(good, 2)], {1}, "kitty", 200)) == [sent(PICTURE, "kitty", 80)]
    assert list(shown([figure(good)], {1}, "none", 80)) == []


@pytest.mark.parametrize(("protocol", "count"), [("kitty", 1), ("none", 0)])
def test_they_stand_below_the_answer(protocol: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PICTURE)
    sent_to = io.StringIO()
    console = Console(file=sent_to, force_terminal=True, width=80, height=24)
    view = LiveView(console, protocol="kitty" if protocol == "kitty" else "none")
    files = [figure(tmp_path / "a.png"), figure(tmp_path / "a.png", 7)]
    for event in (Started(THREAD, "q"), CellFinished(cell(1)), Finished(THREAD, "So it is.", files)):
        view.show(event)
    assert sent_to.getvalue().count("\x1b_Ga=T") == count
    assert sent_to.getvalue().count("\x1b]8;") >= 4, "files are links"


def test_links_lead_to_files_whatever_they_are_called(tmp_path: Path) -> None:
    file = tmp_path / "a b;c\x1b é.csv"
    assert str(link_text(file.as_uri()).style) == str(link_text(str(file)).style) == f"link {file.as_uri()}"
    assert "\x1b" not in link_text(str(file)).plain
    assert not str(link_text("s3://bucket/a b.csv").style)
