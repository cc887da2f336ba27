"""`stepwell chat`: questions one after another, at a prompt or from a pipe, on one thread."""

import asyncio
import io
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from graph.context import Context
from graph.settings import Settings
from models.selection import PLAYBOOK
from stepwell import runs
from stepwell.cli.chat_commands import HELP, ChatCommands, is_command
from stepwell.cli.command_options import named_files
from stepwell.cli.exits import FAILED, FINISHED, PAUSED, PIPE_BROKEN, UNREAD, print_error, run_command
from stepwell.cli.foreground import Begin
from stepwell.cli.line_editing import completing, piped, remembering, typed
from stepwell.cli.run import Choices, Turns, further_run, resumed_run
from stepwell.cli.terminal_text import one_line
from stepwell.cli.wording import next_command
from stepwell.errors import ThreadError, UsageError
from stepwell.forks import fork_here
from stepwell.runs import NOT_BEGUN, Run
from stepwell.stored_context import changed, stored_model
from stepwell.threads import ThreadDetail, find_thread, read_thread

PROMPT, MORE = "> ", ". "
ENDED = (128 + signal.SIGTERM, 128 + signal.SIGHUP, PIPE_BROKEN)
"""Exit codes after which nobody is there any more."""
UNFINISHED = "the turn is not finished: /resume goes on with it; another question leaves it, and its steps stay"


