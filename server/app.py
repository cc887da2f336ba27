"""What the server adds to LangGraph's routes: `http.app` in langgraph.json."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from graph.app import artifacts, consumption, draining, links, policy, sandboxes, settings, uploads
from graph.env_files import make_home
from graph.settings import named
from sandboxes.host.descriptors import raise_limit
from server.admission import Admission
from server.artifact_routes import get_artifact, list_artifacts
from server.auth import users
from server.bodies import BodyLimits
from server.crons import remove_ownerless
from server.deletion import Deletion
from server.export_routes import export
from server.guard import Guard
from server.mcp_results import McpResults
from server.open_requests import Connections
from server.page_access import PAGE, PageAccess, sign_in_routes
from server.page_backend import ServedThreads, ServerBackend
from server.rates import RateLimiter, handlers
from server.readiness import health, readiness, ready
from server.routing import fallback_route
from server.shutdown import graceful_shutdown
from server.step_routes import get_step, get_step_file, list_steps
from server.telemetry import metrics, observe
from server.upload_routes import about_uploads, continue_upload, create_upload, get_upload, list_uploads, remove_upload
from stepwell.page.app import page_app

SWEEP_SECONDS = 3_600.0
THREADS = 64
"""For what waits for disks and storages."""

logger = logging.getLogger(__name__)

connections = Connections()
send_spans = observe()

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
    """Find out whether cells run here, sweep old uploads away; end without loss, and send the last spans."""
    raise_limit()
    with contextlib.suppress(OSError):  # whoever writes there says what is wrong with it
        await asyncio.to_thread(make_home, settings.home)
    # The default is made for computing: few threads, which a storage that is away would keep busy one and all.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "stepwell"))
    beside = [asyncio.create_task(_sweep()), asyncio.create_task(readiness.run_trial())]
    if users.auth_required:
        beside.append(asyncio.create_task(remove_ownerless()))
    try:
        async with graceful_shutdown(draining, sandboxes, connections):
            try:
                yield
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.wait(beside)
                await served.close()
    finally:
        await asyncio.to_thread(send_spans)


async def _sweep() -> None:
    while True:
        try:
            if removed := await uploads.sweep():
                logger.info("%d old uploads were removed.", removed)
        except OSError as error:
            logger.warning("Old uploads cannot be removed now (%s).", error)
        await asyncio.sleep(SWEEP_SECONDS)


served = ServedThreads(
    settings.model_copy(update={"artifacts": settings.artifacts or str(settings.home / "artifacts")}), policy, uploads
)
page = page_app(
    lambda request: ServerBackend(request, served),
    more=sign_in_routes(users, secure=settings.public_url.startswith("https:")),
    public_url=settings.public_url,
)


async def to_page(request: Request) -> Response:
    """Redirect people who leave out the slash to the page."""
    return RedirectResponse(f"{PAGE[1:]}/", 307)  # relative: below whatever the server is mounted at


all_routes = [
    *routes,
    fallback_route(routes),
    Route(PAGE, to_page, include_in_schema=False),
    Mount(PAGE, PageAccess(page, users)),
]
middleware = [
    Middleware(connections.middleware),
    Middleware(Guard, users=users, origins=named(settings.origins), links=links),
    Middleware(RateLimiter, policy=policy),
    Middleware(BodyLimits, bodies=policy.bodies if policy is not None else None),
    Middleware(Admission, policy=policy, consumption=consumption),
    Middleware(Deletion, artifacts=artifacts, consumption=consumption),
    Middleware(McpResults),
]
app = Starlette(routes=all_routes, middleware=middleware, lifespan=lifespan, exception_handlers={**handlers})
