"""Pictures of PIL: one that is read from a file, frame by frame, goes on doing that; others keep what hangs on them."""

import os
import sys
from typing import Any

from .attributes import with_hung
from .classes import is_users
from .singletons import found, portable_path


def reduce_picture(pickler: Any, picture: Any) -> Any:
    """A picture with its pixels, or with the file out of which it takes its frames."""
    space = vars(picture)
    kind = type(picture)
    drawn = {"_im", "_mode", "_size", "palette", "info", "im", "readonly", "_readonly"}
    if is_users(kind):
        kept = {name: one for name, one in space.items() if name not in drawn}
    else:
        known = _known(kind)
        kept = {name: one for name, one in space.items() if name not in drawn and name not in known and name[0] != "_"}
    if isinstance(space.get("filename"), str):
        kept["filename"] = space["filename"]
    file = space.get("fp") or space.get("_fp")
    if file is None or getattr(file, "closed", True) or not _has_frames(picture):
        return with_hung(picture.__reduce_ex__(5), kept)
    place, own = file, bool(space.get("_exclusive_fp"))
    if own and isinstance(getattr(file, "name", None), str) and os.path.isfile(file.name):
        place = portable_path(file.name)
    pixels = picture.tobytes() if space.get("_im") is not None and not space.get("tile") else None
    return (
        open_picture,
        (place, kind, picture.tell(), pixels, picture.mode),
        (dict(picture.info), kept),
        None,
        None,
        fill,
    )


def _has_frames(picture: Any) -> bool:
    try:
        return bool(getattr(picture, "is_animated", False))
    except (OSError, ValueError, EOFError):  # a damaged file
        return False


def _known(kind: type) -> frozenset[str]:
    library = sys.modules["PIL.ImageFile"]
    base = getattr(library, "ImageFile", None)
    return OF_FILES if base is not None and issubclass(kind, base) else frozenset()


OF_FILES = frozenset({
    "fp", "tile", "decoderconfig", "decodermaxblock", "custom_mimetype", "map", "png", "private_chunks", "text",
    "global_palette", "dispose", "disposal_method", "dispose_extent", "dispose_op", "default_image", "n_frames",
    "is_animated", "tag", "tag_v2", "ifd", "use_load_libtiff", "app", "applist", "bits", "layers", "layer", "icclist",
    "quantization",
    "huffman_dc", "huffman_ac", "blend_op", "mpinfo", "readonly", "pyaccess", "im",
})  # fmt: skip
"""What readers of PIL put into a picture."""


def open_picture(place: Any, frame: int, pixels: bytes | None, mode: str) -> Any:
    """The picture, opened again at its frame, with what was drawn on that."""
    import importlib

    library = importlib.import_module("PIL.Image")
    picture = library.open(found(place) if isinstance(place, str) else place)
    picture.seek(frame)
    if pixels is not None:
        picture.load()
        if picture.mode == mode and picture.tobytes() != pixels:
            picture.frombytes(pixels)
    return picture


def fill(picture: Any, state: Any) -> None:
    """Give it what is known of it, and what hung on it."""
    info, kept = state
    picture.info.clear()
    picture.info.update(info)
    picture.__dict__.update(kept)
