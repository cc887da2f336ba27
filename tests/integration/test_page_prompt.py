"""Python at a step of the page: watched while it runs, stopped, and what was run before."""

import asyncio

import pytest

from graph.settings import Settings
from tests.analyses import with_model
from tests.integration.test_page import ASKED, ask, finished, tried
from tests.page_process import page_inside
from tests.scripted_model import Call, Scripted, ScriptedServer


@pytest.mark.slow
async def test_code_at_a_step_is_watched_and_stopped(settings: Settings) -> None:
    script: list[Scripted] = [Call("run_python", purpose="One", code="n = 1", answer="It is {{n}}.")]
    async with ScriptedServer(script) as model, page_inside(with_model(settings, model.base_url)) as page:
        thread = await ask(page, ASKED)
        await finished(page, thread)
        step = f"/threads/{thread}/steps/1"
        endless = "import time\nn = 8\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)"
        await page.client.post(f"{step}/prompt", data={"code": endless})
        while "begun\n</pre>" not in (shown := (await page.client.get(step)).text):
            await asyncio.sleep(0.05)
        assert f'action="{step}/prompt/stop"' in shown
        second = await page.client.post(f"{step}/prompt", data={"code": "kept = 2"})
        assert second.status_code == 409
        assert "is not over yet" in second.text
        assert "kept = 2</textarea>" in second.text
        stopped = await page.client.post(f"{step}/prompt/stop")
        assert stopped.headers["location"] == f"{step}#prompt"
        while 'data-busy="1"' in (await page.client.get(step)).text:
            await asyncio.sleep(0.05)
        shown = await tried(page, step, "n * 10")
        assert ">stopped · " in shown
        assert "begun\n</pre>" in shown
        assert ">80</pre>" in shown, "variables are as far as it came"
        for number in range(25):
            shown = await tried(page, step, f"'run {number}'")
        assert "&#39;run 24&#39;</pre>" in shown
        assert shown.count('aria-label="At the prompt"') == 20, "the newest ones"
