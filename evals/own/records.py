"""Clean records made from a fixed seed: the truth that the messy files are written from and the answers computed of."""

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shop:
    """A shop; codes are texts, of which some differ in leading zeros only."""

    code: str
    name: str
    region: str


@dataclass(frozen=True, slots=True)
class Product:
    """What shops sell; a code may look like a number in exponential writing."""

    code: str
    name: str
    category: str
    grams: int


@dataclass(frozen=True, slots=True)
class Order:
    """One order of one product."""

    number: int
    day: dt.date
    shop: Shop
    product: Product
    customer: int | None
    pieces: int
    cents: int
    """The price of one piece."""
    status: str

    @property
    def total(self) -> int:
        """In cents."""
        return self.pieces * self.cents


@dataclass(frozen=True, slots=True)
class Correction:
    """Another number of pieces for an order; the latest one counts."""

    order: int
    pieces: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Sensor:
    """A thermometer."""

    name: str
    site: str
    altitude: int
    """In metres or feet."""
    feet: bool
    fahrenheit: bool
    tags: tuple[str, ...]

    @property
    def metres(self) -> float:
        """Its altitude; a foot has 0.3048 metres."""
        return self.altitude * 0.3048 if self.feet else float(self.altitude)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor said, in tenths of a degree of its own unit; None: nothing."""

    sensor: Sensor
    at: dt.datetime
    tenths: int | None

    @property
    def celsius(self) -> float:
        """Only for readings that have a value."""
        assert self.tenths is not None
        return (self.tenths / 10 - 32) * 5 / 9 if self.sensor.fahrenheit else self.tenths / 10


@dataclass(frozen=True, slots=True)
class Person:
    """A member of staff in one year."""

    number: str
    first: str
    last: str
    department: str
    joined: dt.date
    salary: int


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the bank."""

    number: str
    owner: str
    kind: str


@dataclass(frozen=True, slots=True)
class Posting:
    """Money that goes to an account, or from it."""

    id: int
    account: Account
    day: dt.date
    cents: int
    text: str
    reverses: int | None
    """The id of the posting that this one takes back."""


@dataclass(frozen=True, slots=True)
class Patient:
    """A patient of a trial."""

    id: str
    birth: dt.date
    clinic: str
    arm: str


@dataclass(frozen=True, slots=True)
class Visit:
    """What was measured when a patient came."""

    patient: Patient
    day: dt.date
    tenths: int
    """The weight in tenths of its unit."""
    pounds: bool
    systolic: int
    pulse: int | None

    @property
    def kilograms(self) -> float:
        """A pound has 0.45359237 kilograms."""
        return self.tenths / 10 * (0.45359237 if self.pounds else 1.0)


@dataclass(frozen=True, slots=True)
class Hit:
    """A request in the log of a web server."""

    address: str
    at: dt.datetime
    method: str
    path: str
    status: int
    size: int
    agent: str


@dataclass(frozen=True, slots=True)
class World:
    """All records."""

    shops: tuple[Shop, ...]
    products: tuple[Product, ...]
    orders: tuple[Order, ...]
    corrections: tuple[Correction, ...]
    sensors: tuple[Sensor, ...]
    readings: tuple[Reading, ...]
    staff: dict[int, tuple[Person, ...]]
    departments: dict[str, tuple[str, int]]
    """Name and budget, by code."""
    accounts: tuple[Account, ...]
    postings: tuple[Posting, ...]
    patients: tuple[Patient, ...]
    visits: tuple[Visit, ...]
    hits: tuple[Hit, ...]
    plan: dict[str, tuple[tuple[int, int], ...]]
    """Budget and actual of each month, by region."""
