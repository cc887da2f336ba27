"""What a cell may do, and what is shown of it."""

from pathlib import Path

import pytest

from sandboxes.base import Sandbox
from tests.contract.conftest import Run, fine, has_shared_memory, printed


async def test_variables_persist_between_cells(run: Run) -> None:
    fine(await run("x = 20"))
    assert printed(await run("print(x + 1)")) == "21\n"


async def test_the_value_of_the_last_expression_is_shown(run: Run) -> None:
    result = fine(await run("x = 20\nx + 1"))
    assert [(shown.kind, shown.text) for shown in result.displays] == [("result", "21")]
    assert [shown.text for shown in fine(await run("_ * 2")).displays] == ["42"]


async def test_nothing_is_shown_of_a_cell_that_ends_quietly(run: Run) -> None:
    for code in ("x = 1", "1;", "1 ; # quiet", "(1\n);\n# quiet", "'日本';", "None", ""):
        assert fine(await run(code)).displays == (), code


async def test_a_semicolon_elsewhere_does_not_silence(run: Run) -> None:
    assert [shown.text for shown in fine(await run("x = 1; x  # ;")).displays] == ["1"]
    assert [shown.text for shown in fine(await run("'日本;'")).displays] == ["'日本;'"]


async def test_display_shows_each_object(run: Run) -> None:
    result = fine(await run("display(1, 'two')\ndisplay([3])"))
    assert [(shown.kind, shown.text) for shown in result.displays] == [
        ("display", "1"),
        ("display", "'two'"),
        ("display", "[3]"),
    ]


async def test_a_data_frame_has_text_and_html(run: Run) -> None:
    (shown,) = fine(await run("import pandas as pd\npd.DataFrame({'price': [1, 2]})")).displays
    assert "price" in shown.text
    assert "<table" in shown.html


