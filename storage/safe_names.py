"""Names of files that every system takes, that no program picks up, and that stay apart."""

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


DATA = frozenset(
    {
        "arrow", "avro", "bib", "bin", "bmp", "bz2", "cpg", "css", "csv", "dat", "db", "dbf", "docx", "dta", "duckdb",
        "eps", "epub", "feather", "fits", "geojson", "geoparquet", "gexf", "gif", "gml", "gpkg", "gpx", "graphml", "gz",
        "h5", "hdf", "hdf5", "htm", "html", "ics", "ipynb", "joblib", "jpeg", "jpg", "jsonl", "keras", "kml", "kmz",
        "las", "laz", "log", "m4a", "mat", "mkv", "mov", "mp3", "mp4", "nc", "ndjson", "npy", "npz", "nt", "odp", "ods",
        "odt", "ogg", "onnx", "orc", "parquet", "pbf", "pdf", "pickle", "pkl", "ply", "pmml", "png", "por", "pptx",
        "prj", "ps", "psv", "pt", "rda", "rdata", "rds", "rtf", "safetensors", "sas7bdat", "sav", "shp", "shx",
        "sqlite", "sqlite3", "srt", "stl", "svg", "tab", "tar", "tex", "tgz", "tif", "tiff", "topojson", "tsv", "ttf",
        "ttl", "vcf", "vtt", "wav", "webm", "webp", "wkt", "woff2", "xls", "xlsb", "xlsm", "xlsx", "xpt", "xz", "zarr",
        "zip", "zst",
    }
)  # fmt: skip
"""Suffixes of what somebody opens by its name, and of nothing that programs look for."""
TEXTS = frozenset({"json", "md", "rst", "txt", "xml", "yaml", "yml"})
"""Suffixes of documents that also configure programs: the names of those programs' files are not for results."""
SCRIPTS = frozenset({"do", "jl", "js", "m", "py", "qmd", "r", "rmd", "sas", "sql"})
"""Suffixes of programs that somebody may want to run, and runs by their names."""
SCRIPT = "script-"
"""Before a script's name: no import, no test runner and no start-up rule finds a name that begins so."""
TEXT = "file-"
"""Before the name of a text that would configure a program."""
TAKEN = frozenset(
    {
        "_bookdown", "_extension", "_metadata", "_output", "_quarto", "_site", "_targets", "_toc", "_variables",
        "action", "aegra", "agent", "agents", "angular", "antora", "apm", "app", "application", "appsettings",
        "authors", "biome", "bower", "build", "bundle", "cdk", "circle", "claude", "cmakelists", "cmakepresets",
        "cmakeuserpresets", "codecov", "compile_commands", "compile_flags", "compose", "composer",
        "copilot-instructions", "crush", "cspell", "cypress", "dagster", "dbt_project", "deno", "dependabot", "devbox",
        "devcontainer", "devfile", "docker-compose", "dub", "dvc", "eas", "environment", "expo", "fastmcp", "firebase",
        "fly", "galaxy", "gemini", "gitversion", "global", "helmfile", "hie", "hugo", "jest", "kustomization",
        "langgraph", "launch", "lefthook", "lerna", "mcp", "melos", "meson_options", "mkdocs", "mlproject", "myst",
        "netlify", "next", "nodemon", "now", "nuget", "nx", "omnisharp", "opencode", "package", "phpcs", "phpunit",
        "pnpm-workspace", "pom", "prefect", "process-compose", "project", "psalm", "pubspec", "pulumi", "pylock",
        "qwen", "railway", "renovate", "requirements", "rush", "samconfig", "serverless", "skaffold", "skill",
        "snapcraft", "stack", "taskfile", "tasks", "tslint", "turbo", "vcpkg", "vercel", "warp", "workspace",
        "wrangler",
    }
)  # fmt: skip
"""Words of such files' names, in lower case."""
TAKEN_ENDS = re.compile(r"(?:config|configuration|settings|manifest|presets?)$")
"""How the names of many others end: `tsconfig.json`, `_config.yml`."""
WORDS_BEGIN = ("L", "N", "So", "Sc", "Ps", "Pi")
"""Categories of characters with which a part may begin."""
ALSO_BEGIN = frozenset("%#+&!'")
FOLDER_SUFFIX = re.compile(r"\.(?=[^\W\d][^ .]{0,19} *$)")
"""The last dot of a folder that could say what kind of bundle it is: `.app`, `.dist-info`; not that of `v1.2`."""


def harmless_name(path: str) -> str:
    """A path of the same meaning under which no program looks for its own files.

    Args:
        path: Relative, with `/` between its parts; undecodable bytes as surrogates.
    """
    *folders, last = path.split("/")
    return "/".join([*(_folder(part) for part in folders), _file(last)])


def _folder(part: str) -> str:
    part = _begun(part)
    if _suffix(part) in DATA:
        return part
    while (plain := FOLDER_SUFFIX.sub("_", part)) != part:  # what stood before a suffix may be one, too
        part = plain
    return part


def _file(part: str) -> str:
    part = _begun(part)
    suffix = _suffix(part)
    if suffix in DATA:
        return part
    if suffix in SCRIPTS:
        return part if part.startswith(SCRIPT) else f"{SCRIPT}{part}"
    if suffix not in TEXTS:
        part = f"{part}.txt"
    return f"{TEXT}{part}" if _is_taken(part) else part


def _begun(part: str) -> str:
    """The part behind `_`, unless it begins as a word does."""
    first = _seen(part)[:1]
    plain = bool(first) and (unicodedata.category(first).startswith(WORDS_BEGIN) or first in ALSO_BEGIN or first == "_")
    return part if plain else f"_{part.lstrip('.') or part}"


def _is_taken(part: str) -> bool:
    stem = _seen(part).rpartition(".")[0].strip()
    words = [word.strip() for word in (stem, *stem.split("."))]
    return not stem.startswith(TEXT) and any(word in TAKEN or TAKEN_ENDS.search(word) is not None for word in words)


def _suffix(part: str) -> str:
    stem, dot, suffix = _seen(part).rpartition(".")
    return suffix if dot and stem else ""


def _seen(part: str) -> str:
    """A name as the most careless of systems compares it: without case, composition, and what cannot be seen."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", part).casefold())
    return "".join(one for one in folded if unicodedata.category(one) not in ("Cf", "Cc"))


def safe_input_name(name: str) -> str:
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
