"""Variables from `.env` files: of the data folder always, of the working directory once that folder is trusted.

A `.env` may decide which programs run, with which isolation, and where keys are sent; and a folder may come from
somebody else, by download or from an analysis. So its file decides nothing until its user has trusted it, and nothing
again once it has changed. The data folder itself is made here, for its owner alone.
"""

import errno
import hashlib
import io
import json
import logging
import os
import re
import secrets
import shlex
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
from dotenv import dotenv_values
from dotenv.parser import parse_stream

PRIVATE, OTHERS = 0o700, 0o077


def make_home(home: Path) -> None:
    """Make the data folder; one that others can look into, as older versions made them, is closed to them, and said.

    What is in it needs no rights of its own then. A folder that is not for Stepwell alone (the user's home, the working
    directory, one like /tmp) is left as it is. Blocks.

    Raises:
        OSError: it cannot be made.
    """
    with suppress(FileExistsError):
        home.parent.mkdir(parents=True, exist_ok=True)
        home.mkdir(mode=PRIVATE)
        return
    if not home.is_dir():
        raise FileExistsError(errno.EEXIST, "it is a file", str(home))
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & OTHERS and not mode & stat.S_ISVTX and home not in (Path.home(), Path.cwd()):
        with suppress(PermissionError):  # it is somebody else's, who decides who may look into it
            home.chmod(mode & ~OTHERS)
            logger.warning("Other users of this machine could look into the data folder %s; now they cannot.", home)


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
CONCERNS_US = re.compile(
    r"(?:STEPWELL|OPENAI|ANTHROPIC|AWS|AZURE|GOOGLE|DAYTONA|LANG(?:SMITH|CHAIN|GRAPH)|HF|OTEL|SSL|REQUESTS)_"
    r"|.*_(?:API_KEY|BASE_URL|API_BASE|TOKEN)$|(?:https?|all|no)_proxy$",
    re.IGNORECASE,
)
"""Variables whose absence somebody should know of; others may be meant for other programs."""
MAX_BYTES = 1 << 20
SHOWN = 6

logger = logging.getLogger(__name__)
_told: set[tuple[Path, str]] = set()
_homes_from_files: set[str] = set()
"""What files have set STEPWELL_HOME to in this process: where settings are read once more, the same files count."""


