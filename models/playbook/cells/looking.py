"""Cells that look: how values are distributed, and which columns go together."""

DISTRIBUTIONS = r"""
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

if numbers:
    print(df[numbers[:20]].describe().T.map(show).to_string())
for i, c in enumerate(numbers[:6]):
    values = df[c].dropna()
    zeros = (values == 0).mean()
    rest = values[values != 0] if zeros > 0.5 else values
    low, half, high = rest.quantile([0.25, 0.5, 0.75])
    text = f"median {show(half)}, the middle half {show(low)} to {show(high)}"
    text += f", range {show(rest.min())} to {show(rest.max())}"
    if zeros > 0.5:
        text = f"zero in {zeros:.1%} of {len(values):,} rows; the other {len(rest):,}: {text}"
    elif abs(rest.skew()) > 1:
        text += f", a long tail to the {'right' if rest.skew() > 0 else 'left'}"
    note("Distribution", f"'{c}': {text}.") if i < 4 else print(f"'{c}': {text}.")
for i, c in enumerate(groups[:6]):
    counts = df[c].value_counts()
    common = ", ".join(f"'{str(v)[:40]}' {n:,} ({n / counts.sum():.0%})" for v, n in counts.head(3).items())
    text = f"'{c}' has {len(counts):,} values; the commonest are {common}."
    note("Distribution", text) if i < 4 else print(text)
if not numbers:
    note("Distribution", "there is no numeric column to describe.")
if not groups:
    note("Distribution", "there is no column with repeated categories.")
"""

DISTRIBUTIONS_FIGURE = r"""
shown = [*numbers[:4], *groups[:5]]
if shown:
    fig, axes = plt.subplots((len(shown) + 2) // 3, 3, figsize=(13, 3 * ((len(shown) + 2) // 3)), squeeze=False)
    for ax, c in zip(axes.flat, shown, strict=False):
        if c in numbers:
            values = df[c].dropna().astype(float)
            mostly_zero = (values == 0).mean() > 0.5
            values = values[values != 0] if mostly_zero else values
            wide = len(values) > 0 and values.min() > 0 and values.max() > 1000 * values.min()
            ax.hist(np.log10(values) if wide else values, bins=30, color="#4878a8")
            ax.set_title(f"{label(c)}{', log10' if wide else ''}{', without zeros' if mostly_zero else ''}", fontsize=9)
        else:
            counts = df[c].value_counts().head(8)[::-1]
            ax.barh([label(v, 22) for v in counts.index], counts.to_numpy(), color="#a87848")
            ax.set_title(label(c), fontsize=9)
        ax.tick_params(labelsize=7)
    for ax in axes.flat[len(shown):]:
        ax.axis("off")
    fig.tight_layout()
    captions.append(f"how the values of {len(shown):,} columns are distributed")
"""

RELATIONS = r"""
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

chosen = numbers[:25]
ranks = df[chosen].corr(method="spearman", min_periods=10) if len(chosen) > 1 else pd.DataFrame()
pairs = [(a, b, ranks.loc[a, b]) for a, b in combinations(ranks.columns, 2) if pd.notna(ranks.loc[a, b])]
pairs.sort(key=lambda pair: -abs(pair[2]))
for i, (a, b, rho) in enumerate(pairs[:8]):
    both = int((df[a].notna() & df[b].notna()).sum())
    text = f"'{a}' and '{b}' {'rise together' if rho > 0 else 'go opposite ways'} (Spearman {rho:.2f}, {both:,} rows)."
    note("Relation", text) if i < 3 and abs(rho) >= 0.1 else print(text)
if not pairs:
    note("Relation", "there are not two numeric columns to correlate.")
elif abs(pairs[0][2]) < 0.1:
    note("Relation", f"no two numeric columns go together (the strongest Spearman is {pairs[0][2]:.2f}).")
ties = []
for a, b in combinations([c for c in groups if df[c].nunique() <= 30][:8], 2):
    table = pd.crosstab(df[a], df[b])
    rows, columns, n = *table.shape, int(table.to_numpy().sum())
    if min(rows, columns) < 2 or n < 20:
        continue
    phi2 = chi2_contingency(table).statistic / n - (rows - 1) * (columns - 1) / (n - 1)
    side = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    ties.append((a, b, float(np.sqrt(max(0.0, phi2) / side)) if side > 0 else 0.0))
ties.sort(key=lambda tie: -tie[2])
for i, (a, b, v) in enumerate(ties[:5]):
    text = f"'{a}' and '{b}' are tied with a Cramér's V of {v:.2f} (0 is none, 1 is full)."
    note("Relation", text) if i < 2 and v >= 0.1 else print(text)
"""

RELATIONS_FIGURE = r"""
if len(pairs) > 1:
    import seaborn as sns

    fig, ax = plt.subplots(figsize=(2.5 + 0.5 * len(chosen), 2 + 0.5 * len(chosen)))
    sns.heatmap(ranks.to_numpy(), vmin=-1, vmax=1, cmap="vlag", annot=len(chosen) <= 12, fmt=".2f", ax=ax,
                xticklabels=[label(c) for c in chosen], yticklabels=[label(c) for c in chosen])
    ax.set_title("Spearman rank correlation")
    fig.tight_layout()
    captions.append("how strongly the numeric columns go together")
"""
