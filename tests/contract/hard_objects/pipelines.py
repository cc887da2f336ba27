"""Sessions of data engineers: databases, query engines, columnar files and the tables that flow between them."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "sqlite, cursors half read and functions of one's own": session(
        """
        import sqlite3, json, datetime as dt, decimal
        con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES)
        con.row_factory = sqlite3.Row
        seen = []
        def margin(price, cost):
            seen.append((price, cost))
            return round((price - cost) / price, 3)
        class Median:
            def __init__(self): self.values = []
            def step(self, v): self.values.append(v)
            def finalize(self): return sorted(self.values)[len(self.values) // 2]
        con.create_function("margin", 2, margin, deterministic=True); con.create_aggregate("median", 1, Median)
        con.create_collation("rev", lambda a, b: (a < b) - (a > b))
        con.executescript("create table sales(id integer primary key, sku text, price real, cost real); create temp table staging(id int); create view cheap as select * from sales where price < 30; create temp trigger log_it after insert on sales begin insert into staging values (new.id); end;")
        con.executemany("insert into sales(sku, price, cost) values (?, ?, ?)", [(f"s{i}", 10.0 * (i + 1), 4.0 + i) for i in range(6)]); con.commit()
        # %%
        cur = con.execute("select id, sku, price from sales order by id"); first = cur.fetchone(); two = cur.fetchmany(2); cur.arraysize = 2
        rows = con.execute("select * from sales where id > 4").fetchall(); lazy = (dict(r) for r in con.execute("select sku, price from sales order by price desc")); top = next(lazy)
        con.execute("insert into sales(sku, price, cost) values ('open', 1, 0.5)")
        """,
        """
        con.in_transaction, con.total_changes, cur.arraysize, [d[0] for d in cur.description]
        tuple(first), first["sku"], first.keys(), [tuple(r) for r in two]
        [tuple(r) for r in cur.fetchmany()]
        next(lazy), top
        con.execute("select margin(price, cost) as m from sales where id = 2").fetchone()["m"], len(seen)
        con.execute("select median(price) from sales").fetchone()[0]
        [r["sku"] for r in con.execute("select sku from sales order by sku collate rev")]
        con.execute("select count(*) from staging").fetchone()[0], con.execute("select count(*) from cheap").fetchone()[0]
        con.rollback() ;; con.execute("select count(*) from sales").fetchone()[0], con.in_transaction
        [tuple(r) for r in rows], rows[0]["cost"], isinstance(rows[0], sqlite3.Row)
        con.execute("insert into sales(sku, price, cost) values ('next', 2, 1)").lastrowid
        cur.connection is con
        """,
        named="con cur lazy",
    ),
    "sqlite on a file, two connections, wal, attached and pragmas": session(
        """
        import sqlite3, pathlib, contextlib
        path = pathlib.Path("warehouse.db"); writer = sqlite3.connect(path, isolation_level=None); writer.execute("pragma journal_mode=wal"); writer.execute("pragma foreign_keys=on"); writer.execute("pragma cache_size=-4000"); writer.execute("pragma busy_timeout=1234")
        writer.executescript("create table dim(id integer primary key, name text unique); create table fact(id integer primary key, dim integer references dim(id), v real);")
        writer.execute("insert into dim values (1, 'a')"); reader = sqlite3.connect("file:warehouse.db?mode=ro", uri=True); reader.text_factory = bytes
        writer.execute("attach database 'archive.db' as arch"); writer.execute("create table arch.old as select * from dim")
        writer.execute("begin immediate"); writer.execute("insert into fact values (1, 1, 2.5)"); writer.execute("savepoint half"); writer.execute("insert into fact values (2, 1, 3.5)")
        plain = sqlite3.connect("other.db"); plain.execute("create table t(x)"); plain.execute("insert into t values (1)"); pc = plain.cursor(); pc.execute("insert into t values (2)")
        closed = sqlite3.connect("closed.db"); closed.execute("create table c(x)"); closed.close()
        """,
        """
        writer.in_transaction, plain.in_transaction, pc.rowcount, pc.lastrowid
        reader.execute("select count(*) from fact").fetchone(), reader.execute("select name from dim").fetchone()
        writer.execute("pragma foreign_keys").fetchone(), writer.execute("pragma cache_size").fetchone(), writer.execute("pragma journal_mode").fetchone(), writer.execute("pragma busy_timeout").fetchone()
        writer.execute("rollback to half") ;; writer.execute("select count(*) from fact").fetchone()
        writer.execute("commit") ;; reader.execute("select count(*) from fact").fetchone()
        writer.execute("insert into fact values (9, 99, 1)")
        writer.execute("select count(*) from arch.old").fetchone(), [r[1] for r in writer.execute("pragma database_list")]
        reader.execute("insert into dim values (5, 'z')")
        plain.rollback() ;; plain.execute("select count(*) from t").fetchone()
        closed.execute("select 1")
        writer.isolation_level, reader.text_factory is bytes, writer.row_factory
        """,
        named="pc plain writer",
    ),
    "sqlite, adapters, authorizer, trace, blobs and backup": session(
        """
        import sqlite3, decimal, enum, json, dataclasses
        @dataclasses.dataclass
        class Point:
            x: float; y: float
            def __conform__(self, protocol):
                if protocol is sqlite3.PrepareProtocol: return f"{self.x};{self.y}"
        sqlite3.register_adapter(decimal.Decimal, lambda d: str(d)); sqlite3.register_converter("money", lambda b: decimal.Decimal(b.decode()))
        sqlite3.register_converter("json", json.loads); sqlite3.register_adapter(dict, json.dumps)
        con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES); statements = []; con.set_trace_callback(statements.append)
        con.execute("create table t(id integer primary key, price money, doc json, p text, raw blob)"); con.execute("insert into t values (1, ?, ?, ?, zeroblob(8))", (decimal.Decimal("9.90"), {"a": [1]}, Point(1, 2)))
        con.commit(); denied = []
        def guard(action, a, b, db, trig):
            if action == sqlite3.SQLITE_DELETE: denied.append(a); return sqlite3.SQLITE_DENY
            return sqlite3.SQLITE_OK
        con.set_authorizer(guard); copy = sqlite3.connect(":memory:"); con.backup(copy)
        blob = con.blobopen("t", "raw", 1); blob.write(b"ab"); con.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 500)
        class Tracked(sqlite3.Connection):
            def __init__(self, *a, **k): super().__init__(*a, **k); self.tag = "etl"; self.log = []
            def execute(self, sql, *a): self.log.append(sql); return super().execute(sql, *a)
        tr = sqlite3.connect(":memory:", factory=Tracked); tr.execute("create table z(v)"); tr.execute("insert into z values (5)")
        """,
        """
        con.execute("select price, doc, p from t").fetchone()
        con.execute("delete from t")
        denied, con.execute("select count(*) from t").fetchone()
        blob.tell(), blob.read(2), len(blob)
        blob.seek(0); blob.write(b"zz") ;; con.execute("select raw from t").fetchone()
        len(statements) > 3, statements[0][:12]
        n = len(statements); _ = con.execute("select 77").fetchone() ;; len(statements) - n, statements[-1]
        copy.execute("select price, raw from t").fetchone()
        con.getlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH), con.getlimit(sqlite3.SQLITE_LIMIT_ATTACHED)
        con.execute("select '" + "x" * 600 + "'")
        tr.tag, len(tr.log), tr.execute("select v from z").fetchone(), tr.log[-1], type(tr) is Tracked
        sqlite3.connect(":memory:").execute("select ?", (decimal.Decimal("1.5"),)).fetchone()
        """,
        named="blob",
    ),
    "duckdb, relations, views over frames, prepared and half-read results": session(
        """
        import duckdb, pandas as pd, polars as pl, pyarrow as pa
        orders = pd.DataFrame({"id": range(8), "region": list("aabbccdd"), "amount": [float(i * i) for i in range(8)]}); con = duckdb.connect()
        con.execute("create schema raw; create table raw.customers(id int primary key, name varchar, tags varchar[], meta struct(a int, b varchar)); create sequence seq start 10; create type mood as enum ('ok', 'bad'); create macro twice(x) as x * 2; create macro big(t) as table select * from orders where amount > t")
        con.execute("insert into raw.customers values (1, 'ann', ['x', 'y'], {'a': 1, 'b': 'q'}), (2, 'bob', [], null)"); con.register("live", orders)
        con.execute("create view totals as select region, sum(amount) s from live group by region order by region"); con.execute("prepare pick as select name from raw.customers where id = $1")
        con.execute("create temp table tmp as select nextval('seq') n from range(3)"); con.execute("set timezone='Asia/Tokyo'; set threads=2; set preserve_insertion_order=false")
        # %%
        rel = con.sql("select * from live where amount > 10"); agg = rel.aggregate("region, sum(amount) as total", "region").order("region"); named = rel.set_alias("r"); cur = con.cursor(); cur.execute("select id, amount from raw.customers c join (select * from range(5) t(amount)) r on true order by id, amount"); part = cur.fetchmany(3)
        def slug(s: str) -> str: return s.upper() + suffix
        suffix = "!"; con.create_function("slug", slug); res = con.execute("select i from range(10) t(i)"); head = res.fetchone()
        """,
        """
        res.fetchmany(2), head
        part, cur.fetchone(), [d[0] for d in cur.description]
        suffix = "?" ;; con.execute("select slug(name) from raw.customers order by id").fetchall()
        con.execute("select nextval('seq')").fetchone(), con.execute("select n from tmp").fetchall()
        con.execute("execute pick(2)").fetchall()
        orders.loc[7, "amount"] = 1000.0 ;; con.execute("select * from totals").fetchall()
        agg.fetchall(), rel.columns, named.alias, rel.shape
        con.execute("select twice(21), (select count(*) from big(20))").fetchone()
        con.execute("select 'ok'::mood < 'bad'::mood, current_setting('timezone'), current_setting('threads'), current_setting('preserve_insertion_order')").fetchone()
        con.execute("select timestamptz '2024-01-01 20:00:00+00'::date").fetchone()
        con.execute("insert into raw.customers values (1, 'dup', [], null)")
        con.execute("select tags, meta from raw.customers order by id").fetchall()
        """,
        named="agg con cur named rel res",
    ),
    "duckdb on a file, transactions, attached and the default connection": session(
        """
        import duckdb, pandas as pd, pathlib
        db = duckdb.connect("lake.duckdb"); db.execute("create table ev(ts timestamp, k varchar, v decimal(10, 2))"); db.execute("insert into ev values ('2024-03-01 10:00', 'a', 1.25), ('2024-03-02 11:30', 'b', 2.50)")
        db.execute("copy ev to 'ev.parquet' (format parquet)"); db.execute("create view files as select * from read_parquet('ev.parquet')")
        side = db.cursor(); db.begin(); db.execute("insert into ev values ('2024-03-03', 'c', 9)")
        duckdb.sql("create table scratch as select 42 as x"); default = duckdb.default_connection() if callable(duckdb.default_connection) else duckdb.default_connection; r = duckdb.sql("select x + 1 as y from scratch")
        mem = duckdb.connect(":memory:shared"); mem.execute("create table s as select 1 a"); mem2 = duckdb.connect(":memory:shared"); mem.execute("attach 'second.duckdb' as second"); mem.execute("create table second.t as select 5 as five"); mem.execute("use second")
        ex = duckdb.connect(config={"threads": 1, "default_order": "desc"}); ex.execute("set variable cutoff = 7")
        done = duckdb.connect(); done.close()
        """,
        """
        db.execute("select count(*) from ev").fetchone(), side.execute("select count(*) from ev").fetchone()
        db.rollback() ;; db.execute("select count(*) from ev").fetchone()
        db.execute("select k, v from files order by k").fetchall()
        duckdb.sql("select x from scratch").fetchall(), r.fetchall()
        mem2.execute("insert into s values (2)") ;; mem2.execute("select count(*) from s").fetchone(), mem.execute("select table_name from duckdb_tables() order by 1").fetchall()
        mem.execute("select five from t").fetchone(), mem.execute("select current_database()").fetchone()
        ex.execute("select unnest([1, 3, 2]) u order by u").fetchall(), ex.execute("select getvariable('cutoff')").fetchone(), ex.execute("select current_setting('threads')").fetchone()
        done.execute("select 1")
        side.execute("insert into ev values ('2024-03-04', 'd', 4)") ;; db.execute("select max(k) from ev").fetchone()
        pathlib.Path("lake.duckdb").exists(), sorted(p.name for p in pathlib.Path(".").glob("*.parquet"))
        """,
        named="db done mem mem2 r",
    ),
    "polars, lazy plans, sql context, expressions and config": session(
        """
        import polars as pl, datetime as dt, pathlib
        rates = {"eur": 1.1, "usd": 1.0}; factor = 3
        df = pl.DataFrame({"cur": ["eur", "usd", "eur"], "amt": [10, 20, 30], "when": [dt.datetime(2024, 1, d, tzinfo=dt.timezone.utc) for d in (1, 2, 3)]}, schema_overrides={"amt": pl.Int32, "cur": pl.Categorical})
        df.write_parquet("amt.parquet"); df.write_csv("amt.csv"); df.write_ipc("amt.arrow")
        lf = pl.scan_parquet("amt.parquet").filter(pl.col("amt") > 10).with_columns(x=pl.col("amt").map_elements(lambda v: v * factor, return_dtype=pl.Int64)); cs = pl.scan_csv("amt.csv", try_parse_dates=True).group_by("cur").agg(pl.col("amt").sum()).sort("cur")
        conv = pl.col("amt") * pl.col("cur").cast(pl.String).replace_strict(rates, return_dtype=pl.Float64); named = conv.alias("usd"); w = pl.when(pl.col("amt") > 15).then(pl.lit("hi")).otherwise(pl.lit("lo"))
        ctx = pl.SQLContext(t=df, files=lf); pl.Config.set_tbl_rows(2); pl.Config.set_float_precision(1); gb = df.group_by("cur", maintain_order=True); en = pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"]))
        it = df.iter_rows(named=True); one = next(it); slices = df.iter_slices(2); s0 = next(slices); nested = pl.DataFrame({"l": [[1, 2], []], "s": [{"a": 1, "b": None}, {"a": 2, "b": "z"}]}); obj = pl.Series("o", [rates, {1}], dtype=pl.Object)
        @pl.api.register_expr_namespace("money")
        class Money:
            def __init__(self, e): self._e = e
            def cents(self): return self._e * 100
        shared = df["amt"]; arr = shared.to_numpy(); sorted_ = df.sort("amt").with_columns(pl.col("amt").set_sorted())
        """,
        """
        factor = 5 ;; lf.collect()["x"].to_list()
        cs.collect().rows(), lf.collect_schema().names()
        df.select(named).to_series().round(3).to_list(), df.select(w.alias("w"))["w"].to_list()
        ctx.execute("select cur, sum(amt) s from t group by cur order by s", eager=True).rows(), sorted(ctx.tables())
        str(df).count("…") > 0, pl.Config.state(if_set=True).get("POLARS_FMT_MAX_ROWS")
        [(k, v.height) for k, v in gb], en.sort().to_list(), en.dtype
        next(it), one["amt"], next(slices).height
        df.select(pl.col("amt").money.cents())["amt"].to_list()
        nested["s"].struct.field("b").to_list(), nested.schema, obj[0] is rates
        rates["usd"] = 2.0 ;; obj[0]["usd"], df.select(named).to_series().round(3).to_list()
        arr.flags.writeable, shared.flags["SORTED_ASC"], sorted_["amt"].flags["SORTED_ASC"]
        df.schema, df["cur"].unique(maintain_order=True).to_list(), df.lazy().select(w.alias("w")).collect().height
        """,
        named="ctx it lf obj slices",
    ),
    "pyarrow, tables of chunks, dictionaries, buffers and readers in the middle": session(
        """
        import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc, pyarrow.csv as pcsv, pyarrow.json as pj, numpy as np, io
        np_vals = np.arange(6.0); arr = pa.array(np_vals); t = pa.table({"k": pa.chunked_array([["a", "b"], ["a", None, "c", "b"]]).dictionary_encode(), "v": arr}, metadata={"owner": "ingest"}); view = t.slice(2, 3); buf = arr.buffers()[1]; mv = memoryview(buf); back = np.frombuffer(buf)
        schema = pa.schema([pa.field("k", pa.dictionary(pa.int32(), pa.string()), metadata={"pii": "no"}), pa.field("v", pa.float64(), nullable=False)]); batches = t.to_batches(max_chunksize=2); rbr = pa.RecordBatchReader.from_batches(t.schema, iter(batches)); b0 = rbr.read_next_batch()
        sink = pa.BufferOutputStream(); w = pa.ipc.new_stream(sink, t.schema); w.write_table(t.slice(0, 2)); src = pa.BufferReader(b"line1\\nline2\\nline3\\n"); src.read(6); pqbuf = io.BytesIO(); pw = pq.ParquetWriter(pqbuf, t.schema, compression="zstd"); pw.write_table(t)
        pq.write_table(t, "t.parquet", row_group_size=2); pf = pq.ParquetFile("t.parquet"); it = pf.iter_batches(batch_size=2, columns=["v"]); i0 = next(it); expr = (pc.field("v") > 2) & pc.field("k").is_valid(); gb = t.group_by("k")
        st = pa.array([{"a": 1, "b": [1, 2]}, None], type=pa.struct([("a", pa.int8()), ("b", pa.list_(pa.int16()))])); sc = st[0]; mp = pa.array([[("x", 1)]], type=pa.map_(pa.string(), pa.int32())); ree = pc.run_end_encode(pa.array([1, 1, 2])); opts = pc.SetLookupOptions(value_set=pa.array(["a"])); mm = pa.memory_map("t.parquet"); mm.seek(4)
        class Money(pa.ExtensionType):
            def __init__(self, cur): self.cur = cur; super().__init__(pa.int64(), "shop.money")
            def __arrow_ext_serialize__(self): return self.cur.encode()
            @classmethod
            def __arrow_ext_deserialize__(cls, storage, data): return cls(data.decode())
        pa.register_extension_type(Money("eur")); money = pa.ExtensionArray.from_storage(Money("usd"), pa.array([1, 2])); def_pool = pa.default_memory_pool(); pa.set_cpu_count(2); reg = pc.get_function("sum")
        """,
        """
        np_vals[0] = 99.0 ;; arr[0].as_py(), t["v"][0].as_py(), back[0], mv[:8] == np_vals[:1].tobytes()
        t["k"].num_chunks, view["v"].to_pylist(), t.schema.metadata, t["k"].chunk(1).dictionary.to_pylist()
        rbr.read_next_batch().to_pydict(), b0.num_rows
        w.write_table(t.slice(2, 1)); w.close() ;; pa.ipc.open_stream(sink.getvalue()).read_all().num_rows
        src.tell(), src.read(5), src.closed
        pw.write_table(t); pw.close() ;; pq.read_table(io.BytesIO(pqbuf.getvalue())).num_rows
        next(it).to_pydict(), i0.to_pydict(), pf.metadata.num_row_groups, pf.schema_arrow.metadata[b"owner"]
        t.filter(expr).to_pydict(), str(expr), gb.aggregate([("v", "sum")]).num_rows
        sc.as_py(), st.to_pylist(), mp.to_pylist(), ree.type, schema.field("k").metadata, schema.field("v").nullable
        mm.tell(), mm.size() > 10, mm.read(0), pa.cpu_count()
        money.type.cur, type(money.type) is Money, money.storage.to_pylist()
        pc.is_in(pa.array(["a", "b"]), options=opts).to_pylist(), reg.name, def_pool is pa.default_memory_pool() or def_pool.backend_name == pa.default_memory_pool().backend_name
        """,
        named="Money it mm mv opts pf pw rbr sink src w",
    ),
    "datasets, partitions, scanners and file systems": session(
        """
        import pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq, pyarrow.fs as pafs, pandas as pd, fsspec, pathlib, os
        t = pa.table({"year": [2023, 2023, 2024, 2024], "m": [1, 2, 1, 2], "v": [1.5, 2.5, 3.5, 4.5]}); ds.write_dataset(t, "lake", format="parquet", partitioning=ds.partitioning(pa.schema([("year", pa.int16())]), flavor="hive"))
        lake = ds.dataset("lake", format="parquet", partitioning="hive"); frag = sorted(lake.get_fragments(), key=lambda f: f.path)[0]; sc = lake.scanner(filter=ds.field("v") > 2, columns={"v2": ds.field("v") * 2, "m": ds.field("m")}); br = lake.to_batches(columns=["v"]); b = next(iter(br)); fil = lake.filter(ds.field("year") == 2024)
        local = pafs.LocalFileSystem(); sub = pafs.SubTreeFileSystem(os.getcwd() + "/lake", local); info = sub.get_file_info(pafs.FileSelector("", recursive=True)); fin = local.open_input_file(frag.path); fin.read(4)
        mem = fsspec.filesystem("memory"); mem.pipe("/bucket/a.csv", b"x,y\\n1,2\\n3,4\\n"); mf = mem.open("/bucket/a.csv"); mf.readline(); ff = fsspec.open("lake_index.csv.gz", "wt", compression="gzip"); fm = fsspec.get_mapper("memory://cache"); fm["k"] = b"v"; dirfs = fsspec.filesystem("dir", path="lake", fs=fsspec.filesystem("file"))
        pool = pd.read_parquet("lake", filters=[("year", "=", 2024)]); chunks = pd.read_csv("memory://bucket/a.csv", chunksize=1); c0 = next(chunks); opt = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=["m"])); inmem = ds.dataset(t); uni = ds.dataset([lake, ds.dataset("lake", partitioning="hive")])
        """,
        """
        lake.to_table().sort_by("v").to_pydict()["v"], lake.count_rows(), len(lake.files), lake.schema.names
        frag.partition_expression.equals(ds.field("year") == pa.scalar(2023, pa.int32())), os.path.relpath(frag.path), frag.count_rows()
        sc.to_table().sort_by("v2").to_pydict(), sc.projected_schema.names
        pq.write_table(t.slice(0, 1).select(["m", "v"]), "lake/year=2024/late.parquet") ;; lake.count_rows(), ds.dataset("lake", partitioning="hive").count_rows()
        [i.base_name for i in info if i.is_file][:1], info[0].type, sub.base_path.endswith("lake/")
        fin.tell(), fin.read(2), fin.closed
        mf.tell(), mf.read(), mem.cat("/bucket/a.csv")[:3]
        fm["k"], list(fm), mem.ls("/cache", detail=False)
        mem.pipe("/bucket/b.csv", b"z") ;; sorted(fsspec.filesystem("memory").ls("/bucket", detail=False)), fsspec.filesystem("memory") is mem
        next(chunks).values.tolist(), c0.values.tolist()
        sorted(dirfs.ls("", detail=False)), fil.count_rows() >= 2, pool.v.tolist()
        inmem.to_table().num_rows, uni.count_rows() >= 8, opt.read_options.dictionary_columns, b.num_rows
        """,
        named="br chunks fil fin info inmem sc",
    ),
    "arrow, polars, pandas and duckdb over one memory": session(
        """
        import pyarrow as pa, polars as pl, pandas as pd, duckdb, numpy as np
        base = np.arange(5, dtype="i8"); tbl = pa.table({"n": pa.array(base), "s": ["a", "b", "c", "d", "e"]}); pf = tbl.to_pandas(types_mapper=pd.ArrowDtype); pol = pl.from_arrow(tbl); dfa = pol.to_pandas(use_pyarrow_extension_array=True)
        con = duckdb.connect(); con.register("pol", pol); con.register("tbl", tbl); rel = con.from_arrow(tbl); rel2 = con.from_df(pf); out = rel.filter("n > 2").to_arrow_table() if hasattr(rel, "to_arrow_table") else rel.filter("n > 2").arrow()
        ser = pd.Series(["x", None, "y"], dtype="string[pyarrow]"); ser2 = ser; li = pd.Series([[1], [2, 3]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))); idx = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"]); wide = pd.DataFrame({"v": [1, 2]}, index=idx); wide.attrs["source"] = {"url": "s3://x"}
        parts = {k: g for k, g in pf.groupby("s")}; reader = pa.RecordBatchReader.from_batches(tbl.schema, tbl.to_batches(2)); con2 = duckdb.connect(); con2.register("tbl", tbl); q = con2.execute("select * from tbl"); rb = q.to_arrow_reader(2) if hasattr(q, "to_arrow_reader") else q.fetch_record_batch(2); r1 = rb.read_next_batch()
        class Table(pd.DataFrame):
            _metadata = ["lineage"]
            @property
            def _constructor(self): return Table
        src = Table({"a": [1, 2]}); src.lineage = ["raw"]; der = src[src.a > 1]
        """,
        """
        base[0] = 50 ;; tbl["n"][0].as_py(), pf.n.iloc[0], pol["n"][0], con.execute("select max(n) from tbl").fetchall()
        rel.fetchall()[0], rel2.columns, out.num_rows, rel.filter("n = 50").fetchall()
        rb.read_next_batch().to_pydict() , r1.num_rows
        reader.read_all().num_rows
        src.lineage.append("clean") ;; der.lineage, der.lineage is src.lineage, type(der.head(1)).__name__
        wide.attrs["source"]["url"], wide.loc[("b", 2), "v"], wide.index.names
        pf.dtypes.astype(str).tolist(), dfa.dtypes.astype(str).tolist(), ser.dtype == "string[pyarrow]", ser2 is ser
        con.execute("select count(*) from pol").fetchone(), li.list.len().tolist() if hasattr(li, "list") else None
        parts["a"].loc[0, "n"] if "a" in parts else None, sorted(parts)
        ser.iloc[0] = "changed" ;; ser2.tolist()
        """,
        named="con2 pol q rb reader rel rel2 tbl",
    ),
    "parquet and orc readers, feather, statistics and pandas stores": session(
        """
        import pandas as pd, pyarrow.parquet as pq, pyarrow.feather as feather, pyarrow.orc as orc, pyarrow as pa, io, zipfile
        df = pd.DataFrame({"a": [1, 2, 3], "t": pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin", freq="D"), "c": pd.Categorical(["x", "y", "x"], ordered=True)}, index=pd.RangeIndex(3, name="i")); df.to_parquet("d.parquet"); feather.write_feather(df, "d.feather"); orc.write_table(pa.table({"a": [1, 2]}), "d.orc")
        of = orc.ORCFile("d.orc"); meta = pq.read_metadata("d.parquet"); rg = meta.row_group(0); col = rg.column(0); stat = col.statistics; sch = pq.read_schema("d.parquet"); back = pd.read_parquet("d.parquet"); xl = pd.ExcelWriter("out.xlsx", engine="openpyxl"); df[["a"]].to_excel(xl, sheet_name="one"); book = xl.book
        lines = pd.read_json(io.StringIO('{"a":1}\\n{"a":2}\\n{"a":3}\\n'), lines=True, chunksize=2); l0 = next(lines); fh = open("big.csv", "w+"); fh.write("k,v\\n" + "\\n".join(f"{i},{i * i}" for i in range(10))); fh.seek(0); rd = pd.read_csv(fh, iterator=True); h = rd.get_chunk(3); fwf = pd.read_fwf(io.StringIO("aa 1\\nbb 2\\ncc 3"), header=None, iterator=True); f0 = fwf.get_chunk(1)
        pd.set_option("display.max_rows", 7, "display.float_format", "{:.1f}".format, "mode.string_storage", "python"); octx = pd.option_context("display.precision", 2); octx.__enter__()
        @pd.api.extensions.register_dataframe_accessor("audit")
        class Audit:
            def __init__(self, obj): self._obj = obj; self.calls = 0
            def nulls(self): self.calls += 1; return int(self._obj.isna().sum().sum())
        df.audit.nulls(); acc = df.audit
        """,
        """
        df.audit.nulls(), df.audit.calls, df.audit is acc, acc._obj is df
        df[["a"]].to_excel(xl, sheet_name="two"); xl.close() ;; pd.ExcelFile("out.xlsx", engine="openpyxl").sheet_names, book.sheetnames
        next(lines).a.tolist(), l0.a.tolist()
        rd.get_chunk(2).v.tolist(), h.v.tolist(), fwf.get_chunk(1).values.tolist()
        stat.min, stat.max, col.compression, rg.num_rows, meta.num_columns, sch.pandas_metadata["index_columns"][0]
        of.nrows, of.read().to_pydict(), of.schema.names
        back.t.dt.tz.key if hasattr(back.t.dt.tz, "key") else str(back.t.dt.tz), back.c.cat.ordered, back.index.name, pd.DatetimeIndex(df.t).freq
        pd.get_option("display.max_rows"), repr(pd.Series([1.234])), pd.get_option("mode.string_storage"), pd.get_option("display.precision")
        octx.__exit__(None, None, None) ;; pd.get_option("display.precision")
        fh.closed, fh.name, fh.mode
        """,
        named="col octx of rd rg stat",
    ),
}
