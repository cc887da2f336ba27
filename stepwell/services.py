"""What runs need besides their thread: checkpoints, sandboxes, functions and storage, opened once for many of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.saver import Saver
from graph.functions.host_functions import HostFunctions
from graph.functions.registry import HostFunction
from graph.settings import Settings
from graph.wiring import make_blobs, make_functions, make_sandboxes, wire
from models.base import ChooseModel
from sandboxes.host.session_pool import SessionPool
from sandboxes.opening import Sandboxes
from stepwell.threads import Graph
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.uploads import Uploads


@dataclass(frozen=True)
class Services:
    """Made by `open_services`; sandboxes that a run opens stay open for the next one."""

    settings: Settings
    saver: Saver
    sandboxes: Sandboxes
    functions: HostFunctions
    artifacts: Artifacts
    blobs: Blobs
    input_roots: tuple[Path, ...] | None = None
    """Local inputs must lie below one of these; None: any that this user can read."""
    uploads: Uploads | None = None
    """Where users of a server upload inputs; with them, URLs are limited as the settings say."""

    @cached_property
    def graph(self) -> Graph:
        """The graph over these, compiled once: that takes as long as running a small cell."""
        return self.graph_with(None)

    def graph_with(self, choose_model: ChooseModel | None) -> Graph:
        """The graph over these.

        Args:
            choose_model: Chooses models; None: the settings do.
        """
        builder = wire(
            self.settings,
            self.sandboxes,
            artifacts=self.artifacts,
            blobs=self.blobs,
            input_roots=self.input_roots,
            uploads=self.uploads,
            functions=self.functions,
            choose_model=choose_model,
        )
        return builder.compile(checkpointer=self.saver, name="stepwell")


@asynccontextmanager
async def open_services(
    settings: Settings,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
    *,
    saver: Saver | None = None,
    input_roots: tuple[Path, ...] | None = None,
    uploads: Uploads | None = None,
    pool: SessionPool | None = None,
    sandboxes: Sandboxes | None = None,
) -> AsyncIterator[Services]:
    """The services of these settings, for the time of the block.

    Args:
        settings: What the operator or the user configured.
        functions: What cells can call of this program.
        saver: The checkpoints, which the caller has opened; None: they are opened here.
        input_roots: Local inputs must lie below one of these; None: any that this user can read.
        uploads: Where users of a server upload inputs; with them, URLs are limited as the settings say.
        pool: Live sessions that count together with those of other services; None: these alone.
        sandboxes: Opened and closed by the caller; None: they are opened here.

    Raises:
        FunctionError: one of the functions cannot be offered.
        SettingsError: the data folder or the database cannot be used.
    """
    offered = make_functions(settings, functions)
    opened: AbstractAsyncContextManager[Sandboxes] = (
        nullcontext(sandboxes) if sandboxes is not None else make_sandboxes(settings, pool=pool)
    )
    checkpoints: AbstractAsyncContextManager[Saver] = (
        nullcontext(saver) if saver is not None else open_checkpoints(settings)
    )
    async with checkpoints as kept, opened as there, offered:
        artifacts = await asyncio.to_thread(Artifacts.at, settings.artifacts)
        yield Services(settings, kept, there, offered, artifacts, make_blobs(settings), input_roots, uploads)
