"""Tasks of an evaluation, and the plain format: JSON Lines of question, files, expected and tolerance."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell.errors import UsageError

ANSWER_LINE = "End your answer with one line: `ANSWER: ` and the value alone; separate several values with `;`."
KNOWN = {"id", "question", "files", "expected", "tolerance"}
Value = str | int | float


@dataclass(frozen=True, slots=True)
class FileExpected:
    """A file that the analysis must deliver."""

    name: str
    columns: tuple[str, ...] = ()
    """Of a table in CSV: its columns, in this order; empty: any."""
    rows: int | None = None
    """Of a table in CSV: how many there are below the header; None: any."""
    sums: tuple[tuple[str, float], ...] = ()
    """Of a table in CSV: columns and their sums, to half a unit of the last decimal that was written."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is checked of the answer to one question."""

    values: tuple[Value, ...] = ()
    """What the line `ANSWER:` must hold, in this order."""
    tolerance: float | None = None
    """How far a number may be off; None: half a unit of the last decimal that was written."""
    files: tuple[FileExpected, ...] = ()
    rule: str = ""
    """How a public format scores: `dabench`, or KramaBench's type of the answer; empty: `score_answer`."""
    names: tuple[str, ...] = ()
    """Of `dabench`: the tags that the values stand in."""
    accepted: tuple[tuple[Value, ...], ...] = ()
    """Other values that are as right."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is checked of the session after one question: it is compared with that of reference code."""

    before: str
    """Run before the question, as a cell of the user's own; empty: nothing is."""
    reference: str
    checks: list[Any]
    """Its validators; see `evals.dseval.validators`."""
    unsupported: str = ""
    """Why it cannot be checked; empty when it can."""
    forbidden: tuple[str, ...] = ()
    """Names that the answer's cells may not use."""


@dataclass(frozen=True, slots=True)
class Task:
    """Questions asked one after another on one thread, and what their answers must be."""

    id: str
    questions: tuple[str, ...]
    expected: tuple[Expected | None, ...]
    """One for each question; None: the answer is not checked."""
    files: tuple[str, ...] = ()
    """Absolute paths; they go with the first question."""
    problems: tuple[Problem, ...] = ()
    """One for each question whose session is checked; empty: answers and files are."""


def load_plain(file: Path, data: Path) -> list[Task]:
    """Read a suite of tasks.

    Args:
        file: JSON Lines: `id`, `question` (or a list of them), `files`, `expected`, `tolerance`.
        data: The folder that the files' names start from.

    Raises:
        UsageError: a line cannot be used, or a file that it names is not there.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The suite {file} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    tasks: dict[str, Task] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"Line {number} of {file}"
        task = _task(_parsed(line, where), str(number), data, where)
        if task.id in tasks:
            raise UsageError(f"{where} has the id {task.id!r} of an earlier line; give each task an id of its own.")
        tasks[task.id] = task
    if not tasks:
        raise UsageError(f"The suite {file} holds no task; write one JSON object a line.")
    return list(tasks.values())


def _parsed(line: str, where: str) -> dict[str, Any]:
    try:
        given = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where} is no JSON: {error}.") from None
    if not isinstance(given, dict):
        raise UsageError(f"{where} has to be a JSON object with `question` and `expected`.")
    if unknown := sorted(set(given) - KNOWN):
        raise UsageError(f"{where} has the unknown field {unknown[0]!r}; there are: {', '.join(sorted(KNOWN))}.")
    return given


def _task(given: dict[str, Any], default: str, data: Path, where: str) -> Task:
    question = given.get("question")
    questions = question if isinstance(question, list) else [question]
    if not questions or not all(isinstance(one, str) and one.strip() for one in questions):
        raise UsageError(f"{where} needs a `question`: a text, or a list of texts.")
    if "expected" not in given:
        raise UsageError(f"{where} needs `expected`: what the answer must be.")
    answers = given["expected"] if isinstance(question, list) else [given["expected"]]
    if not isinstance(answers, list) or len(answers) != len(questions):
        raise UsageError(f"{where} has {len(questions)} questions; give `expected` as a list of as many.")
    tolerance = given.get("tolerance")
    if tolerance is not None and (not _is_number(tolerance) or not 0 <= tolerance < float("inf")):
        raise UsageError(f"{where} has a `tolerance` that is no number from 0 upwards.")
    expected = tuple(_expected(one, tolerance, where) for one in answers)
    asked = tuple(
        f"{one.rstrip()}\n\n{ANSWER_LINE}" if wanted is not None and wanted.values else one
        for one, wanted in zip(questions, expected, strict=True)
    )
    return Task(str(given.get("id", default)), asked, expected, _files(given.get("files", []), data, where))


def _files(names: Any, data: Path, where: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{where} has `files` that are no list of names.")
    for name in names:
        if not (data / name).is_file():
            raise UsageError(f"{where} names {name}, which is not in {data}; check --data.")
    return tuple(str((data / name).absolute()) for name in names)


def _expected(given: Any, tolerance: float | None, where: str) -> Expected | None:
    if given is None:
        return None
    if isinstance(given, dict):
        files = given.get("files")
        if set(given) - {"answer", "files"} or not isinstance(files, dict) or not files:
            raise UsageError(f"{where} has an `expected` that is not understood: an object has `files` and `answer`.")
        answer = _expected(given["answer"], tolerance, where) if "answer" in given else None
        wanted = tuple(_file(name, about, where) for name, about in files.items())
        return Expected(answer.values if answer else (), tolerance, wanted)
    values = given if isinstance(given, list) else [given]
    if not values or not all(isinstance(one, str) or _is_number(one) for one in values):
        raise UsageError(f"{where} has an `expected` that is no number, text, list of them, or object with `files`.")
    return Expected(tuple(values), tolerance)


def _file(name: str, about: Any, where: str) -> FileExpected:
    if not isinstance(about, dict) or set(about) - {"columns", "rows", "sums"}:
        raise UsageError(f"{where}: say of the file {name} what it has: {{}}, `columns`, `rows`, `sums`.")
    columns, rows, sums = about.get("columns", []), about.get("rows"), about.get("sums", {})
    if not isinstance(columns, list) or not (rows is None or type(rows) is int):
        raise UsageError(f"{where}: `columns` of {name} has to be a list, and `rows` a whole number.")
    if not isinstance(sums, dict) or not all(_is_number(one) for one in sums.values()):
        raise UsageError(f"{where}: `sums` of {name} has to be an object of columns and their sums.")
    return FileExpected(name, tuple(str(one) for one in columns), rows, tuple(sums.items()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def run_name(text: str) -> str:
    """A text as the name of a folder."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:80] or "run"
