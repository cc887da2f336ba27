"""Every command and every Python block of the documents works as written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [body for file in DOCUMENTS for name, body in BLOCK.findall(file.read_text()) if name == language]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the examples, in which commands of the documents can run."""
    (tmp_path / "work" / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "work" / ".env.example").symlink_to(ROOT / ".env.example")
    return tmp_path / "work"


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "STEPWELL_HOME": str(folder / "home"),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=170)


def test_there_are_blocks_to_run() -> None:
    assert blocks("python")
    assert [line for body in blocks("sh") for line in body.splitlines() if line.startswith("stepwell ")]


@pytest.mark.slow
def test_the_commands_of_the_documents_run(checkout: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for body in blocks("sh"):
        for line in body.splitlines():
            command = line.partition(" #")[0].strip()
            if command.startswith("make "):
                assert command.removeprefix("make ") in targets
            elif command.startswith("stepwell ") or command.startswith("cp "):
                done = run(["sh", "-c", command], checkout)
                assert done.returncode == 0, (command, done.stderr)
            else:
                assert command == ". .venv/bin/activate", command


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_of_the_documents_runs(checkout: Path, code: str) -> None:
    done = run([sys.executable, "-c", code], checkout)
    assert done.returncode == 0, done.stderr
    assert "playbook" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_run(checkout: Path, example: Path) -> None:
    done = run([sys.executable, str(example)], checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("playbook") == 2


def test_links_between_documents_lead_somewhere() -> None:
    for file in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", file.read_text()):
            assert (file.parent / target).exists(), (file.name, target)


def test_the_files_that_newcomers_are_sent_to_are_there() -> None:
    for file in (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        named = re.findall(
            r"(?:graph|nodes|sandboxes|storage|models|stepwell|server|evals|tests|bench|docs)/[\w./*-]+",
            file.read_text(),
        )
        assert len(named) > 10
        assert [path for path in named if not any(ROOT.glob(path.rstrip("/.")))] == []
