"""The packages are ours, import nothing by themselves, and the documents match the program."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph.build import build_graph
from models.selection import make_chooser
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.opening import Sandboxes
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource

ROOT = Path(__file__).parents[2]
PACKAGES = ["graph", "nodes", "sandboxes", "storage", "models", "stepwell", "server", "evals"]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_top_level_names_are_ours_alone(package: str) -> None:
    assert set(importlib.metadata.packages_distributions().get(package, ["stepwell"])) == {"stepwell"}


@pytest.mark.parametrize("package", ["graph", "nodes", "sandboxes", "storage", "models", "server", "evals"])
def test_packages_import_nothing_by_themselves(package: str) -> None:
    tree = (ROOT / package / "__init__.py").read_text()
    assert "import" not in tree


def test_the_lock_names_no_address() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_the_readme_draws_the_graph_as_it_is() -> None:
    graph = build_graph(
        choose_model=make_chooser(model="", api_key="", base_url="", timeout=1, max_retries=0),
        open_sandbox=Sandboxes(Path("nowhere")).open,
        inputs=InputSource(),
        artifacts=Artifacts("nowhere"),
        snapshots=SnapshotStore(Blobs.at("nowhere")),
    ).compile()
    drawn = {(edge.source.strip("_"), edge.target.strip("_"), edge.conditional) for edge in graph.get_graph().edges}
    lines = (ROOT / "README.md").read_text().partition("```mermaid\n")[2].partition("```")[0].splitlines()
    said = set()
    for line in lines[1:]:
        arrow = "-.->" if "-.->" in line else "-->"
        source, target = (part.strip(" ;") for part in line.split(arrow))
        said.add((source.lower(), target.lower(), arrow == "-.->"))
    assert said == drawn


def test_the_readme_lists_every_command() -> None:
    printed = subprocess.run(
        [str(Path(sys.executable).parent / "stepwell"), "--help"], capture_output=True, text=True, check=True
    )
    from stepwell.command import app

    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    readme = (ROOT / "README.md").read_text()
    assert commands
    for command in commands:
        assert command in printed.stdout
        assert f"`stepwell {command}" in readme or f"\nstepwell {command}" in readme, command


def test_the_makefile_has_the_promised_targets() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("help", "demo", "test", "check", "lint", "format", "types", "dev", "bench"):
        assert f"\n{target}:" in text


def test_langgraph_json_serves_the_graph_by_module_path() -> None:
    served = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["stepwell"]
    assert served["path"] == "graph.app:agent"
    assert len(served["description"]) > 40


def test_every_setting_is_in_the_example_file() -> None:
    from graph.settings import Settings

    example = (ROOT / ".env.example").read_text()
    for name, field in Settings.model_fields.items():
        variable = name.upper() if field.validation_alias else f"STEPWELL_{name.upper()}"  # a vendor's own name
        assert f"#{variable}=" in example, variable


@pytest.mark.xdist_group("kept together")
def test_tests_of_one_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    grouping = hasattr(request.config, "workerinput") and request.config.getoption("loadgroup", default=False)
    assert not grouping or request.node.nodeid.endswith("@kept together")


@pytest.mark.slow
def test_ci_runs_tests_of_groups_that_failed_once_more(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.xdist_group('two words')\ndef test_one():\n    assert 0\n\n"
        "@pytest.mark.parametrize('text', ['a@b'])\ndef test_two(text):\n    assert 0\n"
    )
    command = Path(sys.executable).with_name("pytest")
    again = [
        line.strip().replace(".venv/bin/pytest", str(command))
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if "sed -Ei" in line or "--last-failed" in line
    ]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    subprocess.run([command, "-n", "2", "--dist", "loadgroup"], cwd=tmp_path, env=outside, capture_output=True)
    told = subprocess.run(["bash", "-c", "\n".join(again)], cwd=tmp_path, env=outside, capture_output=True, text=True)
    assert "2 failed" in told.stdout, told
