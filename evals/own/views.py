"""States of an analysis: which records count and how. What is asked of a state is a pure function of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from evals.own.forms import summed
from evals.own.records import Order, Posting, World
from evals.tasks import Value

S = TypeVar("S")
Measure = Callable[[S], float | int]


@dataclass(frozen=True, slots=True)
class Sales:
    """Which orders count, and at which prices."""

    statuses: frozenset[str] = frozenset({"paid"})
    regions: frozenset[str] = frozenset({"North", "South", "East", "West"})
    categories: frozenset[str] = frozenset({"kitchen", "light", "paper"})
    months: tuple[int, int] = (1, 12)
    at_least: int = 0
    """Cents of one order, at the prices of the file."""
    dearer: tuple[tuple[str, int], ...] = ()
    """Categories whose prices are so many percent higher."""
    corrected: bool = False

    def orders(self, world: World) -> list[Order]:
        """The orders that count."""
        orders: Sequence[Order] = world.orders
        if self.corrected:
            latest = {one.order: one.pieces for one in sorted(world.corrections, key=lambda one: one.at)}
            orders = [replace(one, pieces=latest.get(one.number, one.pieces)) for one in orders]
        return [
            one
            for one in orders
            if one.status in self.statuses
            and one.shop.region in self.regions
            and one.product.category in self.categories
            and self.months[0] <= one.day.month <= self.months[1]
            and one.total >= self.at_least
        ]

    def euros(self, world: World) -> float:
        """The sum of pieces times price."""
        more = dict(self.dearer)
        return sum(one.total * (100 + more.get(one.product.category, 0)) for one in self.orders(world)) / 10_000

    def by_region(self, world: World) -> dict[str, int]:
        """The sum in hundredths of a cent, by region."""
        more = dict(self.dearer)
        rows = self.orders(world)
        return summed((one.shop.region, one.total * (100 + more.get(one.product.category, 0))) for one in rows)


@dataclass(frozen=True, slots=True)
class Money:
    """Which postings count."""

    kinds: frozenset[str] = frozenset({"giro", "savings", "business"})
    months: tuple[int, int] = (1, 6)
    without_reversals: bool = False
    """Neither reversals nor what they reverse."""
    at_least: int = 0
    """Cents, whatever the sign."""
    texts: tuple[str, ...] = ()
    """Words that texts begin with; empty: any."""
    without: tuple[str, ...] = ()
    """Owners whose accounts are left out."""

    def postings(self, world: World) -> list[Posting]:
        """The postings that count."""
        gone = {one.reverses for one in world.postings}
        return [
            one
            for one in world.postings
            if one.account.kind in self.kinds
            and self.months[0] <= one.day.month <= self.months[1]
            and not (self.without_reversals and (one.reverses is not None or one.id in gone))
            and abs(one.cents) >= self.at_least
            and (not self.texts or one.text.startswith(self.texts))
            and one.account.owner not in self.without
        ]

    def euros(self, world: World) -> float:
        """The sum of the postings."""
        return sum(one.cents for one in self.postings(world)) / 100


def start(state: S) -> Callable[[Sequence[S]], S]:
    """The state of the first turn."""
    return lambda _: state


def change(**fields: Any) -> Callable[[Sequence[Any]], Any]:
    """The last state with other fields."""
    return lambda states: replace(states[-1], **fields)


def keep() -> Callable[[Sequence[S]], S]:
    """The last state."""
    return lambda states: states[-1]


def back(turn: int, **fields: Any) -> Callable[[Sequence[Any]], Any]:
    """The state of an earlier turn, from 1 on, perhaps with other fields."""
    return lambda states: replace(states[turn - 1], **fields)


def now(*measures: Measure[S]) -> Callable[[Sequence[S]], list[Value]]:
    """What is measured of the newest state."""
    return lambda states: [measure(states[-1]) for measure in measures]


def less(measure: Measure[S], turn: int) -> Callable[[Sequence[S]], list[Value]]:
    """How much greater the newest state is than that of an earlier turn, from 1 on."""
    return lambda states: [measure(states[-1]) - measure(states[turn - 1])]
