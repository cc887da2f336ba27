"""An emulated container engine for tests, and what happens to it and its containers."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sandboxes.docker.options import IMAGE, DockerOptions
from tests import process_table

HERE = Path(__file__).parent
START = f"import sys; sys.path.insert(0, {str(HERE)!r}); import command; command.main()"
"""A module that is imported is compiled once; a program each time that it runs."""
SHELL = ("sh", "touch", "date", "stat", "sleep", "rm", "mv", "mkdir", "tar", "gzip", "cat", "chmod", "env")


class EmulatedEngine:
    """One engine with its images and containers; they all end with it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stepwell-engine-"))
        (self.folder / "images").mkdir()
        self.add_image(IMAGE, f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.docker.engine", str(self.folder)],
            cwd=HERE.parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    @property
    def command(self) -> tuple[str, ...]:
        """Its command line."""
        return (sys.executable, "-I", "-S", "-c", START, "--host", str(self.folder))

    def options(self, **more: Any) -> DockerOptions:
        """How its containers are made: with names of their own for each test."""
        return DockerOptions(command=self.command, prefix=f"test-{secrets.token_hex(4)}", **more)

    def add_image(self, name: str, path: str) -> None:
        """Have an image whose programs are in these folders."""
        (self.folder / "images" / name).write_text(json.dumps({"path": path}))

    def image_with(self, name: str, python: str = "") -> None:
        """Have an image with a shell and little else; as `python3` a script of this text."""
        folder = self.folder / f"programs-{name}"
        folder.mkdir()
        for program in SHELL:
            if (at := shutil.which(program)) is not None:
                (folder / program).symlink_to(at)
        if python:
            (folder / "python3").write_text(python)
            (folder / "python3").chmod(0o755)
        self.add_image(name, str(folder))

    def fault(self, what: str) -> None:
        """Have something be wrong with it from now on; empty: nothing."""
        partial = self.folder / "fault.partial"
        partial.write_text(what)
        partial.replace(self.folder / "fault")

    def home(self, name: str) -> Path:
        """The folder that is a container's volume."""
        return self.folder / "containers" / name / "home"

    def state(self, name: str) -> dict[str, Any]:
        """A container's state."""
        state: dict[str, Any] = json.loads((self.folder / "containers" / name / "state").read_text())
        return state

    def change_state(self, name: str, **fields: Any) -> None:
        """Have a container's state be another."""
        (self.folder / "containers" / name / "state").write_text(json.dumps({**self.state(name), **fields}))

    def config(self, name: str) -> dict[str, Any]:
        """How a container was made."""
        config: dict[str, Any] = json.loads((self.folder / "containers" / name / "config").read_text())
        return config

    @property
    def names(self) -> list[str]:
        """The containers that there are."""
        folder = self.folder / "containers"
        return sorted(path.parent.name for path in folder.glob("*/config"))

    def said(self) -> list[list[str]]:
        """What it was asked, in order."""
        return [json.loads(line) for line in (self.folder / "said").read_text().splitlines()]

    def kill(self, name: str, *, out_of_memory: bool = False) -> None:
        """Have the first process of a container killed, as the system does when its memory is used up."""
        if out_of_memory:
            (self.folder / "containers" / name / "oom").touch()
        os.kill(self.state(name)["Pid"], signal.SIGKILL)

    def close(self) -> None:
        """End all containers, and leave nothing."""
        self._process.kill()
        self._process.communicate()
        for name in self.names:
            mark = f"EMULATED_CONTAINER={self.config(name)['Id']}"
            with contextlib.suppress(FileNotFoundError):
                process_table.end_all(mark, self.home(name))
        for path in self.folder.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
