"""Making room: `gc` removes blobs that no checkpoint names, `delete` removes a thread and what only it held."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from graph.checkpoints.damage import REPAIR
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.saver import Saver
from graph.checkpoints.thread_lock import ThreadHeldError, any_thread_held, forget_lock, hold_thread
from graph.settings import Settings, SettingsError, settings_or_default
from graph.wiring import make_blobs, make_sandboxes
from sandboxes.base import SandboxError
from stepwell.errors import ThreadError
from stepwell.giving_up import NOTHING, RuleEffect, plan, read_needs, read_parts, stored_inputs, survey, write_down
from stepwell.locks import lock_thread
from stepwell.retention import Rules
from storage.blob_folder import StoredEntry
from storage.blobs import GRACE_SECONDS, BlobError, Blobs

SWEEP = "gc"
"""What is held while blobs are removed, as if it were a thread."""
NO_RULES = Rules()


class SweepHeldError(SettingsError):
    """Somebody else makes room right now."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What was removed, or would be."""

    removed: int
    """Blobs."""
    removed_bytes: int
    kept: int
    kept_bytes: int
    inputs: int = 0
    """Those of the kept blobs that are files which users brought."""
    inputs_bytes: int = 0
    given_up: int = 0
    """Snapshots that threads do without from now on, each counted once for each thread."""
    rules: tuple[RuleEffect, ...] = ()
    """What each rule gives back by itself."""
    busy: int = 0
    """Threads that kept theirs, since somebody worked on them, or their sessions may hold what no snapshot has."""
    young: int = 0
    """Snapshots that rules name and that are younger than the grace period."""
    over_budget: int = 0
    """Bytes by which the store stays above the budget: no more of it may go."""


async def gc(
    *,
    grace: float = GRACE_SECONDS,
    dry_run: bool = False,
    rules: Rules = NO_RULES,
    settings: Settings | None = None,
) -> Swept:
    """Remove the blobs that no checkpoint of any thread names, and what killed writers left behind.

    Analyses may go on meanwhile: what was stored within the grace period stays, since the checkpoint that names it may
    still be on its way.

    Args:
        grace: Seconds. Less than a cell and its snapshot take is safe only while nothing runs.
        dry_run: Remove nothing, only count.
        rules: Which steps lose their snapshots before that.
        settings: Whose data folder; None reads the environment.

    Raises:
        SettingsError: the store cannot be used, another data folder's checkpoints name blobs in it, too, a thread is
            damaged, or somebody else makes room (`SweepHeldError`).
    """
    settings = await settings_or_default(settings)
    blobs = make_blobs(settings)
    try:
        async with AsyncExitStack() as stack:
            saver = await stack.enter_async_context(open_checkpoints(settings))
            if not dry_run:
                await stack.enter_async_context(_sweeping(settings))
            await _refuse_when_shared(blobs)
            await _refuse_when_damaged(saver)
            found = await survey(saver, blobs)
            planned = await plan(rules, saver, found, grace=grace) if rules else NOTHING
            steps, busy, needed = sum(map(len, planned.given.values())), planned.live, found.needed(planned.given)
            if planned.given and not dry_run:
                steps, held = await write_down(planned, saver, settings)
                busy += held
                await read_needs(found, saver, blobs)
                needed = found.needed()
            inputs = await stored_inputs(found, saver)
            swept = await _sweep(blobs, found.stored, needed, grace=grace, dry_run=dry_run, first=set(found.parts))
    except BlobError as error:
        raise SettingsError(str(error)) from None
    brought = [one for one in found.stored if one.name in inputs]
    return replace(
        swept,
        inputs=len(brought),
        inputs_bytes=_bytes(brought),
        given_up=steps,
        rules=planned.effects,
        busy=busy,
        young=planned.young,
        over_budget=planned.over_budget,
    )


