"""Calls that need approval on a command line without a terminal: shown, and decided by a further command."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from graph.settings import Settings
from tests.integration.test_mcp_servers import Shop
from tests.integration.test_resume import ending
from tests.other_process import environment
from tests.prepared_command import PREPARED
from tests.scripted_model import Call, ScriptedServer

pytestmark = pytest.mark.slow

CODE = "try:\n    print(shop_place_order('tea')['ordered'])\nexcept HostFunctionError as error:\n    print(error)"
ORDER = Call("run_python", purpose="order", step=1, code=CODE)


@pytest.mark.parametrize("verdict", ["approve", "reject"])
async def test_a_call_is_shown_and_decided_by_a_further_command(
    settings: Settings, tmp_path: Path, verdict: str
) -> None:
    shop = Shop(tmp_path)
    mcp = shop.write(needs_approval=["place-order"])

    async def command(*words: str) -> subprocess.CompletedProcess[str]:
        where = {**environment(settings, model.base_url, STEPWELL_MCP=str(mcp)), "HOME": str(tmp_path)}
        return await asyncio.to_thread(PREPARED.run, words, cwd=tmp_path, env=where)

    async with ScriptedServer([Call("submit_plan", steps=["Order"]), ORDER, *ending()]) as model:
        asked = await command("run", "Order tea.")
        assert asked.returncode == 3
        for part in ("cell 1 calls shop_place_order and waits for approval", "    article = 'tea'", "cell 1, line 2"):
            assert part in asked.stderr
        found = re.search(r"stepwell resume (\S+) --approve-call (\w+)\n", asked.stderr)
        assert found is not None
        thread, call = found.groups()
        assert f"--approve-call {call}" in (await command("show", thread)).stdout
        wrong = await command("resume", thread, "--approve-cell")
        assert wrong.returncode == 2
        assert f"approve it with: --approve-call {call}" in wrong.stderr
        assert shop.ordered == []
        decision = ("--approve-call", call) if verdict == "approve" else ("--reject", "No tea today.")
        done = await command("resume", thread, *decision)
        assert done.returncode == 0, done.stderr
    assert shop.ordered == (["tea"] if verdict == "approve" else [])
