"""Where inputs come from: local paths, folders and globs, URLs through fsspec, and a user's uploads."""

import asyncio
import glob
import hashlib
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from storage.missing_packages import missing
from storage.safe_names import safe_input_name
from storage.uploads import SCHEME, UploadError, Uploads

PROTOCOLS = ("http", "https", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "ftp", "sftp", "hf")
"""URL schemes that are fetched. `file:`, chained (`::`) and archive schemes are not: they would reach local files."""
MAX_FILES = 1_000
"""Files that one folder or glob may stand for."""
PIECE = 1 << 20
LONGEST_SHOWN = 200
LINKS_SHOWN = 5
HTTP_NOT_FOUND = 404


class InputError(ValueError):
    """An input cannot be fetched; the message is one sentence that says which and why."""


@dataclass(frozen=True, slots=True)
class FetchedInput:
    """An input file that lies on this machine now."""

    file: Path
    name: str
    """A name that is safe in any file system."""
    source: str
    """What the user named, without passwords."""
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class InputSource:
    """Fetches inputs, within the operator's limits."""

    max_bytes: int = 20_000_000_000
    roots: tuple[Path, ...] | None = None
    """Local inputs must lie below one of these; None: any path that this user can read."""
    urls: tuple[str, ...] | None = None
    """What URLs must begin with; None: any that can be fetched."""
    uploads: Uploads | None = None
    """Where `upload:…` is looked for; None: nowhere."""
    user: str = ""
    """Whose uploads may be taken."""

    def of(self, user: str) -> "InputSource":
        """The same for one user of a server."""
        return replace(self, user=user)

    async def expand(self, spec: str, left_out: list[str] | None = None) -> list[str]:
        """The files that a path, a folder, a glob or a URL stands for, sorted.

        Args:
            spec: What the user named.
            left_out: Takes the links of a folder or a glob that lead out of it: whoever made them may have meant
                files of others. Who wants such a file names it.

        Raises:
            InputError: there is none, or there are too many.
        """
        if not spec.strip():
            raise InputError("A file's name is empty; leave it out.")  # the empty path is the working directory
        if self._is_upload(spec):
            return [spec]
        if is_url(spec):
            self._allow(spec)
            return [spec]
        try:
            found, leading_out = await asyncio.to_thread(self._local_files, spec)
        except InputError:
            raise
        except (OSError, RuntimeError, ValueError) as error:  # too long, not allowed, `~nobody`, a NUL
            shown = spec if len(spec) <= LONGEST_SHOWN else spec[:LONGEST_SHOWN] + "…"
            raise InputError(f"{shown} cannot be looked at ({getattr(error, 'strerror', None) or error}).") from None
        if left_out is not None:
            left_out.extend(leading_out)
        if len(found) > MAX_FILES:
            raise InputError(f"{spec} stands for more than {MAX_FILES:,} files; name fewer.")
        return found

    @asynccontextmanager
    async def fetch(self, spec: str) -> AsyncIterator[FetchedInput]:
        """A file on this machine for the time of the block: a local one as it is, a URL's in a temporary file.

        Raises:
            InputError: it is missing, too large, not allowed, or cannot be fetched.
        """
        if self._is_upload(spec):
            path, name, size, sha256 = await asyncio.to_thread(self._uploaded, spec)
            yield FetchedInput(path, name, spec, size, sha256)
        elif is_url(spec):
            self._allow(spec)
            folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="stepwell-input-")
            try:
                target = Path(folder) / "download"
                size, sha256 = await asyncio.to_thread(self._download, spec, target)
                yield FetchedInput(target, _url_name(spec), without_password(spec), size, sha256)
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        else:
            path, size, sha256 = await asyncio.to_thread(self._look_at, spec)
            yield FetchedInput(path, safe_input_name(Path(spec).name), spec, size, sha256)

    def _is_upload(self, spec: str) -> bool:
        return self.uploads is not None and spec.startswith(SCHEME)

    def _uploaded(self, spec: str) -> tuple[Path, str, int, str]:
        assert self.uploads is not None
        try:
            file, upload = self.uploads.content(self.user, spec)
            with file.open("rb") as stream:
                return file, upload.name, upload.offset, hashlib.file_digest(stream, "sha256").hexdigest()
        except UploadError as error:
            raise InputError(str(error)) from None
        except OSError as error:
            raise InputError(f"{spec} cannot be read ({error.strerror or error}).") from None

    def _allow(self, url: str) -> None:
        if self.urls is not None and not any(url_is_below(url, beginning) for beginning in self.urls):
            raise InputError(
                f"{without_password(url)} is not among the URLs that this server fetches (STEPWELL_INPUT_URLS); "
                "upload the file instead."
            )

    def _only_allowed(self, url: str) -> dict[str, Any]:
        """Options for fsspec with which a redirection leads nowhere that the URL itself could not name."""
        if self.urls is None or urlsplit(url).scheme.lower() not in ("http", "https"):
            return {}

        async def look(request: Any, handler: Any) -> Any:
            self._allow(str(request.url))
            return await handler(request)

        # A session of its own: fsspec would hand out one that was made with other options.
        return {"client_kwargs": {"middlewares": (look,)}, "skip_instance_cache": True}

    def _local_files(self, spec: str) -> tuple[list[str], list[str]]:
        if self.roots is not None:
            # Before anything is looked for: the answer must not tell what there is outside.
            named = os.path.abspath(os.path.expanduser(spec))  # noqa: PTH100, PTH111 - without following links
            if not any(Path(named).is_relative_to(root.absolute()) for root in self.roots):
                raise _outside(spec)
        return _local_files(spec)

    def _look_at(self, spec: str) -> tuple[Path, int, str]:
        try:
            path = Path(spec).expanduser().resolve(strict=True)
            if self.roots is not None and not any(path.is_relative_to(root.resolve()) for root in self.roots):
                raise _outside(spec)
            if not path.is_file():
                raise InputError(f"{spec} is not a regular file.")
            size = path.stat().st_size
            if size > self.max_bytes:
                raise InputError(
                    f"{spec} has {size:,} bytes; the limit is {self.max_bytes:,} (STEPWELL_MAX_INPUT_BYTES)."
                )
            with path.open("rb") as stream:
                return path, size, hashlib.file_digest(stream, "sha256").hexdigest()
        except FileNotFoundError:
            raise InputError(f"{spec} does not exist.") from None
        except (OSError, RuntimeError) as error:
            raise InputError(f"{spec} cannot be read ({getattr(error, 'strerror', None) or error}).") from None

    def _download(self, url: str, target: Path) -> tuple[int, str]:
        shown = without_password(url)
        try:
            import fsspec  # here, since few inputs are URLs

            with fsspec.open(url, "rb", **self._only_allowed(url)) as stream, target.open("wb") as out:
                return self._copy(stream, out, shown)
        except InputError:
            raise
        except FileNotFoundError as error:
            # fsspec says "not found" of an unreachable host, too; only the cause tells.
            if error.__cause__ is None or getattr(error.__cause__, "status", None) == HTTP_NOT_FOUND:
                raise InputError(f"{shown} does not exist there.") from None
            raise InputError(f"{shown} cannot be fetched ({_one_line(error.__cause__, url)}).") from None
        except ImportError as error:
            raise InputError(f"{shown} {missing(error, served=self.urls is not None)}.") from None
        except Exception as error:  # every fsspec backend raises exceptions of its own
            raise InputError(f"{shown} cannot be fetched ({_one_line(error, url)}).") from None

    def _copy(self, stream: IO[bytes], out: IO[bytes], shown: str) -> tuple[int, str]:
        digest, size = hashlib.sha256(), 0
        while piece := stream.read(PIECE):
            size += len(piece)
            if size > self.max_bytes:
                raise InputError(f"{shown} is larger than {self.max_bytes:,} bytes (STEPWELL_MAX_INPUT_BYTES).")
            digest.update(piece)
            out.write(piece)
        return size, digest.hexdigest()


