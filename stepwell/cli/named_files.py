"""Checks the files that a command line names, before anything starts."""

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from stepwell.cli.exits import complain
from stepwell.errors import UsageError


def named_files(names: Iterable[str]) -> list[str]:
    """The inputs that a command line names: globs expanded, local paths absolute, URLs as they are.

    Paths become absolute because a thread may be resumed from another folder.

    Raises:
        UsageError: a path does not exist or cannot be read, or a glob matches nothing.
    """
    found: dict[str, None] = {}
    for name in names:
        for file in _expanded(name):
            found[file] = None
    return list(found)


def _expanded(name: str) -> list[str]:
    if "://" in name:
        return [_fetchable(name)]
    if not name.strip():
        raise UsageError("A file's name is empty; leave it out, or check the quotes.")
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises when a user is unknown
    if os.path.lexists(path) or not glob.has_magic(name):
        return [_readable(path, name)]
    matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute patterns
    if not matches:
        raise UsageError(f"No file matches {name}; check the pattern and the folder ({Path.cwd()}).")
    from storage.inputs import fixed_folder, leading_out_text, within

    kept, leading_out = within(fixed_folder(str(path)), matches)
    if leading_out:
        told = leading_out_text(name, leading_out)
        if not kept:
            raise UsageError(told)
        complain(told)
    return [_readable(Path(match), match) for match in kept]


def _fetchable(url: str) -> str:
    from storage.inputs import InputError, is_url

    try:
        is_url(url)
    except InputError as error:
        raise UsageError(str(error)) from None
    return url


def _readable(path: Path, name: str) -> str:
    try:
        mode_known = path.is_dir() or path.is_file()
    except OSError as error:
        raise UsageError(f"{name} cannot be looked at: {error.strerror}.") from None
    if not path.exists():
        raise UsageError(f"{name} does not exist; check the path (the working directory is {Path.cwd()}).")
    if not mode_known:
        raise UsageError(f"{name} is neither a file nor a folder; save what it delivers to a file first.")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise UsageError(f"{name} cannot be read; check its permissions.")
    return os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links, and the user's own name is clearer
