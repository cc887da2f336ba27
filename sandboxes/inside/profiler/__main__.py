"""Start the profiler from its folder: `python -P -s <folder> --chars 2000 inputs/a.csv …` prints one JSON list."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> int:
    """Load this folder as the package `stepwell_profiler`, whatever it is called, and run it."""
    folder = Path(__file__).resolve().parent
    # Python puts a folder that it runs on the path; its file names must not stand in for anyone's modules.
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != folder]
    spec = spec_from_file_location(
        "stepwell_profiler", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{folder} is not the profiler's folder")
    package = module_from_spec(spec)
    sys.modules["stepwell_profiler"] = package
    spec.loader.exec_module(package)
    from stepwell_profiler.profiling import main as run  # type: ignore[import-not-found,unused-ignore]

    return int(run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
