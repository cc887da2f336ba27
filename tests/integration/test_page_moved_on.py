"""What people see whose page is older than the thread, whose names are too long, and who lack a kind of sandbox."""

import pytest
from pydantic import SecretStr

from graph.settings import Settings
from stepwell.locks import lock_thread
from tests.integration.test_page import long_thread
from tests.page_process import page_inside

LONG = "How did strikes by birds change from year to year? " * 5


async def test_a_page_that_is_older_than_its_thread_is_told_so_and_shows_it(settings: Settings) -> None:
    thread = await long_thread(settings, 2)
    async with page_inside(settings) as page:
        for path, data, kept in (
            ("decide", {"verdict": "edit", "of": "0" * 32, "code": "kept_of_mine = 1"}, "kept_of_mine = 1</pre>"),
            ("resume", {"model": "playbook"}, ""),
        ):
            late = await page.client.post(f"/threads/{thread}/{path}", data=data)
            assert late.status_code == 409, path
            assert "the thread has gone on elsewhere since your page was loaded" in late.text
            assert late.text.count('role="alert"') == 1
            assert '<div class="answer">' in late.text, "as it is now"
            assert 'id="question"' in late.text, "and it can be asked on"
            assert kept in late.text
        async with lock_thread(thread, settings):
            data = {"question": "A question <of mine>?", "knobs": "1"}
            busy = await page.client.post(f"/threads/{thread}/ask", data=data)
            wrong = await page.client.post(f"/threads/{thread}/ask", data={**data, "max_cells": "-4"})
        assert busy.status_code == 409
        assert "A question &lt;of mine&gt;?</pre>" in busy.text, "what was typed is not lost"
        assert 'id="question"' not in busy.text
        assert wrong.status_code == 422
        assert "A question &lt;of mine&gt;?</pre>" in wrong.text
        assert "has gone on elsewhere" not in wrong.text
        gone = await page.client.post("/threads/none/resume", data={"model": "x"})
        assert 'href="/threads/none#latest">thread as it is now</a>' in gone.text


async def test_names_are_never_cut_without_a_word(settings: Settings) -> None:
    thread = await long_thread(settings, 1)
    async with page_inside(settings) as page:
        assert "maxlength" not in (await page.client.get(f"/threads/{thread}")).text
        refused = await page.client.post(f"/threads/{thread}/labels", data={"name": LONG, "tags": "birds"})
        assert refused.status_code == 409
        assert "has up to 100 characters" in refused.text
        assert f'name="name" value="{LONG.strip()}"' in refused.text, "it can be made shorter"
        assert 'name="tags" value="birds"' in refused.text
        await page.client.post(f"/threads/{thread}/labels", data={"name": "Short", "tags": "birds"})


async def test_what_is_not_set_up_is_not_offered_and_says_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    async with page_inside(settings) as page:
        asked = (await page.client.get("/new")).text
        for kind in ("docker", "daytona"):
            assert f'<option value="{kind}" disabled>{kind} (not set up)</option>' in asked
        assert "to have docker, install Docker or Podman" in asked
        assert "to have daytona, set DAYTONA_API_KEY" in asked
    there = settings.model_copy(update={"docker_image": "mine", "daytona_api_key": SecretStr("key")})
    async with page_inside(there) as page:
        asked = (await page.client.get("/new")).text
        assert "<option>docker</option><option>daytona</option>" in asked
        assert "not set up" not in asked
