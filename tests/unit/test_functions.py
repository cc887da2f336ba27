"""How functions are described and called, apart from a sandbox: hostile arguments, large tables, the prompt."""

import asyncio
import hashlib
import io
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.parquet
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from graph.checkpoints.journal import CALLED, CALLING, CellEntry, Journal
from graph.functions.host_functions import HostFunctions
from graph.functions.mcp_servers import describe_tool, function_name, type_text
from graph.functions.registry import HostFunction, describe
from graph.state import DecidedCall, HeldCell, Pending
from nodes.calls.held_cells import MAX_DECIDED, ApprovalRequest, code_digest
from nodes.calls.recorded_calls import CellCalls, RepeatableCalls, functions_called, shown_arguments, too_long
from nodes.prompts.instructions import FUNCTIONS_CHARS, functions_text
from nodes.publishing import as_script
from nodes.restoration.unknown_outcome import unknown_outcome
from sandboxes.fake import FakeSandbox, ScriptedCell
from sandboxes.functions import Call, Raised, Returned
from sandboxes.host import reading
from sandboxes.inside.kernel import values
from sandboxes.results import CellResult
from tests.states import make_cell, make_state

TABLE = pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=[5, 6])


def total(first: int, *rest: int, scale: float = 1.0, **named: int) -> float:
    """Add up."""
    return scale * (first + sum(rest) + sum(named.values()))


