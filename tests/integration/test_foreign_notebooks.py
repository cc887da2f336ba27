"""Notebooks that others have written: seaborn's documentation and nbclient's tests, from their source archives."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from graph.settings import Settings
from tests.notebook_round_trip import require_same_outputs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("foreign-notebooks")]

ARCHIVES = ("seaborn==0.13.2", "nbclient==0.10.2")
SEABORN = [
    f"seaborn-0.13.2/doc/{name}.ipynb"
    for name in (
        "_docstrings/color_palette",
        "_docstrings/cubehelix_palette",
        "_docstrings/dark_palette",
        "_docstrings/objects.Plot.layout",
        "_docstrings/objects.Plot.limit",
        "_docstrings/plotting_context",
        "_docstrings/set_theme",
        "_tutorial/aesthetics",
        "_tutorial/error_bars",
        "_tutorial/properties",
    )
]
"""Some of those that fetch no example data from the internet; the other ten pass, too, and take as long again."""
NBCLIENT = [
    f"nbclient-0.10.2/tests/files/{name}.ipynb"
    for name in (
        "Empty Cell",
        "Error",
        "Factorials",
        "HelloWorld",
        "Output",
        "SVG",
        "Skip Exceptions",
        "Unicode",
        "UnicodePy3",
    )
]
"""Without those that show what time it is, ask for IPython itself, or take back what they have shown."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archives, laid out."""
    folder = tmp_path_factory.mktemp("archives")
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True).returncode:
        pip = [shutil.which("pip") or "pip"]
    command = [*pip, "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder), *ARCHIVES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    except OSError as error:
        pytest.skip(f"the archives need pip: {error}")
    if done.returncode:
        pytest.skip(f"the archives cannot be had: {done.stderr.strip()[-200:]}")
    for archive in folder.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("name", [*SEABORN, *NBCLIENT])
async def test_a_foreign_notebook_comes_out_with_the_same_outputs(
    name: str, archives: Path, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    shutil.copy(archives / name, folder)
    await require_same_outputs(Path(name).name, folder, [], settings, tmp_path)
