"""Starts a part of the bridge by file path: `python3 -P -s start.py serve BASE`, or `… start.py do BASE < request`.

The folder above the bridge's is loaded as the package `stepwell_inside`, so that the bridge finds the kernel beside it,
without touching `sys.path`.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys


def load(folder: str) -> None:
    """Make a folder the package `stepwell_inside`; it needs no file of its own."""
    spec = importlib.machinery.ModuleSpec("stepwell_inside", None, is_package=True)
    spec.submodule_search_locations = [folder]
    sys.modules["stepwell_inside"] = importlib.util.module_from_spec(spec)


if __name__ == "__main__":
    version: tuple[int, ...] = sys.version_info[:2]
    if version < (3, 11):
        sys.exit(f"Stepwell needs Python 3.11 or newer in the sandbox; its python3 is {sys.version.split()[0]}.")
    load(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    part = "serving" if sys.argv[1] == "serve" else "commands"
    importlib.import_module(f"stepwell_inside.bridge.{part}").main(sys.argv[2])