async def test_a_png_form_becomes_a_file(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    result = fine(await run("from PIL import Image\nImage.new('RGB', (3, 2))"))
    (shown,) = result.displays
    assert shown.path == "figures/cell-001-1.png"
    assert [(file.path, file.change) for file in result.files] == [(shown.path, "created")]
    await sandbox.fetch(shown.path, tmp_path / "shown.png", max_bytes=10_000)
    assert (tmp_path / "shown.png").read_bytes().startswith(b"\x89PNG")


async def test_forms_that_are_too_large_or_fail_are_left_out(run: Run) -> None:
    code = """
class Odd:
    def __repr__(self): return "odd" * 100_000
    def _repr_html_(self): return "<p>" * 100_000
    def _repr_png_(self): raise ValueError("no picture")
class Broken:
    def __repr__(self): raise ValueError("no text")
class Everything:
    def __getattr__(self, name): return lambda *a, **k: self
display(Odd(), Broken(), Everything(), list(range(10**7)), 10**9999)
"""
    odd, broken, everything, numbers, _huge = fine(await run(code)).displays
    assert len(odd.text) <= 20_000
    assert odd.html == ""
    assert broken.text == "<Broken; its repr raised ValueError>"
    assert everything.html == ""
    assert numbers.text.startswith("[0, 1, 2")
    assert len(numbers.text) <= 20_000


async def test_a_flood_of_displays_is_counted(run: Run) -> None:
    displays = fine(await run("for i in range(200_000): display(i)")).displays
    assert len(displays) == 51
    assert displays[-1].text == "… 199,950 more displays left out …"


async def test_top_level_await_and_tasks_persist(run: Run) -> None:
    fine(
        await run("import asyncio\nqueue = asyncio.Queue()\ntask = asyncio.create_task(queue.get()) if False else None")
    )
    fine(await run("async def answer():\n    await asyncio.sleep(0.01)\n    return 42\ntask = None\nawait answer()"))
    fine(await run("await asyncio.sleep(0)\ntask = asyncio.ensure_future(queue.get())"))
    result = fine(await run("queue.put_nowait('kept')\nawait task"))
    assert [shown.text for shown in result.displays] == ["'kept'"]


async def test_asyncio_run_works_in_a_cell_without_await(run: Run) -> None:
    code = "import asyncio\nasync def answer(): return 42\nasyncio.run(answer())"
    assert [shown.text for shown in fine(await run(code)).displays] == ["42"]


async def test_a_class_of_a_cell_can_be_pickled(run: Run) -> None:
    fine(await run("class Point:\n    def __init__(self, x): self.x = x"))
    assert (
        printed(await run("import pickle\nprint(pickle.loads(pickle.dumps(Point(3))).x, __name__)")) == "3 __main__\n"
    )


async def test_multiprocessing_uses_functions_of_cells(sandbox: Sandbox, run: Run) -> None:
    fine(await run("def square(x): return x * x"))
    code = "import multiprocessing\nwith multiprocessing.Pool(2) as pool: print(pool.map(square, [1, 2, 3]))"
    if not has_shared_memory(sandbox):
        error = (await run(code)).error
        assert error is not None
        assert error.name == "PermissionError"
        return
    assert printed(await run(code)) == "[1, 4, 9]\n"


async def test_a_fork_in_a_cell_is_one_cell(run: Run) -> None:
    result = fine(await run("import os\nprint('before', end=' ')\npid = os.fork()\nif pid: os.waitpid(pid, 0)"))
    assert result.stdout.text == "before "
    assert printed(await run("print(pid > 0)")) == "True\n"


async def test_the_users_modules_come_before_the_kernels(run: Run) -> None:
    names = ["graph", "session", "kernel", "frames", "namespace", "displays", "json", "traceback"]
    fine(await run(f"for name in {names}: open(name + '.py', 'w').write('mine = __name__')"))
    code = f"import importlib\nprint([importlib.import_module(n).mine for n in {names[:6]}])"
    assert printed(await run(code)) == f"{names[:6]}\n"
    failed = await run("1 / 0")
    assert failed.error is not None
    assert "1 / 0" in failed.error.traceback


async def test_future_statements_hold_for_later_cells(run: Run) -> None:
    fine(await run("from __future__ import annotations"))
    assert printed(await run("def f(x: nothing_of_that_name): ...\nprint(f.__annotations__)")) == (
        "{'x': 'nothing_of_that_name'}\n"
    )


async def test_every_cell_starts_in_the_workspace(run: Run) -> None:
    fine(await run("import os\nos.chdir('/')"))
    assert printed(await run("print(sorted(os.listdir()))")) == "['figures', 'inputs', 'outputs']\n"


async def test_the_environment_holds_no_keys(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("STEPWELL_MODEL", "secret")
    names = set(printed(await run("import os\nprint(*os.environ)")).split())
    ours = {f"SANDBOX_{name}" for name in ("PACKAGES", "PACKAGES_PATH", "LOADED", "NETWORK", "PYTHON")} | {"PYTHONPATH"}
    usual = {"PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "MPLBACKEND", "MPLCONFIGDIR", "TZ"}
    usual |= {"PYTHONHASHSEED", "PYTHONUTF8"}
    elsewhere = {"DAYTONA_SANDBOX_ID", "USER", "EMULATED_CONTAINER", "HOSTNAME"}
    assert names <= usual | ours | elsewhere | {"OPENBLAS_NUM_THREADS", "JE_ARROW_MALLOC_CONF"}
    home = printed(await run("import pathlib, tempfile\nprint(pathlib.Path.home(), tempfile.gettempdir())")).split()
    assert str(Path.home()) not in home


async def test_changed_files_are_told(run: Run) -> None:
    fine(await run("open('outputs/a.txt', 'w').write('one')\nopen('b.txt', 'w').write('two')"))
    code = """
import os
open('outputs/a.txt', 'a').write('more'); os.remove('b.txt')
os.makedirs('outputs/deep/__pycache__'); open('outputs/deep/c.txt', 'w').close()
open('outputs/deep/__pycache__/d.pyc', 'w').close(); os.symlink('a.txt', 'outputs/link'); os.mkfifo('outputs/pipe')
try: open('inputs/e.txt', 'w').close()
except OSError: pass
"""
    files = fine(await run(code)).files
    assert [(file.path, file.change, file.size) for file in files] == [
        ("b.txt", "deleted", 0),
        ("outputs/a.txt", "changed", 7),
        ("outputs/deep/c.txt", "created", 0),
    ]
    assert fine(await run("1")).files == ()


async def test_a_cell_of_line_ends_and_odd_characters_runs(run: Run) -> None:
    assert printed(await run("x = 'ü'\r\nprint(x)\r\nprint('\\ud800')\r\n")) == "ü\n\\ud800\n"
    assert (await run("print('\ud800')")).status == "ok"
    assert (await run("x = '\0'")).status == "error"
