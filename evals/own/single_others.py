"""Single questions on readings, staff, postings, visits and the log of a web server."""

import datetime as dt
import math
import re
import statistics
from collections.abc import Sequence

from evals.own.forms import Line, best, grouped, single, summed
from evals.own.records import Patient, Visit, World

READINGS = "readings.csv.gz sensors.jsonl readings_readme.txt"
VISITS = "patients.csv visits.parquet visits_readme.txt"


def tasks(world: World) -> list[Line]:
    """All of them."""
    return [
        *_readings(world),
        *_sites(world),
        *_staff(world),
        *_both_years(world),
        *_bank(world),
        *_statement(world),
        *_visits(world),
        *_tests(world),
        *_log(world),
    ]


def _readings(world: World) -> list[Line]:
    known = [one for one in world.readings if one.tenths is not None]
    by_sensor = grouped((one.sensor.name, one.celsius) for one in known)
    warmest = best({name: statistics.mean(own) for name, own in by_sensor.items()})
    return [
        single(
            "readings-missing",
            READINGS,
            "How many readings have no value?",
            len(world.readings) - len(known),
        ),
        single(
            "readings-warmest",
            READINGS,
            "Which sensor has the highest mean in °C, and what is that mean with two decimals? Leave out what is "
            "missing.",
            warmest,
            statistics.mean(by_sensor[warmest]),
        ),
        single(
            "readings-day",
            READINGS,
            "What is the mean of all readings on 5 June 2025 (a day of UTC), in °C with two decimals? Leave out what "
            "is "
            "missing.",
            statistics.mean([one.celsius for one in known if one.at.day == 5]),
        ),
        single(
            "readings-correlation",
            READINGS,
            "What is Pearson's correlation of the readings of S-01 and S-07, over the hours where both have a value? "
            "Three decimals.",
            _correlation(world),
            decimals=3,
        ),
    ]


def _correlation(world: World) -> float:
    one, other = (
        {each.at: each.celsius for each in world.readings if each.sensor.name == name and each.tenths is not None}
        for name in ("S-01", "S-07")
    )
    hours = sorted(set(one) & set(other))
    return statistics.correlation([one[hour] for hour in hours], [other[hour] for hour in hours])


def _sites(world: World) -> list[Line]:
    known = [one for one in world.readings if one.tenths is not None]
    sites = grouped((one.sensor.site, one.celsius) for one in known)
    coldest = best({site: statistics.mean(own) for site, own in sites.items()}, least=True)
    roof = [one.celsius for one in known if "roof" in one.sensor.tags]
    return [
        single(
            "sites-coldest",
            READINGS,
            "Which site has the lowest mean in °C over all its readings? Leave out what is missing.",
            coldest,
        ),
        single(
            "sites-altitude",
            READINGS,
            "What is the mean altitude of the sensors in metres, with two decimals?",
            statistics.mean([one.metres for one in world.sensors]),
        ),
        single(
            "sites-roof",
            READINGS,
            "What is the sample standard deviation (n - 1) of all readings of the sensors tagged `roof`, in °C with "
            "two "
            "decimals? Leave out what is missing.",
            statistics.stdev(roof),
        ),
    ]


def _staff(world: World) -> list[Line]:
    now = world.staff[2025]
    by_department = summed((one.department, one.salary) for one in now)
    over = [code for code, (_, budget) in world.departments.items() if by_department[code] > budget]
    longest = best({one: (dt.date(2025, 12, 31) - one.joined).days for one in now})
    return [
        single(
            "staff-sum", "staff.xlsx", "What is the sum of the salaries of 2025, in euros?", sum(by_department.values())
        ),
        single(
            "staff-service",
            "staff.xlsx",
            "How many people were in the department Service at the end of 2025?",
            sum(one.department == "10" for one in now),
        ),
        single(
            "staff-over",
            "staff.xlsx",
            "In how many departments is the sum of the salaries of 2025 greater than the budget for salaries?",
            len(over),
        ),
        single(
            "staff-longest",
            "staff.xlsx",
            "Who of the staff of 2025 joined first? Answer with the number (as text, with its zeros), then the days "
            "from "
            "joining to 31 December 2025.",
            longest.number,
            (dt.date(2025, 12, 31) - longest.joined).days,
        ),
    ]


def _both_years(world: World) -> list[Line]:
    before, after = ({one.number: one for one in world.staff[year]} for year in (2024, 2025))
    stayed = [(before[number], after[number]) for number in before if number in after]
    raises = [100 * (new.salary / old.salary - 1) for old, new in stayed]
    return [
        single(
            "staff-left",
            "staff.xlsx",
            "How many people of 2024 are no longer there in 2025, and how many of 2025 were not there in 2024?",
            len(before) - len(stayed),
            len(after) - len(stayed),
        ),
        single(
            "staff-moved",
            "staff.xlsx",
            "How many people are in another department in 2025 than in 2024?",
            sum(old.department != new.department for old, new in stayed),
        ),
        single(
            "staff-raise",
            "staff.xlsx",
            "What is the median raise of the salary from 2024 to 2025, in percent with two decimals, of those who are "
            "there in both years? A raise of nothing counts as 0.",
            statistics.median(raises),
        ),
    ]


