"""Questions that the files cannot answer, and some that look like them and can be answered."""

import datetime as dt

from evals.own.forms import CHECK_FIRST, UNANSWERABLE, Line, best, single, summed
from evals.own.records import World

VISITS = "patients.csv visits.parquet visits_readme.txt"


def tasks(world: World) -> list[Line]:
    """All of them."""
    return [*_never(), *_after_all(world)]


def _never() -> list[Line]:
    asked = {
        "never-profit": (
            "orders.csv products.txt",
            "What was the profit (sales less cost of goods) of the category light?",
        ),
        "never-2024": (
            "orders.csv shops.tsv",
            "By how many percent did the sales of the region East grow from 2024 to 2025?",
        ),
        "never-age": ("orders.csv", "What is the median age of the customers?"),
        "never-rain": (
            "readings.csv.gz sensors.jsonl readings_readme.txt",
            "On which day did it rain most at the site Harbour?",
        ),
        "never-women": ("staff.xlsx", "How many women are in the department Research in 2025?"),
        "never-why": ("staff.xlsx", "How many of those who left in 2025 were given notice by the employer?"),
        "never-diastolic": (VISITS, "What is the mean diastolic pressure of arm A?"),
        "never-country": ("weblog.zip", "From which country did most requests come?"),
        "never-opening": (
            "bank.sqlite",
            "What was in all accounts together at the end of 31 March 2025? Balances at the beginning of the year are "
            "not "
            "known to be 0.",
        ),
    }
    return [single(name, files, f"{text} {CHECK_FIRST}", UNANSWERABLE) for name, (files, text) in asked.items()]


def _after_all(world: World) -> list[Line]:
    light = sum(one.total for one in world.orders if one.product.category == "light" and one.status == "paid")
    people = {one.number for one in world.staff[2024]}
    new = [one for one in world.staff[2025] if one.number not in people]
    arm = [one.systolic for one in world.visits if one.patient.arm == "A" and one.patient.birth < dt.date(1960, 1, 1)]
    agents = summed(("curl" if "curl" in one.agent else "other", 1) for one in world.hits)
    changed = sum(one.cents for one in world.postings if one.day <= dt.date(2025, 3, 31))
    noon = summed((one.sensor.site, one.tenths is None) for one in world.readings)
    return [
        single(
            "can-sales",
            "orders.csv products.txt",
            "What are the sales (pieces times price of paid orders, each order once) of the category light, in euros "
            "with "
            f"two decimals? {CHECK_FIRST}",
            light / 100,
        ),
        single(
            "can-new",
            "staff.xlsx",
            f"How many of those who are new in 2025 joined in the first quarter of 2025? {CHECK_FIRST}",
            sum(one.joined < dt.date(2025, 4, 1) for one in new),
        ),
        single(
            "can-born",
            VISITS,
            "What is the mean systolic pressure over the visits of those patients of arm A who were born before 1960? "
            "Two "
            f"decimals. {CHECK_FIRST}",
            sum(arm) / len(arm),
        ),
        single(
            "can-curl",
            "weblog.zip",
            f"How many requests came from the program curl? {CHECK_FIRST}",
            agents["curl"],
        ),
        single(
            "can-change",
            "bank.sqlite",
            "By how much did all accounts together change from the beginning of the year to the end of 31 March 2025, "
            "in "
            f"euros with two decimals? Cents divided by 100 are euros. {CHECK_FIRST}",
            changed / 100,
        ),
        single(
            "can-gaps",
            "readings.csv.gz sensors.jsonl readings_readme.txt",
            f"Which site has most readings without a value? {CHECK_FIRST}",
            best(noon),
        ),
    ]
