"""Connections to databases: what they were taught and told, what hangs together in duckdb, and what files are gone."""

# ruff: noqa: E501 (the lines of cells)

from tests.contract.hard_objects import session

SESSIONS = {
    "sqlite: handlers of progress, and who may use a connection": session(
        """
        import sqlite3, threading
        from concurrent.futures import ThreadPoolExecutor
        con = sqlite3.connect("a.db"); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(1000)]); con.commit()
        ticks = []; con.set_progress_handler(lambda: ticks.append(1), 50)
        shared = sqlite3.connect(":memory:", check_same_thread=False, detect_types=sqlite3.PARSE_DECLTYPES); shared.execute("create table d (day date)"); shared.execute("insert into d values ('2024-01-01')"); shared.commit()
        def elsewhere(one):
            found = []
            def ask():
                try: found.append(one.execute("select 1").fetchone())
                except sqlite3.ProgrammingError as error: found.append(type(error).__name__)
            thread = threading.Thread(target=ask); thread.start(); thread.join(); return found
        pool = ThreadPoolExecutor(1); waiting = pool.submit(len, "abc").result()
        """,
        """
        len(ticks), con.execute("select sum(a) from t").fetchone(), len(ticks)
        elsewhere(con), elsewhere(shared)
        shared.execute("select day from d").fetchone()
        con.set_progress_handler(None, 0) ;; ticks.clear(), con.execute("select sum(a) from t").fetchone(), ticks
        """,
        named="pool",
    ),
    "sqlite: temporary tables that need what a connection was taught": session(
        """
        import sqlite3
        def nat(a, b): return (len(a) > len(b)) - (len(a) < len(b))
        con = sqlite3.connect(":memory:"); con.execute("create table big (a)"); con.execute("insert into big values (1)"); con.commit()
        con.create_collation("nat", nat); con.create_function("valid", 1, lambda x: x > 0, deterministic=True)
        con.execute("create temp table w (a text collate nat primary key, n int check (valid(n)))"); con.executemany("insert into w values (?, ?)", [("aa", 1), ("b", 2)]); con.commit()
        mem = sqlite3.connect(":memory:"); mem.execute("pragma temp_store = memory"); mem.execute("pragma foreign_keys = 1"); mem.execute("create temp table child (p references parent)"); mem.execute("create temp table parent (id integer primary key)"); mem.execute("insert into temp.parent values (7)"); mem.execute("insert into temp.child values (7)"); mem.commit()
        """,
        """
        con.execute("select a from w order by a").fetchall(), con.execute("select * from big").fetchall()
        con.execute("insert into w values ('ccc', -1)")
        mem.execute("select * from temp.child").fetchall(), mem.execute("pragma foreign_keys").fetchone(), mem.execute("pragma temp_store").fetchone()
        mem.execute("insert into temp.child values (8)")
        """,
    ),
    "sqlite: what attached databases were told": session(
        """
        import sqlite3
        log = sqlite3.connect("o.db"); log.execute("pragma journal_mode = wal"); log.execute("create table u (a)"); log.commit(); log.close()
        con = sqlite3.connect("m.db"); con.execute("pragma journal_mode = truncate"); con.execute("create table t (a)"); con.commit(); con.execute("attach 'o.db' as o")
        two = sqlite3.connect("m2.db"); two.execute("attach 'p.db' as p"); two.execute("create table p.v (a)"); two.commit(); two.execute("pragma p.synchronous = 0"); two.execute("pragma p.cache_size = 77"); two.execute("pragma p.journal_mode = memory")
        made = sqlite3.connect(":memory:"); made.execute("create temp table w as select 1 as a union select 2")
        """,
        """
        con.execute("pragma main.journal_mode").fetchone(), con.execute("pragma o.journal_mode").fetchone(), open("o.db", "rb").read(20)[18:]
        [two.execute(f"pragma p.{name}").fetchone() for name in ("synchronous", "cache_size", "journal_mode")], [two.execute(f"pragma main.{name}").fetchone() for name in ("synchronous", "cache_size", "journal_mode")]
        made.execute("select * from w").fetchall(), made.total_changes, "total_changes"
        """,
        named="total_changes",
    ),
    "duckdb: views in any order, over files that are gone, with comments": session(
        """
        import duckdb, os, pandas as pd
        con = duckdb.connect(); con.execute("create table t as select 1 as a"); con.execute("create view v1 as select a from t"); con.execute("create view v2 as select a + 1 as b from v1"); con.execute("create or replace view v1 as select a * 10 as a from t")
        con.execute("comment on table t is 'mine'"); con.execute("comment on column t.a is 'a number'"); con.execute("comment on view v2 is 'it''s'")
        open("d.csv", "w").write("a,b\\n1,2\\n"); gone = duckdb.connect(); gone.execute("create table t as select 3 as a"); gone.execute("create view of_file as select * from read_csv('d.csv')"); os.remove("d.csv")
        df = pd.DataFrame({"a": [1, 2]}); df.to_csv("names.csv", index=False); mixed = duckdb.connect(); mixed.execute("create table t as select 4 as a"); mixed.execute("create view of_both as select * from df join read_csv('names.csv') using (a)")
        """,
        """
        con.execute("select * from v2").fetchall(), con.execute("select comment from duckdb_tables()").fetchall(), con.execute("select comment from duckdb_views() where view_name = 'v2'").fetchall(), con.execute("select comment from duckdb_columns() where column_name = 'a' and table_name = 't'").fetchall()
        gone.execute("select * from t").fetchall(), mixed.execute("select * from t").fetchall()
        gone.execute("select * from of_file").fetchall()
        mixed.execute("select * from of_both").fetchall()
        """,
        named="of_file of_both",
    ),
    "duckdb: macros that need each other, tables that need macros, and functions of Python below them": session(
        """
        import duckdb
        con = duckdb.connect(); con.execute("create macro f(x) as x + 1"); con.execute("create macro g(x) as f(x) * 2"); con.execute("create or replace macro f(x) as x + 5")
        con.execute("create table t (a int, b int default f(1))"); con.execute("insert into t (a) values (1)"); con.execute("create view v as select a, g(a) as c from t"); con.execute("create macro first(n) as table select * from v limit n"); con.execute("create macro total() as (select sum(a) from v)")
        calls = []; py = duckdb.connect(); py.create_function("noted", lambda x: calls.append(x) or x, ["BIGINT"], "BIGINT"); py.execute("create table keep as select 42 as k"); py.execute("create macro m() as noted(7)"); py.execute("create view over as select noted(k) as b from keep"); py.execute("create view above as select b * 2 as c from over"); py.execute("create macro fine(x) as x * 3")
        """,
        """
        con.execute("select g(1)").fetchall(), con.execute("select * from first(1)").fetchall(), con.execute("select total()").fetchall()
        con.execute("insert into t (a) values (2)") ;; con.execute("select * from t").fetchall()
        py.execute("select * from keep").fetchall(), py.execute("select fine(2)").fetchall(), calls
        py.execute("select m()").fetchall()
        py.execute("select * from above").fetchall()
        """,
        named="noted m over above",
    ),
    "duckdb: temporary views, and types within others that arrow does not have": session(
        """
        import duckdb
        con = duckdb.connect(); con.execute("create table t as select range as a from range(5)"); con.execute("create temp view tv as select a from t where a > 2"); con.execute("create temp view over as select count(*) as n from tv")
        con.execute("create table n as select ['101'::bit] as b, {'a': '10:00:00+02'::timetz, 'm': 'x, y'} as s, [340282366920938463463374607431768211455::uhugeint] as h, null::bit[] as e")
        file = duckdb.connect("f.duckdb"); file.execute("create table u as select 1 as a"); file.execute("create temp view tu as select a + 1 as b from u")
        """,
        """
        con.execute("select * from tv").fetchall(), con.execute("select * from over").fetchall(), file.execute("select * from tu").fetchall()
        con.execute("select b::text, s::text, h::text, e from n").fetchall(), con.execute("select typeof(b), typeof(s), typeof(h), typeof(e) from n").fetchall()
        con.cursor().execute("select * from tv")
        con.execute("insert into t values (9)") ;; con.execute("select * from over").fetchall()
        """,
    ),
    "sqlite: what is attached for reading, is gone, or is one too many": session(
        """
        import os, sqlite3
        src = sqlite3.connect("src.db"); src.execute("create table u (a)"); src.execute("insert into u values (1)"); src.commit(); src.close()
        con = sqlite3.connect("file::memory:?mode=memory", uri=True); con.execute("attach 'file:src.db?mode=ro' as src"); con.execute("create table work as select * from src.u"); con.commit()
        other = sqlite3.connect(":memory:"); other.execute("create table t (a)"); other.execute("insert into t values (1)"); other.commit(); other.execute("attach '/dev/shm/stepwell_gone.db' as elsewhere"); other.execute("create table if not exists elsewhere.u (a)"); other.commit()
        full = sqlite3.connect(":memory:"); full.execute("create table t (a)"); full.execute("insert into t values (1)"); full.commit(); _ = [full.execute(f"attach ':memory:' as d{n}") for n in range(10)]; _ = None
        few = sqlite3.connect("few.db"); few.execute("create table t (a, b)"); few.executemany("insert into t values (?, ?)", [(n, "x") for n in range(900)]); few.commit(); few.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 100); cur = few.execute("select * from t where a < 300"); first = cur.fetchone()
        class Store(sqlite3.Connection):
            def serialize(self): return "mine"
        store = sqlite3.connect(":memory:", factory=Store); store.execute("create table t (a)"); store.commit()
        """,
        """
        con.execute("select * from work").fetchall(), con.execute("select * from src.u").fetchall()
        con.execute("insert into src.u values (2)")
        other.execute("select * from t").fetchall()
        other.execute("select count(*) from elsewhere.u").fetchall()
        full.execute("select * from t").fetchall(), len(full.execute("pragma database_list").fetchall())
        full.total_changes, "total_changes"
        cur.fetchone(), len(cur.fetchall()), few.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        store.serialize(), store.execute("select * from t").fetchall()
        """,
        named="elsewhere total_changes",
    ),
    "a heartbeat in a thread, beside what it does not use": session(
        """
        import duckdb, sqlite3, threading
        stop = threading.Event(); beats = []
        def beat():
            while not stop.wait(0.01): beats.append(1)
        thread = threading.Thread(target=beat, daemon=True); thread.start()
        con = sqlite3.connect("a.db", check_same_thread=False); con.execute("create table t (a)"); con.execute("insert into t values (1)"); con.commit()
        duck = duckdb.connect(); duck.execute("create table t as select 2 as a")
        open("d.txt", "w").write("0\\n1\\n2\\n"); lines = open("d.txt"); first = next(lines)
        """,
        """
        con.execute("select * from t").fetchall(), duck.execute("select * from t").fetchall(), next(lines), lines.readline()
        """,
        named="thread beat beats stop",
    ),
    "duckdb: names of views and functions that are columns elsewhere": session(
        """
        import duckdb, pandas as pd
        df = pd.DataFrame({"a": [1, 2]}); con = duckdb.connect(); con.execute("create table t as select 1 as a, 5 as amount")
        con.register("frame", df); con.execute("create view sales as select a from frame"); con.execute("create view totals as select a, sum(amount) as sales from t group by a")
        con.create_function("clean", lambda x: x, ["BIGINT"], "BIGINT"); con.execute("create view flags as select a > 0 as clean from t"); con.execute("create macro twice(clean) as clean * 2")
        """,
        """
        con.execute("select * from totals").fetchall(), con.execute("select * from flags").fetchall(), con.execute("select twice(4)").fetchall()
        con.execute("select * from sales").fetchall()
        """,
        named="frame sales clean",
    ),
    "duckdb: a table with a function of Python for a default": session(
        """
        import duckdb
        con = duckdb.connect(); con.execute("create table keep as select 42 as k"); con.create_function("given", lambda x: x + 1, ["BIGINT"], "BIGINT")
        con.execute("create table of_python (a int, b int default given(1))"); con.execute("create index by_a on of_python (a)"); con.execute("comment on table of_python is 'x'"); con.execute("create sequence s"); con.execute("create view after as select k, nextval('s') as n from keep")
        """,
        """
        con.execute("select * from keep").fetchall(), con.execute("select k from after").fetchall()
        con.execute("insert into of_python (a) values (1)")
        """,
        named="given of_python by_a",
    ),
    "sqlite: functions that are columns of temporary tables": session(
        """
        import sqlite3
        def add(connection, name, function): connection.create_function(name, 1, function)
        con = sqlite3.connect(":memory:"); add(con, "year", lambda x: x); con.execute("create table t (a)"); con.execute("insert into t values (1)"); con.commit()
        con.execute("create temp table w (year int, a int)"); con.execute("insert into w values (2024, 1)"); con.commit()
        """,
        """
        con.execute("select * from t").fetchall(), con.execute("select * from w").fetchall()
        con.execute("select year(1)").fetchall()
        """,
        named="year",
    ),
    "sqlite: a long query that is fetched in batches": session(
        """
        import sqlite3
        con = sqlite3.connect("a.db"); con.execute("create table t (a)"); con.executemany("insert into t values (?)", [(n,) for n in range(20_000)]); con.commit()
        cur = con.execute("select a from t"); first = cur.fetchmany(100)
        # %%
        more = cur.fetchmany(19_890)
        """,
        """
        len(first), len(more), cur.fetchone(), len(cur.fetchall())
        """,
    ),
    "containers that read themselves in their own way": session(
        """
        class Ring(list):
            def __iter__(self):
                while True: yield from list.__iter__(self)
        class Pages(dict):
            def items(self): self["more"] = len(self); return dict.items(self)
        class Frozen(frozenset):
            def __iter__(self): return iter(sorted(frozenset.__iter__(self), reverse=True))
        from typing import NamedTuple
        class Point(NamedTuple):
            x: int
            y: list
            def __iter__(self): yield 9; yield 9
        point = Point(3, [4]); same = point.y
        ring = Ring([1, 2]); ring.tag = "x"; pages = Pages(a=1); frozen = Frozen({3, 1, 2}); frozen.tag = ring; keys = {frozen: "found"}
        """,
        """
        list.copy(ring), ring.tag, ring[1], next(iter(ring)), type(ring) is Ring
        len(pages), list(pages.items()), len(pages)
        point.x, point.y, point.y is same, list(point), type(point) is Point
        list(frozen), frozen.tag is ring, keys[frozen], type(frozen) is Frozen, frozen == {1, 2, 3}
        """,
    ),
    "connections beside deep structures, under a high limit and beside an idle thread": session(
        """
        import sqlite3, sys
        from concurrent.futures import ThreadPoolExecutor
        sys.setrecursionlimit(10_000); idle = ThreadPoolExecutor(1); count = idle.submit(len, "a").result()
        con = sqlite3.connect(":memory:"); con.execute("create table t (a)"); con.execute("insert into t values (1)"); con.commit()
        class Node: pass
        root = node = Node()
        for _ in range(20_000): node.next = Node(); node = node.next
        """,
        """
        con.execute("select * from t").fetchall(), sys.getrecursionlimit()
        type(root.next.next.next).__name__, node.__dict__
        """,
        named="idle",
    ),
    "policies of email, by name and of one's own": session(
        """
        import email.policy
        from email.message import EmailMessage
        message = EmailMessage(policy=email.policy.SMTP); message["Subject"] = "x"; message.set_content("y"); own = email.policy.default.clone(max_line_length=40); second = EmailMessage(policy=own)
        """,
        """
        message.policy is email.policy.SMTP, second.policy is own, own.max_line_length, own is email.policy.default
        message.add_attachment(b"1", maintype="application", subtype="x", filename="f") ;; message.get_content_type(), [one.policy is message.policy for one in message.iter_attachments()]
        """,
    ),
    "text in a loop that is read on": session(
        """
        import csv
        open("d.csv", "wb").write(("a,b\\r\\n" + "".join(f"{i},\u00fc{i}\\r\\n" for i in range(5000))).encode())
        rows = csv.reader(open("d.csv", encoding="utf-8", newline="")); row = [next(rows) for _ in range(1500)][-1]
        lines = open("d.csv", encoding="utf-8"); line = [next(lines) for _ in range(77)][-1]
        both = open("e.txt", "w+"); both.writelines(f"{n}\\n" for n in range(3000)); both.seek(0); first = [next(both) for _ in range(4)]
        """,
        """
        row, next(rows), sum(1 for _ in rows)
        line, next(lines), lines.readline(), lines.tell()
        next(both), both.readline(), both.tell()
        both.seek(0, 2), both.write("end"), both.seek(0), both.read()[-9:]
        """,
    ),
}