def is_url(spec: str) -> bool:
    """Whether a spec names a URL that is fetched.

    Raises:
        InputError: it is a URL of a kind that is not fetched.
    """
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", spec)
    if match is None and "::" not in spec:
        return False
    if match is None or "::" in spec or match[1].lower() not in PROTOCOLS:
        raise InputError(
            f"{without_password(spec)} cannot be fetched; known are {', '.join(PROTOCOLS)}, and local paths."
        )
    return True


def url_is_below(url: str, beginning: str) -> bool:
    """Whether a URL lies at or below another one: same scheme and host, and a path below; `*`: any URL does."""
    if beginning == "*":
        return True
    try:
        wanted, given = urlsplit(beginning), urlsplit(url)
    except ValueError:
        return False
    if given.scheme.lower() != wanted.scheme.lower() or "@" in given.netloc or re.search(r"[\s\\\x00-\x20\x7f]", url):
        return False
    if wanted.netloc and given.netloc.lower() != wanted.netloc.lower():
        return False
    parts = unquote(unquote(given.path)).split("/")
    below = wanted.path.rstrip("/")
    return ".." not in parts and (given.path == below or given.path.startswith(f"{below}/"))


def without_password(url: str) -> str:
    """The URL without user, password and query: what may be shown and remembered."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.split("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")) if parts.scheme else url


def _outside(spec: str) -> InputError:
    return InputError(f"{spec} lies outside the folders that this server takes inputs from (STEPWELL_INPUT_ROOTS).")


def within(folder: Path, files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those files that lie in a folder, and those that a link in it leads out to; blocks."""
    real = os.path.realpath(folder)
    kept: list[str] = []
    leading_out: list[str] = []
    for file in files:
        inside = Path(os.path.realpath(file)).is_relative_to(real)
        (kept if inside else leading_out).append(file)
    return kept, leading_out


def fixed_folder(pattern: str) -> Path:
    """The folder of a glob that stands before its first wildcard."""
    fixed = itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts[:-1])
    return Path(*fixed)


def leading_out_text(spec: str, links: Sequence[str]) -> str:
    """What is said of links that were left out."""
    names = ", ".join(Path(link).name for link in links[:LINKS_SHOWN])
    more = f" and {len(links) - LINKS_SHOWN} more" if len(links) > LINKS_SHOWN else ""
    return f"{spec}: left out, since links lead out of the folder: {names}{more}; name them to have them read."


def _local_files(spec: str) -> tuple[list[str], list[str]]:
    path = Path(spec).expanduser()
    if path.is_dir():
        files = (
            str(file)
            for file in path.rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
        found, leading_out = within(path, sorted(files))
        nothing = f"The folder {spec} holds no files."
    elif path.exists() or not glob.has_magic(spec):
        try:
            path.stat()  # `exists` says no of a name that is too long, too, from Python 3.14 on
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{spec} does not exist.") from None
        return [spec], []
    else:
        matches = sorted(file for file in glob.glob(str(path), recursive=True) if Path(file).is_file())  # noqa: PTH207 - absolute globs
        found, leading_out = within(fixed_folder(str(path)), matches)
        nothing = f"{spec} matches no files."
    if not found:
        raise InputError(leading_out_text(spec, leading_out) if leading_out else nothing)
    return found, leading_out


def _url_name(url: str) -> str:
    path = PurePosixPath(unquote(urlsplit(url).path))
    return safe_input_name(path.name or urlsplit(url).netloc or "input")


def _one_line(error: BaseException, url: str) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.replace(url, without_password(url))[:200]
