"""Open files, the process and its settings, as analyses leave them."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "text files of many encodings in the middle": session(
        r"""
        with open("latin.txt", "w", encoding="latin-1") as f: f.write("é one\nü two\nß three\n")
        with open("dos.txt", "wb") as f: f.write(b"a\r\nb\r\nc\r\n")
        bom = open("export.csv", "w", encoding="utf-8-sig"); bom.write("name;préis\n")
        wide = open("wide.txt", "w", encoding="utf-16"); wide.write("x\n"); wide.flush()
        lat = open("latin.txt", encoding="latin-1", errors="strict"); lat.readline()
        raw = open("dos.txt", newline=""); first = raw.readline()
        crlf = open("crlf.txt", "w", newline="\r\n"); crlf.write("1\n")
        lenient = open("latin.txt", encoding="utf-8", errors="replace"); lenient.read(3)
        update = open("latin.txt", "r+", encoding="latin-1"); update.readline(); mark = update.tell()
        numbered = enumerate(open("dos.txt"), 1); next(numbered)
        """,
        r"""
        bom.write("x;1\n"); bom.flush() ;; open("export.csv", "rb").read()
        wide.write("y\n"); wide.flush() ;; open("wide.txt", encoding="utf-16").read()
        lat.readline(), lat.encoding, lat.errors
        first, raw.readline()
        crlf.write("2\n"); crlf.flush() ;; open("crlf.txt", "rb").read()
        lenient.read(2), lenient.errors
        mark, update.tell(), update.readline()
        update.seek(mark); update.write("Ü TWO"); update.flush() ;; open("latin.txt", "rb").read()
        next(numbered)
        """,
        named="numbered",
    ),
    "several handles of one file": session(
        r"""
        import os, pathlib, io
        w = open("data.log", "w", buffering=1); w.write("l1\nl2\nl3\n")
        r = open("data.log"); r.readline()
        again = r
        a = open("data.log", "a+b"); a.write(b"l4\n")
        p = pathlib.Path("data.log").open("rb"); head = p.peek(2)[:2]; p.read(4)
        fd = os.open("fd.txt", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o640); os.write(fd, b"by hand\n")
        over = os.fdopen(fd, "r+b");
        raw = open("data.log", "rb", buffering=0); raw.seek(-3, 2)
        class Source:
            def __init__(self, f): self.f, self.n = f, 0
            def step(self): self.n += 1; return self.f.readline()
        src = Source(r); src.step()
        x = open("once.txt", "x"); x.write("made"); x.flush()
        rw = open("grid.bin", "w+b"); rw.write(bytes(range(20))); rw.seek(5)
        """,
        r"""
        again is r, src.f is r, src.n
        src.step(), r.readline()
        w.write("l5\n") ;; open("data.log").read()
        a.tell(), a.mode, a.write(b"l6\n"), a.flush(), open("data.log").read()[-3:]
        p.read(3), p.tell(), head
        over.write(b"more\n"); over.flush() ;; open("fd.txt").read()
        raw.read(), raw.mode, type(raw).__name__
        x.write("!"); x.flush() ;; open("once.txt").read(), x.mode
        rw.read(2), rw.write(b"\xff\xff"), rw.flush(), open("grid.bin", "rb").read()[4:10]
        w.line_buffering, w.mode, r.mode, rw.mode, p.name
        """,
        named="over",
    ),
    "files that were moved or removed under an open handle": session(
        r"""
        import os
        f = open("old.txt", "w+"); f.write("begun\n"); f.flush(); os.rename("old.txt", "new.txt")
        g = open("gone.txt", "w+"); g.write("only in memory"); g.flush(); os.remove("gone.txt")
        open("swap.txt", "w").write("one\ntwo\n"); s = open("swap.txt"); s.readline()
        open("swap.tmp", "w").write("ONE\nTWO\n"); os.replace("swap.tmp", "swap.txt")
        open("cut.txt", "w").write("0123456789"); c = open("cut.txt"); c.read(3); os.truncate("cut.txt", 6)
        open("grow.txt", "w").write("a\n"); t = open("grow.txt"); seen = t.readlines(); open("grow.txt", "a").write("b\n")
        os.makedirs("dir/sub"); d = open("dir/sub/in.txt", "w"); d.write("x"); os.rename("dir", "moved")
        os.link("grow.txt", "other.txt"); o = open("other.txt", "r+")
        """,
        r"""
        f.write("on\n"); f.flush() ;; open("new.txt").read()
        sorted(os.listdir("."))
        g.seek(0) ;; g.read()
        s.readline(), open("swap.txt").read()
        c.read()
        t.readlines(), seen
        d.write("y"); d.flush() ;; open("moved/sub/in.txt").read()
        o.write("Z"); o.flush() ;; open("grow.txt").read(), os.stat("grow.txt").st_nlink
        """,
        named="f g s d",
    ),
    "compressed streams and archives in the middle": session(
        r"""
        import gzip, bz2, lzma, zipfile, tarfile, io, zlib
        rows = [f"row {n}\n" for n in range(5)]
        with gzip.open("in.gz", "wt") as g: g.writelines(rows)
        with bz2.open("in.bz2", "wt") as b: b.writelines(rows)
        with lzma.open("in.xz", "wb") as x: x.write("".join(rows).encode())
        rg = gzip.open("in.gz", "rt"); rg.readline()
        rb = bz2.open("in.bz2"); rb.readline()
        rx = lzma.open("in.xz"); rx.readline()
        wg = gzip.open("out.gz", "wb"); wg.write(b"begun ")
        with zipfile.ZipFile("a.zip", "w") as z: z.writestr("r.txt", "".join(rows)); z.writestr("e.txt", "")
        zr = zipfile.ZipFile("a.zip"); member = zr.open("r.txt"); member.readline()
        za = zipfile.ZipFile("a.zip", "a"); za.writestr("late.txt", "late")
        with tarfile.open("a.tar", "w") as t: t.add("in.gz"); t.add("in.bz2")
        tr = tarfile.open("a.tar"); info = tr.next()
        comp = zlib.compressobj(); packed = comp.compress(b"abc"); dec = zlib.decompressobj()
        crc = zlib.crc32(b"abc"); buffered = io.BufferedReader(io.BytesIO(b"0123456789"), 4); buffered.read(3)
        """,
        r"""
        rg.readline()
        rb.readline()
        rx.readline()
        wg.write(b"on"); wg.close() ;; gzip.open("out.gz").read()
        zr.namelist(), zr.read("e.txt")
        member.readline()
        za.close() ;; zipfile.ZipFile("a.zip").namelist()
        info.name, tr.next().name
        packed + comp.compress(b"d") + comp.flush(), crc
        buffered.read(2), dec.decompress(zlib.compress(b"q"))
        gzip.open("in.gz", "rt").read().count("row")
        """,
        named="rg rb rx wg zr member za tr comp dec buffered g b x t z info",
    ),
    "tables of csv in the middle": session(
        r"""
        import csv, io, json, itertools
        with open("in.csv", "w", newline="") as f:
            w = csv.DictWriter(f, ["id", "name", "note"]); w.writeheader()
            for n in range(6): w.writerow({"id": n, "name": f"n{n}", "note": "two\r\nlines" if n == 2 else ""})
        src = open("in.csv", newline=""); reader = csv.DictReader(src); done = [next(reader)["id"] for _ in range(2)]
        out = open("out.csv", "w", newline=""); writer = csv.writer(out, delimiter=";", quoting=csv.QUOTE_NONNUMERIC); writer.writerow(["a", 1]); total = 1
        csv.register_dialect("pipes", delimiter="|", quoting=csv.QUOTE_ALL, lineterminator="\n")
        mem = io.StringIO(newline=""); mw = csv.writer(mem, "pipes"); mw.writerow(["x", "y\r\nz"])
        batches = iter(lambda: list(itertools.islice(src, 2)), []);
        lines = open("events.jsonl", "w+"); [lines.write(json.dumps({"n": n}) + "\n") for n in range(4)]; lines.seek(0); head = json.loads(lines.readline())
        sniffed = csv.Sniffer().sniff("a;b;c\n1;2;3\n")
        """,
        r"""
        done, [row["note"] for row in reader][:1]
        src.readline()
        out.write("x\n"); out.flush() ;; open("out.csv", "rb").read()
        mem.getvalue(), mw.writerow(["q"]), mem.getvalue()
        csv.list_dialects(), csv.get_dialect("pipes").quoting
        [json.loads(line)["n"] for line in lines], head
        sniffed.delimiter, sniffed.doublequote
        w.fieldnames, f.closed
        src.newlines
        next(batches)
        """,
        named="reader writer w mw batches",
    ),
    "temporary things of every kind": session(
        r"""
        import tempfile, os, pathlib, shutil, atexit
        keep = tempfile.NamedTemporaryFile("w+", suffix=".txt", delete=False); keep.write("kept"); keep.flush(); keep_name = keep.name
        closed = tempfile.NamedTemporaryFile("w", delete=False); closed.write("done"); closed.close()
        anon = tempfile.TemporaryFile(); anon.write(b"abc"); anon.flush()
        rolled = tempfile.SpooledTemporaryFile(4, "w+"); rolled.write("longer than four"); rolled.seek(2)
        small = tempfile.SpooledTemporaryFile(1000, "w+"); small.write("short"); small.seek(1)
        work = tempfile.mkdtemp(prefix="job-"); pathlib.Path(work, "part-0.csv").write_text("a\n1\n"); atexit.register(shutil.rmtree, work)
        done = tempfile.TemporaryDirectory(); done_name = done.name; done.cleanup()
        held = tempfile.TemporaryDirectory(dir="."); pathlib.Path(held.name, "x").write_text("in it")
        fd, raw = tempfile.mkstemp(dir=work); os.write(fd, b"by fd");
        stem = pathlib.Path(work).name
        """,
        r"""
        open(keep_name).read(), os.path.basename(keep_name) == os.path.basename(keep.name)
        keep.write("!"); keep.flush() ;; open(keep_name).read()
        open(closed.name).read(), closed.closed
        anon.seek(0) ;; anon.read()
        rolled.read(), rolled._rolled
        small.read(), small.write("er"), small._rolled
        sorted(os.listdir(work))[0], stem.startswith("job-")
        os.path.exists(done_name), os.path.exists(held.name)
        os.path.getsize(raw)
        os.fstat(fd).st_size
        """,
        named="keep closed anon rolled done held fd",
    ),
    "maps of files into memory": session(
        r"""
        import mmap, numpy as np, os
        open("m.bin", "wb").write(bytes(64)); f = open("m.bin", "r+b"); mm = mmap.mmap(f.fileno(), 0); mm[:4] = b"head"
        big = np.memmap("big.dat", dtype="f4", mode="w+", shape=(100, 10)); big[:] = 1; view = big[10:20]; view[0, 0] = 7
        ro = np.memmap("big.dat", dtype="f4", mode="r", shape=(100, 10)); cow = np.memmap("big.dat", dtype="f4", mode="c", shape=(100, 10)); cow[0, 0] = 99
        np.save("a.npy", np.arange(12).reshape(3, 4)); lazy = np.load("a.npy", mmap_mode="r+"); col = lazy[:, 1]; lazy[0, 1] = -5
        off = np.memmap("m.bin", dtype="u1", mode="r+", offset=16, shape=(8,)); off[:] = 3
        npz = None; np.savez("z.npz", x=np.arange(3), y=np.ones(2)); npz = np.load("z.npz")
        from_file = np.fromfile("m.bin", dtype="u1", count=4)
        """,
        r"""
        mm[:4]
        view[0, 0], big[10, 0]
        view[0, 1] = 8; big.flush() ;; ro[10, 1], float(np.fromfile("big.dat", "f4")[101])
        cow[0, 0], big[0, 0]
        lazy[0, 1], col[0], np.load("a.npy")[0, 1]
        col[1] = 77; lazy.flush() ;; np.load("a.npy")[1, 1]
        off[0], open("m.bin", "rb").read()[16:24]
        npz["x"].tolist(), npz.files
        type(big).__name__, big.mode, os.path.basename(big.filename), off.offset, ro.flags.writeable
        from_file.tolist(), f.tell()
        """,
        named="mm npz",
    ),
    "shelves, dbm and pickles beside": session(
        r"""
        import shelve, dbm, dbm.dumb, pickle, os
        class Point:
            def __init__(self, x): self.x = x
            def __repr__(self): return f"Point({self.x})"
        sh = shelve.open("cache", writeback=True); sh["a"] = [1]; sh["a"].append(2); sh["p"] = Point(3)
        plain = shelve.open("plain"); plain["k"] = {"n": 1}; plain.sync()
        db = dbm.dumb.open("dumb", "c"); db[b"x"] = b"1"
        with shelve.open("closed") as shut: shut["z"] = 26
        with open("p.pkl", "wb") as f: pickle.dump([Point(1), Point(2)], f); pickle.dump("second", f)
        stream = open("p.pkl", "rb"); first = pickle.load(stream)
        buf = pickle.Pickler(open("out.pkl", "wb"));
        memo = {"hits": 0}
        """,
        r"""
        first, pickle.load(stream)
        type(first[0]) is Point
        sh["a"], sh["p"]
        plain["k"]
        db[b"x"]
        shelve.open("closed")["z"]
        shelve.open("plain", "r")["k"]
        buf.dump([1]) ;; memo
        shut.get("z")
        """,
        named="sh plain db shut buf",
    ),
    "sqlite in wal, transactions and cursors": session(
        r"""
        import sqlite3
        con = sqlite3.connect("app.db", isolation_level=None); con.execute("pragma journal_mode=wal"); con.execute("create table t (id integer primary key, v text)")
        con.executemany("insert into t (v) values (?)", [("a",), ("b",), ("c",)])
        def as_dict(cursor, row): return {d[0]: v for d, v in zip(cursor.description, row)}
        reader = sqlite3.connect("file:app.db?mode=ro", uri=True); reader.row_factory = as_dict
        cur = con.execute("select v from t order by id"); cur.fetchone()
        open_tx = sqlite3.connect("tx.db"); open_tx.execute("create table q (n)"); open_tx.commit(); open_tx.execute("insert into q values (1)")
        class Repo:
            def __init__(self, con): self.con, self.sql = con, []
            def add(self, v): self.sql.append(v); return self.con.execute("insert into t (v) values (?)", (v,)).lastrowid
        repo = Repo(con); last = repo.add("d")
        shut = sqlite3.connect(":memory:"); shut.close()
        strict = sqlite3.connect("app.db", timeout=1.5); strict.execute("pragma query_only = 1")
        """,
        r"""
        con.execute("select count(*) from t").fetchone(), con.isolation_level, con.in_transaction
        con.execute("pragma journal_mode").fetchone()
        repo.con is con, repo.add("e"), repo.sql
        reader.execute("select id, v from t where id = 1").fetchone()
        reader.execute("insert into t (v) values ('no')")
        cur.fetchone()
        open_tx.in_transaction, open_tx.execute("select count(*) from q").fetchone()
        sqlite3.connect("tx.db").execute("select count(*) from q").fetchone()
        shut.execute("select 1")
        strict.execute("insert into t (v) values ('x')")
        last, con.total_changes >= 0
        """,
        named="cur open_tx",
    ),
    "writers of parquet, arrow and workbooks in the middle": session(
        r"""
        import pyarrow as pa, pyarrow.parquet as pq, pyarrow.ipc as ipc, pandas as pd, openpyxl, io, os
        table = pa.table({"a": [1, 2], "b": ["x", "y"]})
        w = pq.ParquetWriter("out.parquet", table.schema); w.write_table(table); written = 2
        pq.write_table(table, "in.parquet"); pf = pq.ParquetFile("in.parquet"); groups = pf.num_row_groups
        sink = pa.BufferOutputStream(); stream = ipc.new_stream(sink, table.schema); stream.write_table(table)
        xl = pd.ExcelWriter("book.xlsx"); pd.DataFrame({"q": [1]}).to_excel(xl, sheet_name="one")
        wb = openpyxl.Workbook(); ws = wb.active; ws["A1"] = "total"; ws["B1"] = "=SUM(B2:B3)"; ws.append([None, 5]); ws.title = "sums"; bold = openpyxl.styles.Font(bold=True); ws["A1"].font = bold
        cell = ws["B1"]
        chunks = pd.read_csv(io.StringIO("n\n" + "\n".join(map(str, range(10)))), chunksize=3); first = next(chunks)
        xf = None; pd.DataFrame({"q": [1]}).to_excel("in.xlsx", index=False); xf = pd.ExcelFile("in.xlsx")
        store = {"table": table, "schema": table.schema}
        """,
        r"""
        written, os.path.exists("out.parquet")
        w.write_table(table); w.close() ;; pq.read_table("out.parquet").num_rows
        pf.read().to_pydict(), groups
        store["table"] is table, store["schema"].names
        stream.close() ;; sink.getvalue().size > 0
        xl.close() ;; pd.read_excel("book.xlsx").q.tolist()
        cell.value, ws["B1"] is cell, wb.active.title, ws["A1"].font.bold
        ws.append(["new", 6]); wb.save("wb.xlsx") ;; openpyxl.load_workbook("wb.xlsx")["sums"].max_row
        next(chunks).n.tolist(), first.n.tolist()
        xf.parse().q.tolist()
        """,
        named="w pf sink stream xl chunks xf wb ws cell",
    ),
    "logging set up as programs do": session(
        r"""
        import logging, logging.config, logging.handlers, sys, time, io, warnings
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False,
            "formatters": {"short": {"format": "%(levelname).1s|%(name)s|%(message)s"}},
            "handlers": {"file": {"class": "logging.handlers.RotatingFileHandler", "filename": "app.log", "maxBytes": 500, "backupCount": 2, "formatter": "short"},
                         "err": {"class": "logging.FileHandler", "filename": "err.log", "level": "ERROR", "delay": True, "formatter": "short"}},
            "loggers": {"etl": {"level": "DEBUG", "handlers": ["file", "err"], "propagate": False}}})
        log = logging.getLogger("etl"); sub = logging.getLogger("etl.load"); log.debug("begun")
        class Counting(logging.Handler):
            def __init__(self): super().__init__(); self.counts = {}
            def emit(self, r): self.counts[r.levelname] = self.counts.get(r.levelname, 0) + 1
        counting = Counting(); logging.getLogger().addHandler(counting); logging.getLogger().setLevel("INFO")
        class MyLogger(logging.Logger):
            def shout(self, m): self.error(m.upper())
        logging.setLoggerClass(MyLogger); mine = logging.getLogger("mine");
        logging.Formatter.converter = time.gmtime; logging.raiseExceptions = False
        def timed(fn):
            def inner(*a):
                log.info("call %s", fn.__name__); return fn(*a)
            return inner
        @timed
        def load(n): return n * 2
        logging.getLogger("quiet").disabled = True; logging.disable(logging.DEBUG)
        """,
        r"""
        load(2) ;; open("app.log").read()
        sub.error("bad") ;; open("err.log").read()
        logging.getLogger("other").warning("w") ;; counting.counts
        mine.shout("now") ;; counting.counts, type(mine) is MyLogger
        type(logging.getLogger("new one")) is MyLogger, logging.getLoggerClass() is MyLogger
        logging.Formatter.converter is time.gmtime, logging.raiseExceptions
        log.handlers[0].maxBytes, log.handlers[0].backupCount, [h.get_name() for h in log.handlers]
        logging.getHandlerByName("file") is log.handlers[0] if hasattr(logging, "getHandlerByName") else logging._handlers["file"] is log.handlers[0]
        logging.root.manager.disable, logging.getLogger("quiet").disabled
        log.handlers[0].stream.name.endswith("app.log"), sub.parent is log
        """,
    ),
    "standard streams that were replaced": session(
        r"""
        import sys, io, contextlib, builtins
        class Tee:
            def __init__(self, inner): self.inner, self.kept = inner, []
            def write(self, text): self.kept.append(text); return self.inner.write(text)
            def flush(self): self.inner.flush()
            def __getattr__(self, name): return getattr(self.inner, name)
        tee = Tee(sys.stdout); sys.stdout = tee
        errs = io.StringIO(); stack = contextlib.ExitStack(); stack.enter_context(contextlib.redirect_stderr(errs))
        print("to the err", file=sys.stderr)
        real_input = builtins.input; builtins.input = lambda prompt="": "typed"
        sys.stdin = io.StringIO("line one\nline two\n"); sys.stdin.readline()
        log = open("print.log", "w"); say = lambda *a: print(*a, file=log)
        say("first")
        # %%
        def show(x): print("shown", x)
        show(1)
        """,
        r"""
        sys.stdout is tee, "".join(tee.kept).splitlines()[0]
        print("err again", file=sys.stderr) ;; errs.getvalue()
        sys.stderr is errs
        input("?")
        sys.stdin.readline()
        say("second"); log.flush() ;; open("print.log").read()
        real_input.__name__
        """,
        named="stack",
    ),
    "folders, links, times and odd names": session(
        r"""
        import os, pathlib, stat, time
        os.makedirs("raw/2024/q1"); os.makedirs("empty/a/b/c"); pathlib.Path("raw/2024/q1/x.csv").write_text("1")
        os.symlink("2024", "raw/latest"); os.symlink("nowhere", "dangling"); os.symlink("../raw/2024/q1/x.csv", "empty/up"); os.symlink(os.path.abspath("raw"), "absolute")
        for name in ["with\nnewline", "trailing ", "-rf", "..dots", "é", "e\u0301", "a" * 200, "tab\tquote\"'", "UPPER", "upper", "%20", "日本"]: pathlib.Path(name).write_text(name[:3])
        open(b"bytes-\xff\xfe", "wb").write(b"odd")
        os.utime("raw/2024/q1/x.csv", ns=(1_500_000_000_123_456_789, 1_600_000_000_987_654_321)); os.chmod("raw/2024/q1/x.csv", 0o604)
        os.chmod("empty", 0o750); os.utime("raw/2024", (1_000_000, 2_000_000)); os.utime("dangling", (5, 5), follow_symlinks=False)
        with open("holes.bin", "wb") as f: f.seek(50_000_000); f.write(b"end")
        pathlib.Path("script.sh").write_text("#!/bin/sh\necho hi\n"); os.chmod("script.sh", 0o4755)
        os.mkdir("sticky"); os.chmod("sticky", 0o1777)
        before = sorted(str(p) for p in pathlib.Path(".").rglob("*"))
        """,
        r"""
        sorted(str(p) for p in pathlib.Path(".").rglob("*")) == before
        os.readlink("raw/latest"), os.path.islink("dangling"), os.path.exists("dangling"), open("empty/up").read()
        os.path.samefile("absolute", "raw")
        [open(n).read() for n in ["with\nnewline", "trailing ", "-rf", "..dots", "é", "e\u0301", "%20", "upper"]]
        open(b"bytes-\xff\xfe", "rb").read(), b"bytes-\xff\xfe" in os.listdir(b".")
        os.stat("raw/2024/q1/x.csv").st_mtime_ns, oct(os.stat("raw/2024/q1/x.csv").st_mode)
        oct(os.stat("empty").st_mode), oct(os.stat("sticky").st_mode), oct(os.stat("script.sh").st_mode)
        os.stat("raw/2024").st_mtime
        os.path.getsize("holes.bin"), os.stat("holes.bin").st_blocks < 1000
        os.path.isdir("empty/a/b/c"), os.lstat("dangling").st_mtime
        """,
        named="absolute",
    ),
    "the working directory": session(
        r"""
        import os, sys, pathlib, tempfile
        os.makedirs("proj/lib"); os.makedirs("proj/data"); pathlib.Path("proj/lib/helper.py").write_text("RATE = 2\ndef f(x): return x * RATE\n")
        root = os.getcwd()
        os.chdir("proj"); sys.path.insert(0, "lib"); sys.path.append("")
        import helper
        helper.RATE = 5
        rel = open("data/rel.txt", "w+"); rel.write("hello\n"); rel.flush(); rel.seek(0)
        here = pathlib.Path("."); resolved = pathlib.Path("data").resolve()
        os.environ["PWD_WAS"] = os.getcwd()
        listing = sorted(os.listdir("."))
        # %%
        def load(name): return open(os.path.join("data", name)).read()
        os.chdir(os.path.join(root, "proj")); text = load("rel.txt")
        """,
        r"""
        os.path.relpath(os.getcwd(), root) if os.path.exists(root) else os.path.basename(os.getcwd())
        sorted(os.listdir(".")), listing
        load("rel.txt"), text
        helper.f(3)
        "lib" in sys.path, sys.path[0], "" in sys.path
        rel.readline(), rel.name
        open("new.txt", "w").close() ;; os.path.exists(os.path.join(root, "proj", "new.txt"))
        sorted(p.name for p in here.iterdir())
        resolved.name, resolved.exists()
        """,
    ),
    "the environment, its bytes, zone and locale": session(
        r"""
        import os, time, locale, sys, datetime, subprocess
        os.environ["API_URL"] = "http://x"; os.environ["EMPTY"] = ""; os.environb[b"BYTES"] = b"\xff\xfe"; del os.environ["HOME_NOT"] if "HOME_NOT" in os.environ else None
        """.replace('del os.environ["HOME_NOT"] if "HOME_NOT" in os.environ else None', 'os.environ.pop("USER", None)')
        + r"""
        os.environ["TZ"] = "Asia/Kolkata"; time.tzset()
        moment = datetime.datetime.fromtimestamp(0)
        os.environ["TZ"] = "America/Sao_Paulo"
        os.putenv("SECRETLY", "1"); os.environ["MULTI"] = "a\nb=c"; os.environ["LC_ALL"] = "C"
        saved = dict(os.environ); os.environ.setdefault("DEF", "d"); os.environ |= {"MORE": "m"}
        locale.setlocale(locale.LC_NUMERIC, "C");
        def tool(): return subprocess.run([sys.executable, "-c", "import os; print(os.environ.get('API_URL'), os.environ.get('SECRETLY'))"], capture_output=True, text=True).stdout
        out = tool()
        """,
        r"""
        os.environ["API_URL"], os.environ["EMPTY"], os.environb[b"BYTES"], os.environ.get("USER")
        time.tzname, str(datetime.datetime.fromtimestamp(0)), os.environ["TZ"]
        str(moment)
        os.environ["MULTI"], os.environ["DEF"], os.environ["MORE"]
        tool(), out
        "DEF" in saved, saved["API_URL"]
        os.getenv("LC_ALL"), locale.setlocale(locale.LC_ALL)
        time.tzset() ;; time.tzname
        """,
    ),
    "signals, timers and limits": session(
        r"""
        import signal, resource, os, time, faulthandler, sys, threading
        hits = []
        def on_alarm(number, frame): hits.append(number)
        signal.signal(signal.SIGALRM, on_alarm); signal.signal(signal.SIGHUP, lambda n, f: hits.append("hup"))
        class Stopper:
            stop = False
            def __call__(self, *a): self.stop = True
        stopper = Stopper(); signal.signal(signal.SIGTERM, stopper); signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 5000, 3)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard)); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
        os.umask(0o027); sys.setrecursionlimit(2500); threading.stack_size(1 << 20)
        trace = open("fault.log", "w"); faulthandler.enable(trace)
        os.nice(3)
        def deep(n): return n if n == 0 else deep(n - 1)
        """,
        r"""
        signal.raise_signal(signal.SIGALRM) ;; hits
        signal.raise_signal(signal.SIGHUP) ;; hits
        signal.getsignal(signal.SIGTERM) is stopper, stopper.stop
        signal.raise_signal(signal.SIGTERM) ;; stopper.stop
        signal.getitimer(signal.ITIMER_REAL)[0] > 1000, signal.getitimer(signal.ITIMER_REAL)[1]
        resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_CORE)
        signal.SIGWINCH in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        open("m", "w").close() ;; oct(os.stat("m").st_mode)
        sys.getrecursionlimit(), deep(2000), threading.stack_size()
        faulthandler.is_enabled()
        os.nice(0)
        """,
    ),
    "hooks of the interpreter": session(
        r"""
        import sys, gc, warnings, threading, atexit, tracemalloc, builtins, reprlib, asyncio
        caught, shown, raised, calls, collected = [], [], [], [], []
        sys.excepthook = lambda t, v, tb: caught.append(str(v)); sys.unraisablehook = lambda u: raised.append(str(u.exc_value))
        old_display = sys.displayhook
        def display(v): shown.append(v)
        threading.excepthook = lambda args: caught.append(args.exc_type.__name__)
        sys.breakpointhook = lambda *a, **k: "no debugger"
        def on_gc(phase, info): collected.append(phase)
        gc.callbacks.append(on_gc); gc.set_debug(gc.DEBUG_UNCOLLECTABLE); gc.freeze(); gc.disable()
        def on_exit(): pass
        atexit.register(on_exit)
        def profile(frame, event, arg): calls.append(event)
        threading.setprofile(profile); threading.settrace(profile)
        tracemalloc.start(3)
        reprlib.aRepr.maxstring = 12; reprlib.aRepr.maxlist = 2
        sys.pycache_prefix = "pyc"; sys.tracebacklimit = 2; sys.set_coroutine_origin_tracking_depth(4)
        sys.modules["virtual"] = type(sys)("virtual"); sys.modules["virtual"].answer = 42
        sys.mine = {"a": 1}; builtins.shout = lambda s: s.upper() + "!"
        """,
        r"""
        sys.excepthook(ValueError, ValueError("v"), None) ;; caught
        sys.breakpointhook(), sys.unraisablehook.__name__, threading.excepthook.__name__
        gc.collect() ;; collected[-2:], gc.get_debug(), gc.isenabled()
        threading.getprofile() is profile, threading.gettrace() is profile
        tracemalloc.is_tracing(), tracemalloc.get_traceback_limit()
        reprlib.repr("a" * 50), reprlib.repr([1, 2, 3])
        sys.pycache_prefix, sys.tracebacklimit, sys.get_coroutine_origin_tracking_depth()
        __import__("virtual").answer, sys.mine, shout("a")
        atexit.unregister(on_exit) ;; gc.get_freeze_count() > 0
        """,
    ),
    "generators of random numbers": session(
        r"""
        import random, numpy as np, scipy.stats as st, sklearn.utils, secrets
        ss = np.random.SeedSequence(42); kids = ss.spawn(3); streams = [np.random.default_rng(s) for s in kids]; streams[1].normal(size=3)
        mt = np.random.Generator(np.random.MT19937(5)); mt.integers(10); philox = np.random.Generator(np.random.Philox(key=9)); philox.random()
        legacy = np.random.RandomState(3); legacy.randn(3); np.random.seed(11); np.random.randn()
        glob = np.random.mtrand._rand; check = sklearn.utils.check_random_state(None)
        random.seed("text"); random.gauss(0, 1); state = random.getstate(); random.random()
        class Dice(random.Random):
            def __init__(self, s): super().__init__(s); self.rolls = 0
            def roll(self): self.rolls += 1; return self.randint(1, 6)
        dice = Dice(8); dice.roll()
        class Sampler:
            def __init__(self, rng): self.rng = rng
        one, two = Sampler(streams[0]), Sampler(streams[0]); one.rng.random()
        dist = st.norm(2, 3); dist.random_state = np.random.default_rng(1); dist.rvs()
        st.gamma.random_state = 77; st.gamma.rvs(2)
        draw = random.random; choose = mt.choice; shuffled = list(range(10)); random.shuffle(shuffled)
        jumped = np.random.PCG64(1).jumped(2); bg = np.random.Generator(jumped)
        """,
        r"""
        ss.spawn(1)[0].spawn_key, ss.n_children_spawned
        [round(s.random(), 6) for s in streams]
        mt.integers(1000), philox.random(), choose([1, 2, 3, 4, 5])
        legacy.randn(), np.random.randn(), legacy.get_state()[3]
        glob is np.random.mtrand._rand, check is glob, check.randint(10**6)
        random.gauss(0, 1), random.random(), draw()
        random.setstate(state) ;; random.random()
        dice.roll(), dice.rolls, isinstance(dice, Dice)
        one.rng is two.rng, one.rng is streams[0], one.rng.random(), two.rng.random()
        dist.rvs(), st.gamma.rvs(2)
        bg.random(), bg.bit_generator is jumped, shuffled
        """,
    ),
    "contexts that are still open": session(
        r"""
        import contextlib, decimal, warnings, numpy as np, pandas as pd, matplotlib as mpl, matplotlib.pyplot as plt, sklearn, polars as pl, os, locale, seaborn as sns
        dc = decimal.localcontext(); ctx = dc.__enter__(); ctx.prec = 5
        wc = warnings.catch_warnings(record=True); heard = wc.__enter__(); warnings.simplefilter("always"); warnings.warn("first")
        oc = pd.option_context("display.precision", 2, "display.max_rows", 4); oc.__enter__()
        es = np.errstate(divide="raise"); es.__enter__(); po = np.printoptions(precision=1); po.__enter__()
        rc = mpl.rc_context({"font.size": 21}); rc.__enter__()
        sc = sklearn.config_context(assume_finite=True); sc.__enter__()
        pc = pl.Config(tbl_rows=2); pc.__enter__()
        st = sns.axes_style("dark"); st.__enter__()
        stack = contextlib.ExitStack(); f = stack.enter_context(open("in.txt", "w+")); stack.callback(os.environ.pop, "TEMP_KEY", None); os.environ["TEMP_KEY"] = "1"
        supp = contextlib.suppress(KeyError); null = contextlib.nullcontext(5)
        """,
        r"""
        decimal.Decimal(1) / 3, decimal.getcontext() is ctx, decimal.getcontext().prec
        warnings.warn("second") ;; [str(h.message) for h in heard]
        pd.get_option("display.precision"), repr(pd.Series([1.23456])).split()[1]
        np.geterr()["divide"], str(np.array([1.26]))
        mpl.rcParams["font.size"], mpl.rcParams["axes.facecolor"]
        sklearn.get_config()["assume_finite"], pl.Config.state()["POLARS_FMT_MAX_ROWS"]
        rc.__exit__(None, None, None) ;; mpl.rcParams["font.size"]
        oc.__exit__(None, None, None) ;; pd.get_option("display.precision")
        es.__exit__(None, None, None) ;; np.geterr()["divide"]
        dc.__exit__(None, None, None) ;; decimal.getcontext().prec
        wc.__exit__(None, None, None) ;; warnings.showwarning.__module__
        stack.close() ;; f.closed, os.environ.get("TEMP_KEY")
        null.enter_result
        """,
        named="dc wc oc es po rc sc pc st stack supp f",
    ),
    "settings of drawing": session(
        r"""
        import matplotlib as mpl, matplotlib.pyplot as plt, seaborn as sns, numpy as np, cycler
        plt.style.use("ggplot"); mpl.rcParams.update({"axes.titlesize": 22, "savefig.dpi": 55}); plt.rc("font", family="serif")
        cmap = mpl.colors.LinearSegmentedColormap.from_list("brand", ["#112233", "#ffeedd"]); mpl.colormaps.register(cmap)
        plt.set_cmap("brand"); plt.close("all")
        plt.style.library["house"] = mpl.RcParams({"lines.linewidth": 9.0}); plt.style.available[:] = sorted(plt.style.library)
        sns.set_palette("husl", 5); sns.set_context("talk", font_scale=0.5)
        mpl.colors.get_named_colors_mapping()["brandblue"] = "#0000aa"
        mpl.units.registry[complex] = mpl.units.ConversionInterface()
        class Half(mpl.scale.ScaleBase):
            name = "half"
        mpl.scale.register_scale(Half)
        from matplotlib.projections import register_projection, PolarAxes
        class Own(PolarAxes): name = "own"
        register_projection(Own)
        plt.ion(); fig, ax = plt.subplots(); line, = ax.plot([1, 2], label="l"); im = ax.imshow(np.eye(2)); plt.sca(ax); plt.figure(7)
        default = mpl.rcParamsDefault["lines.linewidth"]; kept = mpl.rcParams.copy(); locs = ax.xaxis.get_major_locator()
        """,
        r"""
        mpl.rcParams["axes.titlesize"], mpl.rcParams["savefig.dpi"], mpl.rcParams["font.family"], mpl.rcParams["axes.facecolor"]
        mpl.colormaps["brand"](0.0), mpl.rcParams["image.cmap"], plt.get_cmap().name
        plt.style.use("house") ;; mpl.rcParams["lines.linewidth"]
        len(sns.color_palette()), mpl.rcParams["axes.prop_cycle"].by_key()["color"][0]
        mpl.colors.to_hex("brandblue")
        type(mpl.units.registry[complex]).__name__
        "half" in mpl.scale.get_scale_names()
        plt.figure(9).add_subplot(projection="own").name
        plt.isinteractive(), plt.get_fignums(), im.cmap.name
        line in ax.lines, line.axes is ax, fig.axes[0] is ax, ax.xaxis.get_major_locator() is locs
        kept["savefig.dpi"], default
        """,
    ),
    "settings of many libraries": session(
        r"""
        import pandas as pd, numpy as np, polars as pl, pyarrow as pa, scipy.fft, PIL.Image, PIL.ImageFile, lxml.etree as etree, joblib, structlog, jinja2, yaml, tiktoken, threadpoolctl
        """.replace(", tiktoken", "")
        + r"""
        pd.options.display.max_colwidth = 11; pd.set_option("display.width", 33); pd.set_option("mode.string_storage", "python"); pd.set_option("future.infer_string", False)
        pa.set_cpu_count(3); pa.set_io_thread_count(5)
        pl.enable_string_cache(); pl.Config.set_float_precision(1); pl.set_random_seed(7)
        PIL.Image.MAX_IMAGE_PIXELS = 1234; PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True
        np.set_printoptions(threshold=3, edgeitems=1, legacy=False); np.seterr(under="warn"); buf = np.setbufsize(16384)
        def opener(fp, filename): raise SyntaxError
        PIL.Image.register_open("MINE", opener, lambda prefix: prefix[:4] == b"MINE"); PIL.Image.register_extension("MINE", ".mine")
        fn = etree.FunctionNamespace("urn:f"); fn["twice"] = lambda ctx, x: x * 2
        structlog.configure(processors=[structlog.processors.JSONRenderer(sort_keys=True)], cache_logger_on_first_use=False)
        slog = structlog.get_logger().bind(user="u"); structlog.contextvars.bind_contextvars(req=5)
        yaml.SafeLoader.add_constructor("!sq", lambda l, n: int(l.construct_scalar(n)) ** 2)
        jinja2.defaults.DEFAULT_FILTERS["shout"] = lambda s: s.upper(); env = jinja2.Environment(); env.globals["now"] = "t"; tpl = env.from_string("{{ now }}{{ 'a'|shout }}")
        joblib.parallel_config(backend="threading", n_jobs=3)
        scipy.fft.set_global_backend("scipy"); mem = joblib.Memory("jl", verbose=0); costly = mem.cache(lambda x: x + 1)
        np.random.seed(1)
        """,
        r"""
        pd.get_option("display.max_colwidth"), pd.options.display.width, pd.Series(["a"]).dtype == object
        pa.cpu_count(), pa.io_thread_count()
        pl.using_string_cache(), pl.Config.state().get("set_float_precision"), str(pl.Series([1.26]))[-5:]
        PIL.Image.MAX_IMAGE_PIXELS, PIL.ImageFile.LOAD_TRUNCATED_IMAGES
        str(np.arange(10)), np.geterr()["under"], np.getbufsize()
        "MINE" in PIL.Image.OPEN, PIL.Image.EXTENSION.get(".mine")
        etree.FunctionNamespace("urn:f").get("twice") is not None
        structlog.get_config()["processors"][0].__class__.__name__, structlog.contextvars.get_contextvars()
        yaml.safe_load("!sq 5"), tpl.render(), jinja2.Environment().from_string("{{ 'b'|shout }}").render()
        joblib.parallel.get_active_backend()[1], type(joblib.parallel.get_active_backend()[0]).__name__
        pl.Series([1, 2, 3]).sample(1).to_list() in ([1], [2], [3])
        """,
        named="fn slog env tpl mem costly",
    ),
    "clients without a net": session(
        r"""
        import socket, urllib.request, http.cookiejar, http.cookies, ssl, requests, http.client, email.message, urllib.parse, httpx, selectors, os
        socket.setdefaulttimeout(4.5)
        jar = http.cookiejar.CookieJar(); opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)); opener.addheaders = [("User-Agent", "mine/1")]; urllib.request.install_opener(opener)
        jar.set_cookie(http.cookiejar.Cookie(0, "sid", "42", None, False, "x.org", True, False, "/", True, False, None, True, None, None, {}))
        simple = http.cookies.SimpleCookie(); simple["a"] = "1"; simple["a"]["path"] = "/p"
        s = requests.Session(); s.headers["X-Key"] = "k"; s.cookies.set("c", "v", domain="d.org"); s.auth = ("u", "p"); s.hooks["response"].append(lambda r, *a, **k: r)
        class Retry(requests.adapters.HTTPAdapter):
            def __init__(self): self.tries = 0; super().__init__(max_retries=2)
            def send(self, *a, **k): self.tries += 1; raise requests.ConnectionError("no net")
        s.mount("http://", Retry())
        ctx = ssl.create_default_context(); ctx.check_hostname = False; ctx.verify_mode = ssl.CERT_NONE; ctx.set_ciphers("HIGH")
        ssl._create_default_https_context = ssl._create_unverified_context
        http.client.HTTPConnection.debuglevel = 1; http.client._MAXHEADERS = 1000
        req = urllib.request.Request("http://x.org/p", data=b"d", headers={"A": "b"}, method="PUT")
        prepared = requests.Request("GET", "http://x.org", params={"q": "é"}).prepare()
        a, b = socket.socketpair(); sel = selectors.DefaultSelector(); sel.register(a, selectors.EVENT_READ, "tag")
        urllib.parse.uses_netloc.append("s3x")
        client = httpx.Client(headers={"h": "1"})
        """,
        r"""
        socket.getdefaulttimeout(), socket.getaddrinfo.__module__
        urllib.request._opener is opener, opener.addheaders, [c.value for c in jar]
        simple.output(), simple["a"]["path"]
        s.headers["X-Key"], s.cookies.get("c"), s.auth, len(s.hooks["response"])
        s.get("http://nowhere.invalid/")
        s.adapters["http://"].tries
        ctx.check_hostname, ctx.verify_mode
        ssl._create_default_https_context is ssl._create_unverified_context, http.client.HTTPConnection.debuglevel, http.client._MAXHEADERS
        req.get_method(), req.data, req.headers, prepared.url
        sel.get_key(a).data
        client.headers["h"]
        [h for h in opener.handlers if isinstance(h, urllib.request.HTTPCookieProcessor)][0].cookiejar is jar
        """,
        named="ctx a b sel client opener",
    ),
    "loops, tasks and what they wait for": session(
        r"""
        import asyncio, contextvars, functools
        var = contextvars.ContextVar("request", default="none"); token = var.set("r1")
        q = asyncio.Queue(maxsize=3); q.put_nowait("a"); q.put_nowait("b")
        ev = asyncio.Event(); ev.set(); lock = asyncio.Lock(); sem = asyncio.Semaphore(2)
        loop = asyncio.new_event_loop();
        async def work(n):
            await asyncio.sleep(0); done.append(n); return n * 2
        done = []
        results = loop.run_until_complete(work(1)), loop.run_until_complete(work(2))
        task = loop.create_task(work(9)); coro = work(5)
        async def ticks():
            for n in range(3): yield n
        agen = ticks(); first = loop.run_until_complete(agen.__anext__())
        @functools.lru_cache
        def cached(x): done.append(("computed", x)); return x
        cached(1)
        async def drain():
            got = []
            while not q.empty(): got.append(await q.get())
            return got
        def policy(): return type(asyncio.get_event_loop_policy()).__name__
        """,
        r"""
        var.get(), results, done
        asyncio.run(drain())
        ev.is_set(), lock.locked(), sem._value
        loop.is_closed()
        task.done()
        asyncio.run(work(7)) ;; done
        first, agen.__name__
        policy()
        var.reset(token) ;; var.get()
        coro.close()
        """,
        named="loop task coro agen token var q",
    ),
    "threads, queues and locks": session(
        r"""
        import threading, queue, time, concurrent.futures, collections
        local = threading.local(); local.name = "main"; local.stack = [1]
        q = queue.PriorityQueue(); q.put((2, "b")); q.put((1, "a")); q.get(); lifo = queue.LifoQueue(2); lifo.put("x"); simple = queue.SimpleQueue(); simple.put(5)
        done = threading.Event(); done.set(); gate = threading.Event(); held = threading.Lock(); held.acquire(); free = threading.Lock(); re = threading.RLock(); sem = threading.BoundedSemaphore(3); sem.acquire()
        cond = threading.Condition(free); bar = threading.Barrier(2)
        results = {}
        def worker(n): results[n] = n * n
        ts = [threading.Thread(target=worker, args=(n,), name=f"w{n}") for n in range(3)]; [t.start() for t in ts]; [t.join() for t in ts]
        with concurrent.futures.ThreadPoolExecutor(2) as pool: futs = [pool.submit(pow, 2, n) for n in range(3)]; got = [f.result() for f in futs]
        class Safe:
            def __init__(self): self._lock = threading.RLock(); self.items = collections.deque(maxlen=3)
            def add(self, x):
                with self._lock: self.items.append(x); return len(self.items)
        safe = Safe(); safe.add(1)
        counter = {"n": 0, "lock": threading.Lock()}
        names = threading.current_thread().name; threading.current_thread().name = "Analyst"
        """,
        r"""
        local.name, local.stack
        q.get(), q.unfinished_tasks, q.qsize()
        lifo.get(), lifo.maxsize, simple.get()
        done.is_set(), gate.is_set(), held.locked(), free.locked()
        sem._value, sem.release(), sem._value
        cond._lock is free, bar.parties
        results, got
        safe.add(2), list(safe.items)
        counter["lock"].acquire(blocking=False)
        [t.name for t in ts], [f.done() for f in futs]
        names, threading.current_thread().name
        """,
        named="local held ts pool futs simple q lifo cond",
    ),
    "child processes, pipes and shared memory": session(
        r"""
        import subprocess, os, multiprocessing as mp, multiprocessing.shared_memory as shm, sys
        done = subprocess.run([sys.executable, "-c", "print('out'); raise SystemExit(3)"], capture_output=True, text=True)
        live = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True); live.stdin.write("hi\n"); live.stdin.flush()
        r, w = os.pipe(); os.write(w, b"piped"); reader = os.fdopen(r, "rb")
        try: subprocess.run(["false"], check=True)
        except subprocess.CalledProcessError as error: failed = error
        ended = subprocess.Popen(["true"]); code = ended.wait()
        mp_ctx = mp.get_context("spawn"); mp.set_start_method("spawn", force=True)
        env = {**os.environ, "X": "1"}; cmd = ["echo", "é"]
        pipeline = lambda text: subprocess.run(["tr", "a-z", "A-Z"], input=text, capture_output=True, text=True).stdout
        os.mkfifo("pipe")
        """,
        r"""
        done.returncode, done.stdout, done.args[1:]
        live.poll()
        reader.read(5)
        failed.returncode, failed.cmd
        ended.returncode, code
        mp.get_start_method(), mp_ctx.get_start_method()
        pipeline("shout"), cmd
        os.path.exists("pipe")
        os.fstat(w)
        """,
        named="live reader ended pipe w r mp_ctx",
    ),
    "ways to import": session(
        r"""
        import importlib, importlib.util, sys, os, zipfile, types, importlib.abc, runpy, pathlib
        pathlib.Path("plain.py").write_text("COUNT = 0\ndef bump():\n    global COUNT\n    COUNT += 1\n    return COUNT\n")
        spec = importlib.util.spec_from_file_location("renamed", "plain.py"); renamed = importlib.util.module_from_spec(spec); spec.loader.exec_module(renamed); renamed.bump()
        import plain; plain.bump(); plain.bump(); sys.modules["alias_of_plain"] = plain
        with zipfile.ZipFile("lib.zip", "w") as z: z.writestr("zipped.py", "VALUE = [1]\ndef get(): return VALUE\n")
        sys.path.insert(0, "lib.zip"); import zipped; zipped.VALUE.append(2)
        os.makedirs("ns/part"); pathlib.Path("ns/part/mod.py").write_text("x = 1\n"); import ns.part.mod as nsmod; nsmod.x = 7
        pathlib.Path("lazy.py").write_text("def __getattr__(name):\n    return 'made ' + name\n_seen = []\n"); import lazy; lazy._seen.append(1); lazy.fixed = 3
        class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None): return importlib.util.spec_from_loader(name, self) if name.startswith("magic_") else None
            def create_module(self, spec): return None
            def exec_module(self, module): module.word = module.__name__.removeprefix("magic_")
        finder = Finder(); sys.meta_path.append(finder); import magic_hat
        pathlib.Path("prog.py").write_text("import sys\nresult = {'argv': list(sys.argv)}\n"); ran = runpy.run_path("prog.py")
        pathlib.Path("gone.py").write_text("y = 5\ndef h(): return y\n"); import gone; os.remove("gone.py"); gone.y = 6
        from plain import *
        """,
        r"""
        renamed.bump(), plain.bump(), renamed is plain
        sys.modules["alias_of_plain"] is plain, bump is plain.bump, COUNT
        zipped.get(), zipped.__file__.endswith("lib.zip/zipped.py")
        nsmod.x, sys.modules["ns.part.mod"] is nsmod
        lazy.whatever, lazy._seen, lazy.fixed
        magic_hat.word, finder in sys.meta_path
        __import__("magic_rabbit").word
        ran["result"]
        gone.h(), gone.y
        importlib.reload(plain) is plain, plain.COUNT
        """,
        named="gone py magic_hat renamed spec",
    ),
    "helper modules that are edited on the way": session(
        r"""
        import pathlib, importlib, sys
        sys.dont_write_bytecode = True
        pathlib.Path("clean.py").write_text("STEPS = []\nVERSION = 1\nclass Cleaner:\n    made = 0\n    def __init__(self): Cleaner.made += 1\n    def run(self, x): STEPS.append('v1'); return x\n")
        import clean
        first = clean.Cleaner(); first.run(1); runner = first.run
        # %%
        pathlib.Path("clean.py").write_text("STEPS = globals().get('STEPS', [])\nVERSION = 2\nclass Cleaner:\n    made = 0\n    def __init__(self): Cleaner.made += 1\n    def run(self, x): STEPS.append('v2'); return x * 2\n    def undo(self): return STEPS.pop()\n")
        importlib.reload(clean)
        second = clean.Cleaner(); second.run(2)
        # %%
        from clean import Cleaner as Now
        class Better(Now):
            def run(self, x): return super().run(x) + 1
        third = Better(); out = [c.run(10) for c in (first, second, third)]
        clean.VERSION = 3
        def patched(self, x): clean.STEPS.append("patched"); return -x
        clean.Cleaner.run = patched
        # %%
        sys.modules.pop("clean"); import clean as fresh
        """,
        r"""
        type(first) is type(second), type(second) is clean.Cleaner, isinstance(third, clean.Cleaner)
        out, clean.VERSION, clean.STEPS
        runner(3), first.run(4)
        second.run(5), third.run(5)
        clean.Cleaner.made, type(first).made
        fresh is clean, fresh.VERSION, fresh.Cleaner is Now
        clean.STEPS is fresh.STEPS, len(fresh.STEPS)
        fresh.Cleaner().run(1), fresh.STEPS
        second.undo() ;; len(clean.STEPS)
        """,
    ),
    "warnings once, hidden and raised": session(
        r"""
        import warnings, pathlib, sys
        pathlib.Path("old_api.py").write_text("import warnings\ndef old():\n    warnings.warn('old is old', DeprecationWarning, stacklevel=1)\n    return 1\n")
        import old_api
        seen = []
        def show(message, category, filename, lineno, file=None, line=None): seen.append((category.__name__, str(message)))
        warnings.showwarning = show; warnings.simplefilter("default"); old_api.old(); old_api.old()
        warnings.formatwarning = lambda *a, **k: "short\n"
        class Strict(UserWarning): pass
        warnings.filterwarnings("error", "fatal.*", Strict); warnings.filterwarnings("ignore", module="nothing", lineno=3); warnings.filterwarnings("once", category=FutureWarning)
        warnings.warn("soon", FutureWarning); warnings.warn("soon", FutureWarning)
        def noisy(): warnings.warn("noise", UserWarning); return "n"
        noisy()
        """,
        r"""
        list(seen)
        old_api.old() ;; len(seen)
        warnings.warn("soon", FutureWarning) ;; len(seen)
        warnings.warn("fatal thing", Strict)
        warnings.showwarning is show, warnings.formatwarning.__name__
        noisy() ;; len(seen)
        [f[0] for f in warnings.filters][:4], warnings.filters[2][1] is None or warnings.filters[2][1].pattern
        warnings.resetwarnings(); warnings.warn("other") ;; len(seen)
        """,
    ),
}
