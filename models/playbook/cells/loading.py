"""Cells that bring a table in: loading, cleaning, and saying which columns hold what."""

MANY = r'''
def many(n, noun):
    """A count with its noun, which becomes a plural by an s."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
'''
"""A function that sessions of earlier versions do not have."""

HELPERS = (
    MANY
    + r'''

def note(topic, text):
    """Print a finding and remember it."""
    findings.append(f"{topic}: {' '.join(str(text).split())}")
    print("-", findings[-1])


def show(x):
    """A number as people write it."""
    if x != x or abs(x) == float("inf"):
        return "n/a"
    return f"{x:,.0f}" if abs(x) >= 1000 or x == int(x) else f"{x:.3g}"


def label(name, width=28):
    """A name as a plot can show it."""
    name = str(name)
    return (name if len(name) <= width else name[: width - 1] + "…").replace("$", r"\$")
'''
)
"""In front of whatever loads first: functions that the later cells use, too."""

TOLERANT_READ = '''
def attempt(read, path, delimited):
    """The table, read as told or else in the ways that usually help; None when nothing helps."""
    ways = [read]
    for encoding in ["utf-8", "gb18030", "cp1252"] if delimited else []:
        ways.append(lambda e=encoding: pd.read_csv(path, sep=None, engine="python", encoding=e, on_bad_lines="skip"))
    for number, way in enumerate(ways):
        try:
            table = way()
        except Exception as problem:
            print(f"{path}: {type(problem).__name__}: {str(problem)[:120]}")
            continue
        if number:
            note("Assumption", f"{path} was read with other settings than its profile says; broken lines are left out.")
        return table
    note("Skipped", f"{path} could not be read as a table.")
    return None
'''

SPOKEN = r"""
def spoken(name):
    'A name as people say it: "Customer ", "customer" and "CUSTOMER" are one, and so are "order_id" and "OrderId".'
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).casefold()
    return " ".join(re.split(r"[\s_-]+", words)).strip()
"""
"""In front of cells that compare the names of columns."""

LOAD = r"""
def keys(column):
    'The values of a column as text: a number that became a fraction because some are missing is the same key.'
    return set(column.dropna().astype(str).str.strip().str.removesuffix(".0"))


tables = {name: pd.DataFrame(table).reset_index(drop=True) for name, table in tables.items() if table is not None}
for table in tables.values():
    names = pd.Series([" ".join(str(c).split()) or "unnamed" for c in table.columns], dtype=str)
    nth = names.groupby(names).cumcount() + 1
    table.columns = [name if n == 1 else f"{name} ({n})" for name, n in zip(names, nth, strict=True)]
main = max(tables, key=lambda name: tables[name].size, default="")
df = tables[main] if main else pd.DataFrame()
if main:
    note("Data", f"{main} has {many(len(df), 'row')} and {many(df.shape[1], 'column')}.")
print(df.dtypes.astype(str).head(40).to_string())
print(df.iloc[:3, :12].to_string(max_colwidth=40))
for name, table in [(name, table) for name, table in tables.items() if name != main]:
    best, there, share, alike = "", "", 0.0, {}
    for other in table.columns:
        alike.setdefault(spoken(other), []).append(other)
    for c, other in [(c, other) for c in df.columns for other in alike.get(spoken(c), [])]:
        theirs, ours = keys(table[other]), keys(df[c])
        key = len(theirs) == len(table) or len(ours) == len(df)
        if key and theirs and ours and len(theirs & ours) / min(len(theirs), len(ours)) > max(share, 0.5):
            best, there, share = c, other, len(theirs & ours) / min(len(theirs), len(ours))
    named = f"'{best}'" if best == there else f"'{best}', which is '{there}' there"
    joins = f"it could be joined on {named} ({share:.0%} of the keys match)" if best else "no shared key"
    size = f"{many(len(table), 'row')} and {many(table.shape[1], 'column')}"
    note("Data", f"{name}, described only, has {size}; {joins}.")
if df.empty:
    note("Data", "The table has no rows." if main else "No table could be read.")
    print("Nothing more to analyse.")
"""

