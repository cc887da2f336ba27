"""Databases, files and open handles."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "settings of duckdb": session(
        """
        import duckdb
        con = duckdb.connect()
        con.execute("set TimeZone = 'America/New_York'"); con.execute("set default_order = 'DESC'"); con.execute("set default_null_order = 'NULLS FIRST'")
        con.execute("create table t as select * from (values (1, timestamptz '2024-01-01 02:00:00+00'), (2, null)) v(a, ts)")
        duckdb.sql("set TimeZone = 'Asia/Tokyo'")
        cur = con.cursor()
        filed = duckdb.connect("f.duckdb"); filed.execute("create table z as select 1 a"); filed.execute("set default_order='DESC'")
        """,
        """
        con.execute("select ts::date from t where a = 1").fetchone()
        con.execute("select a from t order by a").fetchall()
        con.execute("select ts::varchar from t order by ts").fetchall()
        duckdb.sql("select current_setting('TimeZone')").fetchone()
        cur.execute("select current_setting('default_order')").fetchone()
        filed.execute("select current_setting('default_order')").fetchone()
        con.execute("insert into t values (3, null)") ;; cur.execute("select count(*) from t").fetchone()
        """,
    ),
    "what a duckdb has": session(
        """
        import duckdb, pandas as pd
        df = pd.DataFrame({"x": [1, 2, 3]})
        con = duckdb.connect()
        con.execute("create schema s; create table s.t (id integer primary key, v varchar default 'd', check (id > 0)); insert into s.t (id) values (1), (2)")
        con.execute("create view w as select id * 2 as d from s.t")
        con.execute("create index i on s.t (v)")
        con.execute("create table wide as select {'a': 1, 'b': [1, 2]} st, map {'k': 1} m, 1.5::decimal(9, 3) d, 'x'::blob b, interval 3 days iv, uuid() u")
        wide = con.execute("select * from wide").fetchall()
        rel = con.sql("select 1 as one")
        """,
        """
        con.execute("select * from s.t order by id").fetchall()
        con.execute("select * from w order by d").fetchall()
        con.execute("insert into s.t values (0, 'x')")
        con.execute("insert into s.t values (1, 'x')")
        con.execute("select * from wide").fetchall() == wide
        con.execute("select column_type from (describe wide)").fetchall()
        con.sql("select sum(x) from df").fetchone()
        """,
    ),
    "frames registered with duckdb": session(
        """
        import duckdb, pandas as pd
        con = duckdb.connect(); df = pd.DataFrame({"x": [1, 2]}); con.register("seen", df)
        con.execute("create table t as select 5 a")
        """,
        """
        con.execute("select sum(x) from seen").fetchone()
        con.execute("select * from t").fetchall()
        """,
        named="seen",
    ),
    "pragmas of sqlite": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.execute("pragma foreign_keys = on"); con.execute("pragma recursive_triggers = on")
        con.executescript("create table p (id integer primary key); create table c (p integer references p (id)); insert into p values (1)")
        con.execute("pragma busy_timeout = 1234"); con.execute("pragma user_version = 7"); con.execute("pragma cache_size = -5000"); con.execute("pragma case_sensitive_like = on")
        con.row_factory = sqlite3.Row; con.commit()
        filed = sqlite3.connect("f.db"); filed.execute("pragma foreign_keys = on"); filed.executescript("create table p (id integer primary key); create table c (p integer references p (id))"); filed.commit()
        """,
        """
        con.execute("insert into c values (9)")
        con.execute("pragma foreign_keys").fetchone()[0], con.execute("pragma recursive_triggers").fetchone()[0]
        con.execute("pragma busy_timeout").fetchone()[0]
        con.execute("pragma user_version").fetchone()[0]
        con.execute("select id from p").fetchone()["id"]
        filed.execute("insert into c values (9)")
        con.execute("pragma cache_size").fetchone()[0]
        """,
    ),
    "functions of sqlite": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.create_function("twice", 1, lambda x: x * 2); con.create_collation("rev", lambda a, b: (a < b) - (a > b))
        con.execute("create table t (a)"); con.executemany("insert into t values (?)", [("x",), ("y",)]); con.commit()
        plain = sqlite3.connect(":memory:"); plain.execute("create table q (b)"); plain.commit()
        """,
        """
        con.execute("select twice(a) from t").fetchall()
        con.execute("select a from t order by a collate rev").fetchall()
        plain.execute("select count(*) from q").fetchone()
        """,
    ),
    "what sqlite was taught, and who listens to it": session(
        """
        import sqlite3, re, math, json
        calls, heard = [], []
        def clean(text): calls.append(text); return text.strip().lower()
        def is_like(pattern, text): return bool(re.search(pattern, text or ""))
        class Spread:
            made = 0
            def __init__(self): Spread.made += 1; self.values = []
            def step(self, value, weight=1): self.values.append(value * weight)
            def finalize(self): return max(self.values) - min(self.values)
        class Total(Spread):
            def value(self): return sum(self.values)
            def inverse(self, value): self.values.remove(value)
            def finalize(self): return sum(self.values)
        class Tools:
            @staticmethod
            def half(x): return x / 2
        factor = 3
        # %%
        def connect(path=":memory:", *, scale=10):
            made = sqlite3.connect(path)
            made.create_function("CLEAN", 1, clean)
            made.create_function("regexp", 2, is_like, deterministic=True)
            made.create_function("scaled", 1, lambda x: x * scale)
            made.create_function("tripled", narg=-1, func=lambda *x: sum(x) * factor)
            made.create_aggregate("spread", 1, Spread); made.create_aggregate("spread", 2, Spread)
            made.create_function("half", 1, Tools.half); made.create_function("root", 1, math.sqrt); made.create_function("upper", 1, len)
            made.create_function("low", 1, str.lower)
            return made
        con = connect(); other = sqlite3.connect("kept.db"); other.create_function("root", 1, math.sqrt)
        con.create_window_function("total", 1, Total)
        con.create_collation("by_length", lambda a, b: (len(a) > len(b)) - (len(a) < len(b)))
        con.executescript("create table t(a text, n int); insert into t values (' Bb ', 1), ('a', 2), ('ccc', 4);")
        # %%
        def allow(action, first, second, database, trigger):
            heard.append(("asked", action)); return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_DROP_TABLE else sqlite3.SQLITE_OK
        con.set_authorizer(allow); con.set_trace_callback(heard.append)
        def later(x): return "first"
        con.create_function("later", 1, later)
        # %%
        def later(x): return "second"
        twice = sqlite3.connect(":memory:"); twice.create_function("same", 1, lambda x: x)
        more = sqlite3.connect(":memory:"); more.create_function("same", 1, lambda x: -x)
        """,
        """
        len(heard), heard[:3]
        con.execute("select clean(a) from t").fetchall(), calls
        con.execute("select a from t where a regexp 'b|c'").fetchall(), con.execute("select tripled(1, 2), tripled(n) from t").fetchall()
        factor = 5 ;; con.execute("select tripled(1)").fetchone()
        con.execute("select spread(n), spread(n, 2) from t").fetchone(), Spread.made
        con.execute("select root(n), upper(a), low(a) from t").fetchall(), other.execute("select root(4)").fetchone()
        con.execute("select total(n) over (order by n rows 1 preceding) from t").fetchall()
        con.execute("select a from t order by a collate by_length").fetchall()
        con.execute("drop table t")
        heard[-1], len(heard)
        con.execute("select flags & 2048 from pragma_function_list where name = 'regexp'").fetchall()
        con.set_authorizer(None); con.set_trace_callback(None); n = len(heard); con.execute("drop table t") ;; len(heard) - n
        con.execute("select scaled(2)").fetchone(); con.execute("select half(1)").fetchone()
        con.execute("select later(1)").fetchone()
        twice.execute("select same(2)").fetchone(), more.execute("select same(2)").fetchone()
        """,
        named="scaled half later same",
    ),
    "functions of sqlite of which the code does not tell": session(
        """
        import sqlite3
        def a(x): return x * 2
        def b(x): return x * 100
        c1, c2, c3, c4, c5, c6 = (sqlite3.connect(":memory:") for _ in range(6))
        for con, fn in [(c1, a), (c2, b)]: con.create_function("looped", 1, fn)
        k = 1000
        [c.create_function("listed", 1, lambda x: x * k) for c, k in [(c3, 2)]]
        def never(con): con.create_function("never", 1, a)
        def setup(k):
            global cur
            cur = lambda x: x * k
        setup(2); c4.create_function("set", 1, cur); setup(5)
        # %%
        made = c5; fn = [a, b][len(str(made)) % 1]; made.create_function("again", 1, fn)
        # %%
        made = c6; fn = b; made.create_function("again", 1, fn)
        """,
        """
        c1.execute("select looped(3)").fetchone(), c2.execute("select looped(3)").fetchone()
        c3.execute("select listed(5)").fetchone()
        c4.execute("select set(5)").fetchone()
        c5.execute("select again(5)").fetchone(), c6.execute("select again(5)").fetchone()
        """,
        named="looped listed set again",
    ),
    "functions of sqlite where a name is not written": session(
        """
        import sqlite3, tempfile
        one, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
        one.create_function("norm", 1, str.lower)
        for name, function in {"norm": str.upper}.items(): one.create_function(name, 1, function)
        log = tempfile.NamedTemporaryFile("w+"); other.execute("create table t (x)"); other.execute("insert into t values (4)"); other.commit()
        other.set_trace_callback(log.write)
        ticks = []; one.set_progress_handler(lambda: ticks.append(1) and 0, 100000)
        """,
        """
        one.execute("select norm('Ab')").fetchone()
        other.execute("select x from t").fetchone()
        """,
        named="norm callbacks log",
    ),
    "a query of sqlite that goes on in a thread, with who listens": session(
        """
        import sqlite3, threading, time
        con = sqlite3.connect(":memory:", check_same_thread=False); ended = []
        con.set_progress_handler(lambda: 0, 1000); con.set_trace_callback(str.upper)
        query = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) select sum(i) from n"
        threading.Thread(target=lambda: ended.append(con.execute(query).fetchall()), daemon=True).start(); time.sleep(0.2)
        """,
        """
        1 + 1
        """,
        named="callbacks con lambda",
    ),
    "files outside of the workspace": session(
        """
        import tempfile, os, pathlib
        made = tempfile.mkdtemp(); pathlib.Path(made, "a.txt").write_text("kept"); os.makedirs(made + "/deep"); pathlib.Path(made, "deep/b.bin").write_bytes(b"x" * 5000)
        home = pathlib.Path.home() / "notes.txt"; home.write_text("home")
        os.makedirs(pathlib.Path.home() / ".config/tool", exist_ok=True); (pathlib.Path.home() / ".config/tool/c.json").write_text("{}")
        fd, name = tempfile.mkstemp(suffix=".csv"); os.write(fd, b"a,b"); os.close(fd)
        open_there = open(name)
        pathlib.Path(tempfile.gettempdir(), "link").symlink_to(made)
        """,
        """
        sorted(os.listdir(made))
        pathlib.Path(made, "a.txt").read_text(), len(pathlib.Path(made, "deep/b.bin").read_bytes())
        home.read_text()
        (pathlib.Path.home() / ".config/tool/c.json").read_text()
        open(name).read()
        open_there.read()
        os.path.samefile(pathlib.Path(tempfile.gettempdir(), "link"), made)
        """,
    ),
    "temporary files": session(
        """
        import tempfile, os
        folder = tempfile.TemporaryDirectory(); open(os.path.join(folder.name, "x"), "w").write("in it")
        named = tempfile.NamedTemporaryFile("w+"); named.write("some"); named.flush()
        spooled = tempfile.SpooledTemporaryFile(max_size=100); spooled.write(b"abc")
        """,
        """
        os.listdir(folder.name)
        named.seek(0) ;; named.read()
        spooled.seek(0) ;; spooled.read()
        """,
        named="folder named spooled",
    ),
    "odd files of the workspace": session(
        """
        import os, stat
        open("a.txt", "w").write("one"); os.link("a.txt", "b.txt")
        os.symlink("a.txt", "sym"); os.makedirs("locked"); open("locked/in.txt", "w").write("x"); os.chmod("locked/in.txt", 0o400)
        open("exe.sh", "w").write("#!/bin/sh\\necho hi"); os.chmod("exe.sh", 0o755)
        os.makedirs("empty/dir"); open("sp ace é.txt", "w").write("u"); open(".hidden", "w").write("h")
        os.utime("a.txt", (1000, 1000)); open("zero", "w").close()
        with open("holes", "wb") as f: f.truncate(1 << 20)
        """,
        """
        open("b.txt").read(), os.readlink("sym")
        open("a.txt", "w").write("TWO") ;; open("b.txt").read()
        oct(os.stat("locked/in.txt").st_mode & 0o777), oct(os.stat("exe.sh").st_mode & 0o777)
        sorted(os.listdir("."))
        os.stat("sym").st_mtime != 5
        os.path.getsize("holes"), os.path.getsize("zero")
        os.path.isdir("empty/dir"), open("sp ace é.txt").read(), open(".hidden").read()
        os.stat("exe.sh").st_nlink, os.stat("b.txt").st_nlink
        """,
    ),
    "open files and streams": session(
        """
        import io, csv, gzip, zipfile, mmap
        open("lines.txt", "w").write("a\\nb\\nc\\nd\\n")
        rd = open("lines.txt"); rd.readline()
        wr = open("out.txt", "w"); wr.write("begun ")
        ap = open("lines.txt", "a+"); bn = open("lines.txt", "rb"); bn.seek(3)
        closed = open("lines.txt"); closed.close()
        sio = io.StringIO("x\\ny"); sio.readline(); bio = io.BytesIO(b"abc"); bio.seek(1)
        wcsv = csv.writer(wr)
        with zipfile.ZipFile("z.zip", "w") as z: z.writestr("in.txt", "zipped")
        zf = zipfile.ZipFile("z.zip")
        with gzip.open("g.gz", "wt") as g: g.write("l1\\nl2\\n")
        gz = gzip.open("g.gz", "rt"); gz.readline()
        mm = mmap.mmap(-1, 10); mm[:3] = b"abc"
        """,
        """
        rd.readline(), rd.name
        wr.write("on"); wr.flush() ;; open("out.txt").read()
        bn.read(2), closed.closed
        ap.write("e\\n"); ap.flush() ;; open("lines.txt").read()[-2:]
        sio.read(), bio.read()
        zf.read("in.txt")
        gz.read()
        mm[:3]
        """,
        named="wcsv zf gz mm",
    ),
    "sqlalchemy and pooled engines": session(
        """
        import sqlite3, contextlib
        db = sqlite3.connect("shop.db"); db.execute("create table t (a, b)"); db.executemany("insert into t values (?, ?)", [(1, 2), (3, 4)]); db.commit()
        cur = db.execute("select * from t"); cur.fetchone()
        attached = sqlite3.connect(":memory:"); attached.execute("attach 'shop.db' as other")
        text = sqlite3.connect(":memory:"); text.text_factory = bytes
        """,
        """
        db.execute("select sum(a) from t").fetchone()
        cur.fetchone()
        attached.execute("select count(*) from other.t").fetchone()
        text.execute("select 'x'").fetchone()
        """,
        named="attached",
    ),
    "a duckdb connection whose settings are locked": session(
        """
        import duckdb
        con = duckdb.connect()
        con.execute("set threads = 1"); con.execute("set TimeZone = 'America/New_York'")
        con.execute("set lock_configuration = true")
        """,
        """
        con.execute("select current_setting('TimeZone'), current_setting('threads')").fetchall()
        con.execute("set threads = 2")
        """,
    ),
    "files and folders that nobody may read": session(
        """
        import os, tempfile
        for folder in (".", tempfile.gettempdir()):
            os.makedirs(folder + "/locked/in"); open(folder + "/locked/in/f", "w").close()
            open(folder + "/secret", "w").close()
            os.chmod(folder + "/secret", 0); os.chmod(folder + "/locked", 0)
        """,
        """
        os.chmod("locked", 0o700) ;; os.listdir("locked/in")
        os.path.exists("secret")
        sorted(name for name in os.listdir(".") if name != "secret")
        """,
        named="locked secret",
    ),
}
