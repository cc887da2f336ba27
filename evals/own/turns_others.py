"""Tasks of several turns on staff, readings, visits and the log of a web server."""

import datetime as dt
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from evals.own.forms import Line, Turn, best, play, summed
from evals.own.records import Hit, Person, Reading, Visit, World
from evals.own.views import back, change, keep, now, start

READINGS = "readings.csv.gz sensors.jsonl readings_readme.txt"
VISITS = "patients.csv visits.parquet visits_readme.txt"


@dataclass(frozen=True, slots=True)
class People:
    """Which staff counts."""

    year: int = 2025
    departments: tuple[str, ...] = ("010", "10", "020", "030", "040")
    least: int = 0
    joined_from: dt.date = dt.date(2000, 1, 1)

    def of(self, world: World) -> list[Person]:
        """The people that count."""
        return [
            one
            for one in world.staff[self.year]
            if one.department in self.departments and one.salary >= self.least and one.joined >= self.joined_from
        ]


@dataclass(frozen=True, slots=True)
class Air:
    """Which readings count."""

    sensors: tuple[str, ...] = ()
    """Empty: all."""
    days: tuple[int, int] = (1, 14)
    hours: tuple[int, int] = (0, 23)
    without: tuple[str, ...] = ()
    """Tags whose sensors are left out."""

    def of(self, world: World) -> list[Reading]:
        """The readings that count, with a value."""
        return [
            one
            for one in world.readings
            if one.tenths is not None
            and (not self.sensors or one.sensor.name in self.sensors)
            and self.days[0] <= one.at.day <= self.days[1]
            and self.hours[0] <= one.at.hour <= self.hours[1]
            and not set(self.without) & set(one.sensor.tags)
        ]


@dataclass(frozen=True, slots=True)
class Trial:
    """Which visits count."""

    arms: str = "AB"
    clinics: tuple[str, ...] = ("Elm", "Oak", "Ash")
    born_before: dt.date = dt.date(2100, 1, 1)
    systolic: int = 0
    """At least so much."""

    def of(self, world: World) -> list[Visit]:
        """The visits that count."""
        return [
            one
            for one in world.visits
            if one.patient.arm in self.arms
            and one.patient.clinic in self.clinics
            and one.patient.birth < self.born_before
            and one.systolic >= self.systolic
        ]


@dataclass(frozen=True, slots=True)
class Requests:
    """Which requests count."""

    statuses: tuple[int, ...] = (200, 304, 403, 404, 500)
    bots: bool = True
    days: tuple[int, ...] = (8, 9)
    begins: str = "/"

    def of(self, world: World) -> list[Hit]:
        """The requests that count."""
        return [
            one
            for one in world.hits
            if one.status in self.statuses
            and (self.bots or "Bot" not in one.agent)
            and one.at.day in self.days
            and one.path.startswith(self.begins)
        ]


def tasks(world: World) -> list[Line]:
    """All of them."""
    return [*_staff(world), *_readings(world), *_visits(world), _log(world)]


def _staff(world: World) -> list[Line]:
    def count(state: People) -> int:
        return len(state.of(world))

    def salaries(state: People) -> int:
        return sum(one.salary for one in state.of(world))

    def mean(state: People) -> float:
        return salaries(state) / count(state)

    return [
        play(
            "turns-salaries",
            "staff.xlsx",
            [
                Turn("What is the mean salary of the staff of 2025? Euros, two decimals.", start(People()), now(mean)),
                Turn("And in 2024?", change(year=2024), now(mean)),
                Turn("By how much is the first mean above the second?", keep(), lambda s: [mean(s[0]) - mean(s[1])]),
                Turn("In 2025, what is it in Research?", back(1, departments=("020",)), now(mean)),
                Turn("And in Research in 2024?", change(year=2024), now(mean)),
                Turn(
                    "How many people were there in Research in 2024, and how many in 2025?",
                    keep(),
                    lambda s: [count(s[4]), count(s[3])],
                ),
            ],
        ),
        play(
            "turns-raise",
            "staff.xlsx",
            [
                Turn("What is the sum of the salaries of 2025, in euros?", start(People()), now(salaries)),
                Turn(
                    "Only of those who joined on 1 January 2015 or later?",
                    change(joined_from=dt.date(2015, 1, 1)),
                    now(salaries),
                ),
                Turn(
                    "Suppose these got 3 % more, and the others nothing. What would the sum of all salaries be? Two "
                    "decimals.",
                    keep(),
                    lambda s: [salaries(s[0]) + 0.03 * salaries(s[1])],
                ),
                Turn(
                    "Without that: how many joined on 1 January 2015 or later and have 60,000 euros or more?",
                    back(2, least=60_000),
                    now(count),
                ),
                Turn("How many have so much, whenever they joined?", back(1, least=60_000), now(count)),
            ],
        ),
    ]


