"""Runs all attacks at one level, as the user that starts it, and says which got through and how.

Run as a program: it is given a folder and a level, and prints one JSON object: for each attack by name a list of what
it got (empty: nothing), and which did not end in time, or `{"unavailable": why}`.
"""

import asyncio
import contextlib
import gc
import json
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandboxes.base import Sandbox, SandboxError
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.local import isolation
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from tests.security.attack import Attack, attacks, preamble
from tests.security.victims import Victims, preface

LIMITS = Limits(
    memory=600 * MEGABYTE,
    processes=64,
    file=32 * MEGABYTE,
    workspace=64 * MEGABYTE,
    tmp=32 * MEGABYTE,
    shared_memory=16 * MEGABYTE,
    open_files=256,
)
AT_ONCE = 4
HUNG = 150.0
"""Seconds after its time limit at which a cell, or a step of the host, counts as never ending."""
WATCHED = ("victims", "growth")
GROWTH = 200 << 20
"""Bytes that the host may grow by."""
DESCRIPTORS = 10
"""More than the host needs for a sandbox."""
SETTLE = 10.0
"""Seconds in which what other attacks are doing just now passes; what an attack has left behind does not."""
HONEST = {"MemoryError", "KeyboardInterrupt", "RecursionError", "SystemExit"}
"""How an attack may fail, beside `OSError` and its kinds. Anything else is a mistake in the attack itself, which then
proves nothing."""
LATE = "did not end in time"
"""The name of no attack: under it stand those of which that is so."""
REFUSED = "What the session said cannot be used: "
"""How the host begins to say that it did not read the last word of a cell; such a cell has ended as it should."""


