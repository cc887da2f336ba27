"""Open files, links, times and what stands behind a path, as programs leave them."""

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
        known="c.read()",
    ),
    "text files read in odd ways": session(
        r"""
        import io, codecs
        open("u8.txt", "w", encoding="utf-8").write("äöü\n日本語\nplain\nlast")
        a = open("u8.txt", encoding="utf-8"); a.read(2); spot = a.tell()
        for line in (b := open("u8.txt", encoding="utf-8")): break
        c = open("u8.txt", "rb"); d = codecs.getreader("utf-8")(c); d.readline()
        e = codecs.open("u8.txt", encoding="utf-8"); e.readline()
        f = open("u16.txt", "w+", encoding="utf-16-le"); f.write("xyz"); f.seek(2); f.read(1)
        g = open("mix.txt", "wb"); g.write(b"1\n2\r\n3\r4"); g.close(); g2 = open("mix.txt"); g2.readline(); g2.readline()
        h = open("app.txt", "a", encoding="utf-8-sig"); h.write("x")
        i = open("se.txt", "w+", encoding="ascii", errors="surrogateescape"); i.write("\udcff"); i.seek(0)
        k = open("u8.txt", encoding="utf-8"); k.reconfigure(errors="ignore"); k.readlines(1)
        m = open("rw.txt", "w+"); m.write("0123456789"); m.seek(3); m.read(2); m.seek(m.tell()); m.write("AB");
        n = io.FileIO("rw.txt", "r"); n.seek(4); p = io.BufferedReader(n, 2); p.read(1)
        q = io.StringIO("a\r\nb\n", newline=None); q.readline(); r = io.StringIO(newline="\r\n"); r.write("x\n"); t = io.TextIOWrapper(open("raw.bin", "wb"), encoding="utf-8", write_through=True); t.write("thru")
        """,
        r"""
        a.tell() == spot, a.readline(), a.tell()
        next(b), b.readline()
        d.readline()
        e.readline()
        f.read(), f.seek(0), f.write("Q"), f.flush(), open("u16.txt", "rb").read()
        g2.readline(), g2.read()
        h.write("y"), h.flush(), open("app.txt", "rb").read()
        i.read(), i.errors
        k.errors, k.readline()
        m.read(2), m.seek(0), m.read()
        p.raw is n
        q.read(), r.getvalue(), r.write("y\n"), r.getvalue()
        t.write("ough"), open("raw.bin").read(), t.write_through
        """,
        named="d e c",
        known="p.raw is n",
    ),
    "handles in closures, classes and modules": session(
        r"""
        import pathlib, io, sys, functools
        pathlib.Path("store.py").write_text("log = open('store.log', 'w+')\nseen = []\ndef put(x):\n    log.write(x + '\\n'); seen.append(x); return log.tell()\n")
        import store
        store.put("a")
        def opener(name):
            f = open(name, "w+"); n = 0
            def write(x):
                nonlocal n; n += 1; f.write(x); return n
            def text(): f.flush(); return pathlib.Path(name).read_text()
            return write, text
        write, text = opener("c.txt"); write("one ")
        class Journal:
            def __init__(self, name): self.f = open(name, "a"); self.count = 0
            def __enter__(self): return self
            def __exit__(self, *a): self.f.close()
            def add(self, x): print(x, file=self.f); self.count += 1
        j = Journal("j.txt"); j.add("first"); shared = {"journal": j, "file": j.f}
        out = functools.partial(print, file=j.f, sep="|", flush=True); out(1, 2)
        # %%
        # raises
        with Journal("closed.txt") as closed: closed.add("x"); 1 / 0
        # %%
        # raises
        half = open("half.txt", "w"); half.write("not flushed yet"); half.nothing
        # %%
        def read_all(src=open("j.txt")): return src.read()
        first = read_all()
        """,
        r"""
        store.put("b"), store.seen, store.log.flush(), open("store.log").read()
        write("two "), text()
        j.add("second"), j.count, shared["file"] is j.f, shared["journal"] is j
        out("q", "r") ;; open("j.txt").read()
        closed.count, closed.f.closed, open("closed.txt").read()
        half.write("!"), half.flush(), open("half.txt").read()
        first, read_all(), read_all.__defaults__[0].name
        store.log.name, store.log.mode, out.keywords["file"] is j.f
        """,
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
    "images, sounds and bytes": session(
        r"""
        import PIL.Image, PIL.ImageFilter, PIL.ImageFont, PIL.ImageOps, wave, struct, array, io, base64, binascii, hashlib, hmac, zlib, numpy as np, mmap, colorsys, codecs, uuid, ipaddress, secrets, os, pathlib
        img = PIL.Image.fromarray(np.arange(48, dtype="u1").reshape(4, 4, 3)); crop = img.crop((0, 0, 2, 2)); frames = [img.rotate(90 * n) for n in range(3)]; frames[0].save("a.gif", save_all=True, append_images=frames[1:]); gif = PIL.Image.open("a.gif"); gif.seek(1); px = img.load(); img.info["dpi"] = (72, 72); mask = img.convert("1"); alpha = img.copy(); alpha.putalpha(128)
        w = wave.open("s.wav", "wb"); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(struct.pack("<3h", 1, 2, 3)); w.close(); rd = wave.open("s.wav"); rd.readframes(1)
        buf = bytearray(b"0123456789"); mv = memoryview(buf)[2:5]; arr = array.array("H", [1, 2]); arr_np = np.frombuffer(buf, dtype="u1"); st = struct.Struct("<hI"); rec = np.frombuffer(st.pack(1, 2) * 2, dtype=[("a", "<i2"), ("b", "<u4")])
        h = hashlib.sha256(b"a"); h.update(b"b"); digest = h.hexdigest(); mac = hmac.new(b"k", b"m", "sha256"); crc = zlib.crc32(b"abc"); inc = codecs.getincrementaldecoder("utf-8")(); part = inc.decode(b"\xc3")
        u = uuid.UUID(int=5); net = ipaddress.ip_network("10.0.0.0/30"); hosts = net.hosts(); first = next(hosts); chunks = iter(lambda: src.read(4), b""); src = io.BytesIO(b"abcdefghij"); next(chunks); packed = base64.b64encode(buf)
        font = PIL.ImageFont.load_default(); kern = PIL.ImageFilter.Kernel((3, 3), [1] * 9); pal = img.quantize(4); exif = img.getexif(); exif[271] = "me"
        """,
        r"""
        img.getpixel((1, 1)), crop.size, img.info["dpi"], mask.mode, alpha.getpixel((0, 0)), [f.size for f in frames]
        img.putpixel((0, 0), (9, 9, 9)) ;; px[0, 0], crop.getpixel((0, 0))
        gif.tell(), gif.n_frames, gif.convert("RGB").size
        rd.readframes(1), rd.tell()
        buf[2] = 65 ;; mv[0], arr_np[2], packed
        arr.append(3), arr.tolist(), st.unpack(st.pack(3, 4)), rec["b"].tolist()
        h.update(b"c") ;; h.hexdigest()[:6], digest[:6]
        mac.hexdigest()[:6], crc, inc.decode(b"\xa9"), part
        u, list(net)[1], list(hosts), first, next(chunks), src.tell()
        pal.getpalette()[:3], exif[271], kern.filterargs[0], font.getname() if hasattr(font, "getname") else None
        """,
        named="px gif rd h mac mv arr_np inc hosts w font chunks src",
    ),
    "names of arguments in a partial, ends of lines that were met, a part of a buffer": session(
        """
        import functools, itertools, orjson, pathlib
        import numpy as np
        import pyarrow as pa
        options = {"option": orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2, "default": str}
        made = "".join(["al", "pha"])
        known = {made: 1, "me": made}
        pack = functools.partial(orjson.dumps, **options)
        pack.note = [1]
        given, again = pack.keywords, functools.partial(pack, option=orjson.OPT_SORT_KEYS)
        late = iter(options)
        next(late)
        # %%
        pathlib.Path("a.csv").write_bytes(b"a;b\\r\\n1;2\\r\\n3;4\\r\\n")
        pathlib.Path("b.csv").write_bytes(b"a;b\\r\\n1;2\\n" * 2_000)
        half, mixed, fresh = open("a.csv"), open("b.csv", newline=""), open("a.csv")
        half.readline()
        rows = list(itertools.islice(mixed, 1_500))
        pathlib.Path("c.csv").write_bytes("é\\n".encode() * 3_000 + b"a\\r\\n" * 3_000)
        wide, late = open("c.csv"), open("c.csv")
        wide.read(5)
        # %%
        base = np.arange(4)
        whole = pa.py_buffer(base)
        part = whole.slice(8, 16)
        """,
        """
        orjson.dumps({"b": 1, "a": {2}}, **options)
        next(iter(known)) is known["me"]
        pack({"b": 1, "a": {2}}), pack.note, given is pack.keywords, list(given)
        again({"b": 1, "a": {2}}), again.func is orjson.dumps
        list(late)
        half.newlines, half.readline(), half.newlines
        mixed.newlines, mixed.readline()
        fresh.newlines, fresh.readline(), fresh.newlines
        wide.newlines, wide.readline()
        base[1] = -3 ;; int(np.frombuffer(part, "int64")[0]), part.parent.size, part.slice(1, 2).parent.size, part.is_mutable, whole.is_mutable, whole.parent
        """,
    ),
}
