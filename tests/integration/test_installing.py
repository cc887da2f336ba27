"""Cells install packages: through the proxy, into the workspace, and a restored session has them."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from sandboxes.base import SandboxUnavailableError
from sandboxes.host.limits import Limits
from sandboxes.inside.kernel.packages import BESIDE
from sandboxes.local.isolation import IsolationRequest
from sandboxes.local.isolation_choice import choose
from sandboxes.local.network.doorway import Doorway
from sandboxes.local.sandbox import LocalSandbox
from sandboxes.network import NO_NETWORK, Network
from tests.package_index import Index, package_index, wheel
from tests.proxied import SOMEWHERE, Wire

pytestmark = pytest.mark.slow

ALLOWED = Network.only("pypi.test")
PIP = """
import os, subprocess, sys
def pip(*arguments):
    done = subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True)
    print(done.returncode, done.stdout + done.stderr)
def install(*arguments):
    pip("install", "--index-url", "http://pypi.test/simple/", "--trusted-host", "pypi.test", *arguments)
"""
GREETING = {"greeting/__init__.py": "VERSION = 1\nSEEN = []\ndef main():\n    print('hello')\nclass Card:\n    pass\n"}
NEWER = {"greeting/__init__.py": "VERSION = 2\ndef main():\n    print('hello again')\n"}


@pytest.fixture
async def index() -> AsyncIterator[Index]:
    async with package_index(
        (
            "greeting-1.0-py3-none-any.whl",
            wheel("greeting", "1.0", GREETING, needs=("helper", "numpy"), script="greet = greeting:main"),
        ),
        ("greeting-2.0-py3-none-any.whl", wheel("greeting", "2.0", NEWER, script="greet = greeting:main")),
        ("helper-1.0-py3-none-any.whl", wheel("helper", "1.0", {"helper.py": "READY = True\n"})),
        ("numpy-0.1-py3-none-any.whl", wheel("numpy", "0.1", {"numpy/__init__.py": "OLD = True\n"})),
    ) as serving:
        yield serving


def doorway_to(index: Index) -> "partial[Doorway]":
    """A doorway whose `pypi.test` is the index."""
    wire = Wire({"pypi.test": [SOMEWHERE]}, {(SOMEWHERE, 80): index.port})
    return partial(Doorway, resolve=wire.resolve, dial=wire.dial)


Opened = Callable[..., AbstractAsyncContextManager[LocalSandbox]]


@pytest.fixture(params=["namespaces", "process"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens sandboxes of a level."""

    @asynccontextmanager
    async def opening(
        id: str, network: Network, make_doorway: Callable[[Network, Path], Doorway] = Doorway
    ) -> AsyncIterator[LocalSandbox]:
        asked = IsolationRequest("", tmp_path / "cache", request.param, "", Limits(), network)
        try:
            config = await asyncio.to_thread(choose, asked)
        except SandboxUnavailableError as error:
            pytest.skip(str(error))
        sandbox = LocalSandbox(tmp_path / "threads", id, config, network=network, make_doorway=make_doorway)
        await sandbox.open()
        try:
            yield sandbox
        finally:
            await sandbox.close()

    return opening


async def printed(sandbox: LocalSandbox, code: str, number: int = 1) -> str:
    result = await sandbox.run(code, number=number, timeout=120)
    assert result.status == "ok", (result.note, result.error and result.error.traceback)
    return result.stdout.text


async def test_a_package_is_installed_and_used_in_the_same_cell(opened: Opened, tmp_path: Path, index: Index) -> None:
    async with opened("a", ALLOWED, doorway_to(index)) as sandbox:
        first = await sandbox.run(f"{PIP}\ninstall('greeting==1.0')\nimport greeting", number=4, timeout=120)
        assert "Successfully installed greeting-1.0 helper-1.0" in first.stdout.text
        assert "Requirement already satisfied: numpy" in first.stdout.text
        assert "kept with this analysis and in its snapshots" in first.stdout.text
        assert first.status == "ok", first.error
        assert first.files == (), "what is installed is not the user's"
        assert "network pypi.test:80" in first.reached
        assert await sandbox.files(".") == []
        assert await printed(
            sandbox, "print(greeting.VERSION, greeting.__file__.split('workspace/')[1].split('/')[0])"
        ) == ("1 .packages\n")
        assert (
            await printed(sandbox, "print(subprocess.run('greet', capture_output=True, text=True).stdout)")
            == "hello\n\n"
        )
        child = (
            "print(subprocess.run([sys.executable, '-c', 'import helper; print(helper.READY)'], capture_output=True))"
        )
        assert "True" in await printed(sandbox, child)
    log = (tmp_path / "threads" / "a" / "connections.jsonl").read_text()
    assert '"cell": 4' in log
    assert '"host": "pypi.test"' in log


async def test_a_restored_session_has_what_was_installed(opened: Opened, tmp_path: Path, index: Index) -> None:
    async with opened("a", ALLOWED, doorway_to(index)) as sandbox:
        await printed(sandbox, f"{PIP}\ninstall('greeting==1.0')\nimport greeting\ncard = greeting.Card()\ncard.x = 5")
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        assert not taken.lost
        spool = tmp_path / "threads" / "a" / "spool"
        async with opened("b", NO_NETWORK) as other:
            await other.supply_blobs(sorted(spool.iterdir()))
            restored = await other.restore(taken.id)
            assert not restored.lost
            assert await printed(other, "print(card.x, type(card) is greeting.Card, greeting.VERSION)") == "5 True 1\n"
            assert "hello" in await printed(
                other, "print(subprocess.run('greet', capture_output=True, text=True).stdout)"
            )
            assert "1.0" in await printed(
                other, "import importlib.metadata\nprint(importlib.metadata.version('greeting'))"
            )


