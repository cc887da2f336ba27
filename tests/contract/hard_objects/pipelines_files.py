"""Sessions of data engineers: streams and archives, formats, helper modules, caches, settings and temporary files."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "zip and tar archives while they are written and read": session(
        """
        import zipfile, tarfile, io, pathlib
        zb = io.BytesIO(); zw = zipfile.ZipFile(zb, "w", zipfile.ZIP_DEFLATED, compresslevel=9); zw.writestr("a.txt", "alpha"); zw.comment = b"nightly"; info = zipfile.ZipInfo("b.bin", (2024, 1, 2, 3, 4, 6)); info.external_attr = 0o644 << 16; zw.writestr(info, b"\\0" * 100)
        zipfile.ZipFile("in.zip", "w").writestr("x.csv", "k,v\\n1,2\\n3,4\\n"); zr = zipfile.ZipFile("in.zip"); member = zr.open("x.csv"); line = member.readline(); text = io.TextIOWrapper(zr.open("x.csv"), "utf-8"); header = next(text); zp = zipfile.Path(zr) / "x.csv"
        disk = zipfile.ZipFile("grow.zip", "w"); disk.writestr("first.txt", "1"); ents = disk.infolist()
        tb = io.BytesIO(); tw = tarfile.open(fileobj=tb, mode="w:gz"); ti = tarfile.TarInfo("d/one"); ti.size = 3; tw.addfile(ti, io.BytesIO(b"one"))
        with tarfile.open("in.tar", "w") as t:
            for n in "abc": i = tarfile.TarInfo(n); i.size = 1; t.addfile(i, io.BytesIO(n.encode()))
        tr = tarfile.open("in.tar"); m0 = tr.next(); full = tarfile.open("in.tar"); ex = full.extractfile("b"); names = iter(full); n0 = next(names); zclosed = zipfile.ZipFile("in.zip"); zclosed.close()
        """,
        """
        zw.writestr("c.txt", "gamma"); zw.close() ;; zipfile.ZipFile(zb).namelist(), zipfile.ZipFile(zb).comment, zipfile.ZipFile(zb).getinfo("b.bin").date_time
        member.readline(), line, member.tell(), text.readline(), header
        zp.read_text()[:3], zp.name, zr.fp is zp.root.fp, zp.exists()
        disk.writestr("second.txt", "22") ;; len(ents), ents is disk.filelist, disk.namelist()
        disk.close() ;; zipfile.ZipFile("grow.zip").testzip(), zipfile.ZipFile("grow.zip").read("second.txt")
        i2 = tarfile.TarInfo("two"); tw.addfile(i2); tw.close() ;; tarfile.open(fileobj=io.BytesIO(tb.getvalue())).getnames()
        tr.next().name, m0.name, ex.read(), full.getmember("c") is full.getmembers()[2], next(names).name, n0.name
        zclosed.read("x.csv")
        zw.fp, info in zw.filelist, zw.NameToInfo["b.bin"] is info
        """,
        named="ex names text tw",
    ),
    "gzip, bz2, lzma, zlib and zstandard half way": session(
        """
        import gzip, bz2, lzma, zlib, io, zstandard, hashlib, hmac, itertools
        gb = io.BytesIO(); gw = gzip.GzipFile(fileobj=gb, mode="wb", mtime=0); gw.write(b"part one "); gt = gzip.open("log.gz", "wt"); gt.write("line 1\\n"); gzip.open("in.gz", "wb").write(b"r1\\nr2\\nr3\\n")
        gr = gzip.open("in.gz", "rt"); g1 = next(gr); bz2.open("in.bz2", "wt").write("x\\ny\\nz\\n"); br = bz2.open("in.bz2", "rt"); b1 = br.readline(); lw = lzma.open("out.xz", "wb", preset=1); lw.write(b"abc")
        co = zlib.compressobj(6); c1 = co.compress(b"hello " * 50); de = zlib.decompressobj(); payload = zlib.compress(b"abcdef" * 20) + b"tail"; d1 = de.decompress(payload[:8]); bc = bz2.BZ2Compressor(); bc.compress(b"q" * 10); ld = lzma.LZMADecompressor()
        zc = zstandard.ZstdCompressor(level=5); zz = zc.compress(b"data" * 9); zd = zstandard.ZstdDecompressor(); zo = zstandard.ZstdCompressor().compressobj(); z1 = zo.compress(b"stream"); zrd = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(zz)); zr1 = zrd.read(4)
        h = hashlib.sha256(b"chunk1"); hh = h.copy(); hh.update(b"other"); mac = hmac.new(b"key", b"m1", "sha1"); crc = zlib.crc32(b"a"); sh = hashlib.shake_128(b"z"); bl = hashlib.blake2b(b"q", key=b"k", person=b"etl")
        """,
        """
        gw.write(b"part two"); gw.close() ;; gzip.decompress(gb.getvalue())
        gt.write("line 2\\n"); gt.close() ;; gzip.open("log.gz", "rt").read()
        next(gr), g1, br.readline(), b1
        lw.write(b"def"); lw.close() ;; lzma.open("out.xz").read()
        zlib.decompress(c1 + co.compress(b"world") + co.flush())[-11:]
        d1 + de.decompress(payload[8:]) == b"abcdef" * 20, de.unused_data, de.eof
        bz2.decompress(bc.compress(b"w") + bc.flush())[-3:], ld.eof, ld.needs_input
        zd.decompress(zz)[:4], zstandard.ZstdDecompressor().decompressobj().decompress(z1 + zo.flush()), zrd.read(4), zr1
        h.update(b"chunk2") ;; h.hexdigest()[:10], hh.hexdigest()[:10], mac.hexdigest()[:10], sh.hexdigest(4), bl.hexdigest()[:8]
        mac.update(b"m2") ;; mac.hexdigest() == hmac.new(b"key", b"m1m2", "sha1").hexdigest()
        """,
        named="bc bl br co de gr gt gw h hh ld lw mac sh zc zd zo zrd",
    ),
    "json, custom encoders, hooks, streaming and canonical forms": session(
        """
        import json, decimal, datetime as dt, collections, orjson, functools, io, math
        class Enc(json.JSONEncoder):
            seen = []
            def default(self, o):
                Enc.seen.append(type(o).__name__)
                if isinstance(o, dt.datetime): return o.isoformat()
                if isinstance(o, set): return sorted(o)
                return super().default(o)
        enc = Enc(indent=None, sort_keys=True); chunks = enc.iterencode({"b": {3, 1}, "a": [1, 2, {"t": dt.datetime(2024, 1, 1)}]}); c0 = next(chunks)
        dec = json.JSONDecoder(object_pairs_hook=collections.OrderedDict, parse_float=decimal.Decimal); raw = '{"x": 1.10} {"y": 2} [3]'; obj, end = dec.raw_decode(raw); handlers = {"date": dt.date.fromisoformat}
        def hook(d): return {k: handlers.get(k, lambda v: v)(v) for k, v in d.items()}
        load = functools.partial(json.loads, object_hook=hook, parse_constant=lambda c: f"<{c}>"); doc = load('{"date": "2024-05-06", "n": NaN}'); frag = orjson.Fragment(b'{"pre":1}')
        with open("events.jsonl", "w") as f: f.writelines(json.dumps({"i": i}) + "\\n" for i in range(5))
        src = open("events.jsonl"); events = map(json.loads, src); e0 = next(events); big = filter(lambda e: e["i"] > threshold, events); threshold = 1; memo = {}; keyed = dec.decode('[{"k": 1}, {"k": 2}]'); same = keyed[0]; nan = json.loads("NaN"); nans = [nan]
        """,
        """
        c0 + "".join(chunks), Enc.seen
        enc.encode({"z": {2, 1}}), enc.item_separator, Enc.seen[-1], type(enc) is Enc
        obj, type(obj).__name__, dec.raw_decode(raw, end + 1), dec.parse_float is decimal.Decimal
        handlers["n"] = str.upper ;; load('{"n": "abc", "m": -Infinity}'), doc
        threshold = 3 ;; next(big), e0
        list(events), src.closed, src.readline()
        orjson.dumps({"f": frag, "d": dt.date(2024, 1, 1)}, option=orjson.OPT_SORT_KEYS), load.keywords["object_hook"] is hook
        same["k"] = 9 ;; keyed, nan in nans, nans[0] is nan
        enc.encode(object)
        """,
        named="chunks frag",
    ),
    "csv dialects, sniffers, readers and writers": session(
        """
        import csv, io, itertools, operator
        class Pipe(csv.Dialect): delimiter = "|"; quotechar = "'"; lineterminator = "\\n"; quoting = csv.QUOTE_MINIMAL; doublequote = True
        csv.register_dialect("pipe", Pipe); csv.register_dialect("semi", delimiter=";", quoting=csv.QUOTE_NONNUMERIC); old = csv.field_size_limit(5000)
        out = io.StringIO(); w = csv.writer(out, "pipe"); w.writerow(["a", "it's", 3]); dw = csv.DictWriter(open("rows.csv", "w", newline=""), ["id", "name"], extrasaction="ignore"); dw.writeheader(); dw.writerow({"id": 1, "name": "x", "zz": 0})
        text = io.StringIO("id|name\\n1|ann\\n2|'b|b'\\n3|cy\\n4|di\\n"); rd = csv.DictReader(text, dialect="pipe"); r1 = next(rd); nums = csv.reader(["1;2", "3;4", "5;6"], "semi"); n1 = next(nums); sniffed = csv.Sniffer().sniff("a;b\\n1;2\\n")
        src = open("in.csv", "w+", newline=""); src.write("k,v\\n1,10\\n2,20\\n3,30\\n"); src.seek(0); plain = csv.reader(src); head = next(plain); pairs = ((k, int(v)) for k, v in plain); first = next(pairs); groups = itertools.groupby(csv.reader(io.StringIO("a,1\\na,2\\nb,3")), key=operator.itemgetter(0)); g0, members = next(groups); m0 = next(members)
        """,
        """
        next(rd), r1, rd.line_num, rd.fieldnames
        w.writerow(["b|c", None, 1.5]) ;; out.getvalue()
        dw.writerow({"id": 2, "name": "y"}); dw.writer.writerows([["3", "z"]]) ;; dw.fieldnames, dw.extrasaction
        sorted(csv.list_dialects())[-2:], csv.get_dialect("semi").quoting, csv.field_size_limit(), old
        next(nums), n1, nums.line_num, sniffed.delimiter
        next(plain), plain.line_num, src.closed
        next(pairs), first, head
        list(members), m0, next(groups)[0]
        csv.reader(["x|'y|z'"], "pipe").__next__()
        csv.unregister_dialect("semi") ;; "semi" in csv.list_dialects()
        """,
        named="pairs",
    ),
    "xml, trees, iterparse in the middle, schemas and stylesheets": session(
        """
        import xml.etree.ElementTree as ET, xml.dom.minidom as md, xml.sax, io
        from lxml import etree, objectify, html
        xml_text = "<r xmlns:a='urn:a'><item id='1'><v>10</v></item><a:item id='2'><v>20</v>tail</a:item><item id='3'/></r>"
        root = ET.fromstring(xml_text); items = root.findall("item"); it = root.iter("v"); v0 = next(it); parents = {c: p for p in root.iter() for c in p}; tree = ET.ElementTree(root); ET.register_namespace("aa", "urn:a"); ip = ET.iterparse(io.StringIO(xml_text), events=("start", "end")); ev0 = next(ip); pull = ET.XMLPullParser(["end"]); pull.feed("<x><y>1</y>")
        lroot = etree.fromstring(xml_text); lv = lroot[0][0]; xp = etree.XPath("//v[. > $m]/text()"); ns = etree.FunctionNamespace("urn:f"); ns["double"] = lambda ctx, v: float(v[0].text) * 2; xslt = etree.XSLT(etree.XML("<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template match='/'><n><xsl:value-of select='count(//v)'/></n></xsl:template></xsl:stylesheet>"))
        xsd = etree.XMLSchema(etree.XML("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='n' type='xs:int'/></xs:schema>")); bad = xsd.validate(etree.XML("<n>x</n>")); doc = md.parseString(xml_text); node = doc.getElementsByTagName("v")[0]; lip = etree.iterparse(io.BytesIO(xml_text.encode()), tag="v"); le0 = next(lip)
        class Handler(xml.sax.ContentHandler):
            def __init__(self): super().__init__(); self.names = []
            def startElement(self, n, attrs): self.names.append((n, attrs.get("id")))
        h = Handler(); p = xml.sax.make_parser(); p.setContentHandler(h); p.feed("<a id='1'><b id='2'>")
        """,
        """
        items[0].set("id", "100"); v0.text = "11" ;; ET.tostring(root).decode()[:90], root[0] is items[0], parents[v0] is items[0]
        next(it).text, tree.getroot() is root, root.find("{urn:a}item/v").tail
        [(e, el.tag) for e, el in ip][:3], ev0[0], ev0[1].tag
        pull.feed("<z/></x>") ;; [e.tag for _, e in pull.read_events()]
        lv.text = "99" ;; lroot[0][0].text, lv.getparent() is lroot[0], lv.getroottree().getroot() is lroot, xp(lroot, m=15)
        etree.tostring(xslt(lroot)).decode(), bad, xsd.validate(etree.XML("<n>5</n>"))
        "FunctionNamespace", lroot.xpath("f:double(//v)", namespaces={"f": "urn:f"})
        node.firstChild.data = "77" ;; doc.documentElement.toxml().count("77"), node.ownerDocument is doc, node.parentNode.getAttribute("id")
        next(lip)[1].text, le0[1].text
        p.feed("<c/></b></a>"); p.close() ;; h.names, p.getContentHandler() is h
        """,
        named="FunctionNamespace ip it le0 lip lroot lv ns p pull xp xsd xslt",
    ),
    "yaml, toml and ini: round trips, anchors and constructors": session(
        """
        import yaml, tomlkit, toml, tomllib, configparser, collections, pathlib, os
        class Secret(yaml.YAMLObject):
            yaml_tag = "!secret"; yaml_loader = yaml.SafeLoader
            def __init__(self, name): self.name = name
        def env(loader, node): return settings_env.get(loader.construct_scalar(node), "unset")
        settings_env = {"HOST": "db1"}; yaml.SafeLoader.add_constructor("!env", env); yaml.SafeDumper.add_representer(collections.OrderedDict, lambda d, data: d.represent_dict(data.items()))
        conf = yaml.safe_load("base: &b {retries: 3, tags: [x]}\\nprod: *b\\nhost: !env HOST\\nkey: !secret {name: k1}\\n"); docs = yaml.safe_load_all("a: 1\\n---\\nb: 2\\n---\\nc: 3\\n"); d0 = next(docs); ev = yaml.parse("[1, 2]"); e0 = next(ev)
        doc = tomlkit.parse("# top\\n[db]\\nhost = 'x' # keep\\nports = [1, 2]\\n[[jobs]]\\nname = 'a'\\n"); db = doc["db"]; jobs = doc["jobs"]; arr = db["ports"]
        cp = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation(), converters={"list": lambda v: v.split(",")}, allow_no_value=True); cp.optionxform = str; cp.read_string("[DEFAULT]\\nRoot=/srv\\n[paths]\\ndata=${Root}/data\\nNames=a,b\\nflag\\n"); paths = cp["paths"]
        class Dumper(yaml.SafeDumper):
            def increase_indent(self, flow=False, indentless=False): return super().increase_indent(flow, False)
        """,
        """
        conf["base"]["tags"].append("y") ;; conf["prod"], conf["prod"] is conf["base"], conf["host"], conf["key"].name
        settings_env["HOST"] = "db2" ;; yaml.safe_load("!env HOST"), yaml.safe_load("!secret {name: z}").name, type(yaml.safe_load("!secret {name: z}")) is Secret
        next(docs), d0, type(next(ev)).__name__, type(e0).__name__
        db["host"] = "y"; arr.append(3) ;; tomlkit.dumps(doc)
        jobs.append(tomlkit.table().append("name", "b")) ;; len(doc["jobs"]), doc["jobs"] is jobs, doc["db"]["ports"] is arr, doc.unwrap()["jobs"]
        paths["data"], cp.getlist("paths", "Names"), paths.get("flag"), list(paths), paths.parser is cp
        cp["DEFAULT"]["Root"] = "/mnt" ;; paths["data"], paths.getlist("Names"), cp.has_option("paths", "names")
        yaml.dump({"k": [1, {"a": 2}]}, Dumper=Dumper), yaml.safe_dump(collections.OrderedDict(b=1))
        yaml.safe_dump(conf["base"]), yaml.safe_dump({"p": conf["base"], "q": conf["prod"]})
        """,
        named="docs ev",
    ),
    "helper modules written, changed, reloaded and patched": session(
        """
        import pathlib, importlib, sys
        pathlib.Path("etl_config.py").write_text("BATCH = 100\\nREGISTRY = {}\\n_cache = {}\\ndef register(name):\\n    def deco(f):\\n        REGISTRY[name] = f\\n        return f\\n    return deco\\nclass Config:\\n    debug = False\\n    sources = []\\n    def __init__(self, n=1): self.n = n\\n    def scaled(self): return self.n * BATCH\\ndef lookup(k, seen=[]):\\n    seen.append(k)\\n    return _cache.setdefault(k, len(_cache))\\n")
        import etl_config; from etl_config import Config, register, REGISTRY, lookup
        @register("double")
        def double(x): return x * factor
        factor = 2; c = Config(3); lookup("a"); lookup("b"); etl_config.BATCH = 7; Config.debug = True; Config.sources.append("s3")
        # %%
        pathlib.Path("etl_steps.py").write_text("from etl_config import register, Config\\nimport etl_config as cfg\\nlast = None\\n@register('half')\\ndef half(x):\\n    global last\\n    last = x\\n    return x / 2\\nclass Step(Config):\\n    def run(self): return self.scaled() + 1\\n")
        import etl_steps; s = etl_steps.Step(2); etl_steps.half(10); original = etl_config.lookup; etl_config.lookup = lambda k: "patched"; etl_steps.extra = s
        # %%
        old_module_dict = etl_steps.__dict__; old_Step = etl_steps.Step; pathlib.Path("etl_steps.py").write_text(pathlib.Path("etl_steps.py").read_text().replace("+ 1", "+ 1000")); importlib.invalidate_caches()
        pathlib.Path("etl_late.py").write_text("x = 1\\n"); sys.modules["alias_cfg"] = etl_config
        """,
        """
        c.scaled(), s.run(), etl_config.BATCH, etl_steps.cfg is etl_config
        sorted(REGISTRY), REGISTRY is etl_config.REGISTRY, REGISTRY["double"] is double, REGISTRY["half"] is etl_steps.half
        factor = 5 ;; REGISTRY["double"](4), etl_steps.last
        lookup("c"), original is lookup, etl_config.lookup("a"), lookup.__defaults__
        Config.debug, etl_steps.Step.debug, etl_steps.Step.sources is Config.sources, Config.sources
        etl_config.BATCH = 9 ;; c.scaled(), s.scaled()
        isinstance(s, Config), type(s) is etl_steps.Step, etl_steps.extra is s, old_Step is etl_steps.Step
        old_module_dict is etl_steps.__dict__, sorted(old_module_dict)[:1] != []
        import alias_cfg, etl_late ;; alias_cfg is etl_config, etl_late.x
        importlib.reload(etl_steps) ;; etl_steps.Step(2).run(), s.run(), isinstance(s, etl_steps.Step), etl_steps.last
        etl_steps.half(6); register("third")(len) ;; etl_steps.last, sorted(etl_config.REGISTRY)
        """,
        known="""
        old_module_dict is etl_steps.__dict__, sorted(old_module_dict)[:1] != []
        """,
    ),
    "a package with relative imports, lazy attributes and resources": session(
        """
        import pathlib, sys, importlib, importlib.resources as res
        p = pathlib.Path("shop"); (p / "io").mkdir(parents=True); (p / "data").mkdir(); (p / "data" / "codes.csv").write_text("a,1\\n")
        (p / "__init__.py").write_text("from .core import Job, jobs\\nfrom . import io\\n__version__ = '1.2'\\n_loaded = []\\ndef __getattr__(name):\\n    if name == 'heavy':\\n        import importlib\\n        _loaded.append(name)\\n        return importlib.import_module('.heavy', __name__)\\n    raise AttributeError(name)\\n")
        (p / "core.py").write_text("import functools, weakref\\njobs = []\\n_live = weakref.WeakValueDictionary()\\nclass Job:\\n    count = 0\\n    __slots__ = ('name', 'fn', '__weakref__')\\n    def __init__(self, name, fn=None):\\n        self.name, self.fn = name, fn\\n        Job.count += 1\\n        jobs.append(self)\\n        _live[name] = self\\n    def __call__(self, *a): return self.fn(*a)\\n@functools.lru_cache(maxsize=4)\\ndef rate(c): return len(c) * 10\\n")
        (p / "io" / "__init__.py").write_text("from .csvio import read\\nfrom ..core import Job\\nREADERS = {'csv': read}\\n"); (p / "io" / "csvio.py").write_text("from ..core import jobs\\nopened = 0\\ndef read(path):\\n    global opened\\n    opened += 1\\n    with open(path) as f: yield from f\\n"); (p / "heavy.py").write_text("table = list(range(3))\\n")
        (pathlib.Path("plug") ).mkdir(); pathlib.Path("plug/extra.py").write_text("def setup(reg): reg['extra'] = lambda: 'extra'\\n"); sys.path.insert(0, "plug")
        import shop; from shop import Job; from shop.io import READERS; import shop.core as core; import extra
        # %%
        a = Job("a", lambda x: x + bonus); bonus = 100; b = Job("b", core.rate); core.rate("eu"); core.rate("eu"); rows = READERS["csv"]("shop/data/codes.csv"); r0 = next(rows); heavy = shop.heavy; heavy.table.append(9); core.Job.region = "eu"; shop.io.READERS["tsv"] = print; extra.setup(READERS); files = res.files("shop") / "data"
        """,
        """
        Job.count, [j.name for j in shop.jobs], shop.jobs is core.jobs, shop.jobs[0] is a
        bonus = 1 ;; a(1), shop.jobs[0](2), b("usd"), core.rate.cache_info()
        sorted(core._live), core._live["a"] is a, a.region
        shop.heavy is heavy, heavy.table, shop._loaded, "shop.heavy" in sys.modules
        sorted(READERS), READERS["tsv"] is print, READERS["extra"](), shop.io.READERS is READERS
        next(rows, "done"), r0, shop.io.csvio.opened
        (files / "codes.csv").read_text(), files.is_dir(), sys.path[0], extra.__name__
        Job("c"); del shop.jobs[0] ;; Job.count, len(core.jobs), shop.io.Job is Job
        importlib.import_module("shop.io.csvio") is shop.io.csvio, shop.__version__, shop.nothing
        """,
        named="rows",
        known="""
        bonus = 1 ;; a(1), shop.jobs[0](2), b("usd"), core.rate.cache_info()
        """,
    ),
    "caches on disk: shelve, dbm, joblib and pickles": session(
        """
        import shelve, dbm.dumb, joblib, pickle, pathlib, functools, io, copyreg, collections
        sh = shelve.open("cache", writeback=True); sh["cfg"] = {"n": 1}; sh["cfg"]["n"] = 2; keep = sh["cfg"]; db = dbm.dumb.open("kv", "c"); db["k"] = b"v"; db.sync()
        mem = joblib.Memory("jl", verbose=0); calls = []
        @mem.cache
        def slow(x, y=1):
            calls.append(x); return x * y
        slow(3); slow(3); slow(4, y=2)
        class Record:
            version = 2
            def __init__(self, v): self.v = v
            def __getstate__(self): return {"v": self.v, "version": 1}
            def __setstate__(self, s): self.v = s["v"]; self.upgraded = s["version"] < self.version
        rec = Record(5); blob = pickle.dumps({"r": rec, "again": rec}); back = pickle.loads(blob); buf = io.BytesIO(); pk = pickle.Pickler(buf); shared = ["x"]; pk.dump(shared); pk.dump([shared, shared]); pick = pickle.Unpickler(io.BytesIO(buf.getvalue())); u0 = pick.load()
        class Point(collections.namedtuple("Point", "x y")):
            __slots__ = ()
            def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5
        copyreg.pickle(complex, lambda c: (complex, (c.real, c.imag + 0.0))); pt = Point(3, 4); pool = joblib.Parallel(n_jobs=1); job = joblib.delayed(slow)(3); joblib.dump({"a": rec}, "rec.joblib")
        """,
        """
        sh["cfg"]["n"], keep is sh["cfg"], sorted(sh), sh.writeback
        keep["n"] = 3; sh.sync() ;; sh.dict is not None, len(sh.cache)
        db["k2"] = b"w" ;; sorted(db.keys()), db["k"]
        slow(3), calls, slow.check_call_in_cache(4, y=2), slow.check_call_in_cache(5)
        slow(6) ;; calls, slow(6), mem.location.endswith("jl")
        rec.v, hasattr(rec, "upgraded"), back["r"].upgraded, back["r"] is back["again"]
        pick.load(), u0
        pt.norm(), pt._replace(x=0), type(pt) is Point, pickle.loads(pickle.dumps(pt)) == pt, complex in copyreg.dispatch_table
        pool([job]), job[0] is slow, joblib.load("rec.joblib")["a"].upgraded
        sh.close() ;; shelve.open("cache")["cfg"]
        """,
        named="pick pk",
    ),
    "temporary files, spooled buffers and the working directory": session(
        """
        import tempfile, pathlib, os, shutil, io, stat, mmap, contextlib
        nt = tempfile.NamedTemporaryFile("w+", suffix=".csv", dir=".", delete=True); nt.write("a,b\\n1,2\\n"); nt.flush(); td = tempfile.TemporaryDirectory(dir=os.getcwd()); inside = pathlib.Path(td.name) / "part.txt"; inside.write_text("p"); sp = tempfile.SpooledTemporaryFile(max_size=10, mode="w+"); sp.write("short"); tf = tempfile.TemporaryFile(); tf.write(b"anonymous"); tf.seek(2)
        base = pathlib.Path("work"); base.mkdir(); os.chdir(base); cwd = pathlib.Path.cwd(); pathlib.Path("here.txt").write_text("x\\ny\\nz\\n"); f = open("here.txt", "r+", buffering=1); first = f.readline(); app = open("app.log", "a"); app.write("unflushed"); raw = open("raw.bin", "wb", buffering=0); raw.write(b"123456"); rw = open("raw.bin", "r+b"); mm = mmap.mmap(rw.fileno(), 6); mm[0:1] = b"9"; mm.seek(3)
        os.symlink("here.txt", "link.txt"); os.link("here.txt", "hard.txt"); os.chmod("raw.bin", 0o640); gone = open("gone.txt", "w+"); gone.write("still here"); gone.flush(); os.unlink("gone.txt"); tempfile.tempdir = str(cwd); os.utime("here.txt", (1000, 2000)); os.environ["TMP_MARK"] = str(cwd.name)
        ex = contextlib.ExitStack(); deeper = ex.enter_context(tempfile.TemporaryDirectory(dir=".", prefix="stack")); ex.callback(lambda: closed.append(1)); closed = []; fd = os.open("low.bin", os.O_RDWR | os.O_CREAT); os.write(fd, b"lowlevel"); os.lseek(fd, 3, 0)
        """,
        """
        nt.seek(0) ;; nt.read(), os.path.exists(nt.name), nt.name.endswith(".csv"), nt.closed
        inside.exists(), os.path.isdir(td.name), sorted(os.listdir("..")) != []
        sp.write(" and now much longer") ;; sp.seek(0), sp.read(), sp._rolled, sp.name is None
        tf.read(4), tf.tell()
        f.readline(), first, app.tell(), raw.tell(), mm[:], mm.read(2), mm.tell()
        mm[1:2] = b"8"; mm.flush() ;; pathlib.Path("raw.bin").read_bytes(), stat.S_IMODE(os.stat("raw.bin").st_mode)
        gone.seek(0) ;; gone.read(), os.path.exists("gone.txt")
        os.path.islink("link.txt"), os.path.samefile("hard.txt", "here.txt"), os.stat("here.txt").st_mtime, pathlib.Path.cwd() == cwd
        os.read(fd, 3), os.path.basename(tempfile.mkstemp()[1])[:3], os.path.basename(tempfile.gettempdir())
        ex.close() ;; closed, os.path.exists(deeper)
        td.cleanup() ;; inside.exists(), td._finalizer.alive
        app.write(" more"); app.close() ;; pathlib.Path("app.log").read_text()
        """,
        named="ex gone mm nt sp td tf",
    ),
    "pathlib, globs half walked and text layers": session(
        """
        import pathlib, os, io, codecs, fileinput, linecache, glob, fnmatch, re, filecmp
        root = pathlib.Path("tree"); [((root / d).mkdir(parents=True), (root / d / f"{d}.txt").write_text(d * 3, encoding="utf-16")) for d in ("a", "b", "c")]
        walk = os.walk(root); w0 = next(walk); g = root.rglob("*.txt"); ent = os.scandir(root); names = sorted(e.name for e in ent); class_paths = [pathlib.PurePosixPath("/x/../y"), pathlib.PureWindowsPath("c:/A")]
        text = open(root / "a" / "a.txt", encoding="utf-16", newline=""); t1 = text.read(1); cook = text.tell(); bio = io.BytesIO("zß\\r\\nq\\n".encode("latin-1")); tw = io.TextIOWrapper(bio, encoding="latin-1", newline=None, write_through=True); l1 = tw.readline(); rbuf = io.BufferedReader(io.BytesIO(b"abcdefgh"), 4); pk = rbuf.peek(2)[:2]; rbuf.read(3); rnd = io.BufferedRandom(io.BytesIO(b"0123456789")); rnd.seek(4); sio = io.StringIO("one\\ntwo\\n", newline="\\r\\n"); sio.readline()
        inc = codecs.getincrementaldecoder("utf-8")(); i1 = inc.decode("é".encode()[:1]); enc = codecs.getincrementalencoder("utf-16")(); e1 = enc.encode("a"); codecs.register_error("mark", lambda e: ("<?>", e.end)); rd = codecs.getreader("utf-8")(io.BytesIO(b"l1\\nl2\\n")); rd.readline()
        pathlib.Path("l.txt").write_text("1\\n2\\n3\\n"); fi = fileinput.input(["l.txt"]); f0 = next(fi); rebound = root / "a"; view = memoryview(bytearray(b"packet")); sub = view[2:]; bio2 = io.BytesIO(b"xyz"); gb = bio2.getbuffer()
        class Tee(io.TextIOBase):
            def __init__(self, *to): self.to = to
            def write(self, s): return max(t.write(s) for t in self.to)
        left, right = io.StringIO(), io.StringIO(); tee = Tee(left, right); tee.write("a")
        """,
        """
        text.read(), t1, text.seek(cook), text.read(1), text.encoding
        w0[0], [os.path.basename(d) for d, _, _ in walk] != [], sorted(p.name for p in g)
        l1, tw.read(), tw.newlines, tw.encoding, bio.closed
        pk, rbuf.read(2), rbuf.tell(), rnd.write(b"XY"), rnd.seek(0), rnd.read()
        sio.readline(), sio.tell(), sio.getvalue()
        inc.decode("é".encode()[1:]), i1, enc.encode("b"), e1, rd.readline()
        b"caf\\xe9".decode("ascii", errors="mark"), codecs.lookup_error("mark").__name__
        next(fi), f0, fi.filelineno(), fileinput.filename()
        tee.write("b") ;; left.getvalue(), right.getvalue(), tee.to[0] is left
        sub[0] = ord("C") ;; bytes(view), sub.obj is view.obj, view.readonly
        gb[0] = 65 ;; bio2.getvalue(), bio2.tell(), gb.nbytes
        gb.nbytes, bio2.write(b"12345678")
        names, class_paths[0].parts, class_paths[1] == pathlib.PureWindowsPath("C:/a"), rebound.resolve().exists()
        """,
        named="ent g gb rbuf rd rnd tw walk",
        known="""
        next(fi), f0, fi.filelineno(), fileinput.filename()
        """,
    ),
    "logging: trees, filters, adapters, queues and handlers of one's own": session(
        """
        import logging, logging.handlers, logging.config, io, queue, json, warnings, structlog
        stream = io.StringIO(); log = logging.getLogger("etl.load"); parent = logging.getLogger("etl"); parent.setLevel(logging.INFO); h = logging.StreamHandler(stream); h.setFormatter(logging.Formatter("{levelname}|{run}|{message}", style="{", defaults={"run": "-"})); parent.addHandler(h); parent.propagate = False
        class Redact(logging.Filter):
            def __init__(self): super().__init__(); self.hits = 0
            def filter(self, r):
                if "key=" in r.getMessage(): self.hits += 1; r.msg = r.getMessage().split("key=")[0] + "key=***"; r.args = ()
                return True
        red = Redact(); h.addFilter(red); log.addFilter(lambda r: r.levelno != 25); logging.addLevelName(25, "NOTICE")
        class Memory(logging.Handler):
            def __init__(self): super().__init__(); self.records = []
            def emit(self, r): self.records.append(r)
        memh = Memory(); log.addHandler(memh); ad = logging.LoggerAdapter(log, {"run": "r7"}); q = queue.Queue(); qh = logging.handlers.QueueHandler(q); log.addHandler(qh); buffered = logging.handlers.MemoryHandler(3, target=h); other = logging.getLogger("other"); other.addHandler(buffered); other.propagate = False
        class MyLogger(logging.Logger):
            def data(self, m): self.log(25, m)
        logging.setLoggerClass(MyLogger); mine = logging.getLogger("mine.sub"); logging.setLoggerClass(logging.Logger); old_factory = logging.getLogRecordFactory()
        def factory(*a, **k): r = old_factory(*a, **k); r.host = "w1"; return r
        logging.setLogRecordFactory(factory); logging.disable(logging.DEBUG); log.error("bad key=abc"); ad.info("loaded %d", 3); other.warning("waiting"); fh = logging.FileHandler("run.log", delay=True); fh.setLevel(logging.ERROR); log.addHandler(fh); log.error("to file"); logging.captureWarnings(True)
        """,
        """
        stream.getvalue()
        log.error("more key=zzz"); ad.info("again") ;; stream.getvalue().splitlines()[-2:], red.hits, len(memh.records), q.qsize()
        memh.records[0].host, memh.records[0].name, memh.records[1].run, q.get().getMessage()
        log.log(25, "no"); mine.data("x") ;; len(memh.records), type(mine) is MyLogger, logging.getLogger("mine.sub") is mine, logging.getLevelName(25)
        other.warning("two"); other.warning("three") ;; stream.getvalue().count("waiting"), len(buffered.buffer)
        log.handlers[0] is memh, log.parent is parent, parent.handlers == [h], h.stream is stream, log.getEffectiveLevel(), log.isEnabledFor(10)
        log.error("second to file") ;; open("run.log").read()
        logging.getLogRecordFactory() is factory, logging.root.manager.disable, log.filters != []
        parent.setLevel(logging.ERROR) ;; log.isEnabledFor(logging.INFO), ad.isEnabledFor(logging.INFO)
        h in list(r() for r in logging._handlerList), fh.stream is not None, fh.level
        warnings.warn("captured") ;; logging.getLogger("py.warnings").handlers is not None, logging._warnings_showwarning is not None
        """,
    ),
    "logging and structlog configured from dictionaries, rotating files": session(
        """
        import logging, logging.config, logging.handlers, structlog, io, pathlib, sys
        pathlib.Path("logfmt.py").write_text("import logging\\nclass Json(logging.Formatter):\\n    made = 0\\n    def format(self, r):\\n        Json.made += 1\\n        return '{%s:%s}' % (r.name, r.getMessage())\\n"); sys.path.insert(0, ".")
        logging.config.dictConfig({"version": 1, "disable_existing_loggers": False, "formatters": {"j": {"()": "logfmt.Json"}}, "handlers": {"f": {"class": "logging.handlers.RotatingFileHandler", "filename": "app.log", "maxBytes": 60, "backupCount": 2, "formatter": "j"}}, "loggers": {"app": {"handlers": ["f"], "level": "INFO", "propagate": False}}})
        app = logging.getLogger("app"); [app.info("row %d loaded", i) for i in range(4)]; rot = app.handlers[0]; child = app.getChild("io"); child.setLevel("DEBUG"); lines = []
        structlog.configure(processors=[structlog.contextvars.merge_contextvars, lambda l, m, e: {**e, "seq": len(lines)}, structlog.processors.KeyValueRenderer(sort_keys=True)], logger_factory=lambda *a: Printer(), cache_logger_on_first_use=False)
        class Printer:
            def msg(self, s): lines.append(s)
            info = warning = msg
        sl = structlog.get_logger().bind(job="j1"); structlog.contextvars.bind_contextvars(tenant="t9"); sl.info("start"); basic = io.StringIO(); logging.basicConfig(stream=basic, level=logging.WARNING, force=True); root_handlers = logging.root.handlers
        """,
        """
        sorted(p.name for p in pathlib.Path(".").glob("app.log*")), rot.maxBytes, rot.backupCount
        app.info("after"); child.debug("deep") ;; open("app.log").read(), rot.stream.tell()
        import logfmt ;; logfmt.Json.made, type(rot.formatter) is logfmt.Json
        sl.info("next") ;; lines
        structlog.contextvars.get_contextvars(), structlog.is_configured(), sl.new(a=1)._context
        logging.warning("root says"); logging.info("quiet") ;; basic.getvalue(), logging.root.handlers is root_handlers, logging.root.level
        app.handlers[0] is rot, child.parent is app, child.level, app.propagate
        logging._handlers["f"] is rot
        rot.doRollover() ;; open("app.log").read(), sorted(p.name for p in pathlib.Path(".").glob("app.log*"))
        """,
    ),
    "environment, locale, warnings, decimal contexts and interpreter settings": session(
        """
        import os, locale, warnings, decimal, sys, time, gc, signal, threading
        os.environ["STAGE"] = "prod"; os.environ["TZ"] = "Asia/Kolkata"; time.tzset(); os.environ.pop("HOME", None); env = os.environ; snap = dict(os.environ); os.umask(0o027)
        locale.setlocale(locale.LC_ALL, "C.UTF-8"); warnings.simplefilter("error", DeprecationWarning); warnings.filterwarnings("ignore", message=".*chunk.*"); cm = warnings.catch_warnings(record=True); caught = cm.__enter__(); warnings.simplefilter("always"); warnings.warn("first"); shown = []
        decimal.getcontext().prec = 6; decimal.getcontext().rounding = decimal.ROUND_UP; decimal.getcontext().traps[decimal.Inexact] = False; ctx = decimal.Context(prec=3, traps=[decimal.DivisionByZero]); lc = decimal.localcontext(ctx); inner = lc.__enter__(); third = decimal.Decimal(1) / 3; ctx2 = decimal.getcontext()
        sys.setrecursionlimit(2345); sys.set_int_max_str_digits(5000); sys.setswitchinterval(0.01); gc.disable(); gc.set_threshold(500, 5, 5); sys.dont_write_bytecode = True; sys.argv = ["job.py", "--date", "2024"]; sys.ps1 = "etl> "; sys.tracebacklimit = 3
        hook_calls = []; sys.excepthook = lambda *a: hook_calls.append(a[0]); old_sig = signal.signal(signal.SIGUSR1, lambda s, f: hook_calls.append("usr1")); threading.excepthook = lambda a: hook_calls.append("thread"); sys.path.append("/opt/etl/lib")
        import builtins; builtins.reveal = lambda x: ("R", x)
        """,
        """
        os.environ["STAGE"], "HOME" in os.environ, env is os.environ, os.getenv("TZ"), snap["STAGE"]
        time.localtime(0).tm_hour, time.strftime("%H:%M", time.localtime(0)), time.tzname[0]
        open("masked.txt", "w").close() ;; oct(os.stat("masked.txt").st_mode & 0o777)
        len(caught), str(caught[0].message), warnings.warn("second"), len(caught)
        cm.__exit__(None, None, None) ;; warnings.filters[0][0], len(caught)
        warnings.warn("old", DeprecationWarning)
        decimal.getcontext() is ctx2, decimal.getcontext() is inner, str(decimal.Decimal(2) / 3), str(third), decimal.getcontext().prec
        lc.__exit__(None, None, None) ;; str(decimal.Decimal(2) / 3), decimal.getcontext().prec, decimal.getcontext().rounding, ctx.prec
        sys.getrecursionlimit(), sys.get_int_max_str_digits(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold()[0], sys.argv, sys.tracebacklimit
        signal.raise_signal(signal.SIGUSR1) ;; hook_calls, sys.path[-1], reveal(1)
        sys.excepthook(ValueError, None, None) ;; hook_calls[-1].__name__, locale.setlocale(locale.LC_NUMERIC)
        os.environ["STAGE"] = "dev" ;; __import__("subprocess").run(["sh", "-c", "echo $STAGE $TZ"], capture_output=True, text=True).stdout
        """,
        named="lc",
    ),
}
