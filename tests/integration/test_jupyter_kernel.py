"""The Jupyter kernel, driven by Jupyter's own client and by nbclient."""

import asyncio
import base64
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

import stepwell
from graph.settings import Settings
from tests.other_process import ROOT, wait_for_change, wait_for_flag
from tests.prepared_command import PREPARED

SECONDS = 60.0


@pytest.fixture(autouse=True)
def installed(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel, where only this test's Jupyter sees it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "RUNTIME", "CONFIG"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / f"jupyter-{name.lower()}"))
    monkeypatch.setenv("STEPWELL_HOME", str(settings.home))
    monkeypatch.setenv("STEPWELL_ISOLATION", settings.isolation)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = _command("kernel", "install")
    assert (Path(KernelSpecManager().get_kernel_spec("stepwell").resource_dir) / "kernel.json").exists(), done.stderr


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return PREPARED.run(words, cwd=Path.cwd(), env=os.environ)


class Notebook:
    """A running kernel and a client of it."""

    def __init__(self, manager: AsyncKernelManager) -> None:
        self.manager = manager
        self.client: Any = manager.client()

    async def begin(self) -> None:
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=SECONDS)

    async def restarted(self) -> None:
        """Kill the kernel, and begin it anew."""
        await self.manager.restart_kernel(now=True)
        await self.client.wait_for_ready(timeout=SECONDS)

    async def run(self, code: str) -> dict[str, Any]:
        """Run a cell: its reply, and what came on the way, by kind."""
        came: dict[str, list[dict[str, Any]]] = {}

        def note(message: dict[str, Any]) -> None:
            came.setdefault(message["msg_type"], []).append(message["content"])

        reply = await self.client.execute_interactive(code, timeout=SECONDS, output_hook=note, allow_stdin=False)
        return {**came, **reply["content"]}

    async def shown(self, code: str) -> str:
        """The text of a cell's result."""
        came = await self.run(code)
        assert came["status"] == "ok", came
        text: str = came["execute_result"][0]["data"]["text/plain"]
        return text

    async def end(self) -> None:
        self.client.stop_channels()
        await self.manager.shutdown_kernel()


@asynccontextmanager
async def opened(notebook: str = "") -> AsyncIterator[Notebook]:
    manager = AsyncKernelManager(kernel_name="stepwell")
    await manager.start_kernel(env={**os.environ, **({"JPY_SESSION_NAME": notebook} if notebook else {})})
    found = Notebook(manager)
    try:
        await found.begin()
        yield found
    finally:
        await found.end()


def streams(came: dict[str, Any], name: str) -> str:
    return "".join(one["text"] for one in came.get("stream", []) if one["name"] == name)


