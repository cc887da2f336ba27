"""IPython's cells as plain Python: magics and shell commands are translated, or left out and named.

A cell that is Python already is not touched. Everything else is read line by line, as IPython does it: a line is a
magic only where a statement may begin, so a `%` between two numbers and a `!` in a text stay what they are.
"""

import ast
import re
import shlex
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from nodes.cell_magics.languages import CellLanguageError, as_python
from nodes.cell_magics.logical_lines import logical_lines
from nodes.cell_magics.shell_commands import captured, filled, literal, needs, script, shown

MAX_SOURCE = 200_000
"""Characters of a cell that are looked at; a longer one goes as it is."""
SILENT = frozenset(
    {"matplotlib", "config", "autoreload", "aimport", "reload_ext", "automagic", "colors", "pdb", "xmode"}
)
"""Settings of a notebook's page or of IPython: nothing is missing without them."""
TIMED = frozenset({"time", "timeit", "prun", "memit", "mprun", "lprun", "capture"})
"""The statement behind them is run; what they measure is not shown."""
PROGRAMS = frozenset({"ls", "ll", "cat", "cp", "mv", "rm", "mkdir", "rmdir", "ln", "less", "more", "pip"})
"""Magics that are programs of the same name."""
WITH_VALUE = {"timeit": "nrp", "prun": "lsTD", "lprun": "fmTDsu", "memit": "rti", "mprun": "fT"}
"""The options of timing magics that have a value, such as `-n 10`."""
PAGE = frozenset({"html", "javascript", "js", "latex", "markdown", "svg"})
SQL = frozenset({"sql", "bigquery", "duckdb", "sparksql"})
LANGUAGES = frozenset(
    {
        "R",
        "julia",
        "perl",
        "ruby",
        "cython",
        "fortran",
        "octave",
        "matlab",
        "cpp",
        "c",
        "rust",
        "node",
        "pypy",
        "python2",
    }
)
ASSIGNED = re.compile(r"(?P<target>[^\W\d][\w.\[\]'\", ]*?)\s*=\s*(?P<mark>%|!)(?![=%])(?P<rest>.*)", re.DOTALL)
"""`files = !ls`, `here = %pwd`."""
HELP = re.compile(r"\?{1,2}\s*%{0,2}[^\W\d][\w.]*\s*|%{0,2}[^\W\d][\w.*\[\]'\"()]*\s*\?{1,2}")
NAME = re.compile(r"[^\W\d][\w.]*|!")
BINDING = re.compile(r"^\s*([^\W\d]\w*)\s*(?:=(?!=)|:[^=\n]{1,80}=(?!=))|\b(?:for|as|import)\s+([^\W\d]\w*)", re.M)
IPYTHON_CALL = re.compile(r"get_ipython\(\)\.(system|magic|run_line_magic)\(.*\)")
OWN_DISPLAY = ("IPython.display", "IPython.core.display", "IPython.core.display_functions")


@dataclass(frozen=True, slots=True)
class TranslatedCell:
    """A cell as it can run."""

    code: str
    not_run: tuple[str, ...] = ()
    """What was left out, each with the reason: `%%html (it shows something on a notebook's page)`."""


@dataclass(slots=True)
class _Translation:
    """What the lines of one cell become."""

    names: Collection[str]
    lines: list[str] = field(default_factory=list)
    imports: dict[str, None] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)

    def add(self, indent: str, code: str, *modules: str) -> None:
        """Add a statement, which may have several lines, and what it needs."""
        self.imports.update(dict.fromkeys(modules))
        self.lines.extend(f"{indent}{line}" if line else line for line in code.split("\n"))

    def shell(self, indent: str, code: str) -> None:
        """Add a statement that starts a program."""
        self.add(indent, code, *needs(code))

    def leave_out(self, indent: str, text: str, why: str) -> None:
        """Keep a line as a comment, and name it where something is missing without it."""
        first, *more = text.strip().split("\n")
        self.lines.append(f"{indent}pass  # {first}" if indent else f"# {first}")
        self.lines.extend(f"{indent}# {line}" for line in more)
        if why:
            word = first.split()[0] if first.startswith("%") else first
            self.not_run.append(f"{_cut(word)} ({why})")

    def code(self) -> str:
        """All of it."""
        text = "\n".join(self.lines)
        imports = "".join(f"import {module}\n" for module in self.imports)
        return inserted(text, imports)


def python_of(code: str) -> str:
    """The Python of a cell that a person or a model wrote; what of it cannot run is a comment that says so."""
    found = translate(code)
    return "\n".join([*(f"# not run: {said}" for said in found.not_run), found.code])


