"""Functions of the host, called from cells."""

import asyncio
from typing import Any

import pytest

from sandboxes.base import Sandbox
from sandboxes.functions import Call, Description, Parameter, Raised, Returned
from sandboxes.host.calls import FLOOD, MAX_AT_ONCE, MAX_CALLS
from sandboxes.inside.kernel import frames, values
from sandboxes.results import CellResult
from tests.contract.conftest import Steps, fine, printed

A, B = Parameter("a", annotation="int"), Parameter("b", annotation="int", optional=True, default=2)


class Offered:
    """Some functions, and what was called of them."""

    def __init__(self, *names: str) -> None:
        known = {
            "add": Description("add", "Add two numbers.\n\nTwice two is four.", (A, B), "int"),
            "echo": Description("echo", parameters=(Parameter("value"),)),
            "give": Description("give", "Gives a table."),
            "wait": Description("wait", "Never ends."),
            "fail": Description("fail"),
            "collect": Description(
                "collect", parameters=(Parameter("rest", "VAR_POSITIONAL"), Parameter("named", "VAR_KEYWORD"))
            ),
        }
        self.descriptions = [known[name] for name in names or known]
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.cancelled = 0
        self.running = 0
        self.most = 0

    async def call(self, call: Call) -> Returned | Raised:
        """Do what the name says."""
        said = await asyncio.to_thread(values.unpack, call.arguments)
        self.calls.append((call.name, said))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if call.name == "wait":
                await asyncio.sleep(60)
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        match call.name:
            case "fail":
                return Raised("ValueError: no such region", "ValueError")
            case "add":
                return Returned(values.pack({"value": sum((*said["args"], *said["kwargs"].values()))}))
            case "give":
                return Returned(await asyncio.to_thread(_a_table))
            case "collect":
                return Returned(values.pack({"value": said}))
        return Returned(await asyncio.to_thread(values.pack, {"value": said["args"][0]}))


def _a_table() -> bytes:
    import polars

    return values.pack({"value": polars.DataFrame({"a": [1]})})


class Calling:
    """Runs cells that can call."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.offered: Offered | None = Offered()
        self.number = 0

    async def run(self, code: str, timeout: float = 60.0) -> CellResult:
        """Run a cell."""
        self.number += 1
        return await self.sandbox.run(code, number=self.number, timeout=timeout, functions=self.offered)

    async def error(self, code: str) -> str:
        """Run a cell that must fail; how."""
        result = await self.run(code)
        assert result.error is not None, result
        return f"{result.error.name}: {result.error.message}"

    @property
    def seen(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls that came out."""
        assert self.offered is not None
        return self.offered.calls


@pytest.fixture
def calling(sandbox: Sandbox) -> Calling:
    return Calling(sandbox)


async def test_a_function_has_its_name_docstring_signature_and_annotations(calling: Calling) -> None:
    code = "import inspect\nsignature = inspect.signature(add)\n"
    code += "print(add.__name__, add.__qualname__, inspect.isfunction(add), signature)\n"
    code += "print(add.__doc__.splitlines()[0], add.__annotations__['a'] is int, signature.parameters['b'].default)"
    said = printed(await calling.run(code))
    assert said == "add add True (a: int, b: int = 2) -> int\nAdd two numbers. True 2\n"


async def test_arguments_go_out_and_the_result_comes_back(calling: Calling) -> None:
    assert printed(await calling.run("print(add(1), add(1, b=5), add(b=1, a=1))")) == "1 6 2\n"
    assert calling.seen[1] == ("add", {"args": [1], "kwargs": {"b": 5}})
    assert printed(await calling.run("print(collect(1, 'zwei', x=[None, True]))")).startswith("{'args': [1, 'zwei']")


async def test_arguments_that_do_not_fit_are_a_type_error_before_anything_is_called(calling: Calling) -> None:
    assert "TypeError: add()" in await calling.error("add()")
    assert "TypeError: add()" in await calling.error("add(1, 2, 3)")
    assert "TypeError: add()" in await calling.error("add(1, c=3)")
    assert calling.seen == []