async def test_an_upgrade_replaces_and_an_uninstall_removes_only_what_was_installed(
    opened: Opened, index: Index
) -> None:
    async with opened("a", ALLOWED, doorway_to(index)) as sandbox:
        await printed(sandbox, f"{PIP}\ninstall('greeting==1.0')")
        assert "Successfully uninstalled greeting-1.0" in await printed(sandbox, "install('-U', 'greeting')")
        assert await printed(sandbox, "import greeting\nprint(greeting.VERSION)") == "2\n"
        assert "pandas belongs to the environment" in await printed(sandbox, "pip('uninstall', '-y', 'pandas')")
        assert "Successfully uninstalled greeting-2.0" in await printed(sandbox, "pip('uninstall', '-y', 'greeting')")
        assert "ModuleNotFoundError" in await printed(
            sandbox, "print(subprocess.run([sys.executable, '-c', 'import greeting'], capture_output=True, text=True))"
        )


async def test_a_package_in_memory_keeps_its_version(opened: Opened, tmp_path: Path, index: Index) -> None:
    async with opened("a", ALLOWED, doorway_to(index)) as sandbox:
        said = await printed(sandbox, f"{PIP}\nos.environ['SANDBOX_LOADED'] = 'numpy'\ninstall('numpy==0.1')")
    assert said.startswith("1 ")
    assert "Packages that the session has in memory keep their versions: numpy==" in said


async def test_without_a_network_pip_says_so_in_one_line(opened: Opened) -> None:
    async with opened("a", NO_NETWORK) as sandbox:
        said = await printed(sandbox, f"{PIP}\npip('install', 'greeting')")
        assert said.startswith("1 pip: this sandbox has no network, so greeting cannot be installed")
        assert "--allow-domain pypi.org --allow-domain files.pythonhosted.org" in said
        assert len(said.strip().splitlines()) == 1
        shell = "print(subprocess.run('pip install x y; pip3 list', shell=True, capture_output=True, text=True))"
        said = await printed(sandbox, shell)
        assert "so x y cannot be installed" in said
        assert "pandas" in said


async def test_a_local_wheel_needs_no_network(opened: Opened, tmp_path: Path, index: Index) -> None:
    file = tmp_path / "helper-1.0-py3-none-any.whl"
    file.write_bytes(index.wheels[file.name])
    async with opened("a", NO_NETWORK) as sandbox:
        await sandbox.put(file, f"inputs/{file.name}")
        said = await printed(
            sandbox, f"{PIP}\npip('install', 'inputs/{file.name}')\nimport helper\nprint(helper.READY)"
        )
    assert said.endswith("True\n")


async def test_an_index_that_is_not_allowed_is_told_in_one_line(opened: Opened, tmp_path: Path, index: Index) -> None:
    async with opened("a", ALLOWED, doorway_to(index)) as sandbox:
        said = await printed(sandbox, f"{PIP}\npip('install', 'greeting')")
    assert said.strip() == (
        "1 pip: pypi.org:443 is not among the domains that this sandbox may reach; its user may allow it with "
        "--allow-domain pypi.org (pip needs pypi.org and files.pythonhosted.org)."
    )


async def test_what_was_installed_cannot_keep_a_session_from_starting(opened: Opened) -> None:
    async with opened("a", NO_NETWORK) as sandbox:
        code = (
            "import os\nfolder = os.environ['SANDBOX_PACKAGES_PATH'].split(os.pathsep)[0]\nos.makedirs(folder)\n"
            "for name in ('sitecustomize.py', 'json.py', 'poison.pth'):\n"
            "    open(os.path.join(folder, name), 'w').write('import os; os._exit(7)')\n"
        )
        await printed(sandbox, code)
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        await sandbox.restore(taken.id)
        assert await printed(sandbox, "import json\nprint(json.dumps(1))") == "1\n"


async def test_a_folder_that_walls_keep_closed_does_not_stop_pip(tmp_path: Path) -> None:
    """As under Landlock, where the folder of an editable install can be named and not read."""
    try:
        config = await asyncio.to_thread(
            choose, IsolationRequest("", tmp_path / "cache", "landlock", "", Limits(), NO_NETWORK)
        )
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    sandbox = LocalSandbox(tmp_path / "threads", "a", config)
    await sandbox.open()
    try:
        code = f"import os\nos.environ['PYTHONPATH'] += {f':{Path(__file__).parent}'!r}\n{PIP}\npip('list')"
        said = await printed(sandbox, code)
    finally:
        await sandbox.close()
    assert said.startswith("0 Package")


def test_a_python_without_pip_and_ensurepip_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['ensurepip'] = None\n")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{BESIDE}{os.pathsep}{tmp_path}",
        "SANDBOX_NETWORK": "full",
        "SANDBOX_PACKAGES": str(tmp_path / ".packages"),
    }
    command = [sys.executable, "-m", "pip", "list"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "neither pip nor ensurepip" in done.stderr
    assert "python3-venv" in done.stderr


@pytest.mark.parametrize("name", ["pip", "pip3"])
def test_pip_can_be_called_by_its_name(name: str) -> None:
    assert os.access(Path(BESIDE) / "bin" / name, os.X_OK)
