"""Bad input gives one clear sentence and an exit code, and loses nothing; what is readable is still analysed."""

import json
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, Finished, InputTaken, Notice
from graph.settings import Settings, SettingsError
from stepwell.runs import Decision, resume, start
from stepwell.threads import list_threads, read_thread
from tests import profiled_files
from tests.analyses import follow, last, only, with_model, write_sales
from tests.integration.test_command import Desk, desk  # noqa: F401 - the fixture
from tests.scripted_model import ScriptedServer, bad_key, unknown_model
from tests.scripted_replies import Call, Scripted

UNREACHABLE = "http://127.0.0.1:9/v1"


def sentence(stderr: str) -> str:
    """The line that says what is wrong; there is no traceback."""
    assert "Traceback" not in stderr
    lines = [line for line in stderr.splitlines() if line.strip()]
    assert lines, "nothing was said"
    return " ".join(lines)


@pytest.mark.parametrize(
    ("words", "variables", "code", "says"),
    [
        (("missing.csv",), {}, 2, "missing.csv"),
        (("nothing-*.csv",), {}, 2, "nothing-*.csv"),
        (("gopher://example.org/x.csv",), {}, 2, "gopher://"),
        (("http://127.0.0.1:9/x.csv",), {}, 1, "http://127.0.0.1:9/x.csv cannot be fetched"),
        (("s3://bucket/x.csv",), {}, 1, "s3://bucket/x.csv"),
        (("sales.csv",), {"OPENAI_BASE_URL": UNREACHABLE, "STEPWELL_MODEL": "m"}, 1, "OPENAI_BASE_URL"),
        (("sales.csv",), {"STEPWELL_MODEL": "gpt-5.4"}, 2, "OPENAI_API_KEY"),
        (("sales.csv",), {"STEPWELL_MODEL": "anthropic:claude"}, 2, "langchain-anthropic"),
        (("sales.csv",), {"STEPWELL_PYTHON": "/no/such/python"}, 1, "STEPWELL_PYTHON"),
        (("sales.csv",), {"STEPWELL_MODEL_TIMEOUT": "soon"}, 2, "STEPWELL_MODEL_TIMEOUT"),
        (("sales.csv", "--sandbox", "moon"), {}, 2, "moon"),
        (("sales.csv", "--artifacts", "sales.csv"), {}, 1, "STEPWELL_ARTIFACTS"),
    ],
)
@pytest.mark.slow
def test_the_command_says_what_is_wrong(
    desk: Desk,  # noqa: F811 - the fixture
    words: tuple[str, ...],
    variables: dict[str, str],
    code: int,
    says: str,
) -> None:
    desk.variables.update({"STEPWELL_MODEL_RETRIES": "0", **variables})
    done = desk.command("run", "What is there?", *words)
    assert says in sentence(done.stderr)
    assert done.stderr.count("cannot be fetched") == int("://" in words[0])
    assert done.returncode == code, done.stderr


@pytest.mark.slow
def test_a_data_folder_that_cannot_be_used_is_one_sentence(desk: Desk) -> None:  # noqa: F811 - the fixture
    desk.home.write_text("a file where the folder should be")
    for words in (("run", "What?", "sales.csv"), ("threads",), ("show", "last")):
        done = desk.command(*words)
        assert "STEPWELL_HOME" in sentence(done.stderr)
        assert done.returncode in (1, 2)


def test_checkpoints_that_are_no_database_are_one_sentence(desk: Desk) -> None:  # noqa: F811 - the fixture
    desk.home.mkdir()
    (desk.home / "threads.sqlite").write_text("not a database " * 100)
    done = desk.command("threads")
    assert "threads.sqlite" in sentence(done.stderr)
    assert done.returncode in (1, 2)


