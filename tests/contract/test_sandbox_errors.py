"""Errors of the code are data: the user's lines, nothing of the kernel, bounded."""

from sandboxes.results import CellError, CellResult
from tests.contract.conftest import Run, fine, printed


def failure(result: CellResult) -> CellError:
    assert result.status == "error"
    assert result.variables_kept
    assert result.error is not None
    assert "stepwell_kernel" not in result.error.traceback
    assert "kernel/" not in result.error.traceback
    return result.error


async def test_a_failing_cell_is_a_result(run: Run) -> None:
    error = failure(await run("x = 1\ndef f():\n    return x / 0\nf()"))
    assert (error.name, error.message) == ("ZeroDivisionError", "division by zero")
    assert '  File "<cell 1>", line 4, in <module>\n    f()\n' in error.traceback
    assert "    return x / 0\n           ~~^~~\n" in error.traceback
    assert printed(await run("print(x)")) == "1\n"


async def test_library_calls_are_one_line(run: Run) -> None:
    error = failure(await run("import pandas as pd\npd.DataFrame({'a': [1]})['b']"))
    assert error.name == "KeyError"
    assert "pd.DataFrame({'a': [1]})['b']" in error.traceback
    assert "calls inside pandas" in error.traceback
    assert "site-packages" not in error.traceback


async def test_a_callback_inside_a_library_is_shown(run: Run) -> None:
    code = "import pandas as pd\ndef bad(v):\n    raise ValueError('mine')\npd.Series([1]).apply(bad)"
    error = failure(await run(code))
    assert "in bad\n    raise ValueError('mine')" in error.traceback


async def test_lines_of_workspace_modules_are_shown(run: Run) -> None:
    fine(await run("open('mine.py', 'w').write('def f():\\n    raise OSError(1)\\n')"))
    assert 'File "mine.py", line 2, in f\n    raise OSError(1)' in failure(await run("import mine\nmine.f()")).traceback


async def test_chains_and_groups_are_shown(run: Run) -> None:
    chained = failure(await run("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('no') from e"))
    assert "direct cause" in chained.traceback
    assert "    1 / 0\n" in chained.traceback
    group = failure(await run("raise ExceptionGroup('both', [ValueError(1), KeyError('k')])"))
    assert "KeyError: 'k'" in group.traceback


async def test_a_syntax_error_has_its_caret(run: Run) -> None:
    error = failure(await run("x = 1\ny = (2\nprint(x)"))
    assert error.name == "SyntaxError"
    assert 'File "<cell 1>", line 2' in error.traceback
    assert "^" in error.traceback


async def test_a_notebook_magic_is_explained(run: Run) -> None:
    assert "not IPython" in failure(await run("%matplotlib inline")).traceback
    assert "not IPython" in failure(await run("!pip install pandas")).traceback


async def test_deep_recursion_is_bounded(run: Run) -> None:
    error = failure(await run("def f(n):\n    return f(n + 1)\nf(0)"))
    assert error.name == "RecursionError"
    assert len(error.traceback) < 17_000


async def test_exceptions_that_cannot_be_printed_are_named(run: Run) -> None:
    code = "class Odd(Exception):\n    def __str__(self): raise ValueError('no')\nraise Odd"
    error = failure(await run(code))
    assert error.name == "Odd"
    assert "raise Odd" in error.traceback
    assert len(failure(await run("raise ValueError('x' * 10**7)")).traceback) < 17_000
    assert "raise SystemError" in failure(await run("raise SystemError('\\ud800')")).traceback


async def test_a_failing_await_shows_the_users_lines(run: Run) -> None:
    error = failure(await run("import asyncio\nasync def f():\n    raise ValueError\nawait asyncio.gather(f())"))
    assert "await asyncio.gather(f())" in error.traceback
    assert "run_until_complete" not in error.traceback


async def test_exit_ends_the_cell_only(run: Run) -> None:
    for code in ("import sys\nsys.exit(2)", "exit(2)", "quit(2)", "raise SystemExit(2)"):
        fine(await run("x = 1"))
        error = failure(await run(code))
        assert error.name == "SystemExit", code
        assert "exit(2)" in error.message
        assert "go on" in error.message
        assert printed(await run("print(x)")) == "1\n", code


async def test_input_cannot_be_answered(run: Run) -> None:
    error = failure(await run("name = input('Your name? ')"))
    assert error.name == "EOFError"
    assert "put the value into the code" in error.message
    assert printed(await run("import sys\nprint(repr(sys.stdin.read()))")) == "''\n"


async def test_warnings_are_shown_in_every_cell(run: Run) -> None:
    for _ in range(2):
        assert "careful" in fine(await run("import warnings\nwarnings.warn('careful')")).stderr.text


async def test_a_keyboard_interrupt_of_the_users_own_is_an_error(run: Run) -> None:
    assert failure(await run("raise KeyboardInterrupt")).name == "KeyboardInterrupt"
