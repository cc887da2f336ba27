"""Databases of sqlite: cursors, transactions that are not over, functions; and what is defined in those of duckdb."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import HardSession, session

SESSIONS: dict[str, HardSession] = {
    "cursors of sqlite, used, unused, closed and in the middle of a query": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); cur = con.cursor(); cur.execute("create table t(a, b)"); cur.executemany("insert into t values (?, ?)", [(1, 2), (3, 4)]); con.commit()
        made = con.cursor(); one = con.execute("insert into t values (7, 8)"); con.commit(); many = con.executemany("insert into t values (?, 0)", [(9,), (10,)]); con.commit(); shut = con.cursor(); shut.close()
        class Named(sqlite3.Cursor):
            def __init__(self, con, title): super().__init__(con); self.title = title
            def first(self, sql): return self.execute(sql).fetchone()
        named = Named(con, "n"); named.row_factory = sqlite3.Row; got = named.first("select a as x, b from t where a = 3"); sized = con.cursor(); sized.arraysize = 2
        gone = sqlite3.connect(":memory:"); of_gone = gone.execute("select 1"); gone.close()
        half = con.execute("select a, b, 'text', x'00ff', null, 1.5 from t order by a"); head = half.fetchone()
        con2 = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES); con2.row_factory = sqlite3.Row; dates = con2.execute("select 1 as \\"a b\\", 'x' as c")
        # %%
        cur.execute("select * from t where a > 1"); rows = cur.fetchall()
        """,
        """
        rows, cur.fetchall(), [d[0] for d in cur.description]
        cur.lastrowid, cur.rowcount, cur.connection is con
        made.description, made.lastrowid, made.rowcount, made.fetchone(), made.execute("select 5").fetchone()
        one.lastrowid, one.rowcount, one.description
        many.lastrowid, many.rowcount, many.description
        shut.execute("select 1")
        got["x"], named.title, named.first("select max(a) as m from t")["m"], type(named).__name__
        sized.execute("select a from t order by a").fetchmany(), sized.arraysize
        of_gone.fetchone()
        half.fetchone(), half.fetchmany(2), list(half), half.description[0], half.fetchone(), head
        dict(dates.fetchone()), dates.fetchone(), dates.description
        con.total_changes, con.execute("select changes(), last_insert_rowid()").fetchone()
        cur.execute("insert into t values (3, 3)"); con.rollback() ;; cur.execute("select count(*) from t").fetchone(), cur.lastrowid
        """,
    ),
    "a cursor on a file whose insert nobody has committed": session(
        """
        import sqlite3
        con = sqlite3.connect("a.db"); cur = con.cursor()
        # %%
        cur.execute("create table t(a, b)"); cur.executemany("insert into t values (?, ?)", [(1, 2), (3, 4)]); con.commit()
        # %%
        cur.execute("insert into t values (5, 6)")
        """,
        """
        cur.execute("select count(*) from t").fetchone(), cur.lastrowid, cur.rowcount, con.in_transaction
        cur.connection is con
        con.rollback() ;; cur.execute("select count(*) from t").fetchone()
        """,
    ),
    "a transaction in memory: rows, tables, triggers, foreign keys, sequences": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.execute("pragma foreign_keys = on")
        con.executescript('''create table author (id integer primary key autoincrement, name text unique collate nocase);
          create table book (id integer primary key, author int references author(id) on delete cascade, title text, price real default 1.5, double as (price * 2));
          create table tags (k text primary key, v blob) without rowid; create table log (t text); create index by_title on book (title);
          create view titles as select title from book; create trigger added after insert on book begin insert into log values ('added ' || new.title); end;''')
        con.execute("insert into author (name) values ('Ann')"); con.execute("insert into book (author, title) values (1, 'One')"); con.execute("insert into tags values ('a', x'01')"); con.commit()
        # %%
        con.execute("insert into author (name) values ('Bob')"); con.execute("update author set name = 'ANN' where id = 1")
        con.execute("insert into book (author, title, price) values (2, 'Two', 3)"); con.execute("delete from tags"); con.execute("insert into tags values ('b', 'text'), ('c', 5)")
        con.execute("create table notes (n)"); con.executemany("insert into notes values (?)", [(1,), (None,), (2.5,), ("x",), (b"y",)]); con.execute("alter table log add column more text default 'm'")
        con.execute("pragma user_version = 7")
        """,
        """
        con.in_transaction, con.total_changes, con.execute("select changes(), last_insert_rowid()").fetchone()
        con.execute("select * from author order by id").fetchall(), con.execute("select * from book order by id").fetchall()
        con.execute("select * from tags").fetchall(), con.execute("select n, typeof(n) from notes").fetchall(), con.execute("select * from log").fetchall()
        con.execute("pragma user_version").fetchone(), con.execute("select * from sqlite_sequence").fetchall(), con.execute("pragma defer_foreign_keys").fetchone()
        sorted(con.execute("select type, name, tbl_name, sql from sqlite_master").fetchall(), key=str)
        con.execute("insert into book (author, title) values (99, 'x')")
        con.execute("insert into book (author, title) values (2, 'Three')"); con.execute("insert into author (name) values ('C')") ;; con.execute("select * from log").fetchall(), con.execute("select * from sqlite_sequence").fetchall(), con.total_changes
        con.rollback() ;; con.in_transaction, con.execute("select * from author").fetchall(), con.execute("select * from book").fetchall(), con.execute("select * from tags").fetchall(), con.execute("select * from log").fetchall()
        con.execute("pragma user_version").fetchone(), con.execute("select * from sqlite_sequence").fetchall(), sorted(con.execute("select name from sqlite_master").fetchall())
        con.execute("delete from author where id = 1") ;; con.execute("select * from book").fetchall(), con.total_changes
        con.commit() ;; con.in_transaction, con.execute("select count(*) from author").fetchone()
        """,
    ),
    "transactions that are the first thing a connection did": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.execute("create table t (a)"); con.execute("insert into t values (1)")
        two = sqlite3.connect(":memory:", isolation_level=None); two.execute("begin"); two.execute("create table t (a)"); two.execute("insert into t values (1)")
        three = sqlite3.connect(":memory:"); three.execute("begin immediate"); upd = sqlite3.connect(":memory:"); upd.executescript("create table t(a); insert into t values (1), (2)"); upd.execute("update t set a = a + 1")
        """,
        """
        con.in_transaction, con.execute("select * from t").fetchall(), con.total_changes
        con.rollback() ;; con.execute("select * from t").fetchall()
        two.in_transaction, two.execute("select * from t").fetchall(), two.total_changes
        two.rollback() ;; two.execute("select count(*) from sqlite_master").fetchone()
        three.in_transaction, three.isolation_level, three.total_changes
        upd.execute("select * from t").fetchall(), upd.total_changes, upd.in_transaction
        upd.rollback() ;; upd.execute("select * from t").fetchall(), upd.total_changes
        """,
    ),
    "a transaction on a file with a log, and another connection to it": session(
        """
        import sqlite3, os
        con = sqlite3.connect("w.db"); con.execute("pragma journal_mode=wal"); con.row_factory = sqlite3.Row; con.execute("create table t (a integer primary key, b)"); con.execute("insert into t values (1, 'x')"); con.commit()
        other = sqlite3.connect("w.db", timeout=0.1)
        # %%
        con.execute("insert into t values (2, 'y')"); con.execute("update t set b = 'z' where a = 1")
        """,
        """
        con.in_transaction, [tuple(r) for r in con.execute("select * from t")], con.total_changes
        other.execute("select * from t").fetchall()
        other.execute("insert into t values (3, 'w')")
        other.rollback(); con.commit() ;; other.execute("select * from t").fetchall(), con.in_transaction
        other.execute("insert into t values (3, 'w')"); other.commit() ;; [tuple(r) for r in con.execute("select * from t")]
        con.execute("pragma journal_mode").fetchone()[0], os.path.exists("w.db")
        """,
    ),
    "a transaction on a file, another connection, and one that was begun at once": session(
        """
        import sqlite3, os
        os.makedirs("data"); con = sqlite3.connect("data/w.db"); cur = con.cursor(); cur.execute("create table t (a integer primary key, b)"); cur.execute("insert into t values (1, 'x')"); con.commit()
        other = sqlite3.connect("data/w.db", timeout=0.1); locked = sqlite3.connect("l.db", isolation_level=None, timeout=0.1); locked.execute("create table q (a)"); locked.execute("begin immediate"); tries = sqlite3.connect("l.db", timeout=0.1)
        # %%
        cur.execute("insert into t values (2, 'y')"); cur.execute("delete from t where a = 1")
        """,
        """
        con.in_transaction, con.execute("select * from t").fetchall(), con.total_changes, cur.lastrowid, cur.rowcount
        other.execute("select * from t").fetchall()
        other.execute("insert into t values (3, 'w')")
        sorted(os.listdir("data")), locked.in_transaction
        tries.execute("insert into q values (1)")
        locked.execute("commit"); tries.execute("insert into q values (1)"); tries.commit() ;; locked.execute("select * from q").fetchall()
        con.rollback() ;; con.execute("select * from t").fetchall(), con.in_transaction
        other.execute("insert into t values (3, 'w')"); other.commit() ;; con.execute("select * from t").fetchall()
        """,
    ),
    "a transaction over thousands of rows": session(
        """
        import sqlite3
        con = sqlite3.connect("big.db"); con.execute("create table t (a integer primary key, b text)"); con.executemany("insert into t values (?, ?)", [(i, "x" * 200) for i in range(5000)]); con.commit()
        con.executemany("insert into t values (?, ?)", [(i, "y" * 200) for i in range(5000, 5300)])
        """,
        """
        con.in_transaction, con.execute("select count(*), sum(length(b)), max(b) from t").fetchone(), con.total_changes
        con.rollback() ;; con.execute("select count(*) from t").fetchone()
        """,
    ),
    "a transaction that has written to the file already": session(
        """
        import sqlite3
        con = sqlite3.connect("big.db"); con.execute("pragma cache_size = 10"); con.execute("create table t (a integer primary key, b text)"); con.executemany("insert into t values (?, ?)", [(i, "x" * 200) for i in range(5000)]); con.commit()
        con.executemany("insert into t values (?, ?)", [(i, "y" * 200) for i in range(5000, 9000)])
        """,
        """
        con.in_transaction, con.execute("select count(*), sum(length(b)), max(b) from t").fetchone(), con.total_changes
        con.rollback() ;; con.execute("select count(*) from t").fetchone()
        """,
        named="con",
    ),
    "a transaction with a savepoint": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:", isolation_level=None); con.execute("create table t (a)"); con.execute("begin"); con.execute("savepoint s"); con.execute("insert into t values (1)")
        """,
        """
        con.in_transaction, con.execute("select * from t").fetchall()
        """,
        named="con",
    ),
    "transactions beside tables for full text, and in them": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.execute("create virtual table f using fts5(body)"); con.execute("create table t (a)"); con.execute("insert into f values ('hello world')"); con.commit()
        con.execute("insert into t values (1)")
        ft = sqlite3.connect(":memory:"); ft.execute("create virtual table f using fts5(body)"); ft.commit(); ft.execute("insert into f values ('hello world')")
        """,
        """
        con.in_transaction, con.execute("select * from t").fetchall(), con.execute("select * from f where f match 'hello'").fetchall()
        con.rollback() ;; con.execute("select * from t").fetchall(), con.execute("select * from f where f match 'hello'").fetchall()
        ft.execute("select * from f where f match 'hello'").fetchall()
        """,
        named="ft",
    ),
    "transactions of connections with functions and of a class": session(
        """
        import sqlite3
        class Db(sqlite3.Connection):
            def __init__(self, *a, **k): super().__init__(*a, **k); self.calls = []
            def execute(self, sql, *a): self.calls.append(sql); return super().execute(sql, *a)
        con = sqlite3.connect(":memory:", factory=Db); con.create_function("twice", 1, lambda x: x * 2, deterministic=True); con.execute("create table t (a check (twice(a) > 0))"); con.commit(); con.execute("insert into t values (4)")
        plain = sqlite3.connect(":memory:", factory=Db); plain.execute("create table t (a)"); plain.commit(); plain.execute("insert into t values (4)"); plain.set_trace_callback(plain.calls.append)
        """,
        """
        con.in_transaction, con.execute("select twice(a) from t").fetchall(), con.calls
        plain.in_transaction, plain.execute("select a from t").fetchall(), plain.calls
        plain.rollback() ;; plain.execute("select a from t").fetchall(), plain.calls
        """,
        named="con twice",
    ),
    "transactions in memory that is shared, and of connections that were deserialized": session(
        """
        import sqlite3
        a = sqlite3.connect("file:m?mode=memory&cache=shared", uri=True); b = sqlite3.connect("file:m?mode=memory&cache=shared", uri=True)
        a.execute("create table t (a)"); a.commit(); a.execute("insert into t values (4)")
        c = sqlite3.connect(":memory:"); c.execute("create table t (a)"); c.commit(); c.execute("insert into t values (4)"); d = sqlite3.connect(":memory:"); d.execute("create table t (a)"); d.commit(); d.execute("insert into t values (5)")
        e = sqlite3.connect(":memory:"); e.deserialize(d.serialize()); e.execute("insert into t values (6)")
        """,
        """
        a.in_transaction, a.execute("select a from t").fetchall()
        b.in_transaction
        c.in_transaction, c.execute("select a from t").fetchall()
        d.in_transaction, d.execute("select a from t").fetchall()
        e.in_transaction, e.execute("select a from t").fetchall()
        """,
        named="a b e",
    ),
    "a transaction on a file in a folder for a while, and one for reading": session(
        """
        import sqlite3, tempfile, os
        folder = tempfile.mkdtemp(); con = sqlite3.connect(os.path.join(folder, "t.db")); con.execute("create table t (a)"); con.commit(); con.execute("insert into t values (1)")
        ro = sqlite3.connect(f"file:{folder}/t.db?mode=ro", uri=True); ro.execute("begin"); rows = ro.execute("select * from t").fetchall()
        """,
        """
        con.in_transaction, con.execute("select a from t").fetchall()
        ro.in_transaction, ro.execute("select a from t").fetchall(), rows
        con.rollback() ;; con.execute("select a from t").fetchall()
        """,
        named="ro",
    ),
    "functions of sqlite that others may have taught": session(
        """
        import sqlite3, re, importlib
        open("dbtools.py", "w").write("import re, sqlite3\\ndef connect():\\n    con = sqlite3.connect(':memory:')\\n    con.create_function('regexp', 2, lambda p, s: re.search(p, s, re.I) is not None)\\n    return con\\nclass Logged(sqlite3.Connection):\\n    def create_function(self, name, count, called): super().create_function(name, count, lambda *given: None)\\n")
        import dbtools; con = dbtools.connect()
        # %%
        def exact(p, s): return re.fullmatch(p, s) is not None
        other = sqlite3.connect(":memory:"); other.create_function("regexp", 2, exact)
        def half(x): return x / 2
        logged = sqlite3.connect(":memory:", factory=dbtools.Logged); logged.create_function("half", 1, half)
        """,
        """
        con.execute("select 'ABC' regexp 'b'").fetchall(), "regexp"
        other.execute("select 'ABC' regexp 'b'").fetchall(), "regexp"
        logged.execute("select half('a')").fetchall(), "half"
        """,
        named="regexp half",
    ),
    "functions of sqlite whose names may be bound elsewhere": session(
        """
        import sqlite3
        open("helpers.py", "w").write("def norm(x): return x * 1000\\n")
        con = sqlite3.connect(":memory:")
        def norm(x): return x + 1
        con.create_function("norm", 1, norm)
        # %%
        from helpers import *
        """,
        """
        con.execute("select norm(1)").fetchall()
        """,
        named="norm",
    ),
    "functions of sqlite in a class": session(
        """
        import sqlite3
        class Repo:
            K = 3
            def __init__(self): self.con = sqlite3.connect(":memory:"); self.con.create_function("times", 1, lambda x: __class__.K * x)
        repo = Repo()
        """,
        """
        repo.con.execute("select times(2)").fetchall(), "times"
        """,
        named="times",
    ),
    "sequences, types and macros of duckdb": session(
        """
        import duckdb
        con = duckdb.connect()
        con.execute("create schema s2; create type mood as enum ('sad','ok'); create type pt as struct(x int, y mood); create type s2.m2 as enum ('q'); create type ml as mood[]")
        con.execute("create sequence ids start 10 increment by 2; create sequence s2.fresh maxvalue 99 cycle")
        con.execute("select nextval('ids'), nextval('ids')")
        con.execute("create table t (id integer default nextval('ids'), m mood, p pt)"); con.execute("insert into t (m, p) values ('sad', {'x': 1, 'y': 'sad'})")
        # %%
        con.execute("create macro plus(a, b := 5) as a + b; create macro ov(a) as a, (a, b) as a*b; create macro tab(n) as table select * from range(n) i, t; create macro s2.inner(x) as x + 1; create macro \\"odd name\\"(\\"a b\\") as \\"a b\\" * 2")
        con.execute("create view v as select plus(id) as q from t")
        """,
        """
        con.execute("select * from t").fetchall(), con.execute("select currval('ids'), nextval('ids')").fetchall()
        con.execute("insert into t (m) values ('ok')"); con.execute("select * from v order by q").fetchall() ;; con.execute("select * from t").fetchall()
        con.execute("select plus(1), plus(1, b := 2), ov(3), ov(3, 4), s2.inner(1), \\"odd name\\"(4)").fetchall(), con.execute("select count(*) from tab(3)").fetchall()
        con.execute("insert into t (m) values ('bad')")
        con.execute("select nextval('s2.fresh'), 'q'::s2.m2, ['ok']::ml").fetchall()
        con.execute("select sequence_name, start_value, last_value from duckdb_sequences() order by 1").fetchall()
        """,
    ),
    "columns that duckdb computes": session(
        """
        import duckdb
        con = duckdb.connect(); con.execute("create table g(a int, b int generated always as (a * 2), c text)"); con.execute("insert into g values (1, 'x'), (2, 'y')")
        """,
        """
        con.execute("select * from g").fetchall()
        con.execute("insert into g values (5, 'z')") ;; con.execute("select * from g").fetchall()
        """,
    ),
    "sequences of duckdb that go round or down, and macros of a connection": session(
        """
        import duckdb
        con = duckdb.connect(); con.execute("create temp macro tm(a) as a + 1"); con.execute("create table t (a int)")
        other = duckdb.connect(); other.execute("create sequence c minvalue 1 maxvalue 3 cycle; select nextval('c')").fetchall()
        down = duckdb.connect(); down.execute("create sequence c increment by -1 start with -1; select nextval('c') from range(5)").fetchall()
        """,
        """
        con.execute("select tm(1), 'tm'").fetchall()
        other.execute("select nextval('c')").fetchall()
        down.execute("select nextval('c')").fetchall()
        """,
        named="tm other",
    ),
    "transactions that have read nothing yet, or are behind, in files without names, with what is deferred": session(
        """
        import sqlite3, os
        lazy = sqlite3.connect("l.db", isolation_level=None, timeout=0.1); lazy.execute("create table t (a)"); lazy.execute("begin"); beside = sqlite3.connect("l.db", timeout=0.1)
        behind = sqlite3.connect("w.db", isolation_level=None); behind.execute("pragma journal_mode=wal"); behind.execute("create table t (a)"); behind.execute("begin"); behind.execute("select * from t").fetchall()
        ahead = sqlite3.connect("w.db"); ahead.execute("insert into t values (1)"); ahead.commit()
        nameless = sqlite3.connect(""); nameless.execute("pragma cache_size = 10"); nameless.execute("create table t (a)"); nameless.commit(); many = nameless.executemany("insert into t values (?)", [("x" * 500,)] * 4000).rowcount
        deferred = sqlite3.connect(":memory:"); deferred.execute("pragma foreign_keys = on"); deferred.execute("create table p (id integer primary key)"); deferred.execute("create table c (p int references p deferrable initially deferred)"); deferred.execute("insert into c values (5)")
        scripted = sqlite3.connect(":memory:", isolation_level=None); scripted.execute("create table t (a)"); scripted.execute("begin"); scripted.executescript("save" + "point one; insert into t values (1)")
        replaced = sqlite3.connect("r.db"); replaced.execute("create table t (a)"); replaced.commit(); replaced.execute("insert into t values (1)"); other = sqlite3.connect("new.db"); other.execute("create table t (a)"); other.commit(); other.close(); os.replace("new.db", "r.db")
        """,
        """
        beside.execute("insert into t values (1)"); beside.commit() ;; beside.execute("select * from t").fetchall()
        lazy.in_transaction, lazy.execute("select * from t").fetchall(), lazy.in_transaction
        behind.execute("select * from t").fetchall(), ahead.execute("select * from t").fetchall()
        nameless.execute("select count(*) from t").fetchall(), nameless.execute("pragma integrity_check").fetchall(), many
        deferred.commit()
        scripted.execute("rollback to one")
        replaced.execute("select * from t").fetchall()
        """,
        named="behind nameless deferred scripted replaced",
    ),
    "a column that is added to a table in a transaction, beside triggers": session(
        """
        import sqlite3
        con = sqlite3.connect("a.db"); con.executescript("create table t (a, b text); create table log (x); create trigger tr after insert on t begin insert into log values (new.a); end; create index i on t (a); create table last (z)")
        con.executemany("insert into t values (?, 'x')", [(n,) for n in range(500)]); con.commit()
        con.execute("alter table t add column c text default 'new, one'"); con.execute("insert into t (a) values (-1)"); con.execute("update log set x = 0 where x = 1")
        other = sqlite3.connect("a.db", timeout=0.1)
        """,
        """
        con.execute("select type, name, tbl_name, sql from sqlite_master").fetchall()
        con.execute("select * from t where a < 2 order by a").fetchall(), con.execute("select count(*), sum(x) from log").fetchall()
        other.execute("select count(*) from t").fetchone()
        con.execute("insert into t (a) values (-2)") ;; con.execute("select count(*), min(x) from log").fetchall()
        con.rollback() ;; con.execute("select sql from sqlite_master where name = 't'").fetchall(), con.execute("select count(*) from t").fetchall()
        con.execute("pragma integrity_check").fetchall()
        """,
    ),
    "what another process may do to a file while a transaction is open": session(
        """
        import sqlite3, subprocess, sys
        con = sqlite3.connect("a.db"); con.execute("create table t (a)"); con.execute("insert into t values (1)"); con.commit()
        con.execute("insert into t values (2)")
        WRITE = "import sqlite3; c = sqlite3.connect('a.db', timeout=0.1, isolation_level=None); c.execute('insert into t values (9)')"
        def elsewhere(): return subprocess.run([sys.executable, "-c", WRITE], capture_output=True, text=True).stderr.strip().splitlines()[-1:]
        """,
        """
        elsewhere()
        con.commit() ;; con.execute("select * from t").fetchall(), con.execute("pragma integrity_check").fetchall()
        elsewhere() ;; con.execute("select * from t").fetchall()
        """,
    ),
    "cursors with slots, and of queries that call functions": session(
        """
        import sqlite3
        class Named(sqlite3.Cursor):
            __slots__ = ("label",)
        named = Named(sqlite3.connect(":memory:")); named.label = "n"; calls = []
        taught = sqlite3.connect(":memory:"); taught.create_function("noted", 1, lambda x: calls.append(x) or x)
        half = taught.execute("select noted(column1) from (values (1), (2), (3))"); first = half.fetchone()
        """,
        """
        named.label
        half.fetchone(), calls, first
        """,
        named="named half noted",
    ),
    "databases that are attached, in files and in memory": session(
        """
        import sqlite3
        con = sqlite3.connect("main.db"); con.execute("attach database 'archive.db' as arch"); con.execute("create table arch.old (a)"); con.execute("insert into arch.old values (1)"); con.commit()
        con.execute("attach ':memory:' as mem"); con.execute("create table mem.t (x text)"); con.execute("insert into mem.t values ('m')"); con.commit()
        con.execute("attach ':memory:' as \\"odd one\\"")
        """,
        """
        con.execute("select * from arch.old").fetchall(), con.execute("select * from mem.t").fetchall(), con.total_changes
        [(n, bool(p)) for _, n, p in con.execute("pragma database_list")]
        con.execute("insert into mem.t values ('n')"); con.rollback() ;; con.execute("select * from mem.t").fetchall()
        con.execute("insert into arch.old values (2)"); con.commit() ;; sqlite3.connect("archive.db").execute("select * from old").fetchall()
        con.execute("detach mem") ;; [n for _, n, p in con.execute("pragma database_list")]
        """,
    ),
    "temporary tables, views and triggers": session(
        """
        import sqlite3
        con = sqlite3.connect(":memory:"); con.row_factory = sqlite3.Row
        con.executescript("create table sales (id integer primary key, p real); create temp table staging (id int, at text default 'x' unique); create temp view cheap as select * from sales where p < 5; create temp trigger tr after insert on sales begin insert into staging (id, at) values (new.id, new.p); end; create index temp.byid on staging (id)")
        con.execute("insert into sales (p) values (1), (9)"); con.commit()
        with_both = sqlite3.connect("f.db", isolation_level=None); with_both.execute("create temp table k (v integer primary key autoincrement)"); with_both.execute("insert into k default values")
        """,
        """
        [tuple(r) for r in con.execute("select * from staging")], [tuple(r) for r in con.execute("select * from cheap")]
        con.execute("insert into sales (p) values (2)") ;; [tuple(r) for r in con.execute("select * from staging")]
        sorted(tuple(r) for r in con.execute("select type, name, tbl_name, sql from temp.sqlite_master where sql is not null"))
        [tuple(r) for r in con.execute("select type, name from sqlite_master")], con.total_changes, con.in_transaction
        with_both.execute("insert into k default values").lastrowid, with_both.execute("select * from temp.k").fetchall(), with_both.total_changes
        """,
    ),
    "connections in objects that share a database in memory": session(
        """
        import sqlite3
        class Pool:
            def __init__(self): self.a, self.b = (sqlite3.connect("file:p?mode=memory&cache=shared", uri=True) for _ in range(2))
        pool = Pool(); pool.a.execute("create table t (a)"); pool.a.commit()
        writing = sqlite3.connect("w.db"); writing.execute("create table t (a)"); writing.commit(); writing.isolation_level = None
        cur = writing.execute("with v (x) as (values (1), (2)) insert into t select x from v returning a"); got = cur.fetchone()
        """,
        """
        pool.a.execute("insert into t values (1)"); pool.a.commit() ;; pool.b.execute("select * from t").fetchall()
        writing.execute("select * from t").fetchall(), cur.fetchall()
        """,
        named="pool writing cur",
    ),
    "how connections undo what they do to files": session(
        """
        import sqlite3, os
        ways = {mode: sqlite3.connect(f"{mode}.db") for mode in ("memory", "persist", "truncate", "off", "wal", "delete")}
        for mode, one in ways.items(): one.execute(f"pragma journal_mode = {mode}"); one.execute("create table t (a)"); one.execute("insert into t values (1)"); one.commit()
        begun = {mode: sqlite3.connect(f"{mode}.db") for mode in ("memory", "persist", "truncate")}
        for mode, one in begun.items(): one.execute(f"pragma journal_mode = {mode}"); one.execute("insert into t values (2)")
        """,
        """
        {mode: one.execute("pragma journal_mode").fetchone() for mode, one in ways.items()}
        {mode: (one.execute("pragma journal_mode").fetchone(), one.in_transaction, one.execute("select * from t").fetchall()) for mode, one in begun.items()}
        {name for name in os.listdir() if "journal" in name}
        [one.rollback() for one in begun.values()] ;; {mode: one.execute("select * from t").fetchall() for mode, one in begun.items()}
        """,
    ),
    "statements that give rows and are still writing": session(
        """
        import sqlite3
        con = sqlite3.connect("a.db"); con.execute("create table t (a integer primary key, b)"); con.commit(); con.execute("begin"); first = con.execute("insert into t values (0, 0)").rowcount
        cur = con.execute("with v (x) as (values (1), (2), (3)) insert into t select x, x from v returning a"); got = cur.fetchone()
        other = sqlite3.connect(":memory:"); half = other.execute("select column1 from (values (1), (2))"); one = half.fetchone()
        """,
        """
        one, half.fetchall()
        cur.fetchall(), got
        con.commit() ;; sqlite3.connect("a.db").execute("select count(*) from t").fetchone()
        """,
        named="cur total_changes",
    ),
    "connections and cursors of classes of cells": session(
        """
        import sqlite3
        class LoggingCursor(sqlite3.Cursor):
            def execute(self, sql, params=()):
                self.connection.history.append(sql.split()[0].lower()); return super().execute(sql, params)
        class Warehouse(sqlite3.Connection):
            instances = []
            def __init__(self, *a, **k): super().__init__(*a, **k); self.history = []; Warehouse.instances.append(self)
            def cursor(self, factory=LoggingCursor): return super().cursor(factory)
        # %%
        wh = sqlite3.connect(":memory:", factory=Warehouse); wh.cursor().execute("create table item(sku)"); wh.commit(); wh.cursor().execute("insert into item values ('a')")
        filed = sqlite3.connect("f.db", factory=Warehouse); cur = filed.cursor(); cur.execute("create table item(sku)"); filed.commit(); cur.execute("insert into item values ('a')")
        """,
        """
        wh.history, filed.history, len(Warehouse.instances), Warehouse.instances[0] is wh, type(cur).__name__
        wh.in_transaction, wh.cursor().execute("select * from item").fetchall(), wh.history[-1]
        filed.rollback() ;; cur.execute("select * from item").fetchall(), cur.connection is filed
        """,
    ),
    "views of duckdb over frames, beside others": session(
        """
        import duckdb, pandas as pd
        df = pd.DataFrame({"a": [1, 2]})
        con = duckdb.connect(); con.register("orders_v", df); con.execute("create table t as select 5 as b"); con.execute("create view of_orders as select a * 2 as d from orders_v"); con.execute("create view of_t as select b + 1 as c from t")
        other = duckdb.connect(); other.execute("create table u as select 1 as x"); other.execute("create view of_df as select a from df"); other.execute("create view of_u as select x from u")
        calls = []; third = duckdb.connect(); third.create_function("noted", lambda a: calls.append(a) or a, ["BIGINT"], "BIGINT"); third.execute("create view of_noted as select noted(1) as n"); third.execute("create table w as select 3 as y")
        """,
        """
        con.execute("select * from t").fetchall(), con.execute("select * from of_t").fetchall()
        con.execute("select * from of_orders").fetchall()
        other.execute("select * from u").fetchall(), other.execute("select * from of_u").fetchall()
        other.execute("select * from of_df").fetchall(), "of_df"
        third.execute("select * from w").fetchall(), calls
        third.execute("select * from of_noted").fetchall()
        """,
        named="orders_v of_orders of_df noted of_noted",
    ),
    "connections that never commit by themselves, or always": session(
        """
        import sqlite3, sys
        never, always = ({"autocommit": one} if sys.version_info >= (3, 12) else {"isolation_level": None} for one in (False, True))
        con = sqlite3.connect("a.db", timeout=0.1, **never); con.execute("create table t (a)"); con.commit(); begun = con.in_transaction or con.execute("begin")
        auto = sqlite3.connect(":memory:", **always); auto.execute("create table t (a)"); auto.execute("begin"); auto.execute("insert into t values (1)")
        other = sqlite3.connect("a.db", timeout=0.1); cur = con.cursor()
        """,
        """
        con.in_transaction, auto.in_transaction, getattr(con, "autocommit", None), getattr(auto, "autocommit", None)
        other.execute("insert into t values (7)"); other.commit() ;; con.execute("select * from t").fetchall()
        auto.execute("rollback") ;; auto.execute("select * from t").fetchall(), auto.in_transaction
        cur.execute("insert into t values (8)"); con.commit() ;; other.execute("select * from t").fetchall(), cur.lastrowid
        """,
    ),
    "connections that wait for a database that is locked": session(
        """
        import sqlite3
        hold = sqlite3.connect("l.db", isolation_level=None); hold.execute("create table t (a)"); hold.execute("begin exclusive")
        waits = [sqlite3.connect("l.db", timeout=0.1) for _ in range(3)]; free = sqlite3.connect("o.db", timeout=7); free.execute("create table t (a)"); free.commit()
        """,
        """
        free.execute("pragma busy_timeout").fetchone(), free.execute("select * from t").fetchall()
        len(waits), hold.in_transaction
        """,
        named="hold waits",
    ),
}
