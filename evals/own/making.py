"""Makes the records, each kind from a generator of random numbers of its own."""

import datetime as dt
import random
from dataclasses import replace
from functools import cache

from evals.own.records import (
    Account,
    Correction,
    Hit,
    Order,
    Patient,
    Person,
    Posting,
    Product,
    Reading,
    Sensor,
    Shop,
    Visit,
    World,
)

SEED = 20260105
FIRST = dt.date(2025, 1, 1)
REGIONS = ("North", "South", "East", "West")
SHOPS = (
    "007 Köln North|7 Málaga South|0120 Zürich East|120 Århus North|033 Lyon West|33 Brno East|"
    "0450 Porto West|450 Gdańsk East|801 Córdoba South|0801 Malmö North|915 Besançon West|0915 Évora South"
)
PRODUCTS = (
    "1E5|Kettle|kitchen|1250;100000|Toaster|kitchen|1800;2E3|Desk lamp|light|950;2000|Bulb|light|80;"
    "00420|Notebook|paper|310;420|Envelope|paper|15;3E01|Pan|kitchen|1430;30|Pencil|paper|9;"
    "B-17|Lantern|light|720;007A|Folder|paper|125;7E-1|Whisk|kitchen|160;0090|Torch|light|240"
)
DEPARTMENTS = {
    "010": ("Sales", 1_150_000),
    "10": ("Service", 900_000),
    "020": ("Research", 1_400_000),
    "030": ("Finance", 640_000),
    "040": ("Works", 1_300_000),
}
FIRSTS = (
    *("Ada", "Bo", "Carla", "Dev", "Elif", "Finn", "Greta", "Hugo", "Ines", "Jan"),
    *("Kaya", "Leo", "Mila", "Nils", "Olga", "Pia", "Quinn", "Rosa", "Sami", "Tess"),
)
LASTS = (
    *("Abel", "Berg", "Costa", "Dahl", "Engel", "Fuchs", "Garcia", "Holm"),
    *("Ivanov", "Jansen", "Koch", "Lund", "Meyer", "Novak", "Olsen", "Perez"),
)


def shops() -> tuple[Shop, ...]:
    """The shops; cp1252 has no letter ń, hence the name without it."""
    rows = [one.split() for one in SHOPS.replace("ń", "n").split("|")]
    return tuple(Shop(code, name, region) for code, name, region in rows)


def products() -> tuple[Product, ...]:
    """What they sell."""
    rows = [one.split("|") for one in PRODUCTS.split(";")]
    return tuple(Product(code, name, category, int(grams)) for code, name, category, grams in rows)


def orders(dice: random.Random, where: tuple[Shop, ...], what: tuple[Product, ...]) -> tuple[Order, ...]:
    """Orders of one year, in the order of their days."""
    prices = {one.code: dice.randrange(150, 180_000) for one in what}
    days = sorted(FIRST + dt.timedelta(days=dice.randrange(365)) for _ in range(1200))
    made = []
    for number, day in enumerate(days, 10_001):
        product = dice.choice(what)
        cents = round(prices[product.code] * dice.uniform(0.8, 1.2))
        customer = dice.randrange(1, 181) if dice.random() > 0.06 else None
        status = dice.choices(("paid", "open", "returned"), (80, 12, 8))[0]
        pieces = dice.randrange(1, 13)
        made.append(Order(number, day, dice.choice(where), product, customer, pieces, cents, status))
    return tuple(made)


def corrections(dice: random.Random, of: tuple[Order, ...]) -> tuple[Correction, ...]:
    """Corrections of 90 orders, some of which were corrected twice; not in the order of time."""
    made = []
    for order in dice.sample(of, 90):
        at = dt.datetime(2026, 1, dice.randrange(5, 20), dice.randrange(8, 18), dice.randrange(60), tzinfo=dt.UTC)
        made.append(Correction(order.number, dice.randrange(1, 20), at))
        if dice.random() < 0.3:
            later = at + dt.timedelta(hours=dice.randrange(2, 70))
            made.append(Correction(order.number, dice.randrange(1, 20), later))
    dice.shuffle(made)
    return tuple(made)


