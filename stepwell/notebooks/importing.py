"""Importing a notebook: a new thread whose steps are its cells, run in order without a model."""

import asyncio
import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from graph.context import Context
from graph.functions.registry import HostFunction, functions_by_name
from graph.settings import Settings
from sandboxes.network import Network
from stepwell.notebooks.notebook_file import read_notebook
from stepwell.runs import Run


async def import_notebook(
    path: str | os.PathLike[str],
    *,
    files: Sequence[str | os.PathLike[str]] = (),
    keep_going: bool = False,
    context: Context | None = None,
    settings: Settings | None = None,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
    network: Network | None = None,
) -> Run:
    """Begin a thread that runs a notebook's code cells: `async for event in await stepwell.stream_notebook(…)`.

    Args:
        path: The notebook.
        files: What it reads: local paths, folders, globs, and URLs. They lie where the notebook looks for them.
        keep_going: Whether a cell that fails does not end the import.
        context: The knobs of this run and of further questions; the model is that of further questions.
        settings: What the operator configured; None reads the environment.
        functions: What cells can call of this program.
        network: What cells may reach, before what the settings say.

    Raises:
        FunctionError: one of the functions cannot be offered.
        NotebookError: the notebook cannot be imported.
    """
    notebook = await asyncio.to_thread(read_notebook, path, keep_going=keep_going)
    given = (files,) if isinstance(files, str | os.PathLike) else files
    count = len(notebook["cells"])
    return Run(
        str(uuid.uuid4()),
        f"Import the notebook {notebook['name']}: run its {count} code cell{'' if count == 1 else 's'} in order.",
        tuple(os.fspath(file) for file in given),
        context=context or Context(),
        settings=settings,
        functions=tuple(functions_by_name(functions).values()),
        network=network,
        notebook=notebook,
    )
