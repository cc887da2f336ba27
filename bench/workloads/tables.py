"""Sessions of frames and models: what most analyses look like."""

from pathlib import Path

import numpy as np
import pandas as pd

from bench.workloads import Workload

EDA = """
# %%
import numpy as np
import pandas as pd
# %%
df = pd.read_csv("inputs/stones.csv")
# %%
print(df.describe())
# %%
df["volume"] = df["x"] * df["y"] * df["z"]
# %%
df["price_per_carat"] = df["price"] / df["carat"]
# %%
def over(limit, column="price"):
    return int((df[column] > limit).sum())
# %%
by_cut = df.groupby("cut")["price"].agg(["mean", "median", "count"])
# %%
by_colour = df.pivot_table(index="color", columns="cut", values="price", aggfunc="mean")
# %%
large = df[df["carat"] > 1.6]
# %%
correlations = df.select_dtypes("number").corr()
# %%
print(over(5_000), len(large))
# %%
df["cut"] = df["cut"].astype("category")
# %%
sample = df.sample(frac=0.1, random_state=4)
# %%
results = {"whole": df, "large": large, "tables": [by_cut, by_colour]}
# %%
top = df.nlargest(50, "price")
limit = 9_000
# %% ask
results["whole"] is df
results["tables"][0] is by_cut
over(limit)
df = df.head(1000)
over(0)
results["whole"] is df, len(results["whole"]) == rows
float(large["volume"].sum())
str(sample.dtypes.to_dict())
list(by_colour.columns)
"""

SKLEARN = """
# %%
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
# %%
people = pd.read_csv("inputs/people.csv")
# %%
people["older"] = people["age"] > 40
# %%
target = people["income"]
features = people.drop(columns="income")
# %%
X_train, X_test, y_train, y_test = train_test_split(features, target, test_size=0.25, random_state=0)
# %%
numbers = ["age", "hours", "gain"]
words = ["work", "school"]
prepare = ColumnTransformer([("n", StandardScaler(), numbers), ("w", OneHotEncoder(handle_unknown="ignore"), words)])
# %%
line = Pipeline([("prepare", prepare), ("model", LogisticRegression(max_iter=300))])
# %%
line.fit(X_train, y_train)
# %%
print(line.score(X_test, y_test))
# %%
forest = Pipeline([("prepare", prepare), ("model", RandomForestClassifier(20, max_depth=9, random_state=0, n_jobs=1))])
forest.fit(X_train, y_train)
# %%
scores = {"line": line.score(X_test, y_test), "forest": forest.score(X_test, y_test)}
# %%
models = {"line": line, "forest": forest}
best = models[max(scores, key=scores.get)]
# %%
def guess(frame):
    return best.predict(frame)
# %%
wrong = X_test[guess(X_test) != y_test]
# %%
importance = pd.Series(forest.named_steps["model"].feature_importances_).sort_values()
# %% ask
models["forest"] is forest, best in (line, forest)
line.named_steps["prepare"] is forest.named_steps["prepare"]
guess(X_test.head(50)).tolist()
best = line
guess(X_test.head(50)).tolist() == line.predict(X_test.head(50)).tolist()
forest.predict_proba(X_test.head(5)).round(9).tolist()
len(wrong), float(importance.sum().round(9))
"""

SMALL = [
    "import numpy as np\nimport pandas as pd",
    'rides = pd.read_csv("inputs/rides.csv", parse_dates=["when"])',
    'rides["weekday"] = rides["when"].dt.day_name()',
    'def mean_of(column, day):\n    return float(rides.loc[rides["weekday"] == day, column].mean())',
    "days = list(rides['weekday'].unique())",
    "means = {day: mean_of('count', day) for day in days}",
    *(
        line
        for number in range(8)
        for line in (
            f"part_{number} = rides[rides['when'].dt.hour % 8 == {number}]",
            f"print(part_{number}['count'].mean())",
            f"summary_{number} = part_{number}.groupby('weekday')['count'].sum()",
            f"means['part {number}'] = float(summary_{number}.mean())",
        )
    ),
    "parts = [part_0, part_1, part_2]",
    "best = max(means, key=means.get)",
]
SMALL_ASKED = """
# %% ask
parts[1] is part_1
mean_of("count", "Monday")
rides = rides[rides["count"] > 50]
mean_of("count", "Monday")
best, sorted(means)[:3]
"""

