"""Cells of a later question: a short look at the columns that it names, with the variables that are there."""

from models.playbook.cells.writing import PAGES

FOCUS = r"""
import re

import pandas as pd

findings.clear()
captions.clear()
if not set(paths) <= set(loaded):
    print("New files came: they are loaded first.")
asked = question.casefold()
words = set(re.findall(r"\w{4,}", asked))
named = [c for c in df.columns if len(c) > 1 and c.casefold() in asked]
words -= set(re.findall(r"\w{4,}", " ".join(named).casefold()))
loosely = [c for c in df.columns if c not in named and words & set(re.findall(r"\w{4,}", c.casefold()))]
named = [c for c in [*named, *loosely] if c in [*numbers, *groups, *dates]][:4]
if not named:
    named = [*groups[:2], *numbers[:1]]
    note("Assumption", "the question names no column that can be compared, so the main ones are shown.")
print("Looking at:", ", ".join(named))
described = []
for c in named:
    values = df[c].dropna()
    if c in numbers:
        low, half, high = values.quantile([0.25, 0.5, 0.75])
        text = f"{len(values):,} values, mean {show(values.mean())}, median {show(half)}"
        text += f", the middle half {show(low)} to {show(high)}"
    elif c in dates:
        text = f"{len(values):,} dates, {values.min():%Y-%m-%d} to {values.max():%Y-%m-%d}"
    else:
        counts = values.value_counts()
        page = counts.head(200).rename_axis("value").reset_index(name="rows")
        described.append(page.astype({"value": str}).assign(column=c))
        text = f"{len(counts):,} values; " + ", ".join(
            f"'{str(v)[:40]}' {n:,} ({n / len(values):.1%})" for v, n in counts.head(5).items()
        )
    note("Column", f"'{c}': {text}.")
if not named:
    note("Column", "there is no column to look at.")
"""

RELATE = r"""
import matplotlib.pyplot as plt
import pandas as pd

compared, drawn = [], None
for c in named:
    partners = [g for g in named if g in groups and g != c] or [g for g in groups if g != c][:1]
    if c in numbers:
        for g in partners[:2]:
            sizes = df.loc[df[c].notna(), g].value_counts()
            some = df[df[g].isin(sizes[sizes >= 3].index[:12])].dropna(subset=[c])
            part = some.groupby(g, observed=True)[c].agg(["count", "mean", "median"])
            part = part.sort_values("mean", ascending=False)
            if len(part) < 2:
                continue
            drawn = drawn if drawn is not None else part["mean"]
            compared.append(part.reset_index(names="value").astype({"value": str}).assign(column=c, by=g))
            print(part.to_string())
            (top, bottom), rows = part["mean"].iloc[[0, -1]], part["count"].iloc[[0, -1]].tolist()
            note(
                "Comparison",
                f"the mean of '{c}' by '{g}' is highest for '{part.index[0]}' ({show(top)}, {rows[0]:,} rows) and "
                f"lowest for '{part.index[-1]}' ({show(bottom)}, {rows[1]:,} rows).",
            )
        for n in [n for n in named if n in numbers and n > c]:
            rho = df[c].corr(df[n], method="spearman")
            note("Comparison", f"'{c}' and '{n}' have a Spearman correlation of {show(rho)}.")
    elif c in groups:
        counts = df[c].value_counts()
        drawn = drawn if drawn is not None else counts.head(12)
        for g in [g for g in named if g in groups and g > c]:
            table = pd.crosstab(df[c], df[g])
            (a, b), n = table.stack().idxmax(), int(table.to_numpy().max())
            note("Comparison", f"the commonest pair of '{c}' and '{g}' is '{a}' with '{b}' ({n:,} rows).")
    elif c in dates:
        per = df[c].dt.to_period("Y").value_counts().sort_index()
        drawn = drawn if drawn is not None else per
        note("Comparison", f"by '{c}', the year with most rows is {per.idxmax()} ({per.max():,}).")
if not compared and drawn is None:
    note("Comparison", "there is nothing to compare these columns with.")
"""

RELATE_FIGURE = r"""
if drawn is not None and len(drawn):
    fig, ax = plt.subplots(figsize=(8, 1.5 + 0.35 * min(len(drawn), 30)))
    shown = drawn.head(30)[::-1]
    ax.barh([label(v, 30) for v in shown.index], shown.to_numpy(), color="#4878a8")
    ax.set_title(" / ".join(label(c) for c in named[:2]), fontsize=10)
    fig.tight_layout()
    captions.append("the first comparison")
"""

CLOSE = (
    PAGES
    + r"""
pages = {"values": pd.concat(described) if described else pd.DataFrame()}
pages["comparisons"] = pd.concat(compared) if compared else pd.DataFrame()
pages["findings"] = pd.DataFrame({"finding": list(dict.fromkeys(findings))})
save(pages, stem)
"""
)
