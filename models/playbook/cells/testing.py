"""Cells that compare: groups that differ, trends over time, values far from the rest."""

GROUPS = r"""
import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import kruskal

found = []
for g in groups[:12]:
    sizes = df[g].value_counts()
    levels = sizes[sizes >= 5].index[:12]
    for c in numbers[:8]:
        parts = [part for part in (df.loc[df[g] == level, c].dropna() for level in levels) if len(part) >= 5]
        if len(parts) < 2 or pd.concat(parts).nunique() < 2:
            continue
        test = kruskal(*parts)
        rows = sum(map(len, parts))
        effect = max(0.0, (test.statistic - len(parts) + 1) / (rows - len(parts)))
        found.append((g, c, len(parts), rows, effect, test.pvalue))
differences = pd.DataFrame(found, columns=["group", "number", "groups", "rows", "effect", "p"])
differences["p"] = (differences["p"] * max(1, len(differences))).clip(upper=1)
differences = differences.sort_values("effect", ascending=False, ignore_index=True)
print(differences.head(10).to_string())
telling = differences[(differences["p"] < 0.01) & (differences["effect"] >= 0.01)]
for row in telling.head(3).itertuples():
    sizes = df.loc[df[row.number].notna(), row.group].value_counts()
    part = df[df[row.group].isin(sizes[sizes >= 5].index[:12])].groupby(row.group, observed=True)[row.number]
    middle = "mean" if (df[row.number] == 0).mean() > 0.5 else "median"
    level = part.agg(middle).dropna().sort_values()
    note(
        "Group",
        f"'{row.number}' differs by '{row.group}': {middle} {show(level.iloc[-1])} for '{str(level.index[-1])[:40]}' "
        f"against {show(level.iloc[0])} for '{str(level.index[0])[:40]}' (Kruskal-Wallis, effect size "
        f"{row.effect:.2f}, {row.rows:,} rows).",
    )
if not len(differences):
    note("Group", "there is no pair of a grouping and a numeric column to compare.")
elif not len(telling):
    note("Group", f"none of {len(differences):,} comparisons of groups shows a difference that matters.")
else:
    note("Assumption", f"p values are corrected for {len(differences):,} comparisons of groups (Bonferroni).")
"""

GROUPS_FIGURE = r"""
if len(telling):
    fig, axes = plt.subplots(1, min(2, len(telling)), figsize=(12, 4.5), squeeze=False)
    for ax, row in zip(axes.flat, telling.itertuples(), strict=False):
        data = df[[row.group, row.number]].dropna()
        levels = data[row.group].value_counts()
        levels = levels[levels >= 5].index[:12]
        parts = [data.loc[data[row.group] == level, row.number].astype(float).to_numpy() for level in levels]
        ax.boxplot(parts, orientation="horizontal", showfliers=False)
        ax.set_yticks(range(1, len(levels) + 1), [label(level, 24) for level in levels], fontsize=8)
        ax.set_xlabel(label(row.number))
        ax.set_title(f"{label(row.number)} by {label(row.group)}", fontsize=10)
    fig.tight_layout()
    captions.append("the groups that differ most")
"""

