"""Writes random programs: some things are made, changed, shared and deleted, in cells of one session."""

import random
import re
import string
from dataclasses import dataclass, field

from nodes.cell_magics.magics import python_of
from tests.random_programs.features import Feature, code_of
from tests.random_programs.library_features import ARRAYS, FRAMES, FURTHER, MODELS
from tests.random_programs.plain_features import CODE, MORE, VALUES, WORLD

FEATURES = [*VALUES, *CODE, *WORLD, *MORE, *ARRAYS, *FRAMES, *FURTHER, *MODELS]
OWNER = re.compile(r"\bp\d+[a-z]_")
"""The beginning of a name: that of a thing in a program."""
SHARING = Feature(
    "things that hold others",
    """
import functools, types
import numpy as np
V_box, V_map, V_names = [], {}, types.SimpleNamespace()
def V_hold(value):
    def get(): return value
    return get
class V_C: held = None
V_arr = np.full(5, None, dtype=object)
def V_who(value):
    'The variables that are this very object.'
    return [name for name in sorted(globals()) if globals()[name] is value and name[:1] == 'p']
""".strip(),
    (),
    (
        "[V_who(one) for one in V_box], sorted((key, V_who(one)) for key, one in V_map.items())",
        "sorted((key, V_who(one)) for key, one in vars(V_names).items()), V_who(V_C.held), [*map(V_who, V_arr)]",
        "[(name, V_who(globals()[name])) for name in ('V_f', 'V_g', 'V_t', 'V_also') if name in globals()]",
        "[V_who(one()) for one in V_box if type(one) is types.FunctionType and one.__name__ == 'get']",
    ),
    "V_box",
)
LINKS = (
    "V_box.append(X_)",
    "V_map['kN1_'] = X_",
    "setattr(V_names, 'aN1_', X_)",
    "V_C.held = X_",
    "V_arr[N1_ % 5] = X_",
    "V_box.append(V_hold(X_))",
    "V_f = lambda q=X_: q",
    "V_g = functools.partial(V_hold, X_)",
    "V_t = (X_, V_box, Y_)",
    "V_also = X_",
    "V_map['pair'] = [X_, Y_]",
    "V_box.append(V_box)",
    "X_ = Y_",
    "del X_",
    "V_map.clear()",
    "V_box.pop()",
    "V_C = type('V_C', (V_C,), {'held': X_}) if len(V_C.__mro__) < 5 else V_C",
    "Y_.linked = X_",
    "X_.append(Y_)",
    "V_names = types.SimpleNamespace(was=V_names, now=X_) if not hasattr(V_names, 'was') else types.SimpleNamespace()",
)


@dataclass
class Thing:
    """A feature in a program, with names of its own."""

    feature: Feature
    prefix: str

    def asked(self) -> list[str]:
        return [PART.sub(self.prefix, text) for text in self.feature.asked]


PART = re.compile(r"\bV_")


@dataclass
class Session:
    """Some programs in one session, cell after cell."""

    things: list[Thing] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    """The statements of each cell."""

    def code(self, cell: int) -> str:
        """The code of a cell."""
        return "\n".join(map(guarded, self.cells[cell]))

    def only(self, number: int) -> "Session":
        """One program, as it is among the others."""
        own = re.compile(rf"\bp{number}[a-z]_")
        return Session(
            [thing for thing in self.things if own.match(thing.prefix)],
            [[statement for statement in cell if own.search(statement)] for cell in self.cells],
        )

    def linked(self, things: set[str], cell: int) -> set[str]:
        """What the statements before a cell name together with one of these things."""
        named = (set(OWNER.findall(statement)) for earlier in self.cells[:cell] for statement in earlier)
        return set().union(*(found for found in named if found & things))

    def history(self, prefix: str, last: int) -> list[str]:
        """The short statements that name a thing, up to a cell: what was done after it was made."""
        return [
            f"{cell}: {statement}"
            for cell, statements in enumerate(self.cells[: last + 1])
            for statement in statements
            if prefix in statement and "\n" not in statement
        ]


def guarded(statement: str) -> str:
    """A statement that says what it raised."""
    body = "\n".join("    " + line if line else "" for line in statement.splitlines())
    return f"try:\n{body}\nexcept Exception as _error: print(type(_error).__name__, str(_error)[:60])"


def write_session(seed: str, programs: int, cells: int) -> Session:
    """Some programs; the same for the same seed."""
    dice = random.Random(seed)
    session = Session(cells=[[] for _ in range(cells)])
    for number in range(programs):
        for cell, statements in enumerate(_program(session, number, dice, cells)):
            session.cells[cell] += statements
    return session


def _program(session: Session, number: int, dice: random.Random, cells: int) -> list[list[str]]:
    written: list[list[str]] = [[] for _ in range(cells)]
    letters = iter(string.ascii_lowercase)
    features = [SHARING, *dice.sample(FEATURES, dice.randint(2, 4))]
    made: list[tuple[Thing, int]] = []
    for feature in features:
        thing = Thing(feature, f"p{number}{next(letters)}_")
        session.things.append(thing)
        at = 0 if feature is SHARING else dice.randrange(max(1, cells - 1))
        made.append((thing, at))
        written[at] += [_code(piece, thing.prefix, dice) for piece in _pieces(feature.made)]
    sharing = made[0][0]
    for cell in range(cells):
        there = [thing for thing, at in made[1:] if at <= cell]
        for _ in range(dice.randint(0, 5) if there else 0):
            thing = dice.choice(there)
            if dice.random() < 0.7:
                written[cell].append(_code(dice.choice(thing.feature.changed), thing.prefix, dice))
            else:
                written[cell].append(_link(sharing, thing, dice.choice(there), dice))
    return written


def _link(sharing: Thing, one: Thing, other: Thing, dice: random.Random) -> str:
    text = _code(dice.choice(LINKS), sharing.prefix, dice)
    names = {"X_": PART.sub(one.prefix, one.feature.held), "Y_": PART.sub(other.prefix, other.feature.held)}
    return re.sub(r"\b[XY]_", lambda match: names[match.group()], text)


def _pieces(made: str) -> list[str]:
    """The code that makes something, with queries apart."""
    code = [line for line in made.splitlines() if not line.startswith("#sql")]
    return ["\n".join(code), *(line for line in made.splitlines() if line.startswith("#sql"))]


def _code(text: str, prefix: str, dice: random.Random) -> str:
    code = code_of(text, prefix, dice.randint(0, 200), dice.randint(0, 200))
    if code.startswith("#sql "):
        _, name, query = code.split(" ", 2)
        return python_of(f"%%sql {name}\n{query}")
    return code
