"""The view of a run on a terminal: what goes on now at the bottom, finished cells above it in the scrollback."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from graph.events import (
    CellFinished,
    CellStarted,
    Displayed,
    Event,
    Finished,
    FunctionCalled,
    InputTaken,
    ModelAnswered,
    ModelAsked,
    ModelAskedAgain,
    Notice,
    Output,
    Planned,
    Published,
    SentBack,
    SessionRestored,
    Started,
    Writing,
)
from graph.settings import NO_ISOLATION_WARNING, Prices
from graph.state import Artifact, Cell, PlanStep
from models.selection import PLAYBOOK
from nodes.cell_outputs import printed_text
from stepwell.cli import figures
from stepwell.cli.colours import CODE_THEME, THEME
from stepwell.cli.figures import link_text
from stepwell.cli.terminal_input import TerminalInput
from stepwell.cli.terminal_text import OutputTail, clean, duration_text, one_line, reveal, size_text
from stepwell.cli.wording import (
    MAKING,
    MARKS,
    again_text,
    ending,
    made,
    next_command,
    purpose_text,
    removed,
    restore_problems,
    restored_text,
    sums,
    tokens_of,
)

MOST_OUTPUT = 12
MOST_CODE = 14
MOST_PLAN = 9
"""Lines that a section gets at most; on a small terminal they share what there is."""

MOST_PRINTED = 8
"""Lines of a finished cell's output that stay on the screen."""
MOST_KEPT = 1_000
"""Lines of it that are looked at."""

FIXED = 4
"""Lines that are always there: header, cell, footer, and one left free below."""

MOST_HIGHLIGHTED = 20_000
"""Characters of code that are coloured."""

MARK_STYLES = {"ok": "green", "rejected": "yellow"}


