"""What runs inside, packed for the way there: one archive, named by what is in it. All functions block."""

import functools
import hashlib
import io
import tarfile
from pathlib import Path

from sandboxes.inside import PROGRAMS
from sandboxes.local.child_process import cloudpickle_path

OURS = ("kernel", "bridge", "profiler", "prober")


@functools.cache
def ours() -> tuple[str, bytes]:
    """Our programs and cloudpickle: the name of their folder, and the archive."""
    files = {f"{name}/{path}": data for name in OURS for path, data in _sources(PROGRAMS / name).items()}
    if cloudpickle := cloudpickle_path():
        files["cloudpickle.py"] = Path(cloudpickle).read_bytes()
    return _packed(files)


def another(folder: Path) -> tuple[str, bytes]:
    """A program that is not among ours, under its own name."""
    return _packed({f"{folder.name}/{path}": data for path, data in _sources(folder).items()})


def _sources(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _packed(files: dict[str, bytes]) -> tuple[str, bytes]:
    digest, written = hashlib.sha256(), io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz", compresslevel=6) as archive:
        for path, data in sorted(files.items()):
            digest.update(f"{path}\0{len(data)}\0".encode() + data)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return digest.hexdigest()[:32], written.getvalue()
