"""The graph that a LangGraph server serves: wired from the settings, without a checkpointer of its own."""

from pathlib import Path

from graph.guarded import GuardedGraph
from graph.settings import read_settings, server_keeps_our_checkpoints
from graph.wiring import make_blobs, make_functions, make_sandboxes, wire
from storage.artifacts import Artifacts

settings = read_settings()
roots = tuple(Path(root).expanduser() for root in settings.input_roots.split(":") if root) or (Path(),)
sandboxes = make_sandboxes(settings)

agent = GuardedGraph.around(
    wire(
        settings,
        sandboxes,
        artifacts=Artifacts.at(settings.artifacts or str(settings.home / "artifacts")),
        blobs=make_blobs(settings, served=not server_keeps_our_checkpoints(settings)),
        input_roots=roots,
        functions=make_functions(settings),
    ).compile(name="stepwell"),
    settings,
    sandboxes,
)
