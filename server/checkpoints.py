"""The checkpoints of a LangGraph server: ours, where deleting a thread removes its sandbox and its workspace, too."""

import asyncio
import logging
from asyncio import AbstractEventLoop, Task
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from graph.app import sandboxes, settings
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.saver import Saver
from graph.checkpoints.thread_lock import ThreadHeldError, forget_lock, hold_thread
from graph.settings import SettingsError
from sandboxes.base import SandboxError

PATIENCE = 5.0
"""Seconds that a deletion waits for whoever works on the thread."""

logger = logging.getLogger(__name__)


class OpenSavers:
    """The checkpoints that the server has opened: one store for each event loop."""

    def __init__(self) -> None:
        self._savers: dict[AbstractEventLoop, Saver] = {}
        self._deleting: dict[str, Task[None]] = {}

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[Saver]:
        """Open a store for the time of the block.

        Raises:
            SettingsError: it cannot be used.
        """
        loop = asyncio.get_running_loop()
        async with open_checkpoints(settings) as saver:
            saver.on_delete = partial(self._delete, saver)
            self._savers[loop] = saver
            try:
                yield saver
            finally:
                self._savers.pop(loop, None)
                await asyncio.gather(*(one for one in self._deleting.values() if one.get_loop() is loop))

    @property
    def here(self) -> Saver | None:
        """The store of the running event loop; None where the server keeps checkpoints itself."""
        return self._savers.get(asyncio.get_running_loop())

    async def deleted(self, thread: str) -> None:
        """Wait until a thread that is being deleted is gone."""
        if (task := self._deleting.get(thread)) is not None:
            await asyncio.wait([task])

    def _delete(self, saver: Saver, thread: str) -> None:
        """Delete a thread, a little later.

        The in-memory runtime of LangGraph looks up the place of the thread in its list, asks for this, and then takes
        out what is at that place: if it had to wait for us, that could be another thread by then.
        """
        task = asyncio.get_running_loop().create_task(_forget(saver, thread))
        self._deleting[thread] = task
        task.add_done_callback(lambda _: self._deleting.pop(thread, None))


open_savers = OpenSavers()


@asynccontextmanager
async def create_checkpointer() -> AsyncIterator[Saver]:
    """The checkpoints for a LangGraph server: those that the command and the Python API use. `langgraph.json` names it.

    Raises:
        SettingsError: as `open_checkpoints`.
    """
    async with open_savers.opening() as saver:
        yield saver


async def _forget(saver: Saver, thread: str) -> None:
    """Close a thread's sandbox, remove what this machine and Daytona keep for it, and then its checkpoints.

    What cannot be removed stays, and the log says why: for who asked, the thread is deleted all the same.
    """
    try:
        async with hold_thread(thread, settings, patience=PATIENCE):
            await sandboxes.remove(thread)
        await asyncio.to_thread(forget_lock, thread, settings.home)
    except (SandboxError, SettingsError, ThreadHeldError, OSError) as error:
        logger.warning("The workspace of a deleted thread stays: %s", error, extra={"thread_id": thread})
    try:
        await saver.delete_checkpoints([thread])
    except Exception:  # of whichever database; nobody waits for this task's own
        logger.exception("The checkpoints of a deleted thread stay", extra={"thread_id": thread})
