"""Inputs come from where the user says, or one sentence says why not."""

import asyncio
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.cli.command_options import named_files
from storage.inputs import InputError, InputSource, is_url, without_password
from storage.safe_names import safe_input_name, unused_name


@pytest.fixture
def website(tmp_path: Path) -> Iterator[str]:
    """A web server with two files."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sales data.csv").write_text("a,b\n1,2\n")
    (folder / "large.bin").write_bytes(b"x" * 3_000_000)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_local_file_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("a\n1\n")
    async with InputSource().fetch(str(file)) as brought:
        assert (brought.file, brought.name, brought.size) == (file, "sales.csv", 4)
        assert len(brought.sha256) == 64


async def test_a_folder_and_a_glob_stand_for_their_files(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "deep/c.txt", ".hidden", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    source = InputSource()
    assert [Path(file).name for file in await source.expand(str(tmp_path))] == ["a.csv", "b.csv", "c.txt"]
    assert [Path(file).name for file in await source.expand(f"{tmp_path}/*.csv")] == ["a.csv", "b.csv"]
    assert [Path(file).name for file in await source.expand(f"{tmp_path}/**/*.txt")] == ["c.txt"]


async def test_a_url_is_fetched_into_a_temporary_file(website: str) -> None:
    async with InputSource().fetch(f"{website}/sales%20data.csv?token=secret") as brought:
        assert brought.name == "sales data.csv"
        assert await asyncio.to_thread(brought.file.read_text) == "a,b\n1,2\n"
        assert brought.source == f"{website}/sales%20data.csv"
    assert not brought.file.exists()


async def bring_all(source: InputSource, spec: str) -> None:
    for file in await source.expand(spec):
        async with source.fetch(file):
            pass


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("missing.csv", "does not exist"),
        ("*.nothing", "matches no files"),
        ("empty-folder", "holds no files"),
        ("file:///etc/passwd", "cannot be fetched"),
        ("zip://x.csv::http://example.org/a.zip", "cannot be fetched"),
        ("memory://x", "cannot be fetched"),
        ("http://127.0.0.1:9/x.csv", "cannot be fetched"),
        ("{website}/nothing.csv", "does not exist"),
        ("{website}/large.bin", "larger than"),
    ],
)
async def test_what_cannot_be_had_is_one_sentence(website: str, spec: str, words: str) -> None:
    Path("empty-folder").mkdir()
    source = InputSource(max_bytes=2_000_000)
    with pytest.raises(InputError) as failure:
        await bring_all(source, spec.format(website=website))
    assert words in str(failure.value)
    assert "\n" not in str(failure.value)


async def test_a_large_local_file_and_a_folder_in_its_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100)
    for spec, words in ((tmp_path / "large", "STEPWELL_MAX_INPUT_BYTES"), (tmp_path, "not a regular file")):
        with pytest.raises(InputError, match=words):
            async with InputSource(max_bytes=10).fetch(str(spec)):
                pass


async def test_a_server_takes_only_what_lies_below_its_roots(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.csv").write_text("x")
    (inside / "link.csv").symlink_to(outside / "a.csv")
    source = InputSource(roots=(inside,))
    assert len(await source.expand(str(inside / "a.csv"))) == 1
    for spec in (outside / "a.csv", outside / "missing.csv", f"{inside}/../outside/a.csv", f"{outside}/*.csv"):
        with pytest.raises(InputError, match="lies outside"):
            await source.expand(str(spec))
    with pytest.raises(InputError, match="lies outside"):
        async with source.fetch(str(inside / "link.csv")):
            pass


def test_passwords_are_not_remembered() -> None:
    assert without_password("https://me:secret@example.org/a.csv?sig=1#x") == "https://example.org/a.csv"
    assert without_password("data/a.csv") == "data/a.csv"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("sales.csv", "sales.csv"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ('a<b>:"c|d?.csv', "a_b___c_d_.csv"),
        ("line\nbreak\x00.csv", "line_break_.csv"),
        ("销售.csv", "销售.csv"),
        ("...", "input"),
    ],
)
def test_names_are_safe_everywhere(name: str, safe: str) -> None:
    assert safe_input_name(name) == safe


def test_long_names_fit() -> None:
    assert len(safe_input_name("売" * 300 + ".csv").encode()) < 200
    assert safe_input_name("売" * 300 + ".csv").endswith(".csv")


def test_a_second_file_of_the_same_name_gets_a_number() -> None:
    assert unused_name("a.csv.gz", {"A.csv.gz", "a-2.csv.gz"}) == "a-3.csv.gz"
    assert unused_name("a.csv", set()) == "a.csv"


def test_a_windows_drive_and_a_plain_path_are_no_urls() -> None:
    assert not is_url("data/a.csv")
    assert not is_url("C:\\data\\a.csv")
    assert is_url("s3://bucket/a.csv")


@pytest.mark.parametrize("spec", ["", "  ", "~nobody-of-that-name/a.csv", "x" * 5_000, "a\0b"])
async def test_a_name_that_cannot_be_looked_at_is_one_sentence(spec: str) -> None:
    with pytest.raises(InputError) as failure:
        await InputSource().expand(spec)
    assert len(str(failure.value)) < 400


async def test_a_folder_and_a_glob_do_not_follow_links_out_of_themselves_and_say_which(tmp_path: Path) -> None:
    data, home = tmp_path / "data", tmp_path / "home"
    for folder in (data / "deep", home / "keys"):
        folder.mkdir(parents=True)
    (home / "keys" / "id_ed25519").write_text("PRIVATE")
    (data / "a.csv").write_text("x")
    (data / "deep" / "b.txt").write_text("x")
    (data / "inside.csv").symlink_to(data / "a.csv")
    (data / "readme.csv").symlink_to(home / "keys" / "id_ed25519")
    (data / "deep" / "up.txt").symlink_to("../../home/keys/id_ed25519")
    (data / "folder").symlink_to(home / "keys")
    (tmp_path / "link").symlink_to(data)
    for spec, kept, links in (
        (data, ["a.csv", "b.txt", "inside.csv"], {"readme.csv", "up.txt"}),
        (tmp_path / "link", ["a.csv", "b.txt", "inside.csv"], {"readme.csv", "up.txt"}),
        (f"{data}/*.csv", ["a.csv", "inside.csv"], {"readme.csv"}),
        (f"{data}/**/*", ["a.csv", "b.txt", "inside.csv"], {"readme.csv", "up.txt"}),
    ):
        left_out: list[str] = []
        found = await InputSource().expand(str(spec), left_out)
        assert sorted(Path(file).name for file in found) == kept
        assert {Path(file).name for file in left_out} - {"id_ed25519"} == links
    with pytest.raises(InputError, match=r"left out, since links lead out of the folder: readme\.csv"):
        await InputSource().expand(f"{data}/read*.csv")
    assert await InputSource().expand(str(data / "readme.csv")) == [str(data / "readme.csv")]


def test_a_glob_of_the_command_line_does_not_follow_links_out_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("PRIVATE")
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.csv").write_text("x")
    (data / "b.csv").symlink_to(tmp_path / "key")
    assert named_files([f"{data}/*.csv"]) == [str(data / "a.csv")]
    assert "links lead out of the folder: b.csv" in capsys.readouterr().err
