"""Which modules of a snapshot need not be imported before somebody asks for them."""

import sys

import pytest

from sandboxes.inside.kernel.snapshots.modules.imported_modules import PRELOADED, unused

HAD = ["numpy", "pandas", "matplotlib", "matplotlib.pyplot"]


@pytest.fixture(autouse=True)
def a_bare_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PRELOADED:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(
    ("more", "aliases", "streams", "left"),
    [
        ([], [], [b"numbers"], {"pandas", "matplotlib", "matplotlib.pyplot"}),
        ([], ["pandas"], [], {"matplotlib", "matplotlib.pyplot"}),
        ([], ["matplotlib.pyplot"], [], {"pandas"}),
        ([], ["matplotlib.figure"], [], {"pandas"}),
        (["matplotlib.animation"], [], [], {"pandas"}),
        (["sklearn"], [], [b"\x8c\x06pandas\x94\x8c\tDataFrame"], {"matplotlib", "matplotlib.pyplot"}),
        ([], [], [b"pandas", b"matplotlib"], set()),
    ],
)
def test_what_nothing_mentions_is_left(
    more: list[str], aliases: list[str], streams: list[bytes], left: set[str]
) -> None:
    assert unused([*HAD, *more], aliases, streams) == left


def test_what_is_there_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", sys)
    assert unused(HAD, [], []) == {"matplotlib", "matplotlib.pyplot"}
    assert unused(["numpy"], [], []) == set(), "a session that had neither has neither"