INPLACE = """
# %%
import numpy as np
import pandas as pd
rng = np.random.default_rng(3)
# %%
df = pd.DataFrame(rng.normal(size=(rows, 16)), columns=[f"c{i}" for i in range(16)])
# %%
same = {"frame": df}
# %%
df["c0"] = df["c0"] * 2
# %%
df["c1"] = df["c1"].clip(-1, 1)
# %%
df.loc[df["c2"] < 0, "c2"] = 0.0
# %%
df["c3"] = df["c3"].abs()
# %%
same["frame"]["c4"] = 1.5
# %%
df.iloc[10:20, 5] = -1.0
# %%
df["c6"] = df["c6"].rank()
# %%
df["c7"] = np.sqrt(df["c3"])
# %%
def reset(column):
    df[column] = df[column] - df[column].mean()
# %%
reset("c8")
# %%
df["c9"] = df["c9"].round(2)
# %%
df["c10"] = np.arange(rows)
# %% ask
same["frame"] is df
reset("c9")
float(df["c9"].abs().sum().round(6))
float(rng.normal())
"""


def _write(frame: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False)


def stones(folder: Path, rows: int) -> None:
    """Ten columns of stones, about 55 bytes a row."""
    rng = np.random.default_rng(1)
    carat = rng.gamma(4, 0.2, rows).round(2) + 0.2
    _write(
        pd.DataFrame(
            {
                "carat": carat,
                "cut": rng.choice(["Fair", "Good", "Ideal", "Premium"], rows),
                "color": rng.choice(list("DEFGHIJ"), rows),
                "clarity": rng.choice(["IF", "SI1", "SI2", "VS1", "VS2"], rows),
                "depth": rng.normal(61, 1.4, rows).round(1),
                "table": rng.normal(57, 2.2, rows).round(1),
                "price": (carat**2 * 4000 * rng.uniform(0.6, 1.4, rows)).astype(int),
                "x": (carat**0.33 * 6).round(2),
                "y": (carat**0.33 * 6.1).round(2),
                "z": (carat**0.33 * 3.7).round(2),
            }
        ),
        folder / "stones.csv",
    )


def people(folder: Path, rows: int) -> None:
    """Six columns of people."""
    rng = np.random.default_rng(2)
    age = rng.integers(17, 90, rows)
    hours = rng.normal(40, 12, rows).round(0)
    _write(
        pd.DataFrame(
            {
                "age": age,
                "hours": hours,
                "gain": rng.gamma(0.3, 2000, rows).round(0),
                "work": rng.choice(["Private", "State", "Self", "None"], rows),
                "school": rng.choice(["HS", "Some", "Bachelors", "Masters", "Doctorate"], rows),
                "income": np.where(age + hours + rng.normal(0, 20, rows) > 90, "high", "low"),
            }
        ),
        folder / "people.csv",
    )


def rides(folder: Path, rows: int) -> None:
    """Counts of rides, hour by hour."""
    rng = np.random.default_rng(4)
    when = pd.date_range("2031-01-01", periods=rows, freq="h")
    _write(
        pd.DataFrame({"when": when, "temp": rng.normal(15, 8, rows).round(2), "count": rng.poisson(180, rows)}),
        folder / "rides.csv",
    )


TABLES = [
    Workload(
        name="eda100",
        what="a table read and looked at from all sides",
        modules=("numpy", "pandas", "pyarrow"),
        rows=1_000_000,
        quick_rows=100_000,
        text=EDA,
        data=stones,
    ),
    Workload(
        name="sklearn",
        what="features, pipelines, a forest",
        modules=("numpy", "pandas", "pyarrow", "sklearn.compose", "sklearn.ensemble", "sklearn.pipeline"),
        rows=30_000,
        quick_rows=6_000,
        text=SKLEARN,
        data=people,
    ),
    Workload(
        name="small40",
        what="40 small cells",
        modules=("numpy", "pandas", "pyarrow"),
        rows=17_000,
        quick_rows=5_000,
        rounds=3,
        text="# %%\n" + "\n# %%\n".join(SMALL) + SMALL_ASKED,
        data=rides,
    ),
    Workload(
        name="inplace",
        what="one frame, a column changed per cell",
        modules=("numpy", "pandas"),
        rows=1_000_000,
        quick_rows=100_000,
        text=INPLACE,
    ),
]
