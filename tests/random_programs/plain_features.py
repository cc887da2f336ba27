"""Python's own: containers, functions, classes, iterators, files and what modules keep."""

# ruff: noqa: E501 (the lines of cells)

from tests.random_programs.features import Feature, feature

VALUES: list[Feature] = [
    feature(
        "lists and cycles",
        "V_x = [N1_, 'a', [N2_], {'k': [1]}]; V_x.append(V_x); V_y = V_x[2]",
        """
        V_y.append(N1_)
        V_x.insert(1, {'n': V_x})
        V_x[0] += 1
        V_x[2] = list(V_y)
        """,
        """
        len(V_x), V_x[0], V_x[-1] is V_x or V_x[-2] is V_x, [type(one).__name__ for one in V_x]
        V_y, any(one is V_y for one in V_x)
        """,
    ),
    feature(
        "dicts with odd keys",
        "V_nan = float('nan'); V_x = {V_nan: 1, (1, 2): [N1_], None: {}, frozenset({1}): 'f', 1.5: b'b'}; V_keys = V_x.keys(); V_items = V_x.items()",
        """
        V_x[V_nan] += 1
        V_x[N1_] = V_x
        V_x.setdefault('late', []).append(N2_)
        V_x.pop((1, 2), None)
        """,
        """
        V_x[V_nan], len(V_x), [repr(key) for key in V_keys]
        V_x.get((1, 2)), V_x.get('late'), list(V_x)[0] is V_nan, len(V_items)
        """,
    ),
    feature(
        "sets",
        "V_x = {N1_, 'x', (1, N2_), None}; V_f = frozenset(V_x); V_strings = set('abcdefghijkl')",
        """
        V_x.add('N1_')
        V_x.discard('x')
        V_x |= V_f
        V_strings.discard('c'); V_strings.add('zzN1_')
        """,
        """
        sorted(map(repr, V_x)), sorted(map(repr, V_f)), V_f <= V_x
        list(V_strings), hash('V_x'), hash((1, 'a', 2.5))
        """,
    ),
    feature(
        "collections",
        """
        import collections
        V_x = collections.deque([N1_, 2], maxlen=5); V_d = collections.defaultdict(list, a=[1]); V_c = collections.Counter('hello'); V_o = collections.OrderedDict(a=1, b=2)
        V_P = collections.namedtuple('V_P', 'left right'); V_p = V_P(1, [N2_]); V_m = collections.ChainMap({'a': 1}, V_d); V_n = collections.defaultdict(lambda: V_p.left)
        """,
        """
        V_x.append(N1_)
        V_d['kN1_'].append(2)
        V_c.update('N2_'); V_o.move_to_end('a')
        V_p.right.append(N1_); V_m['newN1_'] = V_p
        V_n['N1_']
        """,
        """
        V_x, V_x.maxlen, dict(V_d), V_d.default_factory is list, V_c.most_common(3), list(V_o)
        V_p, type(V_p) is V_P, isinstance(V_p, V_P), sorted(map(str, V_m)), V_m.maps[1] is V_d, dict(V_n)
        """,
    ),
    feature(
        "bytes and views",
        "V_x = bytearray(range(N1_ % 50 + 10)); V_v = memoryview(V_x)[2:8]; import array; V_a = array.array('d', [1.5, N2_]); V_b = bytes(V_x)",
        """
        V_v[0] = N1_ % 256
        V_x[3] = N2_ % 256
        V_a.append(N1_)
        """,
        "bytes(V_x), bytes(V_v), V_v.readonly, V_v.obj is V_x, V_a, V_b[:3], len(V_v)",
    ),
    feature(
        "numbers and dates",
        """
        import datetime, decimal, fractions, zoneinfo, uuid, ipaddress, pathlib
        V_x = [decimal.Decimal('1.10'), fractions.Fraction(N1_, 7), complex(1, N2_), 10 ** 40 + N1_, -0.0, float('inf')]
        V_t = datetime.datetime(2024, 3, 31, 1, 30, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')); V_u = datetime.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=V_t.tzinfo)
        V_s = datetime.timezone(datetime.timedelta(hours=N1_ % 12), 'mine'); V_i = uuid.UUID(int=N2_), ipaddress.ip_address(N1_), pathlib.PurePosixPath('a/bN1_')
        """,
        """
        V_t += datetime.timedelta(hours=N1_)
        V_x.append(V_x[0] * N2_)
        V_x.append(V_t)
        V_u = V_u.astimezone(V_s)
        """,
        """
        V_x[:6], len(V_x), V_t.isoformat(), V_t.utcoffset(), V_u.isoformat(), V_u.fold, V_s, V_i
        V_t.tzinfo is zoneinfo.ZoneInfo('Europe/Berlin'), V_x[-1] is V_t
        """,
    ),
    feature(
        "random state",
        """
        import random
        import numpy as np
        V_x = random.Random(N1_); V_g = np.random.default_rng(N2_); V_s = np.random.RandomState(N1_); V_g2 = V_g; V_got = []
        random.seed(N1_); np.random.seed(N2_)
        """,
        """
        V_got.append((V_x.random(), V_x.gauss(0, 1), random.random()))
        V_got.append((V_g.integers(1000), V_s.randn(), np.random.rand()))
        V_got.append((V_g2.normal(), random.gauss(0, 1), random.choice('abcdef')))
        V_got.append((V_s.normal(), np.random.randn(), np.random.randint(9)))
        """,
        "V_got[-4:], V_g2 is V_g, V_x.getstate()[1][-1], V_g.bit_generator.state['state']['state'], random.getstate()[1][-1]",
        held="V_got",
    ),
    feature(
        "exceptions",
        """
        class V_E(ValueError):
            def __init__(self, code, *, more=None): super().__init__(f'code {code}'); self.code, self.more = code, more
        def V_fail(n):
            try: return 1 // 0
            except ZeroDivisionError as error: raise V_E(n, more=[n]) from error
        try: V_fail(N1_)
        except V_E as _e: V_x = _e
        V_g = ExceptionGroup('group', [V_x, KeyError('a')])
        """,
        """
        V_x.more.append(N1_)
        V_x.add_note('note N1_')
        V_x.code += N2_
        V_x.args = ('N1_', V_x.args)
        """,
        """
        type(V_x) is V_E, V_x.code, V_x.more, str(V_x.args)[:200], getattr(V_x, '__notes__', None)
        repr(V_x.__cause__), V_g.exceptions[0] is V_x, repr(V_g.exceptions[1]), V_x.__suppress_context__
        """,
    ),
]

