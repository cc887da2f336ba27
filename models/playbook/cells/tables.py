"""Cells that explore a loaded table, at first as a whole and later by what a question names, and write it down."""

DISTRIBUTIONS = r"""
if numbers:
    print(df[numbers[:20]].describe().T.map(show).to_string())
for i, c in enumerate(numbers[:6]):
    values = df[c].dropna()
    zeros = (values == 0).mean()
    rest = values[values != 0] if zeros > 0.5 else values
    low, half, high = rest.quantile([0.25, 0.5, 0.75])
    text = f"median {show(half)}, the middle half {show(low)} to {show(high)}, range "
    text += f"{show(rest.min())} to {show(rest.max())}"
    if zeros > 0.5:
        text = f"zero in {zeros:.1%} of {many(len(values), 'row')}; the other {len(rest):,}: {text}"
    elif abs(rest.skew()) > 1:
        text += f", a long tail to the {'right' if rest.skew() > 0 else 'left'}"
    note("Distribution", f"'{c}': {text}.") if i < 4 else print(f"'{c}': {text}.")
for i, c in enumerate(groups[:6]):
    counts = df[c].value_counts()
    common = ", ".join(f"'{str(v)[:40]}' {n:,} ({n / counts.sum():.0%})" for v, n in counts.head(3).items())
    text = f"'{c}' has {many(len(counts), 'value')}; the commonest {'is' if len(counts) == 1 else 'are'} {common}."
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
    captions.append(f"how the values of {many(len(shown), 'column')} are distributed")
"""

RELATIONS = r"""
from scipy.stats import chi2_contingency

chosen = numbers[:25]
ranks = df[chosen].corr(method="spearman", min_periods=10) if len(chosen) > 1 else pd.DataFrame()
pairs = [(a, b, ranks.loc[a, b]) for a, b in combinations(ranks.columns, 2) if pd.notna(ranks.loc[a, b])]
pairs.sort(key=lambda pair: -abs(pair[2]))
for i, (a, b, rho) in enumerate(pairs[:8]):
    both = int((df[a].notna() & df[b].notna()).sum())
    way = "rise together" if rho > 0 else "go opposite ways"
    text = f"'{a}' and '{b}' {way} (Spearman {rho:.2f}, {many(both, 'row')})."
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

GROUPS = r"""
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
    ends = [f"{show(level.iloc[end])} for '{str(level.index[end])[:40]}'" for end in (-1, 0)]
    text = f"'{row.number}' differs by '{row.group}': {middle} {ends[0]} against {ends[1]}"
    note("Group", f"{text} (Kruskal-Wallis, effect size {row.effect:.2f}, {many(row.rows, 'row')}).")
if not len(differences):
    note("Group", "there is no pair of a grouping and a numeric column to compare.")
elif not len(telling):
    note("Group", f"none of {many(len(differences), 'comparison')} of groups shows a difference that matters.")
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
        note("Trend", f"'{date}' spans {many(span, 'day')}, too few full {word}s for a trend.")
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
        note("Trend", f"{many(span, 'day')} {'is' if span == 1 else 'are'} too short to judge a season.")
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
far = []
for c in numbers[:30]:
    values = df[c].dropna().astype(float)
    mostly_zero = (values == 0).mean() > 0.5
    values = values[values != 0] if mostly_zero else values
    middle = values.median()
    spread = (values - middle).abs().median() * 1.4826 or (values.quantile(0.75) - values.quantile(0.25)) / 1.349
    if len(values) < 10 or not spread > 0:
        continue
    beyond = ((values - middle).abs() / spread).loc[lambda distance: distance > 5]
    if len(beyond):
        far.append((c, len(beyond), len(values), beyond.idxmax(), values[beyond.idxmax()], middle, mostly_zero))
far.sort(key=lambda item: -item[1] / item[2])
for c, n, total, row, value, middle, mostly_zero in far[:3]:
    far_off = f"{n:,} of {total:,} {'non-zero ' if mostly_zero else ''}values lie more than 5 robust deviations"
    farthest = f"the farthest is {show(value)} (row {row:,}, counted from 0)"
    note("Outlier", f"'{c}': {far_off} from the median {show(middle)}; {farthest}.")
outliers = pd.DataFrame(far, columns=["column", "outliers", "of", "row", "farthest", "median", "zeros left out"])
if numbers and not far:
    note("Outlier", "no value lies more than 5 robust deviations from its column's median.")
elif not numbers:
    note("Outlier", "there is no numeric column to look for outliers in.")
"""

FOCUS = r"""
findings.clear()
captions.clear()
if not set(paths) <= set(loaded):
    print("New files came: they are loaded first.")
asked = spoken(question)
words = set(re.findall(r"\w{4,}", asked))
named = [c for c in df.columns if len(c) > 1 and spoken(c) in asked]
words -= set(re.findall(r"\w{4,}", spoken(" ".join(named))))
loosely = [c for c in df.columns if c not in named and words & set(re.findall(r"\w{4,}", spoken(c)))]
named = [c for c in [*named, *loosely] if c in [*numbers, *groups, *dates]][:4]
if not named:
    named = [*groups[:2], *numbers[:1]]
    note("Assumption", "the question names no column that can be compared, so the main ones are shown.")
