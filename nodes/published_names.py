"""What the files that cells made are called among the artifacts."""

import re
from collections.abc import Iterable

from storage.safe_names import safe_names

OURS = re.compile(r"answer(-\d+)?\.md|analysis\.py", re.IGNORECASE)
"""Names of artifacts that Stepwell writes itself."""


def published_names(paths: Iterable[str]) -> dict[str, str]:
    """For each workspace file its name among the artifacts: its own below `outputs/`, if every system takes that."""
    return safe_names((path, _own_name(path)) for path in paths)


def _own_name(path: str) -> str:
    """Its own name, unless that could be another's."""
    name = path.removeprefix("outputs/")
    return path if OURS.fullmatch(name) or (name != path and name.startswith(("figures/", "outputs/"))) else name


def shown(path: str) -> str:
    """A path that anybody may have made, with what cannot be seen of it written out."""
    return path if path.isprintable() else ascii(path)[1:-1]