CODE: list[Feature] = [
    feature(
        "closures",
        """
        def V_make(start):
            count, seen = start, []
            def up(by=1):
                nonlocal count
                count += by; seen.append(count)
                return count
            def look(): return count, seen
            return up, look
        V_x, V_look = V_make(N1_); V_total = 0
        def V_add(n, *, store=[]):
            global V_total
            V_total += n; store.append(n)
            return V_total, len(store)
        """,
        """
        V_x(N2_)
        V_add(N1_)
        V_total = -N1_
        V_add.note = ['N1_']
        V_add.__defaults__ = (N1_,)
        V_add.__kwdefaults__ = {'store': [0] * (N2_ % 5)}
        """,
        """
        V_look(), V_x.__closure__[0] is V_look.__closure__[0], V_total, V_add.__kwdefaults__, V_add.__defaults__, V_add.__dict__
        V_add.__globals__ is globals(), V_make.__code__.co_names, V_add.__qualname__, V_add.__module__
        """,
    ),
    feature(
        "partials, caches, decorators",
        """
        import functools, operator
        V_calls = []
        @functools.lru_cache(maxsize=None)
        def V_slow(n): V_calls.append(n); return n * 2
        def V_deco(f):
            @functools.wraps(f)
            def inner(*a): inner.count += 1; return f(*a)
            inner.count = 0
            return inner
        @V_deco
        def V_x(a): 'says'; return a, V_scale
        V_scale = N1_; V_p = functools.partial(V_x, N2_); V_get = operator.itemgetter(1, 0); V_attr = operator.attrgetter('real')
        @functools.singledispatch
        def V_kind(v): return 'other'
        @V_kind.register
        def _(v: int): return 'int'
        """,
        """
        V_x(N1_)
        V_scale = N2_
        V_p()
        V_kind.register(str, lambda v: 'str N1_')
        V_p = functools.partial(V_p, )
        """,
        """
        V_x.count, V_x.__doc__, V_x.__name__, V_x.__wrapped__(1), V_p.func is V_x, V_p.args, V_get('ab'), V_attr(3j)
        V_kind(1), V_kind('a'), V_kind(1.5), sorted(one.__name__ for one in V_kind.registry)
        """,
    ),
    feature(
        "a class that changes",
        """
        class V_Base:
            made, log = 0, []
            def __init_subclass__(cls, **k): V_Base.log = [*V_Base.log, cls.__name__]
            def __init__(self, n=0): self.n = n; type(self).made += 1
            def say(self): return type(self).__name__, self.n, V_word
            @property
            def twice(self): return self.n * 2
            @staticmethod
            def fixed(): return V_word
            @classmethod
            def build(cls, n): return cls(n)
        class V_C(V_Base):
            __slots__ = ('extra',)
            def say(self): return ['C', super().say(), __class__.__name__]
        V_word = 'wN1_'; V_x = V_C(N1_); V_b = V_Base(N2_); V_bound = V_x.say
        """,
        """
        V_C.say = lambda self: ('patched N1_', self.n)
        V_Base.made += N2_
        V_word = 'wN2_'
        V_x.extra = [N1_]; V_x.late = N2_
        V_b = V_Base.build(N1_); V_Base.log.append('by hand')
        V_Base.shout = lambda self, n=N1_: (n, self.n)
        V_x.n += 1
        class V_C(V_Base): say = lambda self: 'newer N1_'
        V_x.__class__ = V_Base if not hasattr(V_x, 'extra') and type(V_x).__dictoffset__ == V_Base.__dictoffset__ and type(V_x) is V_Base else type(V_x)
        """,
        """
        V_x.say(), V_bound(), V_b.say(), V_C.made, V_Base.made, V_Base.log, V_x.twice, V_Base.fixed()
        isinstance(V_x, V_C), type(V_x).__mro__[1] is V_Base, getattr(V_x, 'extra', None), getattr(V_x, 'late', None), V_bound.__self__ is V_x
        getattr(V_b, 'shout', lambda: None)(), V_C(1).n if False else V_C.__name__, [one.__name__ for one in V_Base.__subclasses__()]
        """,
    ),
    feature(
        "dataclasses and enums",
        """
        import dataclasses, enum, typing
        @dataclasses.dataclass(order=True)
        class V_D:
            a: int
            b: list = dataclasses.field(default_factory=list, compare=False)
            c: 'typing.ClassVar[list]' = []
            def __post_init__(self): V_D.c.append(self.a)
        @dataclasses.dataclass(frozen=True, slots=True)
        class V_F: a: int; d: V_D
        class V_Col(enum.Enum): RED = 1; BLUE = 'b'; CRIMSON = 1
        class V_Fl(enum.Flag): A = enum.auto(); B = enum.auto()
        class V_N(typing.NamedTuple): left: int; right: list = []
        V_x = V_D(N1_, [N2_]); V_f = V_F(N1_, V_x); V_set = {V_Col.RED: [N1_], V_Fl.A | V_Fl.B: 2}; V_n = V_N(N1_)
        """,
        """
        V_x.b.append(N1_)
        V_x = dataclasses.replace(V_x, a=N2_)
        V_Col.RED.extra = N1_
        V_set[V_Col.CRIMSON].append(N2_)
        V_f = dataclasses.replace(V_f, a=N1_)
        V_n = V_n._replace(left=N2_)
        """,
        """
        V_x, V_D.c[-5:], V_f.d is V_x, V_f, V_x < V_D.__new__(V_D) if False else V_x == V_x, dataclasses.fields(V_D)[1].default_factory is list
        V_set[V_Col('b' if False else 1)], V_Col.CRIMSON is V_Col.RED, getattr(V_Col.RED, 'extra', None), list(V_Col.__members__), V_Fl.A | V_Fl.B in V_set, V_n, V_n.right is V_N(1).right
        """,
    ),
    feature(
        "subclasses of builtins",
        """
        class V_L(list):
            def __init__(self, *a): super().__init__(*a); self.log = []
            def append(self, v): self.log.append(v); super().append(v)
        class V_Di(dict):
            def __setitem__(self, k, v): super().__setitem__(k, [v])
            def __missing__(self, k): return ('missing', k)
        class V_S(str):
            def __new__(cls, v, tag=None): self = super().__new__(cls, v); self.tag = tag; return self
        class V_I(int): pass
        class V_T(tuple): pass
        class V_Fs(frozenset): pass
        class V_O(__import__('collections').OrderedDict): pass
        V_x = V_L([1]); V_d = V_Di(); V_d['a'] = N1_; V_s = V_S('sN1_', ['tag']); V_i = V_I(N2_); V_i.note = [1]; V_t = V_T((1, V_x)); V_t.more = V_d; V_fs = V_Fs({1, 2}); V_o = V_O(a=1); V_o.extra = V_x
        """,
        """
        V_x.append(N1_)
        V_d['kN1_'] = V_x
        V_s.tag.append(N2_)
        V_i.note.append(V_s)
        V_x.log.clear()
        V_o['zN1_'] = V_t
        """,
        """
        list(V_x), V_x.log, dict.__repr__(V_d)[:300], V_d['nothing'], V_s, V_s.tag, type(V_s) is V_S, V_i + 1, len(V_i.note)
        V_t[1] is V_x, V_t.more is V_d, type(V_fs) is V_Fs, sorted(V_fs), list(V_o), V_o.extra is V_x
        """,
    ),
    feature(
        "protocols and metaclasses",
        """
        import abc
        class V_Meta(type):
            registry = {}
            def __new__(m, name, bases, space, **k): kind = super().__new__(m, name, bases, space); V_Meta.registry[name] = kind; return kind
            def __call__(cls, *a): self = super().__call__(*a); cls.count = getattr(cls, 'count', 0) + 1; return self
        class V_A(metaclass=V_Meta):
            def __init__(self, v): self.v = v
            def __getattr__(self, name): return ('dynamic', name) if not name.startswith('_') else object.__getattribute__(self, name)
            def __eq__(self, o): return isinstance(o, V_A) and self.v == o.v
            def __hash__(self): return hash(self.v)
        class V_Abs(abc.ABC):
            @abc.abstractmethod
            def go(self): ...
        class V_Imp(V_Abs):
            def go(self): return N1_
        V_Abs.register(V_A)
        class V_Desc:
            def __set_name__(self, owner, name): self.name = '_' + name
            def __get__(self, o, k=None): return self if o is None else getattr(o, self.name, 'unset')
            def __set__(self, o, v): object.__setattr__(o, self.name, v)
        class V_H: field = V_Desc()
        V_x = V_A(N1_); V_h = V_H(); V_imp = V_Imp(); V_by = {V_x: 'found'}
        """,
        """
        V_x2 = V_A(N2_); V_by[V_x2] = N1_
        V_h.field = [N1_]
        class V_Later(V_A): pass
        V_Meta.registry['hand'] = N2_
        V_H.other = V_Desc(); V_H.other.name = '_other'; V_h.other = N1_
        """,
        """
        V_x.v, V_x.anything, V_A.count, sorted(V_Meta.registry), V_Meta.registry['V_A'] is V_A, V_by[V_A.__new__(V_A) if False else V_x]
        V_h.field, isinstance(V_x, V_Abs), V_imp.go(), getattr(V_h, 'other', None), len(V_by), V_h.__dict__
        """,
    ),
    feature(
        "weak references",
        """
        import weakref
        class V_W: pass
        V_x = V_W(); V_x.n = N1_; V_r = weakref.ref(V_x); V_wd = weakref.WeakValueDictionary(a=V_x); V_wk = weakref.WeakKeyDictionary({V_x: [N2_]}); V_ws = weakref.WeakSet([V_x])
        V_m = weakref.WeakMethod(V_x.say) if hasattr(V_x, 'say') else None
        """,
        """
        V_x.n += 1
        V_y = V_W(); V_y.n = N1_; V_wd['b'] = V_y; V_ws.add(V_y)
        V_wk[V_x].append(N1_)
        V_x = V_W(); V_x.n = -N2_
        """,
        """
        V_r() is V_x, V_r() and V_r().n, sorted(V_wd), [V_wk.get(V_x)], len(V_ws), len(V_wk), V_wd.get('a') is V_x
        """,
    ),
    feature(
        "iterators and generators",
        """
        import itertools
        V_x = iter([1, 2, [N1_], 4] * 9); V_e = enumerate('abcdefghij' * 5, N2_); V_z = zip(range(90), range(5, 99)); V_rev = reversed([1, 2, 3] * 20); V_map = map(str, range(99)); V_got = []; V_count = itertools.count(N1_, 2); V_chain = itertools.chain([1, 2] * 20, 'xyz' * 20); V_set = iter({'a', 'b', N1_, N2_, 'cc', 'dd', 'ee'}); V_keys = iter(dict.fromkeys('abcdefgh')); V_dict = iter({'a': 1, 'b': N1_}.items())
        """,
        """
        V_got.append((next(V_x), next(V_e)))
        V_got.append(next(V_z)); V_got.append(next(V_rev))
        V_got.append(next(V_map))
        V_got.append(next(V_count)); V_got.append(next(V_chain))
        V_got.append((next(V_set, 'end'), next(V_keys, 'end'), next(V_dict, 'end')))
        """,
        "V_got[-3:], repr(V_count)",
        held="V_got",
    ),
    feature(
        "generators that are lost",
        """
        import itertools
        def V_make(): yield from range(N2_, N2_ + 90)
        V_gen = (i * N1_ for i in range(99)); V_made, V_middle = V_make(), V_make(); next(V_middle); V_cyc = itertools.cycle('abc'); V_got = [next(V_gen)]
        """,
        """
        V_got.append(next(V_gen))
        V_got.append(next(V_middle))
        """,
        "V_got[-2:]",
        held="V_got",
    ),
    feature(
        "locks, spaces, managers",
        """
        import contextvars, threading, types, contextlib
        V_ns = types.SimpleNamespace(a=1, b=[N2_]); V_lock = threading.Lock(); V_ev = threading.Event()
        @contextlib.contextmanager
        def V_cm(): V_ns.b.append('in'); yield V_ns; V_ns.b.append('out')
        """,
        """
        V_ns.c = V_ns
        with V_cm() as _c: _c.a += 1
        V_ev.set() if N1_ % 2 else V_ev.clear()
        """,
        """
        V_ns.a, V_ns.b[-4:], getattr(V_ns, 'c', None) is V_ns, V_lock.locked(), V_ev.is_set()
        """,
        held="V_ns",
    ),
    feature(
        "context variables",
        "import contextvars, threading; V_x = contextvars.ContextVar('V_x', default=[N1_]); V_x.set({'n': N2_}); V_loc = threading.local(); V_loc.n = N1_",
        """
        V_x.get()['n'] += 1
        V_x.set({'n': N1_})
        V_loc.n += N2_
        """,
        "V_x.get(), V_loc.n",
    ),
    feature(
        "code that is made",
        """
        import types
        V_space = {'n': N1_}
        exec('def f(a): return a + n\\ndef g(): return f', V_space)
        V_x = V_space['f']; V_mod = types.ModuleType('V_mod'); V_mod.value = [N2_]; exec('def look(): return value', V_mod.__dict__)
        V_T = type('V_T', (), {'a': N1_, 'f': lambda self: self.a + V_k}); V_k = N2_; V_t = V_T(); V_lam = [lambda: V_k, lambda q=V_k: q]
        V_f2 = types.FunctionType(V_x.__code__, {'n': N2_})
        """,
        """
        V_space['n'] = N2_
        V_mod.value.append(N1_)
        V_T.a += 1
        V_k = N1_
        V_mod.value = [V_mod]
        """,
        """
        V_x(1), V_x.__globals__ is V_space, len(V_mod.look()), V_mod.look() is V_mod.value, V_t.f(), V_lam[0](), V_lam[1](), V_space['g']() is V_x, V_f2(1)
        """,
    ),
    feature(
        "types and typing",
        """
        import typing, types
        V_Var = typing.TypeVar('V_Var'); V_Al = dict[str, list[int]]
        class V_G(typing.Generic[V_Var]):
            def __init__(self, v: V_Var): self.v = v
        class V_TD(typing.TypedDict, total=False): a: int; b: 'list[str]'
        class V_Pr(typing.Protocol):
            def go(self) -> int: ...
        V_x = V_G[int](N1_); V_td: V_TD = {'a': N2_}; V_u = int | None; V_cb = typing.Callable[[int], V_G]; V_mp = types.MappingProxyType({'a': [N1_]})
        """,
        """
        V_x.v = [V_x.v]
        V_td['b'] = ['N1_']
        V_x = V_G(V_x)
        """,
        """
        str(V_x.v)[:50].split(' object')[0], V_x.__class__ is V_G, V_G[int].__args__, V_Al, V_u, V_td, V_TD.__annotations__['a'], V_mp, V_G.__parameters__ == (V_Var,), V_cb.__args__[1] is V_G
        """,
    ),
]