print("Looking at:", ", ".join(named))
described = []
for c in named:
    values = df[c].dropna()
    if c in numbers:
        low, half, high = map(show, values.quantile([0.25, 0.5, 0.75]))
        text = f"{many(len(values), 'value')}, mean {show(values.mean())}, median {half}, "
        text += f"the middle half {low} to {high}"
    elif c in dates:
        text = f"{many(len(values), 'date')}, {values.min():%Y-%m-%d} to {values.max():%Y-%m-%d}"
    else:
        counts = values.value_counts()
        page = counts.head(200).rename_axis("value").reset_index(name="rows")
        described.append(page.astype({"value": str}).assign(column=c))
        common = [f"'{str(v)[:40]}' {n:,} ({n / len(values):.1%})" for v, n in counts.head(5).items()]
        text = f"{many(len(counts), 'value')}; {', '.join(common)}"
    note("Column", f"'{c}': {text}.")
if not named:
    note("Column", "there is no column to look at.")
"""

RELATE = r"""
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
            ends = part.iloc[[0, -1]].itertuples()
            high, low = (f"'{row[0]}' ({show(row.mean)}, {many(row.count, 'row')})" for row in ends)
            note("Comparison", f"the mean of '{c}' by '{g}' is highest for {high} and lowest for {low}.")
        for n in [n for n in named if n in numbers and n > c]:
            rho = df[c].corr(df[n], method="spearman")
            note("Comparison", f"'{c}' and '{n}' have a Spearman correlation of {show(rho)}.")
    elif c in groups:
        drawn = drawn if drawn is not None else df[c].value_counts().head(12)
        for g in [g for g in named if g in groups and g > c]:
            table = pd.crosstab(df[c], df[g])
            (a, b), n = table.stack().idxmax(), int(table.to_numpy().max())
            note("Comparison", f"the commonest pair of '{c}' and '{g}' is '{a}' with '{b}' ({many(n, 'row')}).")
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

PAGES = r"""
def safe(value):
    '''Text that a spreadsheet neither refuses nor takes for a formula.'''
    if not isinstance(value, str):
        return value
    value = re.sub(r"[\x00-\x08\x0b-\x1f]", "", value)[:1000]
    return "'" + value if value.startswith(("=", "+", "@")) else value


def save(pages):
    '''Write the tables and the findings as sheets of one workbook.'''
    pages["findings"] = pd.DataFrame({"finding": list(dict.fromkeys(findings))})
    pages = {name: page.map(safe).rename(columns=safe) for name, page in pages.items() if len(page)}
    with pd.ExcelWriter(f"outputs/{stem}.xlsx", engine="openpyxl") as book:
        for name, page in pages.items():
            page.to_excel(book, sheet_name=name, index=False)
    note("File", f"`outputs/{stem}.xlsx` holds the tables {', '.join(pages)}.")
"""

WRITE = r"""
have = globals()
columns = pd.DataFrame({"type": df.dtypes.astype(str), "missing": df.isna().sum()}).rename_axis("column").reset_index()
columns["distinct"] = df.astype(str).nunique().to_list()
roles = {c: role for role in ("numbers", "groups", "dates") for c in have.get(role, [])}
columns["used as"] = [roles.get(c, have.get("aside", {}).get(c, "")) for c in df.columns]
pages = {"columns": columns, "missing": columns.loc[columns["missing"] > 0, ["column", "missing"]]}
if len(have.get("numbers", [])):
    pages["numbers"] = df[numbers[:500]].describe().T.reset_index(names="column")
if len(have.get("pairs", [])):
    pages["correlations"] = pd.DataFrame(pairs[:500], columns=["first", "second", "spearman"])
pages |= {name: have.get(name, pd.DataFrame()) for name in ("differences", "outliers")}
if len(have.get("per", [])):
    pages["trend"] = pd.DataFrame({"period": per.index.astype(str), "rows": per.to_numpy()})
save(pages)
"""

CLOSE = r"""
parts = {"values": described, "comparisons": compared}
save({name: pd.concat(part) for name, part in parts.items() if part})
"""

LIST = r"""
drawn_files = sorted(Path("figures").rglob("*.png"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])
new_files = [p.as_posix() for p in drawn_files if p.as_posix() not in globals().get("told", [])]
told = [p.as_posix() for p in drawn_files]
if len(new_files) == len(captions):
    findings += [f"Figure: `{path}` shows {caption}." for path, caption in zip(new_files, captions, strict=True)]
elif new_files:
    findings.append(f"Figure: `{'`, `'.join(new_files[:10])}`.")
print(f"Question: {question}\nFindings:")
lines, room = list(dict.fromkeys(findings)), 3300
for line in sorted(lines, key=lambda line: line.startswith(("Distribution", "Outlier"))):
    if len(line) + 3 <= room:
        print("-", line)
    room -= len(line) + 3
if room < 0:
    print("More findings were printed by earlier cells.")
"""
