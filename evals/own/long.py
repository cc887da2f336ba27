"""Two tasks of thirty turns: definitions that change, suppositions, changes undone and earlier states combined."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from evals.own.forms import Line, Turn, play
from evals.own.records import World
from evals.own.views import Money, Sales

S = TypeVar("S", Sales, Money)
Changed = tuple[str, dict[str, Any]]
"""What is said of a change, and the fields that it sets."""
TURNS = 30
SEED = 30


@dataclass
class Talk(Generic[S]):
    """Makes up turns one after another; what is asked next depends on the states before."""

    world: World
    dice: random.Random
    what: str
    """What is measured: `sales are` or `flow is`."""
    opening: str
    change: Callable[[random.Random], Changed]
    suppose: Callable[[random.Random], Changed]
    part: tuple[str, str]
    """A field that is combined with an earlier state, and what it is called."""
    states: list[S] = field(default_factory=list)
    counting: list[int] = field(default_factory=list)
    """The questions whose definitions counted one after another, the newest last; what is undone is taken away."""
    measured: list[int] = field(default_factory=list)
    """The questions that asked for the sum of their own state."""
    counted: S | None = None
    """The state whose records were counted last."""

    def turns(self, first: S) -> list[Turn[S]]:
        """All turns."""
        self.states, self.counting, self.measured = [first], [1], [1]
        turns: list[Turn[S]] = [Turn(self.opening, _always(first), self._sum)]
        kinds = (
            self._changes,
            self._supposes,
            self._undoes,
            self._returns,
            self._compares,
            self._combines,
            self._counts,
        )
        while len(turns) < TURNS:
            kind = self.dice.choices(kinds, (9, 4, 4, 2, 4, 3, 3))[0]
            turn = kind(len(turns) + 1)
            if turn is not None:
                turns.append(turn)
        return turns

    def _sum(self, states: Sequence[S]) -> list[float]:
        return [states[-1].euros(self.world)]

    def _count(self, states: Sequence[S]) -> list[int]:
        return [len(_rows(states[-1], self.world))]

    def _usable(self, state: S) -> bool:
        return len(_rows(state, self.world)) > 5

    def _asked(self, text: str, state: S) -> Turn[S]:
        self.states.append(state)
        self.measured.append(len(self.states))
        return Turn(text, _always(state), self._sum)

    def _now(self) -> S:
        return self.states[self.counting[-1] - 1]

    def _changes(self, number: int) -> Turn[S] | None:
        text, fields = self.change(self.dice)
        state = replace(self._now(), **fields)
        if state == self._now() or not self._usable(state):
            return None
        self.counting.append(number)
        return self._asked(f"From now on {text}. All else stays as it is. What {self.what} now?", state)

    def _supposes(self, number: int) -> Turn[S] | None:
        text, fields = self.suppose(self.dice)
        state = replace(self._now(), **fields)
        if state.euros(self.world) == self._now().euros(self.world):
            return None
        return self._asked(f"For this question only, suppose that {text}. What {self.what} then?", state)

    def _undoes(self, number: int) -> Turn[S] | None:
        if len(self.counting) < 2:
            return None
        gone = self.counting.pop()
        which = f"Undo the newest change of the definition that still counts, that of question {gone}."
        return self._asked(f"{which} What {self.what} now?", self._now())

    def _returns(self, number: int) -> Turn[S] | None:
        earlier = [one for one in self.counting if self.states[one - 1] != self._now()]
        if not earlier:
            return None
        chosen = self.dice.choice(earlier)
        self.counting.append(number)
        text = f"From now on the definition that counted after question {chosen} counts again. What {self.what} now?"
        return self._asked(text, self.states[chosen - 1])

    def _compares(self, number: int) -> Turn[S] | None:
        first, second = self.dice.choice(self.measured), self.dice.choice(self.measured)
        if self.states[first - 1] == self.states[second - 1]:
            return None
        self.states.append(self._now())
        world = self.world
        return Turn(
            f"By how much was your answer to question {first} above that to question {second}? Negative when below.",
            _always(self._now()),
            lambda states: [states[first - 1].euros(world) - states[second - 1].euros(world)],
        )

    def _combines(self, number: int) -> Turn[S] | None:
        chosen = self.dice.choice(self.measured)
        part, called = self.part
        state = replace(self.states[chosen - 1], **{part: getattr(self._now(), part)})
        if state in (self._now(), self.states[chosen - 1]) or not self._usable(state):
            return None
        text = (
            f"For this question only, take what question {chosen} was about, suppositions included, but with {called} "
            "of "
            f"the definition that counts now. What {self.what} then?"
        )
        return self._asked(text, state)

    def _counts(self, number: int) -> Turn[S] | None:
        if self.counted == self._now():
            return None
        self.counted = self._now()
        self.states.append(self._now())
        text = "How many records, each counted once, are in the definition that counts now?"
        return Turn(text, _always(self._now()), self._count)


def _always(state: S) -> Callable[[Sequence[S]], S]:
    return lambda _: state


def _rows(state: Sales | Money, world: World) -> Sequence[object]:
    return state.orders(world) if isinstance(state, Sales) else state.postings(world)


def _some(dice: random.Random, names: Sequence[str]) -> list[str]:
    return sorted(dice.sample(names, dice.randrange(1, len(names))))


def _months(dice: random.Random, last: int) -> Changed:
    first = dice.randrange(1, last - 1)
    end = dice.randrange(first + 1, last + 1)
    return f"only the months {first} to {end} of 2025 count", {"months": (first, end)}


def _sales_change(dice: random.Random) -> Changed:
    kind = dice.randrange(6)
    if kind == 0:
        regions = _some(dice, ("East", "North", "South", "West"))
        return f"only these regions count: {', '.join(regions)}", {"regions": frozenset(regions)}
    if kind == 1:
        categories = _some(dice, ("kitchen", "light", "paper"))
        return f"only these categories count: {', '.join(categories)}", {"categories": frozenset(categories)}
    if kind == 2:
        statuses = _some(dice, ("open", "paid", "returned"))
        return f"only orders with these statuses count: {', '.join(statuses)}", {"statuses": frozenset(statuses)}
    if kind == 3:
        euros = dice.randrange(1, 9) * 500
        text = f"only orders count whose pieces times price, at the prices of the file, are {euros} euros or more"
        return text, {"at_least": euros * 100}
    if kind == 4:
        corrected = dice.random() < 0.6
        rule = "corrections.jsonl replaces pieces (the latest `at` of an order counts)"
        return rule if corrected else "corrections.jsonl does not count: pieces are those of orders.csv", {
            "corrected": corrected
        }
    return _months(dice, 12)


def _sales_suppose(dice: random.Random) -> Changed:
    category, percent = dice.choice(("kitchen", "light", "paper")), dice.randrange(2, 20)
    return f"the prices of {category} were {percent} % higher, of each order that counts", {
        "dearer": ((category, percent),)
    }


def _money_change(dice: random.Random) -> Changed:
    kind = dice.randrange(5)
    if kind == 0:
        kinds = _some(dice, ("business", "giro", "savings"))
        return f"only accounts of these kinds count: {', '.join(kinds)}", {"kinds": frozenset(kinds)}
    if kind == 1:
        euros = dice.randrange(1, 9) * 100
        return f"only postings of {euros} euros or more count, whatever the sign", {"at_least": euros * 100}
    if kind == 2:
        words = _some(dice, ("Card", "Invoice", "Rent", "Reversal", "Salary"))
        return f"only postings count whose text begins with one of: {', '.join(words)}", {"texts": tuple(words)}
    if kind == 3:
        left_out = dice.random() < 0.6
        yes = "neither postings with `reverses` count nor those whose id stands there (in any month and account)"
        no = "reversals and what they reverse count like all other postings"
        return yes if left_out else no, {"without_reversals": left_out}
    return _months(dice, 6)


def tasks(world: World) -> list[Line]:
    """Both of them."""
    numbered = "My questions are numbered from 1, which this one is."
    sales = Talk[Sales](
        world,
        random.Random(SEED),
        "are the sales",
        f"{numbered} Count each order number once. By sales I mean the sum of pieces times price in euros, two "
        "decimals, "
        "of the orders that count: for now those that are paid. What are the sales?",
        _sales_change,
        _sales_suppose,
        ("months", "the months"),
    )

    def left_out(dice: random.Random) -> Changed:
        owner = dice.choice([one.owner for one in world.accounts])
        return f"the account of {owner} were left out", {"without": (owner,)}

    flow = Talk[Money](
        world,
        random.Random(SEED + 1),
        "is the flow",
        f"{numbered} By flow I mean the sum of the postings that count, in euros with two decimals; cents divided by "
        "100 "
        "are euros. For now all postings count. What is the flow?",
        _money_change,
        left_out,
        ("kinds", "the kinds of accounts"),
    )
    return [
        play("long-sales", "orders.csv shops.tsv products.txt corrections.jsonl", sales.turns(Sales())),
        play("long-flow", "bank.sqlite", flow.turns(Money())),
    ]
