"""`stepwell doctor --daytona`: tries the account, says how each thing went, and leaves nothing there."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daytona.emulator import Emulator
from tests.daytona.faults import Answered, Slow
from tests.integration.test_command import Desk, make_desk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STEPS = ["create", "cell", "snapshot", "stop", "start", "delete"]


@pytest.fixture
def emulated() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def desk(tmp_path: Path, emulated: Emulator) -> Desk:
    made = make_desk(tmp_path)
    made.variables |= {
        "DAYTONA_API_KEY": emulated.api_key,
        "DAYTONA_API_URL": emulated.api_url,
        "DAYTONA_TARGET": "us",
        "STEPWELL_DAYTONA_PREFIX": "test-doctor",
    }
    return made


def test_each_thing_is_tried_and_nothing_is_left(desk: Desk, emulated: Emulator) -> None:
    done = desk.command("doctor", "--daytona", "--json")
    assert done.returncode == 0, done.stderr
    tried = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["step"] for one in tried] == STEPS
    assert all(one["seconds"] > 0 and not one["problem"] for one in tried)
    assert [emulated.counters.requests[kind] for kind in ("create", "start", "delete")] == [1, 1, 1]
    assert emulated.states() == {}
    assert list((desk.home / "threads").iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("no key", "need a key: set DAYTONA_API_KEY"),
        ("bad key", "does not accept the key"),
        ("quota", "disk limit exceeded"),
        ("tier", "tiers 1 and 2"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_is_left(
    wrong: str, said: str, desk: Desk, emulated: Emulator
) -> None:
    refused = "Network access restrictions cannot be overridden at the sandbox level for this organization"
    match wrong:
        case "no key":
            desk.variables["DAYTONA_API_KEY"] = ""
        case "bad key":
            desk.variables["DAYTONA_API_KEY"] = "wrong"
        case "quota":
            message = "Total disk limit exceeded. Maximum allowed: 30GiB.\nConsider archiving your unused Sandboxes."
            emulated.faults.add(Answered(on="create", status=403, message=message))
        case "tier":
            emulated.faults.add(Answered(on="create", status=400, message=refused))
    done = desk.command("doctor", "--daytona")
    assert (done.returncode, done.stdout.startswith("create\tfailed\t")) == (1, True), done
    assert [line for line in done.stderr.splitlines() if said in line] == done.stderr.splitlines()
    assert done.stderr.startswith("error: ")
    assert emulated.states() == {}


async def test_a_reader_who_goes_away_leaves_nothing(desk: Desk, emulated: Emulator) -> None:
    emulated.faults.add(Slow(on="run", seconds=1.0))
    with desk.start("doctor", "--daytona") as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        process.stdout.close()
        await asyncio.to_thread(process.wait, 100)
    assert emulated.states() == {}


async def test_ctrl_c_leaves_nothing(desk: Desk, emulated: Emulator) -> None:
    emulated.faults.add(Slow(on="stop", seconds=5.0))
    process = desk.start("doctor", "--daytona")
    while not emulated.counters.requests["stop"]:
        assert process.poll() is None
        await asyncio.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, complained = await asyncio.to_thread(process.communicate, timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in complained
    assert emulated.states() == {}


def test_it_does_one_thing_at_a_time(desk: Desk, emulated: Emulator) -> None:
    done = desk.command("doctor", "--daytona", "--repair")
    assert (done.returncode, "only one of --daytona, --docker and --repair" in done.stderr) == (2, True), done
    assert not emulated.counters.requests
