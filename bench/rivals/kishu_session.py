"""Kishu in an IPython shell, with its own hooks around each cell and its default settings.

Without a notebook server it needs what its own tests set: `TEST_NOTEBOOK_PATH` and `ENV_KISHU_TEST_MODE`, which skip
saving the notebook in a browser and count the commits.
"""

import builtins
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.rivals.session import Session, computed, serve

NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


class Kishu(Session):
    """The seconds of a step are those of Kishu's two hooks; the bytes are what its database grew by."""

    def __init__(self, store: Path) -> None:
        super().__init__(store)
        notebook = store / "notebook.ipynb"
        if not notebook.exists():
            notebook.write_text(NOTEBOOK)
        os.environ |= {
            "TEST_NOTEBOOK_PATH": str(notebook),
            "ENV_KISHU_TEST_MODE": "1",
            "KISHU_PATH_ROOT": str(store),
            "IPYTHONDIR": str(store / "ipython"),
        }
        from IPython.core.interactiveshell import InteractiveShell
        from kishu import jupyterint

        self._spent = self._cpu = 0.0
        self._database = store / "notebook.kishudb"
        self._size = 0
        for name in ("pre_run_cell", "post_run_cell"):
            setattr(jupyterint.KishuForJupyter, name, self._timed(getattr(jupyterint.KishuForJupyter, name)))
        self._shell = InteractiveShell.instance()
        builtins.get_ipython = lambda: self._shell  # type: ignore[attr-defined]  # as in a notebook
        jupyterint.init_kishu()

    def _timed(self, hook: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def timed(kishu: Any, info: Any) -> None:
            began, cpu = time.perf_counter(), computed()
            try:
                hook(kishu, info)
            finally:
                self._spent += time.perf_counter() - began
                self._cpu += computed() - cpu

        return timed

    @property
    def namespace(self) -> dict[str, Any]:
        """The variables."""
        namespace: dict[str, Any] = self._shell.user_ns
        return namespace

    def run(self, code: str, number: int) -> None:
        """Run a cell, with Kishu's hooks before and after it."""
        self._spent = self._cpu = 0.0
        self._shell.run_cell(code, store_history=True).raise_error()

    def keep(self, number: int) -> tuple[float, int, str, float]:
        """What Kishu has kept already."""
        before, self._size = self._size, self._database.stat().st_size
        return self._spent, max(0, self._size - before), "", self._cpu

    def restore(self, number: int) -> None:
        """Check out the commit of a cell."""
        self._shell.user_ns["_kishu"].checkout(f"1:0:{number}")

    def dump(self, file: Path) -> None:
        """Nothing: the hooks have done it."""

    def load(self, file: Path) -> None:
        """Nothing: see `restore`."""


if __name__ == "__main__":
    serve(Kishu)
