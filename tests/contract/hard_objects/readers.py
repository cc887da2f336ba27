"""What is read half way, and what looks into something else: compressed files, rules of dates, pixels, tables."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import HardSession, session

SESSIONS: dict[str, HardSession] = {
    "compressed files that are read half way": session(
        """
        import gzip, bz2, lzma, zipfile, io, tarfile
        text = "".join(f"line {i} äö\\n" for i in range(3000))
        gzip.open("a.gz", "wt").write(text); gzip.open("a.gz", "wt").write(text); bz2.open("a.bz2", "wt").write(text); lzma.open("a.xz", "wt").write(text)
        with zipfile.ZipFile("a.zip", "w") as z: z.writestr("a.txt", text)
        g = gzip.open("a.gz", "rb"); g0 = g.readline(); b = bz2.open("a.bz2", "rb"); b0 = b.readline(); x = lzma.open("a.xz", "rb"); x0 = x.readline()
        zf = zipfile.ZipFile("a.zip"); ze = zf.open("a.txt"); ze0 = ze.readline()
        """,
        """
        g.readline(), g.tell(), g0
        b.readline(), b.tell(), b0
        x.readline(), x.tell(), x0
        ze.readline(), ze.tell(), ze0
        """,
    ),
    "compressed files that are closed": session(
        """
        import gzip, bz2, lzma
        with gzip.open("a.gz", "wb") as g: g.write(b"abc")
        with gzip.open("a.gz") as h: data = h.read()
        with bz2.open("a.bz2", "wb") as b: b.write(b"abc")
        with lzma.open("a.xz", "wt") as x: x.write("abc")
        with gzip.open("a.gz", "rt") as t: text = t.read()
        """,
        """
        g.closed, g.name, g.mode, h.closed, h.name, h.mode, data
        b.closed, x.closed, t.closed, text
        h.read()
        """,
    ),
    "text through compressed files, archives and bytes, read half way": session(
        """
        import gzip, bz2, lzma, zipfile, io, csv
        import random; random.seed(1)
        text = "".join(f"line {i} äö {random.random()}\\n" for i in range(30000))
        for m in (gzip, bz2, lzma):
            with m.open("a." + m.__name__, "wt") as f: f.write(text)
        with zipfile.ZipFile("a.zip", "w") as z: z.writestr("a.txt", text)
        g = gzip.open("a.gzip", "rt"); g0 = next(g); b = bz2.open("a.bz2", "rt", encoding="utf-8"); b0 = b.readline(); x = lzma.open("a.lzma", "rt"); x0 = x.read(2000)
        zf = zipfile.ZipFile("a.zip"); ze = io.TextIOWrapper(zf.open("a.txt"), "utf-8", newline=""); ze0 = next(ze)
        buf = io.BytesIO(text.encode("latin-1")); t = io.TextIOWrapper(buf, "latin-1"); t0 = t.readline()
        out = io.BytesIO(); w = io.TextIOWrapper(out, "utf-8", write_through=True, newline="\\r\\n"); w.write("ab\\n")
        pend = io.BytesIO(); pw = io.TextIOWrapper(pend, "utf-8"); pw.write("ab")
        """,
        """
        g.readline(), next(g), g0
        b.readline(), b.tell(), b0
        x.readline(), x.readline(), len(x0)
        ze.readline(), next(ze), ze0
        buf.tell(), t.readline(), t.encoding, t0, t.buffer is buf, t.tell()
        w.write("c\\n"), out.getvalue(), w.buffer is out
        pend.getvalue(), pw.flush(), pend.getvalue()
        """,
        named="pw",
    ),
    "rules of dates that remember": session(
        """
        from dateutil import rrule
        import datetime, itertools
        D = datetime.datetime
        r = rrule.rrule(rrule.DAILY, count=30, dtstart=D(2024,1,1), cache=True); first = r[3]
        done = rrule.rrule(rrule.DAILY, count=3, dtstart=D(2024,1,1), cache=True); all_ = list(done)
        st = rrule.rruleset(cache=True); st.rrule(r); st.exdate(D(2024,1,2)); two = st[1]; plain = rrule.rrulestr("FREQ=WEEKLY;COUNT=3", dtstart=D(2024,1,1)); second = plain[1]
        rs = rrule.rruleset(); rs.rrule(plain); rs.rdate(D(2030,1,1))
        """,
        """
        r[3], r[12], len(r._cache) > 0, first
        list(done), done[1], done._cache_lock.locked()
        st[1], st[5], st._rrule[0] is r
        list(plain), list(rs), rs.before(D(2024,1,9)), r.between(D(2024,1,3), D(2024,1,5))
        """,
    ),
    "the pixels of pictures": session(
        """
        from PIL import Image
        im = Image.new("RGB", (4, 4)); px = im.load(); px[1, 1] = (9, 8, 7)
        held = {"px": Image.new("L", (3, 3), 5).load()}
        pair = [im, im.load()]; copy = im.copy(); cp = copy.load()
        """,
        """
        px[1, 1], px[0, 0]
        px[2, 2] = (1, 1, 1) ;; im.getpixel((2, 2)), pair[1][2, 2], copy.getpixel((2, 2))
        cp[0, 0] = (5, 5, 5) ;; copy.getpixel((0, 0)), im.getpixel((0, 0))
        held["px"][1, 1]
        """,
    ),
    "contexts for SQL of polars": session(
        """
        import polars as pl
        df = pl.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "c"]})
        ctx = pl.SQLContext(a=df, eager=True); lazy = pl.SQLContext({"b": df.lazy().filter(pl.col("x") > 1), "c d": df})
        ctx.register("more", df.head(1)); got = ctx.execute("select sum(x) as s from a")
        """,
        """
        ctx.tables(), lazy.tables()
        ctx.execute("select * from a join more using (x)").to_dicts(), got.item()
        type(lazy.execute("select * from b")).__name__, lazy.execute("select * from b").collect().to_dicts(), lazy.execute('select count(*) as n from "c d"').collect().item()
        ctx.register("z", df) ;; ctx.tables()
        """,
    ),
    "temporary tables with types and numbers, and a database attached for reading": session(
        """
        import sqlite3, datetime
        calls = []
        sqlite3.register_converter("shout", lambda b: calls.append(1) or b.decode().upper())
        con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
        con.execute("create temp table t (a shout, n integer primary key autoincrement)"); con.execute("insert into t (a) values ('abc'), ('d'), ('e')"); con.execute("delete from t where n > 1"); con.commit()
        con.execute("create temp table w (k shout primary key, v) without rowid"); con.execute("insert into w values ('k', 1)"); con.commit()
        ro = sqlite3.connect("x.db"); ro.execute("create table q (a)"); ro.commit(); ro.close()
        reads = sqlite3.connect(":memory:", uri=True); reads.execute("attach 'file:x.db?mode=ro' as ro")
        """,
        """
        calls, con.execute("select a from t").fetchall(), con.execute("select +a from t").fetchall(), len(calls)
        con.execute("select k from w").fetchall(), con.execute("select +k from w").fetchall()
        con.execute("insert into t (a) values ('z')").lastrowid, con.total_changes
        reads.execute("insert into ro.q values (1)")
        """,
        named="reads",
    ),
    "files that a thread opens and closes all the time": session(
        """
        import threading, sqlite3, time
        open("d1.bin", "wb").write(b"1" * 3_000_000); open("d2.bin", "wb").write(b"2" * 3_000_000); stop = threading.Event()
        def log():
            while not stop.is_set():
                for n in ("d1.bin", "d2.bin"):
                    with open(n, "rb") as f: f.read(1000)
                with open("p.log", "a+") as f: f.write("x")
        threading.Thread(target=log, daemon=True).start(); time.sleep(0.2)
        """,
        """
        set(open("d1.bin").read()), set(open("d2.bin").read()), __import__("os").path.exists("p.log")
        """,
        named="log",
    ),
}
