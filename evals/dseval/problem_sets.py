"""Reads problem sets of DSEval: Python files whose cells have a question and validators in a header of YAML."""

import ast
import re
from pathlib import Path
from typing import Any

from evals.dseval.validators import UnsupportedError, Validator, read_validators
from evals.tasks import Problem, Task
from stepwell.errors import UsageError

CELL = re.compile(r"^# ?%%.*$", re.MULTILINE)
HEADER = re.compile(r'r?"{3}(.*?)"{3}[ \t]*(?:\n|$)', re.DOTALL)
KNOWN = frozenset({"question", "validator", "data", "execution"})
LIMITS = frozenset({"max_time", "max_memory", "forbid_names"})
INPUTS = "inputs/"
ASKED = (
    "If this asks for a value, let it be the value of the last expression in your last cell. "
    "Leave the variables that are there as they are, unless this asks you to change them."
)
"""What the benchmark tells its own agents, in our words."""


def load_dseval(suite: Path, data: Path) -> list[Task]:
    """Read problem sets: the problems of a set are turns of one thread, and what went wrong stays.

    Args:
        suite: The file of a set, or a folder of such files.
        data: The folder that holds the sets' files, where `_inputs` beside them does not.

    Raises:
        UsageError: a set cannot be used, or a file that it reads is not there.
    """
    return [
        Task(
            file.stem,
            tuple(question for question, _ in problems),
            (None,) * len(problems),
            files,
            tuple(problem for _, problem in problems),
        )
        for file, problems, files in _sets(suite, data)
    ]


def load_dseval_apart(suite: Path, data: Path) -> list[Task]:
    """Read problem sets: each problem is a thread of its own, which begins with what the reference code made.

    Raises:
        UsageError: as `load_dseval`.
    """
    tasks: list[Task] = []
    for file, problems, files in _sets(suite, data):
        before: list[str] = []
        for number, (question, problem) in enumerate(problems, 1):
            before.append(problem.before)
            apart = Problem(_joined(before), problem.reference, problem.checks, problem.unsupported, problem.forbidden)
            tasks.append(Task(f"{file.stem}-{number}", (question,), (None,), files, (apart,)))
            before.append(problem.reference)
    return tasks


def _sets(suite: Path, data: Path) -> list[tuple[Path, list[tuple[str, Problem]], tuple[str, ...]]]:
    files = [one for one in sorted(suite.glob("*.py")) if not one.name.startswith("_")] if suite.is_dir() else [suite]
    found = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The suite {file} cannot be read: {error}.") from None
        problems, addresses = _problems(text, file)
        found.append((file, problems, _inputs(text, file, data, addresses)))
    if not found:
        raise UsageError(f"The suite {suite} holds no problem set, which is a file NAME.py.")
    return found


def _joined(codes: list[str]) -> str:
    return "\n\n".join(code for code in codes if code)


def _sections(text: str) -> list[str]:
    """The cells; what stands before the first one is a comment."""
    return [section.strip() for section in CELL.split(text)[1:]]


def _problems(text: str, file: Path) -> tuple[list[tuple[str, Problem]], dict[str, str]]:
    """The problems, and the addresses of files that their headers give under `data`."""
    found: list[tuple[str, Problem]] = []
    addresses: dict[str, str] = {}
    context: list[str] = []
    for number, section in enumerate(_sections(text), 1):
        where = f"Cell {number} of {file}"
        header = HEADER.match(section)
        about = _header(header[1], where) if header else {}
        code = section[header.end() :].strip() if header else section
        _parsed(code, where)
        given = about.get("data") or {}
        if not isinstance(given, dict):
            raise UsageError(f"{where} has a `data` that is no mapping of files to addresses.")
        addresses |= {str(name): str(address) for name, address in given.items()}
        question = about.get("question")
        if question is None or not code:
            context.append(code)
            continue
        if not isinstance(question, str) or not question.strip():
            raise UsageError(f"{where} has a `question` that is no text.")
        checks, unsupported, forbidden = _checks(about)
        problem = Problem(_joined(context), code, checks, unsupported, forbidden)
        found.append((f"{question.strip()}\n\n{ASKED}", problem))
        context = []
    if not found:
        raise UsageError(f"The suite {file} has no cell with a `question`; is it a problem set of DSEval?")
    return found, addresses


def _header(text: str, where: str) -> dict[str, Any]:
    import yaml

    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{where} has a header that is no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(given, dict) or not set(given) <= KNOWN:
        raise UsageError(f"{where} has a header with other fields than {', '.join(sorted(KNOWN))}.")
    return given


def _parsed(code: str, where: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{where} is no Python: {error}.") from None


def _checks(about: dict[str, Any]) -> tuple[Validator, str, tuple[str, ...]]:
    """The validators, why they cannot be checked, and the names that the answer's cells may not use."""
    limits = about.get("execution") or {}
    forbidden = limits.get("forbid_names") or [] if isinstance(limits, dict) else []
    try:
        if not isinstance(limits, dict) or not set(limits) <= LIMITS or not isinstance(forbidden, list):
            raise UnsupportedError("an `execution` that is not known")
        return read_validators(about.get("validator")), "", tuple(map(str, forbidden))
    except UnsupportedError as error:
        return [], str(error), ()


def _inputs(text: str, file: Path, data: Path, addresses: dict[str, str]) -> tuple[str, ...]:
    """The files that a set names below `inputs/`, or with an address in its headers."""
    beside = file.parent / "_inputs"
    places = [place for place in (beside / file.stem, beside, data / file.stem, data) if place.is_dir()]
    named = {one for one in _strings(text) if one.startswith(INPUTS) and Path(one).suffix and "*" not in one}
    found: list[str] = []
    for name in sorted(named | {INPUTS + one for one in addresses}):
        relative = name.removeprefix(INPUTS)
        if Path(relative).name != relative:
            raise UsageError(f"{file} reads {name}; files in folders below inputs/ cannot be given to an analysis.")
        there = next((place / relative for place in places if (place / relative).is_file()), None)
        if there is None:
            address = f" It is at {addresses[relative]}." if relative in addresses else ""
            raise UsageError(
                f"{file} reads {name}, which is neither in {beside} nor in {data}. "
                f"Nothing is downloaded: put it there.{address}"
            )
        found.append(str(there.absolute()))
    return tuple(found)


def _strings(text: str) -> list[str]:
    """The texts in the code of a set's cells."""
    codes = [HEADER.sub("", section, count=1) if HEADER.match(section) else section for section in _sections(text)]
    return [
        node.value
        for code in codes
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