async def test_a_failing_function_raises_in_the_cell_which_can_catch_it(calling: Calling) -> None:
    result = await calling.run("x = 1\nfail()")
    assert result.error is not None
    assert (result.error.name, result.error.message) == ("HostFunctionError", "fail: ValueError: no such region")
    assert "fail()" in result.error.traceback
    assert "calls.py" not in result.error.traceback
    caught = "try:\n    fail()\nexcept HostFunctionError as error:\n    print(error.kind, x)"
    assert printed(await calling.run(caught)) == "ValueError 1\n"


async def test_what_json_can_say_arrives(calling: Calling) -> None:
    says: list[tuple[str, object]] = [
        ("(1, 2.5, 'ä', None, True)", [1, 2.5, "ä", None, True]),
        ("{'a': {'b': [1]}}", {"a": {"b": [1]}}),
        ("2**100", 2**100),
        ("__import__('datetime').date(2025, 1, 2)", "2025-01-02"),
        ("__import__('datetime').datetime(2025, 1, 2, 3)", "2025-01-02T03:00:00"),
        ("__import__('pathlib').Path('a/b')", "a/b"),
        ("__import__('enum').IntEnum('E', 'ONE TWO').TWO", 2),
        ("__import__('numpy').int64(7)", 7),
        ("__import__('numpy').float32(0.5)", 0.5),
        ("__import__('numpy').bool_(True)", True),
        ("__import__('numpy').arange(4).reshape(2, 2)", [[0, 1], [2, 3]]),
        ("__import__('numpy').datetime64('2025-01-02')", "2025-01-02"),
        ("[__import__('pandas').NaT, __import__('pandas').NA]", [None, None]),
        ("__import__('pandas').Timestamp('2025-01-02')", "2025-01-02T00:00:00"),
    ]
    for value, arrives in says:
        fine(await calling.run(f"echo({value})"))
        assert calling.seen[-1][1]["args"] == [arrives], value


async def test_infinities_and_nan_stay_what_they_are(calling: Calling) -> None:
    said = printed(await calling.run("print(echo([float('nan'), float('inf'), -0.0]))"))
    assert said == "[nan, inf, -0.0]\n"


async def test_what_cannot_be_sent_is_a_type_error_that_names_the_argument(calling: Calling) -> None:
    for value, why in (
        ("{1, 2}", "argument value is a set, which cannot be sent: the order of a set is not fixed"),
        ("[{'x': b'1'}]", "argument value[0]['x'] is a bytes"),
        ("object()", "argument value is a object"),
        ("{1: 2}", "argument value has the key 1, and only texts can be keys"),
        ("__import__('decimal').Decimal(1)", "pass float(…) or str(…)"),
        ("__import__('pandas').Series([1])", "pass .tolist() or .to_frame()"),
        ("(lambda x: x.append(x) or x)([])", "nested more than 100 deep"),
        ("10**5000", "a number cannot be sent"),
    ):
        said = await calling.error(f"echo({value})")
        assert said.startswith("TypeError: echo(): "), value
        assert why in said
    assert calling.seen == []


async def test_tables_come_back_as_they_went_out(calling: Calling) -> None:
    for library, make in (
        ("pandas", "pandas.DataFrame({'a': [1, 2], 'b': ['x', None]}, index=[5, 6])"),
        ("polars", "polars.DataFrame({'a': [1, 2], 'b': ['x', None]})"),
        ("pyarrow", "pyarrow.table({'a': [1, 2], 'b': ['x', None]})"),
    ):
        code = f"import {library}\ntable = {make}\nback = echo({{'rows': [table, 1]}})['rows'][0]\n"
        code += "print(type(back) is type(table), back.equals(table))"
        assert printed(await calling.run(code)) == "True True\n", library


