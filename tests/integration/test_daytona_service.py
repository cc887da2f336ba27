"""Daytona as its service is: deleted sandboxes behind a 401, networks that change as far as they are named, 400s."""

import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sandboxes.base import Sandbox, SandboxLostError, SandboxRefusedError
from sandboxes.daytona.options import Account, Options
from sandboxes.network import Network
from sandboxes.opening import Sandboxes
from tests.daytona.emulator import Emulator
from tests.daytona.faults import Answered, HappensInCell

pytestmark = pytest.mark.slow

NAME = "thread"
NETWORKS: dict[str, tuple[Network, str, dict[str, object]]] = {
    "none": (Network(), "", {"networkBlockAll": True}),
    "domains": (Network.only("pypi.org", "*.example.org"), "", {"domainAllowList": "pypi.org,*.example.org"}),
    "networks": (Network(), "208.80.154.0/24", {"networkAllowList": "208.80.154.0/24"}),
    "full": (Network("full"), "", {}),
}


@pytest.fixture
async def emulated() -> AsyncIterator[Emulator]:
    async with Emulator() as emulator:
        yield emulator


@pytest.fixture
def options(emulated: Emulator) -> Options:
    account = Account(api_key=emulated.api_key, api_url=emulated.api_url, target="us")
    return Options(account, prefix=f"test-{secrets.token_hex(4)}", create_seconds=20)


@asynccontextmanager
async def opened(folder: Path, options: Options) -> AsyncIterator[Sandbox]:
    async with Sandboxes(folder / "sandboxes", daytona=options) as sandboxes:
        yield await sandboxes.open("daytona", NAME)


async def printed(sandbox: Sandbox, code: str) -> str:
    result = await sandbox.run(code, number=1, timeout=60)
    assert result.status == "ok", result
    return result.stdout.text


