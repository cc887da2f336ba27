"""Finished files are published whole, at a folder or a URL."""

import asyncio
import resource
import sys
from pathlib import Path

import fsspec
import pytest

from storage.artifacts import Artifacts, StorageError, mime_of

THREAD = "0b6c1f7e-0000-0000-0000-000000000000"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "result.csv"
    file.write_text("a\n1\n")
    return file


async def test_a_file_is_copied_below_the_threads_folder(tmp_path: Path, file: Path) -> None:
    artifacts = Artifacts.at(str(tmp_path / "there"))
    url = await artifacts.publish(THREAD, "tables/result.csv", file)
    assert url == str(tmp_path / "there" / THREAD / "tables" / "result.csv")
    assert Path(url).read_text() == "a\n1\n"
    assert [one.name for one in Path(url).parent.iterdir()] == ["result.csv"]


async def test_without_a_destination_the_folder_is_in_the_working_directory(file: Path) -> None:
    artifacts = await asyncio.to_thread(Artifacts.at, "")
    url = await artifacts.publish(THREAD, "result.csv", file)
    assert Path(url) == Path.cwd() / "stepwell-0b6c1f7e" / "result.csv"


async def test_what_a_thread_has_published_is_removed_and_nothing_else(tmp_path: Path, file: Path) -> None:
    other = "0b6c1f7e-1111-0000-0000-000000000000"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("x")
    for destination in (str(tmp_path / "there"), "memory://removing"):
        artifacts = Artifacts.at(destination)
        gone = [await artifacts.publish(THREAD, name, file) for name in ("a.csv", "b/c.csv")]
        kept = await artifacts.publish(other, "a.csv", file)
        if "://" not in destination:
            (tmp_path / "there" / THREAD / "link").symlink_to(tmp_path / "mine")
        await artifacts.remove(THREAD)
        await artifacts.remove(THREAD)
        filesystem, _ = fsspec.url_to_fs(destination)
        assert [filesystem.exists(url) for url in (*gone, artifacts.folder(THREAD), kept)] == [False] * 3 + [True]
    assert (tmp_path / "mine" / "kept").exists()


async def test_a_folder_that_is_a_link_or_a_persons_own_or_no_threads_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("x")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / THREAD).symlink_to(tmp_path / "mine")
    artifacts = Artifacts.at(str(tmp_path / "there"))
    with pytest.raises(StorageError, match="cannot be removed"):
        await artifacts.remove(THREAD)
    for wrong in ("", ".", "..", "../mine", "a/b"):
        with pytest.raises(ValueError, match="not for a program"):
            await artifacts.remove(wrong)
    with pytest.raises(ValueError, match="not for a program"):
        await (await asyncio.to_thread(Artifacts.at, "")).remove(THREAD)
    assert (tmp_path / "mine" / "kept").exists()


async def test_any_fsspec_url_is_a_destination(file: Path) -> None:
    url = await Artifacts.at("memory://bucket/").publish(THREAD, "result.csv", file)
    assert url == f"memory://bucket/{THREAD}/result.csv"
    with fsspec.open(url) as stream:
        assert stream.read() == b"a\n1\n"


@pytest.mark.parametrize("destination", ["{blocked}", "nosuch://bucket", "{full}"])
async def test_a_destination_that_fails_is_one_sentence(tmp_path: Path, file: Path, destination: str) -> None:
    (tmp_path / "blocked").write_text("not a folder")
    where = destination.format(blocked=tmp_path / "blocked", full=tmp_path / "full")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if destination == "{full}":  # a file may not have a second byte: what is written stops short, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        with pytest.raises(StorageError) as failure:
            await Artifacts.at(where).publish(THREAD, "result.csv", file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    if destination == "{full}":
        assert list((tmp_path / "full" / THREAD).iterdir()) == []
    assert "result.csv" in str(failure.value) or "nosuch" in str(failure.value)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("place", ["nosuch://place", "gs://place"])
async def test_users_of_a_server_are_not_told_where_files_go_nor_where_its_python_lies(file: Path, place: str) -> None:
    with pytest.raises(StorageError) as failure:
        await Artifacts.at(place, hidden=True).publish(THREAD, "result.csv", file)
    said = str(failure.value)
    assert said.count("the storage of published files") == 1
    assert not [word for word in ("place", "nosuch", sys.executable) if word in said], said


def test_mime_types_do_not_depend_on_the_machine() -> None:
    assert mime_of("a.PNG") == "image/png"
    assert mime_of("a.parquet") == "application/vnd.apache.parquet"
    assert mime_of("a.md") == "text/markdown"
    assert mime_of("a.unheard") == "application/octet-stream"


async def test_files_that_are_published_at_once_do_not_mix(tmp_path: Path) -> None:
    artifacts = Artifacts.at(str(tmp_path / "out"))
    files = {f"{letter}.bin": tmp_path / letter for letter in "abcd"}
    for name, file in files.items():
        file.write_bytes(name.encode() * 1_000_000)
    await asyncio.gather(*(artifacts.publish("t", name, file) for name, file in files.items()))
    for name, file in files.items():
        assert (tmp_path / "out" / "t" / name).read_bytes() == file.read_bytes()
    assert len(list((tmp_path / "out" / "t").iterdir())) == 4