async def test_without_pyarrow_tables_are_refused_both_ways_in_clear_words(calling: Calling) -> None:
    code = "import sys, pandas\ntable = pandas.DataFrame({'a': [1]})\nback = echo(table)\n"
    fine(
        await calling.run(
            code + "for name in list(sys.modules):\n    if name.startswith('pyarrow'):\n"
            "        del sys.modules[name]\nsys.modules['pyarrow'] = None"
        )
    )
    said = await calling.error("echo(table)")
    assert "TypeError: echo(): argument value is a table, and sending one needs pyarrow, which is not here" in said
    said = await calling.error("import polars\nsys.modules['polars'] = None\ngive()")
    assert "HostFunctionError: give gave a table, and reading it needs pyarrow, which is not here" in said
    assert printed(await calling.run("print(echo([1]))")) == "[1]\n"


async def test_too_large_arguments_and_results_are_said_and_the_session_goes_on(calling: Calling) -> None:
    said = await calling.error(f"x = 'x' * {frames.MAX_BODY}\necho(x)")
    assert "ValueError: echo(): the arguments have 32,000" in said
    fine(await calling.run("x = 'x' * 20_000_000\nassert echo(x) == x"))
    fine(await calling.run("assert add(1) == 1"))


async def test_the_time_limit_of_the_cell_holds_while_it_waits_and_the_call_is_cancelled(calling: Calling) -> None:
    result = await calling.run("x = 1\nwait()", timeout=0.5)
    assert (result.status, result.variables_kept) == ("timeout", True)
    assert calling.offered is not None
    assert calling.offered.cancelled == 1
    assert printed(await calling.run("print(x, add(1))")) == "1 1\n"


async def test_a_cell_that_survives_its_interrupt_can_call_again(calling: Calling) -> None:
    code = "try:\n    wait()\nexcept KeyboardInterrupt:\n    print(add(20))"
    result = await calling.run(code, timeout=0.5)
    assert (result.status, result.stdout.text) == ("timeout", "20\n")


async def test_a_cancelled_cell_cancels_its_calls(calling: Calling) -> None:
    task = asyncio.create_task(calling.run("x = 1\nwait()"))
    while not calling.seen:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calling.offered is not None
    assert calling.offered.cancelled == 1
    assert printed(await calling.run("print(x, add(1))")) == "1 1\n"


async def test_threads_call_at_the_same_time_and_each_gets_its_own_answer(calling: Calling) -> None:
    code = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(30) as pool:\n"
    code += "    print(list(pool.map(add, range(300))) == list(range(300)), add(7))"
    assert printed(await calling.run(code)) == "True 7\n"
    assert calling.offered is not None
    assert calling.offered.most <= MAX_AT_ONCE


async def test_functions_can_be_called_from_coroutines_and_beside_them(calling: Calling) -> None:
    code = "import asyncio\nasync def one(x):\n    return add(x)\n"
    code += "print(await one(1), await asyncio.gather(*(asyncio.to_thread(add, i) for i in range(5))), add(9))"
    assert printed(await calling.run(code)) == "1 [0, 1, 2, 3, 4] 9\n"


async def test_a_call_of_a_thread_ends_with_its_cell(calling: Calling) -> None:
    code = (
        "import threading\nsaid = []\ndef work():\n    try:\n        wait()\n    except HostFunctionError as error:\n"
    )
    code += "        said.append(str(error))\nthread = threading.Thread(target=work)\nthread.start()\n"
    code += "import time\nwhile not thread.is_alive(): time.sleep(0.01)\ntime.sleep(0.2)"
    fine(await calling.run(code))
    assert calling.offered is not None
    assert calling.offered.cancelled == 1
    assert printed(await calling.run("thread.join(10)\nprint(said, add(3))")) == (
        "['wait was broken off: the cell that called it has ended'] 3\n"
    )


