"""An analysis in a process of its own, which a test kills."""

import asyncio
import os
import signal
import time
from pathlib import Path

from graph.settings import Settings
from tests.prepared_command import ForkedProcess

ROOT = Path(__file__).parents[1]


def environment(settings: Settings, url: str, **more: str) -> dict[str, str]:
    """What such a process finds: these settings, and a model at that address."""
    found = {
        "PATH": os.environ["PATH"],
        "STEPWELL_HOME": str(settings.home),
        "STEPWELL_ISOLATION": settings.isolation,
        "STEPWELL_ARTIFACTS": settings.artifacts,
        "OPENAI_BASE_URL": url,
        "STEPWELL_MODEL": "scripted",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    return found | more


async def killed_in_a_cell(question: str, settings: Settings, url: str) -> Path:
    """Ask a question in a process, and kill it once a cell has made the file `outputs/flag`.

    Returns:
        That file.
    """
    code = f"import asyncio, stepwell; asyncio.run(stepwell.run({question!r}))"
    process = await asyncio.to_thread(ForkedProcess, "-c", code, env=environment(settings, url))
    try:
        return await wait_for_flag(settings)
    finally:
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)


async def wait_for_flag(settings: Settings) -> Path:
    """Wait until the cell of some thread has made `outputs/flag`."""
    return await wait_for_file(settings.home / "threads", "*/workspace/outputs/flag")


async def wait_for_change(file: Path, before: str, seconds: float = 60.0) -> None:
    """Wait until a file says something else."""
    until = time.monotonic() + seconds
    while file.read_text() == before:
        assert time.monotonic() < until, f"{file} has not changed after {seconds:g} s"
        await asyncio.sleep(0.05)


async def wait_for_file(folder: Path, pattern: str, seconds: float = 60.0) -> Path:
    """Wait until there is such a file."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := next(folder.glob(pattern), None):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"no {pattern} below {folder} after {seconds:g} s")
