"""Says whether anything ran on a duckdb database since it was last looked at, and which connections share one.

Each statement, on whichever connection and from whichever thread, takes the next of its database's query numbers, and
whatever makes a function the next of its transaction numbers. So two numbers tell that nothing ran, if what was running
before had ended: results that are still being fetched change nothing, and with a second thread nothing is remembered.
What no number tells: switching a connection's profile on, of which the connection is asked, and loading an extension by
a call, which the system's linker is asked of. Whether the numbers of this version of duckdb say what they must is tried
out on a database of its own, before they are relied on; where they do not, everything counts as having run.
"""

import contextlib
import ctypes
import functools
import secrets
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ..storing.loaded_memory import without_collections
from ..storing.unchanged_objects import is_quiet
from .catalog import FUNCTIONS, Catalog, Rows

Numbers = tuple[int, int]
NUMBERS = "select current_query_id(), current_transaction_id()"
SETTINGS = "select name, value from duckdb_settings() where value is not null"

PATH = "select path from duckdb_databases() where database_name = current_database()"


class Database:
    """A duckdb database, which several connections and their cursors may share."""

    def __init__(self) -> None:
        self.version = 0
        """It is another one whenever anything may have run."""
        self.content: tuple[int, Any] = (-1, None)
        """What was found in it, and at which version."""
        self._next: Numbers | None = None
        """The numbers that the next statement has if nothing else runs before it."""
        self._libraries: int | None = None
        self.catalog = Catalog()

    def look(self, connection: Any) -> int:
        """The version that it has now.

        Args:
            connection: One to it.
        """
        numbers, libraries = self._numbers(connection), _libraries()
        if numbers is None or numbers != self._next or libraries is None or libraries != self._libraries:
            self.version += 1
        self._next, self._libraries = _after(numbers), libraries
        return self.version

    @contextlib.contextmanager
    def asked(self, connection: Any) -> Iterator[None]:
        """Let the kernel ask whatever it likes: if nobody else can have run anything, the version stays."""
        self._next, quiet = None, counts() and is_quiet()
        with without_collections():
            yield
            if quiet and is_quiet():
                self._next = _after(self._numbers(connection))

    def entries(self, connection: Any) -> Rows:
        """All that is in its catalog; within `asked`, of a connection that is in no transaction."""
        return self.catalog.rows(connection, trusted=counts() and is_quiet())

    def has(self, connection: Any) -> bool:
        """Whether a connection is one to it."""
        self.catalog.forget()
        for mine in [one() for one in tuple(Seen.all) if one.database is self]:
            if not (counts() and is_quiet()):
                if _is_open(mine):
                    return _share(mine, connection)
                continue
            self.look(mine)
            if self._next is not None:  # else it is closed
                expected, theirs, now = self._next, _numbers_of(connection), self._numbers(mine)
                self._next = _after(now)
                return theirs is not None and theirs == expected and now == _after(theirs)
        return False

    def _numbers(self, connection: Any) -> Numbers | None:
        return _numbers_of(connection, self.catalog.cursor) if counts() else None


class Seen:
    """A connection that was seen."""

    all: ClassVar[list["Seen"]] = []

    def __init__(self, connection: Any, database: Database) -> None:
        self._connection = weakref.ref(connection, self._gone)
        self.database = database
        self.found: Any = None
        """What it was found to hold."""
        self.found_at: tuple[int, bool] = (-1, True)
        """At which version of its database, and whether it may have kept a profile then."""

    def __call__(self) -> Any:
        """The connection; None: it is gone."""
        return self._connection()

    def _gone(self, _: Any) -> None:
        """Let go of what was found in its database."""
        with contextlib.suppress(ValueError):
            self.all.remove(self)

    @classmethod
    def of(cls, connection: Any) -> "Seen":
        """What is known of a connection that is open."""
        for one in tuple(cls.all):
            if one() is connection:
                return one
        known = dict.fromkeys(one.database for one in tuple(cls.all))
        same = next((database for database in known if database.has(connection)), None)
        cls.all.append(seen := cls(connection, same or Database()))
        return seen


def _after(numbers: Numbers | None) -> Numbers | None:
    return None if numbers is None else (numbers[0] + 1, numbers[1] + 1)


