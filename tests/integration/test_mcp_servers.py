"""MCP servers by configuration: real servers over stdio and over HTTP, whose tools cells call."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from graph.events import ApprovalAsked, CellFinished, Failed, Finished
from graph.functions.host_functions import HostFunctions
from graph.functions.mcp_servers import McpServers, read_servers
from graph.functions.registry import HostFunction
from graph.settings import Settings, SettingsError
from sandboxes.functions import Call as HostCall
from sandboxes.functions import Raised, Returned
from sandboxes.inside.kernel import values
from stepwell.runs import Decision, resume, start
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending
from tests.other_process import ROOT
from tests.scripted_model import Call, Request, ScriptedServer

PLAN = Call("submit_plan", steps=["Count"])


class Shop:
    """The configuration of one server, and what it was told to do."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "mcp.json"
        self.orders = folder / "orders"

    def write(self, **more: Any) -> Path:
        """Write the file; `more` goes into the server's entry."""
        self.write_all(shop={**self.entry, **more})
        return self.file

    def write_all(self, **servers: Any) -> Path:
        """Write a file with these servers."""
        self.file.write_text(json.dumps({"mcpServers": servers}))
        return self.file

    @property
    def entry(self) -> dict[str, Any]:
        """A server that works."""
        env = {"SHOP": str(self.orders), "PYTHONPATH": os.pathsep.join(sys.path)}
        return {"command": sys.executable, "args": ["-m", "tests.mcp_shop"], "env": env, "cwd": str(ROOT)}

    @property
    def ordered(self) -> list[str]:
        """What was ordered."""
        return self.orders.read_text().split() if self.orders.exists() else []


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


async def called(functions: HostFunctions, name: str, *arguments: Any, **options: Any) -> Any:
    """Call a function as a sandbox has it called."""
    offer = await functions.ready()
    call = HostCall(name, values.pack({"args": list(arguments), "kwargs": options}))
    outcome = await offer.call(call, timeout=30)
    return values.unpack(outcome.value)["value"] if isinstance(outcome, Returned) else outcome


async def test_tools_are_functions_with_signatures_from_their_schemas(shop: Shop) -> None:
    async with HostFunctions(source=McpServers(shop.write())) as functions:
        described = {one.name: one for one in (await functions.ready()).descriptions}
        assert sorted(described) == ["shop_describe", "shop_place_order", "shop_price"]
        price = described["shop_price"]
        expected = "(article: str, size: Literal['small', 'large'] = 'small', count: int = 1) -> float"
        assert str(price.signature()) == expected
        assert price.doc.startswith("The price of an article.")
        assert await called(functions, "shop_price", "tea", count=2) == 6.0
        assert await called(functions, "shop_price", "tea", "large") == 6.0
        assert await called(functions, "shop_describe", "tea") == "tea is nice"
        assert (await called(functions, "shop_place_order", article="tea"))["ordered"] == "tea"


async def test_what_a_tool_refuses_is_an_error_with_its_words(shop: Shop) -> None:
    async with HostFunctions(source=McpServers(shop.write())) as functions:
        failed = await called(functions, "shop_price", "moon")
        assert isinstance(failed, Raised)
        assert "the moon is not for sale" in failed.message
        wrong = await called(functions, "shop_price", "tea", count="many")
        assert isinstance(wrong, Raised)
        odd = await called(functions, "shop_price", "tea", count=float("nan"))
        assert isinstance(odd, Raised)
        assert "NaN and infinities cannot be sent" in odd.message
        assert await called(functions, "shop_price", "tea") == 3.0


