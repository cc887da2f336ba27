"""A damaged row costs the thread that it belongs to, which is named; the others are listed, and a repair keeps them."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph.checkpoints.factory import checkpoints_file, open_checkpoints
from graph.checkpoints.step_tree import step_tree
from graph.events import Finished
from graph.settings import Settings, SettingsError
from stepwell.cleanup import delete, gc
from stepwell.cli.maintenance import repair_threads
from stepwell.errors import ThreadError
from stepwell.forks import fork_thread
from stepwell.runs import RunFailedError, finish, resume, start
from stepwell.step_detail import show_step
from stepwell.steps import read_log
from stepwell.threads import list_threads, read_thread
from tests.analyses import follow, last, with_model
from tests.integration.test_resume import APPEND
from tests.scripted_model import Call, ScriptedServer
from tests.steady_model import steady

pytestmark = [pytest.mark.timeout(300)]

CELLS = [Call("run_python", purpose="append", step=1, code=APPEND.format(1))]
GARBAGE = bytes(range(255, 100, -1))
DAMAGES = {
    "the newest checkpoint": (
        "update checkpoints set checkpoint = :garbage where thread_id = :thread and checkpoint_id = "
        "(select max(checkpoint_id) from checkpoints where thread_id = :thread)"
    ),
    "a checkpoint cut off": (
        "update checkpoints set checkpoint = substr(checkpoint, 1, 40) where thread_id = :thread and checkpoint_id = "
        "(select max(checkpoint_id) from checkpoints where thread_id = :thread)"
    ),
    "a number for a checkpoint": (
        "update checkpoints set checkpoint = x'05' where thread_id = :thread and checkpoint_id = "
        "(select max(checkpoint_id) from checkpoints where thread_id = :thread)"
    ),
    "the metadata": "update checkpoints set metadata = :garbage where thread_id = :thread",
    "a kind that there is not": "update checkpoints set type = 'neither' where thread_id = :thread",
    "what cells wrote": "update writes set value = :garbage where thread_id = :thread and channel = 'cells'",
    "what was said": "update writes set value = substr(value, 1, 9) where thread_id = :thread and channel = 'messages'",
}
SLOW = DAMAGES.keys() - {"a checkpoint cut off", "the metadata", "a kind that there is not"}


@dataclass(frozen=True)
class Folder:
    """A data folder with finished analyses of one cell each, which tests copy."""

    home: Path
    threads: list[str]

    def copied(self, settings: Settings, count: int = 3) -> list[str]:
        """Have the first of its threads in a test's own data folder."""
        shutil.copytree(self.home, settings.home, dirs_exist_ok=True)
        with closing(sqlite3.connect(checkpoints_file(settings.home))) as connection:
            for thread in self.threads[count:]:
                for table in ("checkpoints", "writes"):
                    connection.execute(f"delete from {table} where thread_id = ?", (thread,))
            connection.commit()
        return self.threads[:count]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    home = tmp_path_factory.mktemp("damage")
    settings = Settings(home=home, artifacts=str(home / "artifacts"), model_retries=0)

    async def work() -> list[str]:
        threads = []
        async with ScriptedServer(policy=steady(CELLS)) as server:
            for number in range(3):
                run = start(f"Append {number}", settings=with_model(settings, server.base_url))
                threads.append(last(await follow(run), Finished).thread)
        return threads

    return Folder(home, asyncio.run(work()))


async def change(settings: Settings, query: str, **given: Any) -> None:
    """Write into the file from outside, as a broken disk would."""

    def work() -> None:
        with closing(sqlite3.connect(checkpoints_file(settings.home))) as connection:
            # What our own index computes is in the way of writing garbage, which a disk does not compute.
            connection.execute("drop index if exists stepwell_checkpoints_run")
            assert connection.execute(query, given).rowcount
            connection.commit()

    await asyncio.to_thread(work)


def blobs_of(settings: Settings) -> set[str]:
    return {file.name for file in (settings.home / "blobs").glob("[0-9a-f][0-9a-f]/*")}


