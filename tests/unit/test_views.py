"""What people see of a run: on terminals of any size, in pipes, as JSON; whatever cells print."""

import io
import json
import re
from collections.abc import Iterable, Sequence

import pytest
from rich._palettes import EIGHT_BIT_PALETTE
from rich.cells import cell_len
from rich.console import Console

from graph.events import (
    ApprovalAsked,
    CellFinished,
    CellStarted,
    Displayed,
    Event,
    Failed,
    Finished,
    FunctionCalled,
    InputTaken,
    ModelAnswered,
    ModelAsked,
    ModelAskedAgain,
    Notice,
    Output,
    Planned,
    Proposed,
    Published,
    SentBack,
    SessionRestored,
    Started,
    Writing,
    is_event,
    read_event,
)
from graph.settings import Prices
from graph.state import Artifact, Cell, CellStatus, FileChange
from stepwell.cli.colours import THEME
from stepwell.cli.live_view import LiveView, highlighted, result, scrollback, share
from stepwell.cli.plain_view import JsonView, PlainView
from stepwell.cli.terminal_text import (
    OutputTail,
    ago_text,
    clean,
    duration_text,
    one_line,
    place,
    reveal,
    size_text,
    wrapped,
)
from stepwell.cli.wording import waiting_text

THREAD = "0b8e5a52-7a5e-4c0e-9a43-0c7d3f3c1a11"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[1;1H\x1bc\x9b31m\x00\x08\x7f\u202egnp.exe [red]not red[/red] [/] \x1b[31"
CJK = "各地区销售额的月度变化与同比增长率" * 6
SIZES = [(40, 8), (80, 24), (200, 60)]


def cell(number: int = 1, *, status: CellStatus = "ok", purpose: str = "Count rows", step: int = 1) -> Cell:
    files: list[FileChange] = [
        {"path": f"outputs/{number}.csv", "change": "created", "size": 1_234},
        {"path": "outputs/old.csv", "change": "deleted", "size": 0},
    ]
    return {
        "number": number,
        "turn": 1,
        "step": step,
        "purpose": purpose,
        "thought": "",
        "code": "print(len(df))",
        "status": status,
        "observation": "500",
        "error": "" if status == "ok" else "NameError: name 'df' is not defined",
        "seconds": 0.42,
        "files": files,
        "figures": [f"figures/{number}.png"],
    }


def artifact(name: str = "a.csv") -> Artifact:
    url = f"file:///srv/out/{name}"
    return {"name": name, "url": url, "size": 12_345, "sha256": "0" * 64, "mime": "text/csv", "cell": 2}


def whole_run(text: str = "plain") -> list[Event]:
    """Every kind of event, with a text of somebody else's wherever there is room for one."""
    return [
        Started(THREAD, text),
        Notice(text, level="warning"),
        InputTaken({"path": text, "source": text, "size": 9, "sha256": "", "abstract": text, "problem": ""}),
        InputTaken({"path": "b", "source": "b", "size": 9, "sha256": "", "abstract": "", "problem": text}),
        ModelAsked("plan"),
        ModelAskedAgain("plan", 2, text),
        Writing("plan", text + "\nprint(1"),
        ModelAnswered("plan", 1_000, 200, 0.5),
        Planned([{"text": f"{text} {number}", "done": False} for number in range(1, 31)]),
        CellStarted(1, text, f"# {text}\nprint('x')\n" * 60),
        Output(1, "stdout", text + "\n" + text * 500),
        Output(1, "stderr", "\n" + text),
        Displayed(1, text, html="<b>x</b>"),
        Displayed(1, "", path=f"figures/{text}.png"),
        CellFinished(cell(1, purpose=text)),
        CellFinished(cell(2, status="error", purpose=text)),
        CellFinished(cell(3, status="rejected", purpose=text)),
        SessionRestored(3, 1.5, [text]),
        SessionRestored(1, 1.5, [], from_cell=2, restored=3, lost=[text], versions=[text]),
        Proposed(text),
        SentBack([text]),
        Published(artifact()),
        ApprovalAsked(THREAD, 4, text, text),
        Failed(THREAD, text),
        Finished(THREAD, f"# Result\n\n{text}", [artifact()], [text], 3, 1_000, 200, 12.0),
    ]


def shown_live(events: Iterable[Event], width: int = 80, height: int = 24) -> str:
    """Everything that the live view sends to a terminal of this size."""
    sent = io.StringIO()
    # Rich keeps how a style was first written, so that all of these are written for the same terminal.
    console = Console(
        file=sent,
        theme=THEME,
        force_terminal=True,
        color_system="256",
        width=width,
        height=height,
        markup=False,
        highlight=False,
    )
    seconds = iter(range(10_000))
    view = LiveView(console, clock=lambda: float(next(seconds)))
    view.open()
    for event in events:
        view.show(event)
        view.tick()
    view.close()
    return sent.getvalue()


CONTROL = re.compile(
    r"\x1b\[(?P<given>[?\d;]*)(?P<name>[A-Za-z])|\x1b\]8;[^\x1b]*\x1b\\|(?P<char>[\r\n])|(?P<text>[^\x1b])"
)


def on_screen(sent: str) -> list[str]:
    """The lines that are left on a terminal: cursor up, erase line and carriage return are obeyed, nothing else."""
    lines, row, column = [""], 0, 0
    for part in CONTROL.finditer(sent):
        if part["char"] == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part["char"] == "\r":
            column = 0
        elif part["name"] == "A":
            row -= int(part["given"] or 1)
            assert row >= 0, "the cursor left the top of what was written"
        elif part["name"] == "K":
            lines[row] = ""
        elif part["text"]:
            lines[row] = lines[row][:column].ljust(column) + part["text"] + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("text", ["plain", HOSTILE, CJK, "[red]x[/]", "x" * 5_000, "a\tb\r\nc"])
def test_the_live_part_always_fits_the_terminal(width: int, height: int, text: str) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height)
    view = LiveView(console)
    for event in whole_run(text)[:-1]:
        view.screen.take(event)
        rows = ["".join(part.text for part in row) for row in console.render_lines(view.screen, pad=False)]
        assert len(rows) < height
        assert max(map(cell_len, rows)) < width


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_that_others_wrote_reaches_the_terminal_as_a_control(width: int, height: int) -> None:
    sent = shown_live(whole_run(HOSTILE), width, height)
    links = r"\x1b\]8;id=[\d-]+;file:///srv/out/a\.csv\x1b\\|\x1b\]8;;\x1b\\"
    rest = re.sub(links + r"|\x1b\[[\d;]*m|\x1b\[\d*A|\x1b\[2K|\x1b\[\?25[lh]|[\r\n]", "", sent)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", rest)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (10, 3), (40, 4)])
def test_the_live_view_survives_the_smallest_terminals(size: tuple[int, int]) -> None:
    assert shown_live(whole_run(CJK), *size)


def test_markup_in_texts_is_shown_as_it_is() -> None:
    assert "[red]x[/]" in "\n".join(on_screen(shown_live(whole_run("[red]x[/]"))))


def test_finished_cells_stay_in_the_scrollback_and_the_live_part_goes() -> None:
    sent = shown_live(whole_run(), 120, 40)
    left = on_screen(sent)
    marks = [line for line in left if line[:1] in "✓✗–" and line]
    assert [line[:4] for line in marks] == ["✓ 1 ", "✗ 2 ", "– 3 "]
    assert "→ outputs/1.csv, figures/1.png" in marks[0]
    assert "removed outputs/old.csv" in marks[0]
    assert "NameError" in marks[1]
    assert [line.strip() for line in left if "│" in line] == ["│ 500"] * 2, "what a cell printed stays below it"
    assert not any("○" in line or "print(" in line for line in left), "plan and code belong to the live part"
    assert sent.count("\x1b[?25l") == sent.count("\x1b[?25h") == 1, "the cursor is given back"


def test_the_end_shows_answer_doubts_files_and_how_to_go_on() -> None:
    left = "\n".join(on_screen(shown_live(whole_run(), 120, 40)))
    for part in ("Result", "Not verified: plain", "/srv/out/a.csv", "12.3 kB", "cell 2", f"stepwell ask {THREAD[:8]}"):
        assert part in left
    assert left.index("Result") < left.index("Not verified") < left.index("/srv/out/a.csv")


def test_places_of_files_are_whole_however_narrow_the_terminal_is() -> None:
    name = "monthly_totals_of_all_regions_and_shops.csv"
    run = [one for one in whole_run() if not isinstance(one, Finished)]
    run.append(Finished(THREAD, "Done.", [artifact(name)], [], 3, 1_000, 200, 12.0))
    assert f"/srv/out/{name}\n  12.3 kB  cell 2\n" in "\n".join(on_screen(shown_live(run, 40)))
    assert re.search(rf"/srv/out/{name} +12.3 kB +cell 2", "\n".join(on_screen(shown_live(run, 100))))


def printed(number: int, *lines: str) -> Cell:
    return {**cell(number), "outputs": [{"kind": "stdout", "text": "".join(f"{line}\n" for line in lines)}]}


def test_of_a_long_output_the_last_lines_stay() -> None:
    left = on_screen(shown_live([Started(THREAD, "q"), CellFinished(printed(1, *map(str, range(30))))]))
    told = [line.strip() for line in left if "│" in line]
    assert told == ["│ … 22 more lines above", *(f"│ {number}" for number in range(22, 30))]


def test_a_cell_that_was_running_when_the_run_stopped_is_named() -> None:
    left = on_screen(shown_live([Started(THREAD, "q"), CellStarted(3, "Fit the model", "fit()")]))
    assert "– 3  Fit the model  not finished: it runs again" in left


def test_after_a_decision_the_thread_is_not_announced_again() -> None:
    asked = ApprovalAsked(THREAD, 1, "p", "c")
    left = "\n".join(on_screen(shown_live([Started(THREAD, "q"), asked, Started(THREAD, "q", resumed=True)])))
    assert left.count(THREAD) == 1


@pytest.mark.parametrize(
    ("cost", "said"), [(None, ""), (0.0, "cost 0.00"), (0.01234, "cost 0.0123"), (12.345, "cost 12.35")]
)
def test_what_it_cost_is_said_where_it_is_known(cost: float | None, said: str) -> None:
    last = Finished(THREAD, "42", cells=1, input_tokens=900, output_tokens=100, model="m", cost=cost)
    result, progress = io.StringIO(), io.StringIO()
    PlainView(result, progress).show(last)
    for text in ("\n".join(on_screen(shown_live([last]))), progress.getvalue()):
        assert "1,000 tokens" in text
        assert said in text
        assert cost is not None or "cost" not in text


def test_what_it_costs_so_far_is_seen_while_it_runs_and_nobody_pays_the_playbook() -> None:
    for model, paid in (("gpt-5", True), ("playbook", False)):
        console = Console(file=io.StringIO(), width=80, height=24)
        view = LiveView(console, prices=Prices((2.0, 10.0)))
        view.show(Started(THREAD, "q", model=model))
        view.show(ModelAnswered("plan", 100_000, 10_000, 1.0))
        rows = "\n".join("".join(part.text for part in row) for row in console.render_lines(view.screen))
        assert ("cost 0.3000" in rows) is paid
        assert ("110,000 tokens" in rows) is paid


def test_what_the_model_writes_is_seen_until_it_has_answered_and_a_repetition_is_said() -> None:
    console = Console(file=io.StringIO(), width=80, height=24)
    view = LiveView(console)

    def rows() -> list[str]:
        return ["".join(part.text for part in row).strip() for row in console.render_lines(view.screen)]

    for event in (
        Started(THREAD, "q"),
        ModelAsked("generate"),
        Writing("generate", "df = 1\nprint("),
        Writing("generate", "df)"),
    ):
        view.show(event)
    assert rows()[-3:-1] == ["│ df = 1", "│ print(df)"]
    view.show(ModelAskedAgain("generate", 2, "HTTP 429"))
    assert rows()[-1].endswith("writing the next step (asked 2 times)")
    assert not any("│" in row for row in rows())
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "the model is asked again (request 2): HTTP 429" in said
    view.show(ModelAnswered("generate", 1, 1, 1.0))
    assert "asked" not in rows()[-1]


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    def light(colour: Sequence[float]) -> float:
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("background", [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)])
def test_every_colour_can_be_read_on_a_light_and_on_a_dark_terminal(background: tuple[float, ...]) -> None:
    sent = io.StringIO()
    console = Console(file=sent, theme=THEME, force_terminal=True, color_system="256", width=100, markup=False)
    code = (
        "# a remark\n@cached\nclass A(ValueError):\n    def f(self) -> int:\n        return not sum([1.5]) or 'text'\n"
    )
    for line in highlighted(code):
        console.print(line)
    prose = "# A\n\n## B\n\n### C\n\n`x` [l](http://a.b)\n\n> q\n\n- 1\n\n1. a\n\n---\n\n|a|b|\n|-|-|\n|1|2|\n\n"
    events = [*whole_run(), Finished(THREAD, f"{prose}```python\n{code}```\n")]
    for event in events:
        for text in scrollback(event):
            console.print(text)
        for part in result(event, console.width) if isinstance(event, Finished) else ():
            console.print(part)
    codes = re.findall(r"\x1b\[([\d;]*)m", sent.getvalue())
    named = {
        found
        for one in codes
        for found in re.findall(r"(?:^|;)((?:3|9|4|10)[0-7])(?=;|$)", re.sub(r"38;5;\d+", "", one))
    }
    assert not named, "what a terminal makes of a named colour is not known"
    numbers = {int(number) for one in codes for number in re.findall(r"38;5;(\d+)", one)}
    assert len(numbers) >= 6
    assert not any("48;5" in one for one in codes)
    for number in numbers:
        red, green, blue = EIGHT_BIT_PALETTE[number]
        assert contrast((red / 255, green / 255, blue / 255), background) >= 3.8, number


