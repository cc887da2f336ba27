"""A container as the machine of a bridged sandbox: commands, files and streams are `docker exec`.

Nothing of this machine is mounted, so the engine may be on another one. Files go over `exec`, too: `docker cp` does not
reach into what is mounted, and refuses containers whose root is read-only. The container's first process says by its
exit code whether the store had all that was in it, since labels of a container cannot be changed.
"""

import asyncio
import base64
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.bridged.machine import End, Machine
from sandboxes.docker import copying
from sandboxes.docker import engine as engines
from sandboxes.docker.engine import NOT_RUN, TAKEN, CommandResult, ContainerEngine
from sandboxes.docker.options import DockerOptions
from sandboxes.host.tasks import uncancellable
from sandboxes.inside.bridge.copying import LENGTH, MISSING

LABEL = "stepwell"
"""The label that all of ours have; its value is the prefix of their names."""
THREAD_LABEL = "stepwell-thread"
"""The thread that it belongs to."""
NETWORK_LABEL = "stepwell-network"
"""What it was made to reach."""
HOME = "/sandbox"
"""Where the container's volume is: its working directory, and all that can be written but `/tmp`."""
USER = "65534:65534"
STORED = 10
"""The exit code of a container of which the store has everything."""
FIRST = """rm -f stored; touch used 2>/dev/null
trap '[ -e stored ] && [ ! -e held ] && exit {stored}; exit 0' TERM INT
while :; do
  sleep 15 & wait $!
  [ {idle} -gt 0 ] && [ $(( $(date +%s) - $(stat -c %Y used || date +%s) )) -gt {idle} ] && exit 0
done
"""
"""The container's first process: it buries orphans, and ends when nobody has used the container for a while."""
USED = "touch used 2>/dev/null; "
CHECK = """touch used || echo NO-ROOM
command -v python3 >/dev/null || { echo NO-PYTHON; exit 0; }
python3 -c 'import importlib.util, sys; sys.exit(0 if importlib.util.find_spec("pandas") else 3)'
[ $? = 3 ] && echo NO-PANDAS
exit 0
"""
COPY = USED + 'exec python3 -I -S -c "$0" "$1"'
ATTACH = USED + 'exec python3 -P -s "$0" "$1"'
STOP_SECONDS = 5
TRIES = 3
POLL_SECONDS = 0.25
TIDY_SECONDS = 10.0
"""How long removing what nobody needs may hold somebody up."""
TIDY_EACH_SECONDS = 60.0
START_SECONDS = 120.0
"""How long making or starting one may take."""
BUILD = (
    "Build one with `docker build -t stepwell-sandbox - < deploy/sandbox.Dockerfile`, and see STEPWELL_DOCKER_IMAGE."
)


