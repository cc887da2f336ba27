"""Names of published files that no program picks up by itself.

What a cell wrote is a stranger's file. Shells, version control, editors, build tools, test runners and Python's own
import look for files by name in the folder that somebody stands in, and run what they find. So this is an allow rule:
a name stays when its parts begin like a word and its suffix says that it holds data, a document or a picture; scripts
keep their suffix below a name that nothing imports; everything else becomes a text file.
"""

import re
import unicodedata

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
