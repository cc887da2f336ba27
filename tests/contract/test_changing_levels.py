"""A thread goes on at another level of isolation, whoever its files belonged to, and with a Python by any path."""

import os
import sys
from pathlib import Path

import pytest

from sandboxes.host.limits import Limits
from sandboxes.local.isolation import IsolationRequest
from sandboxes.local.isolation_choice import config_of
from sandboxes.network import NO_NETWORK
from sandboxes.opening import Sandboxes
from tests.contract.conftest import printed

LEVELS = ("namespaces", "bwrap", "landlock")
GO_ON = """
import os
open("outputs/all", "a").write("x")
os.makedirs("outputs/inner", exist_ok=True)
open("outputs/inner/" + str(len(os.listdir("outputs/inner"))), "w").close()
if os.path.exists("outputs/inner/0"): os.rename("outputs/inner/0", "outputs/inner/0")
print(open("outputs/all").read(), open("inputs/given").read())
"""


@pytest.mark.parametrize(("first", "then"), [(one, other) for one in LEVELS for other in LEVELS if one != other])
async def test_files_of_one_level_can_be_written_at_another_and_back(
    tmp_path: Path, cache: Path, first: str, then: str
) -> None:
    (tmp_path / "given").write_text("given")
    for number, level in enumerate((first, then, first), 1):
        async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation=level) as opened:
            sandbox = await opened.open("local", "moved")
            if number == 1:
                await sandbox.put(tmp_path / "given", "inputs/given")
            said = await sandbox.run(GO_ON, number=1, timeout=60)
            assert printed(said) == f"{'x' * number} given\n", level
            taken = await sandbox.snapshot(limit_bytes=1 << 28)
            assert taken.id, taken.refused


@pytest.mark.parametrize("level", LEVELS)
async def test_a_python_whose_path_goes_up_and_down_is_found(tmp_path: Path, cache: Path, level: str) -> None:
    folder, name = os.path.split(sys.executable)
    (tmp_path / "elsewhere").mkdir()
    up = os.path.relpath(folder, tmp_path / "elsewhere")
    python = str(tmp_path / "elsewhere" / up / name)
    assert ".." in python
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation=level, python=python) as opened:
        sandbox = await opened.open("local", "straight")
        code = "import pandas, subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(1)']))"
        assert printed(await sandbox.run(code, number=1, timeout=60)) == "b'1\\n'\n"


def test_a_python_of_a_virtual_environment_keeps_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    for given in (tmp_path / "bin" / "python", tmp_path / "bin" / ".." / "bin" / "python"):
        config = config_of(IsolationRequest(str(given), tmp_path / "cache", "", "", Limits(), NO_NETWORK), "namespaces")
        assert config.python == str((tmp_path / "bin").resolve() / "python")
