"""The checkpoints of a LangGraph server: ours, where deleting a thread removes its sandbox and its workspace, too."""

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graph.app import sandboxes, settings
from graph.checkpoints import open_checkpoints
from graph.saver import Saver
from graph.settings import SettingsError
from graph.thread_lock import ThreadHeldError, forget_lock, holding
from sandboxes.base import SandboxError

PATIENCE = 5.0
"""Seconds that a deletion waits for whoever works on the thread."""

logger = logging.getLogger(__name__)


class Opened:
    """The checkpoints that the server has opened: one store for each event loop."""

    def __init__(self) -> None:
        self._savers: dict[AbstractEventLoop, Saver] = {}

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[Saver]:
        """Open a store for the time of the block.

        Raises:
            SettingsError: it cannot be used.
        """
        loop = asyncio.get_running_loop()
        async with open_checkpoints(settings) as saver:
            saver.forget = forget
            self._savers[loop] = saver
            try:
                yield saver
            finally:
                self._savers.pop(loop, None)

    @property
    def here(self) -> Saver | None:
        """That of the running event loop; None where the server keeps checkpoints by itself."""
        return self._savers.get(asyncio.get_running_loop())


opened = Opened()


@asynccontextmanager
async def create_checkpointer() -> AsyncIterator[Saver]:
    """The checkpoints for a LangGraph server: those that the command and the Python API use. `langgraph.json` names it.

    Raises:
        SettingsError: as `open_checkpoints`.
    """
    async with opened.opening() as saver:
        yield saver


async def forget(thread: str) -> None:
    """Close the sandbox of a thread that is being deleted, and remove what this machine and Daytona keep for it.

    What cannot be removed stays, and the log says why: the thread is deleted all the same.
    """
    try:
        async with holding(thread, settings, patience=PATIENCE):
            await sandboxes.remove(thread)
        await asyncio.to_thread(forget_lock, thread, settings.home)
    except (SandboxError, SettingsError, ThreadHeldError, OSError) as error:
        logger.warning("The workspace of a deleted thread stays: %s", error, extra={"thread_id": thread})