CLEAN = r"""
df.replace([float("inf"), float("-inf")], float("nan"), inplace=True)
raw = raw.set_axis(df.columns, axis=1) if raw is not None and raw.shape == df.shape else None
text_columns = [c for c in df.columns if df[c].dtype == object or pd.api.types.is_string_dtype(df[c].dtype)]
maybe_dates = []
for c in text_columns:
    df[c] = df[c].map(lambda value: str(value).strip() or None, na_action="ignore")
    if raw is not None and df[c].isna().any():
        none = raw[c].where(df[c].isna()).str.strip() == "None"
        if none.any():
            df[c] = df[c].astype(object).mask(none, "None")
            rows = many(none.sum(), "row")
            note("Assumption", f"'None' in '{c}' is kept as a value of its own, not as missing ({rows}).")
    values = df[c].dropna().astype(str)
    if values.empty:
        continue
    plain = values.str.split().str.join(" ").str.casefold()
    if plain.nunique() < values.nunique() and plain.nunique() <= len(values) / 2 and plain.str.len().min() > 2:
        often = values.groupby([plain.rename("plain"), values.rename("spelling")], sort=False).size()
        often = often.sort_values(ascending=False, kind="stable").reset_index()
        usual = often.drop_duplicates("plain").set_index("plain")["spelling"]
        other = values[values != plain.map(usual)]
        df[c] = plain.map(usual).reindex(df.index)
        such = f"{other.iloc[0][:30]!r} as {usual[plain[other.index[0]]][:30]!r}"
        note("Assumption", f"values of '{c}' that differ in case or spaces alone count as one, such as {such}.")
        values = df[c].dropna().astype(str)
    bare = values.str.replace(r"[\s,$€£¥%]", "", regex=True)
    if values.str.fullmatch(r"-?\d+,\d{1,2}").mean() > 0.9:
        bare = values.str.replace(",", ".")
    parsed = pd.to_numeric(bare, errors="coerce")
    if parsed.notna().mean() >= 0.95 and not values.str.fullmatch(r"0\d+").any():
        df[c] = parsed.reindex(df.index)
        lost = many(parsed.isna().sum(), "value")
        note("Quality", f"'{c}' was text and became numbers; {lost} could not be read as such.")
        continue
    head = values.sample(min(len(values), 100), random_state=0)
    head = head.str.replace(r"[年月]", "-", regex=True).str.replace("日", "")
    dated = head.str.contains(r"\d") & head.str.contains(r"[-/.]|[A-Za-z]{3}") & head.str.len().between(6, 40)
    if dated.mean() > 0.8:
        guess = pd.to_datetime(head.str[:40], errors="coerce", format="mixed", utc=True)
        if guess.dt.year.between(1600, 2200).mean() >= 0.8:
            maybe_dates.append(c)
raw = None
"""
"""Text is trimmed; text that is numbers becomes numbers; what may be dates is listed."""

STRICT_DATES = r"""
read = {c: pd.to_datetime(df[c].str.replace(r"[年月]", "-", regex=True).str.replace("日", "")) for c in maybe_dates}
for c in maybe_dates:  # nothing is said of what could not be read so
    if df[c].str.fullmatch(r"\d{1,2}[/.]\d{1,2}[/.]\d{4}.*", na=False).any():
        first = df[c].dropna().iloc[0][:20]
        note("Assumption", f"in '{c}' day and month are read as the first value suggests ({first}).")
    df[c] = read[c]
    note("Quality", f"'{c}' was text and became dates, {df[c].min():%Y-%m-%d} to {df[c].max():%Y-%m-%d}.")
"""