class DockerMachine(Machine):
    """The container of one thread.

    Args:
        engine: Where it is.
        options: How it is made.
        id: The thread's.
        keep: Whether it is to outlive its use; else the engine removes it when it stops.
    """

    kind = "docker"
    noun = "the container"
    advice = "Choose another image with STEPWELL_DOCKER_IMAGE."

    def __init__(self, engine: ContainerEngine, options: DockerOptions, id: str, *, keep: bool = True) -> None:
        self._engine = engine
        self._options = options
        self._id = id
        self._keep = keep
        self.name = f"{options.prefix}-{id}"
        self.late_seconds = options.late_seconds
        network = "no network" if options.joins == "none" else f"the engine's network {options.joins}"
        self.isolation = (
            f"A container of {engine.name}: a user without capabilities, a read-only root, {network}; nothing of this "
            "machine is mounted."
        )
        self._turn = asyncio.Lock()
        self._up = False
        """Whether it runs, as far as is known."""
        self._began = ""
        """When its current life began, as the engine says."""
        self._lives = 0
        self._seen = False

    async def life(self, *, start: bool) -> int:
        """Say which of its lives it is in; see `Machine.life`. A cancelled caller waits until it runs."""
        async with self._turn:
            if not start:
                return await self._goes_on() if self._up else 0
            if not self._up:
                await uncancellable(self._have())
            return self._lives

    async def _goes_on(self) -> int:
        state = await self._state()
        if state is None:
            self.why_down = "the container was removed"
        elif state.get("Status") != "running":
            self.why_down = self._ended(state)
        elif state.get("StartedAt") != self._began:
            self.why_down = "the container was started anew"
        else:
            return self._lives
        self._up = False
        return 0

    def _ended(self, state: dict[str, Any]) -> str:
        if state.get("OOMKilled"):
            return "the container needed more memory than STEPWELL_SANDBOX_MEMORY_MB allows, and was ended"
        code = state.get("ExitCode")
        return "the container was killed" if code == 137 else f"the container has ended (it is {state.get('Status')})"

    async def _state(self) -> dict[str, Any] | None:
        found = await self._engine.inspect([self.name], "say how the container is")
        if not found:
            return None
        state, labels = found[0].get("State"), found[0].get("Labels")
        return {**(state if isinstance(state, dict) else {}), "Labels": labels if isinstance(labels, dict) else {}}

    async def _have(self) -> None:
        """Make it run: found, started or created.

        Raises:
            SandboxRefusedError: the operator has to fix something first.
            SandboxUnavailableError: it cannot be had now.
        """
        until = time.monotonic() + START_SECONDS
        while True:
            state = await self._state()
            status = str(state.get("Status", "")) if state is not None else ""
            if state is None:
                if not await self._create():
                    continue  # somebody else was first
                self._engine.made = True
            elif status not in ("removing", "dead", "restarting", "stopping"):
                if self._differs(state) and not await self._replaced(state):
                    continue
                if not self._seen:
                    self.was_stored = status == "exited" and state.get("ExitCode") == STORED
            if status == "running":
                assert state is not None
                self._run_since(state)
                return
            if status == "paused":
                raise SandboxUnavailableError(
                    f"The container {self.name} is paused: {self._engine.name} unpause {self.name}"
                )
            if status in ("", "created", "configured", "initialized", "exited", "stopped"):
                await self._start(made=state is None)
                continue
            if time.monotonic() > until:
                raise SandboxUnavailableError(f"The container {self.name} is {status} and does not start; look at it.")
            await asyncio.sleep(POLL_SECONDS)

    def _run_since(self, state: dict[str, Any]) -> None:
        began = str(state.get("StartedAt"))
        if began != self._began:
            self._began, self._lives = began, self._lives + 1
        self._up, self._seen, self.why_down = True, True, ""

    def _differs(self, state: dict[str, Any]) -> bool:
        return str(state["Labels"].get(NETWORK_LABEL, "none")) != self._options.joins

    async def _replaced(self, state: dict[str, Any]) -> bool:
        """Remove one that was made with another network; false: it is gone.

        Raises:
            SandboxRefusedError: something in it is nowhere else.
        """
        if state.get("Status") == "exited" and state.get("ExitCode") == STORED:
            await self._remove()
            return False
        raise SandboxRefusedError(
            f"The container {self.name} was made with the network {state['Labels'].get(NETWORK_LABEL, 'none')} and "
            f"holds what is not stored: go on with that network, or remove it ({self._engine.name} rm -f {self.name})."
        )

    async def _create(self) -> bool:
        """Make it; false when there is one already.

        Raises:
            SandboxRefusedError: there is no such image, or the engine cannot do what is asked for.
        """
        image, doing = self._options.image, "look for the image"
        memory = self._options.limits.memory or await self._engine.memory() // 2
        done = await self._engine.run("image", "inspect", "--format", "{{json .Id}}", image, doing=doing)
        if done.code:
            if not engines.NO_IMAGE.search(done.complaint):
                raise self._engine.failed(done, doing)
            raise SandboxRefusedError(f"{self._engine.name} has no image {image!r}. {BUILD}")
        doing = "make a container"
        done = await self._engine.run("create", *self.parameters(memory), doing=doing, seconds=START_SECONDS)
        if done.code and TAKEN.search(done.complaint):
            await asyncio.sleep(POLL_SECONDS)
            return False
        if done.code:
            raise self._engine.failed(done, doing, making=True)
        if time.monotonic() - self._engine.tidied > TIDY_EACH_SECONDS:
            await tidy(self._engine, self._options)
        return True

    def parameters(self, memory: int) -> list[str]:
        """The arguments of `create`.

        Args:
            memory: Bytes that it may have; 0: nobody knows.
        """
        options, limits = self._options, self._options.limits
        labels = {LABEL: options.prefix, THREAD_LABEL: self._id, NETWORK_LABEL: options.joins}
        given = ["--name", self.name, "--pull", "never", "--hostname", "sandbox"]
        given += [word for name, value in labels.items() for word in ("--label", f"{name}={value}")]
        given += ["--network", options.joins, "--read-only", "--user", USER]
        given += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        given += ["--pids-limit", str(limits.processes), "--shm-size", str(options.shared_bytes(memory))]
        given += ["--memory", str(memory), "--memory-swap", str(memory)] if memory else []
        given += ["--cpus", f"{options.cpus:g}"] if options.cpus else []
        ulimits = {"nofile": limits.open_files, "fsize": limits.file, "cpu": limits.cpu}
        given += [word for name, most in ulimits.items() if most for word in ("--ulimit", f"{name}={most}:{most}")]
        given += ["--ulimit", "core=0:0"]
        given += ["--tmpfs", f"/tmp:rw,nosuid,nodev,mode=1777,size={options.tmp_bytes(memory)}"]  # noqa: S108
        given += ["--volume", HOME, "--workdir", HOME, "--env", f"HOME={HOME}"]
        given += [] if self._keep else ["--rm"]
        first = FIRST.format(stored=STORED, idle=60 * options.auto_stop)
        return [*given, "--entrypoint", "sh", options.image, "-c", first]

    async def _start(self, *, made: bool) -> None:
        doing = "start the container"
        done = await self._engine.run("start", self.name, doing=doing, seconds=START_SECONDS)
        if done.code and engines.NOT_THERE.search(done.complaint) and await self._state() is None:
            return  # somebody has removed it meanwhile
        try:
            if done.code:
                raise self._engine.failed(done, doing, making=True)
            if made:
                await self._furnish()
        except SandboxRefusedError:
            if made:
                await self._remove()
            raise

    async def _furnish(self) -> None:
        """Make its volume writable, and check that the image has what is needed.

        Raises:
            SandboxRefusedError: it has not.
        """
        # The engine may have made the volume its own user's already; then this is not for root to do.
        await self._engine.run("exec", "--user", "0", self.name, "chmod", "0777", HOME, doing="make room in it")
        done = await self._engine.run("exec", self.name, "sh", "-c", CHECK, doing="look at the image")
        lacks = done.printed.split()
        if b"NO-PYTHON" in lacks:
            raise SandboxRefusedError(f"There is no python3 in the image {self._options.image!r}. {BUILD}")
        if b"NO-PANDAS" in lacks:
            raise SandboxRefusedError(f"There is no pandas in the image {self._options.image!r}. {BUILD}")
        if done.code or b"NO-ROOM" in lacks:
            raise self._engine.failed(done, "write into a volume of its own", making=True)

    async def execute(self, command: str, *, doing: str, seconds: float, again: bool) -> str:
        """Run a shell command; see `Machine.execute`."""
        done = await self._exec(["sh", "-c", USED + command], doing=doing, seconds=seconds, again=again)
        return done.printed.decode("utf-8", "replace") + done.complaint

    async def _exec(self, command: list[str], *, doing: str, seconds: float, again: bool) -> CommandResult:
        for _ in range(TRIES):
            await self.life(start=True)
            done = await self._engine.run("exec", self.name, *command, doing=doing, seconds=seconds, inside=True)
            if not done.code or await self.life(start=False):
                return done
            if not again and not NOT_RUN.search(done.complaint):
                raise SandboxUnavailableError(f"{self._engine.name} could not {doing}: {self.why_down}.")
        raise SandboxUnavailableError(f"{self._engine.name} could not {doing}: the container does not stay up.")

    async def upload(self, files: Mapping[str, bytes | str], *, doing: str) -> None:
        """Copy files there; see `Machine.upload`."""

        async def work(process: asyncio.subprocess.Process, moved: list[int]) -> None:
            assert process.stdin is not None
            with suppress(BrokenPipeError, ConnectionResetError):  # its exit code says why
                for path, source in files.items():
                    name = path.encode("utf-8", "surrogateescape")
                    process.stdin.write(LENGTH.pack(len(name)) + name)
                    if isinstance(source, bytes):
                        await copying.write(process.stdin, source, moved)
                    else:
                        await copying.write_file(process.stdin, source, moved)
                    process.stdin.write(LENGTH.pack(0))
                process.stdin.write(LENGTH.pack(0))
                await process.stdin.drain()
            process.stdin.close()

        await self._copied("put", work, doing)

    async def download(self, files: Mapping[str, Path | None], *, doing: str) -> dict[str, bytes | None]:
        """Copy files from there; see `Machine.download`."""
        found: dict[str, bytes | None] = {}

        async def work(process: asyncio.subprocess.Process, moved: list[int]) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            found.clear()
            with suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(json.dumps(list(files)).encode() + b"\n")
                await process.stdin.drain()
            process.stdin.close()
            with suppress(asyncio.IncompleteReadError):  # its exit code says why
                for path, target in files.items():
                    length = await copying.read_length(process.stdout)
                    if length != MISSING:
                        found[path] = await copying.read_file(process.stdout, length, target, moved)

        await self._copied("get", work, doing)
        return found

    async def _copied(
        self, what: str, work: Callable[[asyncio.subprocess.Process, list[int]], Any], doing: str
    ) -> None:
        """Run `sandboxes/inside/bridge/copying.py` there, connected to what sends and what receives.

        Raises:
            SandboxUnavailableError: it did not end well.
        """
        source = await asyncio.to_thread(copying.program)
        for _ in range(TRIES):
            await self.life(start=True)
            moved = [0]
            process = await self._engine.start(["exec", "-i", self.name, "sh", "-c", COPY, source, what])
            complaint = asyncio.ensure_future(engines.bounded(process.stderr, engines.MAX_COMPLAINT))
            try:
                await self._engine.waited(process, work(process, moved), doing, self._engine.patience, moved)
            except (ValueError, OSError) as error:
                raise SandboxUnavailableError(f"{self._engine.name} could not {doing}: {error}.") from None
            finally:
                engines.end(process)
                await asyncio.wait((complaint,), timeout=5.0)
            error_text = complaint.result().decode("utf-8", "replace") if complaint.done() else ""
            done = CommandResult(process.returncode or 0, b"", error_text)
            if not done.code:
                return
            if await self.life(start=False):
                raise self._engine.failed(
                    CommandResult(done.code, b"", done.complaint.strip().rpartition("\n")[2]), doing
                )
        raise SandboxUnavailableError(f"{self._engine.name} could not {doing}: the container does not stay up.")

    async def stream(self, program: str, base: str, message: bytes, hear: Callable[[str], None]) -> str:
        """Have `attach` run; see `Machine.stream`. It ends with its standard input, so with this process, too."""
        await self.life(start=True)
        process = await self._engine.start(["exec", "-i", self.name, "sh", "-c", ATTACH, program, base])
        assert process.stdin is not None
        assert process.stdout is not None
        complaint = asyncio.ensure_future(engines.bounded(process.stderr, engines.MAX_COMPLAINT))
        try:
            with suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(base64.b64encode(message) + b"\n")
                await process.stdin.drain()
            while data := await process.stdout.read(1 << 16):
                hear(data.decode("ascii", "replace"))
            await process.wait()
            error_text = (await complaint).decode("utf-8", "replace").strip()
        finally:
            engines.end(process)
            process.stdin.close()
            complaint.cancel()
        return "" if process.returncode == 0 else error_text.rpartition("\n")[2] or f"exit code {process.returncode}"

    async def end(self, how: End) -> None:
        """Stop or delete it; see `Machine.end`."""
        async with self._turn:
            if how == "delete":
                self._up = False
                await self._remove()
            elif self._up:
                self._up = False
                await self._stop(how)

    async def _stop(self, how: End) -> None:
        with suppress(SandboxUnavailableError):  # then it is kept for longer
            if how == "spare":
                await self._engine.run("exec", self.name, "touch", "stored", doing="mark the container")
        doing = "stop the container"
        done = await self._engine.run("stop", "-t", str(STOP_SECONDS), self.name, doing=doing)
        if done.code and not engines.NOT_THERE.search(done.complaint):
            raise self._engine.failed(done, doing)
        if self._options.auto_delete == 0 and how == "spare":
            state = await self._state()
            if state is not None and state.get("ExitCode") == STORED and state.get("Status") == "exited":
                await self._remove()

    async def _remove(self) -> None:
        doing, until = "remove the container", time.monotonic() + START_SECONDS
        while True:
            done = await self._engine.run(
                "rm", "--force", "--volumes", self.name, doing=doing, seconds=self._engine.patience
            )
            if await self._state() is None:
                return
            if time.monotonic() > until or (done.code and "in progress" not in done.complaint):
                raise self._engine.failed(done, doing)
            await asyncio.sleep(POLL_SECONDS)

    async def hold(self) -> None:
        """Keep it: it holds something that exists nowhere else; see `Machine.hold`."""
        doing = "mark the container"
        done = await self._exec(["touch", "held"], doing=doing, seconds=self._engine.patience, again=True)
        if done.code:
            raise self._engine.failed(done, doing)


