"""The real command, as people start it: in pipes, in terminals, with signals; answered by the built-in playbook."""

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer

from graph.events import Finished, Planned, read_event
from stepwell.cli.exits import FINISHED, UNREAD
from stepwell.cli.help_groups import GROUPS
from stepwell.cli.run import asked
from stepwell.command import COMMANDS as LISTED
from tests.prepared_command import PREPARED

COMMANDS = (
    *("run", "chat", "ask", "resume", "fork", "shell", "diff", "replay", "mcp", "acp", "ui"),
    *("threads", "show", "log", "delete", "gc", "doctor", "trust", "rename", "tag"),
)
HEAVY = ("langgraph", "langchain_core", "pandas", "numpy", "pydantic_settings", "rich.live")
PATIENCE = 240.0
WAITING = re.compile("poll|select|wait_woken|n_tty")
"""Where the kernel has a process that waits for a terminal."""
COMMAND = [sys.executable, "-c", "from stepwell.command import main; main()"]

pytestmark = [pytest.mark.xdist_group("command"), pytest.mark.timeout(300)]


@dataclass
class Desk:
    """A working directory with sample data, and a data folder of its own."""

    folder: Path
    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
        paths = {"PYTHONPATH": str(Path(__file__).parents[2]), "STEPWELL_HOME": str(self.home)}
        return {**kept, **paths, "COLUMNS": "100", "TERM": "xterm-256color", **self.variables}

    def command(self, *words: str, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        return PREPARED.run(words, cwd=self.folder, env=self.environment, timeout=patience)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def events(self, *words: str) -> list[dict[str, object]]:
        done = self.command(*words, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def make_desk(folder: Path) -> Desk:
    rows = ["date,region,amount"]
    rows += [f"2024-{1 + n % 12:02}-{1 + n % 28:02},{'NESW'[n % 4]},{100 + n * 7 % 50}.5" for n in range(300)]
    (folder / "sales.csv").write_text("\n".join(rows) + "\n")
    return Desk(folder, folder / "home")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@dataclass(frozen=True)
class FinishedThread:
    desk: Desk
    id: str
    events: list[dict[str, object]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedThread:
    desk = make_desk(tmp_path_factory.mktemp("finished"))
    events = desk.events("run", "What does this table hold?", "sales.csv")
    return FinishedThread(desk, str(events[0]["thread"]), events)


class Terminal:
    """The command in a pseudo-terminal, and what it has written to it.

    It is not forked: tests run beside the threads of their model, and what a fork of such a process does before it
    becomes the command may wait for ever for a lock that one of them held.
    """

    def __init__(self, desk: Desk, *words: str) -> None:
        self.written = ""
        self._file, line = pty.openpty()
        name = os.ttyname(line)
        # Opened by the leader of a session that has none, the line becomes its terminal, and Ctrl-C reaches it.
        opened: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0)]
        opened += [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        program = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(desk.folder), *COMMAND, *words]
        self.pid = os.posix_spawn(program[0], program, desk.environment, file_actions=opened, setsid=True)
        os.close(line)

    def wait_for(self, pattern: str) -> None:
        """Read until what was written since the last time matches."""
        until = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.plain, re.DOTALL)):
            assert time.monotonic() < until, f"{pattern!r} did not come; there was: {self.plain!r}"
            assert self._read(), f"{pattern!r} did not come before the end; there was: {self.plain!r}"
        self.written = self.plain[match.end() :]

    @property
    def plain(self) -> str:
        """What was written since the last match, without colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", self.written)

    def press(self, keys: str) -> None:
        os.write(self._file, keys.encode())

    def exit_code(self) -> int:
        """Read to the end; what was written since the last match is in `written`."""
        while self._read():
            pass
        os.close(self._file)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        ready, _, _ = select.select([self._file], [], [], PATIENCE)
        assert ready, f"nothing came for {PATIENCE} s; there was: {self.plain!r}; {self._doing()}"
        try:
            data = os.read(self._file, 65_536)
        except OSError:  # Linux reports the end of a terminal as an input/output error
            return False
        self.written += data.decode(errors="replace")
        return bool(data)

    def wait_until_it_reads(self) -> None:
        """Wait until it waits for what is typed: Python loses a signal that comes between a prompt and reading."""
        seen = 0
        while seen < 2:
            try:
                seen = seen + 1 if WAITING.search(Path(f"/proc/{self.pid}/wchan").read_text()) else 0
            except OSError:  # no Linux
                time.sleep(0.5)
                return
            time.sleep(0.01)

    def _doing(self) -> str:
        """What the command is at, for whoever reads of a test that waited for nothing."""
        try:
            said = [Path(f"/proc/{self.pid}/{name}").read_text() for name in ("cmdline", "stat", "wchan")]
        except OSError as error:
            return f"process {self.pid}: {error}"
        return f"process {self.pid}: {said!r}; load {os.getloadavg()}"


def thread_in(text: str) -> str:
    match = re.search(r"\b[0-9a-f]{8}((-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b", text)
    assert match, text
    return match[0]


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)])
def test_help_is_plain_in_a_pipe_and_imports_nothing_heavy(words: tuple[str, ...], desk: Desk) -> None:
    program = (
        "import sys\nfrom stepwell.command import main\ntry:\n    main()\nfinally:\n"
        f"    print('HEAVY', [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words, "--help"], env=desk.environment, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr == "HEAVY []\n"
    assert "Usage: stepwell" in done.stdout
    assert not re.search(r"[\x1b│╭]", done.stdout)
    assert "{" not in done.stdout.partition("\n\n")[0]  # what must be given is named as it is


@pytest.mark.slow
def test_the_help_says_where_code_runs(desk: Desk) -> None:
    told = desk.command("--help").stdout
    assert not re.search(r"\w\.\.\.$", told, re.MULTILINE), "a command's summary is cut off"
    text = " ".join(told.split())
    assert "runs in a sandbox of its own: no network unless --network opens it" in text
    assert "stepwell doctor" in text
    assert all(f" {name} " in text for name in COMMANDS)


@pytest.mark.slow
def test_standard_streams_that_are_closed_are_no_error(desk: Desk) -> None:
    script = 'exec "$@" <&- >&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *COMMAND, "threads"], env=desk.environment, stderr=subprocess.PIPE, text=True
    )
    assert (done.returncode, done.stderr.partition(";")[0]) == (0, "There are no threads yet")


@pytest.mark.slow
def test_every_command_is_in_a_group_of_the_help_and_has_an_example(desk: Desk) -> None:
    text = desk.command("--help").stdout
    headings = re.findall(r"^([A-Z][a-z ]+):$", text, re.MULTILINE)
    assert headings == ["Options", *GROUPS]
    listed = set(re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE))
    assert listed == set(LISTED)
    for name, command in LISTED.items():
        parts = (
            [info.callback for info in command.registered_commands] if isinstance(command, typer.Typer) else [command]
        )
        for part in parts:
            assert re.search(r"^ +Example(:|, )", part.__doc__ or "", re.MULTILINE), (name, part)


@pytest.mark.slow
def test_the_shell_completes_commands_threads_and_options(finished: FinishedThread) -> None:
    desk = finished.desk
    desk.command("rename", "last", "sales-of-May")

    def offered(*words: str, shell: str = "bash") -> list[str]:
        variables = {"_STEPWELL_COMPLETE": f"complete_{shell}", "COMP_CWORD": str(len(words))}
        line = {"COMP_WORDS": " ".join(("stepwell", *words)), "_TYPER_COMPLETE_ARGS": " ".join(("stepwell", *words))}
        done = PREPARED.run((), cwd=desk.folder, env={**desk.environment, **variables, **line})
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split("\n" if shell == "bash" else None)

    assert [word for word in offered("sh") if word] == ["show", "shell"]
    assert [word for word in offered("show", "") if word] == ["last", "sales-of-May"]
    assert [word for word in offered("fork", finished.id[:3]) if word] == [finished.id[:8]]
    assert "--approve" in offered("run", "--app")
    assert [word for word in offered("run", "--network", "f") if word] == ["full"]
    assert "sales-of-May" in " ".join(offered("show", "sal", shell="zsh"))
    desk.command("rename", "last", "--remove")
    (desk.folder / "other").mkdir()
    broken = Desk(desk.folder, desk.folder / "other", {"STEPWELL_PRICES": "many"})
    done = subprocess.run(
        COMMAND,
        env={
            **broken.environment,
            "_STEPWELL_COMPLETE": "complete_bash",
            "COMP_WORDS": "stepwell show ",
            "COMP_CWORD": "2",
        },
        cwd=desk.folder,
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.stderr) == ("", ""), "nothing is written into the line that is typed"


@pytest.mark.slow
def test_completion_is_installed_and_works_in_bash(finished: FinishedThread) -> None:
    desk = finished.desk
    folder = desk.folder / "bin"
    folder.mkdir()
    command = folder / "stepwell"
    command.write_text(f"#!{sys.executable}\n{COMMAND[2]}\n".replace("; ", "\n"))
    command.chmod(0o755)
    program = (
        'eval "$(stepwell --show-completion bash)"; COMP_WORDS=(stepwell show la); COMP_CWORD=2; '
        'declare -F; _stepwell_completion stepwell; echo "${COMPREPLY[@]}"'
    )
    environment = {**desk.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", program], env=environment, cwd=desk.folder, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "last", done.stderr


def test_help_on_a_terminal(desk: Desk) -> None:
    terminal = Terminal(desk, "run", "--help")
    assert terminal.exit_code() == 0
    assert "--cell-timeout" in terminal.plain


def test_the_version(desk: Desk) -> None:
    assert re.fullmatch(r"stepwell \d+\.\d+\.\d+\n", desk.command("--version").stdout)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "q", "missing.csv"), "missing.csv does not exist"),
        (("run", "q", "*.parquet"), "No file matches *.parquet"),
        (("run", "  "), "The question is empty"),
        (("run", "q", "--json", "--quiet"), "--json and --quiet"),
        (("run", "q", "--max-cells", "0"), "--max-cells"),
        (("run",), "QUESTION"),
        (("nonsense",), "nonsense"),
        (("ask", "abcd1234", "q"), "No thread is called abcd1234"),
        (("show", "abc"), "too short"),
        (("show", "last"), "no threads yet"),
        (("log", "last"), "no threads yet"),
        (("resume", "abcd1234"), "No thread is called abcd1234"),
        (("resume", "abcd1234", "--edit", "missing.py"), "missing.py cannot be read"),
        (("resume", "abcd1234", "--approve-cell", "--reject", "x"), "only one of"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(words: tuple[str, ...], says: str, desk: Desk) -> None:
    done = desk.command(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert not list(desk.folder.glob("stepwell-*")), "nothing was started"


def test_a_wrong_setting_is_one_sentence(desk: Desk) -> None:
    desk.variables = {"STEPWELL_MODEL_TIMEOUT": "soon"}
    done = desk.command("run", "q", "sales.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: STEPWELL_MODEL_TIMEOUT")
    assert done.stderr.count("\n") == 1


def test_no_threads_yet(desk: Desk) -> None:
    done = desk.command("threads")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no threads yet" in done.stderr


def test_an_answer_about_files_that_could_not_be_read_ends_with_4_and_a_further_one_does_not(desk: Desk) -> None:
    (desk.folder / "a.pdf").write_bytes(b"")
    asked = desk.command("run", "What is in it?", "a.pdf")
    assert asked.returncode == UNREAD, asked.stderr
    assert desk.command("show", "last").returncode == FINISHED
    further = desk.command("ask", "last", "How many days has a week?")
    assert further.returncode == FINISHED, further.stderr


def test_json_is_one_readable_event_a_line(finished: FinishedThread) -> None:
    kinds = [event["event"] for event in finished.events]
    assert kinds[0] == "started"
    assert kinds[-1] == "finished"
    assert finished.events[0]["model"] == finished.events[-1]["model"] == "playbook"
    assert {"plan", "cell_started", "cell_finished", "published"} <= set(kinds)
    assert {event["thread"] for event in finished.events} == {finished.id}
    last = read_event(finished.events[-1])
    assert isinstance(last, Finished)
    assert last.answer
    assert {"answer.md", "analysis.py"} <= {artifact["name"] for artifact in last.artifacts}
    plan = next(event for event in finished.events if event["event"] == "plan")
    assert isinstance(read_event({key: plan[key] for key in plan if key != "thread"}), Planned)


def test_the_answer_goes_to_stdout_and_progress_to_stderr(desk: Desk) -> None:
    done = desk.command("run", "What does this table hold?", "sales.csv", "--artifacts", "out")
    assert done.returncode == 0, done.stderr
    answer, files = done.stdout.split("Files:")
    assert len(answer) > 100
    places = re.findall(r"^- (.+) \(", files, re.MULTILINE)
    assert places
    assert all((desk.folder / place).is_file() and place.startswith("out/") for place in places)
    thread = thread_in(done.stderr)
    assert done.stderr.startswith(f"thread {thread}: What does this table hold?")
    assert "\nmodel playbook\n" in done.stderr
    assert re.search(r"^cell 1 ok, ", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.slow
def test_quiet_says_nothing_but_the_answer(finished: FinishedThread) -> None:
    done = finished.desk.command("ask", finished.id[:8], "And once more?", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""
    shown = finished.desk.command("show", finished.id)
    assert "Earlier questions:\n- What does this table hold?" in shown.stdout


@pytest.mark.slow
def test_threads_are_listed_and_found_by_their_beginning(finished: FinishedThread) -> None:
    row = finished.desk.command("threads").stdout.splitlines()[0].split("\t")
    assert row[:2] == [finished.id, "finished"]
    (line,) = finished.desk.command("threads", "--limit", "1", "--json").stdout.splitlines()
    assert json.loads(line)["thread"] == finished.id
    first = finished.desk.command("threads", "--limit", "1")
    assert len(first.stdout.splitlines()) == 1
    assert ("--limit NUMBER lists more" in first.stderr) is (finished.desk.command("threads").stdout.count("\n") > 1)
    for name in (finished.id, finished.id[:4], "last"):
        shown = finished.desk.command("show", name)
        assert shown.stdout.startswith(f"thread {finished.id}\nfinished"), shown.stderr
        for part in ("✓ 1.", "Files:", "no language model was asked", f"stepwell ask {finished.id[:8]}"):
            assert part in shown.stdout


def test_show_gives_json(finished: FinishedThread) -> None:
    data = json.loads(finished.desk.command("show", "last", "--json").stdout)
    assert (data["thread"], data["status"], data["next"]) == (finished.id, "finished", [])
    assert data["answer"]
    assert data["plan"]
    assert data["artifacts"]


@pytest.mark.slow
def test_the_log_tells_each_step(finished: FinishedThread) -> None:
    rows = [line.split("\t") for line in finished.desk.command("log", "last").stdout.splitlines()]
    assert [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
    assert rows[0][1] == "ok"
    assert any("figures/" in row[4] for row in rows)
    cells = [json.loads(line) for line in finished.desk.command("log", "last", "--json").stdout.splitlines()]
    assert [cell["number"] for cell in cells] == list(range(1, len(rows) + 1))
    with_code = finished.desk.command("log", "last", "--code").stdout
    assert all(f"    {line}\n" in with_code for cell in cells for line in cell["code"].split("\n"))
    assert "\n  | " in with_code


@pytest.mark.slow
@pytest.mark.parametrize("words", [("threads",), ("show", "last"), ("log", "last", "--code")])
def test_tables_on_a_terminal(words: tuple[str, ...], finished: FinishedThread) -> None:
    terminal = Terminal(finished.desk, *words)
    assert terminal.exit_code() == 0
    assert finished.id[:8] in terminal.written or words[0] == "log"
    assert "Traceback" not in terminal.written


def test_a_finished_thread_cannot_be_resumed(finished: FinishedThread) -> None:
    done = finished.desk.command("resume", "last")
    assert done.returncode == 2
    assert "is finished; ask on with" in done.stderr


@pytest.mark.slow
def test_room_is_made_by_gc_and_delete(desk: Desk) -> None:
    assert desk.command("run", "What stands out?", "sales.csv", "--quiet").returncode == 0
    counted = desk.command("gc", "--dry-run", "--grace", "0")
    assert counted.stdout.startswith("would remove 0 blobs (0 B); "), counted.stdout
    assert desk.command("gc").stdout.startswith("removed 0 blobs")
    limits = ("--keep-last", "1", "--older-than", "30d", "--budget", "20GB")
    rules = desk.command("gc", "--dry-run", "--grace", "0", *limits)
    lines = rules.stdout.splitlines()
    assert re.fullmatch(r"would remove [1-9]\d* blobs? \(.+\); \d+ blobs \(.+\) kept", lines[0])
    assert re.fullmatch(r"would give up [1-9]\d* snapshots?", lines[1])
    assert re.fullmatch(r"  keep last 1: [1-9]\d* snapshots?, .+ by itself", lines[2])
    assert lines[3:] == ["  older than 30d: 0 snapshots, 0 B by itself", "  budget 20GB: 0 snapshots, 0 B by itself"]
    young = desk.command("gc", "--keep-last", "1")
    assert young.stdout.splitlines()[-1].endswith("younger than 1 h 00 min stayed (--grace)")
    gone = desk.command("gc", "--grace", "0", "--keep-last", "1")
    assert gone.stdout.splitlines()[1] == lines[1].replace("would give up", "gave up")
    assert "given up on" in desk.command("log", "last").stdout.splitlines()[0]
    assert json.loads(desk.command("log", "last", "--json").stdout.splitlines()[0])["given_up"]["rule"] == "keep last 1"
    assert "was given up on" in desk.command("show", "last@1").stdout
    thread = desk.command("threads").stdout.split("\t")[0]
    done = desk.command("delete", thread[:8])
    assert done.stdout.startswith(f"deleted thread {thread}; removed "), done.stderr
    assert "removed 0 blobs" not in done.stdout
    assert [file for file in (desk.home / "blobs").glob("??/*") if file.is_file()] == []
    gone = desk.command("delete", thread)
    assert gone.returncode == 2
    assert "no id begins so" in gone.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--older-than", "30", "'30' is no age: write a number and its unit, such as 30d, 12h or 90min."),
        ("--budget", "20 elephants", "'20 elephants' is no size: write a number and its unit, such as 20GB or 500MB."),
    ],
)
def test_amounts_that_are_none_are_refused_in_one_sentence(desk: Desk, option: str, value: str, said: str) -> None:
    done = desk.command("gc", option, value)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(said)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("log", "last", "--code"),
        *(pytest.param(words, marks=pytest.mark.slow) for words in (("show", "last"), ("threads", "--json"))),
    ],
)
def test_a_closed_pipe_is_no_error(words: tuple[str, ...], finished: FinishedThread) -> None:
    with finished.desk.start(*words) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(PATIENCE) == 141


@pytest.mark.slow
def test_a_run_whose_reader_left_can_be_resumed(desk: Desk) -> None:
    with desk.start("run", "What does this table hold?", "sales.csv", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines: Iterator[str] = iter(process.stdout)
        assert any('"cell_finished"' in line for line in lines)
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(PATIENCE) == 141
    assert desk.events("resume", "last")[-1]["event"] == "finished"


@pytest.mark.parametrize(
    ("after", "number", "code"), [("cell 1 ok", signal.SIGTERM, 143), ("cell 2:", signal.SIGINT, 130)]
)
@pytest.mark.slow
def test_a_signal_pauses_and_resume_finishes(after: str, number: signal.Signals, code: int, desk: Desk) -> None:
    with desk.start("run", "What does this table hold?", "sales.csv") as process:
        assert process.stderr is not None
        assert any(line.startswith(after) for line in process.stderr)
        process.send_signal(number)
        said = process.stderr.read()
        assert process.wait(PATIENCE) == code
    thread = thread_in(said)
    assert f"paused; go on with: stepwell resume {thread[:8]}" in said
    assert "Traceback" not in said
    assert json.loads(desk.command("threads", "--json").stdout)["status"] == "paused"
    asked = desk.command("ask", thread, "Too early?")
    assert (asked.returncode, asked.stdout) == (2, "")
    done = desk.command("resume", thread[:6])
    assert done.returncode == 0, done.stderr
    # Right after "cell 1 ok" its checkpoint may still be unwritten; once cell 2 has begun it is there.
    assert after == "cell 1 ok" or "cell 1:" not in done.stderr, "a finished cell is not run again"
    assert "Files:" in done.stdout


def test_a_killed_run_is_continued(desk: Desk) -> None:
    with desk.start("run", "What does this table hold?", "sales.csv") as process:
        assert process.stderr is not None
        assert any(line.startswith("cell 2 ok") for line in process.stderr)
        process.kill()
    done = desk.command("resume", "last")
    assert done.returncode == 0, done.stderr
    assert "cell 1:" not in done.stderr
    numbers = [line.split("\t")[0] for line in desk.command("log", "last").stdout.splitlines()]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]


def test_ctrl_c_on_a_terminal_pauses_and_resume_shows_the_answer(desk: Desk) -> None:
    terminal = Terminal(desk, "run", "What does this table hold?", "sales.csv")
    terminal.wait_for("▸ [23]  ")
    terminal.press("\x03")
    terminal.wait_for("paused; go on with: stepwell resume ")
    assert terminal.exit_code() == 130
    thread = thread_in(terminal.written)
    terminal = Terminal(desk, "resume", thread)
    terminal.wait_for("goes on")
    terminal.wait_for("answer.md")
    terminal.wait_for("to go on")
    assert terminal.exit_code() == 0


@pytest.mark.slow
def test_approval_without_a_terminal_waits_for_a_decision(desk: Desk) -> None:
    first = desk.command("run", "What does this table hold?", "sales.csv", "--approve")
    assert (first.returncode, first.stdout) == (3, "")
    thread = thread_in(first.stderr)
    assert f"stepwell resume {thread[:8]} --approve-cell" in first.stderr
    assert desk.command("resume", thread).returncode == 3
    shown = desk.command("show", "last").stdout
    assert "waiting" in shown
    assert "--reject" in shown
    (desk.folder / "other.py").write_text("print('mine' + '!')\n")
    second = desk.command("resume", thread, "--edit", "other.py")
    assert second.returncode == 3, "the knobs of the first run are kept"
    assert "cell 1 ok" in second.stderr
    assert "mine!" in desk.command("log", thread, "--code").stdout
    assert desk.command("resume", thread, "--reject", "no plots").returncode == 3
    done = desk.command("resume", thread, "--approve-cell", "--no-approve")
    assert done.returncode == 0, done.stderr
    assert "\trejected\t" in desk.command("log", thread).stdout


@pytest.mark.slow
def test_approval_on_a_terminal(desk: Desk) -> None:
    editor = desk.folder / "editor"
    editor.write_text('#!/bin/sh\necho "print(20 + 22)" > "$1"\n')
    editor.chmod(0o755)
    desk.variables = {"EDITOR": str(editor)}
    terminal = Terminal(desk, "run", "What does this table hold?", "sales.csv", "--approve")
    terminal.wait_for("Cell 1 waits for approval.*uit. ")
    terminal.press("what\n")
    terminal.wait_for("uit. ")
    terminal.press("e\n")
    terminal.wait_for("✓ 1  .*Cell 2 waits for approval.*uit. ")
    terminal.press("a\n")
    terminal.wait_for("Cell 3 waits for approval.*uit. ")
    terminal.press("r\n")
    terminal.wait_for("What should be different. ")
    terminal.press("shorter\n")
    terminal.wait_for("Cell 4 waits for approval.*uit. ")
    terminal.press("q\n")
    assert terminal.exit_code() == 3
    assert "--approve-cell" in terminal.written
    log = desk.command("log", "last", "--code").stdout
    assert "print(20 + 22)" in log
    assert "  | 42" in log


def test_a_question_comes_out_of_a_pipe_and_a_file_does_not(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was asked "-", and the file - was looked for."""
    nothing = desk.command("run", "-", "sales.csv")
    assert (nothing.returncode, nothing.stderr) == (2, "error: The question is empty; say what you want to know.\n")
    file = desk.command("run", "What?", "-")
    assert file.returncode == 2
    assert "- is no file: save what comes in under a name first, such as data.csv" in file.stderr
    monkeypatch.setattr("sys.stdin", io.StringIO("Which month sold most,\nand why?\n"))
    assert asked("-") == "Which month sold most,\nand why?"
    assert asked("What?") == "What?"


