"""What goes into the LangGraph server's image, as far as can be seen without an engine; and which walls it has."""

import importlib
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {"FROM", "RUN", "ADD", "COPY", "ENV", "WORKDIR", "USER", "LABEL", "EXPOSE", "CMD", "ENTRYPOINT", "ARG"}
ORDINARY = "54321"


@pytest.fixture(scope="module")
def dockerfile(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The instructions of the Dockerfile that LangGraph's command line writes from our langgraph.json."""
    file = tmp_path_factory.mktemp("image") / "Dockerfile"
    command = [str(Path(sys.executable).parent / "langgraph"), "dockerfile", str(file)]
    environment = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    lines = [line for line in file.read_text().replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def values(dockerfile: list[tuple[str, str]], name: str) -> list[str]:
    return [rest for instruction, rest in dockerfile if instruction == name]


def variables(dockerfile: list[tuple[str, str]]) -> dict[str, str]:
    said = [shlex.split(rest) for rest in values(dockerfile, "ENV")]
    return dict(one.split("=", 1) for line in said for one in line)


def test_each_line_is_an_instruction_and_each_command_is_read_by_the_shell_as_it_is_meant(
    dockerfile: list[tuple[str, str]],
) -> None:
    """A requirement such as `a>=1,<2` would stand there without quotes: the shell would read a file called `2`."""
    assert {name for name, _ in dockerfile} <= INSTRUCTIONS
    for command in values(dockerfile, "RUN"):
        words = shlex.shlex(command, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        assert not {word for word in words if set(word) <= set("<>") and word}, command
        subprocess.run(["sh", "-n", "-c", command], check=True)


def test_the_base_is_the_server_that_the_tests_use_with_a_python_that_we_support(
    dockerfile: list[tuple[str, str]],
) -> None:
    version = importlib.metadata.version("langgraph-api")
    python = json.loads((ROOT / "langgraph.json").read_text())["python_version"]
    assert values(dockerfile, "FROM") == [f"langchain/langgraph-api:{version}-py{python}"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert Requirement(f"python{project['requires-python']}").specifier.contains(f"{python}.0")


def test_it_has_what_several_machines_need(dockerfile: list[tuple[str, str]]) -> None:
    """The package itself is installed without extras, since LangGraph's command line cannot name any."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [line for line in values(dockerfile, "RUN") if " -c /api/constraints.txt " in line]
    local = [line for line in lines if line.rstrip("; ").endswith("done") and "-e ." in line]
    assert len(local) == 1
    named = [line.rpartition("constraints.txt ")[2].split() for line in lines if line not in local]
    installed = {one.name: one for one in map(Requirement, (word for words in named for word in words))}
    for wanted in map(Requirement, [*extras["postgres"], *extras["s3"]]):
        got = installed[wanted.name]
        assert wanted.extras <= got.extras, wanted
        least = next(one.version for one in got.specifier)
        assert wanted.specifier.contains(least), (wanted, "is not what is installed", got)
    brought = {Requirement(one).name for one in importlib.metadata.requires("langgraph-api") or []}
    assert {Requirement(one).name for one in extras["server"]} <= brought


def test_what_is_added_is_the_project_and_nothing_secret(dockerfile: list[tuple[str, str]]) -> None:
    added = [shlex.split(rest)[0] for name, rest in dockerfile if name in ("ADD", "COPY")]
    assert added == ["."]
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    taken = {rule.removeprefix("!").partition("/")[0] for rule in rules if rule.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    packages = [*wheel["packages"], *wheel["hooks"]["custom"]["below"]]
    assert {*packages, "hatch_build.py", "pyproject.toml", "README.md", "LICENSE"} <= taken
    assert "*" in rules


def test_what_its_variables_name_can_be_imported(dockerfile: list[tuple[str, str]]) -> None:
    said = {
        name: json.loads(value)
        for name, value in variables(dockerfile).items()
        if name.startswith(("LANGGRAPH", "LANGS"))
    }
    named = [
        said["LANGSERVE_GRAPHS"]["stepwell"]["path"],
        said["LANGGRAPH_AUTH"]["path"],
        said["LANGGRAPH_HTTP"]["app"],
    ]
    for path in named:
        module, _, name = path.partition(":")
        assert getattr(importlib.import_module(module), name) is not None
    module, _, name = said["LANGGRAPH_CHECKPOINTER"]["path"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
    assert said["LANGGRAPH_AUTH"]["disable_studio_auth"] is True


def test_it_has_fonts_and_folders_for_an_ordinary_user(dockerfile: list[tuple[str, str]]) -> None:
    commands = " ".join(values(dockerfile, "RUN"))
    assert "fonts-noto-cjk" in commands
    assert re.search(r"install -d -o 10001 -g 10001 /data /data/uploads /data/owners", commands)
    assert variables(dockerfile)["STEPWELL_HOME"] == "/data"


MASKED = """
import os, sys
from sandboxes.inside.zygote import private_root, system
system.unshare(system.NEW_MOUNTS)
private_root.mount(None, "/", None, private_root.MS_REC | private_root.MS_PRIVATE)
private_root.mount("tmpfs", "/proc/sys", "tmpfs", 0, "")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Runs Python in a place where a part of /proc is hidden, as in containers."""
OWN_NAMESPACE = "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0"
"""Fails where the machine refuses user namespaces to ordinary users; asks the system, and nothing of ours."""


AS_USER = ["-m", "tests.security.as_user", ORDINARY, sys.executable]


def in_a_container(profile: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python as an ordinary user, behind a filter of system calls, with a part of /proc hidden."""
    return ran("-c", MASKED, *AS_USER, "-m", "tests.contained", profile, sys.executable, *command)


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a home of its own that everybody may write to."""
    with tempfile.TemporaryDirectory(prefix="stepwell-contained-") as home:
        Path(home).chmod(0o777)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(ROOT)}
        environment["STEPWELL_HOME"] = f"{home}/stepwell"
        return subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, cwd=home, timeout=170
        )


def level_behind(profile: str) -> str:
    """The level that `stepwell doctor` chooses there; empty: none."""
    done = in_a_container(profile, "-c", "from stepwell.command import main; main()", "doctor", "--json")
    assert done.stdout, done.stderr
    return str(json.loads(done.stdout)["level"] or "")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a place that is like a container")
def test_our_seccomp_profile_leaves_the_walls_and_dockers_own_does_not() -> None:
    """What docs/deployment.md says of containers. Of AppArmor nothing can be seen here."""
    if ran("-c", MASKED, "-c", "pass").returncode:
        pytest.skip("this machine lets not even root mount anything")
    if ran(*AS_USER, "-c", "import stepwell").returncode:
        pytest.skip("an ordinary user cannot read this Python or this folder")
    if ran(*AS_USER, "-c", OWN_NAMESPACE).returncode:
        pytest.skip("ordinary users of this machine have no namespaces of their own")
    tried = in_a_container("none", "-c", "import stepwell")
    assert tried.returncode == 0, tried.stderr
    assert level_behind(str(ROOT / "deploy/seccomp.json")) == "namespaces-noproc"
    assert level_behind("default") == "landlock"
