"""`stepwell mcp --http`: two users with keys of their own, who see nothing of each other."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from graph.settings import Settings
from server.api_keys import line_of, new_key
from tests.mcp_client import served, user_of
from tests.other_process import environment


async def test_two_users_see_nothing_of_each_other(settings: Settings, tmp_path: Path) -> None:
    async with (
        served(settings, tmp_path) as server,
        user_of(server, 0) as one,
        user_of(server, 1) as other,
    ):
        first, second = await asyncio.gather(
            one.told("run_code", code="n = 'of one'; open('outputs/a.txt', 'w').write(n)", session="same"),
            other.told("run_code", code="n = 'of other'", session="same"),
        )
        assert first["session"] != second["session"]
        assert "of one" in (await one.told("run_code", code="n", session="same"))["output"]
        assert "of other" in (await other.told("run_code", code="n", session="same"))["output"]
        assert [s["session"] for s in (await other.told("list_sessions"))["sessions"]] == [second["session"]]
        theirs = first["session"]
        calls: dict[str, dict[str, object]] = {
            "list_variables": {},
            "show_variable": {"name": "n"},
            "list_files": {},
            "fetch_file": {"path": "outputs/a.txt"},
            "list_steps": {},
            "go_back": {"step": "0"},
            "fork_session": {},
            "compare_steps": {"step": "1", "other_step": "1"},
            "end_session": {"delete": True},
            "run_code": {"code": "n"},
            "ask": {"question": "What is n?"},
        }
        for tool, more in calls.items():
            assert "There is no session" in await other.refused(tool, session=theirs, **more)
        refused = await other.refused("compare_steps", session="same", step="1", other_step="1", other_session=theirs)
        assert "There is no session" in refused
        with pytest.raises(Exception, match="There is no session"):
            await other.client.read_resource(f"stepwell://{theirs}/1/outputs/a.txt")
        assert "of one" in (await one.told("run_code", code="n", session="same"))["output"]
        for source in ("/etc/passwd", str(tmp_path / "keys"), "http://127.0.0.1:9/a.csv", "s3://bucket/a.csv"):
            told = await one.refused("run_code", code="1", session="same", files=[source])
            assert "outside of the folders" in told or "STEPWELL_INPUT_URLS" in told


@pytest.mark.slow
async def test_sessions_of_all_users_count_together(settings: Settings, tmp_path: Path) -> None:
    async with (
        served(settings, tmp_path, STEPWELL_MAX_SANDBOXES="1") as server,
        user_of(server, 0) as one,
        user_of(server, 1) as other,
    ):
        await one.told("run_code", code="n = 'of one'", session="s")
        await other.told("run_code", code="n = 'of other'", session="s")
        back = await one.told("run_code", code="n", session="s")
        assert "of one" in back["output"]
        assert back["notices"], "it had to make room"


async def test_nobody_comes_in_without_a_key(settings: Settings, tmp_path: Path) -> None:
    async with served(settings, tmp_path) as server, httpx.AsyncClient() as client:
        address, key = server.address, server.keys[0]
        for headers in ({}, {"Authorization": "Bearer sw_wrong"}, {"Authorization": f"Basic {key}"}, {"X-Api-Key": ""}):
            for method in ("GET", "POST", "DELETE"):
                answer = await client.request(method, address, headers=headers, json={})
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        wanted = {"X-Api-Key": key, "Accept": "application/json, text/event-stream"}
        strange = await client.post(address, headers={**wanted, "Host": "evil.example"}, json=body)
        assert strange.status_code in (403, 421)
        page = await client.post(address, headers={**wanted, "Origin": "https://evil.example"}, json=body)
        assert page.status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [({"STEPWELL_API_KEYS": ""}, "server.keys add"), ({"STEPWELL_DATABASE_URL": "postgresql://x"}, "DATABASE_URL")],
)
async def test_what_would_not_be_safe_is_refused(
    more: dict[str, str], said: str, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text(f"{line_of('user', new_key())}\n")
    told = environment(settings, "http://127.0.0.1:9", **{"STEPWELL_API_KEYS": str(tmp_path / "keys"), **more})
    command = [sys.executable, "-m", "stepwell", "mcp", "--http", "1"]
    ended = await asyncio.to_thread(subprocess.run, command, env=told, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
