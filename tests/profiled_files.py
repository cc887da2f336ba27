"""Makers of files as users bring them: odd encodings and dialects, workbooks, databases, and files that lie.

Each maker writes one file into a folder and gives its path.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import lzma
import pickle
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

START = dt.datetime.fromisoformat("2024-01-01")
CITIES = ("北京", "上海", "广州", "深圳")


def gbk_csv(folder: Path) -> Path:
    path = folder / "gbk.csv"
    rows = [f"2024-01-{day:02d},{CITIES[day % 4]},{day * 100}" for day in range(1, 29)]
    path.write_bytes("\n".join(["日期,城市,销售额", *rows, ""]).encode("gbk"))
    return path


def german_csv(folder: Path) -> Path:
    """cp1252, `;`, decimal commas, dotted thousands and dates, leading zeros, `-` for missing."""
    path = folder / "german.csv"
    rows = [f"Müller {n};{n % 28 + 1:02d}.03.2024;1.{n:03d},5;0{n:04d};{'-' if n % 5 == 0 else n}" for n in range(100)]
    path.write_bytes("\r\n".join(["Name;Datum;Umsatz;PLZ;Anzahl", *rows, ""]).encode("cp1252"))
    return path


def utf16_csv(folder: Path) -> Path:
    path = folder / "utf16.csv"
    path.write_text("name\tamount\nÅsa\t1\n李娜\t2\nZoë\t3\n", encoding="utf-16")
    return path


def quoted_newlines_csv(folder: Path) -> Path:
    path = folder / "quoted.csv"
    rows = [f'{n},"line one of {n}\nline ""two"", with a comma",{n / 4}' for n in range(40)]
    path.write_text("\n".join(["id,note,score", *rows, ""]), encoding="utf-8")
    return path


def wide_csv(folder: Path, columns: int = 5_000) -> Path:
    path = folder / "wide.csv"
    header = ["id", *(f"gene_{n}" for n in range(1, columns))]
    rows = [",".join(str((row * column) % 97) for column in range(columns)) for row in range(30)]
    path.write_text("\n".join([",".join(header), *rows, ""]), encoding="utf-8")
    return path


def titled_csv(folder: Path) -> Path:
    path = folder / "titled.csv"
    text = (
        "# exported by the till\nSales report;;\n\nday;shop;amount\n2024-01-01;A;10\n2024-01-02;B;20\n2024-01-03;A;30\n"
    )
    path.write_text(text, encoding="utf-8")
    return path


def headerless_csv(folder: Path) -> Path:
    path = folder / "headerless.csv"
    path.write_text("".join(f"{n},{n * 1.5},city {n % 3}\n" for n in range(50)), encoding="utf-8")
    return path


def ragged_csv(folder: Path) -> Path:
    path = folder / "ragged.csv"
    path.write_text("a,b,c\n1,2,3\n4,5,6,surplus\n7,8\n9,10,11\n", encoding="utf-8")
    return path


def late_accent_csv(folder: Path) -> Path:
    """ASCII for the first megabyte, then one accented letter."""
    path = folder / "late.csv"
    rows = "".join(f"{n},plain text number {n}\n" for n in range(50_000))
    path.write_bytes(f"id,text\n{rows}50000,Zoë\n".encode("cp1252"))
    return path


def packed_csv(folder: Path, suffix: str) -> Path:
    path = folder / f"packed.csv{suffix}"
    data = ("id;value\n" + "".join(f"{n};{n * 2}\n" for n in range(1_000))).encode()
    packed = {".gz": gzip.compress(data), ".bz2": bz2.compress(data), ".xz": lzma.compress(data)}
    path.write_bytes(packed[suffix])
    return path


def zip_of_two(folder: Path) -> Path:
    path = folder / "two.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sales.csv", "id;value\n" + "".join(f"{n};{n * 2}\n" for n in range(100)))
        archive.writestr("notes.txt", "These are notes.\nNothing in them is a table.\n")
    return path


def zip_bomb(folder: Path) -> Path:
    """Half a gigabyte of one repeated row in half a megabyte."""
    path = folder / "bomb.zip"
    block = b"1,2,3\n" * 100_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as member:
        member.write(b"a,b,c\n")
        for _ in range(800):
            member.write(block)
    return path


def workbook(folder: Path) -> Path:
    """Three sheets: a titled table that does not begin in column A, a hidden one, formulas never computed."""
    path = folder / "book.xlsx"
    book = openpyxl.Workbook()
    first = book.worksheets[0]
    first.title = "Q1"
    first["B2"] = "Sales of the first quarter"
    first.merge_cells("B2:D2")
    for column, name in enumerate(("Day", "Shop", "Amount"), 2):
        first.cell(4, column, name)
    for row in range(30):
        first.cell(5 + row, 2, START + dt.timedelta(days=row))
        first.cell(5 + row, 3, f"shop {row % 3}")
        first.cell(5 + row, 4, row * 2.5)
    hidden = book.create_sheet("codes")
    hidden.append(["code", "meaning"])
    hidden.append([1, "open"])
    hidden.append([2, "closed"])
    hidden.sheet_state = "hidden"
    sums = book.create_sheet("sums")
    sums.append(["part", "total"])
    for row in range(2, 6):
        sums.append([f"part {row}", f"=SUM(Q1!D{row}:D9)"])
    book.save(path)
    return path


def truncated_workbook(folder: Path) -> Path:
    path = folder / "truncated.xlsx"
    data = workbook(folder).read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def protected_workbook(folder: Path) -> Path:
    """The outside of an encrypted workbook: an OLE file with a stream `EncryptedPackage`."""
    path = folder / "protected.xlsx"
    data = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2_040)
    name = "EncryptedPackage".encode("utf-16-le") + b"\0\0"
    data[1024 : 1024 + len(name)] = name
    path.write_bytes(bytes(data))
    return path


def html_workbook(folder: Path) -> Path:
    path = folder / "export.xls"
    rows = "".join(f"<tr><td>item {n}</td><td>{n}</td></tr>" for n in range(20))
    path.write_text(
        f"<html><head><title>Export</title></head><body><table><tr><th>name</th><th>count</th></tr>{rows}</table></body></html>",
        encoding="utf-8",
    )
    return path


def login_workbook(folder: Path) -> Path:
    path = folder / "report.xlsx"
    path.write_text(
        "<!DOCTYPE html><html><head><title>Sign in</title></head><body><form>Password</form></body></html>",
        encoding="utf-8",
    )
    return path


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def biff2_workbook(folder: Path) -> Path:
    """An old Excel workbook (BIFF2), written record by record: a header, texts and numbers."""
    path = folder / "old.xls"
    attributes = b"\0\0\0"
    parts = [_record(0x0009, struct.pack("<HH", 7, 0x10)), _record(0x0000, struct.pack("<HHHH", 0, 4, 0, 2))]
    for column, name in enumerate((b"name", b"value")):
        parts.append(_record(0x0004, struct.pack("<HH", 0, column) + attributes + bytes([len(name)]) + name))
    for row, (text, number) in enumerate(((b"one", 1.5), (b"two", 2.5), (b"three", 3.5)), 1):
        parts.append(_record(0x0004, struct.pack("<HH", row, 0) + attributes + bytes([len(text)]) + text))
        parts.append(_record(0x0003, struct.pack("<HH", row, 1) + attributes + struct.pack("<d", number)))
    parts.append(_record(0x000A, b""))
    path.write_bytes(b"".join(parts))
    return path


def parquet_file(folder: Path, rows: int = 20_000) -> Path:
    path = folder / "data.parquet"
    table = pa.table(
        {
            "id": list(range(rows)),
            "score": [None if n % 10 == 0 else n / 2 for n in range(rows)],
            "city": [CITIES[n % 4] for n in range(rows)],
            "when": [START + dt.timedelta(hours=n) for n in range(rows)],
        }
    )
    pq.write_table(table, path, row_group_size=max(rows // 4, 1))
    return path


def feather_file(folder: Path) -> Path:
    path = folder / "data.feather"
    table = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def json_records(folder: Path) -> Path:
    path = folder / "records.json"
    records = [{"id": n, "name": f"name {n}", "address": {"city": CITIES[n % 4], "zip": f"0{n}"}} for n in range(30)]
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return path


def nested_json(folder: Path) -> Path:
    path = folder / "nested.json"
    orders = [{"id": n, "items": [{"sku": "x", "price": 1.5}]} for n in range(12)]
    path.write_text(json.dumps({"meta": {"version": 2}, "data": {"orders": orders}}), encoding="utf-8")
    return path


def json_lines(folder: Path, *, broken: bool = False) -> Path:
    path = folder / ("broken.jsonl" if broken else "lines.jsonl")
    lines = [json.dumps({"id": n, "name": f"name {n}", "ok": n % 2 == 0}) for n in range(50)]
    if broken:
        lines[7] = lines[7][:-4]
        lines[30] = "oops"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def geojson(folder: Path) -> Path:
    path = folder / "places.geojson"
    features = [
        {"type": "Feature", "properties": {"name": f"p{n}"}, "geometry": {"type": "Point", "coordinates": [n, n]}}
        for n in range(5)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def sqlite_file(folder: Path) -> Path:
    path = folder / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.execute('create table "order lines" (id integer primary key, item text, price real)')
    rows = [(n, f"item {n % 7}", None if n % 9 == 0 else n * 0.5) for n in range(300)]
    connection.executemany('insert into "order lines" values (?, ?, ?)', rows)
    connection.execute("create table vacant (a, b)")
    connection.execute('create view cheap as select * from "order lines" where price < 10')
    connection.commit()
    connection.close()
    return path


def duckdb_file(folder: Path) -> Path:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table sales as select range as id, range * 1.5 as amount from range(500)")
    return path


def pickle_file(folder: Path) -> Path:
    path = folder / "model.pkl"
    path.write_bytes(pickle.dumps({"a": 1}))
    return path


def pdf_file(folder: Path, *, text: str = "Annual report of the little shop, with figures for all months.") -> Path:
    """One page, written by hand; an empty `text` makes a page that has nothing to take out."""
    path = folder / ("report.pdf" if text else "blank.pdf")
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title (The report) >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    path.write_bytes(data)
    return path


def png_file(folder: Path, *, truncated: bool = False) -> Path:
    path = folder / ("cut.png" if truncated else "dot.png")

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress(b"".join(b"\0" + bytes([row] * 3 * 4) for row in range(3)))
    header = struct.pack(">IIBBBBB", 4, 3, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    path.write_bytes(data[:-20] if truncated else data)
    return path


def xml_file(folder: Path) -> Path:
    path = folder / "items.xml"
    items = "".join(f'<item id="{n}"><name>n{n}</name><price>{n}.5</price></item>' for n in range(15))
    path.write_text(f'<?xml version="1.0"?><catalog><items>{items}</items></catalog>', encoding="utf-8")
    return path


def entity_bomb(folder: Path) -> Path:
    path = folder / "laughs.xml"
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    path.write_text(
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l0 "ha">{levels}]><r><a>&l11;</a></r>', encoding="utf-8"
    )
    return path


def binary_file(folder: Path) -> Path:
    path = folder / "unknown.bin"
    path.write_bytes(bytes((n * 37 + 11) % 256 for n in range(5_000)))
    return path


def empty_file(folder: Path) -> Path:
    path = folder / "empty.csv"
    path.write_bytes(b"")
    return path