def _numbers_of(connection: Any, cursor_of: Callable[[Any], Any] | None = None) -> Numbers | None:
    """The numbers of a statement that is run now; None: there are none, or it is closed."""
    try:
        with cursor_of(connection) if cursor_of else contextlib.closing(connection.cursor()) as cursor:
            ((query, transaction),) = cursor.execute(NUMBERS).fetchall()
    except Exception:  # another version, or closed
        return None
    return query, transaction


def has_profile(connection: Any) -> bool:
    """Whether a connection may keep a profile of its statements, which is switched on without a statement."""
    ask = getattr(connection, "get_profiling_information", None)
    if ask is None:
        return hasattr(connection, "enable_profiling")
    try:
        return "".join(str(ask()).split()) != '{"result":"disabled"}'
    except Exception:  # closed
        return True


def _is_open(connection: Any) -> bool:
    try:
        connection.cursor().close()
    except Exception:
        return False
    return True


def _share(one: Any, other: Any) -> bool:
    """Whether what is made through one connection is seen through the other; nothing is made in a file."""
    name = f"stepwell_{secrets.token_hex(8)}"
    try:
        maker, looker = one.cursor(), other.cursor()
        if any(cursor.execute(PATH).fetchall()[0][0] for cursor in (maker, looker)):
            return False
        maker.execute(f"create schema {name}")
    except Exception:  # closed, or to a file that may only be read
        return False
    try:
        return bool(looker.execute("select 1 from duckdb_schemas() where schema_name = ?", [name]).fetchone())
    finally:
        maker.execute(f"drop schema {name}")


@functools.cache
def _usual() -> tuple[dict[str, str], bool]:
    with contextlib.closing(sys.modules["duckdb"].connect(":memory:")) as connection:
        settings = dict(connection.execute(SETTINGS).fetchall())
        try:
            return settings, _are_true(connection)
        except Exception:  # a version that does something else
            return settings, False


def usual_settings() -> dict[str, str]:
    """Those of a database that nobody has changed."""
    return _usual()[0]


@functools.cache
def usual_functions() -> frozenset[str]:
    """Functions of duckdb's own that look like functions of Python, as most do in its older versions."""
    with contextlib.closing(sys.modules["duckdb"].connect(":memory:")) as connection:
        return frozenset(name for _, _, name, *_ in connection.execute(FUNCTIONS).fetchall())


def counts() -> bool:
    """Whether the numbers of this version say what they must."""
    return _usual()[1]


TRIED = ("set default_order = 'DESC'", "begin", "rollback")


def _are_true(connection: Any) -> bool:
    """Whether the numbers of a database that nobody else has follow each other, but where something ran."""
    with contextlib.closing(connection.cursor()) as other:
        first, second = _numbers_of(connection), _numbers_of(other)
        if first is None or second != _after(first):
            return False
        if not all(_moves(connection, functools.partial(other.execute, ask)) for ask in TRIED):
            return False
    catalog = Catalog()
    catalog.begin(connection)
    for act in ("create macro stepwell_macro(x) as x", "drop macro stepwell_macro"):
        connection.execute(act)
        if catalog.is_as_listed(connection):
            return False
    return True


def _moves(connection: Any, act: Callable[[], object]) -> bool:
    expected = _after(_numbers_of(connection))
    act()
    return _numbers_of(connection) != expected


class _Loaded(ctypes.Structure):
    _fields_ = (("before", ctypes.c_byte * 32), ("added", ctypes.c_ulonglong), ("removed", ctypes.c_ulonglong))
    """The last two of what the linker says of each library are about all of them."""


def _libraries() -> int | None:
    """How many libraries were ever loaded into this process, of which an extension is one; None: it is not known."""
    found: list[int] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Loaded), ctypes.c_size_t, ctypes.c_void_p)  # type: ignore[untyped-decorator]
    def note(library: Any, size: int, _: Any) -> int:
        if size >= ctypes.sizeof(_Loaded):
            found.append(int(library.contents.added))
        return 1

    try:
        ctypes.CDLL(None).dl_iterate_phdr(note, None)
    except AttributeError:  # another system
        return None
    return found[0] if found else None
