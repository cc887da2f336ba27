"""Cells in other languages as plain Python: what `%%sql`, `%%r` and `%%js` become before anything runs.

State, journal, snapshots, effects, scripts and notebooks then hold Python alone. Frames go in and out of other programs
through files: nothing stays in a process that a snapshot would not bring back.
"""

import keyword
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nodes.cell_magics.shell_commands import literal

SQLITE = (".sqlite", ".sqlite3", ".db")
RESULT = "result"
"""What the frame of a `%%sql` cell is called when the cell does not say it."""
OPTIONS = {"-i": "takes", "--input": "takes", "-o": "gives", "--output": "gives", "--db": "database"}


class CellLanguageError(ValueError):
    """The first line of a cell is no use of its language; the text says what is."""


@dataclass(frozen=True, slots=True)
class _Options:
    """What stands behind the name of a language."""

    words: tuple[str, ...]
    takes: tuple[str, ...]
    """Frames that go in."""
    gives: tuple[str, ...]
    """Frames that come out."""
    database: str


@dataclass(frozen=True, slots=True)
class _Program:
    """How another language's program is run, and how frames pass through files."""

    file: str
    command: tuple[str, ...]
    begin: str
    """Its first lines."""
    take: str
    """A line that reads a frame."""
    give: str
    """A line that writes one."""
    written: str
    """Python that writes a frame for it."""
    read: str
    """Python that reads what it wrote."""


R = _Program(
    file="cell.R",
    command=("Rscript", "--vanilla"),
    begin="stepwell_folder <- commandArgs(trailingOnly = TRUE)[1]",
    take='{name} <- read.csv(file.path(stepwell_folder, "{name}.csv"), check.names = FALSE)',
    give='write.csv({name}, file.path(stepwell_folder, "{name}.csv"), row.names = FALSE)',
    written="to_csv(exchange / '{name}.csv', index=False)",
    read="pd.read_csv(exchange / '{name}.csv')",
)
JS = _Program(
    file="cell.mjs",
    command=("node",),
    begin='import { readFileSync as stepwellRead, writeFileSync as stepwellWrite } from "node:fs";',
    take='const {name} = JSON.parse(stepwellRead(process.argv[2] + "/{name}.json", "utf8"));',
    give='stepwellWrite(process.argv[2] + "/{name}.json", JSON.stringify({name}));',
    written="to_json(exchange / '{name}.json', orient='records', date_format='iso')",
    read="pd.DataFrame(json.loads((exchange / '{name}.json').read_text('utf-8')))",
)


def as_python(language: str, options: str, body: str) -> str | None:
    """The Python for a cell whose first line is `%%language options`.

    Args:
        language: What stands behind `%%`, in any case.
        options: The rest of the line.
        body: The lines below it.

    Returns:
        Python; None when the language is none that cells can have.

    Raises:
        CellLanguageError: the line or the body is not as the language wants them.
    """
    translated = LANGUAGES.get(language.lower())
    if translated is None:
        return None
    if not body.strip():
        raise CellLanguageError(f"%%{language} stands above nothing; write below it what is to run.")
    return translated(_read(language, options), body)


def _sql(given: _Options, body: str) -> str:
    words = [word for word in given.words if word != "<<"]
    if len(words) > 1 or given.takes or given.gives:
        raise CellLanguageError("%%sql takes a name for its result and --db FILE, as in: %%sql totals --db inputs/a.db")
    name = _name(words[0]) if words else RESULT
    query, file = literal(body.strip().rstrip(";").rstrip()), repr(given.database)
    if not given.database:  # the session's own, which has its frames, and whose tables are in its snapshots
        return f"import duckdb\n{name} = duckdb.execute({query}).df()\n{name}"
    if given.database.lower().endswith(SQLITE):
        imports = "import sqlite3\nfrom contextlib import closing\nimport pandas as pd"
        opened, frame = f"closing(sqlite3.connect({file}))", f"pd.read_sql_query({query}, database)"
    else:
        imports = "import duckdb"
        opened, frame = f"duckdb.connect({file})", f"database.execute({query}).df()"
    return f"{imports}\nwith {opened} as database:\n    {name} = {frame}\ndel database\n{name}"


def _program(language: str, how: _Program) -> Callable[[_Options, str], str]:
    def translated(given: _Options, body: str) -> str:
        if given.words or given.database:
            raise CellLanguageError(f"%%{language} takes -i FRAME and -o FRAME, as in: %%{language} -i sales -o totals")
        takes = [how.take.replace("{name}", name) for name in given.takes]
        gives = [how.give.replace("{name}", name) for name in given.gives]
        source = "\n".join([how.begin, *takes, _ended(body).rstrip("\n"), *gives, ""])
        command = ", ".join([*map(repr, how.command), f"exchange / {how.file!r}", "exchange"])
        inner = ["exchange = pathlib.Path(exchange)"]
        for name in given.takes:
            frame = f"getattr({name}, 'to_pandas', lambda: {name})()"
            inner.append(f"{frame}.{how.written.replace('{name}', name)}")
        inner.append(f"(exchange / {how.file!r}).write_text({literal(source)}, 'utf-8')")
        inner.append(f"subprocess.run([{command}], stdin=subprocess.DEVNULL, check=True)")
        inner += [f"{name} = {how.read.replace('{name}', name)}" for name in given.gives]
        lines = ["import json, pathlib, subprocess, tempfile", "import pandas as pd"]
        lines += ["with tempfile.TemporaryDirectory() as exchange:", *(f"    {line}" for line in inner)]
        return "\n".join([*lines, "del exchange", *given.gives[-1:]])

    return translated


LANGUAGES: Mapping[str, Callable[[_Options, str], str]] = {
    "sql": _sql,
    "r": _program("r", R),
    "js": _program("js", JS),
}


def _read(language: str, options: str) -> _Options:
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise CellLanguageError(f"The first line of the %%{language} cell cannot be read ({error}).") from None
    found: dict[str, list[str]] = {"takes": [], "gives": [], "database": []}
    plain = []
    rest = iter(words)
    for word in rest:
        option, separator, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option not in OPTIONS:
            plain.append(word)
        elif value := value if separator else next(rest, ""):
            found[OPTIONS[option]] += [value] if option == "--db" else map(_name, value.split(","))
        else:
            raise CellLanguageError(f"{option} of %%{language} wants a {'file' if option == '--db' else 'name'}.")
    return _Options(tuple(plain), tuple(found["takes"]), tuple(found["gives"]), "".join(found["database"][-1:]))


def _name(word: str) -> str:
    if not word.isidentifier() or not word.isascii() or keyword.iskeyword(word):
        raise CellLanguageError(f"{word!r} is no name that a frame can have.")
    return word


def _ended(body: str) -> str:
    return body if body.endswith("\n") else f"{body}\n"
