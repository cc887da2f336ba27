"""Tasks that have to deliver tables."""

from evals.own.forms import Line, delivery, summed
from evals.own.records import World

ALL = "orders.csv shops.tsv products.txt"


def tasks(world: World) -> list[Line]:
    """All of them."""
    return [*_trade(world), *_bank(world), *_people(world), *_others(world)]


def _trade(world: World) -> list[Line]:
    orders = world.orders
    paid = [one for one in orders if one.status == "paid"]
    by_shop = summed((one.shop.code, one.total) for one in paid)
    cells = summed(((one.day.month, one.shop.region), one.pieces) for one in orders)
    return [
        delivery(
            "deliver-shops",
            "orders.csv shops.tsv",
            "Write shop_totals.csv: one row for each shop that has a paid order, with the columns code, name, orders "
            "and "
            "total: how many paid orders it has and their sum of pieces times price with two decimals. Count each "
            "order "
            "once.",
            {
                "shop_totals.csv": {
                    "columns": ["code", "name", "orders", "total"],
                    "rows": len(by_shop),
                    "sums": {"orders": len(paid), "total": sum(by_shop.values()) / 100},
                }
            },
        ),
        delivery(
            "deliver-clean",
            "orders.csv",
            "Write clean_orders.csv with the columns order, day, shop, product, customer, pieces, price and status: "
            "one row "
            "for each order number, days as 2025-12-31, prices with a decimal point, customers empty where they are "
            "missing, no row for the total. Answer with how many rows have a customer.",
            {
                "clean_orders.csv": {
                    "columns": ["order", "day", "shop", "product", "customer", "pieces", "price", "status"],
                    "rows": len(orders),
                    "sums": {"pieces": sum(one.pieces for one in orders), "price": sum(o.cents for o in orders) / 100},
                }
            },
            sum(one.customer is not None for one in orders),
        ),
        delivery(
            "deliver-months",
            "orders.csv shops.tsv",
            "Write pieces.csv with the columns month (1 to 12), region and pieces: the pieces ordered in each month "
            "and "
            "region, whatever the status, one row for each pair that has orders. Count each order once.",
            {
                "pieces.csv": {
                    "columns": ["month", "region", "pieces"],
                    "rows": len(cells),
                    "sums": {"month": sum(month for month, _ in cells), "pieces": sum(cells.values())},
                }
            },
        ),
    ]


def _bank(world: World) -> list[Line]:
    postings = world.postings
    months = summed(((one.account.number, one.day.month), one.cents) for one in postings)
    return [
        delivery(
            "deliver-accounts",
            "bank.sqlite",
            "Write balances.csv with the columns account, month and cents: the sum of the postings of each account in "
            "each "
            "month (1 to 12), one row for each pair that has postings. Accounts keep their zeros.",
            {
                "balances.csv": {
                    "columns": ["account", "month", "cents"],
                    "rows": len(months),
                    "sums": {
                        "account": sum(int(account) for account, _ in months),
                        "cents": sum(months.values()),
                    },
                }
            },
        ),
        delivery(
            "deliver-statement",
            "statement.txt",
            "Write postings.csv from the statement with the columns account, id, day and amount: a row for each "
            "posting, "
            "no closing balances, days as 2025-12-31, debits negative, two decimals.",
            {
                "postings.csv": {
                    "columns": ["account", "id", "day", "amount"],
                    "rows": len(postings),
                    "sums": {
                        "id": sum(one.id for one in postings),
                        "amount": sum(one.cents for one in postings) / 100,
                    },
                }
            },
        ),
    ]


def _people(world: World) -> list[Line]:
    before = {one.number: one for one in world.staff[2024]}
    stayed = [(before[one.number], one) for one in world.staff[2025] if one.number in before]
    return [
        delivery(
            "deliver-raises",
            "staff.xlsx",
            "Write raises.csv with the columns number, before, after and raise, in euros: a row for each person who is "
            "there in 2024 and in 2025. Numbers keep their zeros. Answer with the greatest raise.",
            {
                "raises.csv": {
                    "columns": ["number", "before", "after", "raise"],
                    "rows": len(stayed),
                    "sums": {
                        "before": sum(old.salary for old, _ in stayed),
                        "raise": sum(new.salary - old.salary for old, new in stayed),
                    },
                }
            },
            max(new.salary - old.salary for old, new in stayed),
        ),
        delivery(
            "deliver-births",
            "patients.csv visits.parquet visits_readme.txt",
            "Write births.csv with the columns patient, year, month, day and visits: when each patient of "
            "patients.csv was "
            "born, as numbers, and how many visits they made.",
            {
                "births.csv": {
                    "columns": ["patient", "year", "month", "day", "visits"],
                    "rows": len(world.patients),
                    "sums": {
                        "year": sum(one.birth.year for one in world.patients),
                        "month": sum(one.birth.month for one in world.patients),
                        "day": sum(one.birth.day for one in world.patients),
                        "visits": len(world.visits),
                    },
                }
            },
        ),
    ]


def _others(world: World) -> list[Line]:
    days = summed(((one.sensor.name, one.at.day), one.tenths is not None) for one in world.readings)
    requests = summed(((one.path.partition("?")[0], one.status), 1) for one in world.hits)
    months = [pair for pairs in world.plan.values() for pair in pairs]
    return [
        delivery(
            "deliver-coverage",
            "readings.csv.gz sensors.jsonl readings_readme.txt",
            "Write coverage.csv with the columns sensor, day (of UTC, as 2025-12-31) and readings: how many readings "
            "with a "
            "value each sensor has on each day.",
            {
                "coverage.csv": {
                    "columns": ["sensor", "day", "readings"],
                    "rows": len(days),
                    "sums": {"readings": sum(days.values())},
                }
            },
        ),
        delivery(
            "deliver-log",
            "weblog.zip",
            "Write requests.csv with the columns path, status, requests and bytes: how many requests of both days "
            "have each "
            "path (its query, from `?` on, left out) and status, and the bytes sent for them; `-` means none.",
            {
                "requests.csv": {
                    "columns": ["path", "status", "requests", "bytes"],
                    "rows": len(requests),
                    "sums": {
                        "status": sum(status for _, status in requests),
                        "requests": len(world.hits),
                        "bytes": sum(one.size for one in world.hits),
                    },
                }
            },
        ),
        delivery(
            "deliver-plan",
            "plan.csv",
            "Write plan_long.csv with the columns region, month (1 to 12), budget and actual: one row for each region "
            "and "
            "month, budget and actual both in whole euros.",
            {
                "plan_long.csv": {
                    "columns": ["region", "month", "budget", "actual"],
                    "rows": len(months),
                    "sums": {"month": 4 * 78, "budget": sum(p[0] for p in months), "actual": sum(p[1] for p in months)},
                }
            },
        ),
    ]