def translate(source: str, names: Collection[str] = (), *, jupyter: bool = False) -> TranslatedCell:
    """A cell as plain Python.

    Args:
        source: The cell.
        names: Variables that earlier cells have bound: `$name` in a shell command means one of these.
        jupyter: Whether it is of a notebook, where `%%js` runs in the page and `%%sql` may name a server.

    Returns:
        The code and what is missing in it. What cannot be translated into valid Python is returned as it is: its
        SyntaxError is then the cell's result.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    if len(source) > MAX_SOURCE:
        return TranslatedCell(source)
    tree = parsed(source)
    if tree is not None:
        plain = _outside_calls(source, tree) if "get_ipython" in source else source
        if plain == source:
            return TranslatedCell(_without_own_display(source, tree))
        source = plain
    known = {*names, *bound_names(source)}
    above, stripped = _comments_above(source)
    found = _cell_magic(stripped, known, jupyter) if stripped.startswith("%%") else _lines(source, known)
    if found is not None and stripped.startswith("%%"):
        found = replace(found, code=above + found.code)
    if found is None:
        return TranslatedCell(source)
    tree = parsed(found.code)
    return TranslatedCell(source) if tree is None else replace(found, code=_without_own_display(found.code, tree))


def parsed(code: str) -> ast.Module | None:
    """The tree of some code, in which `await` may stand outside of functions; None where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(
                code, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
            )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, ast.Module) else None


def bound_names(source: str) -> set[str]:
    """Names that a cell seems to bind; magics may stand in it."""
    return {name for pair in BINDING.findall(source) for name in pair if name}


def inserted(code: str, lines: str) -> str:
    """Code with whole lines put at its beginning, behind what must come first: `from __future__ import …`."""
    tree = parsed(code)
    futures = [
        one for one in (tree.body if tree else ()) if isinstance(one, ast.ImportFrom) and one.module == "__future__"
    ]
    if not lines or not futures:
        return lines + code
    at = futures[-1].end_lineno or 1
    split = code.split("\n")
    return "\n".join([*split[:at], *lines.rstrip("\n").split("\n"), *split[at:]])


def _outside_calls(source: str, tree: ast.Module) -> str:
    """The code with calls such as `get_ipython().run_line_magic("time", "f()")` as the magics that they stand for."""
    lines = source.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or node.lineno != node.end_lineno or not isinstance(node.value, ast.Call):
            continue
        call, line = node.value, lines[node.lineno - 1]
        match = IPYTHON_CALL.fullmatch(line.strip())
        given = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if match is None or not given or len(given) != len(call.args) or "\n" in "".join(given):
            continue
        mark = "!" if match[1] == "system" else "%"
        lines[node.lineno - 1] = f"{line[: len(line) - len(line.lstrip())]}{mark}{' '.join(given)}"
    return "\n".join(lines)


def _without_own_display(code: str, tree: ast.Module) -> str:
    """The code without `from IPython.display import display`: cells have one that shows more than IPython's would."""
    if "IPython" not in code:
        return code
    lines = code.split("\n")
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.module not in OWN_DISPLAY:
            continue
        others = [one for one in node.names if (one.name, one.asname) != ("display", None)]
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        alone = ast.get_source_segment(code, node) == "\n".join(lines[first:last]).strip()
        if len(others) < len(node.names) and alone:
            left = ", ".join(f"{one.name} as {one.asname}" if one.asname else one.name for one in others)
            kept = f"from {node.module} import {left}" if others else "# display is there without an import"
            lines[first:last] = [kept, *[""] * (last - first - 1)]
    return "\n".join(lines)


def _lines(source: str, names: Collection[str]) -> TranslatedCell | None:
    done = _Translation(names)
    for text, starts in logical_lines(source, _may_be_magic):
        stripped = text.strip()
        indent = text[: len(text) - len(text.lstrip())]
        if not starts or not stripped or not _line(done, indent, stripped):
            done.lines.append(text)
    return TranslatedCell(done.code(), tuple(done.not_run))


def _line(done: _Translation, indent: str, text: str) -> bool:
    """Translate a statement that only IPython knows; False when it is none."""
    if HELP.fullmatch(text):
        done.leave_out(indent, text, "it asks for help on an object")
    elif text.startswith("!!"):
        done.shell(indent, captured(text[2:], done.names))
    elif text.startswith("!"):
        done.shell(indent, shown(text[1:], done.names))
    elif text.startswith("%%"):
        return False  # not in the first line: no magic
    elif text.startswith("%"):
        _magic(done, indent, text)
    elif match := ASSIGNED.fullmatch(text):
        _assigned(done, indent, text, match)
    else:
        return False
    return True


