"""Single questions on orders, shops, products and plans."""

import datetime as dt
import statistics
from itertools import pairwise

from evals.own.forms import Line, best, grouped, single, summed
from evals.own.records import World

EUROS = "in euros with two decimals"
ALL = "orders.csv shops.tsv products.txt"


def tasks(world: World) -> list[Line]:
    """All of them."""
    return [*_orders(world), *_days(world), *_joined(world), *_regions(world), *_corrected(world), *_plan(world)]


def _orders(world: World) -> list[Line]:
    orders = world.orders
    paid = [one for one in orders if one.status == "paid"]
    customers = grouped((one.customer, one) for one in orders if one.customer is not None)
    top = best({key: sum(one.total for one in own) for key, own in customers.items()})
    return [
        single("orders-count", "orders.csv", "How many orders are there? Count each order number once.", len(orders)),
        single(
            "orders-revenue",
            "orders.csv",
            f"What is the sum of pieces times price over the orders that are paid, {EUROS}? Count each order once.",
            sum(one.total for one in paid) / 100,
        ),
        single(
            "orders-no-customer",
            "orders.csv",
            "How many orders have no customer (empty, `-` or `n/a`)? Count each order once.",
            sum(one.customer is None for one in orders),
        ),
        single(
            "orders-top-customer",
            "orders.csv",
            "Which customer has the greatest sum of pieces times price, whatever the status, and what is the sum "
            f"{EUROS}?"
            " Count each order once. Answer with the customer's code, then the sum.",
            f"C{top:04}",
            sum(one.total for one in customers[top]) / 100,
        ),
        single(
            "orders-median",
            "orders.csv",
            f"What is the median of pieces times price of one order, {EUROS}? Count each order once.",
            statistics.median([one.total for one in orders]) / 100,
        ),
    ]


def _days(world: World) -> list[Line]:
    orders = world.orders
    days = grouped((one.customer, one.day) for one in orders if one.customer is not None)
    repeat = [sorted(set(own)) for own in days.values() if len(set(own)) > 1]
    gaps = [(b - a).days for own in repeat for a, b in pairwise(own)]
    weekdays = summed((one.day.strftime("%A"), one.total) for one in orders)
    return [
        single(
            "orders-weekday",
            "orders.csv",
            "On which day of the week is the sum of pieces times price greatest, whatever the status? Count each order "
            "once; answer with the English name of the day.",
            best(weekdays),
        ),
        single(
            "orders-gap",
            "orders.csv",
            "Take each known customer's distinct days of orders, in order. How many days are there on average between "
            "two "
            "that follow one another, over all such pairs of all customers? Two decimals.",
            statistics.mean(gaps),
        ),
        single(
            "orders-quarter",
            "orders.csv",
            "What share of the orders of the second quarter was returned, in percent with two decimals? Count each "
            "order "
            "once.",
            _share([one.status == "returned" for one in orders if 4 <= one.day.month <= 6]),
        ),
        single(
            "orders-late-december",
            "orders.csv",
            "How many pieces were ordered from 15 December 2025 to the end of the year, both days included? Count each "
            "order once.",
            sum(one.pieces for one in orders if one.day >= dt.date(2025, 12, 15)),
        ),
    ]


def _share(flags: list[bool]) -> float:
    return 100 * sum(flags) / len(flags)