class EnvFileError(Exception):
    """A `.env` file cannot be used; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class EnvFile:
    """What a `.env` file says."""

    path: Path
    """Absolute; which links lead there does not matter."""
    sha256: str
    values: dict[str, str] = field(repr=False)

    def apply(self) -> None:
        """Put its variables into the environment of this process, where they are not set already."""
        for name, value in self.values.items():
            os.environ.setdefault(name, value)

    def without_effect(self) -> list[str]:
        """Its variables that concern us and that the environment does not have."""
        return [
            name for name, value in self.values.items() if CONCERNS_US.match(name) and os.environ.get(name) != value
        ]


@dataclass(frozen=True, slots=True)
class TrustedFolders:
    """The folders whose `.env` files may decide: remembered in the data folder, by path and content.

    All methods raise EnvFileError where what is remembered cannot be read.
    """

    home: Path

    @property
    def file(self) -> Path:
        """Where they are remembered."""
        return self.home / "trusted.json"

    def listed(self) -> dict[str, str]:
        """By the path of each `.env` file that was trusted: the SHA-256 of what it was then."""
        try:
            said = json.loads(self.file.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise EnvFileError(f"{self.file} cannot be read ({error}); move it away and trust folders anew.") from None
        known = said.items() if isinstance(said, dict) else ()
        return {path: sha256 for path, sha256 in known if isinstance(sha256, str)}

    def hold(self, file: EnvFile) -> bool:
        """Whether this very content was trusted there."""
        return self.listed().get(str(file.path)) == file.sha256

    def add(self, file: EnvFile) -> None:
        """Trust it as it is."""
        self._write({**self.listed(), str(file.path): file.sha256})

    def remove(self, path: Path) -> bool:
        """Trust it no more. Returns whether it was trusted."""
        listed = self.listed()
        there = listed.pop(str(path), None) is not None
        if there:
            self._write(listed)
        return there

    def _write(self, listed: dict[str, str]) -> None:
        make_home(self.home)
        aside = self.file.with_name(f"trusted-{secrets.token_hex(8)}.partial")
        try:
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                json.dump(listed, out, indent=1)
            aside.replace(self.file)
        finally:
            aside.unlink(missing_ok=True)


def home_folder() -> Path:
    """The data folder as the environment alone names it, without what a `.env` file has put there."""
    named = os.environ.get("STEPWELL_HOME", "")
    if named in _homes_from_files:
        named = ""
    try:
        return Path(os.path.abspath(Path(named).expanduser())) if named else platformdirs.user_data_path("stepwell")  # noqa: PTH100 - following no links
    except RuntimeError:  # whoever reads the settings is told
        return platformdirs.user_data_path("stepwell")


def read_env_file(folder: Path) -> EnvFile | None:
    """The `.env` file of a folder; None: it has none, or is no folder. Blocks.

    Raises:
        EnvFileError: it cannot be read.
    """
    path = Path(os.path.realpath(folder)) / ".env"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would have us wait
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EnvFileError(f"The file {path} cannot be read ({error.strerror}); fix it or move it away.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None  # a virtual environment may be called so
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise EnvFileError(f"The file {path} is larger than {MAX_BYTES:,} bytes; fix it or move it away.")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise EnvFileError(f"The file {path} is not UTF-8 text; fix it or move it away.") from None
    said = dotenv_values(stream=io.StringIO(text))
    values = {name: value for name, value in said.items() if value is not None and NAME.fullmatch(name)}
    return EnvFile(path, hashlib.sha256(content).hexdigest(), values)


def read_own_file(home: Path) -> EnvFile | None:
    """The `.env` file of the data folder, which decides without being trusted. Blocks.

    Raises:
        EnvFileError: it cannot be read or understood, or others could have written it.
    """
    found = read_env_file(home)
    if found is None:
        return None
    if found.path.stat().st_mode & stat.S_IWOTH:
        raise EnvFileError(
            f"Everybody on this machine can write {found.path}, which decides where keys go; look through it, then "
            f"close it with: chmod 600 {shlex.quote(str(found.path))}"
        )
    for binding in parse_stream(io.StringIO(found.path.read_text("utf-8"))):
        if binding.error:
            raise EnvFileError(f"Line {binding.original.line} of {found.path} is not NAME=VALUE; fix or remove it.")
    return found


def load_env_files() -> None:
    """Load the working directory's `.env` into the environment, if it is trusted, and then that of the data folder.

    Variables that are set stay. What an untrusted file would have set is said once, in one line.

    Raises:
        EnvFileError: a file that counts cannot be read.
    """
    home = home_folder()
    own = read_own_file(home)
    try:
        here = read_env_file(Path())
    except EnvFileError as error:  # nobody can have trusted it as it is now
        _tell(Path.cwd() / ".env", str(error), f"{error} Nothing of it is applied.")
        here = None
    if here is not None and (own is None or here.path != own.path):
        if TrustedFolders(home).hold(here):
            if "STEPWELL_HOME" not in os.environ:
                _homes_from_files.add(here.values.get("STEPWELL_HOME", ""))
            here.apply()
        elif ignored := here.without_effect():
            more = f" and {len(ignored) - SHOWN} more" if len(ignored) > SHOWN else ""
            _tell(
                here.path,
                here.sha256,
                f"{ascii(str(here.path))[1:-1]} is not trusted, so these of its variables are ignored: "
                f"{', '.join(ignored[:SHOWN])}{more}. `stepwell trust` shows what it would decide, and trusts it.",
            )
    if own is not None:
        own.values.pop("STEPWELL_HOME", None)
        own.apply()


def _tell(path: Path, version: str, text: str) -> None:
    if (path, version) not in _told:
        _told.add((path, version))
        logger.warning("%s", text)
