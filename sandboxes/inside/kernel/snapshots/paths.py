"""Paths in snapshots: one inside the workspace is kept relative to it, because another session's may be elsewhere."""

import os

from .specials import Live

INSIDE = "workspace:"


def kept(path: str | os.PathLike[str]) -> str:
    """A path as a snapshot has it."""
    full = os.path.abspath(path)
    root = os.path.join(Live.root, "")
    return INSIDE + full[len(root) :] if (full + os.sep).startswith(root) else full


def found(path: str) -> str:
    """A path of a snapshot in this session."""
    return os.path.normpath(os.path.join(Live.root, path[len(INSIDE) :])) if path.startswith(INSIDE) else path
