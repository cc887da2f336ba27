"""Links to files that work without a key: for one file, for a time, and for whoever has them."""

import asyncio
import stat
import time
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from storage.signed_links import LinkSigner


@pytest.fixture
def signer(tmp_path: Path) -> LinkSigner:
    return LinkSigner(tmp_path / "home" / "links.key")


async def signed(signer: LinkSigner, thread: str = "t", name: str = "a.csv") -> dict[str, str]:
    return dict(parse_qsl(await signer.query(thread, name)))


async def test_a_link_is_for_one_file_of_one_thread(signer: LinkSigner) -> None:
    query = await signed(signer)
    assert await signer.admits("t", "a.csv", query)
    assert not await signer.admits("t", "b.csv", query)
    assert not await signer.admits("u", "a.csv", query)
    assert not await signer.admits("t", "figures/a.csv", query)


async def test_texts_of_two_files_cannot_be_the_same(signer: LinkSigner) -> None:
    until = (await signed(signer))["until"]
    query = await signed(signer, "t", f"{until}\na.csv")
    assert not await signer.admits(f"t\n{until}", "a.csv", query)


@pytest.mark.parametrize(
    "changed",
    [
        {"until": "99999999999"},
        {"until": "999999999999999999999"},
        {"until": "-1"},
        {"until": "１９９９９９９９９９９"},
        {"until": ""},
        {"signature": ""},
        {"signature": "A" * 43},
        {"signature": "\N{SNOWMAN}\udc80"},
    ],
)
async def test_whoever_changes_a_link_has_none(signer: LinkSigner, changed: dict[str, str]) -> None:
    assert not await signer.admits("t", "a.csv", {**await signed(signer), **changed})
    assert not await signer.admits("t", "a.csv", changed)


async def test_a_link_ends(tmp_path: Path) -> None:
    ended = LinkSigner(tmp_path / "links.key", seconds=-7_200)
    query = await signed(ended)
    assert int(query["until"]) < time.time()
    assert not await ended.admits("t", "a.csv", query)


async def test_links_outlive_a_restart_and_hold_for_all_who_share_the_key(tmp_path: Path) -> None:
    file = tmp_path / "links.key"
    query = await signed(LinkSigner(file))
    assert await LinkSigner(file).admits("t", "a.csv", query)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not await LinkSigner(tmp_path / "other.key").admits("t", "a.csv", query)
    shared = await signed(LinkSigner(tmp_path / "none.key", "s" * 32))
    assert await LinkSigner(tmp_path / "nothing.key", "s" * 32).admits("t", "a.csv", shared)
    assert not (tmp_path / "none.key").exists()


async def test_two_that_begin_at_once_take_one_key(tmp_path: Path) -> None:
    signers = [LinkSigner(tmp_path / "home" / "links.key") for _ in range(8)]
    queries = await asyncio.gather(*(signed(one) for one in signers))
    assert len({query["signature"] for query in queries}) == 1
    assert [one.name for one in (tmp_path / "home").iterdir()] == ["links.key"]


async def test_a_damaged_key_is_an_error_and_signs_nothing(tmp_path: Path) -> None:
    (tmp_path / "links.key").write_bytes(b"")
    signer = LinkSigner(tmp_path / "links.key")
    with pytest.raises(OSError, match="remove it"):
        await signer.query("t", "a.csv")
    with pytest.raises(OSError, match="remove it"):
        await signer.admits("t", "a.csv", {"until": "99999999999", "signature": "x"})