@pytest.mark.slow
@pytest.mark.parametrize(("figures", "shown"), [("kitty", "\x1b_Ga=T,f=100,q=2"), ("auto", '\x1bP0;1;0q"1;1;')])
def test_all_further_cells_are_approved_at_once_and_figures_are_shown(desk: Desk, figures: str, shown: str) -> None:
    desk.variables = {"STEPWELL_FIGURES": figures}
    terminal = Terminal(desk, "run", "What does this table hold?", "sales.csv", "--approve")
    if figures == "auto":  # the terminal is asked, and says that it shows sixels
        terminal.wait_for(r"\x1b\[c")
        terminal.press("\x1b[?62;4;22c")
    terminal.wait_for("Cell 1 waits for approval.*uit. ")
    terminal.press("a\n")
    terminal.wait_for("│ - Data: .*Cell 2 waits for approval.*uit. ")
    terminal.press("f\n")
    terminal.wait_for("No further cell of this thread is asked about")
    assert terminal.exit_code() == 0
    assert "waits for approval" not in terminal.plain
    assert shown in terminal.written
    assert "[?62" not in terminal.written, "what it says is no typing"
    assert "tokens" not in terminal.plain, "the playbook is no language model"


@pytest.mark.slow
def test_ctrl_c_at_the_prompt_leaves_the_cell_waiting(desk: Desk) -> None:
    terminal = Terminal(desk, "run", "What does this table hold?", "sales.csv", "--approve", "--no-live")
    terminal.wait_for("uit. ")
    terminal.wait_until_it_reads()
    terminal.press("\x03")
    assert terminal.exit_code() == 3
    assert "Traceback" not in terminal.written


