"""`stepwell eval` scores what a scripted model answers, goes on after a kill, and says what is wrong with a suite."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evals.runner import thread_of
from graph.settings import Settings
from stepwell.threads import list_threads
from tests.other_process import environment, wait_for_flag
from tests.scripted_model import Call, Plain, Request, ScriptedServer

STEPWELL = str(Path(sys.executable).parent / "stepwell")
SLOW = (
    "import time, pathlib\npathlib.Path('outputs/flag').touch()\n"
    "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)\nprint(7)"
)
FILE = "import pathlib\npathlib.Path('outputs/months.csv').write_text('month,sum\\nMay,3\\nJune,4\\n')\nprint('May 3')"


def suite(folder: Path, *tasks: dict[str, object]) -> Path:
    file = folder / "own.jsonl"
    file.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return file


def evaluating(file: Path, settings: Settings, url: str, *options: str) -> subprocess.Popen[str]:
    command = [STEPWELL, "eval", str(file), "--data", str(file.parent), "--out", str(file.parent / "out"), *options]
    return subprocess.Popen(
        command,
        env=environment(settings, url, STEPWELL_PRICES="1,2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def evaluated(file: Path, settings: Settings, url: str, *options: str) -> tuple[int, str, str]:
    process = evaluating(file, settings, url, *options)
    out, err = await asyncio.to_thread(process.communicate)
    return process.returncode, out, err


def results(file: Path) -> dict[str, dict[str, object]]:
    lines = (file.parent / "out" / "own-scripted" / "results.jsonl").read_text().splitlines()
    return {one["task"]: one for one in map(json.loads, lines)}


def replying(answers: dict[str, str], cells: dict[str, str] | None = None) -> ScriptedServer:
    """A model that runs one cell and gives the answer for the word that its newest question has."""
    ran: set[str] = set()

    def policy(request: Request) -> Plain:
        word = max(answers, key=request.text.rfind)
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        if word not in ran and word in (cells or {}):
            ran.add(word)
            return Call("run_python", purpose="count", step=1, code=(cells or {})[word])
        return Call("submit_answer", answer=answers[word], skipped=[])

    return ScriptedServer(policy=policy)


@pytest.mark.slow
async def test_right_and_wrong_answers_files_and_further_questions_are_scored(
    tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "sales.csv").write_text("month,sales\nMay,3\nJune,4\n")
    file = suite(
        tmp_path,
        {"id": "sum", "question": "Zebra?", "files": ["sales.csv"], "expected": 7},
        {"id": "off", "question": "Walrus?", "files": ["sales.csv"], "expected": 8},
        {"id": "file", "question": "Ostrich?", "expected": {"files": {"months.csv": {"rows": 2}}}},
        {"id": "turns", "question": ["Jackal?", "Badger?"], "expected": [None, "May"]},
    )
    answers = {
        "Zebra": "Seven.\n\nANSWER: 7",
        "Walrus": "ANSWER: 7",
        "Ostrich": "It is there.",
        "Jackal": "Fine.",
        "Badger": "ANSWER: May",
    }
    cells = {"Zebra": "print(7)", "Walrus": "print(7)", "Ostrich": FILE, "Jackal": "print(1)", "Badger": "print('May')"}
    async with replying(answers, cells) as server:
        code, out, err = await evaluated(file, settings, server.base_url)
        asked = len(server.requests)
        again = await evaluated(file, settings, server.base_url)
        scored = results(file)
        report = (tmp_path / "out" / "own-scripted" / "report.md").read_text()
        (delivered,) = Path(settings.artifacts).rglob("months.csv")
        delivered.unlink()
        gone = await evaluated(file, settings, server.base_url)
        assert len(server.requests) == asked
    assert gone[0] == 1
    assert "cannot be scored" in gone[2]
    assert [one["status"] for one in results(file).values()] == ["right", "wrong", "broken off", "right"]
    assert code == 0, err
    assert {one: found["status"] for one, found in scored.items()} == {
        "sum": "right",
        "off": "wrong",
        "file": "right",
        "turns": "right",
    }
    assert scored["off"]["why"] == "expected 8, got 7"
    assert scored["turns"]["cells"] == 2
    assert sum(int(str(one["calls"])) for one in scored.values()) == asked
    assert "right: 3 of 4 (75.0%; 95 % interval 30.1% to 95.4%)" in out
    assert again[:2] == (0, out)
    assert "| off | wrong | expected 8, got 7 |" in report


@pytest.mark.slow
async def test_a_killed_evaluation_goes_on_where_it_was(tmp_path: Path, settings: Settings) -> None:
    tasks: list[dict[str, object]] = [
        {"id": word, "question": f"{word}?", "expected": 7} for word in ("Zebra", "Walrus", "Ostrich")
    ]
    file = suite(tmp_path, *tasks)
    answers = dict.fromkeys(("Zebra", "Walrus", "Ostrich"), "ANSWER: 7")
    async with replying(answers, {"Zebra": "print(7)", "Walrus": SLOW, "Ostrich": "print(7)"}) as server:
        process = evaluating(file, settings, server.base_url)
        try:
            flag = await wait_for_flag(settings)
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.communicate)
        assert list(results(file)) == ["Zebra"]
        assert flag.parts[-4] == thread_of("own-scripted", "Walrus")
        before = len([one for one in server.requests if "Zebra" in one.text])
        (flag.parents[1] / "inputs" / "go").touch()
        code, _, err = await evaluated(file, settings, server.base_url)
        assert len([one for one in server.requests if "Zebra" in one.text]) == before
    assert code == 0, err
    assert [one["status"] for one in results(file).values()] == ["right"] * 3
    threads = await list_threads(settings=settings)
    assert {one.id: (one.status, one.cells) for one in threads} == {
        thread_of("own-scripted", word): ("finished", 1) for word in answers
    }
    suite(tmp_path, tasks[0], {**tasks[1], "question": "Walrus, or another one?"}, tasks[2])
    code, _, err = await evaluated(file, settings, server.base_url)
    assert (code, "was asked something else" in err) == (2, True)
    assert list(results(file)) == ["Zebra", "Walrus", "Ostrich"]


@pytest.mark.slow
async def test_the_questions_are_asked_without_their_files_too(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "sales.csv").write_text("month,sales\nMay,3\nJune,4\n")
    file = suite(
        tmp_path,
        {"id": "sum", "question": "Zebra?", "files": ["sales.csv"], "expected": 7},
        {"id": "bare", "question": "Walrus?", "expected": 7},
    )

    def policy(request: Request) -> Plain:
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        knows = "sales.csv" in request.text or "Walrus" in request.text
        return Call("submit_answer", answer=f"ANSWER: {7 if knows else 'not known'}", skipped=[])

    async with ScriptedServer(policy=policy) as server:
        code, out, err = await evaluated(file, settings, server.base_url, "--without-files")
        other = await evaluated(file, settings, server.base_url, "--name", "own-scripted", "--model", "another")
    assert code == 0, err
    assert out.startswith("right: 2 of 2")
    assert "without files, right: 0 of 1" in out
    assert other[0] == 2
    assert "was begun with the model scripted" in other[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no task"),
        ("{", "Line 1 of"),
        ('{"question": "How many?"}', "needs `expected`"),
        ('{"question": "How many?", "expected": 1, "files": ["gone.csv"]}', "names gone.csv, which is not in"),
        ('{"question": ["a", "b"], "expected": 1}', "as a list of as many"),
        (
            '{"id": 1, "question": "a", "expected": 1}\n{"id": "1", "question": "b", "expected": 1}',
            "of an earlier line",
        ),
        ('{"question": "a", "expected": 1, "tolerances": 2}', "unknown field 'tolerances'"),
        ('{"question": "a", "expected": {"files": {"t.csv": {"sums": ["b"]}}}}', "`sums` of t.csv has to be"),
    ],
)
def test_a_suite_that_cannot_be_used_gets_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    from evals.tasks import load_plain
    from stepwell.errors import UsageError

    (tmp_path / "own.jsonl").write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        load_plain(tmp_path / "own.jsonl", tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
async def test_a_suite_that_is_not_there_is_said_by_the_command(tmp_path: Path, settings: Settings) -> None:
    code, out, err = await evaluated(tmp_path / "gone.jsonl", settings, "http://127.0.0.1:9/v1")
    assert (code, out) == (2, "")
    assert err.startswith("error: The suite ")
    assert len(err.splitlines()) == 1


@pytest.mark.slow
async def test_the_own_suite_is_written_beside_the_results_and_asked(tmp_path: Path, settings: Settings) -> None:
    out = tmp_path / "out"
    async with replying({"How many orders": "ANSWER: 1200"}) as server:
        process = subprocess.Popen(
            [STEPWELL, "eval", "own", "--out", str(out)],
            env=environment(settings, server.base_url),
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            said = await asyncio.to_thread(process.stderr.readline) if process.stderr else ""
        finally:
            process.kill()
            await asyncio.to_thread(process.communicate)
    assert said == "orders-count: right\n"
    assert len((out / "own-suite" / "own.jsonl").read_text().splitlines()) == 96
    first = json.loads((out / "own-scripted" / "results.jsonl").read_text().splitlines()[0])
    assert (first["task"], first["status"]) == ("orders-count", "right")
