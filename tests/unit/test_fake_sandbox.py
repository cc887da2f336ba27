"""The fake sandbox replays a script, and fails on anything else."""

from pathlib import Path

import pytest

from sandboxes.base import SandboxLostError
from sandboxes.fake import FakeSandbox, ScriptedCell
from sandboxes.results import CapturedText, CellResult, Streamed

GOOD = CellResult(status="ok", stdout=CapturedText("printed"))
DEAD = CellResult(status="killed", variables_kept=False)


async def test_results_are_replayed_in_order(tmp_path: Path) -> None:
    scripted = ScriptedCell(GOOD, code="plot", files={"outputs/a.txt": b"made"})
    sandbox = FakeSandbox(tmp_path, cells=[GOOD, scripted, DEAD, SandboxLostError("gone")])
    seen: list[Streamed] = []
    assert await sandbox.run("x", number=1, timeout=1, head="one", on_output=seen.append) is GOOD
    assert (sandbox.head, seen) == ("one", [Streamed("stdout", text="printed")])
    await sandbox.run("plot()", number=2, timeout=1, head="two")
    assert [file.path for file in await sandbox.files("outputs")] == ["outputs/a.txt"]
    assert await sandbox.run("y", number=3, timeout=1, head="three") is DEAD
    assert sandbox.head == ""
    with pytest.raises(SandboxLostError):
        await sandbox.run("z", number=4, timeout=1)
    assert sandbox.codes == ["x", "plot()", "y", "z"]
    sandbox.finish()


async def test_what_is_not_scripted_fails(tmp_path: Path) -> None:
    sandbox = FakeSandbox(tmp_path, cells=[ScriptedCell(GOOD, code="plot")], programs={"profiler": [{"a": 1}]})
    with pytest.raises(AssertionError, match="never run"):
        sandbox.finish()
    with pytest.raises(AssertionError, match="expected to contain 'plot'"):
        await sandbox.run("x", number=1, timeout=1)
    with pytest.raises(AssertionError, match="no cell was expected"):
        await sandbox.run("x", number=2, timeout=1)
    assert (await sandbox.run_program(Path("programs/profiler"), [], timeout=1)).stdout == '[{"a": 1}]'
    with pytest.raises(AssertionError, match="not expected"):
        await sandbox.run_program(Path("other"), [], timeout=1)
