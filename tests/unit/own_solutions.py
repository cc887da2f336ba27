"""Reference solutions of tasks of the own suite: pandas on the messy files, with nothing of the records behind them."""

import io
import json
import re
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats


class Files:
    """Reads the files of the suite as an analyst does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _flat(self, name: str) -> pd.DataFrame:
        return pd.json_normalize([json.loads(line) for line in (self.folder / name).read_text().splitlines()])

    def orders(self) -> pd.DataFrame:
        path = self.folder / "orders.csv"
        frame = pd.read_csv(
            path, sep=";", skiprows=5, encoding="cp1252", dtype=str, keep_default_na=False, skip_blank_lines=False
        )
        frame.columns = pd.Index(["order", "day", "shop", "product", "customer", "pieces", "price", "status"])
        frame = frame[frame["order"] != "Total"].drop_duplicates("order")
        frame["day"] = pd.to_datetime(frame["day"], format="%d.%m.%Y")
        frame["price"] = frame["price"].str.replace(".", "").str.replace(",", ".").astype(float)
        frame["pieces"] = frame["pieces"].astype(int)
        frame["customer"] = frame["customer"].where(~frame["customer"].isin(["", "-", "n/a"]))
        frame["total"] = (frame["pieces"] * frame["price"]).round(2)
        return frame.reset_index(drop=True)

    def shops(self) -> pd.DataFrame:
        return pd.read_csv(self.folder / "shops.tsv", sep="\t", encoding="utf-16", dtype=str)

    def products(self) -> pd.DataFrame:
        frame = pd.read_fwf(self.folder / "products.txt", widths=[8, 12, 10, 10], dtype=str, skiprows=[1])
        parts = frame["WEIGHT"].str.extract(r"([\d.]+) (kg|g)")
        frame["kg"] = parts[0].astype(float) * parts[1].map({"kg": 1.0, "g": 0.001})
        return frame

    def joined(self) -> pd.DataFrame:
        return (
            self.orders()
            .merge(self.shops(), left_on="shop", right_on="Code", validate="m:1")
            .merge(self.products(), left_on="product", right_on="CODE", validate="m:1")
        )

    def corrected(self) -> pd.DataFrame:
        changes = self._flat("corrections.jsonl").sort_values("by.at")
        latest = changes.groupby("order.number")["change.to"].last()
        frame = self.orders()
        new = frame["order"].astype(int).map(latest)
        frame["pieces"] = new.fillna(frame["pieces"]).astype(int)
        frame["total"] = frame["pieces"] * frame["price"]
        return frame

    def readings(self) -> pd.DataFrame:
        frame = pd.read_csv(self.folder / "readings.csv.gz", na_values={"value": ["999.9"]})
        frame["time"] = pd.to_datetime(frame["time"], utc=True, format="ISO8601")
        about = self._flat("sensors.jsonl")
        frame = frame.merge(about, on="sensor")
        frame["c"] = frame["value"].where(frame["unit"] == "C", (frame["value"] - 32) * 5 / 9)
        return frame

    def staff(self, year: int) -> pd.DataFrame:
        kinds = {"Number": str, "Dept.": str}
        path = self.folder / "staff.xlsx"
        frame = pd.read_excel(path, sheet_name=f"Staff {year}", header=2, dtype=kinds, engine="openpyxl")
        frame = frame[frame["Number"].str.fullmatch(r"\d{5}", na=False)].copy()
        frame["Salary"] = frame["Salary"].astype(str).str.replace(",", "").astype(float)
        frame["Joined"] = pd.to_datetime(frame["Joined"].astype(str), format="mixed")
        return frame

    def bank(self) -> pd.DataFrame:
        connection = sqlite3.connect(self.folder / "bank.sqlite")
        frame = pd.read_sql_query("SELECT * FROM postings JOIN accounts ON account = number", connection)
        connection.close()
        gone = frame["reverses"].dropna()
        frame["real"] = frame["reverses"].isna() & ~frame["id"].isin(gone)
        frame["month"] = pd.to_datetime(frame["day"]).dt.month
        return frame

    def statement(self) -> pd.DataFrame:
        rows, account = [], ""
        for line in (self.folder / "statement.txt").read_text().splitlines():
            if line.startswith("ACCOUNT"):
                account = line.split()[1]
            elif found := re.match(r" *(\d+) (\d\d-\w{3}-\d\d) (.*?) +([\d,.]+)(DR|CR)$", line):
                amount = float(found[4].replace(",", "")) * (-1 if found[5] == "DR" else 1)
                rows.append((account, int(found[1]), pd.to_datetime(found[2], format="%d-%b-%y"), found[3], amount))
        return pd.DataFrame(rows, columns=["account", "id", "day", "text", "amount"])

    def patients(self) -> pd.DataFrame:
        frame = pd.read_csv(self.folder / "patients.csv", encoding="utf-8-sig")
        frame["born"] = [pd.to_datetime(one, dayfirst="." in one) for one in frame["born"]]
        return frame

    def visits(self) -> pd.DataFrame:
        frame = pd.read_parquet(self.folder / "visits.parquet")
        frame["kg"] = frame["weight"] * frame["unit"].map({"kg": 1, "lb": 0.45359237})
        frame["patient"] = frame["patient"].astype(str)
        frame["day"] = pd.to_datetime(frame["day"])
        return frame.merge(self.patients(), on="patient", validate="m:1").sort_values(["patient", "day"])

    def log(self) -> pd.DataFrame:
        with zipfile.ZipFile(self.folder / "weblog.zip") as archive:
            text = b"".join(archive.read(name) for name in archive.namelist()).decode()
        pattern = r'^(\S+) - - \[(.*?)\] "(\S+) (\S+) \S+" (\d+) (\S+) ".*?" "(.*?)"$'
        columns = ["address", "time", "method", "path", "status", "bytes", "agent"]
        frame = pd.DataFrame(re.findall(pattern, text, re.MULTILINE), columns=columns)
        frame["bytes"] = frame["bytes"].replace("-", "0").astype(int)
        frame["status"] = frame["status"].astype(int)
        return frame

    def plan(self) -> pd.DataFrame:
        budget, actual = (self.folder / "plan.csv").read_text().split("\n\n")[:2]
        tables = []
        for text, factor, name in ((budget, 1000, "budget"), (actual, 1, "actual")):
            table = pd.read_csv(io.StringIO(text), skiprows=1, thousands=",")
            table = table.melt("Region", var_name="month", value_name=name)
            tables.append(table.assign(**{name: table[name] * factor}))
        return tables[0].merge(tables[1], on=["Region", "month"]).rename(columns={"Region": "region"})


def csv_of(frame: pd.DataFrame | pd.Series) -> bytes:
    return frame.to_csv(index=False).encode()


def falls(visits: pd.DataFrame, column: str) -> pd.DataFrame:
    ends = visits.groupby("patient").agg(first=(column, "first"), last=(column, "last"), arm=("arm", "first"))
    return ends.assign(fall=ends["first"] - ends["last"])


def singles(files: Files) -> dict[str, Any]:
    """Answers to single questions, rounded as asked."""
    orders, joined, readings, bank, visits, log = (
        files.orders(),
        files.joined(),
        files.readings(),
        files.bank(),
        files.visits(),
        files.log(),
    )
    statement, plan, old, new = files.statement(), files.plan(), files.staff(2024), files.staff(2025)
    both = old.merge(new, on="Number", suffixes=("_old", "_new"))
    customers = orders.groupby("customer")["total"].sum()
    paid, kitchen = joined[joined["status"] == "paid"], joined[joined["CATEGORY"] == "kitchen"]
    means = readings.groupby("sensor")["c"].mean()
    wide = readings.pivot(index="time", columns="sensor", values="c")
    ends = falls(visits, "systolic")
    test = stats.ttest_ind(ends[ends["arm"] == "B"]["fall"], ends[ends["arm"] == "A"]["fall"], equal_var=False)
    cards = statement[statement["text"].str.match("Card")]
    shops = cards.assign(kind=cards["text"].str.split().str[2]).groupby("kind")["amount"].sum()
    failed = log[log["status"] >= 500]["path"].str.split("?").str[0].value_counts()
    gaps = orders.dropna().drop_duplicates(["customer", "day"]).sort_values("day").groupby("customer")["day"].diff()
    region = paid.groupby("Region")["total"].mean()
    metres = readings.drop_duplicates("sensor")
    altitude = metres["site.altitude.value"] * metres["site.altitude.unit"].map({"m": 1, "ft": 0.3048})
    first = visits.drop_duplicates("patient")
    had = (first["day"].dt.strftime("%m%d") >= first["born"].dt.strftime("%m%d")).astype(int)
    return {
        "orders-count": len(orders),
        "orders-revenue": round(orders[orders["status"] == "paid"]["total"].sum(), 2),
        "orders-no-customer": orders["customer"].isna().sum(),
        "orders-top-customer": (customers.idxmax(), f"{customers.max():.2f}"),
        "orders-median": f"{orders['total'].median():.2f}",
        "orders-weekday": orders.groupby(orders["day"].dt.day_name())["total"].sum().idxmax(),
        "orders-gap": f"{gaps.dt.days.mean():.2f}",
        "shops-zeros": f"{joined[joined['Name'] == 'Zürich']['total'].sum():.2f}",
        "products-1e5": joined[joined["NAME"] == "Kettle"]["pieces"].sum(),
        "regions-mean": (region.idxmax(), f"{region.max():.2f}"),
        "west-weight": f"{(joined['pieces'] * joined['kg'])[joined['Region'] == 'West'].sum():.2f}",
        "kitchen-month": kitchen.groupby(kitchen["day"].dt.month)["total"].sum().idxmax(),
        "corrected-total": f"{files.corrected()['total'].sum():.2f}",
        "plan-over": (plan["actual"] > plan["budget"]).sum(),
        "readings-warmest": (means.idxmax(), f"{means.max():.2f}"),
        "readings-day": f"{readings[readings['time'].dt.day == 5]['c'].mean():.2f}",
        "readings-correlation": f"{wide['S-01'].corr(wide['S-07']):.3f}",
        "sites-altitude": f"{altitude.mean():.2f}",
        "staff-sum": new["Salary"].sum(),
        "staff-service": (new["Dept."] == "10").sum(),
        "staff-left": (len(old) - len(both), len(new) - len(both)),
        "staff-raise": f"{(100 * (both['Salary_new'] / both['Salary_old'] - 1)).median():.2f}",
        "bank-invoices": bank[bank["real"]]["text"].str.extract(r"^Invoice ([\d-]+)/")[0].nunique(),
        "statement-credits": f"{statement['amount'].clip(lower=0).sum():.2f}",
        "statement-cards": (shops.idxmin(), f"{-shops.min():.2f}"),
        "visits-pulse": f"{visits['pulse'].replace(999, np.nan).mean():.2f}",
        "visits-weight": f"{falls(visits, 'kg')['fall'].mean():.2f}",
        "visits-age": f"{(first['day'].dt.year - first['born'].dt.year - 1 + had).mean():.2f}",
        "visits-welch": (f"{test.statistic:.2f}", f"{test.df:.2f}"),
        "visits-slope": f"{np.polyfit(visits['kg'], visits['systolic'], 1)[0]:.3f}",
        "log-bytes": f"{log['bytes'].sum() / 1e6:.2f}",
        "log-failures": (failed.idxmax(), failed.max()),
        "never-profit": "cannot be answered",
        "can-curl": log["agent"].str.contains("curl").sum(),
    }


def deliveries(files: Files) -> dict[str, tuple[dict[str, bytes], Any]]:
    """The files that are delivered, and the answer."""
    orders, statement, plan, patients = files.orders(), files.statement(), files.plan(), files.patients()
    joined = files.joined()
    paid = joined[joined["status"] == "paid"]
    shops = paid.groupby(["Code", "Name"])["total"].agg(["count", "sum"]).round(2).reset_index()
    shops.columns = pd.Index(["code", "name", "orders", "total"])
    births = pd.DataFrame(
        {
            "patient": patients["patient"],
            "year": patients["born"].dt.year,
            "month": patients["born"].dt.month,
            "day": patients["born"].dt.day,
            "visits": patients["patient"].map(files.visits().groupby("patient").size()),
        }
    )
    months = {name: number for number, name in enumerate(plan["month"].unique(), 1)}
    log = files.log()
    requests = log.groupby([log["path"].str.split("?").str[0], "status"])["bytes"].agg(["count", "sum"]).reset_index()
    requests.columns = pd.Index(["path", "status", "requests", "bytes"])
    return {
        "deliver-shops": ({"shop_totals.csv": csv_of(shops)}, None),
        "deliver-clean": ({"clean_orders.csv": csv_of(orders.drop(columns="total"))}, orders["customer"].notna().sum()),
        "deliver-statement": ({"postings.csv": csv_of(statement.drop(columns="text"))}, None),
        "deliver-births": ({"births.csv": csv_of(births)}, None),
        "deliver-log": ({"requests.csv": csv_of(requests)}, None),
        "deliver-plan": ({"plan_long.csv": csv_of(plan.assign(month=plan["month"].map(months)))}, None),
    }


def conversations(files: Files) -> dict[str, list[Any]]:
    """The answers of each turn."""
    joined, air, bank, visits = files.joined(), files.readings(), files.bank(), files.visits()
    paid = joined["status"] == "paid"
    both = paid | (joined["status"] == "open")
    east = joined["Region"] == "East"
    light = 1 + 0.1 * (joined["CATEGORY"] == "light")
    kitchen = 1 + 0.05 * (joined["CATEGORY"] == "kitchen")
    half = joined["day"].dt.month <= 6
    total = joined["total"]
    cards, invoices = bank["text"].str.startswith("Card"), bank["text"].str.startswith("Invoice")
    late, big = bank["month"] >= 4, bank["cents"].abs() >= 50_000
    euros = bank["cents"] / 100
    morning = air["time"].dt.hour.between(6, 11)
    two = air["sensor"].isin(["S-04", "S-05"])
    oak = visits["clinic"] == "OAK"
    arm = {name: visits[visits["arm"] == name]["systolic"].mean() for name in "AB"}
    at_oak = {name: visits[oak & (visits["arm"] == name)]["systolic"].mean() for name in "AB"}
    kept = (cards | invoices) & late
    return {
        "turns-status": [
            total[paid].sum(),
            total[both].sum(),
            total[both & east].sum(),
            total[paid & east].sum(),
            total[paid & ~east].sum(),
        ],
        "turns-what-if": [
            total[paid].sum(),
            (total * light)[paid].sum(),
            total[paid & half].sum(),
            (total * light * kitchen)[paid & half].sum(),
            (total * (light * kitchen - 1))[paid & half].sum(),
            total[paid].sum(),
        ],
        "turns-texts": [
            euros.sum(),
            euros[cards].sum(),
            euros[cards | invoices].sum(),
            euros[kept].sum(),
            euros[kept & big].sum(),
            kept.sum(),
            ((cards | invoices) & ~late).sum(),
        ],
        "turns-temperature": [
            air["c"].mean(),
            air["c"][two].mean(),
            air["c"][two & morning].mean(),
            air["c"][two & morning].mean() * 1.8 + 32,
            air["c"][morning].mean(),
            air["c"].mean() - air["c"][morning].mean(),
        ],
        "turns-arms": [
            arm["A"],
            arm["B"],
            arm["A"] - arm["B"],
            at_oak["B"],
            at_oak["A"],
            at_oak["A"] - at_oak["B"],
            (visits["arm"] == "B").sum(),
        ],
    }
