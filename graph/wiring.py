"""From settings to a graph: which services its nodes are bound to."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.settings import Settings, named
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.host.limits import MEGABYTE
from sandboxes.host.session_pool import SessionPool
from sandboxes.opening import Sandboxes
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource
from storage.uploads import Uploads

if TYPE_CHECKING:  # what is made without a graph is there before LangGraph is imported
    from langgraph.graph import StateGraph

    from graph.context import Context
    from graph.functions.host_functions import HostFunctions
    from graph.functions.registry import HostFunction
    from graph.state import FinalOutput, StartInput, State
    from models.base import ChooseModel


def make_pool(settings: Settings) -> SessionPool:
    """The live sessions of several `Sandboxes` of one process, within the limits of these settings."""
    return SessionPool(capacity=settings.max_sandboxes, sleep_after=settings.sleep_after)


def make_sandboxes(settings: Settings, root: Path | None = None, *, pool: SessionPool | None = None) -> Sandboxes:
    """The sandboxes of a data folder: one folder a thread below `threads/`, or below `root`.

    Those below a `root` of their own are not put to sleep: they belong to who opened them, and nobody would wake them.
    """
    return Sandboxes(
        root or settings.home / "threads",
        python=settings.python,
        cache=settings.home / "cache",
        isolation=settings.isolation,
        require=settings.require_isolation,
        limits=settings.limits,
        sleep_after=settings.sleep_after if root is None else 0.0,
        max_live=settings.max_sandboxes,
        network=settings.network_rules,
        daytona=settings.daytona,
        docker=settings.docker,
        keep=root is None,
        pool=pool,
        copies=settings.kept_copies if root is None else 0,
    )


def make_blobs(settings: Settings, *, served: bool = False) -> Blobs:
    """Where snapshots are kept. Users of a server are not told where that is.

    Args:
        settings: What the operator configured.
        served: Whether a server's own checkpointer names them, which `stepwell gc` does not see: then they are kept
            apart.
    """
    default = settings.home / ("served-blobs" if served else "blobs")
    owner = settings.home / "blob-owner-served" if served else settings.blob_owner
    shown = "the store of snapshots" if settings.has_users else ""
    return Blobs.at(settings.blobs or str(default), owner=owner, shown=shown)


def make_uploads(settings: Settings) -> Uploads:
    """Where users of a server upload inputs."""
    return Uploads(
        settings.uploads_folder,
        max_bytes=settings.max_input_bytes,
        user_bytes=settings.upload_user_mb * MEGABYTE,
        types=frozenset(one.lower().lstrip(".") for one in named(settings.upload_types)),
        keep_seconds=settings.upload_days * 86_400,
    )


def make_functions(
    settings: Settings, functions: "Iterable[Callable[..., Any] | HostFunction]" = ()
) -> "HostFunctions":
    """What cells can call: functions of the caller's, and those of the MCP servers of these settings.

    Raises:
        FunctionError: one of the functions cannot be offered.
    """
    from graph.functions.host_functions import HostFunctions
    from graph.functions.mcp_servers import McpServers

    return HostFunctions(functions, source=McpServers(settings.mcp) if settings.mcp is not None else None)


def make_models(settings: Settings) -> "ChooseModel":
    """What turns names into chat models, with the endpoint of these settings."""
    from models.selection import make_chooser

    return make_chooser(
        model=settings.model,
        api_key=settings.openai_api_key.get_secret_value(),
        base_url=settings.openai_base_url,
        timeout=settings.model_timeout,
        max_retries=settings.model_retries,
        temperature=settings.temperature,
        served=settings.has_users,
    )


def wire(
    settings: Settings,
    sandboxes: Sandboxes,
    *,
    artifacts: Artifacts,
    blobs: Blobs,
    input_roots: tuple[Path, ...] | None,
    uploads: Uploads | None = None,
    functions: "HostFunctions | None" = None,
    choose_model: "ChooseModel | None" = None,
) -> "StateGraph[State, Context, StartInput, FinalOutput]":
    """The graph, bound to the model endpoint, the sandboxes and the storage of these settings.

    Args:
        settings: What the operator configured.
        sandboxes: Opened and closed by the caller.
        artifacts: Where finished files go.
        blobs: Where snapshots are kept.
        input_roots: Local inputs must lie below one of these; None: any that the caller's user can read.
        uploads: Where users of a server upload inputs; with them, URLs are limited as the settings say.
        functions: What cells can call of this program; closed by the caller. None: nothing.
        choose_model: Chooses models instead of `make_models`.
    """
    from graph.build import build_graph
    from graph.functions.host_functions import NO_FUNCTIONS
    from nodes.restoration.proofs import Proofs

    snapshots = SnapshotStore(blobs, keep_inputs=settings.shared)
    return build_graph(
        choose_model=choose_model or make_models(settings),
        open_sandbox=sandboxes.open,
        inputs=InputSource(
            settings.max_input_bytes,
            roots=input_roots,
            urls=named(settings.input_urls) if uploads is not None and settings.has_users else None,
            uploads=uploads,
        ),
        artifacts=artifacts,
        snapshots=snapshots,
        proofs=Proofs(snapshots, share=settings.proof_share, max_bytes=settings.proof_mb * MEGABYTE),
        prices=settings.price_list,
        functions=NO_FUNCTIONS if functions is None else functions,
        network=settings.network_rules,
    )
