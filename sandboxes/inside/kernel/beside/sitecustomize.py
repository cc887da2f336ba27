"""In Pythons that cells start: adds the packages that were installed for the analysis (see `kernel/packages.py`)."""

import importlib
import os
import sys


def _add() -> None:
    """Add their folders behind the standard library; those of another version of Python are left out."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    wanted = os.environ.get("SANDBOX_PACKAGES_PATH", "").split(os.pathsep)
    folders = [one for one in wanted if version in one.split(os.sep) or f"{version}t" in one.split(os.sep)]
    place = len(sys.path)
    for index, entry in enumerate(sys.path):
        if os.path.basename(entry) in ("site-packages", "dist-packages"):
            place = index
            break
    sys.path[place:place] = [folder for folder in folders if folder not in sys.path]


def _go_on() -> None:
    """Run the environment's own `sitecustomize`, which ours stands before."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours = sys.modules.pop("sitecustomize", None)
    at = [index for index, entry in enumerate(sys.path) if os.path.abspath(entry) == here]
    kept = list(sys.path)
    sys.path[:] = [entry for index, entry in enumerate(sys.path) if index not in at]
    try:
        importlib.import_module("sitecustomize")
    except ImportError:
        if ours is not None:
            sys.modules["sitecustomize"] = ours
    finally:
        sys.path[:] = kept


_add()
_go_on()
