"""Making room: `gc` removes blobs that no checkpoint names, `delete` removes a thread and what only it held."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from graph.checkpoints.damage import REPAIR
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.saver import Saver
from graph.checkpoints.thread_lock import any_thread_held, forget_lock
from graph.settings import Settings, SettingsError, settings_or_default
from graph.wiring import make_blobs, make_sandboxes
from nodes.restoration.manifests import MAX_MANIFEST, NotRestoredError, blobs_of
from sandboxes.base import SandboxError
from stepwell.errors import ThreadError
from stepwell.locks import lock_thread
from storage.blob_folder import StoredEntry
from storage.blobs import GRACE_SECONDS, BlobError, BlobMissingError, Blobs, BlobTooLargeError

AT_ONCE = 8
"""Manifests that are read at the same time."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What was removed, or would be."""

    removed: int
    """Blobs."""
    removed_bytes: int
    kept: int
    kept_bytes: int


async def gc(*, grace: float = GRACE_SECONDS, dry_run: bool = False, settings: Settings | None = None) -> Swept:
    """Remove the blobs that no checkpoint of any thread names, and what killed writers left behind.

    Analyses may go on meanwhile: what was stored within the grace period stays, since the checkpoint that names it may
    still be on its way.

    Args:
        grace: Seconds. Less than a cell and its snapshot take is safe only while nothing runs.
        dry_run: Remove nothing, only count.
        settings: Whose data folder; None reads the environment.

    Raises:
        SettingsError: the store cannot be used, another data folder's checkpoints name blobs in it, too, or a thread is
            damaged.
    """
    settings = await settings_or_default(settings)
    blobs = make_blobs(settings)
    try:
        async with open_checkpoints(settings) as saver:
            await _refuse_when_shared(blobs)
            await _refuse_when_damaged(saver)
            # Listed before the checkpoints are read: what is named later than that was stored later, and is young.
            stored = [one async for one in blobs.names()]
            named = await _with_parts(blobs, stored, await saver.referenced_hashes())
        return await _sweep(blobs, stored, named, grace=grace, dry_run=dry_run)
    except BlobError as error:
        raise SettingsError(str(error)) from None


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
        mine = await saver.referenced_hashes(thread)
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


async def _sweep(blobs: Blobs, stored: list[StoredEntry], named: set[str], *, grace: float, dry_run: bool) -> Swept:
    unnamed = [one for one in stored if one.name not in named and one.age > grace]
    removed = unnamed if dry_run else await blobs.delete(unnamed, grace=grace)
    gone = {one.key for one in removed}
    kept = [one for one in stored if one.key not in gone]
    return Swept(len(removed), _bytes(removed), len(kept), _bytes(kept))


async def _with_parts(blobs: Blobs, stored: list[StoredEntry], hashes: set[str]) -> set[str]:
    """Those of the hashes that are stored and, where one is a snapshot, the blobs that it names."""
    sizes = {one.name: one.size for one in stored if one.name}
    there = [name for name in sorted(hashes) if name in sizes]
    turn = asyncio.Semaphore(AT_ONCE)

    async def parts(name: str) -> set[str]:
        if sizes[name] > MAX_MANIFEST:
            return set()
        async with turn:
            try:
                return await asyncio.to_thread(blobs_of, await blobs.read(name, max_bytes=MAX_MANIFEST))
            except (
                NotRestoredError,
                BlobMissingError,
                BlobTooLargeError,
            ):  # no snapshot, or one that cannot be used any more
                return set()

    found = await asyncio.gather(*(parts(name) for name in there))
    return {*there, *(name for names in found for name in names)}


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
