"""The commands within `stepwell chat`: lines that begin with a slash."""

import asyncio
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph.settings import Settings
from nodes.budget import tokens_spent
from stepwell.cli.command_options import named_files
from stepwell.cli.exits import FINISHED, print_error
from stepwell.cli.inspection import print_thread, show_log
from stepwell.cli.terminal_text import clean, one_line, size_text, wrapped
from stepwell.cli.thread_lines import input_line, usage_line
from stepwell.cli.wording import artifact_line
from stepwell.comparison import files_by_cells
from stepwell.errors import UsageError
from stepwell.forks import fork_here, fork_thread
from stepwell.steps import STEP, parse_step_name
from stepwell.threads import read_thread

COMMAND = re.compile(r"/[a-z?]*(?=\s|$)")
"""A path at the beginning of a question has another slash in it, or a dot."""
HELP = "/help lists the commands; \\ at the end of a line continues it; Ctrl-C pauses a turn, Ctrl-D ends."


class Conversation(Protocol):
    """What commands are done on."""

    settings: Settings
    thread: str
    """Its id; empty before the first question."""
    files: list[str]
    """What goes with the next question."""
    left: bool

    def need_thread(self) -> str:
        """The thread's id; raises UsageError when there is none."""

    def go_to(self, thread: str) -> None:
        """Ask the next question there, as a new one."""

    def go_on(self) -> int:
        """Go on with a turn that is not finished."""

    def use_model(self, name: str) -> None:
        """Ask another model from the next question on."""

    def model(self) -> str:
        """The name of the model that is asked next."""


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command, as it is listed and done."""

    arguments: str
    text: str
    do: Callable[[str], int]


def is_command(text: str) -> bool:
    """Whether a line is a command and no question."""
    return COMMAND.match(text) is not None


class ChatCommands:
    """Does the commands of one conversation.

    Args:
        chat: The conversation.
    """

    with_files: Sequence[str] = ("/add",)

    def __init__(self, chat: Conversation) -> None:
        self._chat = chat
        self._commands = {
            "/add": ChatCommand("FILE…", "give files, folders, globs or URLs with the next question", self._add),
            "/files": ChatCommand("", "the files that were given, made and published", self._files),
            "/steps": ChatCommand("", "the tree of steps", self._steps),
            "/show": ChatCommand("[STEP]", "the thread, or a step: code, output, variables, files", self._show),
            "/back": ChatCommand("STEP", "go back to a step in this thread; later ones stay in the tree", self._back),
            "/fork": ChatCommand("STEP", "go on at a step in a new thread", self._fork),
            "/resume": ChatCommand("", "go on with a turn that was paused, failed or waits", self._resume),
            "/model": ChatCommand("[NAME]", "ask another model from now on, or say which is asked", self._model),
            "/cost": ChatCommand("", "what the thread has used", self._cost),
            "/help": ChatCommand("", "this list", self._help),
            "/quit": ChatCommand("", "end, as Ctrl-D does", self._quit),
        }  # fmt: skip

    @property
    def names(self) -> list[str]:
        """All commands."""
        return list(self._commands)

    def do(self, line: str) -> int:
        """Do a command.

        Returns:
            The exit code that a command line would have for it.

        Raises:
            UsageError: there is no such command, or it is used wrongly.
            ThreadError: there is no such step.
        """
        name, _, rest = line.partition(" ")
        command = self._commands.get(name.strip())
        if command is None:
            raise UsageError(f"There is no command {one_line(name, 50)}; /help lists them.")
        if rest.strip() and not command.arguments:
            raise UsageError(f"{name} takes nothing behind it.")
        return command.do(rest.strip())

    def _add(self, rest: str) -> int:
        try:
            names = shlex.split(rest)
        except ValueError:
            raise UsageError("A quotation mark is not closed: /add 'my file.csv'") from None
        if not names:
            raise UsageError("/add needs the name of a file: /add sales.csv 'more/*.xlsx'")
        files = named_files(names)
        known = self._chat.files
        self._chat.files = list(dict.fromkeys([*known, *files]))
        for file in files:
            print_error(f"+ {one_line(file)} goes with the next question")
        return FINISHED

    def _files(self, rest: str) -> int:
        chat = self._chat
        lines = [f"- {one_line(file)} (goes with the next question)" for file in chat.files]
        if chat.thread:
            state = asyncio.run(read_thread(chat.thread, chat.settings)).state
            lines += [input_line(taken["path"], taken) for taken in state.get("inputs") or []]
            made = files_by_cells(state).items()
            lines += [f"- {one_line(path)} ({size_text(size)})" for path, size in made]
            lines += [f"- published: {artifact_line(artifact)}" for artifact in state.get("artifacts") or []]
        _say("\n".join(lines) or "There are no files yet; /add FILE gives one.")
        return FINISHED

    def _steps(self, rest: str) -> int:
        return show_log(self._chat.need_thread(), 100, code=False, as_json=False)

    def _show(self, rest: str) -> int:
        return print_thread(self._place(rest) if rest else self._chat.need_thread(), as_json=False)

    def _back(self, rest: str) -> int:
        chat = self._chat
        thread, step = parse_step_name(self._place(rest))
        asyncio.run(fork_here(thread, step=step, new_turn=True, settings=chat.settings))
        chat.go_to(thread)
        print_error(f"at step {step} again; the next question goes on from there, and /steps shows what came after it")
        return FINISHED

    def _fork(self, rest: str) -> int:
        chat = self._chat
        thread, step = parse_step_name(self._place(rest))
        new = asyncio.run(fork_thread(thread, step=step, new_turn=True, settings=chat.settings))
        chat.go_to(new)
        print_error(f"thread {new} begins at step {step} of thread {thread}; the next question is asked there")
        return FINISHED

    def _place(self, step: str) -> str:
        thread = self._chat.need_thread()
        if not step:
            raise UsageError("A step is missing: give its number, such as 3 or 4b; /steps lists them.")
        if not STEP.fullmatch(step):
            raise UsageError(
                f"{one_line(step, 50)!r} names no step: give its number, such as 3 or 4b; /steps lists them."
            )
        return f"{thread}@{step}"

    def _resume(self, rest: str) -> int:
        return self._chat.go_on()

    def _model(self, rest: str) -> int:
        if rest:
            self._chat.use_model(rest)
            print_error(f"model {one_line(rest, 200)} from the next question on")
            return FINISHED
        _say(f"model {one_line(self._chat.model(), 200)}")
        return FINISHED

    def _cost(self, rest: str) -> int:
        chat = self._chat
        state = asyncio.run(read_thread(chat.need_thread(), chat.settings)).state
        _say(usage_line(state))
        prices = chat.settings.price_list
        if prices is None:
            _say("No prices are set; STEPWELL_PRICES=2.5,10 sets those of a million tokens in and of a million out.")
        else:
            _say(f"{prices.cost(*tokens_spent(state)):.4f} by STEPWELL_PRICES")
        return FINISHED

    def _help(self, rest: str) -> int:
        width = max(len(f"{name} {command.arguments}") for name, command in self._commands.items())
        for name, command in self._commands.items():
            _say(f"{f'{name} {command.arguments}':<{width}}  {command.text}")
        _say("Anything else is a question. " + HELP)
        return FINISHED

    def _quit(self, rest: str) -> int:
        self._chat.left = True
        return FINISHED


def _say(text: str) -> None:
    text = clean(text)
    sys.stdout.write((wrapped(text) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()