@pytest.mark.parametrize(
    "damage", [pytest.param(damage, marks=pytest.mark.slow) if damage in SLOW else damage for damage in DAMAGES]
)
async def test_a_damaged_row_costs_its_own_thread_which_is_named(
    folder: Folder, settings: Settings, damage: str
) -> None:
    first, hurt, third = await asyncio.to_thread(folder.copied, settings, 3)
    await change(settings, DAMAGES[damage], garbage=GARBAGE, thread=hurt)
    await change(settings, "delete from stepwell_summaries")  # a list that has them reads no thread
    if damage == "the metadata":  # without that index nothing is asked of it when the file is opened
        await change(settings, "create index stepwell_checkpoints_run on checkpoints (thread_id)")
    listed = {one.id: one for one in await list_threads(settings=settings)}
    assert [listed[one].status for one in (first, hurt, third)] == ["finished", "damaged", "finished"]
    tries: dict[str, Callable[[], Any]] = {
        "resume": lambda: finish(resume(hurt, settings=settings)),
        "fork": lambda: fork_thread(hurt, settings=settings),
        "log": lambda: read_log(hurt, settings),
        "show": lambda: show_step(f"{hurt}@1", settings),
    }
    failures = {}
    for name, one in tries.items():
        try:
            await one()
        except (SettingsError, ThreadError, RunFailedError) as error:
            failures[name] = str(error)
    # A log is read from what stands beside the checkpoints.
    assert set(failures) == {"resume", "fork", "show", *(["log"] if damage == "the metadata" else [])}
    for said in failures.values():
        assert hurt in said
        assert "doctor --repair" in said
        assert "\n" not in said
    stored = await asyncio.to_thread(blobs_of, settings)
    with pytest.raises(SettingsError, match=hurt):
        await gc(grace=0.0, settings=settings)
    await delete(first, settings=settings)
    assert await asyncio.to_thread(blobs_of, settings) == stored
    await delete(hurt, settings=settings)
    await gc(grace=-1.0, settings=settings)
    assert [one.id for one in await list_threads(settings=settings)] == [third]
    assert (await show_step(f"{third}@1", settings)).step.name == "1"


@pytest.mark.parametrize("damage", list(DAMAGES))
async def test_a_repair_sets_the_damaged_thread_back_and_keeps_the_others_and_the_file(
    folder: Folder, settings: Settings, damage: str
) -> None:
    first, hurt = await asyncio.to_thread(folder.copied, settings, 2)
    file = checkpoints_file(settings.home)
    await change(settings, DAMAGES[damage], garbage=GARBAGE, thread=hurt)
    done = await repair_threads(settings)
    assert (done.threads, list(done.set_back)) == (1, [hurt])
    assert (done.kept_copy / file.name).exists()
    statuses = {one.id: one.status for one in await list_threads(settings=settings)}
    assert statuses[first] == "finished"
    assert "damaged" not in statuses.values()
    if hurt in statuses:
        async with open_checkpoints(settings) as saver:
            await step_tree(saver, hurt)
        await read_thread(hurt, settings)
    await gc(grace=0.0, settings=settings)
    again = await repair_threads(settings)
    assert again.set_back == {}


async def test_a_thread_that_was_set_back_goes_on_to_its_answer(folder: Folder, settings: Settings) -> None:
    (hurt,) = await asyncio.to_thread(folder.copied, settings, 1)
    await change(settings, DAMAGES["the newest checkpoint"], garbage=GARBAGE, thread=hurt)
    await repair_threads(settings)
    async with ScriptedServer(policy=steady(CELLS)) as server:
        finished = last(await follow(resume(hurt, settings=with_model(settings, server.base_url))), Finished)
    assert (finished.answer, finished.cells) == ("Done.", 1)