def test_the_plan_ticks_off_while_cells_end_well() -> None:
    console = Console(file=io.StringIO(), width=80, height=24)
    view = LiveView(console)
    for event in (
        Planned([{"text": "look", "done": False}, {"text": "count", "done": False}]),
        CellFinished(cell(1, step=1)),
        CellFinished(cell(2, step=2, status="error")),
        CellFinished(cell(3, step=9)),
    ):
        view.show(event)
    rows = ["".join(part.text for part in row).rstrip() for row in console.render_lines(view.screen)]
    assert "✓ 1. look" in rows
    assert "○ 2. count" in rows


def test_a_plan_longer_than_the_terminal_is_shown_around_the_current_step() -> None:
    console = Console(file=io.StringIO(), width=80, height=12)
    view = LiveView(console)
    view.show(Planned([{"text": f"step {number}", "done": number <= 20} for number in range(1, 31)]))
    rows = "\n".join("".join(part.text for part in row) for row in console.render_lines(view.screen))
    assert "step 21" in rows
    assert "step 1\n" not in rows


def test_nothing_is_drawn_again_while_nothing_changes() -> None:
    sent = io.StringIO()
    view = LiveView(Console(file=sent, force_terminal=True, width=80, height=24), clock=lambda: 5.0)
    view.open()
    view.show(Started(THREAD, "q"))
    view.tick()
    before = sent.tell()
    view.tick()
    assert sent.tell() == before
    view.close()
    view.close()


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    colours = [
        code for code in re.findall(r"\x1b\[([\d;]+)m", shown_live(whole_run())) if re.search(r"\b[39]\d\b", code)
    ]
    assert colours == []