def sensors() -> tuple[Sensor, ...]:
    """Ten thermometers at four sites."""
    sites = ("Harbour", "Forest", "Summit", "Airport")
    rows = []
    for number in range(1, 11):
        feet = number in (3, 4, 8)
        altitude = 37 * number * number % 1900 + 12
        tags = tuple(tag for tag, every in (("roof", 2), ("shade", 3), ("old", 4)) if number % every == 0)
        rows.append(Sensor(f"S-{number:02}", sites[number % 4], altitude, feet, number in (4, 7, 9), tags))
    return tuple(rows)


def readings(dice: random.Random, of: tuple[Sensor, ...]) -> tuple[Reading, ...]:
    """Every hour of fourteen days, with gaps."""
    made = []
    for hour in range(14 * 24):
        at = dt.datetime(2025, 6, 1, tzinfo=dt.UTC) + dt.timedelta(hours=hour)
        for place, sensor in enumerate(of):
            celsius = 15 + 0.1 * hour / 24 + 6 * (1 - abs(hour % 24 - 14) / 7) - 0.4 * place + dice.gauss(0, 1.5)
            value = celsius * 9 / 5 + 32 if sensor.fahrenheit else celsius
            made.append(Reading(sensor, at, None if dice.random() < 0.04 else round(value * 10)))
    return tuple(made)


def staff(dice: random.Random) -> dict[int, tuple[Person, ...]]:
    """The staff of 2024, and those of 2025: some have left, some are new, some changed the department."""
    names = dice.sample([(first, last) for first in FIRSTS for last in LASTS], 100)
    people = []
    for place, (first, last) in enumerate(names):
        joined = dt.date(2006, 1, 1) + dt.timedelta(days=dice.randrange(18 * 365))
        if place >= 84:
            joined = dt.date(2025, 1, 2) + dt.timedelta(days=dice.randrange(200))
        salary = dice.randrange(310, 990) * 100
        code = dice.choice(list(DEPARTMENTS))
        people.append(Person(f"{place * 37 % 1000:05}", first, last, code, joined, salary))
    before, new = people[:84], people[84:]
    after = []
    for person in before:
        if dice.random() < 0.1:
            continue
        department = dice.choice(list(DEPARTMENTS)) if dice.random() < 0.15 else person.department
        after.append(replace(person, department=department, salary=person.salary + 50 * dice.randrange(0, 80)))
    return {2024: tuple(before), 2025: tuple(sorted([*after, *new], key=lambda one: one.last + one.first))}


def accounts(dice: random.Random) -> tuple[Account, ...]:
    """Twelve accounts."""
    owners = dice.sample(LASTS, 12)
    return tuple(Account(f"{(n + 1) * 7919:010}", owners[n], ("giro", "savings", "business")[n % 3]) for n in range(12))


def postings(dice: random.Random, of: tuple[Account, ...]) -> tuple[Posting, ...]:
    """Postings of half a year; some take earlier ones back."""
    made: list[Posting] = []
    days = sorted(dt.date(2025, 1, 1) + dt.timedelta(days=dice.randrange(181)) for _ in range(760))
    for number, day in enumerate(days, 1):
        earlier = [one for one in made[-120:] if one.reverses is None and one.cents < 0]
        taken = {one.reverses for one in made}
        if dice.random() < 0.04 and (free := [one for one in earlier if one.id not in taken]):
            back = dice.choice(free)
            text = f"Reversal of {back.text}"
            made.append(Posting(number, back.account, day, -back.cents, text, back.id))
            continue
        account, cents = dice.choice(of), dice.randrange(199, 240_000)
        kind = dice.choices(("card", "invoice", "salary", "rent", "fee"), (40, 30, 12, 10, 8))[0]
        text = {
            "card": f"Card {dice.randrange(1000, 9999)} {dice.choice(('MARKET', 'FUEL', 'BOOKS', 'TRAIN'))}",
            "invoice": f"Invoice {day.year}-{dice.randrange(1, 400):04}/{dice.choice('ABC')} thank you",
            "salary": f"Salary {day:%m/%Y}",
            "rent": f"Rent flat {dice.randrange(1, 40)}",
            "fee": "Fee of the quarter",
        }[kind]
        made.append(Posting(number, account, day, cents if kind == "salary" else -cents, text, None))
    return tuple(made)


