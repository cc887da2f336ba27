"""The data folder, which nobody but its user can look into: it has questions, data, variables and answers."""

import errno
import logging
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE, OTHERS = 0o700, 0o077

logger = logging.getLogger(__name__)


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