@pytest.mark.slow
async def test_a_refused_key_and_an_unknown_model_leave_a_thread_that_resumes(desk: Desk) -> None:  # noqa: F811
    async with ScriptedServer([bad_key("sk-wrong"), unknown_model("gpt-0")]) as server:
        desk.variables.update(
            {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-wrong", "STEPWELL_MODEL": "gpt-0"}
        )
        first = desk.command("run", "What?", "sales.csv")
        second = desk.command("run", "What?", "sales.csv")
    assert first.returncode == second.returncode == 1
    assert "OPENAI_API_KEY" in sentence(first.stderr)
    assert "sk-wrong" not in first.stderr
    assert "STEPWELL_MODEL" in sentence(second.stderr)
    assert "stepwell resume" in first.stderr
    desk.variables.clear()
    resumed = desk.command("resume", "last", "--model", "playbook", "--quiet")
    assert resumed.returncode == 0, resumed.stderr
    assert "playbook" in resumed.stdout


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        (Context(model="gpt-5.4"), "OPENAI_API_KEY"),
        (Context(model="anthropic:claude"), "langchain-anthropic"),
        (Context(model="playbook", max_cost=1.0), "STEPWELL_PRICES"),
        (Context(model="playbook", sandbox="daytona"), "DAYTONA_API_KEY"),
    ],
)
async def test_what_cannot_work_as_things_are_set_begins_no_thread(
    settings: Settings, knobs: Context, says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        await follow(start("What is there?", context=knobs, settings=settings))
    assert await list_threads(settings=settings) == []


@pytest.mark.slow
async def test_what_is_readable_is_analysed_and_the_rest_is_named(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    good = write_sales(folder / "sales.csv")
    bad = [
        profiled_files.empty_file(folder),
        profiled_files.truncated_workbook(folder),
        profiled_files.protected_workbook(folder),
        profiled_files.login_workbook(folder),
        profiled_files.binary_file(folder),
    ]
    lying = profiled_files.html_workbook(folder)
    files = [str(path) for path in (*bad, lying, good)]
    events = await follow(start("What is there?", files=[*files, str(folder / "missing.csv")], settings=settings))
    inputs = {event.input["source"]: event.input for event in only(events, InputTaken)}
    for path in bad:
        problem = inputs[str(path)]["problem"]
        assert problem, path
        assert "\n" not in problem
    assert inputs[str(good)]["problem"] == inputs[str(lying)]["problem"] == ""
    assert "HTML" in inputs[str(lying)]["abstract"]
    assert any("missing.csv does not exist" in event.text for event in only(events, Notice))
    finished = last(events, Finished)
    assert "60" in finished.answer
    assert all(event.cell["status"] == "ok" for event in only(events, CellFinished)[-1:])


@pytest.mark.parametrize(
    "maker",
    [
        "german_csv",
        "workbook",
        "parquet_file",
        "sqlite_file",
        "zip_of_two",
        *(
            pytest.param(maker, marks=pytest.mark.slow)  # the profiler's tests read each
            for maker in (
                "gbk_csv",
                "utf16_csv",
                "quoted_newlines_csv",
                "wide_csv",
                "biff2_workbook",
                "json_lines",
                "pdf_file",
            )
        ),
    ],
)
async def test_each_kind_of_file_goes_through_the_whole_graph(tmp_path: Path, settings: Settings, maker: str) -> None:
    file = getattr(profiled_files, maker)(tmp_path)
    events = await follow(start("What is there?", files=[str(file)], settings=settings))
    finished = last(events, Finished)
    (taken,) = only(events, InputTaken)
    assert taken.input["problem"] == ""
    assert len(taken.input["abstract"]) <= 2_000
    assert finished.cells > 0
    assert finished.concerns == [], finished.answer
    state = (await read_thread(finished.thread, settings)).state
    assert json.dumps(state["cells"])
    statuses = [cell["status"] for cell in state["cells"]]
    assert statuses[-1] == "ok"
    assert statuses.count("ok") >= len(statuses) - 2


@pytest.mark.parametrize("works", [False, True])
async def test_a_turn_that_is_resumed_knows_that_none_of_its_files_could_be_read(
    tmp_path: Path, settings: Settings, works: bool
) -> None:
    """What the run before its pause was told of the files counts, and so does a cell that succeeded after it."""
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 and no more")
    cell = [Call("run_python", purpose="look", code="print(1)")] if works else []
    script: list[Scripted] = [
        Call("submit_plan", steps=["Look"]),
        *cell,
        Call("submit_answer", answer="It is broken.", skipped=[]),
    ]
    context = Context(review="never", approve_plan=True)
    async with ScriptedServer(script) as model:
        asked = with_model(settings, model.base_url)
        run = start("What is in it?", files=[tmp_path / "broken.xlsx"], settings=asked, context=context)
        waits = last(await follow(run), ApprovalAsked)
        events = await follow(resume(waits.thread, decision=Decision("approve"), settings=asked))
    assert last(events, Finished).none_read is not works


async def test_files_that_cannot_be_had_or_read_are_named_to_the_model_and_with_the_answer(
    tmp_path: Path, settings: Settings
) -> None:
    write_sales(tmp_path / "sales.csv")
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 and no more")
    files = [tmp_path / "sales.csv", tmp_path / "gone.csv", tmp_path / "broken.xlsx"]
    done = [Call("submit_answer", answer="It holds sales.", skipped=[])]
    script: list[Scripted] = [*done, Call("submit_review", good_enough=True, missing=[]), *done]
    async with ScriptedServer(script) as model:
        asked = with_model(settings, model.base_url)
        finished = last(await follow(start("What do these hold?", files=files, settings=asked)), Finished)
        told = str(model.requests[0])
        state = (await read_thread(finished.thread, asked)).state
        further = start("And now?", thread=finished.thread, settings=asked, context=Context(review="never"))
        again = last(await follow(further), Finished)
    assert "gone.csv does not exist" in told
    assert "Cannot be read" in told
    assert [said.partition(":")[0] for said in finished.concerns] == [
        "Not taken in",
        "inputs/broken.xlsx cannot be read",
    ]
    assert "gone.csv" in finished.concerns[0]
    assert state["unread"] == finished.concerns
    assert again.concerns == []
