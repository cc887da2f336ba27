"""Which thread a notebook works on: kept beside the threads, so that a restarted kernel finds it again."""

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NotebookThread:
    """The thread of a notebook, and how far it is."""

    thread: str = ""
    """Empty: its first cell begins one."""
    cells: int = 0


class NotebookThreads:
    """The thread of one notebook; all methods block for a moment.

    Args:
        folder: Where they are kept.
        notebook: The notebook's path, or what else names it.
    """

    def __init__(self, folder: Path, notebook: str) -> None:
        self._file = folder / f"{hashlib.sha256(notebook.encode('utf-8', 'replace')).hexdigest()[:32]}.json"
        self._notebook = notebook

    @classmethod
    def of(cls, home: Path, connection: str) -> "NotebookThreads":
        """Those of the notebook that Jupyter names; else of the connection, which outlives a restart.

        Args:
            home: The data folder.
            connection: The connection's file.
        """
        name = os.environ.get("JPY_SESSION_NAME", "")
        notebook = name if name.endswith(".ipynb") else Path(connection or f"process {os.getpid()}").name
        return cls(home / "notebook-threads", notebook)

    def read(self) -> NotebookThread:
        """What is kept; nothing where nothing is, or where it cannot be read."""
        try:
            said = json.loads(self._file.read_text("utf-8"))
            return NotebookThread(str(said["thread"]), int(said["cells"]))
        except (OSError, ValueError, KeyError, TypeError):
            return NotebookThread()

    def write(self, now: NotebookThread) -> None:
        """Keep it, in the place of what was kept."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self._file.parent, delete=False) as file:
            json.dump({**asdict(now), "notebook": self._notebook}, file)
        os.replace(file.name, self._file)  # noqa: PTH105