class Driver:
    """Tries attacks on sandboxes of one level."""

    def __init__(self, base: Path, level: str, secret: str) -> None:
        self._base, self._secret = base, secret
        self._root = base / "sandboxes"
        self._root.mkdir()
        self._victims = Victims(base, secret, LIMITS)
        self._sandboxes = Sandboxes(self._root, cache=base / "cache", isolation=level, limits=LIMITS)
        self._opened = self._ready = self._leaving = self._closed = 0
        self._alone = asyncio.Lock()
        """Held while an attack is tried whose effect on the host itself is looked at, and while it is looked at."""
        self._free = asyncio.Semaphore(AT_ONCE)
        self.found: dict[str, list[str]] = {}
        self.late: list[str] = []
        """Those whose cell did not end in its time: what they would have got is not known."""

    async def run(self, chosen: list[Attack]) -> None:
        """Try them all."""
        async with self._sandboxes:
            shared: dict[str, list[Attack]] = {}
            for attack in chosen:
                if not attack.alone:
                    shared.setdefault(attack.theme, []).append(attack)
            lanes = [self._together(group) for group in shared.values()]
            await asyncio.gather(*lanes, *(self._lane([attack]) for attack in chosen if attack.alone))
        await asyncio.to_thread(self._victims.close)

    async def _together(self, group: list[Attack]) -> None:
        await self._lane([attack for attack in group if not attack.then])
        await self._lane([attack for attack in group if attack.then])

    async def _lane(self, group: list[Attack]) -> None:
        sandbox: Sandbox | None = None
        for attack in group:
            watched = attack.then in WATCHED
            async with self._free, self._alone if watched else contextlib.nullcontext():
                if sandbox is None:
                    sandbox = await self._open()
                self.found[attack.name] = await self._try(attack, sandbox)
                if self.found[attack.name] or attack.then:
                    await self._close(sandbox)
                    sandbox = None
        if sandbox is not None:
            await self._close(sandbox)

    async def _close(self, sandbox: Sandbox) -> None:
        self._leaving += 1
        await self._sandboxes.close(sandbox.id)
        self._closed += 1

    async def _open(self) -> Sandbox:
        self._opened += 1
        sandbox = await self._sandboxes.open("local", f"attacked-{self._opened}")
        table = self._base / "table.csv"
        if not table.exists():
            table.write_text("a,b\n1,2\n")
        await sandbox.put(table, "inputs/table.csv")
        await self._prepare(sandbox)
        self._ready += 1
        return sandbox

    async def _prepare(self, sandbox: Sandbox) -> None:
        kernel = [str(path) for path in (isolation.KERNEL / "session.py", isolation.ZYGOTE / "init.py")]
        known = self._victims.known(self._root / sandbox.id, kernel, [str(self._base / "cache" / "matplotlib")])
        self._listen_at = known["free"] = _free_port()
        result = await sandbox.run(preface(known) + preamble(), number=1, timeout=60)
        assert result.status == "ok", result

    async def _try(self, attack: Attack, sandbox: Sandbox) -> list[str]:
        before, others = _size(), self._ready - self._leaving
        got: list[str] = []
        try:
            result = await asyncio.wait_for(
                sandbox.run(attack.code, number=2, timeout=attack.seconds), attack.seconds + HUNG
            )
        except TimeoutError:
            return ["the host waits for ever"]
        except SandboxError as error:
            return [f"broken: it did not even run ({error})"]
        if result.status == "timeout":
            self.late.append(attack.name)
        got += self._said(result)
        if attack.then:
            step: Callable[[Attack, Sandbox, CellResult], Awaitable[list[str]]] = getattr(self, f"then_{attack.then}")
            try:
                got += await asyncio.wait_for(step(attack, sandbox, result), HUNG)
            except TimeoutError:
                got.append(f"the host hangs after it ({attack.then})")
            except SandboxError as error:
                # An honest error: the sandbox is unusable, which harms nobody but itself. It must go away, though.
                got += [f"it cannot be removed: {error}"] if attack.then == "removed" else []
        if attack.then == "growth":
            got += await self._grown(before, others)
        return got

    async def _grown(self, before: tuple[int, int], others: int) -> list[str]:
        """What an attack made of the host, for good: it held `before` with at least so many `others` open."""
        deadline = time.monotonic() + SETTLE
        while (got := _more(before, max(0, self._opened - self._closed - others))) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        return got

    def _said(self, result: CellResult) -> list[str]:
        text = result.stdout.text + result.stderr.text
        got = [line for line in text.splitlines() if line.startswith("GOT")]
        if self._secret in text + "".join(display.text + display.html for display in result.displays):
            got.append("the secret is in what it printed")
        error = result.error
        if error is not None and not _honest(error.name) and not error.message.startswith(REFUSED):
            got.append(f"broken: {error.name}: {error.message} {error.traceback}")
        return got

    async def _next(self, attack: Attack, sandbox: Sandbox) -> CellResult:
        return await sandbox.run(attack.next, number=3, timeout=attack.seconds)

    async def then_stays(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        after = await sandbox.run("print(MARK)", number=3, timeout=5)
        return [] if after.status == "ok" else [f"the session is gone: {after.note or after.error}"]

    async def _harmed(self, *, watched: bool = False) -> list[str]:
        async with contextlib.nullcontext() if watched else self._alone:
            harmed = await asyncio.to_thread(self._victims.harmed)
            return [f"harmed {harmed}"] if harmed else []

    async def then_victims(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        return await self._harmed(watched=True)

    async def then_removed(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        await sandbox.reset()
        after = await sandbox.run("print('here')", number=1, timeout=5)
        await self._sandboxes.remove(sandbox.id)
        left = ["its folder is still there"] if (self._root / sandbox.id).exists() else []
        return left if after.status == "ok" else [*left, f"it cannot be reset: {after.note}"]

    async def then_later(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        await asyncio.sleep(5)
        return self._said(await self._next(attack, sandbox))

    async def then_growth(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        await asyncio.sleep(0.1)
        return []

    async def then_again(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        taken = await sandbox.snapshot(limit_bytes=1 << 28) if "restore" in attack.name else None
        if taken is not None and taken.id:
            with contextlib.suppress(SandboxError):
                await sandbox.restore(taken.id)
        await self._sandboxes.close(sandbox.id)
        again = await self._sandboxes.open("local", sandbox.id)
        await self._prepare(again)
        return self._said(await self._next(attack, again))

    async def then_another(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        another = await self._open()
        after = await self._next(attack, another)
        got = self._said(after)
        if "numbers" in after.stdout.text and set(after.stdout.text.split()) & set(result.stdout.text.split()) - {
            "numbers"
        }:
            got.append("the same random numbers")
        await self._sandboxes.close(another.id)
        return got

    async def then_gone(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        """What goes on once a cell was killed, and once its sandbox was closed."""
        got = []
        if result.status == "killed" and await self._beats(sandbox):
            got.append("it goes on after its cell was killed")
        await self._sandboxes.close(sandbox.id)
        if await self._beats(sandbox):
            got.append("it goes on after its sandbox was closed")
        return got

    async def _beats(self, sandbox: Sandbox) -> bool:
        beat = self._root / sandbox.id / "workspace" / "beat"
        await asyncio.sleep(0.1)
        before = beat.stat().st_size if beat.exists() else 0
        await asyncio.sleep(0.3)
        return beat.exists() and beat.stat().st_size > before

    async def then_reached(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        try:
            with socket.create_connection(("127.0.0.1", self._listen_at), 0.5):
                return ["the host can connect to it"]
        except OSError:
            return []

    async def then_collect(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        paths: list[str] = []
        for folder in (".", "outputs", "figures"):
            with contextlib.suppress(ValueError, FileNotFoundError, SandboxError):
                paths += [file.path for file in await sandbox.files(folder)]
        paths = paths[:40] + [file.path for file in result.files[:40]] + [shown.path for shown in result.displays]
        paths += ["outputs/a.csv", "outputs/link", "outputs/turning.csv", "outputs/report.csv", "outputs/environ"]
        paths += ["outputs/secret", "outputs/real/secret", "figures/secret", "outputs/folder/secret"] * 20
        got = []
        for path in filter(None, paths):
            with contextlib.suppress(ValueError, FileNotFoundError, SandboxError):
                target = self._base / "fetched"
                await sandbox.fetch(path, target, max_bytes=MEGABYTE)
                if self._secret.encode() in target.read_bytes():
                    got.append(f"fetched the secret by {path}")
        return got + await self._harmed()

    async def then_put(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        for path in ("outputs/put.txt", "inputs/put.csv"):
            with contextlib.suppress(ValueError, FileNotFoundError, SandboxError):
                await sandbox.put(self._base / "table.csv", path)
        got = await self._harmed()
        await sandbox.reset()
        after = await sandbox.run("print('here')", number=1, timeout=5)
        return got if after.status == "ok" else [*got, f"it cannot be reset: {after.note}"]

    async def then_program(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        said = await sandbox.run_program(Path(__file__).parent / "program", [], timeout=20)
        if "GOT" in said.stdout + said.stderr or "as it should" not in said.stdout:
            return [f"the program became another: {said}"]
        return []

    async def then_snapshot(self, attack: Attack, sandbox: Sandbox, result: CellResult) -> list[str]:
        got = []
        taken = await sandbox.snapshot(limit_bytes=1 << 28)
        folder = self._base / f"taken-{sandbox.id}"
        with contextlib.suppress(ValueError, SandboxError):
            await sandbox.take_blobs(taken.new, folder)
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        if any(self._secret.encode() in file.read_bytes() for file in files):
            got.append("the secret is in a blob")
        another = await self._open()
        with contextlib.suppress(ValueError, SandboxError):
            await another.supply_blobs(files)
            await another.restore(taken.id)
        await self._sandboxes.close(another.id)
        return got + await self._harmed()


def _honest(name: str) -> bool:
    kinds = [OSError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return name in HONEST or name in {kind.__name__ for kind in kinds}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _size() -> tuple[int, int]:
    """Bytes of memory and descriptors of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list(Path("/proc/self/fd").iterdir()))


def _more(before: tuple[int, int], more: int) -> list[str]:
    """What the host holds more than `before`, when it may have `more` other sandboxes open."""
    memory, descriptors = (now - was for now, was in zip(_size(), before, strict=True))
    got = [f"the host grew by {memory >> 20} MB"] if memory > GROWTH else []
    return got + ([f"the host holds {descriptors} more descriptors"] if descriptors > DESCRIPTORS * (4 + more) else [])


async def drive(base: Path, level: str, chosen: list[Attack]) -> dict[str, list[str]] | dict[str, str]:
    """What each attack got; or why there is no such level here."""
    driver = Driver(base, level, os.environ["STEPWELL_TEST_SECRET"])
    try:
        await driver.run(chosen)
    except SandboxError as error:
        if not driver.found:
            return {"unavailable": str(error)}
        raise
    return {**driver.found, LATE: driver.late}


def main() -> None:
    """Read the command line: FOLDER LEVEL [part of the attacks' names]."""
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    nothing = Attack("has what it has anyway", "control", "open('own', 'w').close()\ngot('its own workspace')")
    chosen = [attack for attack in attacks() if part in attack.name or part == attack.theme]
    found = asyncio.run(drive(Path(sys.argv[1]), sys.argv[2], [*chosen, nothing]))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