def _readings(world: World) -> list[Line]:
    def mean(state: Air) -> float:
        return statistics.mean(one.celsius for one in state.of(world))

    def count(state: Air) -> int:
        return len(state.of(world))

    def fahrenheit(state: Air) -> float:
        return mean(state) * 9 / 5 + 32

    return [
        play(
            "turns-temperature",
            READINGS,
            [
                Turn(
                    "What is the mean of all readings in °C? Leave out what is missing. Two decimals.",
                    start(Air()),
                    now(mean),
                ),
                Turn("Only of the sensors S-04 and S-05?", change(sensors=("S-04", "S-05")), now(mean)),
                Turn(
                    "Of these, only the hours from 06:00 to 11:00 UTC, 11:00 included?",
                    change(hours=(6, 11)),
                    now(mean),
                ),
                Turn("The same in °F?", keep(), now(fahrenheit)),
                Turn("All sensors again, those hours, in °C?", back(1, hours=(6, 11)), now(mean)),
                Turn(
                    "By how many °C is your first mean above that one? Negative when it is below.",
                    keep(),
                    lambda s: [mean(s[0]) - mean(s[4])],
                ),
            ],
        ),
        play(
            "turns-tags",
            READINGS,
            [
                Turn("How many readings have a value?", start(Air()), now(count)),
                Turn("From now on leave out the sensors tagged `old`. How many?", change(without=("old",)), now(count)),
                Turn("From 8 to 14 June (days of UTC)?", change(days=(8, 14)), now(count)),
                Turn("Leave out those tagged `shade`, too. How many?", change(without=("old", "shade")), now(count)),
                Turn("Undo that last step. What is the mean in °C, two decimals?", back(3), now(mean)),
                Turn(
                    "How many readings of the whole time had you left out with the `old` ones?",
                    keep(),
                    lambda s: [count(s[0]) - count(s[1])],
                ),
            ],
        ),
    ]


def _visits(world: World) -> list[Line]:
    def count(state: Trial) -> int:
        return len(state.of(world))

    def mean(state: Trial) -> float:
        return statistics.mean(one.systolic for one in state.of(world))

    def weight(state: Trial) -> float:
        return statistics.mean(one.kilograms for one in state.of(world))

    return [
        play(
            "turns-arms",
            VISITS,
            [
                Turn(
                    "What is the mean systolic pressure over all visits of arm A? Two decimals.",
                    start(Trial("A")),
                    now(mean),
                ),
                Turn("And of arm B?", change(arms="B"), now(mean)),
                Turn("By how much is A above B?", keep(), lambda s: [mean(s[0]) - mean(s[1])]),
                Turn("B at the clinic Oak alone?", change(clinics=("Oak",)), now(mean)),
                Turn("A at that clinic?", change(arms="A"), now(mean)),
                Turn("By how much is A above B there?", keep(), lambda s: [mean(s[4]) - mean(s[3])]),
                Turn("How many visits does arm B have at all clinics?", back(2), now(count)),
            ],
        ),
        play(
            "turns-high",
            VISITS,
            [
                Turn(
                    "A visit is high when systolic is 150 or more. How many are there?",
                    start(Trial(systolic=150)),
                    now(count),
                ),
                Turn("Make that 160 or more. How many?", change(systolic=160), now(count)),
                Turn("Only patients born before 1970?", change(born_before=dt.date(1970, 1, 1)), now(count)),
                Turn("For these patients, by my first limit?", change(systolic=150), now(count)),
                Turn("What is the mean weight at those visits, in kilograms with two decimals?", keep(), now(weight)),
                Turn(
                    "How many high visits by the first limit had the patients born in 1970 or later?",
                    keep(),
                    lambda s: [count(s[0]) - count(s[3])],
                ),
            ],
        ),
    ]


def _log(world: World) -> Line:
    def count(state: Requests) -> int:
        return len(state.of(world))

    def megabytes(state: Requests) -> float:
        return sum(one.size for one in state.of(world)) / 1e6

    def paths(states: Sequence[Requests]) -> list[str]:
        return [best(summed((one.path, 1) for one in states[-1].of(world)))]

    return play(
        "turns-log",
        "weblog.zip",
        [
            Turn("How many requests are there on both days?", start(Requests()), now(count)),
            Turn("From now on without agents that have Bot in their name. How many?", change(bots=False), now(count)),
            Turn(
                "Of these, which path (with its query) was asked for most often on 9 March?",
                change(days=(9,)),
                paths,
            ),
            Turn("Both days again, only paths that begin with /api: how many?", back(2, begins="/api"), now(count)),
            Turn(
                "How many megabytes (1,000,000 bytes) are these? Two decimals; `-` means none.",
                keep(),
                now(megabytes),
            ),
            Turn("And with the Bot agents?", change(bots=True), now(megabytes)),
            Turn("How many requests of all did the Bot agents make?", keep(), lambda s: [count(s[0]) - count(s[1])]),
            Turn(
                "Only those with status 500, with the Bot agents, all paths: how many?",
                back(1, statuses=(500,)),
                now(count),
            ),
        ],
    )
