"""Pictures of PIL: one that is still read from a file goes on doing that; others keep what hangs on them."""

import ctypes
import gc
import importlib
import io
import os
import sys
from pickle import PicklingError
from typing import Any

from ..current_session import path_here, portable_path
from ..objects.attributes import with_hung
from ..objects.classes import is_users
from .shared_memory import part_of


def reduce_picture(pickler: Any, picture: Any) -> Any:
    """A picture with its pixels, or with the file out of which it takes them when it is asked for them."""
    space = vars(picture)
    file = space.get("fp") or space.get("_fp")
    unread = space.get("_im") is None and bool(space.get("tile"))
    if file is None or getattr(file, "closed", True) or not (unread or _has_frames(picture)):
        memory = _memory(pickler, picture) if "_readonly" in space else None
        if memory is None:
            kept = _kept(picture) | ({"_readonly": 1} if space.get("_readonly") else {})
            if (pixels := _bits(picture)) is not None:
                known = {**kept, "info": picture.info}
                return make_bits, (space["_size"], *pixels), (dict(picture.info), known), None, None, fill
            closed = {"fp": None} if "fp" in space and space["fp"] is None else {}
            return with_hung(picture.__reduce_ex__(5), kept | closed)
        known = {"palette": space.get("palette"), "_readonly": space["_readonly"], **_kept(picture)}
        return make_mapped, (*memory, space["_mode"], space["_size"]), (dict(picture.info), known), None, None, fill
    place = portable_path(file.name) if space.get("_exclusive_fp") and _is_at_its_path(file) else file
    drawn = space.get("_im") is not None and not space.get("tile")
    arguments = (place, picture.tell(), picture.tobytes() if drawn else None, picture.mode)
    how = {name: space[name] for name in OF_DECODING if unread and name in space}
    return open_picture, arguments, (dict(picture.info), _kept(picture) | how), None, None, fill


def _bits(picture: Any) -> tuple[bytes, int] | None:
    """The pixels of a picture in black and white, if white is not 255, which it would be as bits.

    Returns:
        The bits and what white is, or the pixels and 0 where it is several values; None for all other pictures.
    """
    if picture.mode != "1" or type(picture) is not importlib.import_module("PIL.Image").Image:
        return None
    others = [value for value, count in enumerate(picture.histogram()) if value and count]
    if others in ([], [WHITE]):
        return None
    if len(others) > 1:
        return picture.point(range(256), "L").tobytes(), 0
    return picture.tobytes(), others[0]


WHITE = 255


def make_bits(size: Any, pixels: bytes, white: int) -> Any:
    """A picture in black and white of its bits, or of its pixels."""
    library = importlib.import_module("PIL.Image")
    picture = library.new("1", size)
    if white:
        pixels = library.frombytes("1", size, pixels).convert("L").tobytes().translate(bytes(WHITE) + bytes([white]))
    picture.im.putdata(pixels)
    return picture


def _memory(pickler: Any, picture: Any) -> tuple[Any, int, int] | None:
    """Whose memory the pixels of a picture are, as `fromarray` makes it, where they begin in it, and their size."""
    pixel, export = MAPPED.get(picture.mode, 0), getattr(picture, "__arrow_c_array__", None)
    if not pixel or export is None or type(picture) is not importlib.import_module("PIL.Image").Image:
        return None
    try:
        _, exported = export()
    except (ValueError, MemoryError):  # it has no memory of one piece
        return None
    array = _Array.from_address(POINTER_IN(exported, b"arrow_array"))
    array = array.children[0].contents if array.n_children else array
    size = picture.width * picture.height * pixel
    place = pickler.reducers.memory.find(array.buffers[1] or 0, size)
    return place and (*place, size)


class _Array(ctypes.Structure):
    """An array as arrow hands it on from library to library."""


_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
]
POINTER_IN = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
MAPPED = {"L": 1, "P": 1, "RGBX": 4, "RGBA": 4, "CMYK": 4, "I;16": 2, "I;16L": 2, "I;16B": 2}
"""The bytes of a pixel, for modes of which PIL takes pixels where they are."""


def make_mapped(owner: Any, start: int, size: int, mode: str, shape: Any) -> Any:
    """A picture over a part of some memory."""
    pixels = part_of(owner, start, size)
    return importlib.import_module("PIL.Image").frombuffer(mode, shape, pixels, "raw", mode, 0, 1)


def _is_at_its_path(file: Any) -> bool:
    path = getattr(file, "name", None)
    return isinstance(path, str) and os.path.isfile(path) and os.path.samestat(os.stat(path), os.fstat(file.fileno()))


def _kept(picture: Any) -> dict[str, Any]:
    """What hangs on a picture, or its class has put there, and what it knows of its file."""
    space, kind = vars(picture), type(picture)
    plain = is_users(kind) or kind is importlib.import_module("PIL.Image").Image
    known = OF_PICTURE if plain else OF_PICTURE | OF_READERS
    kept = {name: one for name, one in space.items() if name not in known and (is_users(kind) or name[0] != "_")}
    kept |= {name: space[name] for name in OF_FILE if type(space.get(name)) in PLAIN}
    return kept | ({"_exif": space["_exif"]} if space.get("_exif") is not None else {})


