"""The rivals' Python, and a session that one of them keeps there."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measured import Described, Measured, Restored
from bench.workloads import Workload

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "bench" / "rivals.lock"
ENVIRONMENT = ROOT / ".venv-rivals"


class NoRivalsError(Exception):
    """The rivals' environment cannot be made; the message says why."""


@dataclass(frozen=True)
class Rival:
    """A way to keep sessions, run as `python -m bench.rivals.<module>`."""

    name: str
    module: str
    python: str

    async def measure(self, workload: Workload, rows: int, folder: Path, *, middle: bool = True) -> Measured:
        """Run the workload in a new process, keeping every step; restore the last and a middle one in new ones.

        Args:
            workload: The session.
            rows: Its size.
            folder: A new folder.
            middle: Whether the middle step is restored too.
        """
        work, store = folder / "work", folder / "store"
        for path in (work, store):
            path.mkdir(parents=True)
        if workload.data is not None:
            await asyncio.to_thread(workload.data, work / "inputs", rows)
        cells = workload.cells(rows)
        half, last = len(cells) // 2, len(cells)
        job = {"folder": str(work), "store": str(store), "modules": workload.modules}
        live = await self._do(
            {**job, "do": "live", "cells": cells, "describe": [half, last], "probes": workload.probes}
        )
        keeps = live["keeps"]
        brought: dict[int, Restored] = {}
        asked: list[tuple[int, list[str]]] = [(half, []), (last, workload.probes)]
        for step, probes in asked if middle else asked[1:]:
            began = time.time()
            said = await self._do({**job, "do": "restore", "step": step, "probes": probes})
            cold = said["ready"] - began
            if said["failed"]:
                brought[step] = Restored(said["seconds"], cold, said["failed"], differing=tuple(probes))
                continue
            before = Described(live["described"][str(step)], live["answers"] if step == last else [])
            after = Described(said["described"], said["answers"])
            brought[step] = before.compare(after, probes, seconds=said["seconds"], cold=cold)
        return Measured(
            keeps=tuple(kept[0] for kept in keeps),
            inside=tuple(kept[0] for kept in keeps),
            sizes=tuple(kept[1] for kept in keeps),
            probes=len(workload.probes),
            cpu=tuple(kept[3] for kept in keeps),
            cpu_inside=tuple(kept[3] for kept in keeps),
            waits=tuple(kept[0] for kept in keeps),
            cells=sum(live["cells"]),
            refused=tuple(kept[2] for kept in keeps if kept[2]),
            middle=brought.get(half, Restored()),
            last=brought[last],
        )

    async def _do(self, job: dict[str, Any]) -> dict[str, Any]:
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPATH": str(ROOT),
            "MPLBACKEND": "agg",
            "PYTHONWARNINGS": "ignore",
        }
        process = await asyncio.create_subprocess_exec(
            self.python,
            "-m",
            f"bench.rivals.{self.module}",
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, errors = await process.communicate(json.dumps(job).encode())
        if process.returncode or not said:
            raise RuntimeError(f"{self.name} failed: {errors.decode(errors='replace')[-2_000:]}")
        answer: dict[str, Any] = json.loads(said)
        return answer


def rivals(python: str) -> list[Rival]:
    """All ways that Stepwell is measured against.

    Args:
        python: The Python that has their packages.
    """
    return [
        Rival("kishu", "kishu_session", python),
        Rival("dill", "dill_session", python),
        Rival("cloudpickle", "cloudpickle_session", python),
        Rival("running the cells again", "rerun_session", python),
    ]


async def prepare() -> str:
    """The rivals' Python; its environment is made from `bench/rivals.lock` when it is missing or older.

    Raises:
        NoRivalsError: it cannot be made.
    """
    python, ready = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "ready"
    if ready.exists() and ready.stat().st_mtime >= LOCK.stat().st_mtime:
        return str(python)
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    if not Path(uv).exists():
        raise NoRivalsError("uv is missing: run install.sh")
    print("bench: making .venv-rivals from bench/rivals.lock", file=sys.stderr)
    for arguments in (
        ["venv", "-q", "--clear", "--python", sys.executable, str(ENVIRONMENT)],
        ["pip", "install", "-q", "--python", str(python), "--require-hashes", "--compile-bytecode", "-r", str(LOCK)],
    ):
        await output_of([uv, *arguments])
    ready.touch()
    return str(python)


async def versions(python: str, packages: Sequence[str]) -> str:
    """The versions of packages in a Python, in words."""
    code = "import sys, importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
    return await output_of([python, "-c", code, *packages])


async def output_of(command: list[str]) -> str:
    """What a program prints.

    Raises:
        NoRivalsError: it cannot be run, or fails.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=tempfile.gettempdir()
        )
    except OSError as error:
        raise NoRivalsError(str(error)) from error
    said, errors = await process.communicate()
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise NoRivalsError(lines[-1].strip()[:200])
    return said.decode().strip()
