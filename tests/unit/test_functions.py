"""How functions are described and called, apart from a sandbox: hostile arguments, large tables, the prompt."""

import io
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.parquet
import pytest

from graph import tables
from graph.functions import HostFunctions
from graph.mcp_tools import describe_tool, function_name, type_text
from graph.offered import HostFunction, describe
from graph.state import Pending
from nodes.calling import CellCalls, RepeatableCalls, approval_mark, functions_called, to_be_approved
from nodes.functions_prompt import ALL_CHARS, functions_text
from nodes.upload import as_script
from sandboxes.fake import FakeSandbox, ScriptedCell
from sandboxes.functions import Call, Raised, Returned
from sandboxes.kernel import values
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


def test_a_small_file_that_holds_a_large_table_is_refused() -> None:
    flat = parquet(pyarrow.table({"a": np.zeros(tables.MAX_CELLS + 1, dtype="int8")}), use_dictionary=True)
    assert len(flat) < 1_000_000
    with pytest.raises(tables.TableError, match="more than 100,000,000 values"):
        tables.read_table(flat)
    column = pyarrow.DictionaryArray.from_arrays(np.zeros(50_000, dtype="int32"), pyarrow.array(["x" * 100_000]))
    grown = parquet(pyarrow.table({"a": column}), use_dictionary=True, store_schema=False)
    assert len(grown) < 1_000_000
    with pytest.raises(tables.TableError, match="more than 50,000,000 bytes"):
        tables.read_table(grown, max_bytes=50_000_000)


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
    assert len(text) < 3 * ALL_CHARS
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


async def test_approval_is_of_the_very_code_and_of_what_it_names(tmp_path: Any) -> None:
    offer = await HostFunctions([HostFunction(total, needs_approval=True)]).ready()
    pending: Pending = {"purpose": "", "code": "total(1)", "step": 0, "thought": "", "call_id": ""}
    assert to_be_approved(pending, offer)["asks"] == ["total"]
    assert "asks" not in to_be_approved({**pending, "code": "subtotal(1)"}, offer)
    cells = [ScriptedCell(CellResult(status="ok"), calls=[("total", [1])])] * 3
    sandbox = FakeSandbox(tmp_path, cells=cells)
    for approved in ("", approval_mark("total(2)"), approval_mark("total(1)")):
        calls = CellCalls(offer, {**pending, "approved": approved}, timeout=10)
        await sandbox.run("total(1)", number=1, timeout=10, functions=calls)
    first, second, third = sandbox.answers
    assert isinstance(first, Raised)
    assert isinstance(second, Raised)
    assert "needs somebody's approval" in second.message
    assert third == 1.0


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
    calls = CellCalls(offer, pending, timeout=10, tell=lambda name, *_: told.append(name))
    await sandbox.run("", number=1, timeout=10, functions=calls)
    assert (len(calls.lines), calls.lines[-1], len(told)) == (51, "… and 10 more", 50)
    assert functions_called(make_cell(1, calls=calls.lines)) == {"total"}
    script = as_script(make_state(cells=[make_cell(1, calls=calls.lines)]))
    assert "# It calls functions of the program that ran it; define them here first: total\n" in script
