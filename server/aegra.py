"""What the server adds to Aegra's routes: the same as to LangGraph's, as Aegra wants it; named in deploy/aegra/.

Aegra takes applications of FastAPI alone, which it brings along itself.
"""

from importlib import import_module
from typing import Any

from fastapi import FastAPI, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from server.app import all_routes, lifespan, middleware
from server.auth import users
from server.crons import has_owner
from server.rates import handlers, refusal


async def _answer(request: Request, error: Any) -> Response:
    """As Aegra answers, with the status and the sentence of the graph's refusal where the error comes from one."""
    refused = refusal(error)
    if refused is not None:
        error = HTTPException(refused.status, str(refused))
    # Aegra imports this module while it is imported itself.
    response: Response = await import_module("aegra_api.main").agent_protocol_exception_handler(request, error)
    return response


app = FastAPI(
    title="Stepwell",
    routes=all_routes,
    middleware=middleware,
    lifespan=lifespan,
    exception_handlers={**handlers, HTTPException: _answer},
)


async def _is_somebodys(user: Any) -> bool:
    return has_owner(user)


if users.auth_required:
    # Aegra's own place for this: it disables a cron whose user is not valid, before it makes a run of it.
    import_module("aegra_api.services.cron_scheduler").__dict__["_validate_cron_user"] = _is_somebodys