def test_lines_are_dealt_out_fairly() -> None:
    assert share(100, (3, 5, 2)) == [3, 5, 2]
    assert share(4, (9, 9, 9)) == [1, 1, 2]
    assert share(0, (1, 1, 1)) == [0, 0, 0]


def test_plain_output_keeps_answer_and_progress_apart() -> None:
    result, progress = io.StringIO(), io.StringIO()
    view = PlainView(result, progress)
    for event in whole_run():
        view.show(event)
        view.tick()
    answer = result.getvalue()
    assert answer.startswith("# Result\n\nplain\n\nNot verified: plain\n\nFiles:\n\n- /srv/out/a.csv (12.3 kB)")
    lines = progress.getvalue().splitlines()
    assert lines[0] == f"thread {THREAD}: plain"
    assert "cell 1 ok, 0.4 s, made outputs/1.csv, figures/1.png, removed outputs/old.csv" in lines
    assert "cell 2 error: NameError: name 'df' is not defined, 0.4 s" in "\n".join(lines)
    assert lines[-1].startswith("finished: 12 s · 3 cells · 1,200 tokens; go on with: stepwell ask ")


def test_plain_lines_hold_no_controls_and_one_event_each() -> None:
    result, progress = io.StringIO(), io.StringIO()
    for event in whole_run(HOSTILE):
        PlainView(result, progress).show(event)
    for written in (result.getvalue(), progress.getvalue()):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", written)
    assert not any(line == "" for line in progress.getvalue().splitlines())


