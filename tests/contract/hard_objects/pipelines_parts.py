"""Sessions of data engineers, each about one kind of thing: changed modules, descriptors, rows, readers, zones, maps."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "modules that others import from, changed after they were imported": session(
        """
        import pathlib
        pathlib.Path("conf.py").write_text("RATE = 1\\nclass Base:\\n    def go(self): return ('old', RATE)\\ndef old(x): return ('old', x, RATE)\\n"); pathlib.Path("jobs.py").write_text("from conf import Base, old\\nimport conf\\nclass Job(Base):\\n    def run(self): return self.go(), old(1), conf.old(2)\\n")
        import jobs, conf; from conf import Base; from jobs import Job; j = Job(); conf.RATE = 5
        # %%
        pathlib.Path("conf.py").write_text("RATE = 2\\nclass Base:\\n    def go(self): return 'new'\\n    def more(self): return 1\\ndef old(x): return ('new', x)\\n")
        # %%
        other = 1
        """,
        """
        j.run(), isinstance(j, conf.Base), conf.Base is Base, jobs.Base is Base, conf.old is jobs.old, hasattr(j, "more")
        conf.RATE = 6 ;; j.run(), type(j) is Job
        conf.__spec__.loader.__class__.__name__, conf.__loader__.__class__.__name__, conf.__file__.endswith("conf.py"), conf.__spec__.loader is conf.__loader__
        import importlib; importlib.reload(conf) ;; j.run(), isinstance(j, conf.Base), conf.old(1), conf.RATE, conf.Base().more()
        importlib.reload(jobs) ;; jobs.Job().run(), type(j) is jobs.Job
        """,
    ),
    "a package of which files were changed, and one that was reloaded in between": session(
        """
        import pathlib, importlib
        p = pathlib.Path("kit"); p.mkdir(); (p / "__init__.py").write_text("from .core import Step, run\\nfrom . import core\\ndef make(n): return Step(n)\\n"); (p / "core.py").write_text("import functools\\nlog = []\\ndef logged(f):\\n    @functools.wraps(f)\\n    def inner(*a):\\n        log.append(f.__name__)\\n        return f(*a)\\n    return inner\\nclass Step:\\n    def __init__(self, n): self.n = n\\n    def go(self): return 'v1', self.n\\n@logged\\ndef run(s): return s.go()\\n"); (p / "extra.py").write_text("def f(): return 1\\n")
        import kit, kit.extra; from kit import make, run; s = make(1); run(s); f1 = kit.extra.f
        # %%
        (p / "__init__.py").write_text("def make(n): return 'other'\\n"); (p / "core.py").write_text("class Step: pass\\ndef gone(): pass\\n"); (p / "extra.py").write_text("def f(): return 22\\n"); importlib.reload(kit.extra)
        # %%
        (p / "extra.py").write_text("def f(): return 333 # a third\\n")
        """,
        """
        run(s), kit.core.log, type(s) is kit.Step, kit.core.Step is kit.Step, kit.make(2).go(), run is kit.run
        kit.extra.f(), f1(), f1 is kit.extra.f, hasattr(kit.core, "gone")
        kit.__path__ == list(kit.__path__), kit.core.__package__, kit.core.Step.go.__qualname__
        importlib.reload(kit.extra) ;; kit.extra.f(), f1()
        importlib.reload(kit) ;; kit.make(1), make(3).go(), type(s) is kit.core.Step
        """,
    ),
    "files of which there are only the numbers of descriptors": session(
        """
        import os, tempfile, sqlite3
        few = list(range(12)); import pandas as pd; n = pd.DataFrame({"a": range(5)}).pipe(len); four, five, six, seven, eight = 4, 5, 6, 7, 8; fd = os.open("low.bin", os.O_RDWR | os.O_CREAT); os.write(fd, b"lowlevel"); os.lseek(fd, 3, 0); ap = os.open("low.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.write(ap, b"one,")
        t, name = tempfile.mkstemp(suffix=".csv"); os.write(t, b"k,v\\n"); db = sqlite3.connect("x.db"); db.execute("create table t(x)"); db.commit(); out = open("o.txt", "w"); out.write("a"); r, w = os.pipe(); d = os.open(".", os.O_RDONLY); pair = {"spill": os.open("spill", os.O_RDWR | os.O_CREAT)}; os.write(pair["spill"], b"12"); os.set_inheritable(fd, True); gone = os.open("gone", os.O_RDWR | os.O_CREAT); os.unlink("gone"); small = 1; big = 900; many = [os.open("m1", os.O_RDWR | os.O_CREAT)]; many.append(os.dup(many[0])); first = tempfile.mkstemp()[0]; fo = out.fileno(); size = os.fstat(out.fileno()).st_size
        """,
        """
        os.read(fd, 3), os.write(fd, b"END"), os.get_inheritable(fd), os.get_inheritable(t)
        open("low.bin").read(), os.write(t, b"1,2\\n"), open(name).read()
        db.execute("insert into t values (1)").rowcount, db.execute("select count(*) from t").fetchone()
        out.write("b"), out.flush(), open("o.txt").read(), small, big, n, few, four, five, six, seven, eight, size
        os.write(ap, b"two"), open("low.log").read(), os.lseek(pair["spill"], 0, os.SEEK_CUR), os.write(pair["spill"], b"3"), open("spill").read()
        os.write(w, b"x"), os.read(r, 1)
        os.write(gone, b"x")
        os.write(many[1], b"dup"), open("m1").read(), os.write(first, b"z"), os.fstat(fo).st_size
        sorted(os.listdir(d)), os.stat("low.bin", dir_fd=d).st_size
        """,
        named="gone r w",
    ),
    "rows of sqlite, readers of csv, and text that is read while it is written": session(
        """
        import sqlite3, decimal, csv, io
        class R(sqlite3.Row): pass
        con = sqlite3.connect(":memory:"); con.row_factory = sqlite3.Row; con.executescript('create table t("a b" int, "q""x" text, d)'); con.execute("insert into t values (1, 'z', 2.5)"); con.commit()
        rows = con.execute("select * from t").fetchall(); r = rows[0]; same = [r, r]; con.row_factory = R; sub = con.execute("select 1 as x, 2 as x").fetchone(); sub.tag = same
        with open("a.csv", "w") as f: f.write("k,v\\n" + "".join(f"{i},{i * i}\\n" for i in range(50)))
        with open("a.csv") as f: done = csv.DictReader(f); dicts = list(done)
        f2 = open("a.csv", newline=""); rd = csv.DictReader(f2); one = next(rd); f3 = open("a.csv"); plain = csv.reader(f3); head = next(plain); [next(plain) for _ in range(9)]; lst = csv.reader(["a;b", "c;'d\\ne'", "f"], delimiter=";", quotechar="'"); next(lst); pairs = map(lambda r: int(r[1]) * k, plain); k = 2; next(pairs)
        w1 = open("in.csv", "w+", newline=""); w1.write("k,v\\n1,10\\n2,20\\n3,30\\n"); w1.seek(0); a = next(w1), next(w1); g = open("é.txt", "w+", encoding="utf-8"); g.write("é" * 5 + "\\nzwei\\ndrei\\n"); g.seek(0); b = next(g); h = open("h.txt", "w+"); h.write("pend"); i = open("i.txt", "a+"); i.write("x\\ny\\n"); i.seek(0); next(i)
        """,
        """
        tuple(r), r.keys(), r["a b"], r['q"x'], r["D"], same[0] is same[1], same[0] is rows[0]
        r == con.cursor().execute("select * from t").fetchone(), hash(r) == hash(rows[0]), type(sub) is R, sub.keys(), sub["x"], sub.tag is same
        r["nope"]
        len(dicts), done.line_num, next(done)
        next(rd), rd.line_num, rd.fieldnames, rd.reader.line_num
        next(pairs), plain.line_num, next(plain), plain.dialect.delimiter
        k = 5 ;; next(pairs), f3.closed
        next(lst), lst.line_num, lst.dialect.quotechar, list(lst), lst.line_num
        sum(1 for _ in plain), plain.line_num, len(list(rd)), rd.line_num
        next(w1), w1.write("end\\n"), w1.seek(0), w1.read()
        next(g), g.read(), h.write("ing"), h.flush(), open("h.txt").read()
        i.read(), i.write("z"), i.flush(), open("i.txt").read()
        """,
    ),
    "time zones that are the same for all, other directions, parts of maps": session(
        """
        import dateutil.tz as tz, datetime as dt, pandas as pd, bidict, numpy as np
        ny = tz.gettz("America/New_York"); alone = tz.tzfile("/usr/share/zoneinfo/America/New_York"); st = tz.gettz("EST5EDT,M3.2.0,M11.1.0"); a = dt.datetime(2024, 3, 9, 12, tzinfo=ny); ts = pd.Timestamp("2024-01-01", tz=ny); ser = pd.Series(pd.date_range("2024-03-09", periods=3, tz=ny))
        class Two(bidict.bidict): on_dup = bidict.ON_DUP_DROP_OLD
        bd = bidict.bidict(a=1); inv = bd.inverse; fz = bidict.frozenbidict(x=1); hash(fz); od = bidict.OrderedBidict(a=1, b=2); odi = od.inverse; tw = Two(q=1); tw.note = ["mine"]; OD = type("OD", (bidict.OrderedBidict,), {"extra": 1}); o2 = OD(a=1); o2.hung = tw; bo = type("Own", (bidict.bidict,), {"__reduce__": lambda self: (Own, (dict(self),)), "__module__": "__main__"}); Own = bo; own = Own(k=1); own.kept = tw; lone = bidict.bidict(z=3).inverse
        mm = np.memmap("m.dat", dtype="f4", mode="w+", shape=(3, 4)); mm[0] = 1; mm.flush(); part = mm[1:]; cow = np.memmap("m.dat", dtype="f4", mode="c", shape=(12,)); cow[0] = 50; rev = mm[::-1, 1]; ro = np.memmap("m.dat", dtype="f4", mode="r", shape=(3, 4)); rp = ro[0]; cp = cow[2:]; plain = np.asarray(mm)[1]; T = mm.T
        """,
        """
        ny is tz.gettz("America/New_York"), st is tz.gettz("EST5EDT,M3.2.0,M11.1.0"), alone is ny
        dt.datetime(2024, 3, 11, 12, tzinfo=tz.gettz("America/New_York")) - a, a.tzinfo is ny, ts.tzinfo is ny, ser.dt.tz is ny
        bd.put("b", 2) ;; inv[2], inv.inverse is bd, bd.inverse is inv
        inv[3] = "c" ;; bd, hash(fz) == hash(bidict.frozenbidict(x=1)), lone, lone.inverse
        od["c"] = 3 ;; odi, odi.inverse is od
        tw["r"] = 1 ;; tw, tw.inverse, type(tw.inverse).__name__, tw.note, o2, o2.hung is tw, own, own.kept is tw
        part[0, 0] = 7; mm.flush() ;; ro[1, 0], mm[1, 0], part.base is mm, np.fromfile("m.dat", "f4")[4], type(part).__name__, part.offset, T[0, 1], T.base is mm
        cow[0], cow.mode, cp.mode, cp.offset, cow.offset
        rev[0] = 3; plain[1] = 8 ;; mm[2, 1], rev.base is mm, rp.flags.writeable, rp.base is ro, mm[1, 1], rev.tolist()
        """,
    ),
    "functions over arrays and what draws into pictures, after they were used": session(
        """
        import numpy as np, PIL.Image, PIL.ImageDraw
        def grade(v): seen.append(v); return v * k
        seen, k = [], 2; vec = np.vectorize(grade, otypes=[float]); first = vec([1, 2]); sig = np.vectorize(lambda r: r.sum() * k, signature="(n)->()"); sig(np.ones((2, 3))); uf = np.frompyfunc(lambda a, b: a + b * k, 2, 1); red = uf.reduce; start = np.frompyfunc(max, 2, 1, identity=0); table = {"up": uf, "add": np.add}
        im = PIL.Image.new("RGB", (8, 8), "black"); draw = PIL.ImageDraw.Draw(im); draw.point((1, 1), "red"); draw.fontmode = "1"; over = PIL.ImageDraw.Draw(im, "RGBA"); pal = im.convert("P"); dp = PIL.ImageDraw.Draw(pal); job = {"image": im, "draw": draw}; draw.note = ["mine"]
        """,
        """
        k = 5 ;; vec([1, 2]).tolist(), seen, first.tolist(), sig(np.ones((2, 3))).tolist()
        uf([1, 2], 3).tolist(), red([1, 2, 3]), start.identity, start.reduce([]), uf.nin, table["up"] is uf, table["add"] is np.add
        vec.pyfunc is grade, red.__self__ is uf
        draw.rectangle((0, 0, 2, 2), fill="white") ;; im.getpixel((1, 1)), im.getpixel((2, 2)), draw.fontmode, draw.note
        over.rectangle((0, 0, 7, 7), fill=(255, 0, 0, 128)) ;; im.getpixel((5, 5)), over.mode, job["draw"] is draw, job["image"] is im
        dp.point((0, 0), fill="blue") ;; pal.convert("RGB").getpixel((0, 0)), dp.palette is pal.palette
        """,
    ),
}
