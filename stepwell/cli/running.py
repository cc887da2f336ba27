"""The commands that run something: a new thread, a further question, the rest of a turn."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from graph.context import Context
from graph.settings import Settings, read_settings
from stepwell import runs
from stepwell.cli import approval
from stepwell.cli.exits import FINISHED, say_without_walls
from stepwell.cli.foreground import Begin, Foreground, View
from stepwell.cli.live_view import LiveView
from stepwell.cli.named_files import named_files
from stepwell.cli.network_choice import NetworkChoice
from stepwell.cli.plain_view import JsonView, PlainView
from stepwell.cli.terminal import Terminal, is_conversation, is_screen
from stepwell.errors import UsageError
from stepwell.forking import fork_here, fork_thread
from stepwell.remembered import changed, with_changes
from stepwell.runs import Decision, Run
from stepwell.steps import step_named
from stepwell.threads import find_thread


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
        say_without_walls(settings)
        return settings


def run_new(question: str, files: Sequence[str], choices: Choices) -> int:
    """`stepwell run`."""
    inputs, settings = _taken(question, files), choices.settings()
    context = changed(Context(), choices.knobs)

    async def begin() -> Run:
        return runs.start(question, files=inputs, context=context, settings=settings)

    return _conduct(begin, choices, settings)


def ask_on(name: str, question: str, files: Sequence[str], choices: Choices) -> int:
    """`stepwell ask`."""
    inputs, settings = _taken(question, files), choices.settings()

    async def begin() -> Run:
        thread = await find_thread(name, settings)
        context = await with_changes(thread, choices.knobs, settings)
        return runs.start(
            question,
            files=inputs,
            thread=thread,
            context=context,
            settings=settings,
            accept_changed=choices.accept_changed,
        )

    return _conduct(begin, choices, settings)


def go_on(name: str, decision: Decision | None, choices: Choices) -> int:
    """`stepwell resume`."""
    settings = choices.settings()

    async def begin() -> Run:
        thread = await find_thread(name, settings)
        context = await with_changes(thread, choices.knobs, settings)
        return runs.resume(
            thread, decision=decision, context=context, settings=settings, accept_changed=choices.accept_changed
        )

    return _conduct(begin, choices, settings)


def fork_at(name: str, instruction: str, here: bool, choices: Choices) -> int:
    """`stepwell fork`."""
    settings = choices.settings()
    thread_name, step = step_named(name)

    async def forked() -> str:
        thread = await find_thread(thread_name, settings)
        fork = fork_here if here else fork_thread
        return await fork(thread, step=step, new_turn=bool(instruction), settings=settings)

    if not instruction:
        new = asyncio.run(forked())
        sys.stdout.write(f"{new}\n")
        sys.stderr.write(f"go on with: stepwell resume {new}, or: stepwell ask {new} QUESTION once it is finished\n")
        return FINISHED

    async def begin() -> Run:
        new = await forked()
        context = await with_changes(new, choices.knobs, settings)
        return runs.start(
            instruction, thread=new, context=context, settings=settings, accept_changed=choices.accept_changed
        )

    return _conduct(begin, choices, settings)


def decided(*, approve: bool, edit: Path | None, reject: str | None, call: str | None = None) -> Decision | None:
    """The decision that a command line names, if any.

    Raises:
        UsageError: it names more than one, or the file with the edited code cannot be used.
    """
    if approve + (edit is not None) + (reject is not None) + (call is not None) > 1:
        raise UsageError("Give only one of --approve-cell, --approve-call, --edit and --reject.")
    if call is not None and not call.strip():
        raise UsageError("--approve-call needs the id of the call; `stepwell show THREAD` names it.")
    if call is not None:
        return Decision("approve", call=call.strip())
    if edit is not None:
        return Decision("edit", code=_code_in(edit))
    if reject is not None:
        return Decision("reject", remark=reject)
    return Decision("approve") if approve else None


def _code_in(file: Path) -> str:
    try:
        code = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror}); name a file with the edited code.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text; name a file with the edited code.") from None
    if not code.strip():
        raise UsageError(f"{file} is empty; to refuse the cell, use --reject REMARK.")
    return code


def _taken(question: str, files: Sequence[str]) -> list[str]:
    if not question.strip():
        raise UsageError("The question is empty; say what you want to know.")
    return named_files(files)


def _conduct(begin: Begin, choices: Choices, settings: Settings) -> int:
    def further(thread: str, decision: Decision) -> Begin:
        async def resumed() -> Run:
            context = await with_changes(thread, choices.knobs, settings)
            return runs.resume(
                thread, decision=decision, context=context, settings=settings, accept_changed=choices.accept_changed
            )

        return resumed

    console = Terminal()
    talks = is_conversation() and choices.output != "json"
    options = (*(("--artifacts", choices.artifacts) if choices.artifacts else ()), *choices.network.options())
    foreground = Foreground(ask=partial(approval.ask, console) if talks else None, options=options)
    return foreground.conduct(begin, further, _view(choices, console, foreground))


def _view(choices: Choices, console: Terminal, foreground: Foreground) -> View:
    if choices.output == "json":
        return JsonView(sys.stdout, lambda: foreground.thread)
    if choices.output == "quiet":
        return PlainView(sys.stdout, None)
    if choices.live and is_screen():
        return LiveView(console)
    return PlainView(sys.stdout, sys.stderr)
