"""What can go wrong with a container engine: each is an error of the right kind, or nothing is lost."""

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sandboxes.base import Sandbox, SandboxError, SandboxLostError, SandboxRefusedError, SandboxUnavailableError
from sandboxes.docker.engine import ContainerEngine
from sandboxes.docker.machine import DockerMachine
from sandboxes.docker.options import DockerOptions
from sandboxes.host.limits import Limits
from sandboxes.inside.bridge.copying import CHUNK
from sandboxes.network import Network
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from tests.docker.emulator import EmulatedEngine

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def engine() -> Iterator[EmulatedEngine]:
    with EmulatedEngine() as emulated:
        yield emulated


@asynccontextmanager
async def opened(folder: Path, options: DockerOptions) -> AsyncIterator[tuple[Sandboxes, Sandbox, str]]:
    """A sandbox, and the name of its container."""
    async with Sandboxes(folder / "threads", docker=options) as sandboxes:
        yield sandboxes, await sandboxes.open("docker", "one"), f"{options.prefix}-one"


async def cell(sandbox: Sandbox, code: str, number: int = 1, **more: Any) -> CellResult:
    result = await sandbox.run(code, number=number, timeout=60.0, **more)
    assert result.status == "ok", (result.note, result.error)
    return result


async def stored(sandbox: Sandbox, folder: Path) -> str:
    """Take a snapshot, and have it stored."""
    taken = await sandbox.snapshot(limit_bytes=1 << 26)
    await sandbox.take_blobs(taken.new, folder)
    await sandbox.drop_blobs([*taken.new, taken.id])
    return taken.id


async def test_a_container_is_made_as_closed_as_can_be(tmp_path: Path, engine: EmulatedEngine) -> None:
    limits = Limits(memory=1 << 30, processes=99, file=1 << 20, tmp=1 << 21, open_files=77, cpu=50)
    options = replace(engine.options(), limits=limits, cpus=1.5)
    async with opened(tmp_path, options) as (_, sandbox, name):
        await sandbox.files(".")
        flags = " ".join(engine.config(name)["Flags"])
    for asked in (
        "--network none --read-only --user 65534:65534 --cap-drop ALL --security-opt no-new-privileges",
        "--pids-limit 99 --shm-size 268435456 --memory 1073741824 --memory-swap 1073741824 --cpus 1.5",
        "--ulimit nofile=77:77 --ulimit fsize=1048576:1048576 --ulimit cpu=50:50 --ulimit core=0:0",
        "--tmpfs /tmp:rw,nosuid,nodev,mode=1777,size=2097152 --volume /sandbox --workdir /sandbox",
        f"--label stepwell={options.prefix} --label stepwell-thread=one",
    ):
        assert asked in flags
    assert not re.search(r"--mount|--privileged|--volume [^ ]*:|--env (?!HOME)", flags)


@pytest.mark.slow
async def test_without_a_limit_half_of_the_engine_s_memory_is_given(tmp_path: Path, engine: EmulatedEngine) -> None:
    async with opened(tmp_path, engine.options()) as (_, sandbox, name):
        await sandbox.files(".")
        assert f"--memory {4 << 30}" in " ".join(engine.config(name)["Flags"])


REFUSED = {
    "no command": (SandboxRefusedError, r"There is no command '/nowhere/docker' here.*STEPWELL_DOCKER_COMMAND"),
    "no right": (SandboxRefusedError, "may not be used by this user"),
    "no daemon": (SandboxUnavailableError, "its engine cannot be reached"),
    "no image": (SandboxRefusedError, "has no image 'other'.*docker build"),
    "no shell": (SandboxRefusedError, "executable file not found"),
    "no python": (SandboxRefusedError, "There is no python3 in the image 'bare'.*docker build"),
    "no pandas": (SandboxRefusedError, "There is no pandas in the image 'plain'.*docker build"),
    "old python": (SandboxRefusedError, "needs Python 3.11 or newer.*STEPWELL_DOCKER_IMAGE"),
    "allowlist": (SandboxRefusedError, "cannot be held to an allow list"),
    "full": (SandboxRefusedError, "STEPWELL_DOCKER_NETWORK"),
    "no network": (SandboxRefusedError, "network gone not found"),
    "no limits": (SandboxRefusedError, "cgroup"),
    "full disk": (SandboxUnavailableError, "no space left"),
    "hanging": (SandboxUnavailableError, "does not answer"),
}


