"""The commands that run something: a new thread, a further question, the rest of a turn."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import termios
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from graph.context import Context
from graph.events import ApprovalAsked
from graph.settings import Settings, read_settings
from nodes.approve import steps_written
from sandboxes.host.scratch import held_folder
from stepwell import runs
from stepwell.cli.command_options import PIPED, NetworkChoice, named_files
from stepwell.cli.exits import FINISHED, print_error, warn_without_isolation
from stepwell.cli.figures import protocol_of
from stepwell.cli.foreground import Begin, Foreground, View
from stepwell.cli.live_view import LiveView, Terminal, highlighted, printed
from stepwell.cli.plain_view import JsonView, PlainView
from stepwell.cli.terminal_input import terminal_input
from stepwell.cli.terminal_text import is_conversation, is_screen, one_line, reveal
from stepwell.cli.wording import back_text, call_lines, next_command, plan_text
from stepwell.errors import UsageError
from stepwell.forks import fork_here, fork_thread
from stepwell.runs import Decision, Run
from stepwell.steps import parse_step_name
from stepwell.stored_context import changed, changed_context
from stepwell.threads import find_thread, read_thread

MOST_BEFORE = 40
"""Lines of the output of the cell before the one that waits."""

EDITORS = ("sensible-editor", "nano", "vim", "vi")
"""Tried in this order when neither VISUAL nor EDITOR is set."""


def ask(
    console: Console,
    asked: ApprovalAsked,
    *,
    shown: Collection[int] = (),
    approve_all: Callable[[], None] | None = None,
) -> Decision | None:
    """Show a cell, or a call, and ask what to do with it.

    Args:
        console: The terminal.
        asked: What waits.
        shown: The cells whose output is on the screen already.
        approve_all: Does what is needed so that no further cell waits; None: that is not offered.

    Returns:
        The decision, or None to leave the cell waiting.
    """
    console.print()
    if asked.printed and asked.printed_by not in shown:
        console.print(Text(f"Cell {asked.printed_by} printed:"))
        for line in printed(asked.printed, MOST_BEFORE):
            console.print(line)
        console.print()
    _show(console, asked)
    console.print()
    _forget_typed()
    every = approve_all if asked.call is None and asked.plan is None else None
    offered = ["[a]pprove", *(["all [f]urther ones too"] if every else []), *(["[e]dit"] if asked.call is None else [])]
    prompt = ", ".join((*offered, "[r]eject", "[q]uit? "))
    try:
        while True:
            word = _typed(prompt).lower()
            if every is not None and word in ("f", "further", "all"):
                every()
                console.print(Text("No further cell of this thread is asked about; --approve asks again.", "dim"))
                return Decision("approve")
            decision = _decided(console, asked, word)
            if decision != "ask again":
                return decision if isinstance(decision, Decision) else None
    except (EOFError, KeyboardInterrupt):
        console.print()
        return None


def _show(console: Console, asked: ApprovalAsked) -> None:
    if asked.plan is not None:
        console.print(Text("A plan waits for approval:", "bold"))
        console.print(Text(plan_text(asked.plan)))
    elif asked.call is not None:
        title, *lines = call_lines(asked.number, asked.call)
        console.print(Text(f"{title[0].upper()}{title[1:]}", "bold"))
        console.print(Text("\n".join(lines)))
        console.print(Text(f"The code of cell {asked.number}:"))
    else:
        console.print(Text(f"Cell {asked.number} waits for approval: {one_line(asked.purpose)}", "bold"))
        if asked.back_to is not None:
            console.print(Text(f"It goes back first: {back_text(asked.back_to)}", "yellow"))
    for line in highlighted(asked.code) if asked.plan is None else ():
        console.print(Text.assemble("  ", line))
    if asked.answer:
        console.print(Text("Then it answers, with the value of each {{expression}}:"))
        console.print(Text("\n".join(f"  {line}" for line in reveal(asked.answer).split("\n"))))
    if asked.functions:
        console.print(Text(f"It names: {one_line(', '.join(asked.functions))}", "yellow"))


def _decided(console: Console, asked: ApprovalAsked, word: str) -> Decision | str:
    if word in ("a", "approve", "y", "yes"):
        return Decision("approve", call=asked.call["id"] if asked.call else "", plan=asked.plan is not None)
    if word in ("r", "reject", "n", "no"):
        return Decision("reject", remark=_typed("What should be different? "))
    if word in ("q", "quit"):
        return "leave"
    if word in ("e", "edit") and asked.call is None:
        try:
            text, name = ("\n".join(asked.plan), "plan.txt") if asked.plan else (asked.code, f"cell-{asked.number}.py")
            changed = edited(text, name)
        except EditorError as problem:
            console.print(Text(str(problem), "yellow"))
        else:
            if asked.plan is not None:
                _show_plan(console, changed)
            return Decision("edit", code=changed, plan=asked.plan is not None)
    return "ask again"


def _show_plan(console: Console, written: str) -> None:
    """An edited plan as it is followed; where nothing of it is left, it is rejected."""
    if steps := steps_written(written):
        console.print(Text("The plan is now:", "bold"))
        console.print(Text(plan_text(steps)))


class EditorError(Exception):
    """The code was not edited; the message says why."""


def edited(text: str, name: str) -> str:
    """Let the user change code or a plan in their editor.

    Raises:
        EditorError: there is no editor, it failed, or it left the text as it was or empty.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(filter(shutil.which, EDITORS), "")
    if not command:
        raise EditorError("No editor was found; set EDITOR to one, or use: stepwell resume … --edit FILE")
    with held_folder("edit") as folder:
        file = folder / name
        file.write_text(text, encoding="utf-8", errors="replace")
        try:
            # The user's own editor, by the user's own choice, without a shell.
            status = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603
            changed = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise EditorError(f"The editor {one_line(command)} could not be used ({error}); set EDITOR.") from None
    if status != 0:
        raise EditorError(f"The editor ended with code {status}; the text is as it was.")
    if not changed.strip() or changed.strip() == text.strip():
        raise EditorError("The editor left the text empty or as it was; approve it, or reject it with a remark.")
    return changed