@pytest.mark.slow
async def test_a_server_sees_nothing_of_the_environment_and_ends_with_the_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with HostFunctions(source=McpServers(shop.write())) as functions:
        said = await called(functions, "shop_place_order", "tea")
        assert said["secret"] == ""
        os.kill(said["pid"], 0)
    until = time.monotonic() + 20
    while Path(f"/proc/{said['pid']}").exists():
        assert time.monotonic() < until
        await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_a_server_that_dies_is_started_again_by_the_call_after(shop: Shop) -> None:
    async with HostFunctions(source=McpServers(shop.write())) as functions:
        first = await called(functions, "shop_place_order", "tea")
        os.kill(first["pid"], signal.SIGKILL)
        outcomes = [await called(functions, "shop_place_order", "milk") for _ in range(2)]
        said = [outcome for outcome in outcomes if isinstance(outcome, Raised)]
        assert all("the MCP server 'shop' ended in the middle of the call" in one.message for one in said)
        assert outcomes[-1]["pid"] != first["pid"]
        assert len(said) <= 1


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"command": "/nowhere/at/all"}, "The MCP server 'shop' cannot be used: .*No such file"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit('no stock')"]}, "cannot be used: .*no stock"),
        ({"url": "http://127.0.0.1:9/mcp"}, "The MCP server 'shop' cannot be used: "),
    ],
)
async def test_a_server_that_is_down_is_one_clear_sentence(
    settings: Settings, shop: Shop, entry: dict[str, Any], why: str
) -> None:
    async with ScriptedServer([]) as server:
        model = with_model(settings, server.base_url, mcp=shop.write_all(shop=entry))
        failed = last(await follow(start("Count", settings=model)), Failed)
    with pytest.raises(SettingsError, match=why):
        raise SettingsError(failed.error)
    assert "\n" not in failed.error
    assert failed.error.endswith("Start it, or take it out of the file that STEPWELL_MCP names.")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not JSON"),
        ("[]", 'has no "mcpServers"'),
        ('{"mcpServers": {"a": {}}}', "'a' in .* needs either a command or a url"),
        ('{"mcpServers": {"a": {"command": "x", "url": "y"}}}', "either a command or a url"),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "'a' in .* cannot be used: args"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_sentence(shop: Shop, text: str, why: str) -> None:
    shop.file.write_text(text)
    with pytest.raises(SettingsError, match=why):
        read_servers(shop.file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"STEPWELL_MCP names .*nowhere\.json, which cannot be read"):
        read_servers(tmp_path / "nowhere.json")


def test_servers_that_are_switched_off_are_passed_over(shop: Shop) -> None:
    assert list(read_servers(shop.write_all(a={"command": "x", "disabled": True}, b={"url": "y"}))) == ["b"]


async def test_a_name_that_the_user_offers_too_is_one_clear_sentence(shop: Shop) -> None:
    own = HostFunction(lambda: 1, name="shop_price")
    async with HostFunctions([own], source=McpServers(shop.write())) as functions:
        with pytest.raises(SettingsError, match="Two functions are offered as 'shop_price'"):
            await functions.ready()


async def test_cells_call_tools_and_some_wait_for_approval(settings: Settings, shop: Shop) -> None:
    prompts: list[str] = []

    def look(request: Request) -> Call:
        prompts.append(request.text)
        return Call("run_python", purpose="ask", step=1, code="print(shop_price('tea', count=3))")

    order = Call("run_python", purpose="order", step=1, code="print(shop_place_order('tea')['ordered'])")
    mcp = shop.write(repeatable=["price"], needs_approval=["place-order"])
    async with ScriptedServer([PLAN, look, order, *ending()]) as server:
        model = with_model(settings, server.base_url, mcp=mcp)
        events = await follow(start("Count", settings=model))
        asked = last(events, ApprovalAsked)
        assert asked.functions == ["shop_place_order"]
        first = only(events, CellFinished)[0].cell
        assert "9.0" in first["observation"]
        assert first.get("reached") is None
        assert shop.ordered == []
        assert asked.call is not None
        assert asked.call["arguments"] == ["article = 'tea'"]
        decision = Decision("approve", call=asked.call["id"])
        events = await follow(resume(asked.thread, decision=decision, settings=model))
    last(events, Finished)
    assert shop.ordered == ["tea"]
    assert only(events, CellFinished)[0].cell["reached"] == ["function shop_place_order"]
    assert (
        "- shop_price(article: str, size: Literal['small', 'large'] = 'small', count: int = 1) -> float" in prompts[0]
    )


async def test_servers_are_reached_over_http(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = f"from tests.mcp_shop import shop; shop.run('streamable-http', host='127.0.0.1', port={port})"
    environment = {**os.environ, **shop.entry["env"]}
    process = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", code], env=environment, cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 30
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                assert time.monotonic() < until
                await asyncio.sleep(0.1)
        file = shop.write_all(shop={"url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Key": "k"}})
        async with HostFunctions(source=McpServers(file)) as functions:
            assert await called(functions, "shop_price", "tea") == 3.0
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