TOLERANT_DATES = r"""
for c in maybe_dates:
    written = df[c].astype(str).where(df[c].notna()).str.replace(r"[年月]", "-", regex=True).str.replace("日", "")
    slashed = written.str.extract(r"^\s*(\d{1,2})[/.-](\d{1,2})[/.-]\d{2,4}").astype(float)
    day_first = bool((slashed[0] > 12).sum() > (slashed[1] > 12).sum())
    year_first = written.str.match(r"\s*\d{4}\D", na=False)
    given = [(written.where(year_first), False), (written.mask(year_first), day_first)]
    read = [pd.to_datetime(w, errors="coerce", format="mixed", dayfirst=d, utc=True) for w, d in given]
    df[c] = read[0].fillna(read[1])
    if not written.str.contains(r"\d[+-]\d\d:?\d\d$|Z$", na=False).any():
        df[c] = df[c].dt.tz_localize(None)
    lost = written[df[c].isna() & written.notna()]
    such = f" (such as {lost.iloc[0][:30]!r})" if len(lost) else ""
    dates = f"{df[c].min():%Y-%m-%d} to {df[c].max():%Y-%m-%d}"
    lost = f"{many(len(lost), 'value')} could not be read and {'counts' if len(lost) == 1 else 'count'} as missing"
    note("Quality", f"'{c}' became dates, {dates}; {lost}{such}.")
    if slashed[0].notna().any():
        note("Assumption", f"in '{c}' the {'day' if day_first else 'month'} is taken to come first.")
"""

QUALITY = r"""
missing = df.isna().sum().sort_values(ascending=False)
missing = missing[missing > 0]
worst = ", ".join(f"'{c}' {n:,} ({n / len(df):.1%})" for c, n in missing.head(3).items())
worst = f", most of all {worst}" if worst else ""
have, again = "has" if len(missing) == 1 else "have", df.duplicated().sum()
note("Quality", f"{len(missing):,} of {many(df.shape[1], 'column')} {have} missing values{worst}.")
repeat = "repeats" if again == 1 else "repeat"
note("Quality", f"{many(again, 'row')} {repeat} an earlier row exactly; such rows are counted, not removed.")
numbers, groups, dates, aside = [], [], [], {}
for c in df.columns:
    kind = df[c].dtype
    if isinstance(kind, pd.DatetimeTZDtype):
        df[c] = df[c].dt.tz_convert("UTC").dt.tz_localize(None)
        note("Assumption", f"times in '{c}' are taken as UTC.")
    elif pd.api.types.is_timedelta64_dtype(kind):
        df[c] = df[c].dt.total_seconds()
    elif pd.api.types.is_extension_array_dtype(kind) and pd.api.types.is_numeric_dtype(kind) and kind != "boolean":
        df[c] = df[c].astype("float64")
    values = df[c].dropna()
    distinct = values.nunique()
    if distinct < 2:
        aside[c] = "empty" if values.empty else "a single value"
    elif pd.api.types.is_datetime64_any_dtype(df[c]):
        dates.append(c)
    elif not pd.api.types.is_numeric_dtype(df[c]) or pd.api.types.is_bool_dtype(df[c]):
        if distinct > 20 and distinct > len(values) / 2:
            aside[c] = "an identifier or free text"
        else:
            groups.append(c)
    else:
        whole = bool((values % 1 == 0).all())
        steady = values.is_monotonic_increasing or c.casefold().endswith(("id", "number", "key", "号"))
        if whole and distinct == len(values) > 20 and steady:
            aside[c] = "an identifier"
        elif whole and distinct <= 10 and len(values) >= 5 * distinct:
            groups.append(c)
        else:
            numbers.append(c)
groups.sort(key=lambda c: (df[c].nunique() > 12, df[c].nunique() if df[c].nunique() > 12 else 0))
numbers.sort(key=lambda c: (df[c].eq(0).mean() > 0.5, round(df[c].isna().mean(), 1)))
print(f"{len(numbers):,} numeric, {len(groups):,} grouping, {len(dates):,} date columns.")
if aside:
    print("Left aside:", ", ".join(f"'{c}' ({why})" for c, why in list(aside.items())[:8]))
if not (numbers or groups or dates):
    note("Data", "no column holds values that could be compared.")
    print("Nothing more to analyse.")
"""
"""Which columns hold what; grouping columns with few values come first, numbers that are mostly zero last."""

UNSORTED = """
if "numbers" not in globals():
    numbers, groups, dates = [c for c in df.columns if pd.api.types.is_numeric_dtype(df[c])], [], []
"""
"""In front of later cells when the columns could not be sorted."""
