"""ipykernel by way of jupyter_client: `python -m bench.drivers.jupyter`, with `--bwrap PATH` in bubblewrap."""

import argparse
import asyncio
import importlib.metadata
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from bench.drivers.driving import DiedError, Driver, Session, TooSlowError, serve

KEPT = 65_536
READY_SECONDS = 60.0


class Walled(KernelManager):
    """Starts its kernel in bubblewrap."""

    bwrap = ""
    folder = ""

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        kernel = [sys.executable, "-m", "ipykernel_launcher", "-f", self.connection_file]
        if not self.bwrap:
            return kernel
        walls = [self.bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        walls += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        for prefix in (sys.base_prefix, sys.prefix):  # which may lie in /tmp
            walls += ["--ro-bind", prefix, prefix]
        unset = ["--unsetenv", "JPY_PARENT_PID"]  # its parent has no such number in there
        return [*walls, "--bind", self.folder, self.folder, "--chdir", self.folder, *unset, *kernel]


class JupyterSession(Session):
    """A kernel; of what it prints the first bytes are kept, and the rest is dropped as it comes."""

    def __init__(self, bwrap: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="stepwell-bench-")
        self._manager = Walled(
            transport="ipc", ip=f"{self._folder}/socket", connection_file=f"{self._folder}/connection.json"
        )
        self._manager.bwrap, self._manager.folder = bwrap, self._folder
        environment = {**os.environ, "IPYTHONDIR": self._folder, "MPLBACKEND": "agg", "HOME": self._folder}
        quiet = subprocess.DEVNULL
        self._manager.start_kernel(env=environment, cwd=self._folder, stdout=quiet, stderr=quiet)
        self._client: BlockingKernelClient = self._connect()

    def _connect(self) -> BlockingKernelClient:
        client = self._manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=READY_SECONDS)
        return client

    async def run(self, code: str, *, timeout: float = 120.0) -> str:
        asked = self._client.execute(code)
        kept, began = "", time.monotonic()
        while True:
            try:
                said = self._client.get_iopub_msg(timeout=0.002 if "os.kill" in code else 1.0)
            except queue.Empty:
                if not self._manager.is_alive():
                    raise DiedError from None
                if time.monotonic() - began > timeout:
                    raise TooSlowError from None
                continue
            if said["parent_header"].get("msg_id") != asked:
                continue
            kind, content = said["msg_type"], said["content"]
            if kind == "stream" and len(kept) < KEPT:
                kept += content["text"][: KEPT - len(kept)]
            elif kind == "error":
                raise RuntimeError(f"{content['ename']}: {content['evalue']}")
            elif kind == "status" and content["execution_state"] == "idle":
                return kept

    async def revive(self) -> str:
        self._client.stop_channels()
        self._manager.restart_kernel(now=True)
        self._client = self._connect()
        return "a new process"

    async def stop(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        shutil.rmtree(self._folder, ignore_errors=True)


class Jupyter(Driver):
    """Kernels."""

    def __init__(self, bwrap: str) -> None:
        self._bwrap = bwrap

    async def start(self) -> Session:
        return JupyterSession(self._bwrap)

    async def versions(self) -> str:
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("ipykernel", "jupyter_client"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bwrap", default="")
    bwrap = parser.parse_args().bwrap
    assert not bwrap or Path(bwrap).exists()
    asyncio.run(serve(Jupyter(bwrap)))
