"""What people see who do not know the page yet: words, names of downloads, what is said once, what went aside."""

import re
from pathlib import Path

import pytest

from graph.settings import Settings
from tests.integration.test_page import ask, finished, long_thread
from tests.page_process import page_inside


async def test_an_empty_list_says_what_this_is_and_offers_nothing_to_search(settings: Settings) -> None:
    async with page_inside(settings) as page:
        empty = (await page.client.get("/")).text
        assert "Stepwell answers questions about your files" in empty
        assert 'role="search"' not in empty
        assert 'role="search"' in (await page.client.get("/?q=nothing")).text, "a search can be changed"
        await long_thread(settings, 1)
        full = (await page.client.get("/")).text
        assert 'role="search"' in full
        assert "Stepwell answers questions" not in full


async def test_only_who_has_sent_something_is_told_that_it_is_still_there(settings: Settings) -> None:
    async with page_inside(settings) as page:
        assert "what you typed" not in (await page.client.get("/threads/none")).text
        assert "what you typed" not in (await page.client.get("/nowhere")).text
        assert (
            "what you typed is still there"
            in (await page.client.post("/threads/none/resume", data={"model": "x"})).text
        )


@pytest.mark.slow
async def test_a_file_that_cannot_be_read_says_so_once_and_the_download_is_named_after_the_question(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "plain.csv").write_text("a,b\n1,2\n3,4\n")
    async with page_inside(settings) as page:
        asked = {"question": "What's in: these/files?", "knobs": "1", "model": "playbook"}
        thread = await ask(page, asked, tmp_path / "empty.csv", tmp_path / "plain.csv")
        text = await finished(page, thread)
        inputs = text[text.index('<div id="inputs">') : text.index("<article")]
        assert inputs.count("is empty (0 bytes)") == 1
        assert "###" not in inputs
        assert "2 rows" in inputs
        report = await page.client.get(f"/threads/{thread}/export?format=html")
        assert f'filename="What-s-in-these-files-{thread[:8]}.html"' in report.headers["content-disposition"]


async def test_compared_threads_have_their_names_and_long_differences_are_folded(settings: Settings) -> None:
    one, other = await long_thread(settings, 1), await long_thread(settings, 12)
    async with page_inside(settings) as page:
        await page.client.post(f"/threads/{one}/labels", data={"name": "A short one", "tags": ""})
        await page.client.post(f"/threads/{other}/labels", data={"name": "A long one", "tags": ""})
        text = (await page.client.get(f"/compare?a={one}&b={other}")).text
        assert re.search(r'A: <a href="[^"]+">A short one</a>', text)
        assert re.search(r'B: <a href="[^"]+">A long one</a>', text)
        assert re.search(r"<details><summary>\d+ lines of differences</summary>", text)
        again = (await page.client.get(f"/compare?a={one}&b={one}@1")).text
        assert "<details><summary>" not in again.partition("<h2>Code")[2].partition("<h2>")[0]


async def test_a_thread_is_headed_by_its_name_and_never_twice_by_its_question(settings: Settings) -> None:
    thread = await long_thread(settings, 1)
    async with page_inside(settings) as page:
        plain = (await page.client.get(f"/threads/{thread}")).text
        assert '<h1 class="title unseen">What about it?</h1>' in plain
        await page.client.post(f"/threads/{thread}/labels", data={"name": "Strikes <2001>", "tags": "birds"})
        named = (await page.client.get(f"/threads/{thread}")).text
        assert '<h1 class="title">Strikes &lt;2001&gt;</h1>' in named
        assert "<title>Strikes &lt;2001&gt; · Stepwell</title>" in named
        assert named.count("Strikes") == 3, "the field to rename it has it too"
