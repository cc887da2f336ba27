"""The table of variables: told after every cell, short, and safe from what the variables do."""

from sandboxes.results import CellResult
from tests.contract.conftest import Run, fine


def table(result: CellResult) -> dict[str, tuple[str, str]]:
    return {row.name: (row.type, row.summary) for row in fine(result).namespace}


async def test_plain_values_and_containers(run: Run) -> None:
    code = """
count, ratio, name, nothing = 3, 0.5, 'Zoë', None
long = 'x' * 10_000
items = list(range(2_000))
prices = {'a': 1, 'b': [1, 2]}
huge = 10 ** 5_000
def area(width, height=1, *rest, unit='m', **more): pass
class Shape:
    def draw(self): pass
class Square(Shape): pass
square = Square(); square.side = 3
import math
5
"""
    found = table(await run(code))
    assert list(found)[:5] == ["count", "ratio", "name", "nothing", "long"]
    assert found["count"] == ("int", "3")
    assert found["name"] == ("str", "'Zoë'")
    assert found["long"][1].startswith("10,000 characters: 'xxx")
    assert found["items"] == ("list", "2,000 items: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …")
    assert found["prices"] == ("dict", "2 keys: 'a': 1, 'b': [1, 2]")
    assert found["huge"] == ("int", "integer of 16,610 bits")
    assert found["area"] == ("function", "(width, height=…, *rest, unit=…, **more)")
    assert found["Shape"] == ("type", "methods: draw")
    assert found["Square"] == ("type", "(Shape)")
    assert found["square"] == ("Square", "side=3")
    assert found["math"] == ("module", "math")
    assert not {"_", "display", "__name__", "__builtins__"} & set(found)


async def test_tables_and_arrays(run: Run) -> None:
    code = """
import numpy as np, pandas as pd, polars as pl
frame = pd.DataFrame({'day': pd.to_datetime(['2024-01-01'] * 5000), 'price': 1.5})
wide = pd.DataFrame(np.zeros((2, 3000)))
merged = pd.DataFrame({name: [1] for name in
    ('Order Date Shop Product Customer Pieces Price Status Sales Name Region Category Weight Grams').split()})
pairs = [(1, 2)] * 65
distinct = {(1, n) for n in range(65)}
series = frame['price']
array = np.zeros((3, 4))
number = np.float64(2.5)
other = pl.DataFrame({'a': [1]})
lazy = pl.scan_csv('does-not-exist.csv')
moment = pd.Timestamp('2024-05-06')
from sklearn.linear_model import LinearRegression
model = LinearRegression().fit([[1], [2]], [1, 2])
"""
    found = table(await run(code))
    assert found["frame"][0] == "DataFrame"
    assert found["frame"][1].startswith("5,000 x 2: day datetime64[")
    assert found["frame"][1].endswith("], price float64")
    assert found["wide"][1].startswith("2 x 3,000: 0 float64")
    assert found["wide"][1].endswith(", …, 2998 float64, 2999 float64")  # the newest are never left out
    names = "Order, Date, Shop, Product, Customer, Pieces, Price, Status, Sales, Name, Region, Category, Weight, Grams"
    assert found["merged"][1] == f"1 x 14: {names}"  # all names are worth more than the types of some
    assert found["pairs"] == ("list", "65 items, the first 12 each tuple of 2")
    assert found["distinct"] == ("set", "65 items, the first 12 each tuple of 2")
    assert found["series"] == ("Series", "5,000 x float64 price")
    assert found["array"] == ("ndarray", "3 x 4 float64")
    assert found["number"] == ("float64", "2.5")
    assert found["other"] == ("DataFrame", "1 x 1: a Int64")
    assert found["lazy"] == ("LazyFrame", "lazy, not collected")
    assert found["moment"] == ("Timestamp", "2024-05-06 00:00:00")
    assert found["model"] == ("LinearRegression", "fitted: LinearRegression()")
    assert all(len(summary) <= 200 for _, summary in found.values())


async def test_evil_objects_do_no_harm(run: Run) -> None:
    code = """
class Meta(type):
    def __getattribute__(cls, name): raise RuntimeError('meta')
class Evil(metaclass=Meta):
    def __init__(self): pass
    def __repr__(self):
        while True: pass
    def __str__(self):
        while True: pass
    def __getattribute__(self, name): raise RuntimeError('attribute')
    def __len__(self): return -1
    def __iter__(self):
        while True: yield 1
    def __bool__(self): raise RuntimeError('bool')
    def __eq__(self, other): raise RuntimeError('eq')
class EvilList(list):
    def __len__(self): raise RuntimeError
    def __iter__(self):
        while True: pass
    def __repr__(self):
        while True: pass
evil = Evil(); nested = [evil, {1: evil}]; listed = EvilList([1, 2]); display = evil
class Liar:
    @property
    def __class__(self):
        while True: pass
liar = Liar()
globals()[1] = 'not a name'; globals()['odd \\ud800'] = 1
loop = []; loop.append(loop)
"""
    found = table(await run(code, timeout=20))
    assert found["evil"][0] == "Evil"
    assert found["nested"] == ("list", "2 items: <Evil>, dict of 1")
    assert found["listed"] == ("EvilList", "2 items: 1, 2")
    assert found["liar"] == ("Liar", "")
    assert found["loop"] == ("list", "1 item: list of 1")
    assert found["display"][0] == "Evil"


async def test_the_newest_rows_are_kept_when_there_are_many(run: Run) -> None:
    rows = fine(await run("for i in range(1000): globals()[f'v{i}'] = i")).namespace
    assert len(rows) == 200
    assert rows[-2].name == "v999" or rows[-1].name == "v999"


async def test_the_table_is_told_after_an_error_too(run: Run) -> None:
    result = await run("x = 1\n1 / 0")
    assert [row.name for row in result.namespace] == ["x"]
