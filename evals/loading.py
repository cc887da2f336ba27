"""Reads suites of questions, in the plain format and in those of public benchmarks, below a folder that users name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.dseval.problem_sets import load_dseval, load_dseval_apart
from evals.tasks import ANSWER_LINE, Expected, Task, Value, load_plain
from stepwell.errors import UsageError

LIST_LINE = "End your answer with one line: `ANSWER: ` and the values alone, as a JSON list."
TYPES = tuple(f"{kind}_{how}" for kind in ("numeric", "string", "list") for how in ("exact", "approximate"))


def load(suite: Path, data: Path, form: str = "") -> list[Task]:
    """Read a suite.

    Args:
        suite: The file of the questions.
        data: The folder that the files' names start from.
        form: One of `FORMATS`; empty: recognised by the file's content.

    Raises:
        UsageError: it cannot be used.
    """
    if form and form not in FORMATS:
        raise UsageError(f"--format cannot be {form!r}; there are: {', '.join(FORMATS)}.")
    return FORMATS[form or recognised(suite)](suite, data)


def recognised(suite: Path) -> str:
    """The format that a file seems to have; `plain` when it is none of the others."""
    if suite.suffix == ".py" or suite.is_dir():
        return "dseval"
    if suite.suffix == ".json":
        return "kramabench"
    try:
        with suite.open(encoding="utf-8") as lines:
            first = json.loads(lines.readline())
    except (OSError, ValueError):
        return "plain"
    return "dabench" if isinstance(first, dict) and {"file_name", "format"} <= set(first) else "plain"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The suite {file} cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def _objects(file: Path) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a file of JSON Lines, and where each is."""
    found = []
    for number, line in enumerate(_text(file).splitlines(), 1):
        where = f"Line {number} of {file}"
        if line.strip():
            try:
                given = json.loads(line)
            except ValueError as error:
                raise UsageError(f"{where} is no JSON: {error}.") from None
            found.append((where, _object(given, where)))
    return found


def _object(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, dict) or "id" not in given:
        raise UsageError(f"{where} has to be a JSON object with an `id`.")
    return given


def _needed(given: dict[str, Any], field: str, where: str) -> str:
    text = given.get(field)
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{where} needs `{field}`, a text.")
    return text


def _distinct(tasks: list[Task], suite: Path) -> list[Task]:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UsageError(f"The suite {suite} has two tasks with the id {task.id!r}.")
        seen.add(task.id)
    if not tasks:
        raise UsageError(f"The suite {suite} holds no task.")
    return tasks


def load_dabench(suite: Path, data: Path) -> list[Task]:
    """Read InfiAgent-DABench: questions and labels in JSON Lines, tables in a folder.

    The labels are beside the questions, in a file with `labels` in its name where theirs has `questions`. The tables
    are in `data`, or in a folder in it whose name ends with `tables`.

    Raises:
        UsageError: a line cannot be used, or a file is not there.
    """
    answers = {str(given["id"]): _labels(given, where) for where, given in _objects(_labels_file(suite))}
    tasks = []
    for where, given in _objects(suite):
        name = str(given["id"])
        if name not in answers:
            raise UsageError(f"{where} has the id {name!r}, which the labels do not have.")
        parts = [_needed(given, "question", where), given.get("constraints"), _needed(given, "format", where)]
        asked = "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())
        names, values = zip(*answers[name], strict=True)
        question = f"{asked}\n\nEnd your answer with these tags, each as `@name[value]`."
        table = _table(_needed(given, "file_name", where), data, where)
        tasks.append(Task(name, (question,), (Expected(values, rule="dabench", names=names),), (table,)))
    return _distinct(tasks, suite)


def _labels_file(suite: Path) -> Path:
    labels = suite.with_name(suite.name.replace("questions", "labels"))
    if labels == suite or not labels.is_file():
        raise UsageError(f"The labels of {suite} are missing; name the files …questions.jsonl and …labels.jsonl.")
    return labels


