"""A repair takes the place of a damaged file only when all of it is written and nobody else has the file open."""

import asyncio
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from graph.checkpoints.factory import checkpoints_file, open_checkpoints, plain_values
from graph.checkpoints.repair import repair_database
from graph.settings import Settings, SettingsError
from stepwell.cli.maintenance import repair_threads

IDLE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("select count(*) from checkpoints").fetchone()
print("open", flush=True)
sys.stdin.readline()
"""


def add_threads(settings: Settings, count: int, *, size: int = 10) -> None:
    async def add() -> None:
        async with open_checkpoints(settings) as saver:
            for number in range(count):
                checkpoint = empty_checkpoint()
                checkpoint["channel_values"]["text"] = str(number) * size
                at: RunnableConfig = {"configurable": {"thread_id": f"t{number}", "checkpoint_ns": ""}}
                at = await saver.aput(at, checkpoint, {"source": "input"}, {})
                await saver.aput_writes(at, [("answer", "a"), ("question", "b")], "task")

    asyncio.run(add())


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_repair_that_finds_no_room_changes_nothing_and_leaves_nothing(settings: Settings) -> None:
    add_threads(settings, 4, size=1_000_000)
    file = checkpoints_file(settings.home)
    # In two files, so that copies fit where the new file, which has all in one, does not.
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma wal_autocheckpoint = 0")
        connection.execute("update checkpoints set checkpoint_ns = ''")
        connection.execute("insert into checkpoints select 'more' || thread_id, checkpoint_ns, checkpoint_id, "
                           "parent_checkpoint_id, type, checkpoint, metadata from checkpoints")  # fmt: skip
        connection.commit()
        aside = file.with_name("aside")
        aside.mkdir()
        for part in ("", "-wal"):
            shutil.copy2(f"{file}{part}", aside)
    for part in ("", "-wal"):
        shutil.copy2(aside / f"{file.name}{part}", f"{file}{part}")
    shutil.rmtree(aside)
    before = {one.name: one.read_bytes() for one in file.parent.iterdir() if one.is_file()}
    largest = max(len(data) for data in before.values())
    with files_of_at_most(largest + 4096), pytest.raises(SettingsError, match="nothing was changed"):
        repair_database(file, plain_values())
    assert {one.name: one.read_bytes() for one in file.parent.iterdir() if one.is_file()} == before
    assert not [one for one in file.parent.iterdir() if "damaged" in one.name]
    assert repair_database(file, plain_values()).threads == 8


def test_a_row_that_lacks_its_task_costs_no_row_that_follows_it(settings: Settings) -> None:
    add_threads(settings, 3)
    file = checkpoints_file(settings.home)
    with closing(sqlite3.connect(file)) as connection:
        made = connection.execute("select sql, name from sqlite_master where type = 'table'").fetchall()
        connection.execute("pragma writable_schema = on")
        free = [(re.sub("not null", "", sql, flags=re.IGNORECASE), name) for sql, name in made]
        connection.executemany("update sqlite_master set sql = ? where name = ?", free)
        connection.commit()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("update writes set task_id = null where thread_id = 't0'")
        connection.execute("insert into stepwell_owners values ('t1', null), ('t2', 'b')")
        connection.execute("pragma writable_schema = on")
        connection.executemany("update sqlite_master set sql = ? where name = ?", made)
        connection.commit()
    done = repair_database(file, plain_values())
    assert list(done.set_back) == ["t0"]
    with closing(sqlite3.connect(file)) as connection:
        left = connection.execute("select thread_id, count(*) from writes group by thread_id").fetchall()
        owners = connection.execute("select * from stepwell_owners").fetchall()
    assert (left, owners) == ([("t1", 2), ("t2", 2)], [("t2", "b")])


def test_nothing_is_repaired_under_a_server_that_has_the_file_open(settings: Settings) -> None:
    add_threads(settings, 2)
    file = checkpoints_file(settings.home)
    with subprocess.Popen(
        [sys.executable, "-c", IDLE, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "open\n"
        before = file.stat().st_ino
        with pytest.raises(SettingsError, match="open; stop it"):
            asyncio.run(repair_threads(settings))
        assert file.stat().st_ino == before
        assert [one.name for one in file.parent.glob("*damaged*")] == []
        server.communicate("\n")
    assert (asyncio.run(repair_threads(settings))).threads == 2


def test_nobody_opens_the_file_while_it_is_repaired(settings: Settings) -> None:
    add_threads(settings, 1)
    file = checkpoints_file(settings.home)
    said: list[str] = []

    class Serde(JsonPlusSerializer):
        def loads_typed(self, data: Any) -> Any:
            command = [sys.executable, "-c", IDLE.replace("sys.argv[1]", "sys.argv[1], timeout=0"), str(file)]
            said.append(subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL).stderr)
            return super().loads_typed(data)

    repair_database(file, Serde())
    assert said
    assert all("database is locked" in one for one in said)


def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(SettingsError, match="cannot be repaired"):
        repair_database(folder, plain_values())