async def call(function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function as a sandbox has it called: its value, or why there is none."""
    offer = await HostFunctions([function]).ready()
    [name] = offer.functions
    sent = Call(name, values.pack({"args": list(arguments), "kwargs": options}))
    outcome = await offer.call(sent, timeout=10)
    return values.unpack(outcome.value)["value"] if isinstance(outcome, Returned) else outcome


def parquet(table: pyarrow.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    return file.getvalue()


def sent_table(data: bytes, kind: str = "pandas") -> bytes:
    """Arguments that hold a table, as a sandbox would write them that lies."""
    head = b'{"values": {"args": [null], "kwargs": {}}, "tables": [{"path": ["args", 0], "kind": "%s", "size": %d}]}'
    text = head % (kind.encode(), len(data))
    return values.LENGTH.pack(len(text)) + text + data


def test_a_signature_is_told_as_it_is_written() -> None:
    described = describe("total", total)
    assert str(described.signature()) == "(first: int, *rest: int, scale: float = 1.0, **named: int) -> float"
    assert described.doc == "Add up."


def test_defaults_that_are_not_json_are_dots() -> None:
    def odd(a: object = object(), b: float = float("inf"), c: tuple[int, ...] = (1,), d: None = None) -> None: ...

    signature = str(describe("odd", odd).signature())
    assert signature == "(a: object = ..., b: float = ..., c: tuple[int, ...] = ..., d: None = None) -> None"


async def test_positional_named_and_further_arguments_arrive() -> None:
    assert await call(total, 1, 2, 3, scale=2, x=4) == 20
    assert await call(total, first=1) == 1


async def test_a_method_a_callable_object_and_a_partial_can_be_offered() -> None:
    import functools

    class Adder:
        def __call__(self, a: int) -> int:
            return a + 1

        async def later(self, a: int) -> int:
            return a + 2

    assert await call(HostFunction(Adder(), name="add"), 1) == 2
    assert await call(Adder().later, 1) == 3
    assert await call(HostFunction(functools.partial(total, 1), name="more"), 2) == 3


@pytest.mark.parametrize(
    ("library", "sent", "made"),
    [
        ("pandas.DataFrame", TABLE, pd.DataFrame),
        ("polars.DataFrame", TABLE, polars.DataFrame),
        ("pyarrow.Table", TABLE, pyarrow.Table),
        ("list[pandas.DataFrame]", [pyarrow.table({"a": [1]})], pd.DataFrame),
        ("", polars.DataFrame({"a": [1]}), polars.DataFrame),
        ("", TABLE, pd.DataFrame),
    ],
)
async def test_a_table_is_of_the_kind_that_the_function_asks_for(library: str, sent: Any, made: type) -> None:
    seen: list[Any] = []

    def take(table: Any) -> None:
        seen.append(table)

    take.__annotations__["table"] = library
    if not library:
        del take.__annotations__["table"]
    assert await call(take, sent) is None
    table: Any = seen[0][0] if isinstance(seen[0], list) else seen[0]
    if library == "pandas.DataFrame":
        assert table.index.tolist() == [5, 6]
    assert type(table) is made


@pytest.mark.parametrize(
    "arguments",
    [
        b"",
        b"\0\0\0\1{",
        b"\xff\xff\xff\xff{}",
        values.LENGTH.pack(2) + b"{}",
        values.LENGTH.pack(100_000) + b"[" * 100_000,
        values.pack({"args": [], "kwargs": {}, "more": 1}),
        values.pack({"args": 1, "kwargs": {}}),
        values.pack({"args": [], "kwargs": {"zero": 1}}),
        values.pack({"args": [], "kwargs": {}}),
        values.pack({"args": [1], "kwargs": {}}) + b"more",
        sent_table(b"no parquet"),
        sent_table(b"", kind="pickle"),
        sent_table(parquet(pyarrow.table({"a": [1]}))).replace(b'"args", 0', b'"args", 9'),
        sent_table(parquet(pyarrow.table({"a": [1]}))).replace(b'"args", 0', b'"kwargs" '),
    ],
)
async def test_arguments_that_are_none_never_reach_the_function(arguments: bytes) -> None:
    seen: list[object] = []

    def take(value: object) -> None:
        seen.append(value)

    offer = await HostFunctions([take]).ready()
    outcome = await offer.call(Call("take", arguments), timeout=10)
    assert isinstance(outcome, Raised)
    assert outcome.message.startswith("the arguments cannot be used: ")
    assert seen == []


async def test_a_small_file_that_holds_a_large_table_is_refused() -> None:
    flat = parquet(pyarrow.table({"a": np.zeros(reading.MAX_CELLS + 1, dtype="int8")}), use_dictionary=True)
    assert len(flat) < 1_000_000
    with pytest.raises(reading.UnreadableError, match="more than 100,000,000 values"):
        await reading.read_tables([flat])
    column = pyarrow.DictionaryArray.from_arrays(np.zeros(50_000, dtype="int32"), pyarrow.array(["x" * 100_000]))
    grown = parquet(pyarrow.table({"a": column}), use_dictionary=True, store_schema=False)
    assert len(grown) < 1_000_000
    with pytest.raises(reading.UnreadableError, match="more memory"):
        await reading.read_tables([grown], max_bytes=50_000_000)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "str"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "float | None"),
        ({"type": "array", "items": {"type": "string"}}, "list[str]"),
        ({"enum": ["a", 1]}, "Literal['a', 1]"),
        ({"$ref": "#/x"}, ""),
        (True, ""),
    ],
)
def test_a_schema_is_an_annotation(schema: Any, text: str) -> None:
    assert type_text(schema) == text


def test_what_a_server_says_of_a_tool_may_be_anything() -> None:
    schema = {"properties": {"class": {}, "a-b": 1, "ok": {"default": float("nan")}}, "required": "no"}
    described = describe_tool("tool", "", schema, {"type": "object"})
    assert str(described.signature()) == "(ok=..., **others) -> dict"
    assert str(describe_tool("tool", "", {"properties": 3}, None).signature()) == "(**others)"
    assert function_name("my shop", "place-order") == "my_shop_place_order"
    assert function_name("1", "ü") == "tool_1__"


async def test_the_prompt_is_bounded_and_names_what_a_variable_hides() -> None:
    def long(a: int) -> None: ...

    long.__doc__ = "word " * 1_000
    functions = [HostFunction(long, name=f"function_{number}") for number in range(200)]
    described = (await HostFunctions(functions).ready()).descriptions
    state = make_state(namespace=[{"name": "function_7", "kind": "int", "summary": "3"}])
    text = functions_text(described, state)
    assert len(text) < 3 * FUNCTIONS_CHARS
    assert "function_7(a: int) -> None (hidden by your variable of that name; after `del function_7`" in text
    assert functions_text([], state) == ""


async def test_cells_that_run_again_call_only_what_can_be_repeated() -> None:
    offer = await HostFunctions([HostFunction(total, repeatable=True), HostFunction(total, name="once")]).ready()
    calls = RepeatableCalls(offer, timeout=10)
    arguments = values.pack({"args": [1], "kwargs": {}})
    assert isinstance(await calls.call(Call("total", arguments)), Returned)
    refused = await calls.call(Call("once", arguments))
    assert isinstance(refused, Raised)
    assert "not offered as repeatable" in refused.message


async def test_without_checkpoints_nobody_can_be_asked_and_nothing_is_called(tmp_path: Any) -> None:
    called: list[int] = []
    offer = await HostFunctions([HostFunction(called.append, name="note", needs_approval=True)]).ready()
    pending: Pending = {"purpose": "", "code": "note(1)", "step": 0, "thought": "", "call_id": ""}
    sandbox = FakeSandbox(tmp_path, cells=[ScriptedCell(CellResult(status="ok"), calls=[("note", [1])])])
    await sandbox.run("note(1)", number=1, timeout=10, functions=CellCalls(offer, pending, timeout=10))
    [refused] = sandbox.answers
    assert isinstance(refused, Raised)
    assert "it needs somebody's approval, and this run keeps no checkpoints" in refused.message
    assert called == []


async def test_a_cell_that_reached_outside_cannot_be_ended_for_a_call_which_is_refused(tmp_path: Any) -> None:
    called: list[int] = []
    offer = await HostFunctions([HostFunction(called.append, name="note", needs_approval=True)]).ready()
    pending: Pending = {"purpose": "", "code": "note(1)", "step": 0, "thought": "", "call_id": ""}
    reached = ScriptedCell(CellResult(status="ok"), calls=[("note", [1])], reached=("network example.test:80",))
    sandbox = FakeSandbox(tmp_path, cells=[reached, ScriptedCell(CellResult(status="ok"), calls=[("note", [1])])])
    for again in (False, True):
        calls = CellCalls(offer, pending, timeout=10, asking=ApprovalRequest(sandbox, pending, 1))
        result = await sandbox.run("note(1)", number=1, timeout=10, functions=calls)
        assert (await calls.wait_until_held() is not None, result.status) == (again, "killed" if again else "ok")
    [refused] = sandbox.answers
    assert isinstance(refused, Raised)
    assert "has reached outside of the sandbox (network example.test:80)" in refused.message
    assert "Call it in a cell of its own" in refused.message
    assert called == []


async def test_people_are_asked_about_so_many_calls_of_a_cell_and_no_more(tmp_path: Any) -> None:
    offer = await HostFunctions([HostFunction(total, needs_approval=True)]).ready()
    decided = DecidedCall(function="total", digest="", nth=1, verdict="reject", remark="")
    held = HeldCell(code=code_digest("total(1)"), asked=None, decided=[decided] * MAX_DECIDED, records=[], made=[])
    pending: Pending = {"purpose": "", "code": "total(1)", "step": 0, "thought": "", "call_id": "", "held": held}
    sandbox = FakeSandbox(tmp_path, cells=[ScriptedCell(CellResult(status="ok"), calls=[("total", [1])])])
    calls = CellCalls(offer, pending, timeout=10, asking=ApprovalRequest(sandbox, pending, 1))
    await sandbox.run("total(1)", number=1, timeout=10, functions=calls)
    [refused] = sandbox.answers
    assert isinstance(refused, Raised)
    assert "people were asked about 50 calls of this cell already" in refused.message


async def test_a_call_is_shown_whole_or_with_what_is_cut_and_its_hash() -> None:
    async def lines(function: Any, *arguments: Any, **named: Any) -> list[str]:
        offer = await HostFunctions([function]).ready()
        [name] = offer.functions
        call = Call(name, values.pack({"args": list(arguments), "kwargs": named}))
        assert too_long(call) == ""
        read = await offer.arguments(call, timeout=60)
        assert isinstance(read, dict)
        return await shown_arguments(call, read)

    def pay(to: str, rows: Any = None, **more: Any) -> None: ...

    assert await lines(pay, "a\u202eb\n amount = 1", amount=5) == [
        "to = 'a\\u202eb\\n amount = 1'",
        "more = {'amount': 5}",
    ]
    text, *rest = await lines(pay, "x" * 5_000)
    assert text.startswith("to = '" + "x" * 1_999 + "… (cut: a text of 5,000 characters, SHA-256 ")
    assert hashlib.sha256(b"x" * 5_000).hexdigest() in text
    assert rest[0].startswith("SHA-256 of all arguments as they were sent: ")
    _, rows, *_ = await lines(pay, "x", pd.DataFrame({"a": range(9), "b\nc = 1": ["y\x1b"] * 9}))
    assert rows.split("\n") == [
        "rows = a table of 9 x 2: a, 'b\\nc = 1'",
        *(f"  {number} | 'y\\x1b'" for number in range(5)),
        "  … 4 more rows",
    ]
    _, rows, *_ = await lines(pay, "x", [pyarrow.table({"a": [1]}), polars.DataFrame({"b": [2]})])
    assert "a table of 1 x 1: a" in rows
    assert "a table of 1 x 1: b" in rows
    _, rows, checksum = await lines(pay, "x", pd.DataFrame({"amount": [1]}, index=["mallory"]))
    assert rows == "rows = a table of 1 x 1: (index), amount\n  mallory | 1"
    assert checksum.startswith("SHA-256 of all arguments")
    twice = pyarrow.table([[1], [1_000_000]], names=["amount", "amount"])
    shown = await shown_arguments(Call("pay", b""), {"rows": twice})
    assert shown[0] == "rows = a table of 1 x 2: amount, amount\n  1 | 1000000"
    long = pyarrow.table({"a": pyarrow.array([[0] * 1_000_000])})
    assert (await shown_arguments(Call("pay", b""), {"rows": long}))[0].endswith(
        "a\n… 1 more rows".replace("\n", "\n  ")
    )
    assert (await lines(pay, "bob\u3164\ufe0f"))[0] == "to = 'bob\\u3164\\ufe0f'"
    assert "people can be asked about" in too_long(Call("pay", values.pack({"args": ["x" * (2 << 20)], "kwargs": {}})))


async def test_arguments_that_do_not_fit_are_refused_before_anybody_is_asked(tmp_path: Any) -> None:
    offer = await HostFunctions([HostFunction(total, needs_approval=True)]).ready()
    pending: Pending = {"purpose": "", "code": "total()", "step": 0, "thought": "", "call_id": ""}
    sandbox = FakeSandbox(tmp_path, cells=[ScriptedCell(CellResult(status="ok"), calls=[("total", [])])])
    calls = CellCalls(offer, pending, timeout=10, asking=ApprovalRequest(sandbox, pending, 1))
    await sandbox.run("total()", number=1, timeout=10, functions=calls)
    [refused] = sandbox.answers
    assert isinstance(refused, Raised)
    assert "the arguments cannot be used" in refused.message


class FailingSaver(InMemorySaver):
    """A storage that does not take one channel."""

    def __init__(self, channel: str) -> None:
        super().__init__()
        self.channel = channel

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if any(channel == self.channel for channel, _ in writes):
            raise OSError("No space left on device")
        await super().aput_writes(config, writes, task_id, task_path)


@pytest.mark.parametrize(("fails", "made", "answer"), [(CALLING, 0, None), (CALLED, 1, 3.0)])
async def test_a_call_whose_line_cannot_be_written_is_not_made_or_its_result_is_given_and_it_is_never_made_again(
    tmp_path: Any, fails: str, made: int, answer: float | None
) -> None:
    """What the cell is told is what happened, and a cell that is broken off then has an unknown outcome."""
    count: list[int] = []

    def note(number: int) -> float:
        count.append(number)
        return number + 2.0

    saver = FailingSaver(fails)
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    config = await saver.aput(config, empty_checkpoint(), {}, {})
    journal = Journal(saver, config, "task", "note(1)")
    await journal.started(CellEntry("after", "fake", "p"))
    sandbox = FakeSandbox(tmp_path, cells=[ScriptedCell(CellResult(status="ok"), calls=[("note", [1])])])
    pending: Pending = {"purpose": "", "code": "note(1)", "step": 0, "thought": "", "call_id": ""}
    calls = CellCalls(await HostFunctions([note]).ready(), pending, timeout=10, journal=journal)
    await sandbox.run("note(1)", number=1, timeout=10, functions=calls)
    [got] = sandbox.answers
    assert len(count) == made
    if answer is None:
        assert isinstance(got, Raised)
        assert "it was not called, because that could not be written down first" in got.message
        assert calls.effects() == ""
    else:
        assert got == answer
        assert any("how they ended could not be written down: note" in one for one in calls.notices())
    assert calls.reached == ("function note",) * made
    unknown = await unknown_outcome(sandbox, await journal.look())
    assert (unknown is not None and "function note" in unknown.note) == bool(made)


async def test_calls_go_on_where_the_cell_gave_up_the_one_that_it_would_have_been_ended_for(tmp_path: Any) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        begun.set()
        await go_on.wait()

    offer = await HostFunctions([slow, HostFunction(total, needs_approval=True)]).ready()
    pending: Pending = {"purpose": "", "code": "", "step": 0, "thought": "", "call_id": ""}
    calls = CellCalls(offer, pending, timeout=60, asking=ApprovalRequest(FakeSandbox(tmp_path), pending, 1))
    none = values.pack({"args": [], "kwargs": {}})
    first = asyncio.create_task(calls.call(Call("slow", none)))
    await begun.wait()
    asking = asyncio.create_task(calls.call(Call("total", values.pack({"args": [1], "kwargs": {}}))))
    while not calls._closed:
        await asyncio.sleep(0)
    meanwhile = asyncio.create_task(calls.call(Call("slow", none)))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait((asking,))
    go_on.set()
    for task in (first, meanwhile, asyncio.create_task(calls.call(Call("slow", none)))):
        assert isinstance(await task, Returned)
    assert await calls.wait_until_held() is None


async def test_a_fake_sandbox_calls_what_is_offered_and_nothing_else(tmp_path: Any) -> None:
    cells = [ScriptedCell(CellResult(status="ok"), calls=[("total", [1, 2]), ("open", ["x"])])]
    sandbox = FakeSandbox(tmp_path, cells=cells)
    calls = CellCalls(
        await HostFunctions([total]).ready(),
        {"purpose": "", "code": "", "step": 0, "thought": "", "call_id": ""},
        timeout=10,
    )
    await sandbox.run("", number=1, timeout=10, functions=calls)
    assert sandbox.answers == [3.0, Raised("'open' is not offered")]
    assert calls.reached == ("function total",)
    assert calls.lines[0].startswith("total(1, 2): returned")


async def test_of_many_calls_the_first_are_remembered_and_the_rest_counted(tmp_path: Any) -> None:
    sandbox = FakeSandbox(tmp_path, cells=[ScriptedCell(CellResult(status="ok"), calls=[("total", [1])] * 60)])
    pending: Pending = {"purpose": "", "code": "", "step": 0, "thought": "", "call_id": ""}
    told: list[str] = []
    offer = await HostFunctions([total]).ready()
    calls = CellCalls(offer, pending, timeout=10, emit=lambda name, *_: told.append(name))
    await sandbox.run("", number=1, timeout=10, functions=calls)
    assert (len(calls.lines), calls.lines[-1], len(told)) == (51, "… and 10 more", 50)
    assert functions_called(make_cell(1, calls=calls.lines)) == {"total"}
    script = as_script(make_state(cells=[make_cell(1, calls=calls.lines)]))
    assert "# It calls functions of the program that ran it; define them here first: total\n" in script


class Told:
    """Counts how often it is written."""

    times = 0

    def __repr__(self) -> str:
        Told.times += 1
        return "told"


@pytest.mark.parametrize("make", [list, tuple, lambda many: {str(n): one for n, one in enumerate(many)}, np.array])
async def test_no_more_of_a_large_value_in_a_table_is_written_than_is_shown(make: Any) -> None:
    many = [Told() for _ in range(900)]
    table = pd.DataFrame({"a": [make(many), [make(many)]]})
    Told.times = 0
    [shown, _] = await shown_arguments(Call("pay", b""), {"rows": table})
    assert shown.startswith("rows = a table of 2 x 1: a\n")
    assert "told, " in shown or "'0': told" in shown
    assert "…" in shown
    assert 0 < Told.times < 20


@pytest.mark.parametrize("text", ["x\0", b"\0"])
async def test_a_long_text_in_a_table_is_cut_before_it_is_written(text: Any) -> None:
    table = pd.DataFrame({"a": [text * (4 << 20)] * 5}, dtype=object)
    tracemalloc.start()
    try:
        [shown, _] = await shown_arguments(Call("pay", b""), {"rows": table})
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert shown.count("…") == 5