def _assigned(done: _Translation, indent: str, text: str, match: re.Match[str]) -> None:
    target = match["target"].strip()
    if match["mark"] == "!":
        done.shell(indent, f"{target} = {captured(match['rest'], done.names)}")
        return
    name, rest = _name_and_rest(match["rest"])
    value = _value_of(name, rest, done)
    if value is None:
        done.leave_out(indent, text, f"%{_cut(name)} has no result here")
    else:
        done.add(indent, f"{target} = {value[0]}", *value[1:])


def _value_of(name: str, rest: str, done: _Translation) -> tuple[str, ...] | None:
    """The expression that a magic stands for, and the modules that it needs; None when it is none."""
    if name in ("sx", "system"):
        return (found := captured(rest, done.names)), *needs(found)
    if name == "pwd":
        return "os.getcwd()", "os"
    if name == "env" and rest and re.fullmatch(r"\w+", rest):
        return f"os.environ[{rest!r}]", "os"
    if name == "env" and not rest:
        return "dict(os.environ)", "os"
    if name in PROGRAMS:
        return (found := captured(f"{name} {rest}".strip(), done.names)), *needs(found)
    if name == "time" and rest and parsed(rest) is not None:
        return (rest,)
    return None


def _magic(done: _Translation, indent: str, text: str) -> None:
    """Translate a line that begins with `%`."""
    name, rest = _name_and_rest(text[1:])
    value = _value_of(name, rest, done) if name not in TIMED and name not in PROGRAMS else None
    if name in SILENT or (name == "load_ext" and rest == "autoreload"):
        done.leave_out(indent, text, "")
    elif name in TIMED:
        _timed(done, indent, text, rest, name)
    elif value is not None:
        done.add(indent, value[0], *value[1:])
    elif name in PROGRAMS:
        done.shell(indent, shown(f"{name} {rest}".strip(), done.names))
    elif name in _REWRITTEN and (code := _REWRITTEN[name](rest, done.names)):
        done.add(indent, code[0], *code[1:])
    else:
        done.leave_out(indent, text, _reason(name))


def _timed(done: _Translation, indent: str, text: str, rest: str, name: str) -> None:
    statement = _without_options(name, rest)
    if not statement:
        done.leave_out(indent, text, "")
    elif not _line(done, indent, statement):
        done.add(indent, statement)
    if name == "capture":
        done.not_run.append("%capture (what is printed is shown, not captured)")


def _without_options(name: str, text: str) -> str:
    """The statement behind the options of a magic that times something."""
    while match := re.match(r"(?:--[\w-]+|-([A-Za-z])(\S*))(?:\s+|$)", text):
        text = text[match.end() :]
        if match[1] and match[1] in WITH_VALUE.get(name, "") and not match[2]:
            text = text.partition(" ")[2].lstrip()
    return text


def _cd(rest: str, names: Collection[str]) -> tuple[str, ...]:
    folder = rest.removeprefix("-q").strip().strip("'\"")
    if folder in ("", "~"):
        return 'os.chdir(os.path.expanduser("~"))', "os"
    return ("", "") if folder.startswith("-") else (f"os.chdir({filled(folder, names)})", "os")


def _env(rest: str, names: Collection[str]) -> tuple[str, ...]:
    name, separator, value = rest.partition("=") if "=" in rest else rest.partition(" ")
    if not separator or not re.fullmatch(r"\w+", name.strip()):
        return ()
    return f"os.environ[{name.strip()!r}] = {filled(value.strip(), names)}", "os"


def _run(rest: str, names: Collection[str]) -> tuple[str, ...]:
    words = [word for word in rest.split() if word not in ("-i", "-n")]
    if len(words) != 1 or not words[0].strip("'\"").endswith(".py"):
        return ()
    return f"globals().update(runpy.run_path({filled(words[0].strip(chr(39) + chr(34)), names)}));", "runpy"


def _pylab(rest: str, names: Collection[str]) -> tuple[str, ...]:
    return ("import numpy as np\nimport matplotlib.pyplot as plt\nfrom pylab import *",)


_REWRITTEN: dict[str, Callable[[str, Collection[str]], tuple[str, ...]]] = {
    "cd": lambda rest, names: found if (found := _cd(rest, names))[0] else (),
    "env": _env, "set_env": _env, "run": _run, "pylab": _pylab,
}  # fmt: skip


def _reason(name: str) -> str:
    if name in PAGE:
        return "it shows something on a notebook's page"
    if name in SQL:
        return "it asks a database through an extension of Jupyter"
    if name in LANGUAGES:
        return "it is another language"
    if name in ("load_ext", "load"):
        return "extensions of IPython cannot be loaded"
    return "it has no meaning outside of IPython"