@pytest.mark.parametrize("seed", range(6))
async def test_pages_of_garbage_are_one_sentence_and_a_repair_keeps_what_is_left(
    folder: Folder, settings: Settings, seed: int
) -> None:
    await asyncio.to_thread(folder.copied, settings, 3)
    file = checkpoints_file(settings.home)

    def overwrite() -> bool:
        """Whether pages were hit without which nothing of a table is found."""
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)")
            size = connection.execute("pragma page_size").fetchone()[0]
            roots = {
                page - 1 for (page,) in connection.execute("select rootpage from sqlite_master where type = 'table'")
            }
        hit = set()
        data = bytearray(file.read_bytes())
        chance = random.Random(seed)
        for _ in range(3):  # never the first one: without it nobody knows that this is a database
            page = chance.randrange(1, len(data) // size)
            data[page * size : (page + 1) * size] = chance.randbytes(size)
            hit.add(page)
        file.write_bytes(data)
        return bool(hit & roots)

    uprooted = await asyncio.to_thread(overwrite)
    tries: list[Callable[[], Any]] = [
        lambda: list_threads(settings=settings),
        lambda: finish(resume(folder.threads[2], settings=settings)),
        lambda: fork_thread(folder.threads[1], settings=settings),
        lambda: read_log(folder.threads[0], settings),
        lambda: gc(grace=0.0, settings=settings),
    ]
    for one in tries:
        try:
            await one()
        except (SettingsError, ThreadError, RunFailedError) as error:
            assert "\n" not in str(error)  # noqa: PT017
    await repair_threads(settings)
    left = await list_threads(settings=settings)
    assert left or uprooted
    assert all(one.status != "damaged" for one in left)
    for kept in left:
        assert (await read_thread(kept.id, settings)).id == kept.id


async def test_a_thread_of_which_only_writes_are_left_can_be_deleted(folder: Folder, settings: Settings) -> None:
    (hurt,) = await asyncio.to_thread(folder.copied, settings, 1)
    await change(settings, DAMAGES["what cells wrote"], garbage=GARBAGE, thread=hurt)
    await change(settings, "delete from checkpoints where thread_id = :thread", thread=hurt)
    with pytest.raises(SettingsError, match=hurt):
        await gc(grace=0.0, settings=settings)
    await delete(hurt, settings=settings)
    await gc(grace=-1.0, settings=settings)
    assert await asyncio.to_thread(blobs_of, settings) == set()
    with pytest.raises(ThreadError, match="There is no thread"):
        await delete(hurt, settings=settings)


async def test_a_file_that_is_no_database_is_one_sentence(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    await asyncio.to_thread(checkpoints_file(settings.home).write_bytes, GARBAGE * 50)
    with pytest.raises(SettingsError, match="doctor --repair"):
        await list_threads(settings=settings)
    done = await repair_threads(settings)
    assert done.threads == 0
    assert await list_threads(settings=settings) == []


async def test_a_garbled_holders_note_and_a_garbled_owners_note_are_in_nobodys_way(
    folder: Folder, settings: Settings
) -> None:
    (thread,) = await asyncio.to_thread(folder.copied, settings, 1)

    def garble() -> None:
        (settings.home / "locks" / f"{thread}.holder").write_bytes(GARBAGE)
        (note,) = [file for file in (settings.home / "blobs" / "owners").iterdir() if not file.name.startswith(".")]
        note.write_bytes(GARBAGE)

    await asyncio.to_thread(garble)
    async with ScriptedServer(policy=steady(CELLS)) as server:
        await follow(start("Again", thread=thread, settings=with_model(settings, server.base_url)))
    await gc(grace=0.0, settings=settings)
    await delete(thread, settings=settings)
    assert await asyncio.to_thread(blobs_of, settings) == set()


async def test_another_owners_garbled_note_keeps_its_blobs(folder: Folder, settings: Settings) -> None:
    (thread,) = await asyncio.to_thread(folder.copied, settings, 1)
    note = settings.home / "blobs" / "owners" / ("0" * 32)
    await asyncio.to_thread(note.write_bytes, GARBAGE)
    with pytest.raises(SettingsError, match="note 0000"):
        await gc(grace=0.0, settings=settings)
    stored = await asyncio.to_thread(blobs_of, settings)
    await delete(thread, settings=settings)
    assert await asyncio.to_thread(blobs_of, settings) == stored