def patients(dice: random.Random) -> tuple[Patient, ...]:
    """Sixty patients in two arms."""
    made = []
    for number in range(60):
        birth = dt.date(1938, 1, 1) + dt.timedelta(days=dice.randrange(62 * 365))
        clinic = dice.choice(("Elm", "Oak", "Ash"))
        made.append(Patient(f"P{number * 13 % 1000:04}", birth, clinic, dice.choice("AB")))
    return tuple(made)


def visits(dice: random.Random, of: tuple[Patient, ...]) -> tuple[Visit, ...]:
    """Two to six visits of each; those of arm B have a lower pressure as time goes on."""
    made = []
    for patient in of:
        day = dt.date(2025, 1, 6) + dt.timedelta(days=dice.randrange(40))
        kilograms, systolic = dice.uniform(52, 108), dice.gauss(142, 11)
        for number in range(dice.randrange(2, 7)):
            pounds = patient.clinic == "Ash"
            weight = (kilograms + dice.gauss(0, 1)) / (0.45359237 if pounds else 1)
            pressure = systolic - number * (4 if patient.arm == "B" else 1) + 0.15 * kilograms + dice.gauss(0, 5)
            pulse = dice.randrange(55, 99) if dice.random() > 0.1 else None
            made.append(Visit(patient, day, round(weight * 10), pounds, round(pressure), pulse))
            day += dt.timedelta(days=dice.randrange(14, 60))
    dice.shuffle(made)
    return tuple(made)


def hits(dice: random.Random) -> tuple[Hit, ...]:
    """Two days of a web server."""
    paths = ("/", "/shop", "/shop/cart", "/about", "/api/items?page=2", "/api/items?page=3", "/old", "/robots.txt")
    agents = ("Mozilla/5.0 (X11; Linux)", "Mozilla/5.0 (Windows NT 10.0)", "curl/8.5", "ExampleBot/2.1 (+bot)")
    seconds = sorted(dice.randrange(2 * 86_400) for _ in range(1500))
    made = []
    for second in seconds:
        at = dt.datetime(2025, 3, 8, tzinfo=dt.UTC) + dt.timedelta(seconds=second)
        path = dice.choice(paths)
        status = 404 if path == "/old" else dice.choices((200, 304, 500, 403), (84, 9, 4, 3))[0]
        size = 0 if status == 304 else dice.randrange(200, 90_000)
        method = "POST" if path == "/shop/cart" and dice.random() < 0.5 else "GET"
        address = f"192.0.2.{dice.choice((dice.randrange(1, 40), dice.randrange(1, 8)))}"
        made.append(Hit(address, at, method, path, status, size, dice.choice(agents)))
    return tuple(made)


def plan(dice: random.Random) -> dict[str, tuple[tuple[int, int], ...]]:
    """Budget and actual of each month, in whole euros."""
    made = {}
    for region in REGIONS:
        budgets = [dice.randrange(80, 160) * 250 for _ in range(12)]
        made[region] = tuple((one, round(one * dice.uniform(0.8, 1.2))) for one in budgets)
    return made


@cache
def world() -> World:
    """The records; always the same."""
    where, what = shops(), products()
    ordered = orders(random.Random(SEED), where, what)
    placed = sensors()
    owned = accounts(random.Random(SEED + 1))
    treated = patients(random.Random(SEED + 2))
    return World(
        shops=where,
        products=what,
        orders=ordered,
        corrections=corrections(random.Random(SEED + 3), ordered),
        sensors=placed,
        readings=readings(random.Random(SEED + 4), placed),
        staff=staff(random.Random(SEED + 5)),
        departments=DEPARTMENTS,
        accounts=owned,
        postings=postings(random.Random(SEED + 6), owned),
        patients=treated,
        visits=visits(random.Random(SEED + 7), treated),
        hits=hits(random.Random(SEED + 8)),
        plan=plan(random.Random(SEED + 9)),
    )