async def test_cells_of_a_notebook_are_steps(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the host")
    async with opened() as notebook:
        first = await notebook.run("# Count\nimport sys\nn = 3\nprint('out')\nprint('err', file=sys.stderr)\nn")
        assert (first["status"], first["execution_count"]) == ("ok", 1)
        assert (streams(first, "stdout"), streams(first, "stderr")) == ("out\n", "err\n")
        assert first["execute_result"][0]["data"]["text/plain"] == "3"
        frame = await notebook.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndf")
        assert "<table" in frame["execute_result"][0]["data"]["text/html"]
        drawn = await notebook.run("ax = df.plot()")
        picture = drawn["display_data"][0]["data"]["image/png"]
        assert base64.b64decode(picture).startswith(b"\x89PNG")
        asked = await notebook.run("%%sql total\nselect sum(a) as s from df")
        assert asked["status"] == "ok"
        failed = await notebook.run("m = 1\n1 / 0")
        assert (failed["status"], failed["ename"], failed["evalue"]) == (
            "error",
            "ZeroDivisionError",
            "division by zero",
        )
        assert any("line 2" in line for line in failed["error"][0]["traceback"])
        assert await notebook.shown("n, m, len(total)") == "(3, 1, 1)"
        walled = await notebook.run(f"open({str(tmp_path / 'secret')!r}).read()")
        assert walled["status"] == "error"
        asked = await notebook.run("input('Who?')")
        assert asked["status"] == "error"
        empty = await notebook.run("  ")
        assert empty["status"] == "ok"
    [thread] = await stepwell.list_threads(settings=settings)
    steps = [one.cell for one in await stepwell.log(thread.id, settings=settings) if one.cell]
    assert [one["status"] for one in steps] == ["ok", "ok", "ok", "ok", "error", "ok", "error", "error"]
    assert steps[0]["purpose"] == "Count"


@pytest.mark.slow
async def test_html_of_a_cell_runs_nothing(settings: Settings) -> None:
    html = "<b onclick=x()>bold</b><script>alert(1)</script><img src=x onerror=y()>"
    hostile = f"class H:\n    def _repr_html_(self):\n        return {html!r}\nH()"
    async with opened() as notebook:
        html = (await notebook.run(hostile))["execute_result"][0]["data"]["text/html"]
    for part in ("<script", "onclick", "onerror", "<img"):
        assert part not in html


@pytest.mark.slow
async def test_going_back_and_forking(settings: Settings) -> None:
    async with opened() as notebook:
        assert "no thread yet" in (await notebook.run("%steps"))["evalue"]
        await notebook.run("n = [1]")
        await notebook.run("n.append(2)")
        assert "after step 1" in streams(await notebook.run("%back 1"), "stdout")
        came = await notebook.run("n")
        assert came["execute_result"][0]["data"]["text/plain"] == "[1]"
        assert came["execution_count"] == 2
        listed = streams(await notebook.run("%steps"), "stdout")
        assert [line.split()[0] for line in listed.splitlines()] == ["1", "2", "2b"]
        await notebook.run("%fork other")
        await notebook.run("n.append(9)")
        assert await notebook.shown("n") == "[1, 9]"
        first = next(one for one in await stepwell.list_threads(settings=settings) if not one.name)
        await notebook.run(f"%session {first.id[:8]}")
        assert await notebook.shown("n") == "[1]"
        await notebook.run("%session new")
        assert await notebook.shown("'n' in globals()") == "False"
        assert "has no step" in (await notebook.run("%back 7"))["evalue"]
        assert "%back N" in (await notebook.run("%back"))["evalue"]
    assert len(await stepwell.list_threads(settings=settings)) == 3


@pytest.mark.slow
async def test_an_interrupt_ends_the_cell_and_keeps_the_session(settings: Settings) -> None:
    async with opened() as notebook:
        await notebook.run("n = 1")
        running = asyncio.ensure_future(
            notebook.run("n = 2; open('outputs/flag', 'w').close(); import time; time.sleep(600)")
        )
        await wait_for_flag(settings)
        await notebook.manager.interrupt_kernel()
        came = await running
        assert came["ename"] == "KeyboardInterrupt"
        assert "as they were before it" in came["evalue"]
        assert await notebook.shown("n") == "1"


@pytest.mark.slow
async def test_a_restarted_kernel_has_its_variables(settings: Settings, tmp_path: Path) -> None:
    name = str(tmp_path / "analysis.ipynb")
    async with opened(name) as notebook:
        await notebook.run("n = [1]; m = n")
        [holder] = (settings.home / "locks").glob("*.holder")
        before = holder.read_text()
        await notebook.restarted()
        await wait_for_change(holder, before)  # it comes back before anybody asks
        came = await notebook.run("m is n")
        assert came["execute_result"][0]["data"]["text/plain"] == "True"
        assert "brought back" in streams(came, "stderr")
        assert came["execution_count"] == 2
    async with opened(name) as notebook:
        assert await notebook.shown("n") == "[1]"
    async with opened(str(tmp_path / "other.ipynb")) as notebook:
        assert await notebook.shown("'n' in globals()") == "False"


@pytest.mark.slow
async def test_a_kernel_that_is_killed_in_a_cell_says_so_afterwards(settings: Settings, tmp_path: Path) -> None:
    name = str(tmp_path / "analysis.ipynb")
    async with opened(name) as notebook:
        await notebook.run("n = 1")
        notebook.client.execute("# Count on\nn = 2; open('outputs/flag', 'w').close(); import time; time.sleep(600)")
        await wait_for_flag(settings)
        await notebook.restarted()
        came = await notebook.run("n")
        assert came["execute_result"][0]["data"]["text/plain"] == "1"
        assert "('Count on') was broken off and was not repeated" in streams(came, "stderr")


@pytest.mark.slow
async def test_completion_and_inspection(settings: Settings) -> None:
    async with opened() as notebook:
        await notebook.run("import pandas as pd\nsales = pd.DataFrame({'region': ['a'], 'amount': [1]})")

        async def completed(code: str) -> list[str]:
            reply = await notebook.client.complete(code, reply=True, timeout=SECONDS)
            found: list[str] = reply["content"]["matches"]
            return found

        assert await completed("sal") == ["sales"]
        assert await completed("x = sales.am") == ["sales.amount"]
        assert "sales.region" in await completed("sales.")
        assert await completed("nothing.a") == []
        looked = (await notebook.client.inspect("sales.head", 8, reply=True, timeout=SECONDS))["content"]
        assert "head(" in looked["data"]["text/plain"]
        unknown = (await notebook.client.inspect("nothing", 4, reply=True, timeout=SECONDS))["content"]
        assert not unknown["found"]
        for code, status in {"for a in b:": "incomplete", "1 +* 2": "invalid", "n = 1": "complete"}.items():
            said = await notebook.client.is_complete(code, reply=True, timeout=SECONDS)
            assert said["content"]["status"] == status
        assert await notebook.shown("sorted(n for n in globals() if 'looked' in n or 'inspect' in n)") == "[]"
    [thread] = await stepwell.list_threads(settings=settings)
    assert thread.cells == 2


@pytest.mark.slow
async def test_nbclient_runs_a_notebook(settings: Settings, tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(code) for code in ("n = 20", "print(n)", "n + 1")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    await NotebookClient(notebook, kernel_name="stepwell", timeout=SECONDS).async_execute()
    assert notebook.cells[1].outputs[0]["text"] == "20\n"
    assert notebook.cells[2].outputs[0]["data"]["text/plain"] == "21"
    nbformat.validate(notebook)
    [thread] = await stepwell.list_threads(settings=settings)
    assert thread.cells == 3


def test_the_kernel_is_taken_away_again() -> None:
    assert _command("kernel", "install", "--remove").returncode == 0
    again = _command("kernel", "install", "--remove")
    assert again.returncode == 2
    assert "There is no kernel 'stepwell'." in again.stderr
    wrong = _command("kernel", "install", "--name", "a/b")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
