"""Builds the wheel: every top-level package is put below `stepwell`, and the names of its modules are rewritten.

In the checkout the packages stand side by side, as `langgraph.json`, type checkers and editable installs have them.
Installed beside other code, names like `models` and `server` belong to somebody else, so `models.replies` becomes
`stepwell.models.replies`: in imports, and in strings and comments where a module of that name exists.
docs/decisions/0026-install.md says why.
"""

import ast
import io
import json
import re
import shutil
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OWN = "stepwell"
LOCAL = "."
TEXTS = {tokenize.STRING, tokenize.COMMENT}
FORMATTED = re.compile(r"[rR]?[fF]")


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # its argument is of no use to a hook
    """Puts the rewritten files into a wheel that is not editable."""

    _folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is written."""
        if version == "editable":
            return
        self._folder = tempfile.mkdtemp()
        rewriting = Rewriting(Path(self.root), self.config["below"])
        for name, text in rewriting.files():
            file = Path(self._folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
            file.chmod(0o755 if text.startswith(b"#!") else 0o644)
            build_data["force_include"][str(file)] = f"{OWN}/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after it."""
        if self._folder:
            shutil.rmtree(self._folder)


class Rewriting:
    """Rewrites the names of the modules of a checkout.

    Args:
        root: The checkout.
        below: Packages that are put below `stepwell`.
    """

    def __init__(self, root: Path, below: list[str]) -> None:
        self._root = root
        self._below = below
        self._name = re.compile(rf"(?<![\w./])(?:{'|'.join(below)})(?:\.[a-z_]\w*)+")

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The files of the wheel by their place below `stepwell`; of `stepwell` itself those that are rewritten."""
        for package in [*self._below, OWN]:
            if package != OWN and (self._root / OWN / package).exists():
                raise ValueError(f"{OWN}/{package} exists, and {package} is to be put there.")
            for file in sorted((self._root / package).rglob("*")):
                place = file.relative_to(self._root / OWN if package == OWN else self._root).as_posix()
                if file.suffix == ".py":
                    yield place, self.python(file.read_text("utf-8"), place).encode()
                elif file.is_file() and package != OWN and "__pycache__" not in file.parts:
                    yield place, file.read_bytes()
        yield "langgraph.json", json.dumps(self._served(), indent=2).encode()

    def _served(self) -> dict[str, Any]:
        """What a LangGraph server is told, without what only a checkout has."""
        said: dict[str, Any] = json.loads(self._text((self._root / "langgraph.json").read_text("utf-8")))
        said["dependencies"] = [OWN if one == LOCAL else one for one in said["dependencies"]]
        del said["env"]  # a file beside the checkout's
        return said

    def python(self, source: str, place: str) -> str:
        """A module's source with the names rewritten; every line stays where it is.

        Args:
            source: As it is in the checkout.
            place: Where it is, for messages.
        """
        lines = source.splitlines(keepends=True)
        for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
            (row, start), (last, end) = token.start, token.end
            if token.type in TEXTS and not FORMATTED.match(token.string):
                new = self._text(token.string)
            elif token.type == tokenize.NAME and token.string in self._below and self._imports(lines[row - 1][:start]):
                new = f"{OWN}.{token.string}"
            else:
                continue
            if new != token.string:
                lines[row - 1 : last] = [lines[row - 1][:start] + new + lines[last - 1][end:]]
        rewritten = "".join(lines)
        for node in ast.walk(ast.parse(rewritten)):
            for one in node.names if isinstance(node, ast.Import) else []:
                if one.name.startswith(f"{OWN}.") and not one.asname:
                    raise ValueError(f"{place}: write `from … import …` where `import {one.name}` is meant.")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and self._text(node.value) != node.value:
                raise ValueError(
                    f"{place}: an f-string names a module of ours, which is not rewritten: {node.value!r}."
                )
        return rewritten

    @staticmethod
    def _imports(before: str) -> bool:
        return before.split() in (["from"], ["import"])

    def _text(self, text: str) -> str:
        return self._name.sub(lambda found: f"{OWN}.{found[0]}" if self._is_module(found[0]) else found[0], text)

    def _is_module(self, name: str) -> bool:
        """Whether it is a module, or something in one."""
        file = self._root.joinpath(*name.split(".")[:2])
        return file.with_suffix(".py").exists() or (file / "__init__.py").exists()
