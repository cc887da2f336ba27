"""Large files over the page in a browser: in pieces, through broken connections and reloads, or left out."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from graph.settings import Settings
from tests.integration.test_page_in_browser import CHROMIUM, Visit, visiting

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("place", ["this machine", "a server"]),
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install one, or name its program in STEPWELL_CHROMIUM"),
]
PIECE = 8 << 20
LARGE = 2 * PIECE + 12_345

Answering = Callable[[Route, int], Awaitable[None]]
"""Answers the request with a piece that begins at a byte."""


def large_file(folder: Path) -> Path:
    file = folder / "Größe 1.csv"
    file.write_bytes(os.urandom(LARGE))
    return file


async def watched(page: Page, answering: Answering) -> list[str]:
    """What the page asks of its uploads from now on, but for what is remarked on them."""
    asked: list[str] = []

    async def look(route: Route) -> None:
        method, offset = route.request.method, route.request.headers.get("upload-offset", "")
        if method != "GET":
            asked.append(f"{method} {offset}".strip())
        if method == "PATCH":
            await answering(route, int(offset))
        else:
            await route.continue_()

    await page.route("**/uploads**", look)
    return asked


def kept(visit: Visit, tmp_path: Path, settings: Settings) -> list[Path]:
    home = settings.home if visit.process is not None else tmp_path / "served" / "home"
    return sorted(home.glob("uploads/*/*/content"))


async def chosen(page: Page, file: Path) -> None:
    await page.goto(f"{page.url.rstrip('/')}/new" if not page.url.endswith("/new") else page.url)
    await expect(page.locator(".drop.sends")).to_be_visible()
    await page.get_by_label("Choose files").set_input_files(file)


async def test_a_piece_that_breaks_off_goes_on_from_its_middle(place: str, tmp_path: Path, settings: Settings) -> None:
    file = large_file(tmp_path)
    async with visiting(place, tmp_path, settings, may_refuse=True) as visit:
        broken: list[int] = []

        async def breaking(route: Route, offset: int) -> None:
            if offset < PIECE or len(broken) > 2:
                await route.continue_()
                return
            broken.append(offset)
            if len(broken) == 1:  # half of the piece arrives, and nobody says so
                whole = route.request.post_data_buffer or b""
                await route.fetch(post_data=whole[: PIECE // 2])
            await route.abort("connectionreset")

        asked = await watched(visit.page, breaking)
        await chosen(visit.page, file)
        await expect(visit.page.get_by_role("button", name="Ask")).to_be_disabled()
        await expect(visit.page.get_by_role("checkbox", name="Größe 1.csv")).to_be_checked()
        await expect(visit.page.get_by_role("button", name="Ask")).to_be_enabled()
        assert broken == [PIECE, PIECE + PIECE // 2, PIECE + PIECE // 2]
        assert asked == ["POST", "PATCH 0", f"PATCH {PIECE}", *["HEAD", f"PATCH {PIECE + PIECE // 2}"] * 3]
        assert [one.read_bytes() for one in kept(visit, tmp_path, settings)] == [file.read_bytes()]


async def test_a_file_that_is_chosen_again_after_a_reload_goes_on(
    place: str, tmp_path: Path, settings: Settings
) -> None:
    file = large_file(tmp_path)
    async with visiting(place, tmp_path, settings, may_refuse=True) as visit:
        page = visit.page

        async def away(route: Route, offset: int) -> None:
            await (route.abort("internetdisconnected") if offset else route.continue_())

        await watched(page, away)
        await chosen(page, file)
        await expect(page.locator(".given small")).to_contain_text("no connection")
        await page.unroute("**/uploads**")
        await page.reload()

        async def back(route: Route, offset: int) -> None:
            await route.continue_()

        asked = await watched(page, back)
        await chosen(page, file)
        await expect(page.get_by_role("checkbox", name="Größe 1.csv")).to_be_checked()
        assert asked == ["HEAD", f"PATCH {PIECE}", f"PATCH {2 * PIECE}"]
        assert [one.read_bytes() for one in kept(visit, tmp_path, settings)] == [file.read_bytes()]


async def test_a_file_that_is_left_out_is_gone(place: str, tmp_path: Path, settings: Settings) -> None:
    file = large_file(tmp_path)
    async with visiting(place, tmp_path, settings, may_refuse=True) as visit:
        page = visit.page

        async def away(route: Route, offset: int) -> None:
            await (route.abort("internetdisconnected") if offset else route.continue_())

        asked = await watched(page, away)
        await chosen(page, file)
        await expect(page.locator(".given small")).to_contain_text("no connection")
        async with page.expect_response(lambda answer: answer.request.method == "DELETE"):
            await page.get_by_role("button", name="Leave Größe 1.csv out").click()
        await expect(page.locator(".given li")).to_have_count(0)
        await expect(page.get_by_role("button", name="Ask")).to_be_enabled()
        assert asked[-1] == "DELETE"
        assert kept(visit, tmp_path, settings) == []
