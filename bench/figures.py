"""The size of the source, counted: `python -m bench.figures`."""

import ast
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("graph", "nodes", "sandboxes", "storage", "models", "stepwell", "server", "evals")
WINDOW = 8
"""Lines in a row that are the same in two places are a duplicate, however far it goes on."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> list[Path]:
    """The Python files of the packages that are tracked."""
    listed = subprocess.run(
        ["git", "ls-files", *(f"{package}/*.py" for package in PACKAGES)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / line for line in listed.stdout.splitlines()]


def module(file: Path) -> str:
    """What a file is imported as."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, own: str, *, is_package: bool) -> Iterator[str]:
    """Names of modules that a module imports, and of what it takes out of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = own.split(".")[: len(own.split(".")) - node.level + is_package] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)


def duplicates(texts: dict[Path, list[str]], trees: dict[Path, ast.Module]) -> int:
    """Pairs of places that have the same lines in a row, blank lines and imports aside."""
    seen: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for file, lines in texts.items():
        imports = {
            number
            for node in ast.walk(trees[file])
            if isinstance(node, ast.Import | ast.ImportFrom)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        code = [line.strip() for number, line in enumerate(lines, 1) if number not in imports]
        code = [line for line in code if line and not line.startswith(("#", '"""'))]
        for start in range(len(code) - WINDOW + 1):
            seen[tuple(code[start : start + WINDOW])].append((file, start))
    starts = {(first, second) for places in seen.values() for first in places for second in places if first < second}
    # Only the beginning of each pair counts: the window one line before is no pair of the same two places.
    return sum(((one[0], one[1] - 1), (two[0], two[1] - 1)) not in starts for one, two in starts)


def functions(trees: dict[Path, ast.Module]) -> list[tuple[int, str]]:
    """All functions: lines, and name with the module."""
    return [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{module(file)}.{node.name}")
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]


def read(files: list[Path]) -> tuple[dict[Path, list[str]], dict[Path, ast.Module]]:
    """The lines of files, and their syntax."""
    texts = {file: file.read_text().splitlines() for file in files}
    return texts, {file: ast.parse("\n".join(lines)) for file, lines in texts.items()}


def main() -> None:
    """Print the figures."""
    files = sources()
    texts, trees = read(files)
    modules = {module(file): file for file in files}
    importers: Counter[str] = Counter()
    for file, tree in trees.items():
        own = module(file)
        names = set(imported(tree, own, is_package=file.stem == "__init__"))
        importers.update(name for name in names if name in modules and name != own)
    single = [name for name, file in modules.items() if importers[name] == 1 and file.stem != "__init__"]
    lengths, longest = sorted(len(lines) for lines in texts.values()), max(functions(trees))
    stems = Counter(file.stem for file in files if file.stem not in ("__init__", "__main__"))
    print(f"source files                         {len(files)}")
    print(f"source lines                         {sum(lengths):,}")
    print(f"lines of a file: median, longest     {lengths[len(lengths) // 2]}, {lengths[-1]}")
    print(f"modules with exactly one importer    {len(single)} ({len(single) / len(modules):.0%})")
    print(f"file names used more than once       {sum(count > 1 for count in stems.values())}")
    print(f"duplicates of {WINDOW} lines or more         {duplicates(texts, trees)}")
    print(f"the longest function                 {longest[0]} lines ({longest[1]})")


if __name__ == "__main__":
    main()