def _joined(world: World) -> list[Line]:
    by_shop = summed((one.shop.code, one.total) for one in world.orders)
    by_product = summed((one.product.code, one.pieces) for one in world.orders)
    return [
        single(
            "shops-zeros",
            "orders.csv shops.tsv",
            f"What is the sum of pieces times price of the shop Zürich, whatever the status, {EUROS}? Count each "
            "order once.",
            by_shop["0120"] / 100,
        ),
        single(
            "shops-least",
            "orders.csv shops.tsv",
            "Which shop has the least sum of pieces times price, whatever the status? Count each order once; answer "
            "with "
            "the shop's name.",
            next(one.name for one in world.shops if one.code == best(by_shop, least=True)),
        ),
        single(
            "products-1e5",
            "orders.csv products.txt",
            "How many pieces of the product Kettle were ordered, whatever the status? Count each order once.",
            by_product["1E5"],
        ),
        single(
            "products-best",
            "orders.csv products.txt",
            "Which product was ordered in the greatest number of pieces, whatever the status? Count each order once; "
            "answer with its code, then the number of pieces.",
            best(by_product),
            by_product[best(by_product)],
        ),
    ]


def _regions(world: World) -> list[Line]:
    orders = world.orders
    regions = grouped((one.shop.region, one.total) for one in orders if one.status == "paid")
    region = best({key: statistics.mean(own) for key, own in regions.items()})
    grams = sum(one.pieces * one.product.grams for one in orders if one.shop.region == "West")
    months = summed((one.day.month, one.total) for one in orders if one.product.category == "kitchen")
    pairs = {(one.shop.code, one.product.code) for one in orders if one.day.month == 3}
    return [
        single(
            "regions-mean",
            "orders.csv shops.tsv",
            f"In which region do the paid orders have the greatest mean of pieces times price, and what is it {EUROS}? "
            "Count each order once.",
            region,
            statistics.mean(regions[region]) / 100,
        ),
        single(
            "west-weight",
            ALL,
            "What do all pieces that the shops of the region West sold weigh together, whatever the status, in "
            "kilograms "
            "with two decimals? Count each order once.",
            grams / 1000,
        ),
        single(
            "kitchen-month",
            "orders.csv products.txt",
            "In which month is the sum of pieces times price of the category kitchen greatest, whatever the status? "
            "Count "
            "each order once; answer with the number of the month.",
            best(months),
        ),
        single(
            "march-unsold",
            ALL,
            "How many pairs of a shop of shops.tsv and a product of products.txt have no order in March?",
            len(world.shops) * len(world.products) - len(pairs),
        ),
    ]


def _corrected(world: World) -> list[Line]:
    latest = {one.order: one.pieces for one in sorted(world.corrections, key=lambda one: one.at)}
    total = sum(latest.get(one.number, one.pieces) * one.cents for one in world.orders)
    more = sum(latest[one.number] > one.pieces for one in world.orders if one.number in latest)
    files = "orders.csv corrections.jsonl"
    rule = (
        "corrections.jsonl replaces the pieces of orders; where an order has several corrections the latest `at` "
        "counts."
    )
    return [
        single(
            "corrected-total",
            files,
            f"{rule} What is the sum of pieces times price over all orders after the corrections, {EUROS}? Count each "
            "order once.",
            total / 100,
        ),
        single("corrected-more", files, f"{rule} How many orders have more pieces after it than before?", more),
        single(
            "corrected-twice",
            "corrections.jsonl",
            "How many orders have more than one correction?",
            len(world.corrections) - len(latest),
        ),
    ]


def _plan(world: World) -> list[Line]:
    over = {region: sum(actual > budget for budget, actual in own) for region, own in world.plan.items()}
    gap = {region: sum(actual - budget for budget, actual in own) for region, own in world.plan.items()}
    months = {m: sum(own[m - 1][1] for own in world.plan.values()) for m in range(1, 13)}
    return [
        single(
            "plan-over",
            "plan.csv",
            "In how many pairs of region and month is the actual greater than the budget?",
            sum(over.values()),
        ),
        single(
            "plan-gap",
            "plan.csv",
            "Which region has the greatest actual minus budget over the whole year, and how many euros is it (a whole "
            "number)?",
            best(gap),
            gap[best(gap)],
        ),
        single(
            "plan-month",
            "plan.csv",
            "Which month has the least actual over all regions together? Answer with the number of the month.",
            best(months, least=True),
        ),
    ]
