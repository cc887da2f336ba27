"""Sessions of data analysts: frames with accessors, dtypes and windows of their own, half-read groups, styles, settings."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "notebook: groups and windows half read": session(
        """
        import pandas as pd, numpy as np
        from itertools import islice, chain, tee
        sales = pd.DataFrame({"shop": list("abcabcab"), "day": pd.date_range("2024-01-01", periods=8, freq="12h"), "amount": np.arange(8.0)})
        by_shop = sales.groupby("shop"); walk = iter(by_shop); first_key, first_frame = next(walk)
        daily = sales.set_index("day").resample("D"); days = iter(daily); next(days)
        """
        + "# %%\n"
        + """
        roll = sales["amount"].rolling(3, min_periods=1); windows = iter(roll); next(windows); next(windows)
        rows = sales.iterrows(); next(rows); tuples = sales.itertuples(index=False, name="Sale"); one = next(tuples)
        cols = sales.items(); next(cols); pairs = zip(sales["shop"], sales["amount"]); next(pairs)
        left, right = tee(v for v in sales["amount"].to_numpy()); next(left)
        pieces = chain.from_iterable(frame.itertuples() for _, frame in by_shop); next(pieces)
        top = islice(((k, g["amount"].max()) for k, g in by_shop), 1, None)
        """,
        """
        key, frame = next(walk) ;; key, frame["amount"].tolist(), frame.index.tolist()
        by_shop.obj is sales, first_frame["amount"].tolist(), by_shop.ngroups
        k, d = next(days) ;; str(k), d["amount"].tolist(), [str(x) for x, _ in days]
        next(windows).tolist(), [w.sum() for w in windows]
        sales.loc[1, "amount"] = 100.0 ;; next(rows)[1]["amount"], next(tuples).amount, type(one).__name__, one._fields
        next(cols)[0], next(pairs), list(cols)[0][1].tolist()
        next(left), next(right), next(left), next(right)
        next(pieces).amount, [p.amount for p in pieces]
        [(k, float(v)) for k, v in top]
        sales["new"] = 1 ;; [c for c in by_shop.obj.columns], list(walk)[0][1].columns.tolist()
        roll.obj is sales["amount"], roll.sum().tolist()
        """,
        named="walk days windows rows tuples cols pairs left right pieces top",
    ),
    "notebook: an accessor that remembers": session(
        """
        import pandas as pd, numpy as np, functools
        calls = []
        @pd.api.extensions.register_dataframe_accessor("qc")
        class Quality:
            def __init__(self, df):
                calls.append(len(df)); self._df = df; self.rules = {}; self.log = []
            def rule(self, name):
                def add(f):
                    self.rules[name] = f
                    return f
                return add
            def check(self):
                out = {n: bool(f(self._df)) for n, f in self.rules.items()}
                self.log.append(out)
                return out
            @functools.cached_property
            def profile(self): return self._df.describe()
        @pd.api.extensions.register_series_accessor("money")
        class Money:
            currency = "EUR"
            def __init__(self, s): self.s = s
            def fmt(self): return [f"{v:.2f} {self.currency}" for v in self.s]
        orders = pd.DataFrame({"id": [1, 2, 3], "total": [9.5, 20.0, 3.25]})
        qc = orders.qc
        """
        + "# %%\n"
        + """
        limit = 50
        @qc.rule("no big ones")
        def small(df): return (df["total"] < limit).all()
        @orders.qc.rule("ids unique")
        def unique(df): return df["id"].is_unique
        before = qc.check(); summary = qc.profile; total = orders["total"]; money = total.money
        Money.currency = "USD"
        """,
        """
        orders.qc is qc, len(calls), qc._df is orders, qc.profile is summary
        limit = 10 ;; orders.qc.check(), before, len(qc.log)
        qc.rules["no big ones"] is small, sorted(orders.qc.rules)
        orders.loc[0, "id"] = 2 ;; qc.check(), orders.qc.log is qc.log, qc.log[-1]
        money.fmt(), total.money is money, money.s is total
        Money.currency = "GBP" ;; money.fmt()[0], pd.Series([1.0]).money.fmt()
        copy = orders.copy() ;; copy.qc is qc, copy.qc.rules, len(calls)
        pd.DataFrame.qc is Quality, type(qc) is Quality, "qc" in pd.DataFrame._accessors
        """,
    ),
    "notebook: a frame class with metadata": session(
        """
        import pandas as pd, numpy as np
        class Survey(pd.DataFrame):
            _metadata = ["wave", "codebook", "history"]
            @property
            def _constructor(self): return Survey
            @property
            def _constructor_sliced(self): return Answer
            def __finalize__(self, other, method=None, **kw):
                super().__finalize__(other, method=method, **kw)
                if getattr(self, "history", None) is not None and method: self.history.append(method)
                return self
            def label(self, col): return self.codebook.get(col, col)
        class Answer(pd.Series):
            _metadata = ["question"]
            @property
            def _constructor(self): return Answer
            @property
            def _constructor_expanddim(self): return Survey
        codebook = {"q1": "Age", "q2": "Income"}
        raw = Survey({"q1": [20, 30, 40], "q2": [1.5, 2.5, np.nan]}); raw.wave = 3; raw.codebook = codebook; raw.history = []
        raw.attrs["source"] = {"file": "w3.sav", "tags": ["raw"]}
        """
        + "# %%\n"
        + """
        clean = raw.dropna(); young = raw[raw["q1"] < 35]; q2 = raw["q2"]; q2.question = "income?"
        strict = raw.set_flags(allows_duplicate_labels=False); strict.history = raw.history
        grouped = raw.groupby(raw["q1"] > 25); view = raw.loc[:, ["q2"]]
        """,
        """
        type(clean).__name__, clean.wave, clean.codebook is codebook, young.history is raw.history
        codebook["q1"] = "Age in years" ;; raw.label("q1"), clean.label("q1"), young.label("q1")
        n = len(raw.history); _ = raw.head(1); grew = len(raw.history) > n ;; grew, clean.history is raw.history
        type(q2).__name__, q2.question, type(q2.to_frame()).__name__, type(raw["q1"]).__name__
        strict.flags.allows_duplicate_labels, raw.flags.allows_duplicate_labels
        strict.reindex([0, 0])
        raw.attrs["source"]["tags"].append("x") ;; clean.attrs["source"]["tags"], raw.attrs["source"]["tags"]
        raw.loc[0, "q2"] = 99.0 ;; view["q2"].tolist(), q2.tolist(), young["q2"].tolist()
        type(grouped.mean()).__name__, grouped["q2"].sum().tolist(), grouped.obj is raw
        Survey.label = lambda self, c: "new " + c ;; raw.label("q1"), clean.label("q2")
        """,
    ),
    "notebook: an extension dtype and its array": session(
        """
        import pandas as pd, numpy as np
        from pandas.api.extensions import ExtensionDtype, ExtensionArray, register_extension_dtype, take
        @register_extension_dtype
        class DegreesType(ExtensionDtype):
            name = "degrees"; type = float; na_value = np.nan
            @classmethod
            def construct_array_type(cls): return Degrees
            @classmethod
            def construct_from_string(cls, s):
                if s == "degrees": return cls()
                raise TypeError(s)
        class Degrees(ExtensionArray):
            unit = "C"; made = 0
            def __init__(self, values): self._v = np.asarray(values, float); Degrees.made += 1
            @property
            def dtype(self): return DegreesType()
            @classmethod
            def _from_sequence(cls, scalars, *, dtype=None, copy=False): return cls(np.array(scalars, float))
            @classmethod
            def _from_factorized(cls, values, original): return cls(values)
            @classmethod
            def _concat_same_type(cls, xs): return cls(np.concatenate([x._v for x in xs]))
            def __getitem__(self, i): return float(self._v[i]) if isinstance(i, (int, np.integer)) else Degrees(self._v[i])
            def __setitem__(self, i, v): self._v[i] = v
            def __len__(self): return len(self._v)
            def __eq__(self, other): return self._v == (other._v if isinstance(other, Degrees) else other)
            def isna(self): return np.isnan(self._v)
            def take(self, idx, *, allow_fill=False, fill_value=None): return Degrees(take(self._v, idx, allow_fill=allow_fill, fill_value=np.nan))
            def copy(self): return Degrees(self._v.copy())
            @property
            def nbytes(self): return self._v.nbytes
            def _reduce(self, name, *, skipna=True, keepdims=False, **kw): return getattr(np, "nan" + name)(self._v)
            def _formatter(self, boxed=False): return lambda x: f"{x:.1f}°{self.unit}"
        """
        + "# %%\n"
        + """
        source = np.array([10.0, 20.5, np.nan, 31.25]); arr = Degrees(source); temps = pd.Series(arr, name="t", copy=False)
        weather = pd.DataFrame({"city": list("abab"), "t": temps}); hot = weather[weather["t"].array._v > 15]; made_before = Degrees.made
        Degrees.unit = "F"; dtype = weather["t"].dtype
        """,
        """
        Degrees.made == made_before, type(weather["t"].array) is Degrees, str(weather.dtypes["t"])
        source[0] = -5.0 ;; arr[0], temps[0], weather["t"][0]
        print(temps) ;; temps.to_string().splitlines()[0]
        pd.Series([1.0], dtype="degrees").array.unit, pd.api.types.pandas_dtype("degrees") == dtype
        weather["t"].mean(), weather.groupby("city")["t"].apply(lambda s: float(s.max())).tolist()
        Degrees.unit = "K" ;; hot.to_string().splitlines()[1], repr(arr).splitlines()[1]
        pd.concat([temps, temps]).dtype.name, pd.Series([1.5]).astype("degrees").array[0]
        arr[1] = 77.0 ;; source[1], temps.array is arr, temps.array._v is source
        weather["t"].isna().tolist(), weather.sort_values("city")["t"].iloc[-1]
        """,
    ),
    "notebook: styled frames with their functions": session(
        """
        import pandas as pd, numpy as np
        from pandas.io.formats.style import Styler
        pd.set_option("styler.format.precision", 1); pd.set_option("styler.render.max_elements", 500)
        palette = {"good": "green", "bad": "red"}; threshold = [0.5]; used = []
        kpi = pd.DataFrame({"rate": [0.25, 0.75, np.nan], "n": [10, 2000, 30]}, index=list("xyz"))
        def colour(v):
            used.append(v)
            return f"color: {palette['good'] if v > threshold[0] else palette['bad']}"
        class Report(Styler):
            footer = "confidential"
            def to_html(self, *a, **k): return super().to_html(*a, **k) + self.footer
        report = kpi.style.map(colour, subset=["rate"]).format({"n": lambda v: f"{v:,}"}, na_rep="–").set_uuid("u1").set_caption("KPIs")
        report2 = Report(kpi, uuid="u2").apply(lambda c: ["font-weight: bold" if v == c.max() else "" for v in c])
        """
        + "# %%\n"
        + """
        html_before = report.to_html(); shared = report.export(); other = (kpi * 2).style.use(shared).set_uuid("u3")
        tips = pd.DataFrame([["low", ""], ["", "many"]], columns=["rate", "n"], index=["x", "y"]); report.set_tooltips(tips)
        report.hide(axis="index", subset=["z"]); summary = kpi.agg(["sum"]).style; report.concat(summary)
        """,
        """
        len(used), report.data is kpi, other.data.loc["y", "n"]
        threshold[0] = 0.9 ;; "green" in report.to_html(), "green" in html_before
        palette["bad"] = "purple" ;; report.to_html().count("purple"), other.to_html().count("purple")
        Report.footer = "public" ;; report2.to_html().endswith("public"), type(report2).__name__
        "2,000" in report.to_html(), "4,000" in other.to_html(), "–" in report.to_html()
        kpi.loc["x", "rate"] = 0.99 ;; report.to_html().count("green"), report.data.loc["x", "rate"]
        pd.get_option("styler.format.precision"), kpi.style.set_uuid("q").format().to_html().count("0.75")
        "many" in report.to_html(), report.caption, len(report.concatenated), report.hidden_rows
        report.to_latex().count("&"), len(report._todo), report.export()["apply"][0][1][0] is colour if report.export()["apply"] else None
        """,
    ),
    "notebook: calendars, offsets and business time": session(
        """
        import pandas as pd, numpy as np, datetime as dt
        from pandas.tseries.holiday import AbstractHolidayCalendar, Holiday, nearest_workday, MO, get_calendar, holiday_calendars
        from pandas.tseries.offsets import CustomBusinessDay, CustomBusinessHour, DateOffset, MonthEnd
        class Plant(AbstractHolidayCalendar):
            rules = [Holiday("New Year", month=1, day=1, observance=nearest_workday), Holiday("Inventory", month=6, day=1, offset=DateOffset(weekday=MO(1)))]
        cal = Plant(); free = cal.holidays("2024-01-01", "2025-12-31"); day = CustomBusinessDay(calendar=cal); shift = CustomBusinessHour(start="06:00", end="14:00", weekmask="Mon Tue Wed Thu")
        plan = pd.Series(range(6), index=pd.date_range("2023-12-28", periods=6, freq=day))
        """
        + "# %%\n"
        + """
        extra = Holiday("Strike", year=2024, month=1, day=4); Plant.rules = Plant.rules + [extra]; AbstractHolidayCalendar.reset = None
        night = dt.timezone(dt.timedelta(hours=-3), "PLANT"); stamps = pd.date_range("2024-03-30", periods=4, freq="D", tz="Europe/Berlin"); fixed = stamps.tz_convert(night)
        period = pd.period_range("2024Q1", periods=3, freq="Q-NOV"); odd = pd.Timestamp("2024-10-27 02:30", tz="Europe/Berlin") if False else pd.Timestamp(year=2024, month=10, day=27, hour=2, minute=30, tz="Europe/Berlin", fold=1)
        month = MonthEnd(1); due = {pd.Timestamp("2024-02-29"): "tax", odd: "clock"}
        """,
        """
        plan.index.freq == day, plan.index.freq is day, plan.shift(1, freq=day).index[0].isoformat()
        get_calendar("Plant") is cal, holiday_calendars["Plant"] is Plant, [r.name for r in cal.rules]
        cal.holidays("2024-01-01", "2024-01-31").strftime("%m-%d").tolist(), len(free)
        (pd.Timestamp("2024-01-03") + day).isoformat(), (pd.Timestamp("2024-01-03 13:00") + shift * 3).isoformat()
        fixed.tz is night, fixed.tz.tzname(None), str(stamps.tz), stamps.freqstr, (stamps + month)[0].isoformat()
        odd.fold, odd.utcoffset().total_seconds(), due[odd], due[pd.Timestamp("2024-02-29")]
        period.freqstr, period[0].end_time.isoformat(), period.asfreq("M")[1].strftime("%Y-%m")
        Plant.rules.append(Holiday("Snow", month=2, day=1)) ;; [r.name for r in cal.rules][-1], len(cal.rules)
        cal.rules is Plant.rules, AbstractHolidayCalendar.reset, cal._cache is Plant._cache
        hasattr(Plant, "_cache"), day.calendar is plan.index.freq.calendar, day.holidays == plan.index.freq.holidays
        """,
    ),
    "notebook: windows with an indexer of one's own": session(
        """
        import pandas as pd, numpy as np
        from pandas.api.indexers import BaseIndexer, VariableOffsetWindowIndexer, FixedForwardWindowIndexer
        class Reset(BaseIndexer):
            def get_window_bounds(self, num_values=0, min_periods=None, center=None, closed=None, step=None):
                starts = np.zeros(num_values, np.int64); last = 0
                for i in range(num_values):
                    if self.marks[i]: last = i
                    starts[i] = last
                self.asked.append(num_values)
                return starts, np.arange(1, num_values + 1, dtype=np.int64)
        marks = np.array([1, 0, 0, 1, 0, 0], bool); asked = []
        indexer = Reset(marks=marks, asked=asked); s = pd.Series(np.arange(1.0, 7.0)); since = s.rolling(indexer, min_periods=1)
        fwd = s.rolling(FixedForwardWindowIndexer(window_size=2)); ew = s.ewm(halflife="2D", times=pd.date_range("2024", periods=6))
        """
        + "# %%\n"
        + """
        seen = []
        def spread(x):
            seen.append(len(x))
            return x.max() - x.min()
        results = {"since": since.sum(), "spread": since.apply(spread, raw=True)}; both = pd.DataFrame(results)
        exp = s.expanding(2); tri = s.rolling(3, win_type="triang"); per = pd.DataFrame({"g": [0, 0, 1, 1, 0, 1], "v": s}).groupby("g")["v"].rolling(2)
        """,
        """
        since.sum().tolist(), asked
        marks[1] = True ;; since.sum().tolist(), since.window is indexer, indexer.marks is marks
        since.apply(spread, raw=True).tolist(), len(seen), len(asked)
        s.iloc[0] = 100.0 ;; since.sum().tolist(), both["since"].tolist(), fwd.sum().tolist()
        ew.mean().round(4).tolist(), exp.mean().tolist(), tri.mean().round(3).tolist()
        per.sum().tolist(), per.obj.tolist(), [len(w) for w in since]
        since.obj is s, indexer.asked is asked, type(since).__name__
        indexer.marks = np.ones(6, bool) ;; since.sum().tolist(), marks.tolist()
        """,
    ),
    "notebook: what a frame takes from who calls it": session(
        """
        import pandas as pd, numpy as np, operator
        pd.set_option("display.max_rows", 7, "display.float_format", "{:.3f}".format); pd.set_option("mode.performance_warnings", False); pd.set_option("compute.use_numexpr", False)
        cut = 2; df = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, 0.25, 0.125, 1 / 3]})
        def over(frame): return frame.query("a > @cut")
        def scaled(frame, by="b"): return frame.assign(r=lambda d: d[by] * factor)
        factor = 10; steps = [over, scaled]; spread = lambda s: s.max() - s.min()
        def run(frame):
            for step in steps: frame = frame.pipe(step)
            return frame
        """
        + "# %%\n"
        + """
        ctx = pd.option_context("display.precision", 2, "display.max_columns", 3); ctx.__enter__()
        fmt = pd.get_option("display.float_format"); cols = {"ratio": lambda d: d["a"] / d["b"], "flag": lambda d: d["a"] > cut}
        wide = df.assign(**cols); agg = {"a": ["sum", lambda s: s.max() - s.min()], "b": ["mean", spread]}; text = df["a"].map("n{:02d}".format); strs = text.str; num = df.select_dtypes("number").plot
        """,
        """
        cut = 3 ;; run(df)["a"].tolist(), df.assign(**cols)["flag"].tolist(), wide["flag"].tolist()
        factor = 100; steps.append(lambda f: f.rename(columns=str.upper)) ;; run(df).columns.tolist(), run(df)["R"].round(2).tolist()
        pd.get_option("display.max_rows"), pd.get_option("display.precision"), pd.get_option("display.max_columns")
        df.to_string(), fmt(1 / 3), pd.get_option("display.float_format") is fmt
        ctx.__exit__(None, None, None) ;; pd.get_option("display.precision"), pd.get_option("display.max_columns")
        df.agg(agg).shape, df.groupby("a").agg(agg).columns.tolist()[1]
        strs.upper().tolist(), text.str.zfill(5).tolist(), strs._parent is text if hasattr(strs, "_parent") else None
        pd.get_option("mode.performance_warnings"), pd.get_option("compute.use_numexpr"), pd.options.display.max_rows
        steps[0] is over, run.__globals__ is globals(), over(df).shape
        num._parent.columns.tolist(), type(num).__name__
        pd.reset_option("display.float_format") ;; ctx is fmt, df.to_string().splitlines()[-1]
        """,
        named="ctx",
        known="""df.to_string(), fmt(1 / 3), pd.get_option("display.float_format") is fmt""",
    ),
    "notebook: indexes that share and remember": session(
        """
        import pandas as pd, numpy as np
        mi = pd.MultiIndex.from_product([["eu", "us"], [2023, 2024]], names=["region", "year"]); gdp = pd.Series([1.0, 2, 3, 4], index=mi); pop = pd.DataFrame({"n": [10, 20, 30, 40]}, index=mi)
        ages = pd.Series([3, 17, 35, 64, 80]); groups, bins = pd.cut(ages, [0, 18, 65, 120], labels=["child", "adult", "old"], retbins=True); raw_cut = pd.cut(ages, bins)
        iv = pd.IntervalIndex.from_breaks(bins, closed="left"); lookup = pd.Series(["c", "a", "o"], index=iv); ordered = groups.cat.as_ordered()
        """
        + "# %%\n"
        + """
        joined = pop.join(gdp.rename("gdp")); xs = joined.xs("eu"); levels = mi.levels; loc = joined.loc; slicer = pd.IndexSlice; codes = ordered.cat.codes
        mi.names = ["reg", "yr"]; nan = np.nan; holes = pd.Index([1.0, nan, 3.0]); where = {k: i for i, k in enumerate(holes)}; keys = list(where)
        factor_codes, uniques = pd.factorize(pd.Series(["x", None, "y", "x"])); dropped = ages.index; ages2 = ages.copy(deep=False)
        """,
        """
        gdp.index is mi, pop.index is mi, gdp.index.names, joined.index.names
        gdp.index is pop.index, gdp.index.is_(pop.index), joined.index.is_(mi)
        xs.loc[2023, "n"], loc[("us", 2024), "gdp"], joined.loc[slicer["eu", :], "n"].tolist()
        lookup[17.5], lookup.loc[[3, 80]].tolist(), raw_cut.cat.categories.closed, raw_cut.iloc[0].mid
        groups = groups.cat.rename_categories({"old": "senior"}) ;; groups.tolist(), ordered.tolist(), ordered.max(), (ordered > "child").sum()
        where[keys[1]], keys[1] is nan, nan in keys, where.get(nan)
        uniques.tolist(), factor_codes.tolist(), dropped is ages.index, ages2.index is ages.index
        ages.index.name = "person" ;; dropped.name, ages2.index.name
        ages2.iloc[0] = 4 ;; ages.tolist(), np.shares_memory(ages.to_numpy(), ages2.to_numpy())
        levels[0] is mi.levels[0], mi.levels[0].name, gdp.unstack("yr").columns.tolist(), codes.tolist()
        """,
    ),
    "notebook: readers of files half way": session(
        """
        import pandas as pd, io, csv, gzip, json, zipfile, os
        pd.DataFrame({"id": range(10), "v": [i * 1.5 for i in range(10)]}).to_csv("big.csv", index=False)
        with gzip.open("log.jsonl.gz", "wt") as f:
            for i in range(6): f.write(json.dumps({"i": i, "tag": "ab"[i % 2]}) + "\\n")
        chunks = pd.read_csv("big.csv", chunksize=3); head = next(chunks); lines = pd.read_json("log.jsonl.gz", lines=True, chunksize=2); l1 = next(iter(lines))
        fh = open("big.csv", newline=""); table = csv.DictReader(fh); r0 = next(table); r1 = next(table)
        """
        + "# %%\n"
        + """
        buf = io.StringIO(); out = csv.writer(buf, delimiter="|"); out.writerow(["a", "b"]); pos = buf.tell()
        with zipfile.ZipFile("pack.zip", "w") as z: z.write("big.csv"); z.writestr("note.txt", "hello\\nworld\\n")
        pack = zipfile.ZipFile("pack.zip"); member = pack.open("note.txt"); member.readline()
        app = open("audit.log", "a+"); app.write("start\\n"); app.flush(); gz = gzip.open("log.jsonl.gz", "rt"); first = gz.readline()
        it = pd.read_csv("big.csv", iterator=True, dtype={"id": "int16"}); got = it.get_chunk(4)
        def stream(reader):
            for n, c in enumerate(reader): yield n, c["v"].sum()
        sums = stream(pd.read_csv("big.csv", chunksize=4)); next(sums)
        """,
        """
        nxt = next(chunks) ;; nxt["id"].tolist(), nxt.index.tolist()
        [len(c) for c in chunks], head["id"].tolist()
        next(lines)["i"].tolist(), [len(x) for x in lines]
        next(table), table.line_num, table.fieldnames, fh.closed
        out.writerow([1, 2]) ;; buf.getvalue(), buf.tell() > pos
        member.read(), pack.namelist(), pack.read("note.txt")
        app.write("next\\n"); app.flush() ;; open("audit.log").read(), app.tell(), app.mode
        gz.readline(), json.loads(gz.readline())["i"]
        it.get_chunk(2).dtypes["id"].name, it.read().shape
        next(sums), list(sums)
        fh.seek(0); table2 = csv.reader(fh) ;; next(table2), sorted(os.listdir("."))
        """,
        named="chunks lines table gz it sums",
    ),
}
