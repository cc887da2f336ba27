"""What inputs are called in the workspace."""

import unicodedata


def safe_name(name: str) -> str:
    """A file name that every system accepts, as close to the given one as can be."""
    name = "".join("_" if unicodedata.category(char)[0] == "C" or char in '<>:"/\\|?*' else char for char in name)
    name = unicodedata.normalize("NFC", name).strip(" .") or "input"
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix) > 12:
        stem, suffix = name, ""
    while len(stem.encode()) > 150:
        stem = stem[:-1]
    return f"{stem}.{suffix}" if suffix else stem


def unused_name(name: str, taken: set[str]) -> str:
    """The name itself, or with a number before its suffixes when it is taken."""
    stem, *suffixes = name.split(".")
    number, candidate = 1, name
    lowered = {other.lower() for other in taken}
    while candidate.lower() in lowered:
        number += 1
        candidate = ".".join([f"{stem}-{number}", *suffixes])
    return candidate
