"""What the files that cells made are called among the artifacts."""

import re
from collections.abc import Iterable

from storage.harmless_names import harmless_name
from storage.safe_names import safe_names

OURS = re.compile(r"answer(-\d+)?\.md|analysis\.py", re.IGNORECASE)
"""Names of artifacts that Stepwell writes itself."""


def published_names(paths: Iterable[str]) -> dict[str, str]:
    """For each workspace file its name among the artifacts.

    It is its own below `outputs/`, if every system takes that and no program looks for it.
    """
    return safe_names((path, _own_name(path)) for path in paths)


def is_renamed(path: str, name: str) -> bool:
    """Whether a workspace file has a name among the artifacts by which nobody who knows its path would look for it."""
    return name not in (path, path.removeprefix("outputs/"))


def reason_for(path: str) -> str:
    """Why a workspace file has another name among the artifacts, as the end of a sentence."""
    plain = path.removeprefix("outputs/")
    if harmless_name(plain) != plain:
        return ": programs look for files of its own name, or run them"
    return ", a name that every system takes"


def _own_name(path: str) -> str:
    """Its own name without what programs pick up, unless that could be another's."""
    name = harmless_name(path.removeprefix("outputs/"))
    return f"outputs/{name}" if path.startswith("outputs/") and _is_anothers(name) else name


def _is_anothers(name: str) -> bool:
    return OURS.fullmatch(name) is not None or name.startswith(("figures/", "outputs/"))


def shown(path: str) -> str:
    """A path that anybody may have made, with what cannot be seen of it written out."""
    return path if path.isprintable() else ascii(path)[1:-1]