def _labels(given: dict[str, Any], where: str) -> list[tuple[str, str]]:
    pairs = given.get("common_answers")
    if not isinstance(pairs, list) or not pairs or not all(isinstance(one, list) and len(one) == 2 for one in pairs):
        raise UsageError(f"{where} needs `common_answers`: a list of [name, value].")
    return [(str(name), str(value)) for name, value in pairs]


def _table(name: str, data: Path, where: str) -> str:
    for folder in (data, *sorted(data.glob("*tables"))):
        if (folder / name).is_file():
            return str((folder / name).absolute())
    raise UsageError(f"{where} names {name}, which is not in {data}; check --data.")


def load_kramabench(suite: Path, data: Path) -> list[Task]:
    """Read a workload of KramaBench: a JSON list of tasks, whose sources are in a data lake.

    The sources that a task names go along with its question. Its subtasks are left out.

    Raises:
        UsageError: a task cannot be used, or a file is not there.
    """
    try:
        given = json.loads(_text(suite))
    except ValueError as error:
        raise UsageError(f"The suite {suite} is no JSON: {error}.") from None
    if not isinstance(given, list):
        raise UsageError(f"The suite {suite} has to be a JSON list of tasks with `id`, `query`, `answer`.")
    return _distinct([_workload_task(one, data, f"Task {n} of {suite}") for n, one in enumerate(given, 1)], suite)


def _workload_task(given: Any, data: Path, where: str) -> Task:
    about = _object(given, where)
    kind = about.get("answer_type")
    if kind not in TYPES:
        raise UsageError(f"{where} has the answer_type {kind!r}; there are: {', '.join(TYPES)}.")
    if "answer" not in about:
        raise UsageError(f"{where} needs `answer`.")
    others = about.get("accepted_answers", [])
    if not isinstance(others, list):
        raise UsageError(f"{where} has `accepted_answers` that are no list.")
    line = LIST_LINE if kind.startswith("list") else ANSWER_LINE
    wanted, *accepted = [_values(one, kind, where) for one in (about["answer"], *others)]
    expected = Expected(wanted, rule=kind, accepted=tuple(accepted))
    question = f"{_needed(about, 'query', where).rstrip()}\n\n{line}"
    return Task(str(about["id"]), (question,), (expected,), _sources(about.get("data_sources", []), data, where))


def _values(given: Any, kind: str, where: str) -> tuple[Value, ...]:
    if kind.startswith("list") and isinstance(given, str):  # the benchmark takes a list in a text for the list
        try:
            given = json.loads(given)
        except ValueError:
            given = None
    values = given if kind.startswith("list") else [given]
    if not isinstance(values, list) or not all(type(one) in (str, int, float) for one in values):
        raise UsageError(f"{where} has an `answer` that is not of its type, {kind}.")
    return tuple(values)


def _sources(names: Any, data: Path, where: str) -> tuple[str, ...]:
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise UsageError(f"{where} has `data_sources` that are no list of names.")
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(_source(name, data, where)))
    return tuple(found)


def _source(name: str, data: Path, where: str) -> list[str]:
    """The files that a source is: one, those of a folder, or those of a pattern."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise UsageError(f"{where} names {name}, which leads out of the folder of --data.")
    for folder in (data, data / "input"):
        path = folder / name
        matches = [path] if path.is_file() else sorted(path.rglob("*") if path.is_dir() else folder.glob(name))
        if files := [str(one.absolute()) for one in matches if one.is_file()]:
            return files
    raise UsageError(f"{where} names {name}, which is not in {data}; check --data.")


FORMATS: dict[str, Callable[[Path, Path], list[Task]]] = {
    "plain": load_plain,
    "dabench": load_dabench,
    "kramabench": load_kramabench,
    "dseval": load_dseval,
    "dseval-apart": load_dseval_apart,
}
