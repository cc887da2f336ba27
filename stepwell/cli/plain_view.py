"""Views for pipes, files and logs: progress on stderr, the answer on stdout; or every event as a line of JSON."""

import json
from collections.abc import Callable, Sequence
from typing import TextIO

from graph.events import (
    CellFinished,
    CellStarted,
    Event,
    Finished,
    FunctionCalled,
    InputTaken,
    ModelAskedAgain,
    Notice,
    Planned,
    Published,
    SentBack,
    SessionRestored,
    Started,
)
from graph.settings import NO_ISOLATION_WARNING
from stepwell.cli.terminal_text import clean, duration_text, one_line, size_text
from stepwell.cli.wording import (
    again_text,
    artifact_line,
    ending,
    made,
    next_command,
    removed,
    restore_problems,
    restored_text,
    sums,
    tokens_of,
)
from storage.clean_text import clean_prose


class PlainView:
    """One line per event on `progress`; the answer, its concerns and its files on `result`.

    What cells print is left out; `stepwell log --code` shows it afterwards.

    Args:
        result: Where the answer goes.
        progress: Where the lines go; None: nowhere.
        tell_next: Whether the command that asks on is said after an answer.
    """

    def __init__(self, result: TextIO, progress: TextIO | None, *, tell_next: bool = True) -> None:
        self._result = result
        self._tell_next = tell_next
        self._progress = progress

    def open(self) -> None:
        """Nothing needs to be prepared."""

    def tick(self) -> None:
        """Nothing moves between events."""

    def show(self, event: Event) -> None:
        """Write what the event has to say, if anything."""
        if isinstance(event, Finished):
            self._finish(event)
        elif self._progress is not None:
            for line in progress_lines(event):
                print(line, file=self._progress, flush=True)

    def say(self, text: str) -> None:
        """Write a sentence of the command's own."""
        if self._progress is not None:
            print(clean(text), file=self._progress, flush=True)

    def close(self) -> None:
        """Nothing needs to be put back."""

    def _finish(self, event: Finished) -> None:
        print(result_text(event), file=self._result, flush=True)
        total = sums(event.cells, tokens_of(event), event.seconds, event.model, event.cost)
        go_on = f"; go on with: {next_command('ask', event.thread, question='…')}" if self._tell_next else ""
        self.say(f"finished: {total}{go_on}")


class JsonView:
    """Every event as one JSON object on a line, with its kind under `event` and the thread under `thread`."""

    def __init__(self, result: TextIO, thread: Callable[[], str]) -> None:
        self._result = result
        self._thread = thread

    def open(self) -> None:
        """Nothing needs to be prepared."""

    def tick(self) -> None:
        """Nothing moves between events."""

    def show(self, event: Event) -> None:
        """Write the event."""
        # ASCII: what a cell printed may hold half a character, which no encoding can write.
        print(json.dumps({"thread": self._thread(), **event.as_json()}), file=self._result, flush=True)

    def say(self, text: str) -> None:
        """Sentences have no place among events."""

    def close(self) -> None:
        """Nothing needs to be put back."""


def result_text(event: Finished) -> str:
    """The answer as Markdown, what was not verified, and where the files are."""
    parts = [clean_prose(event.answer).strip()]
    if event.concerns:
        parts.append("\n".join(f"Not verified: {one_line(concern)}" for concern in event.concerns))
    if event.artifacts:
        parts.append("Files:\n\n" + "\n".join(f"- {artifact_line(artifact)}" for artifact in event.artifacts))
    return "\n\n".join(parts)


def progress_lines(event: Event) -> Sequence[str]:
    """The lines that a log keeps of an event: none for what only moves on a screen."""
    match event:
        case Started(thread=thread, question=question, resumed=resumed, model=model):
            asked = [f"model {one_line(model, 200)}"] if model else []
            return [f"thread {thread}{' goes on' if resumed else ''}: {one_line(question)}", *asked]
        case Notice(text=text) if text == NO_ISOLATION_WARNING:
            return []  # the command has said so
        case Notice(text=text, level=level):
            return [f"{'warning: ' if level == 'warning' else ''}{one_line(text)}"]
        case InputTaken(input=taken):
            state = f"cannot be read: {one_line(taken['problem'])}" if taken["problem"] else size_text(taken["size"])
            return [f"input {one_line(taken['path'])}: {state}"]
        case Planned(steps=steps):
            return [f"plan {number}: {one_line(step['text'])}" for number, step in enumerate(steps, 1)]
        case CellStarted(number=number, purpose=purpose):
            return [f"cell {number}: {one_line(purpose)}"]
        case FunctionCalled(function=function, arguments=arguments, outcome=outcome):
            return [f"  called {one_line(f'{function}({arguments})', 200)}: {one_line(outcome)}"]
        case CellFinished(cell=cell):
            files = f", made {made(cell)}" if made(cell) else ""
            gone = f", removed {removed(cell)}" if removed(cell) else ""
            return [f"cell {cell['number']} {ending(cell)}, {duration_text(cell['seconds'])}{files}{gone}"]
        case SessionRestored() | ModelAskedAgain():
            return _lines_of_trouble(event)
        case SentBack(missing=missing):
            return [f"answer sent back: {one_line(lack)}" for lack in missing]
        case Published(artifact=artifact):
            return [f"file {artifact_line(artifact)}"]
        case _:
            return []  # the command says in every view how a run failed or what it waits for


def _lines_of_trouble(event: SessionRestored | ModelAskedAgain) -> Sequence[str]:
    if isinstance(event, ModelAskedAgain):
        return [again_text(event)]
    return [restored_text(event), *(f"warning: {line}" for line in restore_problems(event))]