def _typed(prompt: str) -> str:
    # Carried bytes that are not UTF-8 must not end up in a checkpoint.
    return input(prompt).strip().encode(errors="replace").decode()


def _forget_typed() -> None:
    # What was typed while a cell ran was not meant as an approval of the next.
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the options of a command line say."""

    knobs: Mapping[str, Any] = field(default_factory=dict)
    """The knobs that were named, by their names in Context."""
    artifacts: str = ""
    output: Literal["full", "quiet", "json"] = "full"
    live: bool = True
    network: NetworkChoice = field(default_factory=NetworkChoice)
    accept_changed: bool = False

    def settings(self) -> Settings:
        """The operator's settings with what the command line puts over them."""
        artifacts = {"artifacts": self.artifacts} if self.artifacts else {}
        settings = read_settings(**artifacts, **self.network.settings())
        warn_without_isolation(settings)
        return settings


def run_new(question: str, files: Sequence[str], choices: Choices) -> int:
    """`stepwell run`."""
    question = asked(question)
    inputs, settings = _taken(question, files), choices.settings()
    context = changed(Context(), choices.knobs)

    async def begin() -> Run:
        return runs.start(question, files=inputs, context=context, settings=settings)

    return _conduct(begin, choices, settings)


def run_notebook(path: str, files: Sequence[str], keep_going: bool, choices: Choices) -> int:
    """`stepwell import`."""
    inputs, settings = named_files(files), choices.settings()
    context = changed(Context(), choices.knobs)

    async def begin() -> Run:
        from stepwell.notebooks.importing import import_notebook

        return await import_notebook(path, files=inputs, keep_going=keep_going, context=context, settings=settings)

    return Turns(choices, settings, about_files=False).follow(begin)[0]


def ask_on(name: str, question: str, files: Sequence[str], choices: Choices) -> int:
    """`stepwell ask`."""
    question = asked(question)
    inputs, settings = _taken(question, files), choices.settings()

    async def begin() -> Run:
        return await further_run(await find_thread(name, settings), question, inputs, choices, settings)

    return _conduct(begin, choices, settings)


def go_on(name: str, decision: Decision | None, choices: Choices) -> int:
    """`stepwell resume`."""
    settings = choices.settings()

    async def begin() -> Run:
        return await resumed_run(await find_thread(name, settings), decision, choices, settings)

    return _conduct(begin, choices, settings)


def fork_at(name: str, instruction: str, here: bool, choices: Choices) -> int:
    """`stepwell fork`."""
    settings = choices.settings()
    thread_name, step = parse_step_name(name)

    async def forked() -> str:
        thread = await find_thread(thread_name, settings)
        new_turn = bool(instruction)
        if not here:
            return await fork_thread(thread, step=step, new_turn=new_turn, settings=settings)
        # A question that was answered there is not asked again: without another one the thread is at its answer.
        await fork_here(thread, step=step, new_turn=new_turn, answered=True, settings=settings)
        print_error("published where the thread is: its answer and analysis.py replace those there")
        return thread

    if not instruction:
        new = asyncio.run(forked())
        sys.stdout.write(f"{new}\n")
        finished = asyncio.run(read_thread(new, settings)).status == "finished"
        command = next_command("ask", new, question="…") if finished else next_command("resume", new)
        print_error(f"go on with: {command}")
        return FINISHED

    async def begin() -> Run:
        return await further_run(await forked(), instruction, (), choices, settings)

    return _conduct(begin, choices, settings)


