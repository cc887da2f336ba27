"""What random programs are made of: things that are made, changed in some ways, and asked what they are."""

import re
import textwrap
from dataclasses import dataclass

PREFIX = re.compile(r"\bV_")
NUMBER = re.compile(r"N[12]_")


@dataclass(frozen=True)
class Feature:
    """A kind of thing. In its code `V_` begins each name that is its own; `N1_` and `N2_` are numbers."""

    name: str
    made: str
    """A piece of code that makes it."""
    changed: tuple[str, ...]
    """Lines, of which each changes it, at any time and any number of times."""
    asked: tuple[str, ...]
    """Expressions whose values say what it is; asking changes nothing."""
    held: str
    """The name under which others hold it."""


def feature(name: str, made: str, changed: str, asked: str, held: str = "V_x") -> Feature:
    """A kind of thing; each line of `changed` and of `asked` is one."""
    return Feature(name, textwrap.dedent(made).strip(), _lines(changed), _lines(asked), held)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines() if line.strip())


def code_of(text: str, prefix: str, first: int, second: int) -> str:
    """The code of one thing, with its own names and numbers."""
    numbers = {"N1_": str(first), "N2_": str(second)}
    return NUMBER.sub(lambda match: numbers[match.group()], PREFIX.sub(prefix, text))