@pytest.mark.parametrize("size", [(24, 40), (8, 20)])
@pytest.mark.slow
def test_the_live_view_on_small_terminals(size: tuple[int, int], desk: Desk) -> None:
    desk.variables = {"LINES": str(size[0]), "COLUMNS": str(size[1])}
    terminal = Terminal(desk, "run", "各地区的销售额是多少?", "sales.csv")
    assert terminal.exit_code() == 0, terminal.written
    assert terminal.written.count("\x1b[?25l") == terminal.written.count("\x1b[?25h") > 0


@pytest.mark.slow
def test_a_folder_of_somebody_else_starts_no_program_and_takes_no_key(desk: Desk) -> None:
    started = desk.folder / "started"
    (desk.folder / "mcp.json").write_text(
        json.dumps({"mcpServers": {"x": {"command": "/bin/sh", "args": ["-c", f"touch {started}"]}}})
    )
    (desk.folder / ".env").write_text(
        "STEPWELL_MCP=mcp.json\nSTEPWELL_ISOLATION=process\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=k\n"
    )
    desk.variables["STEPWELL_MODEL"] = "playbook"
    ran = desk.command("run", "What stands out?", "sales.csv", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert not started.exists()
    told = [line for line in ran.stderr.splitlines() if "not trusted" in line]
    assert len(told) == 1
    assert "STEPWELL_MCP, STEPWELL_ISOLATION, OPENAI_BASE_URL, OPENAI_API_KEY" in told[0]
    assert "without walls" not in ran.stderr


@pytest.mark.slow
def test_trust_shows_what_it_trusts_and_without_walls_is_said_at_every_run(desk: Desk) -> None:
    desk.variables["STEPWELL_MODEL"] = "playbook"
    assert desk.command("trust").returncode == 2
    (desk.folder / ".env").write_text("STEPWELL_ISOLATION=process\nOPENAI_API_KEY=sk-secret\n")
    trusted = desk.command("trust")
    assert trusted.returncode == 0
    assert "STEPWELL_ISOLATION=process" in trusted.stdout
    assert "sk-secret" not in trusted.stdout
    listed = desk.command("trust", "--list").stdout
    assert listed == f"{desk.folder.resolve()}/.env\ttrusted\n"
    ran = desk.command("run", "What stands out?", "sales.csv", "--json", "--max-cells", "1")
    assert "runs without walls" in ran.stderr
    notices = [event["text"] for line in ran.stdout.splitlines() if (event := json.loads(line))["event"] == "notice"]
    assert any("without walls" in text for text in notices)
    again = desk.command("ask", "last", "And now?", "--max-cells", "1", "--no-live")
    assert again.stderr.count("without walls") == 1
    (desk.folder / ".env").write_text("STEPWELL_ISOLATION=process\n")
    assert desk.command("trust", "--list").stdout.endswith("\tchanged\n")
    assert "without walls" not in desk.command("ask", "last", "And now?", "--max-cells", "1").stderr
    assert desk.command("trust", "--remove").returncode == 0
    assert desk.command("trust", "--list").stdout == ""