OF_PICTURE = frozenset({"_im", "_mode", "_size", "palette", "info", "im", "readonly", "_readonly", "fp", "_fp", "tile"})
OF_DECODING = ("_mode", "_size", "tile", "decoderconfig")
"""How a picture is going to be read, which a `draft` changes."""
OF_FILE = ("filename", "_text", "text", "n_frames", "is_animated", "applist", "app", "quantization", "bits", "layers")
"""What a picture knows of its file once it has been read."""
PLAIN = (str, int, bool, list, dict)


def _has_frames(picture: Any) -> bool:
    try:
        return bool(getattr(picture, "is_animated", False)) or hasattr(picture, "tag_v2")
    except (OSError, ValueError, EOFError):  # a damaged file
        return False


OF_READERS = frozenset({
    "decoderconfig", "decodermaxblock", "custom_mimetype", "map", "png", "private_chunks", "text",
    "global_palette", "dispose", "disposal_method", "dispose_extent", "dispose_op", "default_image", "n_frames",
    "is_animated", "tag", "tag_v2", "ifd", "use_load_libtiff", "app", "applist", "bits", "layers", "layer", "icclist",
    "quantization", "huffman_dc", "huffman_ac", "blend_op", "mpinfo", "pyaccess",
})  # fmt: skip
"""What readers of PIL put into a picture."""


def open_picture(place: Any, frame: int, pixels: bytes | None, mode: str) -> Any:
    """The picture, opened again at its frame, with what was drawn on that."""
    library = importlib.import_module("PIL.Image")
    picture = library.open(path_here(place) if isinstance(place, str) else place)
    if frame:
        picture.seek(frame)
    if pixels is not None:
        picture.load()
        if picture.mode == mode and picture.tobytes() != pixels:
            picture.paste(library.frombytes(mode, picture.size, pixels), (0, 0))  # its own memory may be the file's
    return picture


def fill(picture: Any, state: Any) -> None:
    """Give it what is known of it, and what hung on it."""
    info, kept = state
    picture.info.clear()
    picture.info.update(info)
    picture.__dict__.update(kept)


def reduce_drawing(pickler: Any, drawing: Any) -> Any:
    """What draws into a picture: it is made for the picture again."""
    space = vars(drawing)
    picture = space.get("_image")
    if picture is None or space["im"] is not vars(picture).get("_im"):  # the picture has other pixels by now
        return NotImplemented
    kept = {name: one for name, one in space.items() if name not in OF_DRAWING}
    if kept.get("palette") is picture.palette:  # which the picture gets anew
        del kept["palette"]
    return make_drawing, (type(drawing), picture, space["mode"]), kept


OF_DRAWING = frozenset({"_image", "im", "draw"})


def make_drawing(kind: Any, picture: Any, mode: str) -> Any:
    """What draws into a picture."""
    drawing = kind.__new__(kind)
    importlib.import_module("PIL.ImageDraw").ImageDraw.__init__(drawing, picture, mode)
    return drawing


def reduce_font(pickler: Any, font: Any) -> Any:
    """A font out of a stream, which has been read to its end."""
    data = getattr(font, "font_bytes", None)
    if not isinstance(data, bytes) or not hasattr(font.path, "read"):
        return NotImplemented
    return make_font, (type(font), data, font.size, font.index, font.encoding, font.layout_engine)


def make_font(kind: Any, data: bytes, *settings: Any) -> Any:
    """A font out of its bytes."""
    return kind(io.BytesIO(data), *settings)


WORD = ctypes.sizeof(ctypes.c_void_p)


def reducers_of_pixels() -> dict[type, Any]:
    """The reducer of what `load` gives, whose class has no name anywhere."""
    library = sys.modules.get("PIL.Image")
    try:
        return {type(library.core.new("L", (1, 1)).pixel_access(0)): reduce_pixels} if library is not None else {}
    except Exception:  # it cannot be used, and says so to whoever asks
        return {}


def reduce_pixels(pickler: Any, pixels: Any) -> Any:
    """The pixels of a picture, to be read and set."""
    library = sys.modules["PIL.Image"]
    known = library.core.new("L", (1, 1))
    if not _is_in(known, known.pixel_access(0)):
        raise PicklingError("the pixels of a picture, which this version keeps in a way that is not known")
    memory = _memory_of(pixels)
    pictures = [one for one in gc.get_objects() if issubclass(type(one), library.Image)]
    picture = next((one for one in pictures if vars(one).get("_im") is memory), None)
    if picture is None:
        picture = pickler.reducers.pictures.setdefault(id(memory), library.Image()._new(memory))
    return make_pixels, (picture, bool(ctypes.c_int.from_address(id(pixels) + object.__basicsize__ + WORD).value))


def _memory_of(pixels: Any) -> Any:
    return ctypes.py_object.from_address(id(pixels) + object.__basicsize__).value


def _is_in(memory: Any, pixels: Any) -> bool:
    """Whether such an object is no more than the memory of a picture and a number, whether it can be read only."""
    held = ctypes.c_void_p.from_address(id(pixels) + object.__basicsize__).value
    return type(pixels).__basicsize__ == object.__basicsize__ + 2 * WORD and held == id(memory)


def make_pixels(picture: Any, is_read_only: bool) -> Any:
    """Those of a picture that was restored."""
    picture.load()
    return picture.im.pixel_access(int(is_read_only))
