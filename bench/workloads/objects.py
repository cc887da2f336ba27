"""Sessions of what a pickle gets wrong: shared objects, functions, connections, and very many small objects."""

from bench.workloads import Workload

OBJECTS = """
# %%
import collections
import functools
import os
import random
import numpy as np
import pandas as pd
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
# %%
df = pd.DataFrame({"a": np.arange(rows) * 1.0, "b": np.arange(rows) % 7})
df2 = df
held = {"frame": df, "column": "b"}
# %%
a = np.arange(rows * 1.0)
b = a[10:20]
c = a.reshape(2, -1).T
# %%
def over(column):
    return int((df[column] > factor).sum())
factor = 3
# %%
def counter():
    count = 0
    def up():
        nonlocal count
        count += 1
        return count
    def get():
        return count
    return up, get
up, get = counter()
up()
# %%
class Account:
    made = []
    limit = 10
    def __init__(self, owner):
        self.owner = owner
        self.sum = 0
        Account.made.append(self)
    def add(self, amount):
        self.sum += amount * factor
        return self.sum
class Savings(Account):
    def add(self, amount):
        return super().add(amount) + 1
# %%
mine, yours = Account("me"), Savings("you")
mine.add(2)
# %%
@functools.lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(30))
# %%
ring = [1, 2]
ring.append(ring)
tree = {"name": "root", "leaves": []}
tree["leaves"].append({"up": tree, "name": "leaf"})
# %%
b[:] = -1
# %%
add = mine.add
half = functools.partial(max, 5)
steps = [lambda x: x + factor, lambda x, held=held: len(held)]
# %%
fig, axes = plt.subplots()
line, = axes.plot([1, 2, 3])
# %%
plt.title("all of it")
line.set_linewidth(4)
# %%
rng = np.random.default_rng(7)
random.seed(11)
np.random.seed(12)
first = rng.normal(), random.random(), np.random.rand()
# %%
os.makedirs("figures/more", exist_ok=True)
os.environ["BENCH_COLOUR"] = "blue"
pd.set_option("display.max_rows", 17)
words = collections.Counter("to be or not to be".split())
named = collections.namedtuple("named", "x y")
point = named(1, 2)
# %%
df.loc[3, "a"] = 100.0
a[0] = 50
# %%
def later(values=[]):
    values.append(factor)
    return values
later()
# %% ask
df2 is df, held["frame"] is df
float(df2.loc[3, "a"]), df2.shape
np.shares_memory(a, b), np.shares_memory(a, c)
float(a[10]), float(a[0]), float(a.sum())
b[0] = 7
float(a[10]), float(c[5, 0])
over("a"), over("b")
factor = 5
over("b")
df = df.head(10)
over("b"), len(df2) == rows
get()
up(), get()
type(mine) is Account, isinstance(yours, Account), type(yours) is Savings
mine.add(1), yours.add(1)
Account.made[0] is mine, len(Account.made)
Account.limit = 99
yours.limit
add(1), mine.sum
add.__self__ is mine
fib(31)
ring[2] is ring, tree["leaves"][0]["up"] is tree
half(3), half(9)
steps[0](1), steps[1](0)
fig.axes[0] is axes, axes.get_title(), axes.lines[0] is line, line.get_linewidth()
plt.gcf() is fig
float(rng.normal())
random.random()
float(np.random.rand())
os.environ.get("BENCH_COLOUR")
pd.get_option("display.max_rows")
words.most_common(1), point.y, type(point) is named
later()
sorted(name for name in ("count", "values", "Account", "fib") if name in globals())
"""