async def test_a_thread_that_outlives_its_cell_cannot_call_between_cells(calling: Calling) -> None:
    code = "import threading, time\nsaid = []\ndef work():\n    while not said:\n        try:\n            add(1)\n"
    code += "        except HostFunctionError as error:\n            said.append(str(error))\n"
    code += "thread = threading.Thread(target=work)\nthread.start()"
    fine(await calling.run(code))
    await asyncio.sleep(0.3)
    said = printed(await calling.run("thread.join(10)\nprint(said)"))
    assert "between cells" in said or "has ended" in said or "while no cell runs" in said


async def test_a_forked_child_cannot_call(calling: Calling) -> None:
    code = "import os\nprint('before', flush=True)\nchild = os.fork()\nif not child:\n    try:\n        add(1)\n"
    code += "    except HostFunctionError as error:\n        print(error, flush=True)\n    os._exit(0)\n"
    code += "os.waitpid(child, 0)\nprint(add(1))"
    said = printed(await calling.run(code))
    assert "add cannot be called in a forked process" in said
    assert said.endswith("1\n")
    assert len(calling.seen) == 1


async def test_a_name_that_the_user_took_is_theirs_until_it_is_deleted(calling: Calling) -> None:
    assert printed(await calling.run("add = add(1, 1)\nprint(add)")) == "2\n"
    assert printed(await calling.run("print(add)\ndel add")) == "2\n"
    assert printed(await calling.run("print(add(1, 1))")) == "2\n"


async def test_what_is_not_offered_any_more_says_so(calling: Calling) -> None:
    fine(await calling.run("def twice(x):\n    return add(add(x))"))
    calling.offered = None
    assert "HostFunctionError: add is not offered in this run" in await calling.error("twice(1)")
    calling.offered = Offered("add")
    assert printed(await calling.run("print(twice(1))")) == "1\n"
    assert "wait is not offered" in await calling.error("wait()")


async def test_functions_are_not_in_the_table_of_variables(calling: Calling) -> None:
    result = fine(await calling.run("x = add(1)\nplus = add"))
    assert [row.name for row in result.namespace] == ["x", "plus"]


async def test_a_call_counts_up_to_a_limit_and_a_flood_ends_the_session(calling: Calling) -> None:
    # Many at a time: one after the other they take their time where each is a request of its own.
    said = printed(await calling.run(MANY + "answers = attempt_all(1_020)\nprint(answers.count(1), *{*answers} - {1})"))
    assert said.startswith(f"{MAX_CALLS} add: a cell can make {MAX_CALLS:,} calls")
    fine(await calling.run("add(1)"))
    result = await calling.run("while True: attempt_all(100)")
    assert result.status == "killed"
    assert f"more than {FLOOD:,} calls" in result.note


MANY = """
from concurrent.futures import ThreadPoolExecutor
def attempt(number):
    try:
        return add(1)
    except HostFunctionError as error:
        return str(error)
def attempt_all(count):
    with ThreadPoolExecutor(32) as pool:
        return list(pool.map(attempt, range(count)))
"""
FORGED = """
import gc, sys
calls = sys.modules['stepwell_kernel.calls'].StubRegistry.channel
"""


async def test_a_name_that_was_never_offered_is_refused_whoever_asks(calling: Calling) -> None:
    code = FORGED + "slot = calls._answered('open', b'')\nprint(slot.ok, slot.body)"
    said = printed(await calling.run(code))
    assert said.startswith("False")
    assert "is not offered" in said
    assert calling.seen == []


async def test_forged_frames_do_not_reach_a_function(calling: Calling) -> None:
    code = FORGED + (
        "for header in ({'call': 'x', 'name': 'add'}, {'call': 1}, {'call': 2, 'name': ['add']}, {}):\n"
        "    calls._send('call', header, b'123')\n    calls._send('uncall', header, b'')\n"
    )
    fine(await calling.run(code))
    assert calling.seen == []
    fine(await calling.run("assert add(1) == 1"))