class Terminal(Console):
    """A console that reads no markup and lets a closed pipe end the command."""

    def __init__(self) -> None:
        super().__init__(theme=THEME, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Let the command decide how to end."""
        raise BrokenPipeError


class LiveView:
    """Shows a run on a terminal. `tick` it a few times a second: most events only change what the next tick draws.

    Args:
        console: The terminal; markup in texts is never read.
        clock: Seconds that only grow.
        tell_next: Whether the command that asks on is shown below an answer.
        prices: What tokens cost; None: that is not shown.
        shown: Takes the numbers of the cells whose output is in the scrollback, whole.
        protocol: How the terminal shows figures.
        typing: The terminal's input, which is silent while it is open.
    """

    def __init__(
        self,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
        *,
        tell_next: bool = True,
        prices: Prices | None = None,
        shown: set[int] | None = None,
        protocol: figures.Protocol = "none",
        typing: TerminalInput | None = None,
    ) -> None:
        self._console = console
        self._tell_next = tell_next
        self._protocol = protocol
        self._typing = typing
        self._clock = clock
        self._live: Live | None = None
        self._began = clock()
        self._drawn: object = None
        self._changes = 0
        self.screen = Screen(prices, shown)

    def open(self) -> None:
        """Take the lower part of the terminal."""
        if self._typing is not None:
            self._typing.silence()
        self._live = Live(
            get_renderable=lambda: self.screen,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def tick(self) -> None:
        """Draw, when there is something new: an event, or another second."""
        self.screen.elapsed = self._clock() - self._began
        now = (self._changes, int(self.screen.elapsed))
        if self._live is not None and now != self._drawn:
            self._drawn = now
            self._live.refresh()

    def show(self, event: Event) -> None:
        """Take an event in; what is over goes into the scrollback at once."""
        self._changes += 1
        for text in self.screen.take(event):
            self._console.print(text)
        if isinstance(event, CellStarted):
            self.tick()  # also the shortest cell is seen
        if isinstance(event, Finished):
            self.close()
            for part in result(event, self._console.width, tell_next=self._tell_next):
                self._console.print(part, crop=False)
            for picture in figures.shown(event.artifacts, self.screen.ran, self._protocol, self._console.width):
                self._console.file.write(picture)
                self._console.file.flush()

    def say(self, text: str) -> None:
        """Write a sentence of the command's own into the scrollback."""
        self._console.print(Text(clean(text), "dim"))

    def close(self) -> None:
        """Give the terminal back, with its cursor; closing twice is allowed."""
        if self._typing is not None:
            self._typing.give_back()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()
            if (left := self.screen.broken_off()) is not None:
                self._console.print(left)


class Screen:
    """What is going on now, drawn into as many lines as the terminal has, each cut to its width."""

    def __init__(self, prices: Prices | None = None, shown: set[int] | None = None) -> None:
        self._prices = prices
        self._shown = shown if shown is not None else set()
        self.elapsed = 0.0
        self._thread = ""
        self._question = ""
        self._plan: list[PlanStep] = []
        self._doing = "starting"
        self._cell: CellStarted | None = None
        self._tail = OutputTail(MOST_OUTPUT)
        self._draft = OutputTail(MOST_OUTPUT)
        self._figures: list[str] = []
        self._cells = 0
        self._tokens = (0, 0)
        self._paid = False
        self.ran: set[int] = set()
        """The numbers of the cells of this run."""

    def take(self, event: Event) -> Sequence[Text]:
        """Change what is shown.

        Returns:
            Lines about what is over, for the scrollback.
        """
        match event:
            case Started(thread=thread, question=question, resumed=resumed, model=model):
                known, self._thread, self._question = self._thread, thread, question
                self._paid = model not in ("", PLAYBOOK)
                if resumed and known == thread:
                    return ()  # after a decision: the same run, for whoever sits there
            case Planned(steps=steps):
                self._plan, self._doing = list(steps), ""
            case ModelAsked() | ModelAskedAgain() | Writing() | ModelAnswered():
                self._hear(event)
            case CellStarted():
                self._cell, self._doing = event, ""
                self._tail, self._figures = OutputTail(MOST_OUTPUT), []
            case Output(stream=stream, text=text):
                self._tail.feed(stream, text)
            case Displayed(text=text, path=path):
                self._display(text, path)
            case CellFinished(cell=cell):
                self._end(cell)
            case Published(artifact=artifact):
                self._doing = f"publishing {one_line(artifact['name'])}"
            case _:
                pass
        return list(scrollback(event))

    def _hear(self, event: ModelAsked | ModelAskedAgain | Writing | ModelAnswered) -> None:
        if isinstance(event, Writing):
            self._draft.feed("draft", event.text)
            return
        self._draft = OutputTail(MOST_OUTPUT)
        match event:
            case ModelAsked(node=node):
                self._doing = MAKING.get(node, one_line(node))
            case ModelAskedAgain(request=request):
                self._doing = f"{self._doing.partition(' (')[0]} (asked {request} times)"
            case ModelAnswered(input_tokens=taken, output_tokens=given):
                self._doing = ""
                self._tokens = (self._tokens[0] + taken, self._tokens[1] + given)

    def _display(self, text: str, path: str) -> None:
        if path:
            self._figures.append(path)
        elif text:
            self._tail.feed("display", text.rstrip("\n") + "\n")

    def _end(self, cell: Cell) -> None:
        self._cell = None
        self._cells += 1
        self.ran.add(cell["number"])
        if len(printed_lines(printed_text(cell))) <= MOST_PRINTED:
            self._shown.add(cell["number"])
        step = cell["step"]
        if cell["status"] == "ok" and 0 < step <= len(self._plan):
            self._plan[step - 1] = {**self._plan[step - 1], "done": True}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One row of segments for each line, never wider than the terminal."""
        # A column stays free: terminals disagree about the width of some characters, and a wrapped line flickers.
        width = max(options.max_width - 1, 1)
        lines = self._lines(console.size.height)
        for number, line in enumerate(lines):
            line.truncate(width, overflow="ellipsis")
            line.end = ""
            yield line
            if number < len(lines) - 1:
                yield Segment.line()

    def _lines(self, height: int) -> list[Text]:
        plan = [_plan_line(number, step) for number, step in enumerate(self._plan, 1)]
        current = next((number for number, step in enumerate(self._plan) if not step["done"]), 0)
        code, tail = list(self._code()), [_tail_line(stream, line) for stream, line in self._output()]
        wants = (min(len(plan), MOST_PLAN), min(len(code), MOST_CODE), min(len(tail), MOST_OUTPUT))
        for_plan, for_code, for_tail = share(max(height - FIXED, 0), wants)
        head = [self._header()] if self._thread and height > FIXED else []
        cell = [self._purpose()] if self._cell and height > 2 else []
        return [
            *head,
            *_window(plan, for_plan, current),
            *cell,
            *_beginning(code, for_code),
            *(tail[-for_tail:] if for_tail else []),
            self._footer(),
        ]

    def _header(self) -> Text:
        return Text.assemble((self._thread[:8], "cyan"), "  ", (one_line(self._question, 500), "bold"))

    def _purpose(self) -> Text:
        cell = self._cell
        return Text(f"▸ {cell.number}  {one_line(cell.purpose, 500)}", "bold") if cell else Text()

    def _code(self) -> Iterator[Text]:
        if self._cell is not None:
            for line in highlighted(self._cell.code):
                yield Text.assemble("  ", line)

    def _output(self) -> list[tuple[str, str]]:
        if self._cell is None:
            return self._draft.lines()
        figures = [("figure", f"figure {one_line(path)}") for path in self._figures]
        return [*self._tail.lines(), *figures]

    def _footer(self) -> Text:
        doing = "running" if self._cell else self._doing
        cost = self._prices.cost(*self._tokens) if self._prices is not None and self._paid else None
        told = sums(self._cells, sum(self._tokens) if self._paid else 0, self.elapsed, cost=cost)
        return Text(" · ".join(part for part in (told, doing) if part), "dim")

    def broken_off(self) -> Text | None:
        """What is left of a cell that was running when the run stopped; None when none was."""
        cell, self._cell = self._cell, None
        if cell is None:
            return None
        return Text.assemble(
            ("– ", "yellow"), f"{cell.number}  {one_line(cell.purpose, 300)}", ("  not finished: it runs again", "dim")
        )


def share(room: int, wants: Sequence[int]) -> list[int]:
    """Deal lines out, one each in turn, the last section first, until nobody wants more or nothing is left."""
    given = [0] * len(wants)
    while room > 0 and any(got < want for got, want in zip(given, wants, strict=True)):
        for section in reversed(range(len(wants))):
            if room > 0 and given[section] < wants[section]:
                given[section] += 1
                room -= 1
    return given


def _window(lines: list[Text], room: int, current: int) -> list[Text]:
    """As many lines as there is room for, around the current one."""
    first = max(min(current - room // 2, len(lines) - room), 0)
    return lines[first : first + room]


def _beginning(lines: list[Text], room: int) -> list[Text]:
    """The first lines; the last one counts what is left out."""
    if len(lines) <= room or room < 1:
        return lines[:room]
    return [*lines[: room - 1], Text(f"  … {len(lines) - room + 1} more lines", "dim")]


def _plan_line(number: int, step: PlanStep) -> Text:
    mark, style = ("✓", "green") if step["done"] else ("○", "dim")
    text = Text(f"{number}. {one_line(step['text'], 500)}", "dim" if step["done"] else "")
    return Text.assemble((f"{mark} ", style), text)


def _tail_line(stream: str, line: str) -> Text:
    style = {"stderr": "yellow", "figure": "magenta", "draft": "dim"}.get(stream, "")
    return Text.assemble(("  │ ", "dim"), (line.expandtabs(4)[:1_000], style))


@lru_cache(maxsize=4)
def highlighted(code: str) -> tuple[Text, ...]:
    """The lines of a piece of Python in the terminal's own colours; very long ones keep one colour."""
    tidy = reveal(code.replace("\r\n", "\n")).expandtabs(4).strip("\n")
    if len(tidy) > MOST_HIGHLIGHTED:
        return tuple(Text(line) for line in tidy.split("\n"))
    text = Syntax("", "python", theme=CODE_THEME, background_color="default").highlight(tidy)
    text.rstrip()
    return tuple(text.split("\n", allow_blank=True))


def scrollback(event: Event) -> Iterator[Text]:
    """What remains of an event above the live part: a line or two, or nothing."""
    match event:
        case Started(thread=thread, question=question, resumed=resumed, model=model):
            verb = " goes on" if resumed else ""
            yield Text.assemble((f"thread {thread}{verb}: ", "dim"), (one_line(question, 500), "bold"))
            if model:
                yield Text(f"model {one_line(model, 200)}", "dim")
        case Notice(text=text) if text == NO_ISOLATION_WARNING:
            pass  # the command has said so
        case Notice(text=text, level=level):
            yield Text(clean(text), "yellow" if level == "warning" else "dim")
        case InputTaken(input=taken):
            if taken["problem"]:
                yield Text(f"! {one_line(taken['path'])}: {one_line(taken['problem'])}", "yellow")
            else:
                yield Text(f"+ {one_line(taken['path'])} ({size_text(taken['size'])})", "dim")
        case FunctionCalled(function=function, arguments=arguments, outcome=outcome):
            yield Text(f"  called {one_line(f'{function}({arguments})', 200)}: {one_line(outcome)}", "dim")
        case ModelAskedAgain():
            yield Text(again_text(event), "yellow")
        case CellFinished(cell=cell):
            yield cell_line(cell)
            yield from printed(printed_text(cell), MOST_PRINTED)
        case SessionRestored():
            yield Text(restored_text(event), "dim")
            yield from (Text(f"! {line}", "yellow") for line in restore_problems(event))
        case SentBack(missing=missing):
            yield from (Text(f"↺ not good enough yet: {one_line(lack)}", "yellow") for lack in missing)
        case _:
            pass  # the command says in every view how a run failed or what it waits for


def cell_line(cell: Cell) -> Text:
    """A finished cell on one line: mark, number, purpose, time, and the error or the files."""
    status = cell["status"]
    line = Text.assemble(
        (f"{MARKS[status]} ", MARK_STYLES.get(status, "red")),
        f"{cell['number']}  {purpose_text(cell, 300)}",
        (f"  {duration_text(cell['seconds'])}", "dim"),
    )
    if status != "ok":
        line.append(f"  {ending(cell)}", "red" if status != "rejected" else "yellow")
    if made(cell):
        line.append(f"  → {made(cell)}", "magenta")
    if removed(cell):
        line.append(f"  removed {removed(cell)}", "dim")
    return line


def printed_lines(text: str) -> list[str]:
    """What a cell printed, line by line, as a terminal would have shown it."""
    tail = OutputTail(MOST_KEPT)
    tail.feed("stdout", text)
    return [line.expandtabs(4)[:1_000] for _, line in tail.lines()]


def printed(text: str, most: int) -> Iterator[Text]:
    """The last lines of what a cell printed, below it; the first one counts what is left out."""
    lines = printed_lines(text)
    if len(lines) > most:
        yield Text.assemble(("  │ ", "dim"), (f"… {len(lines) - most} more lines above", "dim"))
    yield from (Text.assemble(("  │ ", "dim"), line) for line in lines[-most:])


def result(event: Finished, width: int, *, tell_next: bool = True) -> Iterator[RenderableType]:
    """The answer, what was not verified, the files, and how to go on; to be printed without being cropped."""
    yield Text()
    yield Markdown(clean(event.answer), code_theme=CODE_THEME)
    yield Text()
    if event.concerns:
        yield from (Text(f"Not verified: {one_line(concern)}", "yellow") for concern in event.concerns)
        yield Text()
    if event.artifacts:
        yield from files_shown(event.artifacts, width)
        yield Text()
    yield Text(sums(event.cells, tokens_of(event), event.seconds, event.model, event.cost), "dim")
    if tell_next:
        yield Text(next_command("ask", event.thread, question="…") + "  to go on", "dim")


def files_shown(artifacts: Sequence[Artifact], width: int) -> Iterator[RenderableType]:
    """Where each file is, its size, and the cell that made it; to be printed without being cropped.

    Where a place does not fit beside the rest, it has a line of its own that the terminal breaks and not we: so it can
    be copied, and leads to the file.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, overflow="ignore")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    lines: list[Text] = []
    widths = [0, 0, 0]
    for artifact in artifacts:
        origin = f"cell {artifact['cell']}" if artifact["cell"] else ""
        where, size = link_text(artifact["url"]), size_text(artifact["size"])
        row = (where, Text(size), Text(origin, "dim"))
        table.add_row(*row)
        widths = [max(known, one.cell_len) for known, one in zip(widths, row, strict=True)]
        where.no_wrap, where.overflow = True, "ignore"
        lines += [where, Text.assemble("  ", size, ("  " + origin if origin else "", "dim"))]
    if sum(widths) + 4 <= width:
        yield table
    else:
        yield Group(*lines)  # by themselves, texts are joined to one that is wrapped
