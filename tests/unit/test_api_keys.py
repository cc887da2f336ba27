"""API keys: hashed in a file, taken away and given out while the server runs."""

import asyncio
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from graph.settings import SettingsError
from server import keys
from server.api_keys import ApiKeys, line_of, new_key
from server.users import UnknownUserError


async def authenticate(doors: ApiKeys, key: str) -> str:
    user = await doors.authenticate(key)
    return user.id if user is not None else ""


async def test_a_key_is_known_by_its_hash_alone(tmp_path: Path) -> None:
    file, key = tmp_path / "keys", new_key()
    file.write_text(line_of("alice", key) + "\n")
    assert key not in file.read_text()
    doors = await asyncio.to_thread(ApiKeys, file)
    assert await authenticate(doors, key) == "key:alice"
    for wrong in ("", key[:-1], key + "x", key.upper(), line_of("alice", key).split("sha256:")[1]):
        assert await authenticate(doors, wrong) == ""


async def test_a_new_key_is_taken_and_an_old_one_no_longer_without_a_restart(
    tmp_path: Path,
) -> None:
    file, old, new = tmp_path / "keys", new_key(), new_key()
    file.write_text(line_of("alice", old) + "\n")
    doors = await asyncio.to_thread(ApiKeys, file, look_seconds=0)
    file.write_text(f"# both, for a day\n{line_of('alice', old)}\n\n{line_of('alice', new)}\n")
    assert [await authenticate(doors, key) for key in (old, new)] == ["key:alice", "key:alice"]
    file.write_text(f"{line_of('alice', new)}\n")
    assert [await authenticate(doors, key) for key in (old, new)] == ["", "key:alice"]
    file.unlink()
    assert await authenticate(doors, new) == ""


async def test_a_key_ends_with_its_day(tmp_path: Path) -> None:
    file, over, good = tmp_path / "keys", new_key(), new_key()
    today = datetime.now(UTC).date()
    lines = (line_of("alice", over, until=today - timedelta(days=1)), line_of("alice", good, until=today))
    file.write_text("\n".join(lines) + "\n")
    doors = await asyncio.to_thread(ApiKeys, file)
    assert await authenticate(doors, good) == "key:alice"
    with pytest.raises(UnknownUserError, match="valid until"):
        await doors.authenticate(over)


async def test_a_line_that_cannot_be_understood_lets_nobody_in_and_keeps_nobody_out(tmp_path: Path) -> None:
    file, key, other = tmp_path / "keys", new_key(), new_key()
    broken = line_of("bob", other)
    file.write_text(f"{broken} admin\nbob {other}\n{broken[:-1]}\nbob sha256:\n{line_of('alice', key)}\n")
    doors = await asyncio.to_thread(ApiKeys, file)
    assert await authenticate(doors, key) == "key:alice"
    assert await authenticate(doors, other) == ""


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"python -m server\.keys add"):
        ApiKeys(tmp_path / "none")


async def test_the_program_prints_a_key_once_and_keeps_its_hash_for_its_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "below" / "keys"
    assert await asyncio.to_thread(keys.main, ["add", "alice", "--file", str(file)]) == 0
    more = ["add", "ops", "--operator", "--until", "2999-01-31", "--file", str(file)]
    assert await asyncio.to_thread(keys.main, more) == 0
    alice, ops = capsys.readouterr().out.split()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    doors = await asyncio.to_thread(ApiKeys, file)
    user = await doors.authenticate(ops)
    assert user is not None
    assert user.operator
    assert await authenticate(doors, alice) == "key:alice"
    assert await asyncio.to_thread(keys.main, ["add", "a name", "--file", str(file)]) == 2
    assert await asyncio.to_thread(keys.main, ["add", "alice"]) == 2
    assert "STEPWELL_API_KEYS" in capsys.readouterr().err


async def test_a_key_is_added_to_a_file_whose_last_line_was_not_ended(tmp_path: Path) -> None:
    file, first = tmp_path / "keys", new_key()
    file.write_text(line_of("alice", first))  # as some editors leave it
    assert await asyncio.to_thread(keys.main, ["add", "bob", "--file", str(file)]) == 0
    doors = await asyncio.to_thread(ApiKeys, file)
    assert await authenticate(doors, first) == "key:alice"
    assert len(file.read_text().splitlines()) == 2
