"""Expressions that are evaluated after a cell, for the numbers of an answer."""

from collections.abc import Sequence

from sandboxes.base import Sandbox
from sandboxes.results import CellResult
from tests.contract.conftest import fine


async def evaluate(sandbox: Sandbox, code: str, values: Sequence[tuple[str, str]], number: int = 1) -> CellResult:
    return await sandbox.run(code, number=number, timeout=60.0, values=values)


async def test_values_come_in_their_order_and_format(sandbox: Sandbox) -> None:
    code = "import pandas as pd, datetime\nr, n, p = 2 / 3, 1234567, 0.04\n"
    code += "frame = pd.DataFrame({'a': [1.5, 2], 'b|': ['x', None]})"
    wanted = [
        ("r", ".2f"), ("n", ","), ("'yes' if p < 0.05 else 'no'", ""), ("frame", "table"),
        ("datetime.date(2026, 1, 2)", "%d.%m."),
        ("frame.a", ""), ("[n, 'ü日']", ""),
    ]  # fmt: skip
    result = fine(await evaluate(sandbox, code, wanted))
    assert result.values == (
        "0.67", "1,234,567", "yes", "| a | b\\| |\n|---|---|\n| 1.5 | x |\n| 2.0 |  |", "02.01.",
        "| a |\n|---|\n| 1.5 |\n| 2.0 |", "[1234567, 'ü日']",
    )  # fmt: skip
    assert result.displays == ()


async def test_an_expression_that_fails_is_an_error_of_a_cell_that_has_run(sandbox: Sandbox) -> None:
    result = await evaluate(sandbox, "kept = 5", [("kept", ""), ("kept / zero", ".2f")])
    assert result.status == "error"
    assert result.error is not None
    assert result.error.name == "NameError"
    assert "{{kept / zero:.2f}}" in result.error.traceback
    assert result.values == ()
    assert [row.name for row in result.namespace] == ["kept"]
    assert fine(await evaluate(sandbox, "", [("kept", "")], 2)).values == ("5",)


async def test_a_format_that_does_not_fit_and_a_value_that_is_too_long_are_errors(sandbox: Sandbox) -> None:
    for expression, form, said in (
        ("'a'", ".2f", "'f' for object of type 'str'"),
        ("range(3)", "table", "only a data frame or a series can be a table"),
        ("'x' * 40_000", "", "30,000 of a value"),
        ("exit()", "", "SystemExit"),
    ):
        result = await evaluate(sandbox, "", [(expression, form)])
        assert result.status == "error", expression
        assert said in f"{result.error}", expression


async def test_a_failing_cell_evaluates_nothing(sandbox: Sandbox) -> None:
    result = await evaluate(sandbox, "1 / 0", [("print('evaluated')", "")])
    assert (result.status, result.values, result.stdout.text) == ("error", (), "")


async def test_an_expression_stops_at_the_time_limit_of_the_cell(sandbox: Sandbox) -> None:
    result = await sandbox.run("x = 1", number=1, timeout=1.0, values=[("__import__('time').sleep(60)", "")])
    assert result.status == "timeout"
    assert [row.name for row in result.namespace] == ["x"]