def test_quiet_writes_the_result_only() -> None:
    result = io.StringIO()
    view = PlainView(result, None)
    for event in whole_run():
        view.show(event)
    view.say("pausing")
    assert result.getvalue().startswith("# Result")


def test_every_event_is_one_line_of_json_that_reads_back() -> None:
    result = io.StringIO()
    view = JsonView(result, lambda: THREAD)
    events = whole_run(HOSTILE + "\ud800 \n 各")
    for event in events:
        view.show(event)
    view.say("not an event")
    lines = result.getvalue().splitlines()
    assert len(lines) == len(events)
    for line, event in zip(lines, events, strict=True):
        data = json.loads(line)
        assert data["thread"] == THREAD
        if "thread" not in event.as_json():
            del data["thread"]
        assert is_event(data)
        assert read_event(data) == event
    assert not is_event({"type": "ui", "id": "1/figure/a.png", "name": "figure", "props": {}})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\x", "x"),
        ("\x1b[", ""),
        ("\x1b]0;never ended", ""),
        ("\x1bc\x1b(Bx", "x"),
        ("\x9b2Jx\x9d0;t\x9cy", "xy"),
        ("10%\r50%\r100%\nnext\r\n", "100%\nnext\n"),
        ("a\x00b\x08c\x7fd\x85e", "abcd\ne"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("\ud83d", "\ufffd"),
        ("👩‍👩‍👧 各 é\t|\n", "👩‍👩‍👧 各 é\t|\n"),
    ],
)
def test_escapes_and_controls_are_taken_out(given: str, expected: str) -> None:
    assert clean(given) == expected


