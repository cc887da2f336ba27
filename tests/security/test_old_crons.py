"""A server that gets users removes the crons from before, which are nobody's, and leaves those of its users alone."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.security.two_users import client_of
from tests.serving import DevServer, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

YEARLY: dict[str, Any] = {"assistant_id": "stepwell", "schedule": "0 0 1 1 *", "input": {}}
PATIENCE = 120.0
REMOVED = "A cron without an owner was removed"


def crons_of(client: httpx.Client) -> list[str]:
    """Whose the crons are that the client may see."""
    found = client.post("/runs/crons/search", json={"limit": 100})
    found.raise_for_status()
    return [one["user_id"] for one in found.json()]


def test_a_cron_from_before_there_were_users_is_removed(tmp_path: Path) -> None:
    settings, keys = with_keys(tmp_path / "settings", "alice")
    server = DevServer(tmp_path / "server", {"STEPWELL_CRONS": "true"})
    try:
        server.begin()
        with client_of(server) as anybody:
            anybody.post("/runs/crons", json=YEARLY).raise_for_status()
            assert crons_of(anybody) == ["local"]
        server.end()
        server.begin(STEPWELL_API_KEYS=settings["STEPWELL_API_KEYS"])
        with client_of(server, keys["alice"]) as alice:
            alice.post("/runs/crons", json=YEARLY).raise_for_status()
            until = time.monotonic() + PATIENCE
            while REMOVED not in server.log.read_text():
                assert time.monotonic() < until, server.log.read_text()[-3000:]
                time.sleep(0.2)
            assert crons_of(alice) == ["key:alice"]
        server.end()
        server.begin(STEPWELL_API_KEYS="")
        with client_of(server) as anybody:
            assert crons_of(anybody) == ["key:alice"]
    finally:
        server.end()