FAULTS = {
    "no right": "denied",
    "no daemon": "down",
    "no limits": "fails create Error: OCI runtime error: crun: the requested cgroup controller is not available",
    "full disk": "fails start Error response from daemon: no space left on device",
    "hanging": "hangs",
}
CHANGES: dict[str, dict[str, Any]] = {
    "no command": {"command": ("/nowhere/docker",)},
    "no image": {"image": "other"},
    "no shell": {"image": "empty"},
    "no python": {"image": "bare"},
    "no pandas": {"image": "plain"},
    "old python": {"image": "old"},
    "allowlist": {"network": Network.only("example.org")},
    "full": {"network": Network("full")},
    "no network": {"network": Network("full"), "engine_network": "gone"},
    "hanging": {"patience": 1.0},
}
OLD = """#!/bin/sh
[ "$1" = -c ] && [ "${2#import sys}" != "$2" ] && exec PYTHON -c "import sys
sys.version_info, sys.version = (3, 9), '3.9.1 x'
$2"
exec PYTHON "$@"
"""
"""Says that it is older than it is, to whoever asks for that."""


def spoiled(what: str, engine: EmulatedEngine) -> DockerOptions:
    """Have something be wrong with the engine, its images or the options."""
    engine.fault(FAULTS.get(what, ""))
    engine.add_image("empty", "/nowhere")
    engine.image_with("bare")
    engine.image_with("plain", f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    engine.image_with("old", OLD.replace("PYTHON", sys.executable))
    return replace(engine.options(), **CHANGES.get(what, {}))


@pytest.mark.parametrize("what", REFUSED)
async def test_what_cannot_be_had_is_said(what: str, tmp_path: Path, engine: EmulatedEngine) -> None:
    options = spoiled(what, engine)
    kind, said = REFUSED[what]
    async with Sandboxes(tmp_path / "threads", docker=options) as sandboxes:
        with pytest.raises(SandboxError, match=f"(?s){said}") as raised:
            await (await sandboxes.open("docker", "one")).run("1", number=1, timeout=60.0)
        assert type(raised.value) is kind, raised.value
        assert "\n" not in str(raised.value)
        if what in ("no python", "no pandas", "no shell"):
            assert engine.names == []


@pytest.mark.slow
async def test_a_network_of_the_engine_s_is_joined_and_told(tmp_path: Path, engine: EmulatedEngine) -> None:
    (engine.folder / "networks").write_text("closed")
    options = replace(engine.options(), network=Network("full"), engine_network="closed")
    async with opened(tmp_path, options) as (sandboxes, sandbox, name):
        await cell(sandbox, "x = 1")
        assert "--network closed" in " ".join(engine.config(name)["Flags"])
        assert not (await sandbox.reached()).confined
        await sandboxes.close("one")
    with pytest.raises(SandboxRefusedError, match="made with the network closed and holds what is not stored"):
        async with opened(tmp_path, replace(options, network=Network())) as (_, sandbox, _):
            await sandbox.files(".")


@pytest.mark.slow
async def test_another_network_makes_a_new_container_when_all_is_stored(tmp_path: Path, engine: EmulatedEngine) -> None:
    (engine.folder / "networks").write_text("closed")
    options = replace(engine.options(), network=Network("full"), engine_network="closed")
    async with opened(tmp_path, options) as (_, sandbox, name):
        await cell(sandbox, "x = 1", head="a")
        await stored(sandbox, tmp_path)
    before = engine.config(name)["Id"]
    async with opened(tmp_path, replace(options, network=Network())) as (_, sandbox, name):
        await cell(sandbox, "1")
        assert engine.config(name)["Id"] != before
        assert "--network none" in " ".join(engine.config(name)["Flags"])


ENDED = {
    "killed": ("was killed", "exited"),
    "out of memory": ("STEPWELL_SANDBOX_MEMORY_MB", "exited"),
    "stopped": ("has ended", "exited"),
    # The engine kills it first and removes it then; who looks in between is told what it is at that moment.
    "removed": ("was removed|was killed|has ended|no bridge", ""),
    "restarted": ("has ended|started anew|no bridge", "running"),
}


async def happen(what: str, engine: EmulatedEngine, name: str) -> None:
    """Have somebody else do something to a container."""

    async def docker(*words: str) -> None:
        done = await asyncio.to_thread(subprocess.run, [*engine.command, *words], check=True, capture_output=True)
        assert done.returncode == 0

    match what:
        case "killed" | "out of memory":
            engine.kill(name, out_of_memory=what == "out of memory")
            async with asyncio.timeout(30):
                while engine.state(name)["Status"] == "running":
                    await asyncio.sleep(0.01)
        case "stopped":
            await docker("stop", "-t", "5", name)
        case "removed":
            await docker("rm", "--force", name)
        case "restarted":
            await docker("stop", "-t", "5", name)
            await docker("start", name)


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDED)
async def test_a_container_that_ends_in_a_cell_costs_the_session(
    what: str, tmp_path: Path, engine: EmulatedEngine
) -> None:
    async with opened(tmp_path, engine.options()) as (_, sandbox, name):
        await cell(sandbox, "open('outputs/kept', 'w').close()")
        mark = engine.home(name) / "stepwell/workspace/outputs/begun"
        running = asyncio.ensure_future(
            sandbox.run("import time; open('outputs/begun', 'w').close(); time.sleep(100)", number=2, timeout=100.0)
        )
        async with asyncio.timeout(60):
            while not mark.exists():
                await asyncio.sleep(0.01)
        await happen(what, engine, name)
        with pytest.raises(SandboxLostError, match=ENDED[what][0]):
            await running
        assert sandbox.head == ""
        await cell(sandbox, "1", 3)
        left = {file.path for file in await sandbox.files("outputs")}
        assert left == (set() if what == "removed" else {"outputs/begun", "outputs/kept"})


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDED)
async def test_a_container_that_ends_between_cells_is_had_again(
    what: str, tmp_path: Path, engine: EmulatedEngine
) -> None:
    blobs = tmp_path / "blobs"
    async with opened(tmp_path, engine.options()) as (_, sandbox, name):
        await cell(sandbox, "x = 42", head="a")
        snapshot = await stored(sandbox, blobs)
        await happen(what, engine, name)
        with pytest.raises(SandboxLostError):
            await sandbox.run("x", number=2, timeout=60.0)
        there = await sandbox.supplied_blobs()
        await sandbox.supply_blobs([path for path in blobs.iterdir() if path.name not in there])
        restored = await sandbox.restore(snapshot)
        assert restored.restored == ("x",)
        assert (await cell(sandbox, "print(x)", 3)).stdout.text == "42\n"