def _comments_above(source: str) -> tuple[str, str]:
    """The comments that a cell begins with, and the rest."""
    lines = source.split("\n")
    count = next((at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), 0)
    above = [line for line in lines[:count] if line.strip()]
    return "".join(f"{line}\n" for line in above), "\n".join(lines[count:]).lstrip()


def _cell_magic(source: str, names: Collection[str], jupyter: bool) -> TranslatedCell | None:
    """Translate a cell whose first line begins with `%%`."""
    first, _, body = source.partition("\n")
    name, rest = _name_and_rest(first[2:])
    if name in TIMED:
        setup = _without_options(name, rest)
        inner = f"{setup}\n{body}" if name == "timeit" and setup else body
        found = translate(inner, names, jupyter=jupyter)
        if name == "capture" and rest:
            told = (f"{first.split()[0]} (what is printed is shown, not captured)",)
            return replace(found, not_run=(*told, *found.not_run))
        return found
    done = _Translation(names)
    if name in ("bash", "sh", "zsh", "script", "python", "python3"):
        command = _script_command(name, rest, names)
        if command is None:
            return _all_left_out(source, f"the options {_cut(rest)} have no meaning here")
        done.add("", script(command[0], body, checked=command[1]), "subprocess", *command[2:])
    elif name in ("!", "sx", "system"):
        done.shell("", captured(body))
    elif name in ("writefile", "file"):
        written = _written_file(rest, body, names)
        if written is None:
            return _all_left_out(source, "it names no file")
        done.add("", written, "pathlib")
    elif jupyter and (name in PAGE or "://" in f"{rest}\n{body.lstrip().partition(chr(10))[0]}"):
        return _all_left_out(source, _reason(name))
    else:
        return _other_language(source, name, rest, body, jupyter)
    return TranslatedCell(done.code(), tuple(done.not_run))


def _other_language(source: str, name: str, rest: str, body: str, jupyter: bool) -> TranslatedCell:
    try:
        code = as_python(name, rest, body)
    except CellLanguageError as error:
        left_out = _all_left_out(source, str(error).rstrip("."))
        return left_out if jupyter else TranslatedCell(f"{left_out.code}\nraise SyntaxError({str(error)!r})")
    if code is not None:
        return TranslatedCell(code)
    left_out = _all_left_out(source, _reason(name))
    if jupyter:
        return left_out
    said = f"%%{name} cannot run: {_reason(name)}. %%sql, %%bash, %%r, %%js and %%writefile can."
    return TranslatedCell(f"{left_out.code}\nraise SyntaxError({said!r})")


def _all_left_out(source: str, why: str) -> TranslatedCell:
    """A cell of which nothing runs; its text stays, as a comment."""
    text = "\n".join(f"# {line}" if line.strip() else "#" for line in source.rstrip("\n").split("\n"))
    return TranslatedCell(text, (f"{_cut(source.split()[0])} ({why})",))


def _script_command(name: str, rest: str, names: Collection[str]) -> tuple[str, bool, *tuple[str, ...]] | None:
    """The list of words that starts the program of a cell magic, as code; whether its failure is one of the cell."""
    try:
        words = shlex.split(rest)
    except ValueError:
        return None
    checked = "--no-raise-error" not in words
    words = [word for word in words if word != "--no-raise-error"]
    if name == "script":
        if not words or words[0].startswith("--"):
            return None
    elif words and words[0] != "-s":
        return None
    listed = [filled(word, names) for word in words]
    if name.startswith("python"):
        return f"[{', '.join(['sys.executable', repr('-'), *listed[1:]])}]", checked, "sys"
    return f"[{', '.join(listed if name == 'script' else [repr(name), *listed])}]", checked


def _written_file(rest: str, body: str, names: Collection[str]) -> str | None:
    words = rest.split()
    appends = bool({"-a", "--append"} & set(words))
    named = " ".join(word for word in words if word not in ("-a", "--append")).strip("'\"")
    if not named:
        return None
    file, text = filled(named, names), literal(body if body.endswith("\n") else f"{body}\n")
    if appends:
        return (
            f'with pathlib.Path({file}).open("a", encoding="utf-8") as notebook_file:\n'
            f"    notebook_file.write({text})\ndel notebook_file\n"
            f'print("Appending to", {file})'
        )
    return (
        f'print("Overwriting" if pathlib.Path({file}).exists() else "Writing", {file})\n'
        f'pathlib.Path({file}).write_text({text}, encoding="utf-8");'
    )


def _name_and_rest(text: str) -> tuple[str, str]:
    match = NAME.match(text)
    return (match[0], text[match.end() :].strip()) if match else ("", text.strip())


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _may_be_magic(text: str) -> bool:
    return text.startswith(("%", "!", "?")) or HELP.fullmatch(text) is not None or ASSIGNED.fullmatch(text) is not None
