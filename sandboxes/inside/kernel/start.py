"""Starts the kernel, or a program of ours, by file path: `python -P -s start.py --control FD --lifeline FD`.

The folder of this file is loaded as the package `stepwell_kernel` without touching `sys.path`, so a `session.py` or a
`graph.py` in the workspace belongs to the user. Its modules have builtins of their own: what a cell replaces in
`builtins` stays as it was for them. With `--program FOLDER …` the folder's `__main__.py` is run instead,
as part of a package of its own, with the arguments that follow.
"""

import argparse
import builtins
import importlib.util
import os
import runpy
import sys
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from types import ModuleType

BUILTINS = dict(vars(builtins))
WITHOUT_LOCK = "Stepwell does not run on a Python that is built without the global interpreter lock"
"""Snapshots read memory that no thread changes meanwhile, and objects are kept in another way there."""


class _Loader(SourceFileLoader):
    """Loads modules that look for names in `BUILTINS`; functions keep what their module has when they are made."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = BUILTINS
        super().exec_module(module)


def load_package(folder: str, name: str) -> None:
    """Load a folder as a package of that name."""
    init = os.path.join(folder, "__init__.py")
    for place, _, _ in os.walk(folder):
        sys.path_importer_cache[place] = FileFinder(place, (_Loader, SOURCE_SUFFIXES))
    loader = _Loader(name, init)
    spec = importlib.util.spec_from_file_location(name, init, loader=loader, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {folder}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    if os.path.exists(init):
        spec.loader.exec_module(package)


def run_program(folder: str, arguments: list[str]) -> None:
    """Run a folder's `__main__` as part of a package of its own."""
    name = "stepwell_" + os.path.basename(os.path.normpath(folder))
    if name not in sys.modules:
        load_package(os.path.abspath(folder), name)
    sys.argv = [folder, *arguments]
    runpy.run_module(name + ".__main__", run_name="__main__", alter_sys=True)


def main() -> None:
    """Read the command line and become the kernel or the program."""
    if "t" in getattr(sys, "abiflags", ""):
        sys.exit(WITHOUT_LOCK)
    ours, program = sys.argv[1:], []
    if "--program" in ours:  # what follows the folder is the program's own business
        split = ours.index("--program")
        ours, program = ours[:split], ours[split + 1 :]
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=int)
    parser.add_argument("--lifeline", type=int)
    for name in ("--spool", "--blobs", "--cloudpickle", "--reach", "--inside"):
        parser.add_argument(name, default="")
    parser.add_argument("--network", default="none")
    parser.add_argument("--proxy", type=int, default=0)
    options = parser.parse_args(ours)
    load_package(os.path.dirname(os.path.abspath(__file__)), "stepwell_kernel")
    if options.lifeline is not None:
        importlib.import_module("stepwell_kernel.parent_death").die_with_peer(options.lifeline)
    if program:
        run_program(program[0], program[1:])
        return
    importlib.import_module("stepwell_kernel.session").Session(
        options.control,
        spool=options.spool,
        blobs=options.blobs,
        cloudpickle=options.cloudpickle,
        reach=options.reach,
        inside=options.inside,
        network=options.network,
        proxy=options.proxy,
    ).serve()


if __name__ == "__main__":
    main()
