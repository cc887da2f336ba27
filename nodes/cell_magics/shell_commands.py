"""Shell commands of notebooks as Python: what `!ls {folder}` and `%%bash` become."""

import ast
import builtins
import re
from collections.abc import Collection

BRACES = re.compile(r"(?<![$\\{])\{([^\W\d][^{}\n]{0,200})\}(?!\})")
"""What stands in braces and begins with a name; `${HOME}` and `{{x}}` are the shell's."""
DOLLAR = re.compile(r"(?<![\\$])\$([^\W\d]\w*)")
FIELD = re.compile(r"(?P<code>[^!:]+)(?:!(?P<conversion>[rsa]))?(?::(?P<form>[^{}]*))?")
CONVERSIONS = {"r": "repr", "s": "str", "a": "ascii"}
PYTHON = re.compile(r"\s*python3?(?=\s|$)")
"""The interpreter at the beginning of a command: the sandbox's own is meant."""
AWKWARD = re.compile(r"[\"'\\{}:!\n]")
"""What an expression in an f-string cannot have in every Python."""


def shown(command: str, names: Collection[str] = ()) -> str:
    """`!command`: it runs, and what it prints is shown."""
    return f"subprocess.run({_command(command, names)}, shell=True, stderr=subprocess.STDOUT);"


def captured(command: str, names: Collection[str] = ()) -> str:
    """`lines = !command`: an expression with the lines that it prints."""
    options = "shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True"
    return f"subprocess.run({_command(command, names)}, {options}).stdout.splitlines()"


def script(words: str, body: str, *, checked: bool) -> str:
    """The program of a cell magic such as `%%bash`, which reads the cell; when `checked`, its failure is an error."""
    text = body if body.endswith("\n") else f"{body}\n"
    return f"subprocess.run({words}, input={literal(text)}, text=True, check={checked});"


def filled(text: str, names: Collection[str] = ()) -> str:
    """An expression for a text in which `{expression}` and `$name` are filled, as IPython does it.

    Args:
        text: The text.
        names: The variables that `$name` may mean; any other is left to the shell.
    """
    parts = _parts(text, names)
    if not any(is_code for _, is_code in parts):
        return literal(text)
    if any(is_code and AWKWARD.search(part) for part, is_code in parts):
        return " + ".join(f"str({part})" if is_code else literal(part) for part, is_code in parts)
    whole = "".join(f"{{{part}}}" if is_code else part.replace("{", "{{").replace("}", "}}") for part, is_code in parts)
    return f"f{_quoted(whole)}"


def literal(text: str) -> str:
    """A text as code, over several lines where it has several and that is possible."""
    lines = text.split("\n")
    plain = len(lines) > 2 and all(line.isprintable() for line in lines)
    if plain and "\\" not in text and '"""' not in text and not text.startswith('"') and not text.endswith('"'):
        return f'"""{text}"""'
    return _quoted(text)


def _quoted(text: str) -> str:
    shown_as = repr(text)
    return f'"{shown_as[1:-1]}"' if shown_as[0] == "'" and '"' not in text else shown_as


def _command(command: str, names: Collection[str]) -> str:
    command = command.strip()
    if match := PYTHON.match(command):
        rest = filled(command[match.end() :], names)
        return f"sys.executable + {rest}" if rest != '""' else "sys.executable"
    return filled(command, names)


def needs(code: str) -> tuple[str, ...]:
    """The modules that code of this module uses."""
    return tuple(name for name in ("subprocess", "sys") if f"{name}." in code)


def _parts(text: str, names: Collection[str]) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is an expression."""
    marks = [(match, code) for match in BRACES.finditer(text) if (code := _expression(match[1]))]
    marks += [(match, match[1]) for match in DOLLAR.finditer(text) if match[1] in names]
    parts: list[tuple[str, bool]] = []
    place = 0
    for match, code in sorted(marks, key=lambda mark: mark[0].start()):
        if match.start() >= place:
            parts += [(text[place : match.start()], False), (code, True)]
            place = match.end()
    parts.append((text[place:], False))
    return [part for part in parts if part[0]]


def _expression(field: str) -> str:
    """The expression that stands in braces; empty where they are the shell's or those of awk."""
    if _is_meant(field):
        return field
    if not (match := FIELD.fullmatch(field)) or not _is_meant(match["code"]):
        return ""
    value = f"{CONVERSIONS[match['conversion']]}({match['code']})" if match["conversion"] else match["code"]
    return f"format({value}, {match['form']!r})" if match["form"] else value


def _is_meant(code: str) -> bool:
    try:
        tree = ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not isinstance(tree, ast.Tuple) and not (isinstance(tree, ast.Name) and hasattr(builtins, tree.id))