async def test_functions_that_refer_to_it_work_after_a_restore_in_another_process(steps: Steps) -> None:
    calling = Calling(steps.sandbox)
    code = "import functools\ndef twice(x):\n    return add(add(x))\nplus = add\npart = functools.partial(add, 3)\n"
    fine(
        await calling.run(
            code + "table = {'f': add}\ntry:\n    fail()\nexcept HostFunctionError as error:\n    e = error"
        )
    )
    session = await steps.take_up()
    assert "add" not in session.restored
    restored = Calling(steps.sandbox)
    code = (
        "print(twice(1), part(b=1), plus is add is table['f'], type(e) is HostFunctionError, e.kind, plus.__doc__[:3])"
    )
    assert printed(await restored.run(code)) == "1 4 True True ValueError Add\n"
    names = [row.name for row in fine(await restored.run("1")).namespace]
    assert names == ["functools", "twice", "plus", "part", "table", "e"]


async def test_a_restored_session_without_the_functions_says_so_when_they_are_called(steps: Steps) -> None:
    calling = Calling(steps.sandbox)
    fine(await calling.run("def twice(x):\n    return add(add(x))\nplus = add"))
    await steps.take_up()
    restored = Calling(steps.sandbox)
    restored.offered = None
    for call in ("twice(1)", "plus(1)", "add(1)"):
        assert "HostFunctionError: add is not offered in this run" in await restored.error(call)
    await steps.keep()


async def test_a_snapshot_of_a_session_that_calls_nothing_is_as_before(steps: Steps) -> None:
    await steps.run("x = 1")
    first = await steps.keep()
    other = Calling(steps.sandbox)
    other.offered = Offered("add")
    fine(await other.run("pass"))
    assert (await steps.keep()).id != first.id
    assert (await steps.take_up()).restored == ("x",)


async def test_a_frozen_copy_that_goes_on_can_call(calling: Calling) -> None:
    """The copy knows what was offered when it was frozen; what was on its way to the dead process is not for it."""
    calling.offered = Offered("add")
    fine(await calling.run("x = add(1)"))
    await asyncio.sleep(0.2)
    calling.offered = Offered("add", "echo", "wait")
    code = "import os, signal, threading\nfor _ in range(20):\n    threading.Thread(target=echo, args=(1,)).start()\n"
    result = await calling.run(code + "threading.Thread(target=wait).start()\nos.kill(os.getpid(), signal.SIGKILL)")
    assert result.status == "killed"
    result = await calling.run("y = add(1)\nprint(y, echo('z'), globals().get('x'))")
    if result.status != "ok":
        pytest.fail(f"{result}")
    assert result.stdout.text in ("1 z 1\n", "1 z None\n")


async def test_a_reset_ends_a_cell_in_its_call_and_nothing_of_it_runs_any_more(calling: Calling) -> None:
    """That is how a cell is ended for a call that somebody has to approve of."""
    offered = calling.offered
    assert offered is not None
    code = "try:\n    wait()\nexcept BaseException:\n    echo('handler')\nfinally:\n    echo('finally')"
    task = asyncio.ensure_future(calling.run(code))
    while not offered.calls:
        assert not task.done(), task.result()
        await asyncio.sleep(0.01)
    note = await calling.sandbox.reached()
    assert note.what == ()
    await calling.sandbox.reset()
    result = await task
    assert (result.status, result.variables_kept) == ("killed", False)
    assert [name for name, _ in offered.calls] == ["wait"]
    assert calling.sandbox.head == ""
    assert printed(await calling.run("print(add(1))")) == "1\n"


async def test_a_call_says_where_in_the_cells_it_was_made(calling: Calling) -> None:
    places: list[str] = []
    offered = calling.offered
    assert offered is not None

    class Watching(Offered):
        async def call(self, call: Call) -> Returned | Raised:
            places.append(call.place)
            return await super().call(call)

    calling.offered = Watching()
    fine(await calling.run("def both():\n    return add(1)\nboth()"))
    fine(await calling.run("x = 1\nboth()"))
    assert places == ["cell 1, line 3; cell 1, line 2 in both", "cell 2, line 2; cell 1, line 2 in both"]
