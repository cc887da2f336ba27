"""The user's files as their profiles describe them, and the code that reads them."""

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from models.playbook.cells.loading import HELPERS, TOLERANT_READ
from models.situation import PromptInput

SAMPLE_ROWS = 50_000
ALL_READ = "All tables are read."
"""As a cell prints it when only what is done with the tables can break off."""
MAX_TABLES = 12
CONVERTING = (
    "dtype", "converters", "parse_dates", "date_format", "keep_default_na", "na_values", "true_values", "false_values",
)  # fmt: skip
"""Arguments of a reader that turn text into something else."""
MODULES = {"bz2", "duckdb", "gzip", "io", "json", "lzma", "pathlib", "sqlite3", "zipfile"}
"""What an expression may need beside pandas and NumPy."""
USUAL_READERS = {"csv": "csv", "tsv": "table", "xlsx": "excel", "xls": "excel", "parquet": "parquet"}
"""By the end of a file's name: which reader of pandas takes it when its profile does not say."""

NOTES = " of text"
"""How the heading of a sheet ends that holds notes and no table."""


@dataclass(frozen=True, slots=True)
class ProfiledTable:
    """A table that can be read with one expression."""

    name: str
    path: str
    expression: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The user's files."""

    tables: tuple[ProfiledTable, ...] = ()
    others: tuple[str, ...] = ()
    """Workspace paths of readable files that are no tables."""
    unreadable: tuple[str, ...] = ()


def read_profiles(files: Iterable[PromptInput]) -> Inputs:
    """Sort the files by what their profiles say of them."""
    tables: list[ProfiledTable] = []
    others: list[str] = []
    unreadable: list[str] = []
    for file in files:
        path = file["path"]
        if own := _tables(path, file["abstract"]):
            tables += own
        elif file["problem"]:
            unreadable.append(path)
        elif any(line.startswith("## ") and line.endswith(NOTES) for line in file["abstract"].splitlines()):
            others.append(path)
        elif usual := USUAL_READERS.get(path.rpartition(".")[2].lower()):
            tables.append(ProfiledTable(path.removeprefix("inputs/"), path, f"pd.read_{usual}({path!r})"))
        else:
            others.append(path)
    return Inputs(tuple(tables), tuple(others), tuple(unreadable))


def _tables(path: str, abstract: str) -> list[ProfiledTable]:
    """The tables of a file: a profile has a heading for each of several, and the expression that reads it.

    A sheet of notes has them too, and is no table.
    """
    label, found, notes = path.removeprefix("inputs/"), dict[str, str](), False
    for line in abstract.splitlines():
        if line.startswith("## "):
            label = f"{path.removeprefix('inputs/')} [{(line[3:].rpartition(':')[0] or line[3:]).strip()}]"
            notes = line.endswith(NOTES)
        elif notes or not line.startswith("read with:"):
            continue
        elif _is_expression(expression := line.partition(":")[2].strip()):
            found[label if label not in found else f"{label} ({len(found) + 1})"] = expression
    return [ProfiledTable(name, path, expression) for name, expression in found.items()]


def _is_expression(source: str) -> bool:
    try:
        ast.parse(source, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True


def loading_code(
    inputs: Inputs,
    findings: Sequence[str],
    outdated: Sequence[str],
    heavy: Sequence[str] = (),
    *,
    tolerant: bool,
    sample: bool,
) -> str:
    """What reads the tables, in front of the cell that looks at them.

    Args:
        inputs: The files.
        findings: What this turn found before the session broke off.
        outdated: Of that, what is found out anew.
        heavy: Paths of files that the session broke off at.
        tolerant: Whether to read with other settings what cannot be read as the profile says.
        sample: Whether to read the first rows only.
    """
    tables = [table for table in inputs.tables[:MAX_TABLES] if table.path not in heavy]
    lines = [f"import {name}" for name in _modules(tables)] + [HELPERS, TOLERANT_READ if tolerant else ""]
    if findings:
        lines += [
            f"findings, captions = globals().get('findings', {list(findings)!r}), globals().get('captions', [])",
            f"outdated = {list(outdated)!r}",
            "findings = [f for f in findings if f not in outdated and not f.startswith(('Data:', 'Quality:'))]",
        ]
    else:
        lines.append("findings, captions = [], []")
    lines.append("tables = {}")
    for path in heavy:
        lines.append(f"note('Skipped', {f'reading {path} took too long or too much memory.'!r})")
    for table in tables:
        source = first_rows(table.expression) if sample else table.expression
        if sample and len(tables) > 1:  # so that it is known which of them a session breaks off at
            lines.append(f"print({f'Reading {table.path}'!r}, flush=True)")
        # What is no delimited text, such as a page or a PDF, would make a table that does not exist.
        delimited = source.startswith(("pd.read_csv(", "pd.read_table("))
        read = f"attempt(lambda: {source}, {table.path!r}, {delimited})" if tolerant else source
        lines.append(f"tables[{table.name!r}] = {read}")
    if sample and len(tables) > 1:
        lines.append(f"print({ALL_READ!r}, flush=True)")
    if sample:
        lines += [
            f"tables = {{name: t if t is None else t.head({SAMPLE_ROWS}) for name, t in tables.items()}}",
            f"note('Assumption', 'to spare time and memory only the first {SAMPLE_ROWS:,} rows are used.')",
        ]
    lines.append(f"loaded = {[table.path for table in inputs.tables[:MAX_TABLES]]!r}")
    beside = [*inputs.others, *(table.name for table in inputs.tables[MAX_TABLES:])]
    if beside:
        lines.append(f"note('Data', {'not analysed beside the tables: ' + ', '.join(beside[:10]) + '.'!r})")
    return "\n".join(lines)


def _modules(tables: Iterable[ProfiledTable]) -> list[str]:
    trees = [ast.parse(table.expression, mode="eval") for table in tables]
    return sorted({node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)} & MODULES)


def raw_code(inputs: Inputs, *, tolerant: bool, sample: bool) -> str:
    """What reads the main table's text again as it is written: pandas takes words such as `None` for missing values."""
    lines = ["raw = None"]
    for table in inputs.tables[:MAX_TABLES]:
        source = as_text(first_rows(table.expression) if sample else table.expression)
        if source:
            lines += [f"if main == {table.name!r} and len(df) <= 1_000_000:", f"    raw = {source}"]
    if tolerant:
        lines = ["try:", *(f"    {line}" for line in lines), "except Exception:", "    raw = None"]
    return "\n".join(lines)


def first_rows(expression: str) -> str:
    """The expression with `nrows`, where its reader has that."""
    return _with_arguments(expression, nrows=SAMPLE_ROWS) or expression


def as_text(expression: str) -> str:
    """The expression with every value read as the text that stands there; empty where that cannot be had."""
    if expression.startswith("pd.read_excel"):
        return ""
    return _with_arguments(expression, CONVERTING, dtype="str", keep_default_na=False)


def _with_arguments(expression: str, without: Collection[str] = (), **arguments: str | int) -> str:
    """The call of a reader that takes rows of text, with other arguments; empty when it is no such call."""
    call = ast.parse(expression, mode="eval").body
    match call:
        case ast.Call(func=ast.Attribute(ast.Name("pd"), "read_csv" | "read_table" | "read_excel")):
            call.keywords = [keyword for keyword in call.keywords if keyword.arg not in without]
            there = {keyword.arg for keyword in call.keywords}
            new = {name: ast.Constant(value) for name, value in arguments.items() if name not in there}
            call.keywords += [ast.keyword(name, value) for name, value in new.items()]
            return ast.unparse(call)
    return ""
