"""Writes the records as files of other kinds: a workbook, a database, Parquet, gzip and zip; always the same bytes."""

import datetime as dt
import gzip
import io
import re
import sqlite3
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl.styles import Font
from openpyxl.worksheet.worksheet import Worksheet

from evals.own import messy
from evals.own.records import Person, World

THEN = (2026, 1, 5, 8, 0, 0)
"""When files say that they were made."""


def readings(world: World) -> bytes:
    """The readings, compressed."""
    return gzip.compress(messy.readings(world), mtime=0)


def zipped(files: dict[str, bytes]) -> bytes:
    """Files in a zip whose times are fixed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            about = zipfile.ZipInfo(name, THEN)
            about.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(about, content)
    return stream.getvalue()


def weblog(world: World) -> bytes:
    """A zip with the logs of two days."""
    return zipped({f"logs/access-2025-03-{day:02}.log": messy.log(world, day) for day in (8, 9)})


def bank(world: World) -> bytes:
    """SQLite with two tables."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE accounts (number TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL);"
        "CREATE TABLE postings (id INTEGER PRIMARY KEY, account TEXT REFERENCES accounts (number), day TEXT,"
        " cents INTEGER, text TEXT, reverses INTEGER REFERENCES postings (id));"
    )
    connection.executemany(
        "INSERT INTO accounts VALUES (?, ?, ?)", [(one.number, one.owner, one.kind) for one in world.accounts]
    )
    connection.executemany(
        "INSERT INTO postings VALUES (?, ?, ?, ?, ?, ?)",
        [(p.id, p.account.number, p.day.isoformat(), p.cents, p.text, p.reverses) for p in world.postings],
    )
    connection.commit()
    content = connection.serialize()
    connection.close()
    return content


def visits(world: World) -> bytes:
    """Parquet with numbers of small types, a list of categories, and 999 where the pulse is missing."""
    rows = world.visits
    table = pa.table(
        {
            "patient": pa.array([one.patient.id for one in rows]).dictionary_encode(),
            "day": pa.array([one.day for one in rows], pa.date32()),
            "weight": pa.array([one.tenths / 10 for one in rows], pa.float64()),
            "unit": pa.array(["lb" if one.pounds else "kg" for one in rows]),
            "systolic": pa.array([one.systolic for one in rows], pa.int16()),
            "pulse": pa.array([999 if one.pulse is None else one.pulse for one in rows], pa.int16()),
        }
    )
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def staff(world: World) -> bytes:
    """A workbook: notes, a sheet for each year with a merged title, and the departments."""
    book = openpyxl.Workbook()
    notes = book.active
    notes.title = "Notes"
    for line in (
        "Staff at the end of 2024 and of 2025",
        "A number stands for the same person in both years.",
        "Codes of departments are texts: 010 and 10 are two departments.",
        "Salaries are in euros a year.",
    ):
        notes.append([line])
    for year, people in world.staff.items():
        _year(book.create_sheet(f"Staff {year}"), year, people)
    codes = book.create_sheet("Departments")
    codes.append(["Code", "Department", "Budget for salaries (EUR thousand)"])
    for code, (name, budget) in world.departments.items():
        codes.append([code, name, budget / 1000])
    stream = io.BytesIO()
    book.save(stream)
    return _timeless(stream.getvalue())


def _year(sheet: Worksheet, year: int, people: tuple[Person, ...]) -> None:
    sheet["B1"] = f"Staff at the end of {year}"
    sheet["B1"].font = Font(bold=True)
    sheet.merge_cells("B1:F1")
    for column, title in enumerate(("Number", "Name", "Dept.", "Joined", "Salary"), 2):
        sheet.cell(3, column, title)
    for place, one in enumerate(people):
        joined: object = dt.datetime(one.joined.year, one.joined.month, one.joined.day)  # noqa: DTZ001 - Excel's dates
        if place % 9 == 4:
            joined = one.joined.strftime("%d %B %Y")
        salary: object = f"{one.salary:,}" if place % 7 == 3 else one.salary
        for column, value in enumerate((one.number, f"{one.last}, {one.first}", one.department, joined, salary), 2):
            sheet.cell(4 + place, column, value)
    sheet.cell(5 + len(people), 2, "Total")
    sheet.cell(5 + len(people), 6, sum(one.salary for one in people))
    sheet.cell(7 + len(people), 2, "Source: personnel records")


def _timeless(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    made = dt.datetime(*THEN, tzinfo=dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    core = "docProps/core.xml"
    files[core] = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made, files[core])
    return zipped(files)


FILES: dict[str, messy.Writer] = {
    "orders.csv": messy.orders,
    "shops.tsv": messy.shops,
    "products.txt": messy.products,
    "corrections.jsonl": messy.corrections,
    "sensors.jsonl": messy.sensors,
    "readings.csv.gz": readings,
    "readings_readme.txt": lambda _: messy.READINGS_README,
    "patients.csv": messy.patients,
    "visits.parquet": visits,
    "visits_readme.txt": lambda _: messy.VISITS_README,
    "staff.xlsx": staff,
    "bank.sqlite": bank,
    "statement.txt": messy.statement,
    "plan.csv": messy.plan,
    "weblog.zip": weblog,
}
"""The writer of each file."""


def write_files(folder: Path, world: World) -> None:
    """Write all files into a folder."""
    for name, writer in FILES.items():
        (folder / name).write_bytes(writer(world))