async def test_a_deleted_sandbox_that_the_proxy_has_forgotten_is_lost_and_made_anew(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    async with opened(tmp_path, options) as sandbox:
        await printed(sandbox, "x = 41")
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        await sandbox.take_blobs(taken.new, tmp_path / "blobs")
        await sandbox.drop_blobs(taken.new)
        await emulated.happens(f"{options.prefix}-{NAME}", "forgotten")
        with pytest.raises(SandboxLostError):
            await printed(sandbox, "print(x)")
        await sandbox.supply_blobs([tmp_path / "blobs" / name for name in taken.new])
        await sandbox.restore(taken.id)
        assert await printed(sandbox, "print(x)") == "41\n"
        assert list(emulated.states().values()) == ["started"]


async def test_a_sandbox_that_is_deleted_and_forgotten_in_a_cell_is_lost(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    emulated.faults.add(HappensInCell(what="forgotten", after_frames=1))
    async with opened(tmp_path, options) as sandbox:
        with pytest.raises(SandboxLostError):
            await printed(sandbox, "print('on', flush=True)\nimport time; time.sleep(20)")
        assert await printed(sandbox, "print(1)") == "1\n"


async def test_a_key_that_becomes_bad_is_said_in_words(emulated: Emulator, options: Options, tmp_path: Path) -> None:
    async with opened(tmp_path, options) as sandbox:
        await printed(sandbox, "x = 41")
        emulated.faults.add(Answered(status=401, message="Invalid credentials", times=-1))
        with pytest.raises(SandboxRefusedError, match="does not accept the key") as refused:
            await sandbox.files(".")
        emulated.faults.clear()
    assert not set("{}\n") & set(str(refused.value))


@pytest.mark.parametrize("before", NETWORKS)
async def test_the_network_becomes_what_is_asked_for_whatever_it_was(
    before: str, emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    for after in NETWORKS:
        for network, networks, expected in (NETWORKS[before], NETWORKS[after]):
            now = replace(options, network=network, network_allow_list=networks)
            async with opened(tmp_path, now) as sandbox:
                await sandbox.files(".")
            (name,) = emulated.states()
            assert {rule: said for rule, said in emulated.network(name).items() if said} == expected


async def test_a_tier_that_fixes_the_network_is_said_and_nothing_runs_on(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    async with opened(tmp_path, replace(options, network=Network("full"))) as sandbox:
        await sandbox.files(".")
    emulated.fixed_network = True
    async with opened(tmp_path, options) as sandbox:
        with pytest.raises(SandboxRefusedError, match=r"cannot be overridden.* tiers 1 and 2 ") as refused:
            await printed(sandbox, "print(1)")
        assert list(emulated.states().values()) == ["stopped"]
    assert not set("{}\n") & set(str(refused.value))


async def test_who_does_not_get_a_sandbox_leaves_another_worker_in_it(
    emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    async with opened(tmp_path / "one", replace(options, network=Network("full"))) as sandbox:
        await printed(sandbox, "x = 41")
        emulated.fixed_network = True
        async with opened(tmp_path / "other", options) as same:
            with pytest.raises(SandboxRefusedError):
                await same.files(".")
        assert await printed(sandbox, "print(x)") == "41\n"


@pytest.mark.parametrize(
    ("more", "setting"),
    [
        ({"network": Network.only(*(f"d{n}.org" for n in range(11)))}, "STEPWELL_NETWORK_ALLOW names 11"),
        (
            {"network_allow_list": ",".join(f"10.0.{n}.0/24" for n in range(11))},
            "STEPWELL_DAYTONA_NETWORK_ALLOW_LIST has 11",
        ),
    ],
)
async def test_more_domains_than_the_service_takes_are_refused_before_anything_is_asked(
    more: dict[str, object], setting: str, emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    with pytest.raises(SandboxRefusedError, match=setting):
        async with opened(tmp_path, replace(options, **more)):  # type: ignore[arg-type]
            pass
    assert not emulated.counters.requests


@pytest.mark.parametrize("kind", ["create", "upload", "exec", "create_context", "run", "stop"])
async def test_what_is_refused_for_good_is_asked_once(
    kind: str, emulated: Emulator, options: Options, tmp_path: Path
) -> None:
    fault = emulated.faults.add(Answered(on=kind, status=400, message="Validation failed", times=-1))
    async with opened(tmp_path, options) as sandbox:
        if kind == "stop":
            await printed(sandbox, "print(1)")
        else:
            said = "400" if kind == "run" else "Validation failed"  # the client drops what comes with a handshake
            with pytest.raises(SandboxRefusedError, match=said) as refused:
                await printed(sandbox, "print(1)")
            assert not set("{}\n") & set(str(refused.value))
            assert fault.met == 1
    if kind == "stop":
        assert fault.met == 1


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Emulator]:
    """A Daytona whose sandboxes have Python 3.10: an interpreter that says so, and does not know `-P`."""
    folder = tmp_path / "older"
    folder.mkdir()
    program = folder / "python3"
    program.write_text(OLDER.replace("{real}", sys.executable))
    program.chmod(0o755)
    with Emulator(python=str(program)) as emulator:
        yield emulator


OLDER = """#!/bin/sh
case "$1" in
-P) echo "Unknown option: -P" >&2; exit 2 ;;
-c) code="$2"; shift 2
    exec {real} -c "import sys
sys.version_info = (3, 10, 13, 'final', 0)
sys.version = '3.10.13 (main)'
$code" "$@" ;;
esac
exec {real} "$@"
"""


async def test_an_older_python_there_is_one_sentence(older: Emulator, options: Options, tmp_path: Path) -> None:
    there = replace(options, account=Account(api_key=older.api_key, api_url=older.api_url, target="us"))
    async with opened(tmp_path, there) as sandbox:
        with pytest.raises(SandboxRefusedError, match=r"Python 3\.11 or newer .* its python3 is 3\.10\.13\. Choose"):
            await printed(sandbox, "print(1)")
    assert older.counters.requests["upload"] == 0