def test_code_to_be_approved_hides_nothing() -> None:
    code = "x = 1  # fine\rimport os\u202e\x1b[2K\u200b\x00é各\t\n"
    assert reveal(code) == "x = 1  # fine\\x0dimport os\\u202e\\x1b[2K\\u200b\\x00é各\t\n"
    long = "\n".join(f"line_{number} = {number}" for number in range(3_000)) + "\nhidden()"
    assert highlighted(long)[-1].plain == "hidden()"
    assert "import os" in "\n".join(line.plain for line in highlighted(code))
    assert "\\x0dimport os" in waiting_text(ApprovalAsked(THREAD, 1, "p", code))


def test_the_tail_keeps_the_last_lines_whatever_the_pieces() -> None:
    tail = OutputTail(3)
    for piece in ("one\ntwo\nth", "ree\nfo", "\x1b[3", "1mur"):
        tail.feed("stdout", piece)
    tail.feed("stderr", "careful\n")
    assert tail.lines() == [("stdout", "three"), ("stderr", "careful"), ("stdout", "four")]


def test_progress_bars_overwrite_themselves_in_the_tail() -> None:
    tail = OutputTail(3)
    for percent in range(0, 101, 10):
        tail.feed("stderr", f"\r{percent}% |{'#' * percent}")
    assert tail.lines() == [("stderr", f"100% |{'#' * 100}")]
    tail.feed("stderr", "\ndone\r")
    assert [line for _, line in tail.lines()] == [f"100% |{'#' * 100}", "done"]
    tail.feed("stderr", "\n")
    assert [line for _, line in tail.lines()][-1] == "done"