def _bank(world: World) -> list[Line]:
    postings = world.postings
    gone = {one.reverses for one in postings if one.reverses is not None}
    real = [one for one in postings if one.reverses is None and one.id not in gone]
    invoices = [m[1] for one in real if (m := re.match(r"Invoice (\d{4}-\d{4})/", one.text))]
    balances = summed((one.account.owner, one.cents) for one in postings)
    return [
        single(
            "bank-reversed",
            "bank.sqlite",
            "A posting with `reverses` takes back the posting of that id. What is the sum of the negative postings "
            "that are "
            "neither reversals nor reversed, in the unit of the column divided by 100, with two decimals?",
            sum(one.cents for one in real if one.cents < 0) / 100,
        ),
        single(
            "bank-invoices",
            "bank.sqlite",
            "A posting with `reverses` takes back the posting of that id; leave out both. Of what is left, how many "
            "distinct invoice numbers are in texts such as `Invoice 2025-0133/B`? The number is `2025-0133`, without "
            "the "
            "letter.",
            len(set(invoices)),
        ),
        single(
            "bank-lowest",
            "bank.sqlite",
            "Whose account has the lowest sum of all postings? Answer with the owner.",
            best(balances, least=True),
        ),
    ]


def _statement(world: World) -> list[Line]:
    postings = world.postings
    cards = [one for one in postings if one.text.startswith("Card")]
    shops = summed((one.text.split()[2], -one.cents) for one in cards)
    running, lowest = 0, 0
    account = world.accounts[2]
    for one in postings:
        if one.account == account:
            running += one.cents
            lowest = min(lowest, running)
    return [
        single(
            "statement-credits",
            "statement.txt",
            "What is the sum of all credits (CR) over the postings of all accounts, closing balances left out, with "
            "two "
            "decimals?",
            sum(one.cents for one in postings if one.cents > 0) / 100,
        ),
        single(
            "statement-cards",
            "statement.txt",
            "Texts such as `Card 1234 FUEL` end with the kind of shop. For which kind was most debited by card, and "
            "how "
            "much with two decimals? Reversals do not matter.",
            best(shops),
            shops[best(shops)] / 100,
        ),
        single(
            "statement-lowest",
            "statement.txt",
            f"What is the lowest balance that account {account.number} had after a posting, in the order of the "
            "numbers, "
            "when it began with 0? Two decimals, negative when it is a debit.",
            lowest / 100,
        ),
    ]


def _last(world: World) -> dict[Patient, tuple[Visit, Visit]]:
    """The first and the last visit of each patient."""
    visits = grouped((one.patient, one) for one in sorted(world.visits, key=lambda one: one.day))
    return {patient: (own[0], own[-1]) for patient, own in visits.items()}


def _visits(world: World) -> list[Line]:
    ends = _last(world)
    lost = [first.kilograms - last.kilograms for first, last in ends.values()]
    pulses = [one.pulse for one in world.visits if one.pulse is not None]
    ages = [
        first.day.year
        - patient.birth.year
        - ((first.day.month, first.day.day) < (patient.birth.month, patient.birth.day))
        for patient, (first, _) in ends.items()
    ]
    return [
        single(
            "visits-pulse", VISITS, "What is the mean of the measured pulses? Two decimals.", statistics.mean(pulses)
        ),
        single(
            "visits-weight",
            VISITS,
            "By how many kilograms did patients' weight fall on average from their first to their last visit? Two "
            "decimals; a gain counts as negative.",
            statistics.mean(lost),
        ),
        single(
            "visits-age",
            VISITS,
            "What is the mean age in completed years of the patients on the day of their first visit? Two decimals.",
            statistics.mean(ages),
        ),
        single(
            "visits-oak",
            VISITS,
            "How many visits did the patients of the clinic Oak make?",
            sum(one.patient.clinic == "Oak" for one in world.visits),
        ),
    ]


def _tests(world: World) -> list[Line]:
    ends = _last(world)
    falls = grouped((patient.arm, first.systolic - last.systolic) for patient, (first, last) in ends.items())
    return [
        single(
            "visits-welch",
            VISITS,
            "Take each patient's fall of the systolic pressure from the first to the last visit. What are Welch's t "
            "of arm "
            "B against arm A (positive when B fell more) and its degrees of freedom? Two decimals each.",
            *_welch(falls["B"], falls["A"]),
        ),
        single(
            "visits-slope",
            VISITS,
            "Fit systolic pressure by weight in kilograms over all visits, by least squares with an intercept. What "
            "is the "
            "slope in mmHg per kilogram? Three decimals.",
            _slope([one.kilograms for one in world.visits], [one.systolic for one in world.visits]),
            decimals=3,
        ),
    ]


def _welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Welch's t of two samples, and its degrees of freedom."""
    spread, other_spread = statistics.variance(one) / len(one), statistics.variance(other) / len(other)
    t = (statistics.mean(one) - statistics.mean(other)) / math.sqrt(spread + other_spread)
    lower = spread**2 / (len(one) - 1) + other_spread**2 / (len(other) - 1)
    return t, (spread + other_spread) ** 2 / lower


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the line by least squares."""
    return statistics.linear_regression(x, y).slope


def _log(world: World) -> list[Line]:
    people = [one for one in world.hits if "Bot" not in one.agent and "curl" not in one.agent]
    hours = summed((one.at.strftime("%d %H"), 1) for one in world.hits)
    failed = summed((one.path.partition("?")[0], 1) for one in world.hits if one.status >= 500)
    return [
        single(
            "log-bytes",
            "weblog.zip",
            "How many megabytes (1,000,000 bytes) were sent in all on both days? `-` means none. Two decimals.",
            sum(one.size for one in world.hits) / 1e6,
        ),
        single(
            "log-addresses",
            "weblog.zip",
            "How many distinct addresses asked with an agent that begins with Mozilla?",
            len({one.address for one in people}),
        ),
        single(
            "log-failures",
            "weblog.zip",
            "Which path has most answers with a status of 500 or more, its query (from `?` on) left out? Answer with "
            "the "
            "path, then how many.",
            best(failed),
            failed[best(failed)],
        ),
        single(
            "log-busiest",
            "weblog.zip",
            "How many requests came in the busiest hour (of the clock, on one of the days)?",
            max(hours.values()),
        ),
    ]
