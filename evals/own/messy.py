"""Writes the records as text files in the ways of the world: tables with other separators, encodings and notes."""

import datetime as dt
import json
from collections.abc import Callable, Iterable

from evals.own.records import Posting, World

Writer = Callable[[World], bytes]


def german(cents: int) -> str:
    """1.234,50: a point between thousands, a comma before decimals."""
    return f"{cents / 100:,.2f}".translate(str.maketrans(",.", ".,"))


def orders(world: World) -> bytes:
    """CSV with semicolons in cp1252, with lines above, repeated lines and a total below."""
    lines = [
        "Export of orders;;;;;;;",
        "Made on 05.01.2026;;;;;;;",
        "Codes are texts: 0120 and 120 are two shops;;;;;;;",
        "Lines may be repeated: an order number counts once;;;;;;;",
        "",
        "Order;Date;Shop;Product;Customer;Pieces;Price of one (€);Status",
    ]
    for place, one in enumerate(world.orders):
        customer = ("n/a", "-", "")[place % 3] if one.customer is None else f"C{one.customer:04}"
        price = german(one.cents)
        line = f"{one.number};{one.day:%d.%m.%Y};{one.shop.code};{one.product.code};{customer};{one.pieces};{price};"
        lines += [line + one.status] * (2 if place % 41 == 7 else 1)
    pieces = sum(one.pieces for one in world.orders)
    lines.append(f"Total;;;;;{german(pieces * 100)[:-3]};;")
    return "\r\n".join([*lines, ""]).encode("cp1252")


def shops(world: World) -> bytes:
    """UTF-16 with tabs, as Excel saves "Unicode text"."""
    lines = ["Code\tName\tRegion", *(f"{one.code}\t{one.name}\t{one.region}" for one in world.shops)]
    return "\r\n".join([*lines, ""]).encode("utf-16")


def products(world: World) -> bytes:
    """Fixed width, with weights in grams or kilograms."""
    lines = [f"{'CODE':<8}{'NAME':<12}{'CATEGORY':<10}{'WEIGHT':>10}", "-" * 40]
    for one in world.products:
        weight = f"{one.grams / 1000:g} kg" if one.grams >= 1000 else f"{one.grams} g"
        lines.append(f"{one.code:<8}{one.name:<12}{one.category:<10}{weight:>10}")
    return "\n".join([*lines, ""]).encode()


def corrections(world: World) -> bytes:
    """JSON Lines with objects in objects."""
    rows = (
        {
            "order": {"number": one.order},
            "change": {"field": "pieces", "to": one.pieces},
            "by": {"at": one.at.strftime("%Y-%m-%dT%H:%M"), "desk": one.order % 4},
        }
        for one in world.corrections
    )
    return _json_lines(rows)


def sensors(world: World) -> bytes:
    """JSON Lines with objects and lists in objects."""
    rows = (
        {
            "sensor": one.name,
            "unit": "F" if one.fahrenheit else "C",
            "site": {"name": one.site, "altitude": {"value": one.altitude, "unit": "ft" if one.feet else "m"}},
            "tags": list(one.tags),
        }
        for one in world.sensors
    )
    return _json_lines(rows)


def _json_lines(rows: Iterable[object]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def readings(world: World) -> bytes:
    """CSV whose times are in UTC or two hours ahead of it, and in which 999.9 says that there is no value."""
    lines = ["sensor,time,value"]
    ahead = dt.timezone(dt.timedelta(hours=2))
    for place, one in enumerate(world.readings):
        utc = one.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        time = utc if place % 3 else one.at.astimezone(ahead).isoformat()
        lines.append(f"{one.sensor.name},{time},{999.9 if one.tenths is None else one.tenths / 10}")
    return "\n".join([*lines, ""]).encode()


READINGS_README = b"""readings.csv.gz
---------------
One line for each reading of a thermometer.
time    with its offset from UTC; days and hours in questions are those of UTC
value   in the unit that sensors.jsonl says of the sensor: C or F. 999.9 means that there was no reading.
C = (F - 32) * 5 / 9. A foot (ft) has 0.3048 metres (m).
"""


def patients(world: World) -> bytes:
    """CSV with dates of birth in several writings, none of which can be read in two ways."""
    lines = ["\ufeffpatient,born,clinic,arm"]
    for place, one in enumerate(world.patients):
        ways = ("%Y-%m-%d", "%d %b %Y", "%d.%m.%Y", "%B %d %Y")
        lines.append(f"{one.id},{one.birth.strftime(ways[place % 4])},{one.clinic.upper()},{one.arm}")
    return "\n".join([*lines, ""]).encode()


VISITS_README = b"""patients.csv, visits.parquet
----------------------------
born      written 1950-12-31, 31 Dec 1950, 31.12.1950 (day, month, year) or December 31 1950
clinic    ELM in patients.csv is Elm in other places
weight    in the unit beside it, kg or lb; a pound (lb) has 0.45359237 kg
systolic  mmHg
pulse     beats in a minute; 999 means that it was not measured
"""


def statement(world: World) -> bytes:
    """Fixed width: amounts with thousands' commas, debits (DR) and credits (CR) of one account after the other."""
    lines = ["STATEMENT OF ALL ACCOUNTS  JANUARY TO JUNE 2025", ""]
    for account in world.accounts:
        own = [one for one in world.postings if one.account == account]
        lines += [f"ACCOUNT {account.number}  {account.owner.upper()}", ""]
        lines += [f"{'NO':>5} {'DAY':<10} {'TEXT':<42}{'AMOUNT':>13}", *map(_statement_line, own)]
        total = sum(one.cents for one in own)
        lines += [f"{'':>5} {'':<10} {'CLOSING BALANCE':<42}{_amount(total):>13}", "", "\f"]
    return "\n".join([*lines, ""]).encode()


def _statement_line(one: Posting) -> str:
    return f"{one.id:>5} {one.day:%d-%b-%y} {one.text[:40]:<43}{_amount(one.cents):>13}"


def _amount(cents: int) -> str:
    return f"{abs(cents) / 100:,.2f}{'DR' if cents < 0 else 'CR'}"


def plan(world: World) -> bytes:
    """Two tables in one CSV: budgets and actuals, months as columns."""
    months = [dt.date(2025, month, 1).strftime("%b") for month in range(1, 13)]
    lines = []
    for place, title in enumerate(("Budget 2025 (EUR thousand)", "Actual 2025 (EUR)")):
        lines += [title, ",".join(["Region", *months])]
        for region, pairs in world.plan.items():
            values = [f"{pair[0] / 1000:g}" if place == 0 else f'"{pair[1]:,}"' for pair in pairs]
            lines.append(",".join([region, *values]))
        lines.append("")
    return "\n".join(lines).encode()


def log(world: World, day: int) -> bytes:
    """One day of the log of a web server, in the combined format."""
    lines = []
    for one in world.hits:
        if one.at.day == day:
            size = "-" if one.size == 0 else one.size
            time = one.at.strftime("%d/%b/%Y:%H:%M:%S +0000")
            asked = f"{one.method} {one.path} HTTP/1.1"
            lines.append(f'{one.address} - - [{time}] "{asked}" {one.status} {size} "-" "{one.agent}"\n')
    return "".join(lines).encode()
