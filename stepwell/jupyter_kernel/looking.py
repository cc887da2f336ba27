"""Code that looks at a live session for a notebook: what a name can be completed with, and what is known of it.

Its output is text that whoever controls the session controls: it is shown, and nothing more.
"""

import builtins
import codeop
import keyword
import re

NAME = re.compile(r"(?:[^\W\d]\w*\.)*(?:[^\W\d]\w*)?$")
"""What stands before the cursor."""
MOST = 1_000
COMPLETE = """
try:
    print(*sorted(n for n in dir({owner}) if n.startswith({start!r}))[:{most}], sep="\\n")
except Exception:
    pass
"""
INSPECT = """
try:
    import inspect as _inspect
    _looked = {name}
    try:
        print({last!r} + str(_inspect.signature(_looked)))
    except (TypeError, ValueError):
        print(type(_looked).__name__)
    print(_inspect.getdoc(_looked) or "")
except Exception:
    pass
finally:
    globals().pop("_looked", None), globals().pop("_inspect", None)
"""
LONGEST = 20_000


def before_cursor(code: str, cursor: int) -> str:
    """The dotted name that ends at the cursor; empty where none does."""
    found = NAME.search(code[:cursor])
    return found[0] if found else ""


def around_cursor(code: str, cursor: int) -> str:
    """The dotted name that the cursor is in or behind."""
    end = cursor
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    return before_cursor(code, end).rstrip(".")


def completing(name: str) -> str:
    """Code that prints the attributes that a dotted name can go on with."""
    owner, _, start = name.rpartition(".")
    return COMPLETE.format(owner=owner, start=start, most=MOST)


def inspecting(name: str) -> str:
    """Code that prints what is known of a dotted name."""
    return INSPECT.format(name=name, last=name.rpartition(".")[2])


def plain_names(start: str, variables: list[str]) -> list[str]:
    """Variables, keywords and builtins that begin so."""
    known = {*variables, *keyword.kwlist, *dir(builtins)}
    return sorted(name for name in known if name.startswith(start) and not (name.startswith("_") and not start))


def completeness(code: str) -> str:
    """Whether a console may run it: `complete`, `incomplete` or `invalid`."""
    if code.startswith("%"):
        return "incomplete" if code.startswith("%%") and not code.endswith("\n\n") else "complete"
    try:
        return "complete" if codeop.compile_command(code, symbol="exec") is not None else "incomplete"
    except (SyntaxError, ValueError, OverflowError):
        return "complete" if "await" in code else "invalid"