def decided(
    *, approve: bool, edit: Path | None, reject: str | None, call: str | None = None, plan: bool = False
) -> Decision | None:
    """The decision that a command line names, if any.

    Raises:
        UsageError: it names more than one, or the file with the edited code cannot be used.
    """
    if approve + plan + (edit is not None) + (reject is not None) + (call is not None) > 1:
        raise UsageError("Give only one of --approve-plan, --approve-cell, --approve-call, --edit and --reject.")
    if call is not None and not call.strip():
        raise UsageError("--approve-call needs the id of the call; `stepwell show THREAD` names it.")
    if call is not None:
        return Decision("approve", call=call.strip())
    if edit is not None:
        return Decision("edit", code=_code_in(edit))
    if reject is not None:
        return Decision("reject", remark=reject)
    return Decision("approve", plan=plan) if approve or plan else None


def _code_in(file: Path) -> str:
    try:
        code = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read ({error.strerror}); name a file with the edited code or plan."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text; name a file with the edited code or plan.") from None
    if not code.strip():
        raise UsageError(f"{file} is empty; to refuse what waits, use --reject REMARK.")
    return code


def _taken(question: str, files: Sequence[str]) -> list[str]:
    if not question.strip():
        raise UsageError("The question is empty; say what you want to know.")
    return named_files(files)


def asked(question: str) -> str:
    """The question itself: `-` stands for what is piped in."""
    if question != PIPED:
        return question
    if sys.stdin.isatty():
        raise UsageError("As a question, - stands for what is piped in, and nothing is; write the question itself.")
    return sys.stdin.read().strip()


def _conduct(begin: Begin, choices: Choices, settings: Settings) -> int:
    return Turns(choices, settings).follow(begin)[0]


class Turns:
    """Follows runs in the foreground, as the options of a command line say.

    Args:
        choices: The options.
        settings: The operator's, with what the options put over them.
        runner: Has the event loop when several turns follow one another; None: each has its own.
        resume: What is typed to go on with a thread; empty: the command `stepwell resume`.
        about_files: Whether a question about the files is answered.
    """

    def __init__(
        self,
        choices: Choices,
        settings: Settings,
        *,
        runner: asyncio.Runner | None = None,
        resume: str = "",
        about_files: bool = True,
    ) -> None:
        self.choices = choices
        self._settings = settings
        self._runner = runner
        self._resume = resume
        self._about_files = about_files

    def follow(self, begin: Begin) -> tuple[int, str]:
        """Go through a run, and through those that follow decisions.

        Returns:
            The exit code, and the thread; empty when none was begun.
        """
        console, choices = Terminal(), self.choices
        talks = is_conversation() and choices.output != "json"
        options = (*(("--artifacts", choices.artifacts) if choices.artifacts else ()), *choices.network.options())
        shown: set[int] = set()
        asks = partial(ask, console, shown=shown, approve_all=self._approve_all) if talks else None
        foreground = Foreground(ask=asks, options=options, resume=self._resume, about_files=self._about_files)
        view = self._view(console, foreground, shown)
        code = foreground.conduct(begin, self._further, view, self._runner)
        return code, foreground.thread

    def _approve_all(self) -> None:
        self.choices = replace(self.choices, knobs={**self.choices.knobs, "approval": "none"})

    def _view(self, console: Terminal, foreground: Foreground, shown: set[int]) -> View:
        choices, tell_next = self.choices, not self._resume
        if choices.output == "json":
            return JsonView(sys.stdout, lambda: foreground.thread)
        if choices.output == "quiet":
            return PlainView(sys.stdout, None)
        if choices.live and is_screen():
            typing = terminal_input()
            protocol = protocol_of(self._settings.figures, shows_sixel=typing.shows_sixel)
            prices = self._settings.price_list
            return LiveView(console, tell_next=tell_next, prices=prices, shown=shown, protocol=protocol, typing=typing)
        return PlainView(sys.stdout, sys.stderr, tell_next=tell_next)

    def _further(self, thread: str, decision: Decision) -> Begin:
        async def resumed() -> Run:
            return await resumed_run(thread, decision, self.choices, self._settings)

        return resumed


async def resumed_run(thread: str, decision: Decision | None, choices: Choices, settings: Settings) -> Run:
    """The rest of a turn, with what the options change."""
    context = await changed_context(thread, choices.knobs, settings)
    return runs.resume(
        thread, decision=decision, context=context, settings=settings, accept_changed=choices.accept_changed
    )


async def further_run(thread: str, question: str, files: Sequence[str], choices: Choices, settings: Settings) -> Run:
    """A further question on a thread, with what the options change."""
    context = await changed_context(thread, choices.knobs, settings)
    return runs.start(
        question,
        files=files,
        thread=thread,
        context=context,
        settings=settings,
        accept_changed=choices.accept_changed,
    )