UNPICKLED = """
# %%
import io
import os
import re
import sqlite3
import threading
import itertools
import numpy as np
import duckdb
# %%
os.makedirs("outputs/notes", exist_ok=True)
with open("outputs/notes/lines.txt", "w") as out:
    out.writelines(f"line {i}\\n" for i in range(20))
# %%
base = 10
def squares(n):
    for i in range(n):
        yield i * i + base
# %%
numbers = squares(50)
print(next(numbers), next(numbers))
# %%
lines = open("outputs/notes/lines.txt")
for _ in range(5):
    lines.readline()
# %%
db = sqlite3.connect(":memory:")
db.execute("create table t (a integer, b text)")
db.executemany("insert into t values (?, ?)", [(i, f"row {i}") for i in range(rows)])
db.commit()
# %%
rows_of = lambda: db.execute("select count(*) from t").fetchone()[0]
# %%
lock = threading.Lock()
guarded = {"lock": lock, "value": 1}
# %%
match = re.search(r"(\\w+)@(\\w+)", "write to me@home now")
pattern = re.compile("[a-z]+")
# %%
store = duckdb.connect()
store.execute("create table n as select range as i, range * 2 as twice from range(1000)")
# %%
store.execute("insert into n values (5000, 1)")
db.execute("insert into t values (-1, 'late')")
db.commit()
# %%
numbers_of = itertools.count(5)
next(numbers_of)
draft = sqlite3.connect(":memory:")
draft.execute("create table t (a integer)")
draft.execute("insert into t values (1)")
# %%
memory = io.BytesIO(b"abcdef")
memory.seek(2)
view = memoryview(bytearray(b"12345"))
# %%
data = np.arange(rows)
pending = (value for value in [1, 2, 3])
# %%
base = 20
# %%
os.chdir("outputs/notes")
# %% ask
next(numbers), next(numbers)
lines.readline(), lines.tell() > 0
rows_of()
db.execute("select b from t where a = -1").fetchone()
db.execute("insert into t values (-2, 'x')").rowcount, rows_of()
draft.execute("select a from t").fetchall(), draft.in_transaction
lock.locked(), lock.acquire(blocking=False)
guarded["lock"] is lock, guarded["lock"].locked()
match.groups(), match.span()
pattern.findall("ab 12 cd")
store.execute("select count(*), sum(twice) from n").fetchone()
next(numbers_of)
memory.read()
view.obj[0], view.nbytes
view[0] = 65
view.obj[0]
list(pending)
int(data.sum())
os.path.basename(os.getcwd())
"""

MANY = """
# %%
import random
random.seed(5)
# %%
people = [{"id": i, "name": f"name {i}", "tags": [i % 7, i % 3], "score": random.random()} for i in range(rows)]
# %%
by_id = {one["id"]: one for one in people}
# %%
print(len(people))
# %%
by_tag = {}
for one in people:
    by_tag.setdefault(one["tags"][0], []).append(one)
# %%
total = sum(one["score"] for one in people)
# %%
people[5]["score"] = 10.0
# %%
def best():
    return max(people, key=lambda one: one["score"])
# %%
winner = best()
# %%
for one in by_tag[3]:
    one["tags"].append("three")
# %%
mean = total / len(people)
# %%
note = f"{mean:.3f}"
# %%
del by_id[7]
# %%
extra = [one["id"] for one in people if one["score"] > 0.99]
# %%
chosen = people[:10]
# %%
print(note, len(extra))
# %% ask
winner is people[5], by_id[5] is winner
by_tag[3][0] is people[3], chosen[3]["tags"]
best()["id"]
people = people[:5]
best()["id"]
7 in by_id, len(by_tag[0])
"""

OBJECT_SESSIONS = [
    Workload(
        name="objects",
        what="aliases, views, closures, classes, figures",
        modules=("numpy", "pandas", "matplotlib.pyplot"),
        rows=1_000_000,
        quick_rows=100_000,
        text=OBJECTS,
    ),
    Workload(
        name="unpick",
        what="generators, files, connections, locks",
        modules=("numpy", "pandas", "sqlite3", "duckdb"),
        rows=50_000,
        quick_rows=5_000,
        text=UNPICKLED,
    ),
    Workload(
        name="pyobj",
        what="dicts in a list, with two indexes over them",
        modules=(),
        rows=20_000,
        quick_rows=2_000,
        text=MANY,
    ),
]
