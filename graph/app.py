"""The graph that a LangGraph server serves: wired from the settings, without a checkpointer of its own."""

from pathlib import Path

from graph.draining import Draining
from graph.guarded import GuardedGraph
from graph.settings import read_settings, server_keeps_our_checkpoints
from graph.wiring import make_blobs, make_functions, make_sandboxes, make_uploads, wire
from storage.artifacts import Artifacts

settings = read_settings()
roots = tuple(Path(root).expanduser() for root in settings.input_roots.split(":") if root)
sandboxes = make_sandboxes(settings)
artifacts = Artifacts.at(settings.artifacts or str(settings.home / "artifacts"))
blobs = make_blobs(settings, served=not server_keeps_our_checkpoints(settings))
uploads = make_uploads(settings)
draining = Draining(settings.drain_seconds)

agent = GuardedGraph.around(
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
)