WORLD: list[Feature] = [
    feature(
        "files and handles",
        """
        import os, io, pathlib
        os.makedirs('V_dir/sub', exist_ok=True)
        pathlib.Path('V_dir/a.txt').write_text('line N1_\\nline 2\\nline 3\\n' * 20)
        V_x = open('V_dir/a.txt'); V_x.readline(); V_w = open('V_dir/w.txt', 'w'); V_w.write('N2_'); V_b = open('V_dir/a.txt', 'rb+'); V_s = io.StringIO('abcN1_' * 9); V_s.read(2); V_by = io.BytesIO(b'xyz'); V_p = pathlib.Path('V_dir')
        """,
        """
        V_x.readline()
        V_w.write('more N1_\\n'); V_w.flush()
        V_b.seek(3); V_b.write(b'#N2_'); V_b.flush()
        V_s.write('N1_'); V_by.write(b'N2_')
        (V_p / 'sub' / 'newN1_').write_text('N2_')
        (V_p / 'w.txt').exists() and V_w.close()
        os.path.exists('V_dir/a.txt') and os.rename('V_dir/a.txt', 'V_dir/b.txt')
        os.chmod('V_dir/sub', 0o750); os.symlink('a.txt', 'V_dir/linkN1_') if not os.path.lexists('V_dir/linkN1_') else os.unlink('V_dir/linkN1_')
        """,
        """
        V_x.closed or V_x.tell(), V_w.closed or (V_w.tell(), V_w.mode), V_b.closed or V_b.tell(), V_s.tell(), V_s.getvalue()[:30], V_by.getvalue()
        sorted(str(one) for one in V_p.rglob('*')), oct(os.stat('V_dir/sub').st_mode), [one.read_bytes()[:40] for one in sorted(V_p.glob('*.txt'))]
        """,
        held="V_p",
    ),
    feature(
        "sqlite",
        """
        import sqlite3
        V_x = sqlite3.connect(':memory:'); V_x.execute('create table t (a integer primary key, b text, c real)'); V_x.execute("insert into t (b, c) values ('x', N1_)"); V_x.commit(); V_x.row_factory = sqlite3.Row
        V_f = sqlite3.connect('V_f.db'); V_f.execute('create table if not exists u (n)'); V_f.execute('pragma foreign_keys = on')
        """,
        """
        V_x.execute("insert into t (b, c) values ('yN1_', N2_)"); V_x.commit()
        V_x.execute("insert into t (b, c) values ('pending', N2_)"); V_x.rollback() if N1_ % 3 else None
        V_x.execute('update t set c = c + 1'); V_x.commit()
        V_f.execute('insert into u values (N1_)'); V_f.commit()
        V_x.execute('create index if not exists iN1_ on t (b)')
        V_x.rollback()
        V_x.execute('create view if not exists vN1_ as select max(c) from t'); V_x.commit()
        V_x.execute('delete from t where a = (select min(a) from t)'); V_x.commit()
        """,
        """
        [tuple(row) for row in V_x.execute('select * from t')][-4:], V_x.row_factory is sqlite3.Row, V_x.in_transaction, V_x.total_changes >= 0
        sorted(row[0] for row in V_x.execute('select name from sqlite_master'))
        V_f.execute('select count(*), sum(n) from u').fetchone(), V_f.execute('pragma foreign_keys').fetchone(), V_x.execute('select last_insert_rowid()').fetchone()[0] >= 0
        """,
    ),
    feature(
        "a workspace module",
        """
        open('V_mod.py', 'w').write('''
        import functools, collections
        count, items, names = 0, [], {}
        Point = collections.namedtuple('Point', 'x y')
        class Config:
            rate, tags = 1, []
            def __init__(self): Config.tags.append(len(Config.tags)); self.n = count
            def get(self): return self.rate, count
        class Child(Config):
            def get(self): return ('child', super().get())
        def bump(by=1, *, into=[]):
            global count
            count += by; into.append(by); items.append(count)
            return count
        @functools.lru_cache
        def cached(n): return n + count
        default = Config()
        '''.replace('\\n        ', '\\n'))
        import importlib; importlib.invalidate_caches()
        import V_mod
        from V_mod import bump as V_bump
        V_x = V_mod.Config()
        """,
        """
        V_mod.bump(N1_)
        V_bump(N2_)
        V_mod.Config.rate = N1_; V_mod.Config.tags.append('N2_')
        V_mod.count = N2_; V_mod.added = [V_x]
        V_mod.bump.note = N1_; V_mod.Child.extra = lambda self: self.n
        V_mod.helper = lambda: V_mod.count
        V_mod.default.n += 1; V_mod.names['N1_'] = V_mod.default
        V_y = V_mod.Child()
        V_mod.items = V_mod.items[-3:]
        del V_mod.names; V_mod.names = {}
        V_mod.Config.get = lambda self: 'replaced N1_'
        """,
        """
        V_mod.count, V_mod.items[-5:], V_mod.Config.rate, V_mod.Config.tags[-4:], V_mod.bump is V_bump, V_mod.bump.__kwdefaults__, V_mod.bump.__dict__
        V_x.get(), V_mod.default.n, sorted(V_mod.names), getattr(V_mod, 'added', None) and V_mod.added[0] is V_x, getattr(V_mod, 'helper', lambda: None)(), type(V_x) is V_mod.Config, V_mod.Child().get() if False else V_mod.Child.__mro__[1] is V_mod.Config
        """,
    ),
    feature(
        "settings and environment",
        """
        import os, sys, decimal, locale, warnings, logging, signal, gc
        os.environ['V_ENV'] = 'N1_'; sys.path.append('/V_nowhere'); V_x = logging.getLogger('V_log'); V_out = []
        class V_H(logging.Handler):
            def emit(self, record): V_out.append((record.levelname, record.getMessage()))
        V_h = V_H(); V_x.addHandler(V_h); V_x.setLevel(logging.INFO); V_x.propagate = False; V_x.addFilter(lambda record: 'secret' not in record.getMessage())
        """,
        """
        V_x.info('said %s', N1_); V_x.debug('no'); V_x.info('secret')
        os.environ['V_ENV'] += 'N2_'
        decimal.getcontext().prec = 5 + N1_ % 20
        V_x.setLevel(logging.DEBUG)
        os.environ.pop('V_ENV', None); os.environ['V_OTHER'] = 'N1_'
        warnings.filterwarnings('ignore', message='V_ N1_')
        os.umask(0o02 + N1_ % 2 * 0o20)
        sys.setrecursionlimit(1500 + N1_)
        V_x.removeHandler(V_h) if len(V_out) > 6 else None
        """,
        """
        V_out[-3:], os.environ.get('V_ENV'), os.environ.get('V_OTHER'), sys.path.count('/V_nowhere'), V_x is logging.getLogger('V_log'), V_x.level, V_x.handlers == [V_h], len(V_x.filters)
        decimal.getcontext().prec, decimal.Decimal(1) / 3, len(warnings.filters), sys.getrecursionlimit(), (os.umask(0o22), os.umask(os.umask(0o22)))[0] if False else None
        """,
        held="V_out",
    ),
    feature(
        "pieces of the namespace",
        """
        V_x = globals(); V_main = __import__('__main__'); V_step = N1_
        def V_look(): return V_x['V_step'], V_main.V_step
        """,
        """
        V_main.V_step += 1
        V_x['V_step'] = N2_
        V_x['V_newN1_'] = [N2_]; V_main.V_late = N1_
        """,
        "V_look(), V_x is globals(), V_main is __import__('__main__'), sorted(name for name in V_x if name.startswith('V_'))",
        held="V_look",
    ),
    feature(
        "text and patterns",
        """
        import re, string, json, textwrap, csv, io
        V_x = re.compile(r'(?P<n>\\d+)N1_', re.I); V_m = V_x.search('a9N1_'); V_t = string.Template('$a N1_'); V_enc = json.JSONEncoder(indent=N2_ % 4); V_buf = io.StringIO(); V_tr = str.maketrans('abc', 'xyz')
        """,
        """
        V_buf.write('N1_,')
        V_x = re.compile('zN1_|' + V_x.pattern)
        V_t.template += ' $b'
        """,
        "V_x.pattern, V_x.flags, V_m and V_m.groupdict(), V_t.safe_substitute(a=1), V_enc.encode([1]), V_buf.getvalue(), 'aN1_'.translate(V_tr)",
    ),
    feature(
        "async things and tokens",
        """
        import asyncio, heapq, bisect, copy, enum, secrets, hashlib, zlib, statistics
        async def V_work(n): return n + V_plus
        V_plus = N1_; V_x = [5, 1, N2_]; heapq.heapify(V_x); V_q = __import__('queue').Queue() if False else []; V_cp = copy.deepcopy(V_x); V_nd = statistics.NormalDist(N1_, 2)
        """,
        """
        heapq.heappush(V_x, N1_)
        V_plus = N2_
        V_q.append(asyncio.run(V_work(N1_)))
        bisect.insort(V_cp, N1_)
        """,
        "sorted(V_x), V_plus, V_q[-3:], V_cp, V_nd, asyncio.iscoroutinefunction(V_work)",
    ),
]

