"""Names of files that every system takes: Windows, macOS, Linux, object storage, and a person who reads them.

A character that is not safe becomes `%` and the hexadecimal of its UTF-8 bytes, as in URLs, so the name can be read
back; a name that is reserved, too long, or the same as another's where case does not count gets a mark of its own. The
same path always gets the same name, as long as the same others are beside it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

MAX_PART = 250
"""Bytes of one part of a path; 255 is the usual limit."""
MAX_PATH = 800
"""Bytes of all of it: keys of object storage have 1,024."""
MAX_SUFFIX = 20
FORBIDDEN = frozenset('<>:"\\|?*')
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?", re.IGNORECASE)
"""Names of devices on Windows, with any suffix."""
WRITTEN = re.compile(r"%(?=[0-9A-F]{2})")
JOINERS = frozenset("\u200c\u200d")
"""Invisible, and part of words and of emoji."""


def safe_name(path: str) -> str:
    """A path whose parts are names that every system takes.

    Args:
        path: Relative, with `/` between its parts; undecodable bytes as surrogates, as `os.fsdecode` has them.
    """
    name = "/".join(_safe_part(part) for part in path.split("/"))
    if len(name.encode()) <= MAX_PATH:
        return name
    return f"{_mark(path)}/{name.rpartition('/')[2]}"


def safe_names(paths: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names for several files that can lie in one folder, also where case and composition of letters do not count.

    Args:
        paths: For each file what it is known by, and the path that it would have.

    Returns:
        By what it is known by: its name.
    """
    found: dict[str, str] = {}
    files: set[str] = set()
    folders: set[str] = set()
    for known, path in sorted(paths):
        name, mark = _beside(safe_name(path), files), known
        plain = name
        while _folded(name) in files | folders:
            name, mark = _marked(plain, mark), _mark(mark)
        found[known] = name
        files.add(_folded(name))
        folders.update(_above(_folded(name)))
    return found


def _beside(name: str, files: set[str]) -> str:
    """The name with other folders where there are files of their names."""
    *folders, last = name.split("/")
    for count, folder in enumerate(folders):
        mark = folder
        while _folded("/".join(folders[: count + 1])) in files:
            folders[count], mark = _marked(folder, mark), _mark(mark)
    return "/".join([*folders, last])


def _safe_part(part: str) -> str:
    name = "".join(_safe_character(character) for character in unicodedata.normalize("NFC", WRITTEN.sub("%25", part)))
    core = name.strip(" ").rstrip(". ")
    start = len(name) - len(name.lstrip(" "))
    name = "%20" * start + core + "".join(f"%{ord(one):02X}" for one in name[start + len(core) :])
    if RESERVED.fullmatch(name):
        name = f"_{name}"
    return name if len(name.encode()) <= MAX_PART else _shortened(name, part)


def _safe_character(character: str) -> str:
    category = unicodedata.category(character)
    if character in FORBIDDEN or (category in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co") and character not in JOINERS):
        return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
    return character


def _shortened(name: str, part: str) -> str:
    """The beginning of a name, a mark of the whole, and its suffix."""
    stem, suffix = _split(name)
    room = MAX_PART - len(suffix.encode()) - 9
    kept = stem.encode()[:room].decode("utf-8", "ignore")
    return f"{re.sub('%[0-9A-F]?$', '', kept)}~{_mark(part)}{suffix}"


def _marked(name: str, known: str) -> str:
    folder, slash, last = name.rpartition("/")
    stem, suffix = _split(last)
    marked = f"{stem}~{_mark(known)}{suffix}"
    return f"{folder}{slash}{marked if len(marked.encode()) <= MAX_PART else _shortened(last, known)}"


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, f".{suffix}") if stem and dot and len(suffix.encode()) <= MAX_SUFFIX else (name, "")


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _folded(name: str) -> str:
    """A name as systems compare them for which case and composition do not count."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _above(name: str) -> list[str]:
    """The folders that a path leads through."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