async def ours(engine: ContainerEngine, prefix: str) -> list[dict[str, Any]]:
    """What the engine says of all containers of ours.

    Raises:
        SandboxRefusedError: the engine cannot be used at all.
        SandboxUnavailableError: they cannot be listed now.
    """
    doing, label = "list the containers", f"label={LABEL}={prefix}"
    done = await engine.run("ps", "--all", "--quiet", "--no-trunc", "--filter", label, doing=doing)
    if done.code:
        raise engine.failed(done, doing)
    names = done.printed.decode("ascii", "replace").split()
    inspected = await engine.inspect(names, doing) if names else []
    return [
        {"Name": str(one.get("Name")).removeprefix("/"), "State": one["State"], "Labels": one.get("Labels") or {}}
        for one in inspected
        if isinstance(one.get("State"), dict)
    ]


async def tidy(engine: ContainerEngine, options: DockerOptions) -> None:
    """Remove containers that stopped long ago and that nobody needs; what fails is left to another process."""
    engine.tidied = time.monotonic()
    if options.auto_delete < 0:
        return
    with suppress(SandboxUnavailableError, SandboxRefusedError, TimeoutError):
        async with asyncio.timeout(TIDY_SECONDS):
            for one in await ours(engine, options.prefix):
                state = one["State"]
                spare = state.get("Status") == "exited" and state.get("ExitCode") == STORED
                if spare and age(state) > options.auto_delete:
                    # Without force: who starts it at this moment goes before.
                    await engine.run("rm", "--volumes", one["Name"], doing="remove a container")


def age(state: Mapping[str, Any]) -> float:
    """Minutes since a container has stopped; 0: nobody knows."""
    with suppress(ValueError):
        # Nanoseconds are more than Python reads.
        text, _, zone = str(state.get("FinishedAt", "")).partition(".")
        ended = datetime.fromisoformat(text.removesuffix("Z") + ("+00:00" if zone.endswith("Z") or not zone else ""))
        ended = ended if ended.tzinfo else ended.astimezone()
        return max((datetime.now(UTC) - ended).total_seconds() / 60, 0.0)
    return 0.0
