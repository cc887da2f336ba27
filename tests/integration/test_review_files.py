"""Files with odd names, the same file twice, many files; and what is published of them."""

import os
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import Failed, Finished, Notice
from graph.settings import Settings
from graph.state import Input
from stepwell.runs import start
from stepwell.threads import read_thread
from tests.analyses import follow, last, only, with_model
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

PLAN = Call("submit_plan", steps=["Do it"])
ENDING: list[Scripted] = [
    Call("submit_answer", answer="Done.", skipped=[]),
    Call("submit_review", good_enough=True, missing=[]),
]


def cell(code: str) -> Call:
    return Call("run_python", purpose="do it", step=1, code=code)


async def inputs_of(thread: str, settings: Settings) -> list[Input]:
    return (await read_thread(thread, settings)).state["inputs"]


async def test_a_file_named_twice_is_taken_once(tmp_path: Path, settings: Settings) -> None:
    for name in ("a b\nc.csv", "空.csv", "-rf.csv", "zero.csv"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text("" if name == "zero.csv" else "a\n1\n")
    Path("in").symlink_to(tmp_path / "in")
    async with ScriptedServer([PLAN, *ENDING]) as server:
        model = with_model(settings, server.base_url)
        files: list[str | os.PathLike[str]] = ["in/zero.csv", "in/../in/zero.csv", Path("in/-rf.csv"), "./in"]
        run = start("Count", files=files, settings=model)
        last(await follow(run), Finished)
    names = ["inputs/zero.csv", "inputs/-rf.csv", "inputs/a b_c.csv", "inputs/空.csv"]
    assert [one["path"] for one in await inputs_of(run.thread, settings)] == names


async def test_one_path_is_a_list_of_one(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    async with ScriptedServer([PLAN, *ENDING]) as server:
        run = start("Count", files=str(tmp_path / "a.csv"), settings=with_model(settings, server.base_url))
        last(await follow(run), Finished)
    assert [one["path"] for one in await inputs_of(run.thread, settings)] == ["inputs/a.csv"]


async def test_a_changed_file_does_not_replace_what_earlier_cells_have_read(tmp_path: Path, settings: Settings) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")

    def told(request: Request) -> Call:
        assert "inputs/a-2.csv is a newer version of inputs/a.csv" in request.text
        return cell("print(first, open('inputs/a-2.csv').read())")

    async with ScriptedServer([PLAN, cell("first = open('inputs/a.csv').read()"), *ENDING, PLAN, told]) as server:
        model = with_model(settings, server.base_url)
        run = start("Count", files=[str(file)], settings=model)
        last(await follow(run), Finished)
        file.write_text("a\n2\n")
        server.script.extend(ENDING)
        last(await follow(start("And now?", files=[str(file)], thread=run.thread, settings=model)), Finished)
    state = (await read_thread(run.thread, settings)).state
    assert state["cells"][-1]["observation"].endswith("a\n1\n a\n2")


async def test_the_empty_name_is_not_the_working_directory(settings: Settings) -> None:
    Path("secret.txt").write_text("x")
    failed = last(await follow(start("Count", files=[""], settings=settings)), Failed)
    assert "name is empty" in failed.error


@pytest.mark.slow
async def test_files_of_the_same_names_as_ours_are_published_beside_them(settings: Settings) -> None:
    code = (
        "import os, matplotlib.pyplot as plt\n"
        "for name in ('answer.md', 'analysis.py', 'answers.csv', 'n' * 250):\n"
        "    open(f'outputs/{name}', 'w').write('mine')\n"
        "os.makedirs('outputs/figures')\nopen('outputs/figures/cell-001-1.png', 'w').write('mine')\n"
        "open('outputs/a\\\\b.txt', 'w').write('mine')\nplt.plot([1, 2])"
    )
    async with ScriptedServer([PLAN, cell(code), *ENDING]) as server:
        run = start("Count", settings=with_model(settings, server.base_url, artifacts=f"file://{settings.artifacts}"))
        finished = last(await follow(run), Finished)
    texts = {one["name"]: Path(one["url"].removeprefix("file://")).read_bytes() for one in finished.artifacts}
    mine = {name for name, content in texts.items() if content == b"mine"}
    assert {name for name in mine if "~" not in name} == {
        "outputs/answer.md",
        "script-analysis.py",
        "answers.csv",
        "outputs/figures/cell-001-1.png",
        "a%5Cb.txt",
    }
    assert len(mine) == 6
    assert texts["answer.md"].startswith(b"# Count\n\nDone.\n\nPublished under other names:\n\n")
    assert texts["figures/cell-001-1.png"].startswith(b"\x89PNG")


async def test_a_file_with_an_unsafe_name_is_published_under_a_safe_one_and_its_own_is_told(settings: Settings) -> None:
    code = (
        "for name in (b'con.csv', b'bad-\\xff.csv', 'invoice\u202egpj.csv'.encode(), b'a.csv', b'A.csv'):\n"
        "    open(b'outputs/' + name, 'wb').write(name)\n"
    )
    async with ScriptedServer([PLAN, cell(code), *ENDING]) as server:
        run = start("Count", settings=with_model(settings, server.base_url))
        events = await follow(run)
    files = {one["name"]: one["url"] for one in last(events, Finished).artifacts if one["name"].endswith(".csv")}
    told = [event.text for event in only(events, Notice) if "every system" in event.text]
    assert {name for name in files if "~" not in name} == {
        "_con.csv",
        "bad-%FF.csv",
        "invoice%E2%80%AEgpj.csv",
        "A.csv",
    }
    assert len(files) == 5
    assert Path(files["bad-%FF.csv"]).read_bytes() == b"bad-\xff.csv"
    assert "outputs/bad-\\udcff.csv is published as bad-%FF.csv, a name that every system takes." in told
    assert (
        "outputs/invoice\\u202egpj.csv is published as invoice%E2%80%AEgpj.csv, a name that every system takes." in told
    )
    assert len(told) == 4


async def test_a_file_that_no_cell_is_known_for_is_published(settings: Settings) -> None:
    async with ScriptedServer([PLAN, cell("open('outputs/a\\u202eb.csv', 'w').close()"), *ENDING]) as server:
        finished = last(await follow(start("Count", settings=with_model(settings, server.base_url))), Finished)
    assert "a%E2%80%AEb.csv" in [one["name"] for one in finished.artifacts]


async def test_what_is_more_than_all_files_together_may_have_is_counted_and_holes_count(settings: Settings) -> None:
    code = (
        "for name, size in (('a.bin', 600), ('b.bin', 600), ('c.bin', 100)):\n"
        "    open('outputs/' + name, 'wb').write(b'x' * size)\n"
        "with open('outputs/sparse.bin', 'wb') as file: file.truncate(5 << 30)\n"
    )
    async with ScriptedServer([PLAN, cell(code), *ENDING]) as server:
        run = start(
            "Count",
            settings=with_model(settings, server.base_url),
            context=Context(max_upload_bytes=1_000, max_artifact_bytes=1 << 40, max_snapshot_bytes=1 << 20),
        )
        events = await follow(run)
    names = [one["name"] for one in last(events, Finished).artifacts]
    assert [name for name in names if name.endswith(".bin")] == ["a.bin", "c.bin"]
    [told] = [event.text for event in only(events, Notice) if "max_upload_bytes" in event.text]
    assert told == (
        "2 files were not published: together the files of an analysis may have 1,000 bytes (max_upload_bytes); "
        "they stay in the workspace."
    )
    [snapshot] = [event.text for event in only(events, Notice) if "has no snapshot" in event.text]
    assert "outputs/sparse.bin" in snapshot


async def test_no_published_file_is_picked_up_by_a_program(settings: Settings) -> None:
    code = (
        "import os\n"
        "for name in ('.env', 'mcp.json', '.git/HEAD', '.git/config', 'conftest.py', 'pandas.py', '-rf', 'Makefile',\n"
        "             'clean.py', 'model.pkl'):\n"
        "    os.makedirs(os.path.dirname('outputs/' + name), exist_ok=True)\n"
        "    open('outputs/' + name, 'w').write('{}')\n"
    )
    answer = Call("submit_answer", answer="See [it](outputs/clean.py). \x1b]owned\x07", skipped=[])
    review = Call("submit_review", good_enough=True, missing=[])
    async with ScriptedServer([PLAN, cell(code), answer, review]) as server:
        events = await follow(start("Count", settings=with_model(settings, server.base_url)))
    artifacts = last(events, Finished).artifacts
    assert {one["name"]: one.get("path", "") for one in artifacts} == {
        "_env.txt": "outputs/.env",
        "_git/HEAD.txt": "outputs/.git/HEAD",
        "_git/file-config.txt": "outputs/.git/config",
        "file-mcp.json": "outputs/mcp.json",
        "script-conftest.py": "outputs/conftest.py",
        "script-pandas.py": "outputs/pandas.py",
        "script-clean.py": "outputs/clean.py",
        "_-rf.txt": "outputs/-rf",
        "Makefile.txt": "outputs/Makefile",
        "model.pkl": "",
        "answer.md": "",
        "analysis.py": "",
    }
    folder = Path(settings.artifacts) / last(events, Finished).thread
    there = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert there == {one["name"] for one in artifacts}
    text = (folder / "answer.md").read_text()
    assert "[it](script-clean.py)" in text
    assert "- `outputs/.env`: `_env.txt`" in text
    assert "\x1b" not in text
    told = "\n".join(notice.text for notice in only(events, Notice))
    assert "outputs/.env is published as _env.txt: programs look for files of its own name, or run them." in told