def test_a_line_without_an_end_does_not_grow_for_ever() -> None:
    tail = OutputTail(3)
    for _ in range(100):
        tail.feed("stdout", "x" * 10_000)
    assert len(tail.lines()[0][1]) == 4_000
    tail.feed("stdout", "\rshort")
    assert tail.lines() == [("stdout", "short")]


def test_sizes_and_times_are_short() -> None:
    assert [size_text(n) for n in (0, 999, 1_000, 12_345, 5_000_000_000, 7 * 10**12)] == [
        "0 B", "999 B", "1.0 kB", "12.3 kB", "5.0 GB", "7.0 TB",
    ]  # fmt: skip
    assert [duration_text(s) for s in (-1, 0.04, 9.94, 12.4, 59.6, 185, 7_800)] == [
        "0.0 s", "0.0 s", "9.9 s", "12 s", "1 min 00 s", "3 min 05 s", "2 h 10 min",
    ]  # fmt: skip
    assert [ago_text(s) for s in (-5, 61, 3 * 3_600, 30 * 86_400)] == ["just now", "1 min ago", "3 h ago", "30 d ago"]
    assert one_line("a\n  b\tc" + "x" * 50, 10) == "a b cxxxx…"


def test_places_are_paths_where_they_can_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(folder)
    assert place(f"file://{folder}/out/a%20b.csv") == "out/a b.csv"
    assert place("file:///elsewhere/a.csv") == "/elsewhere/a.csv"
    assert place("s3://bucket/a.csv") == "s3://bucket/a.csv"
    assert place("relative/a.csv") == "relative/a.csv"


def test_calls_of_host_functions_are_seen_and_named_where_a_cell_waits() -> None:
    asked = ApprovalAsked(THREAD, 1, "p", "send('a')", functions=["send", "look"])
    assert "\nit names: send, look\n" in waiting_text(asked)
    assert "it calls" not in waiting_text(ApprovalAsked(THREAD, 1, "p", "1"))
    answering = waiting_text(ApprovalAsked(THREAD, 1, "p", "n = 1", answer="It is {{n}}.\x1b[2J"))
    assert "then it answers, with the value of each {{expression}}:\n    It is {{n}}." in answering
    assert "\x1b" not in answering
    called = FunctionCalled(1, "send", HOSTILE, "returned", 0.1)
    assert read_event(called.as_json()) == called
    lines = io.StringIO()
    PlainView(io.StringIO(), lines).show(called)
    assert "  called send(" in lines.getvalue()
    assert "\x1b" not in lines.getvalue()


def test_sentences_break_between_words_and_code_and_commands_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    sentence, code = "error: the model gave no usable reply in 3 attempts", "    print('a line of code that is long')"
    command = "paused; go on with: stepwell resume 0b8e5a52 --network none"
    lines = wrapped("\n".join([sentence, code, command])).split("\n")
    assert lines == ["error: the model gave no", "usable reply in 3 attempts", code, command]