MORE: list[Feature] = [
    feature(
        "loops and closures",
        """
        V_fs = [lambda: V_i for V_i in range(3)]; V_late = []
        for V_j in range(4): V_late.append(lambda n=V_j: (n, V_j))
        def V_counter(start):
            def step(): return [start, V_j]
            return step
        V_steps = [V_counter(n) for n in range(3)]
        """,
        """
        V_j = N1_
        V_late.append(V_late[0]); V_steps.reverse()
        del V_fs[:1]
        """,
        """
        [one() for one in V_late][:6], [one() for one in V_steps], len(V_fs), V_late.count(V_late[0])
        V_steps[0].__closure__[0].cell_contents, V_steps[0].__code__ is V_steps[1].__code__
        """,
        held="V_late",
    ),
    feature(
        "slots, flags, members with values",
        """
        import dataclasses, enum, functools
        @dataclasses.dataclass(slots=True, weakref_slot=True)
        class V_S: a: int; b: list = dataclasses.field(default_factory=list); c: 'int | None' = None
        @dataclasses.dataclass(frozen=True, order=True, kw_only=True)
        class V_K: n: int = N1_; t: tuple = ()
        class V_P(enum.IntFlag, boundary=enum.KEEP): R = 4; W = 2; X = 1
        class V_E(enum.StrEnum): A = enum.auto(); B = 'beN1_'
        class V_M(enum.Enum):
            ONE = (1, 'one'); TWO = (2, 'two')
            def __init__(self, n, name): self.n, self.word = n, name
            @property
            def twice(self): return self.n * 2
            @classmethod
            def _missing_(cls, value): return cls.ONE
        V_x = V_S(N1_); V_k = {V_K(): V_x, V_K(n=N2_ + 500): 2}; V_p = V_P.R | V_P.X | 64; V_set = {V_E.A, V_M.ONE, V_P.W}
        """,
        """
        V_x.b.append(N1_); V_x.c = N2_
        V_p ^= V_P.W
        V_k[V_K(n=N1_, t=(N2_,))] = V_x
        V_set.discard(V_M.ONE); V_set.add(V_M.TWO)
        V_x = dataclasses.replace(V_x, a=N2_)
        """,
        """
        V_x, V_x.__slots__, hasattr(V_x, '__dict__'), sorted(V_k), V_p, list(V_p), V_E.B + '!', list(V_set), V_M(99) is V_M.ONE, V_M.TWO.twice, V_M.TWO.word
        V_k[V_K()] is V_x, V_P(4) is V_P.R, V_E('a') is V_E.A, min(V_k).n, V_x.c
        """,
    ),
    feature(
        "caches and partials",
        """
        import functools
        @functools.lru_cache(maxsize=3)
        def V_cached(n, *, plus=0): return [n + plus + V_off]
        @functools.cache
        def V_fib(n): return n if n < 2 else V_fib(n - 1) + V_fib(n - 2)
        class V_C:
            def __init__(self, n): self.n = n
            @functools.cached_property
            def slow(self): return [self.n]
            @functools.partialmethod
            def unused(self): return 1
            add = functools.partialmethod(lambda self, a, b=1: (self.n, a, b), N1_)
            @functools.total_ordering
            class V_Inner:
                def __init__(self, k): self.k = k
                def __eq__(self, o): return self.k == o.k
                def __lt__(self, o): return self.k < o.k
        V_off = N2_; V_x = V_C(N1_); V_p = functools.partial(V_cached, plus=N1_); V_q = functools.partial(V_p, 3); V_in = [V_C.V_Inner(n) for n in (3, 1, N1_)]
        """,
        """
        V_off = N1_; V_cached.cache_clear()
        V_x.slow.append(N2_)
        V_x.n += 1
        V_q = functools.partial(V_q, plus=N2_)
        V_in.sort(reverse=N1_ % 2 == 0)
        V_p.note = ['N1_']
        """,
        """
        V_x.__dict__, V_x.add(), V_p.keywords, V_q.args, V_q.keywords, V_q.func is V_p.func, getattr(V_p, 'note', None), V_fib(20), V_cached.cache_parameters()
        [one.k for one in V_in], max(V_in).k, V_cached.__wrapped__(1), V_C.V_Inner.__qualname__, V_fib.__wrapped__.__name__
        """,
    ),
    feature(
        "classes defined again, functions replaced",
        """
        import json, textwrap, statistics
        class V_C:
            level = N1_
            def who(self): return ('first', self.level)
        V_old, V_x = V_C, V_C(); V_self = [V_x]; V_kept = V_x.who
        def V_f(a): return a + N1_
        V_call = V_f; V_temp = N2_; V_other = 'N1_'
        """,
        """
        class V_C(V_C): who = lambda self: ('again N1_', super(type(self), self).level)
        class V_C: level = N2_; who = lambda self: ('anew N1_', self.level)
        V_x = V_C(); V_self.append(V_x)
        def V_f(a, more=N1_): return a * more
        V_old.who = lambda self: 'patched N1_'
        V_call = lambda a, f=V_call: f(a) - 1 if V_self else 0
        del V_temp
        V_temp = [N1_, V_x]
        del V_C.level
        V_f.__code__ = (lambda a: a - N2_).__code__
        V_f.__doc__ = 'says N1_'; V_f.__name__ = 'fN1_'
        V_other = textwrap.dedent; textwrap.V_extra = N1_
        statistics.fmean = V_call if N1_ % 2 else V_f
        """,
        """
        [one.who() for one in V_self if hasattr(type(one), 'who')][:4], [type(one) is V_C for one in V_self], V_kept(), 'V_temp' in globals(), V_old is V_C
        V_call(1), V_f(2), V_f.__doc__, V_f.__name__, getattr(textwrap, 'V_extra', None), statistics.fmean in (V_call, V_f), [one.__name__ for one in V_C.__mro__]
        """,
        held="V_self",
    ),
    feature(
        "sets that are worked off",
        """
        V_todo = {'N1_', 'b', (1, 'c'), N2_, 'dd', 2.5}; V_done = []; V_seen = frozenset(V_todo); V_big = {str(n * 7 % 1000) for n in range(N1_ + 30)}; V_emptied = {1, 'x'}
        """,
        """
        V_done.append(V_todo.pop()) if V_todo else None
        V_todo |= {'wN1_', N2_, ('t', N1_)}
        V_big.pop(); V_big.add('zN1_')
        V_todo.clear()
        V_emptied |= {'N1_', 'N2_', 3, 'q'}; [V_emptied.pop() for _ in range(len(V_emptied))]
        V_emptied.update('abN1_'); V_done.append(V_emptied.pop())
        V_big -= {str(n) for n in range(N1_)}
        V_big ^= {'N2_', 'sN1_'}
        """,
        "list(V_todo), V_done, list(V_seen), list(V_big)[:40], len(V_big), list(V_emptied)",
        held="V_done",
    ),
    feature(
        "contexts of numbers, locale, filters",
        """
        import decimal, locale, warnings, random
        V_ctx = decimal.Context(prec=4 + N1_ % 9, rounding=decimal.ROUND_DOWN); V_own = decimal.Context(Emax=99, traps=[decimal.InvalidOperation]); V_rand = random.Random('N1_'); V_got = []
        """,
        """
        V_ctx.prec += 1; V_got.append(V_ctx.divide(1, 7))
        V_ctx.flags[decimal.Inexact] = bool(N1_ % 2)
        decimal.setcontext(decimal.Context(prec=6 + N1_ % 5))
        warnings.simplefilter('ignore', ResourceWarning, append=True)
        warnings.filterwarnings('error', category=BytesWarning, module='V_N1_')
        V_got.append(V_rand.sample(range(99), 3)); V_rand.shuffle(V_got)
        locale.setlocale(locale.LC_NUMERIC, 'C')
        """,
        """
        V_ctx.prec, V_ctx.rounding, V_ctx.flags[decimal.Inexact], V_own.Emax, [one.__name__ for one in V_own.traps if V_own.traps[one]], decimal.getcontext().prec
        V_got[-3:], V_rand.getstate()[1][-1], len(warnings.filters), warnings.filters[0][0], locale.getlocale(locale.LC_NUMERIC)
        """,
        held="V_got",
    ),
    feature(
        "files that are open elsewhere",
        """
        import io, csv, gzip, os, tempfile
        with gzip.open('V_z.gz', 'wt') as V_zip: V_zip.write('aN1_\\n' * 5)
        V_x = open('V_rw.bin', 'w+b'); V_x.write(bytes(range(N1_ % 100 + 20))); V_x.seek(5); V_a = open('V_app.txt', 'a', encoding='latin-1', newline='\\n'); V_a.write('é'); V_a.flush()
        V_same = V_x; V_text = io.StringIO('a,b\\n1,N1_\\n2,3\\n'); V_text.readline(); V_fd = open('V_rw.bin', 'rb', buffering=0)
        """,
        """
        V_x.write(b'N1_'); V_x.flush()
        V_x.seek(N1_ % 9); V_x.read(2)
        V_a.write('N2_ü'); V_a.flush()
        V_fd.read(3)
        V_x.truncate(15 + N1_ % 5)
        V_text.readline()
        """,
        """
        V_x.tell(), V_same is V_x, V_x.mode, V_a.mode, V_a.encoding, V_a.tell(), V_fd.tell(), V_text.tell(), V_text.getvalue()
        open('V_rw.bin', 'rb').read(), open('V_app.txt', 'rb').read(), gzip.open('V_z.gz', 'rt').read(), os.path.getsize('V_rw.bin')
        """,
    ),
    feature(
        "patterns, rows and statements",
        """
        import re, sqlite3, collections
        V_re = re.compile(r'(?P<a>[a-z]+)(\\d*)|V_', re.M | re.S); V_m = V_re.fullmatch('abN1_'); V_sub = lambda m: m['a'].upper()
        V_x = sqlite3.connect('V_s.db', isolation_level=None); V_x.execute('pragma user_version = N1_'); V_x.execute('create table if not exists t (k text primary key, v) without rowid'); V_x.text_factory = bytes
        V_mem = sqlite3.connect(':memory:'); V_mem.executescript('create table a (n); create trigger tr after insert on a begin update a set n = n + 1; end; insert into a values (N1_);'); V_mem.commit()
        """,
        """
        V_x.execute("insert or replace into t values ('N1_', N2_)")
        V_x.execute('pragma user_version = N2_')
        V_mem.execute('insert into a values (N2_)'); V_mem.commit()
        V_x.text_factory = str
        V_re = re.compile(V_re.pattern + '|N1_', re.X)
        """,
        """
        V_re.sub(V_sub, 'ab1 cd2'), V_m and (V_m.lastgroup, V_m.span('a'), V_m.re.flags), V_re.flags, V_x.execute('pragma user_version').fetchone(), V_x.execute('select * from t order by k').fetchall()[-3:], V_x.isolation_level
        V_mem.execute('select * from a').fetchall(), V_x.text_factory is bytes
        """,
        held="V_re",
    ),
]
