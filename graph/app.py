"""The graph that a LangGraph server serves: wired from the settings, without a checkpointer of its own."""

import logging
import os
from pathlib import Path

from graph.drain import Drain
from graph.locked_graph import LockedGraph
from graph.settings import NO_ISOLATION_WARNING, read_settings, server_keeps_our_checkpoints
from graph.users.policy import read_policy
from graph.wiring import make_blobs, make_functions, make_sandboxes, make_uploads, wire
from storage.artifacts import Artifacts
from storage.signed_links import LinkSigner

ROUTE = "/stepwell/threads/{thread}/artifacts/{name}"
"""Where published files are had; `server.artifact_routes` answers there."""
OWN_ADDRESS = "LANGGRAPH_API_URL"
"""The variable in which `langgraph dev` says where it listens."""

settings = read_settings()
if settings.without_isolation:
    logging.getLogger(__name__).error("%s", NO_ISOLATION_WARNING)
roots = tuple(Path(root).expanduser() for root in settings.input_roots.split(":") if root)
sandboxes = make_sandboxes(settings)
links = LinkSigner(settings.home / "links.key", settings.link_secret.get_secret_value(), settings.link_days * 86_400)
artifacts = Artifacts.at(
    settings.artifacts or str(settings.home / "artifacts"),
    route=(settings.public_url or os.environ.get(OWN_ADDRESS, "").rstrip("/")) + ROUTE,
    signer=links,
    hidden=settings.has_users,  # users of a server are not told where it keeps things
)
blobs = make_blobs(settings, served=not server_keeps_our_checkpoints(settings))
uploads = make_uploads(settings)
draining = Drain(settings.drain_seconds)
policy = read_policy(settings)

agent = LockedGraph.around(
    wire(
        settings,
        sandboxes,
        artifacts=artifacts,
        blobs=blobs,
        # Where there are users, none of them reads this machine's files unless the operator says which.
        input_roots=roots or (() if settings.has_users else (Path(),)),
        uploads=uploads,
        functions=make_functions(settings),
    ).compile(name="stepwell"),
    settings,
    sandboxes,
    draining,
    policy,
)
consumption = agent.consumption