class TerminatedError(Exception):
    """The terminal went away, or somebody ended the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def open_chat(name: str, files: list[str], choices: Choices) -> int:
    """Answer what is typed, or what comes from a pipe.

    Args:
        name: The thread to go on with; empty: a new one.
        files: What goes with the first question.
        choices: The options.

    Returns:
        The exit code: 1 when something from a pipe failed.
    """
    inputs, settings = named_files(files), choices.settings()
    changed(Context(), choices.knobs)  # a wrong value is said before anything is typed
    detail = asyncio.run(_found(name, settings)) if name else None
    with asyncio.Runner() as runner:
        chat = Chat(choices, settings, runner, detail, inputs)
        if not sys.stdin.isatty():
            return chat.answer_all()
        return chat.converse()


async def _found(name: str, settings: Settings) -> ThreadDetail:
    return await read_thread(await find_thread(name, settings), settings)


class Chat:
    """One conversation.

    Args:
        choices: The options of the command line.
        settings: The operator's, with what the options put over them.
        runner: Has the event loop that all turns share.
        detail: The thread that is gone on with; None: the first question begins one.
        files: What goes with the first question.
    """

    def __init__(
        self,
        choices: Choices,
        settings: Settings,
        runner: asyncio.Runner,
        detail: ThreadDetail | None,
        files: list[str],
    ) -> None:
        self.choices = choices
        self.settings = settings
        self.runner = runner
        self.thread = detail.id if detail is not None else ""
        self.files = files
        """What goes with the next question."""
        self.unfinished = detail is not None and detail.status != "finished"
        """Whether the thread is still at its last question."""
        self.left = False
        self._commands = ChatCommands(self)

    def converse(self) -> int:
        """Read and answer until Ctrl-D or /quit."""
        self._greet()
        commands = self._commands
        history = self.settings.home / "chat_history"
        with remembering(history, all_lines=False), completing(commands.names, commands.with_files):
            while not self.left:
                try:
                    with _noticing_the_end():
                        text = typed(PROMPT, MORE)
                except EOFError:
                    sys.stdout.write("\n")
                    break
                except KeyboardInterrupt:
                    sys.stdout.write("\n")
                    continue
                except TerminatedError as ended:
                    return ended.code
                code = self.take(text)
                if code in ENDED:
                    return code
        if self.thread:
            print_error(f"go on later with: {next_command('chat', self.thread)}")
        return FINISHED

    def answer_all(self) -> int:
        """Answer what comes from a pipe, one question or command a line.

        Returns:
            0 when all went well, 1 when something failed; what a signal ends, ends with its code.
        """
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        failed = False
        for text in piped():
            code = self.take(text)
            if code in (*ENDED, PAUSED):
                return code
            failed = failed or code not in (FINISHED, UNREAD)
            if self.left:
                break
        return FAILED if failed else FINISHED

    def take(self, text: str) -> int:
        """Answer a question, or do a command; returns the exit code that a command line would have for it."""
        text = text.strip()
        if not text:
            return FINISHED
        return run_command(lambda: self._do(text))

    def _do(self, text: str) -> int:
        try:
            return self._commands.do(text) if is_command(text) else self.ask(text)
        except ThreadError as error:
            raise ThreadError(error.in_chat or str(error)) from error

    def ask(self, question: str) -> int:
        """Ask it on the thread, or on a new one."""
        files, settings = tuple(self.files), self.settings

        async def begin() -> Run:
            if not self.thread:
                context = changed(Context(), self.choices.knobs)
                return runs.start(question, files=files, context=context, settings=settings)
            if self.unfinished and not _not_begun(await read_thread(self.thread, settings)):
                await fork_here(self.thread, new_turn=True, settings=settings)
            return await further_run(self.thread, question, files, self.choices, settings)

        return self._follow(begin)

    def go_on(self) -> int:
        """Go on with the turn that was paused, failed, or waits for approval.

        Raises:
            UsageError: there is none.
        """
        thread = self.need_thread()

        async def begin() -> Run:
            return await resumed_run(thread, None, self.choices, self.settings)

        return self._follow(begin)

    def need_thread(self) -> str:
        """The thread's id.

        Raises:
            UsageError: no question has been asked yet.
        """
        if not self.thread:
            raise UsageError("There is no thread yet; ask a question first, or start with: stepwell chat THREAD")
        return self.thread

    def go_to(self, thread: str) -> None:
        """Go on with another thread, or with this one after it went back: the next question is a new one there."""
        self.thread, self.unfinished = thread, False

    def use_model(self, name: str) -> None:
        """Ask another model from the next question on."""
        self.choices = replace(self.choices, knobs={**self.choices.knobs, "model": name})

    def model(self) -> str:
        """The name of the model that is asked next."""
        named = self.choices.knobs.get("model") or ""
        if not named and self.thread:
            named = asyncio.run(stored_model(self.thread, self.settings))
        return str(named).strip() or self.settings.model.strip() or PLAYBOOK

    def _follow(self, begin: Begin) -> int:
        turns = Turns(self.choices, self.settings, runner=self.runner, resume="/resume")
        code, began = FAILED, ""
        try:
            code, began = turns.follow(begin)
        finally:
            # Also when an error comes out of it: what is there of the thread decides what the next line means.
            self._see(code, began or self.thread)
        if not sys.stdin.isatty() and code == FINISHED:
            sys.stdout.write("\n")  # between two answers
            sys.stdout.flush()
        return code

    def _see(self, code: int, thread: str) -> None:
        if code == FINISHED:
            self.thread, self.unfinished, self.files = thread, False, []
            return
        if code in ENDED or not thread:
            return
        try:
            detail = self.runner.run(read_thread(thread, self.settings))
        except ThreadError:
            return  # it stopped before anything of it was kept
        self.thread, self.unfinished = thread, detail.status != "finished"
        if not _not_begun(detail):
            self.files = []
        if self.unfinished and sys.stdin.isatty():
            print_error(UNFINISHED)

    def _greet(self) -> None:
        if self.thread:
            detail = asyncio.run(read_thread(self.thread, self.settings))
            question = one_line(detail.state.get("question") or "", 200)
            print_error(f"thread {self.thread} goes on; its last question: {question}")
            if self.unfinished:
                print_error(UNFINISHED)
        else:
            print_error("A new thread. Ask a question; /add FILE… gives it files.")
        print_error(HELP)


def _not_begun(detail: ThreadDetail) -> bool:
    """Whether the turn stopped before its plan, so that it may be asked anew in other words."""
    return bool(detail.next) and all(node in NOT_BEGUN for node in detail.next)


@contextmanager
def _noticing_the_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end what is typed, so that the history is kept."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TerminatedError(number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
