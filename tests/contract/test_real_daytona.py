"""The real Daytona, where there is a key: then the whole contract suite asks it, too, and this analysis runs there."""

from pathlib import Path

import pytest

from sandboxes.bridged.sandbox import BridgedSandbox
from tests.contract.conftest import REAL_KEY, elsewhere, in_the_real_one, printed

pytestmark = [
    pytest.mark.daytona,
    pytest.mark.skipif(not REAL_KEY, reason="DAYTONA_API_KEY is not set: `pytest -m daytona tests/contract` with it"),
]


@pytest.mark.timeout(600)
async def test_a_session_there_is_kept_stopped_and_comes_back(tmp_path: Path) -> None:
    options = in_the_real_one()
    async with elsewhere(tmp_path / "sandboxes", options) as sandboxes:
        sandbox = await sandboxes.open("daytona", "live")
        assert isinstance(sandbox, BridgedSandbox)
        code = "x = [41]\nprint('on', flush=True)\nimport os; os.system('printf no newline')"
        assert printed(await sandbox.run(code, number=1, timeout=100)).startswith("on\n")
        late = await sandbox.run("import time\nwhile True: time.sleep(1)", number=2, timeout=2)
        assert (late.status, late.variables_kept) == ("timeout", True)
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        await sandbox.take_blobs(taken.new, tmp_path / "blobs")
        await sandbox.drop_blobs(taken.new)
        await sandbox.sleep()
        assert [one.state for one in await sandboxes.elsewhere["daytona"].listed()] == ["stopped"]
        there = await sandbox.supplied_blobs()
        await sandbox.supply_blobs([tmp_path / "blobs" / name for name in taken.new if name not in there])
        assert (await sandbox.restore(taken.id)).woken
        assert printed(await sandbox.run("print(x)", number=3, timeout=100)) == "[41]\n"
    async with elsewhere(tmp_path / "sandboxes", options) as sandboxes:
        assert await sandboxes.elsewhere["daytona"].listed() == []