@pytest.mark.slow
async def test_an_engine_that_hangs_in_a_cell_is_not_waited_for(tmp_path: Path, engine: EmulatedEngine) -> None:
    options = replace(engine.options(), patience=2.0, late_seconds=1.0)
    async with opened(tmp_path, options) as (_, sandbox, _):
        await cell(sandbox, "x = 1")
        engine.fault("hangs")
        with pytest.raises(SandboxUnavailableError, match="does not answer"):
            await sandbox.files(".")
        engine.fault("")
        assert (await cell(sandbox, "print(x)", 2)).stdout.text == "1\n"


@pytest.mark.slow
async def test_a_carrier_that_is_killed_costs_nothing(tmp_path: Path, engine: EmulatedEngine) -> None:
    async with opened(tmp_path, engine.options()) as (_, sandbox, name):
        await cell(sandbox, "import os, time")
        running = asyncio.ensure_future(cell(sandbox, "for n in range(30): print(n, flush=True); time.sleep(0.1)", 2))
        begun = engine.home(name) / "stepwell/workspace"
        await asyncio.sleep(1.0)
        assert begun.is_dir()
        done = await asyncio.to_thread(
            subprocess.run,
            ["pgrep", "-f", f"{engine.folder} exec -i {name} .*attach.py"],
            capture_output=True,
            text=True,
        )
        carriers = [int(line) for line in done.stdout.split()]
        assert carriers
        for carrier in carriers:
            os.kill(carrier, signal.SIGKILL)
        assert (await running).stdout.text.split() == [str(n) for n in range(30)]