@asynccontextmanager
async def _sweeping(settings: Settings) -> AsyncIterator[None]:
    """One at a time makes room in a store.

    Raises:
        SweepHeldError: another one does.
    """
    try:
        async with hold_thread(SWEEP, settings, patience=0):
            yield
    except ThreadHeldError:
        raise SweepHeldError("Another `stepwell gc`, or a server, makes room right now; wait for it.") from None


async def delete(thread: str, *, settings: Settings | None = None) -> Swept:
    """Remove a thread for good: its checkpoints, its workspace, and the blobs that no other thread names.

    Published artifacts stay. While other threads are being worked on, blobs of the last hour are left to `gc`.

    Args:
        thread: Its full id.
        settings: Whose data folder; None reads the environment.

    Raises:
        ThreadError: there is no such thread, or somebody is working on it.
        SettingsError: the thread is removed, but its blobs cannot be.
    """
    settings = await settings_or_default(settings)
    async with open_checkpoints(settings) as saver, lock_thread(thread, settings):
        mine = (await saver.hashes_by_thread(thread)).get(thread, set())
        if not await saver.has(thread):
            raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
        try:
            async with make_sandboxes(settings) as sandboxes:
                await sandboxes.remove(thread)
        except SandboxError as error:
            raise ThreadError(f"Thread {thread} cannot be deleted: {error}") from None
        await saver.adelete_thread(thread)
    await asyncio.to_thread(forget_lock, thread, settings.home)
    blobs = make_blobs(settings)
    try:
        stored = [one async for one in blobs.names()]
        own = await _with_parts(blobs, stored, mine)
        async with open_checkpoints(settings) as saver:
            named = await _with_parts(blobs, stored, await saver.referenced_hashes())
            # Asked last: it reads whatever there is of all threads.
            if own - named and (await blobs.other_owners() or await saver.unreadable_threads()):
                named |= own
        # Who is at work on other machines cannot be seen from here.
        busy = bool(settings.database_url.get_secret_value()) or await asyncio.to_thread(any_thread_held, settings.home)
        grace = GRACE_SECONDS if busy else -1.0
        return await _sweep(blobs, [one for one in stored if one.name in own], named, grace=grace, dry_run=False)
    except BlobError as error:
        raise SettingsError(f"The thread is deleted, but not its blobs: {error}") from None


async def _sweep(
    blobs: Blobs,
    stored: list[StoredEntry],
    named: set[str],
    *,
    grace: float,
    dry_run: bool,
    first: set[str] | None = None,
) -> Swept:
    """Remove what is not named; what is in `first` before the rest."""
    unnamed = [one for one in stored if one.name not in named and one.age > grace]
    unnamed.sort(key=lambda one: one.name not in (first or ()))
    removed = unnamed if dry_run else await blobs.delete(unnamed, grace=grace)
    gone = {one.key for one in removed}
    kept = [one for one in stored if one.key not in gone]
    return Swept(len(removed), _bytes(removed), len(kept), _bytes(kept))


async def _with_parts(blobs: Blobs, stored: list[StoredEntry], hashes: set[str]) -> set[str]:
    """Those of the hashes that are stored and, where one is a snapshot, the blobs that it names."""
    sizes = {one.name: one.size for one in stored if one.name}
    parts = await read_parts(blobs, sizes, hashes)
    return (hashes & sizes.keys()).union(*parts.values())


async def _refuse_when_shared(blobs: Blobs) -> None:
    others = await blobs.other_owners()
    if others:
        raise SettingsError(
            f"The blobs in {blobs.location} are named by the checkpoints of other data folders, too "
            f"({'; '.join(others[:5])}); give each a STEPWELL_BLOBS of its own to use gc."
        )


async def _refuse_when_damaged(saver: Saver) -> None:
    if found := sorted(await saver.unreadable_threads()):
        named = ", ".join(found[:5])
        raise SettingsError(
            f"What cannot be read needs blobs that nobody knows of (damaged: {named}), so nothing is removed; "
            f"{REPAIR}, or delete what is damaged with `stepwell delete THREAD`."
        )


def _bytes(stored: Iterable[StoredEntry]) -> int:
    return sum(one.size for one in stored)
