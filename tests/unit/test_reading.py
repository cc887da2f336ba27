"""What sandboxes send is read within limits, beside the event loop, and elsewhere where a parser is not ours."""

import asyncio
import gc
import json
import mmap
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.functions.host_functions import HostFunctions
from graph.functions.registry import HostFunction
from nodes.calls.recorded_calls import CellCalls
from sandboxes.functions import Call, Description, Raised, Returned
from sandboxes.host import calls, reading
from sandboxes.host.calls import Calls
from sandboxes.host.session_pool import Owner, owner
from sandboxes.inside.kernel import values
from sandboxes.inside.reader import pieces
from sandboxes.inside.reader import tables as reading_tables
from sandboxes.inside.reader.confinement import NOBODY
from tests.unit.test_functions import parquet, sent_table
from tests.unit.test_manifests import cost_of_parsing, longest_gap

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6),
    max_leaves=40,
)
LISTS = b'{"values": {"args": [[%s0]], "kwargs": {}}, "tables": []}'


def packed(text: bytes) -> bytes:
    return values.LENGTH.pack(len(text)) + text


def many_lists(size: int) -> bytes:
    """Arguments that cost as much as their size allows when somebody parses them."""
    return packed(LISTS % (b"[]," * (size // 3)))


async def offered(*names: str, **options: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    def take(value: Any) -> None:
        seen.append(value)

    return await HostFunctions([HostFunction(take, name=name, **options) for name in names]).ready(), seen


@settings(max_examples=60, derandomize=True, deadline=None)
@given(json_values, st.integers(1, 400))
def test_a_value_in_pieces_is_the_same_when_put_together(value: Any, times: int) -> None:
    large = {"many": [value] * times, "long": json.dumps(value) * times, "value": value}
    assert pieces.join_pieces(b"".join(pieces.cut(large))) == large


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.binary(max_size=80))
def test_bytes_that_are_no_pieces_are_no_value(data: bytes) -> None:
    for tried in (data, pieces.HEAD.pack(0, 2, 2) + b"[]{}" + data, pieces.HEAD.pack(1, 2, len(data)) + b"[]" + data):
        try:
            pieces.join_pieces(tried)
        except ValueError:
            continue


def test_pieces_are_small_and_what_cannot_be_cut_is_refused() -> None:
    value = {"a": [[number] * 10 for number in range(20_000)], "b": {str(number): "x" * 50 for number in range(9_000)}}
    assert max(map(len, pieces.cut(value))) < 8 * pieces.PIECE
    deep: Any = []
    for _ in range(pieces.MAX_DEPTH + 1):
        deep = [deep]
    for one in (deep, {"x" * (pieces.PIECE + 1): 1}):
        with pytest.raises(pieces.UnsplittableError):
            list(pieces.cut(one))


async def test_large_json_is_the_same_wherever_it_is_read() -> None:
    value: Any = {
        "text": "ü\ud800" * 40_000,
        "numbers": [1, -2.5, None, True, 10**400] * 9_000,
        "deep": [[[{"a": []}]]],
    }
    text = json.dumps(value).encode()
    assert len(text) > reading.SMALL
    assert await reading.read_json(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"x" * 100_000, "it is not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
        (b"[" + b"1," * 500_000 + b"1]", "more than the 500,000 values"),
        (b'{"' + b"k" * 50_000 + b'": 1}', "a name in it has more than"),
        (b"[" + b"9" * 50_000 + b"]", "it is not JSON"),
    ],
)
async def test_json_beyond_a_limit_is_refused_with_a_sentence(text: bytes, why: str) -> None:
    with pytest.raises(reading.UnreadableError, match=why):
        await reading.read_json(text)


@pytest.mark.slow
async def test_arguments_that_are_dear_to_parse_stop_nobody() -> None:
    offer, seen = await offered("take")
    arguments = many_lists(9 << 20)
    parsing = cost_of_parsing(values.text_of(arguments))
    async with longest_gap() as gaps:
        outcome = await offer.call(Call("take", arguments), timeout=60)
    assert isinstance(outcome, Raised)
    assert "more than the 500,000 values" in outcome.message
    assert gaps[0] < parsing / 4
    assert seen == []


async def test_large_arguments_arrive_whole() -> None:
    offer, seen = await offered("take")
    value: Any = {"rows": [{"name": f"n{number}", "value": number} for number in range(30_000)], "text": "x" * 500_000}
    outcome = await offer.call(Call("take", values.pack({"args": [value], "kwargs": {}})), timeout=60)
    assert isinstance(outcome, Returned)
    assert seen == [value]


@pytest.mark.slow
async def test_a_refused_call_costs_nothing_however_large_its_arguments_are() -> None:
    offer, _ = await offered("take", needs_approval=True)
    pending: Any = {"purpose": "", "code": "", "step": 0, "thought": "", "call_id": ""}
    cell = CellCalls(offer, pending, timeout=10)
    arguments = many_lists(8 << 20)
    parsing = cost_of_parsing(values.text_of(arguments))
    began = time.process_time()
    outcome = await cell.call(Call("take", arguments))
    assert isinstance(outcome, Raised)
    assert time.process_time() - began < parsing / 5


def test_large_arguments_are_shown_as_they_came() -> None:
    told = values.shown(values.pack({"args": ["north", list(range(20_000))], "kwargs": {}}))
    assert told.startswith('"north", [0, 1, 2')
    assert told.endswith(" bytes)")
    assert len(told) <= 200


class Counting:
    """Counts calls that come through."""

    descriptions = (Description("take"),)

    def __init__(self) -> None:
        self.calls = 0

    async def call(self, call: Call) -> Returned | Raised:
        self.calls += 1
        return Returned(b"")


async def test_values_of_all_calls_of_a_cell_count_together() -> None:
    functions, answers = Counting(), list[tuple[bool, bytes]]()

    async def send(header: dict[str, Any], body: bytes) -> None:
        answers.append((header["ok"], body))

    cell = Calls(functions, send)
    arguments = many_lists(3 * 400_000)
    fitting = calls.MAX_ITEMS // reading.items_in(values.text_of(arguments))
    for number in range(fitting + 2):
        cell.take({"call": number, "name": "take"}, arguments)
    while len(answers) < fitting + 2:
        await asyncio.sleep(0.001)
    assert functions.calls == fitting
    assert sum(ok for ok, _ in answers) == fitting
    assert all(b"5,000,000 values together" in body for ok, body in answers if not ok)


async def test_a_table_that_grows_when_it_is_read_costs_the_host_nothing() -> None:
    """A dictionary of one text of 3 MB, and 4,096 rows of it: a file of a few kilobytes, and 12 GB of rows."""
    column = pyarrow.DictionaryArray.from_arrays(np.zeros(4_096, dtype="int32"), pyarrow.array(["x" * 3_000_000]))
    data = parquet(pyarrow.table({"a": column}), use_dictionary=True, store_schema=False, compression="zstd")
    assert len(data) < 10_000
    offer, seen = await offered("take")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await offer.call(Call("take", sent_table(data)), timeout=100)
    assert isinstance(outcome, Raised)
    assert outcome.message.startswith("the arguments cannot be used: ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert seen == []


def zeros(count: int) -> Any:
    return pyarrow.Array.from_buffers(pyarrow.int8(), count, [None, pyarrow.py_buffer(bytes(count))])


def in_one_list(column: Any) -> Any:
    return pyarrow.ListArray.from_arrays(pyarrow.array([0, len(column)], pyarrow.int32()), column)


MANY = reading_tables.MAX_OBJECTS + 1
BOMBS: dict[str, tuple[Any, str]] = {
    "dictionaries within one list": (
        lambda: in_one_list(pyarrow.StructArray.from_arrays([zeros(MANY // 2)], names=["a"])),
        "values that are not numbers",
    ),
    "nothings within one list": (lambda: in_one_list(pyarrow.nulls(MANY)), "values that are not numbers"),
    "numbers within one list": (lambda: in_one_list(zeros(10 * MANY)), "values that are not numbers|more memory"),
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.slow
async def test_what_one_row_holds_is_counted(bomb: str) -> None:
    """A file of 700 bytes with one row, which becomes millions of objects in a table of pandas."""
    column, why = BOMBS[bomb]
    data = parquet(pyarrow.table({"a": column()}), compression="zstd")
    assert len(data) < 20_000
    with pytest.raises(reading.UnreadableError, match=why):
        await reading.read_tables([data])


@pytest.mark.slow
async def test_texts_of_a_dictionary_are_counted_once_for_all_batches() -> None:
    texts = pyarrow.array([f"{number:06x}" for number in range(400_000)])
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.arange(2_000_000, dtype="int32") % 400_000), texts)
    [table] = await reading.read_tables([parquet(pyarrow.table({"a": column}), compression="zstd")])
    assert table.num_rows == 2_000_000


@pytest.mark.slow
async def test_the_tables_of_a_call_share_their_limit() -> None:
    data = parquet(pyarrow.table({"a": zeros(90_000_000)}), compression="zstd")
    assert reading.MAX_TABLE < 6 * 90_000_000
    assert len(await reading.read_tables([data])) == 1
    with pytest.raises(reading.UnreadableError):
        await reading.read_tables([data] * 6)


async def test_names_that_pandas_would_read_as_literals_are_short() -> None:
    levels = {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
    said = {"index_columns": [], "column_indexes": [levels] * 2, "columns": [], "pandas_version": "2"}
    schema = pyarrow.schema([("(" + "1," * 100_000 + ")", pyarrow.int64())], metadata={"pandas": json.dumps(said)})
    with pytest.raises(reading.UnreadableError, match="a name of a column"):
        await reading.read_tables([parquet(pyarrow.table([pyarrow.array([1])], schema=schema))])


async def test_nested_tables_that_are_honest_arrive() -> None:
    columns = {
        "vectors": [[0.5] * 100] * 1_000,
        "names": [["x", "y"]] * 1_000,
        "places": [{"at": 1, "of": "z"}] * 1_000,
        "pairs": pyarrow.array([[("a", 1)]] * 1_000, pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        "kinds": pyarrow.array(["u", "v"] * 500).dictionary_encode(),
        "fixed": pyarrow.array([[1, 2]] * 1_000, pyarrow.list_(pyarrow.int8(), 2)),
    }
    table = pyarrow.table(columns)
    [read] = await reading.read_tables([parquet(table)])
    assert read.to_pylist() == table.to_pylist()


@settings(max_examples=12, derandomize=True, deadline=None)
@given(st.data())
def test_a_table_with_flipped_bytes_is_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(parquet(pyarrow.table({"a": [1, 2, 3], "b": ["x", "yy", None], "c": [[1], [], None]})))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(4, len(whole) - 9))] = data.draw(st.integers(0, 255))
    try:
        [table] = asyncio.run(reading.read_tables([bytes(whole)], max_bytes=1 << 20))
    except reading.UnreadableError:
        return
    assert table.nbytes <= 1 << 20


CLOSED_IN = """
import errno, json, os, socket
from sandboxes.inside.reader.__main__ import confine
server, score = socket.create_server(("127.0.0.1", 0)), open("/proc/self/oom_score_adj")
TRIED = {
    "read": lambda: open("/dev/null"),
    "write": lambda: open("/dev/null", "w"),
    "connect": lambda: socket.create_connection(server.getsockname()),
    "process": lambda: os.fork() or os._exit(0),
    "memory": lambda: bytearray(400 << 20),
}
def came_of(what):
    try: what()
    except OSError as error: return errno.errorcode[error.errno]
    except MemoryError: return "MemoryError"
    return "done"
before = {name: came_of(what) for name, what in TRIED.items()}
confine(memory=300 << 20, seconds=60, written=1 << 20)
after = {name: came_of(what) for name, what in TRIED.items()}
after["program"] = came_of(lambda: os.execv("/bin/true", ["true"]))  # it would print nothing
print(json.dumps([before, after, os.geteuid(), score.read()]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what it is tried with is Linux's")
def test_the_process_that_reads_can_do_nothing_else() -> None:
    ran = subprocess.run([sys.executable, "-c", CLOSED_IN], capture_output=True, text=True, check=True)
    before, after, user, score = json.loads(ran.stdout)
    assert set(before.values()) == {"done"}, before
    assert after.pop("program") in ("EACCES", "EAGAIN")  # the second once it has become nobody, who may have no process
    assert after == {
        "read": "EACCES", "write": "EACCES", "connect": "EAFNOSUPPORT", "process": "EAGAIN", "memory": "MemoryError",
    }  # fmt: skip
    assert (user, score.strip()) == (os.geteuid() or NOBODY, "1000")


@pytest.mark.skipif(sys.platform != "linux", reason="files elsewhere cannot be sealed")
def test_what_is_read_cannot_be_changed_by_who_has_the_file_too() -> None:
    last = b'{"sizes": [3]}'
    target = os.memfd_create("target", os.MFD_ALLOW_SEALING)
    os.write(target, b"abc" + last + len(last).to_bytes(8, "big"))
    other = os.open(f"/proc/self/fd/{target}", os.O_RDWR)
    try:
        with mmap.mmap(other, 3), pytest.raises(reading.UnreadableError, match="did not come to an end"):
            reading._found(target)
        [found] = reading._found(target)
        for change in (lambda: os.ftruncate(other, 1), lambda: os.pwrite(other, b"x", 0), lambda: mmap.mmap(other, 3)):
            with pytest.raises(PermissionError):
                change()
        assert bytes(found) == b"abc"
    finally:
        os.close(other)
        os.close(target)


@pytest.mark.skipif(sys.platform != "linux", reason="it is looked for in /proc")
async def test_a_call_that_is_given_up_leaves_no_file_behind() -> None:
    gc.collect()  # tables of tests before are mapped until then
    assert not files_in_memory()
    text = json.dumps(["x" * (60 << 20)]).encode()
    task = asyncio.ensure_future(reading.read_json(text))
    while not files_in_memory():
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    assert not files_in_memory()


def files_in_memory() -> list[str]:
    """The files that this process has open to have them read."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(str(descriptor.readlink()))
    return [name for name in found if name.startswith("/memfd:stepwell ")]


async def test_users_take_turns_to_have_something_read() -> None:
    begun: list[str] = []
    enough = asyncio.Event()

    async def read(user: str) -> None:
        owner.set(Owner(user))
        async with reading._turn():
            begun.append(user)
            await enough.wait()

    tasks = [asyncio.create_task(read(user)) for user in ("a", "a", "a", "b", "c")]
    for _ in range(20):
        await asyncio.sleep(0)
    assert begun == ["a", "b"]
    enough.set()
    await asyncio.gather(*tasks)
    assert sorted(begun) == ["a", "a", "a", "b", "c"]


async def test_a_machine_with_no_more_descriptors_is_a_reason_like_others() -> None:
    text = json.dumps(["x" * reading.SMALL]).encode()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    await asyncio.to_thread(int)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(reading.UnreadableError, match="it cannot be read now"):
            await reading.read_json(text)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_reader_ends_when_nobody_waits_for_it() -> None:
    column = pyarrow.DictionaryArray.from_arrays(np.zeros(60_000, dtype="int32"), pyarrow.array(["x" * 8_000]))
    data = parquet(pyarrow.table({"a": column}), use_dictionary=True, store_schema=False)
    task = asyncio.ensure_future(reading.read_tables([data]))
    while not (children := await asyncio.to_thread(readers)):
        assert not task.done(), "it was over before anybody saw its process"
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    assert not set(children) & set(await asyncio.to_thread(readers))


def readers() -> list[int]:
    """The processes of this one that read."""
    found = []
    for folder in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that is over by now
            for child in (folder / "children").read_text().split():
                with suppress(OSError):
                    if b"reader/__main__.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                        found.append(int(child))
    return found


def test_a_process_that_has_read_ends_whatever_a_library_does_at_the_end(tmp_path: Path) -> None:
    """Arrow aborts now and then when Python tidies up while its threads end, most of all on a busy machine."""
    table = parquet(pyarrow.table({"a": [1]}))
    (tmp_path / "source").write_bytes(table)
    aborting = "import atexit, os, runpy, sys; atexit.register(os.abort); sys.argv = sys.argv[1:]; "
    program = aborting + "runpy.run_path(sys.argv[0], run_name='__main__')"
    with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("wb+") as target:
        asked = {
            "what": "tables", "source": source.fileno(), "target": target.fileno(), "parts": [[0, len(table)]],
            "memory": 4 << 30, "written": 1 << 26, "seconds": 60, "max_bytes": 1 << 20, "max_cells": 10,
        }  # fmt: skip
        command = [sys.executable, "-c", program, str(reading.READER), json.dumps(asked)]
        ended = subprocess.run(command, pass_fds=(source.fileno(), target.fileno()), stderr=subprocess.PIPE)
    assert ended.returncode == 0, ended.stderr
    assert b'{"sizes": [' in (tmp_path / "target").read_bytes()