@pytest.mark.slow
async def test_what_is_stored_is_removed_in_time_and_what_is_not_stays(tmp_path: Path, engine: EmulatedEngine) -> None:
    options = replace(engine.options(), auto_delete=15)
    async with Sandboxes(tmp_path / "threads", docker=options) as sandboxes:
        for name in ("stored", "unstored", "held"):
            sandbox = await sandboxes.open("docker", name)
            await cell(sandbox, "x = 1", head="a")
            if name != "unstored":
                await stored(sandbox, tmp_path / "blobs")
            if name == "held":
                await sandbox.hold()  # type: ignore[attr-defined]
    codes = {name.rpartition("-")[2]: engine.state(name)["ExitCode"] for name in engine.names}
    assert codes == {"stored": 10, "unstored": 0, "held": 0}
    for name in engine.names:
        long_ago = datetime.now(UTC) - timedelta(minutes=16)
        engine.change_state(name, FinishedAt=long_ago.strftime("%Y-%m-%dT%H:%M:%S.123456789Z"))
    async with Sandboxes(tmp_path / "threads", docker=options) as sandboxes:
        await (await sandboxes.open("docker", "another")).files(".")
        assert [name.rpartition("-")[2] for name in engine.names] == ["another", "held", "unstored"]
        assert [one.thread for one in await sandboxes.elsewhere["docker"].listed()] == ["another", "held", "unstored"]
        await sandboxes.remove("held")
        assert [name.rpartition("-")[2] for name in engine.names] == ["another", "unstored"]


@pytest.mark.slow
async def test_what_was_stored_is_kept_once_it_was_used_again(tmp_path: Path, engine: EmulatedEngine) -> None:
    options = engine.options()
    for _ in range(2):
        async with opened(tmp_path, options) as (_, sandbox, name):
            await cell(sandbox, "x = 1", head="a")
            assert not (engine.home(name) / "stored").exists()
            await stored(sandbox, tmp_path / "blobs")
        assert engine.state(name)["ExitCode"] == 10
    async with opened(tmp_path, options) as (_, sandbox, name):
        await cell(sandbox, "x = 2")
    assert engine.state(name)["ExitCode"] == 0


@pytest.mark.slow
async def test_a_container_that_nobody_uses_stops_by_itself(tmp_path: Path, engine: EmulatedEngine) -> None:
    options = replace(engine.options(), auto_stop=15)
    async with opened(tmp_path, options) as (_, sandbox, name):
        await sandbox.files(".")
        first = engine.config(name)["Cmd"][2]
    assert "900" in first
    hurried = first.replace("sleep 15", "sleep 0.05")
    folder = tmp_path / "volume"
    folder.mkdir()
    watched = await asyncio.create_subprocess_exec("sh", "-c", hurried, cwd=folder)
    await asyncio.sleep(0.5)
    assert watched.returncode is None
    subprocess.run(["touch", "-d", "16 minutes ago", folder / "used"], check=True)
    async with asyncio.timeout(30):
        assert await watched.wait() == 0


@pytest.mark.slow
async def test_sandboxes_that_are_not_kept_leave_nothing(tmp_path: Path, engine: EmulatedEngine) -> None:
    async with Sandboxes(tmp_path / "threads", docker=engine.options(), keep=False) as sandboxes:
        sandbox = await sandboxes.open("docker", "one")
        await cell(sandbox, "1")
        assert "--rm" in engine.config(engine.names[0])["Flags"]
    assert engine.names == []


@pytest.mark.slow
async def test_cancelling_while_a_container_is_made_leaves_none_running(tmp_path: Path, engine: EmulatedEngine) -> None:
    async with opened(tmp_path, engine.options()) as (_, sandbox, _):
        making = asyncio.ensure_future(sandbox.files("."))
        await asyncio.sleep(0.3)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
    assert [engine.state(name)["Status"] for name in engine.names] != ["running"]


async def test_two_processes_that_make_one_have_the_same(tmp_path: Path, engine: EmulatedEngine) -> None:
    options = engine.options()
    machines = [DockerMachine(ContainerEngine(options.command, 60.0), options, "one") for _ in range(4)]
    assert await asyncio.gather(*(machine.life(start=True) for machine in machines)) == [1, 1, 1, 1]
    assert len(engine.names) == 1


