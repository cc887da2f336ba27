"""What the host fills into a cell: how to read the inputs, the question, what was found before."""

import ast

from models.playbook.cells.loading import HELPERS, TOLERANT_READ
from models.playbook.history import History, Table
from models.playbook.route import Route, Todo

SAMPLE_ROWS = 50_000
MAX_TABLES = 12
CONVERTING = (
    "dtype",
    "converters",
    "parse_dates",
    "date_format",
    "keep_default_na",
    "na_values",
    "true_values",
    "false_values",
)
"""Arguments of a reader that turn text into something else."""
IMPORTS = {
    "sqlite3": "import sqlite3",
    "json": "import json",
    "gzip": "import gzip",
    "io": "import io",
    "zipfile": "import zipfile",
    "duckdb": "import duckdb",
    "np": "import numpy as np",
    "pl": "import polars as pl",
    "Path": "from pathlib import Path",
    "pathlib": "import pathlib",
}
"""What an expression may need beside pandas."""


def given(todo: Todo, history: History, route: Route) -> str:
    """The assignments that a stage's body expects."""
    lines: list[str] = []
    if todo.stage in ("load", "restart"):
        return _loading(todo, history, route)
    if todo.stage == "clean":
        lines += _as_written(history, tolerant=todo.mended, sample=route.sampled)
    if todo.stage == "read":
        lines.append(f"paths = {list(history.inputs.others[:20])!r}")
    if todo.stage == "focus":
        lines.append(f"paths = {[table.path for table in history.inputs.tables[:MAX_TABLES]]!r}")
    if todo.stage in ("focus", "list"):
        lines.append(f"question = {_short(history.question)!r}")
    if todo.stage in ("write", "close", "write_text"):
        stem = "summary" if history.turn == 1 else f"follow-up-{history.turn}"
        lines.append(f"stem = {stem!r}")
    return "\n".join(lines)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else text[:199] + "…"


def _loading(todo: Todo, history: History, route: Route) -> str:
    tables = history.inputs.tables[:MAX_TABLES]
    tolerant = todo.mended or todo.stage == "restart"
    lines = [*_imports(tables), "import pandas as pd", ""]
    if todo.stage == "restart":
        lines += [
            f"findings = globals().get('findings', {list(history.findings)!r})",
            "findings = [line for line in findings if not line.startswith(('Data:', 'Quality:'))]",
            "captions = globals().get('captions', [])",
        ]
    else:
        lines.append("findings, captions = [], []")
    lines += [HELPERS.strip("\n"), "", ""]
    if tolerant:
        lines += [TOLERANT_READ.strip("\n"), "", ""]
    sample = route.sampled and todo.stage == "restart"
    lines.append("tables = {}")
    for table in tables:
        source = first_rows(table.expression) if sample else table.expression
        read = f"attempt(lambda: {source}, {table.path!r})" if tolerant else source
        lines.append(f"tables[{table.name!r}] = {read}")
    if sample:
        lines += [
            f"tables = {{name: t if t is None else t.head({SAMPLE_ROWS}) for name, t in tables.items()}}",
            f"note('Assumption', 'to spare time and memory only the first {SAMPLE_ROWS:,} rows are used.')",
        ]
    lines.append(f"loaded = {[table.path for table in tables]!r}")
    beside = [*history.inputs.others, *(table.name for table in history.inputs.tables[MAX_TABLES:])]
    if beside:
        lines.append(f"note('Data', {'not analysed beside the tables: ' + ', '.join(beside[:10]) + '.'!r})")
    return "\n".join(lines)


def _imports(tables: tuple[Table, ...]) -> list[str]:
    names = {
        node.id
        for table in tables
        for node in ast.walk(ast.parse(table.expression, mode="eval"))
        if isinstance(node, ast.Name)
    }
    return sorted(IMPORTS[name] for name in names & IMPORTS.keys())


def _as_written(history: History, *, tolerant: bool, sample: bool) -> list[str]:
    """Read the main table's text again as it is written: pandas takes words such as `None` for missing values."""
    lines = ["raw = None"]
    for table in history.inputs.tables[:MAX_TABLES]:
        source = as_text(first_rows(table.expression) if sample else table.expression)
        if not source:
            continue
        lines.append(f"if main == {table.name!r} and len(df) <= 1_000_000:")
        if tolerant:
            lines += ["    try:", f"        raw = {source}", "    except Exception:", "        raw = None"]
        else:
            lines.append(f"    raw = {source}")
    return [*_imports(history.inputs.tables[:MAX_TABLES]), "import pandas as pd", "", *lines]


def first_rows(expression: str) -> str:
    """The expression with `nrows`, where its reader has that."""
    call = _reader(expression)
    if call is None or any(keyword.arg == "nrows" for keyword in call.keywords):
        return expression
    call.keywords.append(ast.keyword("nrows", ast.Constant(SAMPLE_ROWS)))
    return ast.unparse(call)


def as_text(expression: str) -> str:
    """The expression with every value read as the text that stands there; empty where that cannot be had."""
    call = _reader(expression)
    if call is None or getattr(call.func, "attr", "") == "read_excel":
        return ""
    call.keywords = [one for one in call.keywords if one.arg not in CONVERTING]
    call.keywords.append(ast.keyword("dtype", ast.Constant("str")))
    call.keywords.append(ast.keyword("keep_default_na", ast.Constant(value=False)))
    return ast.unparse(call)


def _reader(expression: str) -> ast.Call | None:
    call = ast.parse(expression, mode="eval").body
    is_reader = (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("read_csv", "read_table", "read_excel")
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "pd"
    )
    return call if is_reader and isinstance(call, ast.Call) else None