TRENDS = r"""
import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import chisquare

when, per, seasons = pd.Series(dtype="datetime64[ns]"), pd.Series(dtype=float), pd.Series(dtype=float)
years = [c for c in [*numbers, *groups] if c.casefold() in ("year", "yr", "年", "年份", "jahr", "année", "año")]
years = [c for c in years if pd.to_numeric(df[c], errors="coerce").dropna().between(1600, 2200).all()]
if dates or years:
    date = max(dates, key=lambda c: df[c].notna().sum()) if dates else years[0]
    when = df[date] if dates else pd.to_datetime(pd.to_numeric(df[date]), format="%Y")
    when = when.dropna()
    span = (when.max() - when.min()).days
    unit, word = ("Y", "year") if span > 3 * 365 or not dates else ("M", "month") if span > 60 else ("D", "day")
    per = when.dt.to_period(unit).value_counts().sort_index()
    per = per.reindex(pd.period_range(per.index.min(), per.index.max(), freq=unit), fill_value=0)
    slack = pd.Timedelta(days={"Y": 15 if dates else 366, "M": 3, "D": 1}[unit])
    whole = per[(per.index.start_time >= when.min() - slack) & (per.index.end_time <= when.max() + slack)]
    print(per.tail(24).to_string())
    cut = [str(p) for p in per.index if p not in whole.index]
    if cut:
        note("Assumption", f"left out of the trend, because covered only in part: {', '.join(cut[:3])}.")
    if len(whole) >= 4:
        rho = pd.Series(whole.to_numpy()).corr(pd.Series(range(len(whole))), method="spearman")
        way = "no clear trend" if not abs(rho) >= 0.5 else "a rise" if rho > 0 else "a fall"
        ends = f"from {whole.iloc[0]:,} in {whole.index[0]} to {whole.iloc[-1]:,} in {whole.index[-1]}"
        most = f"most: {whole.max():,} in {whole.idxmax()}; Spearman {show(rho)}"
        note("Trend", f"rows per {word} by '{date}': {way}, {ends} ({most}).")
    else:
        note("Trend", f"'{date}' spans {span:,} days, too few full {word}s for a trend.")
    for c in [c for c in numbers if c != date and (df[c] == 0).mean() <= 0.5][:1]:
        means = df.loc[when.index, c].groupby(when.dt.to_period(unit)).mean().reindex(whole.index).dropna()
        if len(means) >= 4:
            ends = f"from {show(means.iloc[0])} in {means.index[0]} to {show(means.iloc[-1])} in {means.index[-1]}"
            note("Trend", f"the mean of '{c}' goes {ends}, between {show(means.min())} and {show(means.max())}.")
    if dates and span >= 730:
        inside = when[when.dt.to_period("Y").isin(whole.index)] if unit == "Y" and len(whole) else when
        seasons = inside.dt.month.value_counts().reindex(range(1, 13), fill_value=0)
        top, low = pd.Timestamp(2000, seasons.idxmax(), 1), pd.Timestamp(2000, seasons.idxmin(), 1)
        sure = chisquare(seasons).pvalue < 0.001 and seasons.max() > 1.2 * max(1, seasons.min())
        season = "a clear season" if sure else "no clear season"
        note("Trend", f"{season}: most rows in {top:%B} ({seasons.max():,}), fewest in {low:%B} ({seasons.min():,}).")
    elif dates:
        note("Trend", f"{span:,} days are too short to judge a season.")
else:
    note("Trend", "there is no date column, so no trend over time.")
"""

TRENDS_FIGURE = r"""
if len(per) > 1:
    fig, axes = plt.subplots(1, 2 if len(seasons) else 1, figsize=(12 if len(seasons) else 8, 4), squeeze=False)
    axes[0][0].plot(per.index.to_timestamp(), per.to_numpy(), marker="o" if len(per) < 60 else "", color="#4878a8")
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].set_title(f"Rows per {word} ({label(date)})", fontsize=10)
    if len(seasons):
        axes[0][1].bar([f"{pd.Timestamp(2000, m, 1):%b}" for m in seasons.index], seasons.to_numpy(), color="#a87848")
        axes[0][1].set_title("Rows by calendar month", fontsize=10)
    fig.autofmt_xdate()
    fig.tight_layout()
    captions.append(f"rows per {word}{' and by calendar month' if len(seasons) else ''}")
"""

OUTLIERS = r"""
import pandas as pd

far = []
for c in numbers[:30]:
    values = df[c].dropna().astype(float)
    if len(values) < 10:
        continue
    mostly_zero = (values == 0).mean() > 0.5
    values = values[values != 0] if mostly_zero else values
    middle = values.median()
    spread = (values - middle).abs().median() * 1.4826 or (values.quantile(0.75) - values.quantile(0.25)) / 1.349
    if len(values) < 10 or not spread > 0:
        print(f"'{c}': too many equal values to judge.")
        continue
    distance = (values - middle).abs() / spread
    beyond = distance[distance > 5]
    if len(beyond):
        far.append((c, len(beyond), len(values), beyond.idxmax(), values[beyond.idxmax()], middle, mostly_zero))
far.sort(key=lambda item: -item[1] / item[2])
for c, n, total, row, value, middle, mostly_zero in far[:3]:
    which = "non-zero values" if mostly_zero else "values"
    note(
        "Outlier",
        f"'{c}': {n:,} of {total:,} {which} lie more than 5 robust deviations from the median {show(middle)}; "
        f"the farthest is {show(value)} (row {row:,}, counted from 0).",
    )
outliers = pd.DataFrame(far, columns=["column", "outliers", "of", "row", "farthest", "median", "zeros left out"])
if far:
    rows = [item[3] for item in far[:3]]
    print(df.loc[rows, [*groups[:4], *numbers[:4]]].to_string(max_colwidth=30))
elif numbers:
    note("Outlier", "no value lies more than 5 robust deviations from its column's median.")
else:
    note("Outlier", "there is no numeric column to look for outliers in.")
"""