@pytest.mark.slow
async def test_files_of_any_name_and_size_go_and_come(tmp_path: Path, engine: EmulatedEngine) -> None:
    sizes = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3)
    async with opened(tmp_path, engine.options()) as (_, sandbox, _):
        for size in sizes:
            source, target = tmp_path / "source", tmp_path / "target"
            source.write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
            await sandbox.put(source, f"inputs/名 'x' {size}")
            fetched = await sandbox.fetch(f"inputs/名 'x' {size}", target, max_bytes=1 << 30)
            assert (fetched.size, target.read_bytes()) == (size, source.read_bytes())
        with pytest.raises(ValueError, match="more than the 100"):
            await sandbox.fetch(f"inputs/名 'x' {CHUNK}", tmp_path / "target", max_bytes=100)
        with pytest.raises(FileNotFoundError):
            await sandbox.fetch("inputs/none", tmp_path / "target", max_bytes=100)


@pytest.mark.slow
async def test_keys_of_ours_do_not_reach_the_engine(
    tmp_path: Path, engine: EmulatedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    script = tmp_path / "docker"
    script.write_text(f'#!/bin/sh\nenv > {tmp_path}/environment\nexec {shlex.join(engine.command)} "$@"\n')
    script.chmod(0o755)
    async with opened(tmp_path, replace(engine.options(), command=(str(script),))) as (_, sandbox, _):
        await sandbox.files(".")
    assert "secret" not in (tmp_path / "environment").read_text()


def test_the_image_s_recipe_names_what_analyses_import() -> None:
    recipe = (ROOT / "deploy" / "sandbox.Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    inside = [line for line in project if line.startswith(("pandas", "numpy", "matplotlib", "openpyxl", "pyarrow"))]
    assert len(inside) >= 5
    for line in inside:
        assert f'"{line}"' in recipe


DOCKER = shutil.which("docker")


@pytest.mark.skipif(DOCKER is None, reason="there is no docker command here")
def test_docker_s_own_command_takes_our_flags(engine: EmulatedEngine) -> None:
    """It looks at flags before it asks its daemon; the daemon need not be there."""
    assert DOCKER is not None
    options = replace(engine.options(cpus=1.5), limits=Limits(cpu=10))
    machine = DockerMachine(ContainerEngine(("docker",), 60.0), options, "one", keep=False)
    given = machine.parameters(1 << 30)
    asked = [DOCKER, "--host", "tcp://127.0.0.1:9", "create", *given]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    assert "flag" not in done.stderr
    assert re.search("[Cc]annot connect|connection refused|error during connect", done.stderr), done.stderr


def engine_works() -> bool:
    if DOCKER is None:
        return False
    done = subprocess.run([DOCKER, "info", "--format", "{{json .}}"], capture_output=True, timeout=60)
    try:
        return done.returncode == 0 and not json.loads(done.stdout).get("ServerErrors")
    except ValueError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not engine_works(), reason="`docker info` does not work here: no engine")
async def test_the_real_engine_runs_a_session(tmp_path: Path, engine: EmulatedEngine) -> None:
    """With the image `stepwell-sandbox`: see `deploy/sandbox.Dockerfile`."""
    options = replace(engine.options(), command=("docker",))
    async with opened(tmp_path, options) as (sandboxes, sandbox, _):
        try:
            await cell(sandbox, "x = 42; open('outputs/kept', 'w').close()", head="a")
            snapshot = await stored(sandbox, tmp_path / "blobs")
            await sandboxes.close("one")
            again = await sandboxes.open("docker", "one")
            there = await again.supplied_blobs()
            await again.supply_blobs([path for path in (tmp_path / "blobs").iterdir() if path.name not in there])
            assert (await again.restore(snapshot)).restored == ("x",)
            tries = "import os\ntry: open('/etc/x', 'w')\nexcept OSError as error: print(error.errno == 30)\n"
            said = await cell(again, tries + "print(os.getuid(), os.listdir('/sys/class/net'), x)", 2)
            assert said.stdout.text == "True\n65534 ['lo'] 42\n"
        finally:
            await sandboxes.remove("one")
