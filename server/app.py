"""What the server adds to LangGraph's routes: `http.app` in langgraph.json."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware

from graph.app import artifacts, draining, sandboxes, settings, uploads
from graph.settings import named
from server.artifacts import export, get_artifact, list_artifacts
from server.auth import users
from server.connections import Connections
from server.ending import ending_well
from server.forgetting import Forgetting
from server.guard import Guard
from server.health import health, ready
from server.metrics import metrics
from server.observing import observe
from server.routing import closing
from server.step_routes import get_step, get_step_file, list_steps
from server.traces import configured
from server.upload_routes import about_uploads, continue_upload, create_upload, get_upload, list_uploads, remove_upload

SWEEP_SECONDS = 3_600.0
THREADS = 64
"""For what waits for disks and storages."""

logger = logging.getLogger(__name__)

connections = Connections()
traces = configured()
observe(traces)

routes = [
    health,
    ready,
    metrics,
    about_uploads,
    create_upload,
    list_uploads,
    get_upload,
    continue_upload,
    remove_upload,
    list_artifacts,
    get_artifact,
    export,
    list_steps,
    get_step,
    get_step_file,
]


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Sweep old uploads away while the server runs; end without loss, and send the last traces."""
    # The default is made for computing: few threads, which a storage that is away would keep busy one and all.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "stepwell"))
    sweeping = asyncio.create_task(_sweep())
    try:
        async with ending_well(draining, sandboxes, connections):
            yield
    finally:
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping
        await asyncio.to_thread(traces.close)


async def _sweep() -> None:
    while True:
        try:
            if removed := await uploads.sweep():
                logger.info("%d old uploads were removed.", removed)
        except OSError as error:
            logger.warning("Old uploads cannot be removed now (%s).", error)
        await asyncio.sleep(SWEEP_SECONDS)


all_routes = [*routes, closing(routes)]
middleware = [
    Middleware(connections.watching),
    Middleware(Guard, users=users, origins=named(settings.origins)),
    Middleware(Forgetting, artifacts=artifacts),
]
app = Starlette(routes=all_routes, middleware=middleware, lifespan=lifespan)
