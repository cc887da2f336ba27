"""Routes of a thread's steps: the tree, each step's code, output, variables and files."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graph.app import blobs
from graph.checkpoints.step_tree import Step, StepTree, step_tree, step_tree_from_states
from graph.state import State
from nodes.restoration.given_up_steps import given_up_step
from nodes.restoration.manifests import NotRestoredError
from sandboxes.inside.kernel.snapshots.storing.blobs import CHUNK
from server.checkpoints import open_savers
from server.file_response import FILE, RangeFileResponse
from server.platform import Platform
from server.routing import THREAD, path_parameter, response_schema, route, sender
from stepwell.errors import RefusedError
from stepwell.snapshot_manifest import ManifestFile, SnapshotManifest, read_manifest
from storage.blobs import BlobError
from storage.published_files import PublishedFile, StoredFile, is_plain


async def tree_of(request: Request, thread: str) -> StepTree:
    """Read a thread's tree as the sender of a request may see it.

    Raises:
        RefusedError: there is no such thread, or it is not the sender's.
    """
    platform = Platform(request)
    await platform.require_thread(thread)
    saver = open_savers.here
    return await step_tree(saver, str(UUID(thread))) if saver is not None else await _from_states(platform, thread)


async def newest_values(request: Request, thread: str) -> dict[str, Any]:
    """What the newest checkpoint of a thread holds by itself: all but the channels that grow.

    Raises:
        RefusedError: there is no such thread, or it is not the sender's.
    """
    platform = Platform(request)
    saver = open_savers.here
    if saver is None:
        return dict(await platform.state(thread))
    await platform.require_thread(thread)
    return await saver.channel_values(str(UUID(thread)))


async def _from_states(platform: Platform, thread: str) -> StepTree:
    """Read all checkpoints, each with its whole state."""
    cells: dict[str, Any] = {}
    rows: list[tuple[str, str, Any]] = []
    async for checkpoint_state in platform.checkpoints(thread):
        values: Any = checkpoint_state.get("values") or {}
        # The same cell comes with every checkpoint after it, and is kept once.
        line = [cells.setdefault(json.dumps(cell, sort_keys=True), cell) for cell in values.get("cells") or []]
        state = {
            "cells": line,
            "question": values.get("question") or "",
            "turns": [None] * len(values.get("turns") or []),
        }
        rows.append((_id(checkpoint_state.get("checkpoint")), _id(checkpoint_state.get("parent_checkpoint")), state))
    return step_tree_from_states(rows[::-1])


def _id(checkpoint: Any) -> str:
    return str((checkpoint or {}).get("checkpoint_id") or "")


STEP = path_parameter("step", "The step's name: `3`, on a branch `4b`; `head` is where the thread is now.")


@route(
    "/stepwell/threads/{thread_id}/steps",
    "GET",
    summary="The tree of a thread's steps",
    parameters=[THREAD],
    responses={200: response_schema()},
    refusals=[404, 503],
    tag="Stepwell: steps",
)
async def list_steps(request: Request) -> Response:
    """In the order in which they were made; `parent` makes them a tree, and `head` is where the thread is now."""
    sender(request)
    thread = request.path_params["thread_id"]
    tree = await tree_of(request, thread)
    return JSONResponse({"thread": thread, "steps": [_line(step) for step in tree.steps]})


@route(
    "/stepwell/threads/{thread_id}/steps/{step}",
    "GET",
    summary="A step: code, output, variables, files",
    parameters=[THREAD, STEP],
    responses={200: response_schema()},
    refusals=[404, 503],
    tag="Stepwell: steps",
)
async def get_step(request: Request) -> Response:
    """What is remembered of it; nothing is restored for it."""
    sender(request)
    thread = request.path_params["thread_id"]
    tree = await tree_of(request, thread)
    step = _found(tree, request.path_params["step"])
    state = await Platform(request).state(thread, step.checkpoint) if step.checkpoint else State()
    kept = await _kept(step)
    files = kept.files if kept is not None else {}
    return JSONResponse(
        {
            "thread": thread,
            **_line(step),
            **(step.cell or {}),
            "namespace": state.get("namespace") or [],
            "workspace": {path: file.size for path, file in files.items()},
            "inputs": [one["path"] for one in state.get("inputs") or []],
            "comes_back": _comes_back(step, tree, kept),
        }
    )


@route(
    "/stepwell/threads/{thread_id}/steps/{step}/files/{path:path}",
    "GET",
    summary="A file of the workspace, as it was after a step",
    parameters=[THREAD, STEP, path_parameter("path", "Its path in the workspace, such as `figures/cell-3-1.png`.")],
    responses=FILE,
    refusals=[404, 416, 503],
    tag="Stepwell: steps",
)
async def get_step_file(request: Request) -> Response:
    """Figures and outputs before they are published, and older versions of them; read from the step's snapshot."""
    sender(request)
    step = _found(await tree_of(request, request.path_params["thread_id"]), request.path_params["step"])
    kept = await _kept(step)
    file = kept.files.get(request.path_params["path"]) if kept is not None else None
    if file is None or not is_plain(file.path):
        raise RefusedError(404, "There is no such file in this step's snapshot.")
    return RangeFileResponse(request, file.path, partial(_opened, file), known=(file.size, _version(file)))


def _found(tree: StepTree, name: str) -> Step:
    step = tree.head if name == "head" else tree.named(name)
    if step is None or step.cell is None:
        raise RefusedError(404, "This thread has no such step.")
    return step


def _comes_back(step: Step, tree: StepTree, kept: SnapshotManifest | None) -> str:
    if kept is not None:
        return "from its snapshot"
    cells = [one.cell for one in tree.line(step) if one.cell is not None]
    given_up = given_up_step(cells, tree.given_up)
    return given_up.text if given_up is not None else "by running cells again"


async def _kept(step: Step) -> SnapshotManifest | None:
    if step.given_up is not None:
        return None
    snapshot: Any = step.cell.get("snapshot") if step.cell is not None else None
    if not isinstance(snapshot, str) or not snapshot:
        return None
    try:
        return await read_manifest(blobs, snapshot, count_missing=False)
    except (NotRestoredError, BlobError, ValueError):
        return None


@asynccontextmanager
async def _opened(file: ManifestFile) -> AsyncIterator[PublishedFile]:
    """The file as its pieces lie in the store; only those of the part that is asked for are read."""
    if len(file.chunks) != -(-file.size // CHUNK):
        raise RefusedError(404, "This step's snapshot is damaged.")
    yield StoredFile(blobs, file.chunks, file.size, _version(file), piece=CHUNK)


def _version(file: ManifestFile) -> str:
    return hashlib.sha256(",".join(file.chunks).encode()).hexdigest()[:32]


def _line(step: Step) -> dict[str, Any]:
    cell: Any = step.cell or {}
    return {
        "id": step.name,
        "number": step.number,
        "branch": step.branch,
        "parent": step.parent,
        "head": step.head,
        "when": step.when.isoformat() if step.when else None,
        "question": step.question,
        "purpose": cell.get("purpose", ""),
        "status": cell.get("status", ""),
        "checkpoint": step.checkpoint,
        "given_up": step.given_up.as_json() if step.given_up is not None else None,
    }
