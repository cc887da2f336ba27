"""A route of ours: what it answers, how it refuses, and what the OpenAPI document says of it."""

import functools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette._utils import get_route_path
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from server.users import User
from stepwell.errors import RefusedError

Json = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "CONNECT"]
USER = "stepwell_user"
"""Where the guard leaves in the scope who sends the request."""
LINKED = "stepwell.linked"
"""Where the guard says in a scope that a request has a signed link to the file that it asks for."""
THREAD: Json = {
    "name": "thread_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "format": "uuid"},
    "description": "The thread's id.",
}
ERROR: Json = {
    "description": "Refused; `detail` says why in one sentence.",
    "content": {
        "application/json": {
            "schema": {"type": "object", "required": ["detail"], "properties": {"detail": {"type": "string"}}}
        }
    },
}


def response_schema(content: str = "application/json", schema: Json | None = None, description: str = "Done.") -> Json:
    """A response as OpenAPI describes it."""
    return {"description": description, "content": {content: {"schema": schema or {"type": "object"}}}}


def path_parameter(name: str, description: str, schema: Json | None = None) -> Json:
    """A part of the path as OpenAPI describes it."""
    of = schema or {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": of, "description": description}


def route(
    path: str,
    method: str,
    *,
    summary: str,
    responses: Mapping[int, Json],
    refusals: Sequence[int] = (),
    parameters: Sequence[Json] = (),
    body: Json | None = None,
    tag: str = "Stepwell",
    open_to_all: bool = False,
) -> Callable[[Endpoint], Route]:
    """Make a route of a function that answers a request.

    Args:
        path: As Starlette writes it.
        method: Of HTTP; with GET comes HEAD.
        summary: What it is for, in a few words.
        responses: By status, what it answers.
        refusals: Further statuses with a `detail`.
        parameters: Of path, query and headers.
        body: The request's body.
        tag: Under which heading it stands.
        open_to_all: Whether the description says that anybody may ask; `OPEN` of `server/guard.py` has it so.
    """

    def make(answering: Endpoint) -> Route:
        @functools.wraps(answering)
        async def endpoint(request: Request) -> Response:
            try:
                return await answering(request)
            except RefusedError as refusal:
                return refusal.answer()

        statuses = [*refusals, *(() if open_to_all else (401,))]
        described: Json = {
            "summary": summary,
            "tags": [tag],
            "parameters": list(parameters),
            "responses": {str(status): dict(one) for status, one in responses.items()}
            | {str(status): ERROR for status in statuses},
        }
        if body is not None:
            described["requestBody"] = body
        if open_to_all:
            described["security"] = []
        # Starlette reads what follows the dashes as YAML, of which JSON is a part.
        endpoint.__doc__ = f"{answering.__doc__}\n---\n{json.dumps(described)}"
        return Route(path, endpoint, methods=[method])

    return make


def fallback_route(routes: Sequence[Route]) -> Route:
    """The last of our routes: without it LangGraph's would be asked for what ours refuse, and answer 404."""

    async def refuse(request: Request) -> Response:
        path = get_route_path(request.scope)
        methods = {method for one in routes if one.path_regex.match(path) for method in one.methods or ()}
        if methods:
            return RefusedError(405, "Method Not Allowed", {"Allow": ", ".join(sorted(methods))}).answer()
        return RefusedError(404, "Not Found").answer()

    return Route("/stepwell/{rest:path}", refuse, methods=METHODS, include_in_schema=False)


def external_path(request: Request, path: str) -> str:
    """A path of ours as the sender has to ask for it: below the prefix that the server may be mounted at."""
    return f"{request.scope.get('root_path', '')}{path}"


def sender(request: Request) -> User:
    """Who sends a request, as the guard has found out."""
    user = request.scope.get(USER)
    if not isinstance(user, User):
        raise RefusedError(401, "Say who you are: send `Authorization: Bearer KEY` or `X-Api-Key: KEY`.")
    return user
