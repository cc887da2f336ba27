"""The wheel puts nothing but `stepwell` into an environment, and everything works from there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from hatch_build import Rewriting
from tests.installation import ROOT, Installation, build_wheel
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import answers, free_port

pytestmark = pytest.mark.slow
BELOW = ["graph", "nodes", "sandboxes", "storage", "models", "server", "evals"]
IMPORT_ALL = """
import importlib, pkgutil, stepwell
for module in pkgutil.walk_packages(stepwell.__path__, "stepwell."):
    if module.name.startswith(LEFT_OUT):
        continue
    importlib.import_module(module.name)
    print(module.name)
"""
NEEDS_EXTRAS = (
    "stepwell.graph.checkpoints.advisory_lock", "stepwell.graph.checkpoints.postgres_saver", "stepwell.server",
    "stepwell.acp_agent", "stepwell.jupyter_kernel", "stepwell.mcp_server",
)  # fmt: skip
PROGRAMS = ("stepwell.evals.own.__main__", "stepwell.sandboxes.inside.", "stepwell.server.aegra")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    return Installation(tmp_path_factory.mktemp("installed") / "environment", wheel)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Somebody's project, whose modules have the names of ours."""
    folder = tmp_path / "project"
    (folder / "server").mkdir(parents=True)
    for name in ("models.py", "graph.py", "nodes.py", "storage.py", "sandboxes.py", "evals.py", "server/__init__.py"):
        (folder / name).write_text(f"OWNER = 'somebody: {name}'\n")
    shutil.copy(ROOT / "examples" / "birdstrikes.csv", folder)
    return folder


def rewriting() -> Rewriting:
    return Rewriting(ROOT, BELOW)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from graph.context import Context\n", "from stepwell.graph.context import Context\n"),
        ("from graph import context as c\n", "from stepwell.graph import context as c\n"),
        ("if x:\n    from models import replies\n", "if x:\n    from stepwell.models import replies\n"),
        ("import graph.context as context\n", "import stepwell.graph.context as context\n"),
        ("load('graph.app:agent')\n", "load('stepwell.graph.app:agent')\n"),
        ("'run `python -m server.keys add NAME`'\n", "'run `python -m stepwell.server.keys add NAME`'\n"),
        ("'stepwell.graph.app, graph.py and user.models.replies'\n", None),
        ("server = here()\nserver.auth = server.keys\n", None),
        ("yield_from = [models for models in a]\n", None),
        ('f"{server.auth} {models}"\n', None),
        (
            "x = '''one\ngraph.app\n''' + 'server.keys'\n",
            "x = '''one\nstepwell.graph.app\n''' + 'stepwell.server.keys'\n",
        ),
    ],
)
def test_names_of_modules_are_rewritten(before: str, after: str | None) -> None:
    assert rewriting().python(before, "here.py") == (after or before)


def test_an_import_that_would_bind_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"here.py: write `from"):
        rewriting().python("import graph.context\n", "here.py")


def test_a_name_that_would_stay_as_it_is_is_refused() -> None:
    with pytest.raises(ValueError, match=r"here.py: an f-string names a module"):
        rewriting().python("f'python -m server.keys add {name}'\n", "here.py")


def test_the_wheel_holds_stepwell_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        sources = {name: archive.read(name).decode() for name in names if name.endswith(".py")}
    assert {name.partition("/")[0] for name in names} == {"stepwell", "stepwell-0.1.0.dist-info"}
    assert not [name for name in names if "__pycache__" in name]
    assert len(names) == len(set(names))
    own = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(BELOW)})\b", re.MULTILINE)
    assert not {name for name, source in sources.items() if own.search(source)}
    kept = subprocess.run(["git", "ls-files", "stepwell", *BELOW], cwd=ROOT, capture_output=True, text=True, check=True)
    here = {file if file.startswith("stepwell/") else f"stepwell/{file}" for file in kept.stdout.splitlines()}
    assert here - set(names) == set()
    assert {"stepwell/py.typed", "stepwell/langgraph.json"} <= set(names)
    for name, source in sources.items():
        file = ROOT / (name if (ROOT / name).exists() else name.removeprefix("stepwell/"))
        assert source.count("\n") == file.read_text().count("\n"), "tracebacks name the lines of the checkout"


@pytest.mark.timeout(900)
class TestInstalled:
    def test_nothing_but_stepwell_is_there(self, installed: Installation, tmp_path: Path) -> None:
        there = {file.name for file in installed.site_packages.iterdir()}
        assert {"stepwell", "stepwell-0.1.0.dist-info"} <= there
        assert not there & {*BELOW, *(f"{name}.py" for name in BELOW)}
        asked = "import importlib.metadata as m; print([k for k, v in m.packages_distributions().items() if OURS in v])"
        asked = asked.replace("OURS", "'stepwell'")
        assert installed.run("python", "-c", asked, cwd=tmp_path).stdout == "['stepwell']\n"

    def test_every_module_can_be_imported_beside_somebodys_own(self, installed: Installation, project: Path) -> None:
        code = IMPORT_ALL.replace("LEFT_OUT", repr(PROGRAMS + NEEDS_EXTRAS))
        ours = "import models, graph, server; print(models.OWNER, graph.OWNER, server.OWNER)"
        done = installed.run("python", "-c", f"{code}\n{ours}", cwd=project)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert {"stepwell.graph.app", "stepwell.page.app", "stepwell.models.replies"} <= set(lines)
        assert lines[-1] == "somebody: models.py somebody: graph.py somebody: server/__init__.py"

    def test_the_demo_runs_and_the_checkout_reads_what_it_left(self, installed: Installation, project: Path) -> None:
        demo = (ROOT / "examples" / "demo.sh").read_text()
        line = next(line for line in demo.splitlines() if line.startswith("exec "))
        command = shlex.split(line.removeprefix("exec .venv/bin/").replace("examples/", "").replace('"$@"', ""))
        done = installed.run(*command, cwd=project, settings={"STEPWELL_MODEL": "playbook"})
        assert done.returncode == 0, done.stderr
        assert "built-in playbook" in done.stdout
        assert list((project / ".demo" / "artifacts").rglob("summary.xlsx"))
        log = subprocess.run(
            [str(Path(sys.executable).with_name("stepwell")), "log", "last"],
            env={**os.environ, "STEPWELL_HOME": str(installed.home / "stepwell"), "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert log.stdout == installed.run("stepwell", "log", "last", cwd=project).stdout
        assert len(log.stdout.splitlines()) == 10
        there = installed.run("stepwell", "shell", "last@2", cwd=project, stdin="print(len(df) > 100)")
        assert there.stdout == "True\n", there.stderr

    def test_the_command_says_what_it_can(self, installed: Installation, project: Path) -> None:
        told = installed.run("stepwell", "--help", cwd=project)
        assert told.returncode == 0
        assert "stepwell resume" in " ".join(told.stdout.split())
        assert installed.run("stepwell", "--version", cwd=project).stdout == "stepwell 0.1.0\n"
        examined = installed.run("stepwell", "doctor", "--json", cwd=project)
        assert examined.returncode == 0, examined.stderr
        assert json.loads(examined.stdout.splitlines()[0])["level"]

    async def test_a_model_is_asked_and_files_and_figures_come_out(
        self, installed: Installation, project: Path
    ) -> None:
        code = (
            "import pandas as pd\nimport matplotlib.pyplot as plt\n"
            "df = pd.read_csv('inputs/birdstrikes.csv')\ndf.iloc[:, 0].value_counts().head().plot.bar()\nplt.show()\n"
            "df.head().to_parquet('outputs/head.parquet')\nprint(len(df))"
        )
        script: list[Scripted] = [
            Call("submit_plan", steps=["Count"]),
            Call("run_python", purpose="count", step=1, code=code),
            lambda request: Call("submit_answer", answer=f"It has {request.last.split()[-1]} rows.", skipped=[]),
            Call("submit_review", good_enough=True, missing=[]),
        ]
        program = (
            "import asyncio, json, stepwell\n"
            "f = asyncio.run(stepwell.run('How many?', files=['birdstrikes.csv']))\n"
            "print(json.dumps([f.answer, sorted(a['name'] for a in f.artifacts)]))"
        )
        async with ScriptedServer(script) as server:
            import asyncio

            done = await asyncio.to_thread(
                installed.run, "python", "-c", program, cwd=project, settings={
                    "STEPWELL_MODEL": "scripted", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url,
                    "STEPWELL_ARTIFACTS": str(project / "out"),
                },
            )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answer, names = json.loads(done.stdout)
        assert "rows" in answer
        assert {"head.parquet", "analysis.py"} <= set(names)
        assert [name for name in names if name.endswith(".png")]

    def test_callers_get_types(self, installed: Installation, project: Path) -> None:
        (project / "asking.py").write_text(
            "import asyncio\n\nimport stepwell\n\n\nasync def ask() -> str:\n"
            "    finished = await stepwell.run('How many?', files=['birdstrikes.csv'])\n"
            "    reveal_type(finished)\n    reveal_type(stepwell.Settings().home)\n    return finished.answer\n\n\n"
            "asyncio.run(ask(wrong=1))\n"
        )
        command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installed.python), "asking.py"]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True)
        said = done.stdout.splitlines()
        assert 'Revealed type is "stepwell.graph.events.Finished"' in said[0], done.stdout + done.stderr
        assert 'Revealed type is "pathlib.Path"' in said[1]
        assert 'Unexpected keyword argument "wrong" for "ask"' in said[2]
        assert not [line for line in said[3:] if "error" in line and not line.startswith("Found 1 error")]

    @pytest.mark.parametrize(
        ("setting", "value", "package"),
        [
            ("STEPWELL_ARTIFACTS", "s3://bucket/files", "'stepwell[s3]'"),
            ("STEPWELL_BLOBS", "s3://bucket/blobs", "'stepwell[s3]'"),
            ("STEPWELL_BLOBS", "gs://bucket/blobs", "gcsfs"),
            ("STEPWELL_DATABASE_URL", "postgresql://localhost/none", "'stepwell[postgres]'"),
            ("STEPWELL_MCP", "servers.json", "'stepwell[mcp]'"),
            ("DAYTONA_API_KEY", "none", "'stepwell[daytona]'"),
        ],
    )
    def test_what_is_missing_is_said(
        self, installed: Installation, project: Path, setting: str, value: str, package: str
    ) -> None:
        (project / "servers.json").write_text('{"mcpServers": {"shop": {"command": "true"}}}')
        where = ["--sandbox", "daytona"] if setting.startswith("DAYTONA") else []
        ask = ["run", "How many?", "birdstrikes.csv", "--model", "playbook", "--quiet", *where]
        done = installed.run("stepwell", *ask, cwd=project, settings={setting: value})
        said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode in (1, 2)
        assert len(said) == 1, done.stderr
        assert f"pip install {package}" in said[0]
        assert str(installed.folder) in said[0]
        assert "Traceback" not in done.stderr

    def test_an_input_that_needs_more_is_said(self, installed: Installation, project: Path) -> None:
        done = installed.run("stepwell", "run", "How many?", "s3://bucket/a.csv", "--model", "playbook", cwd=project)
        assert done.returncode == 1
        command = f"`uv pip install 'stepwell[s3]' --python {installed.python}`"
        assert f"error: s3://bucket/a.csv needs a package that is not installed: run {command}." in done.stderr

    def test_serving_without_its_extra_says_what_to_install(self, installed: Installation, project: Path) -> None:
        done = installed.run("stepwell", "serve", cwd=project)
        assert done.returncode == 2
        assert done.stderr == (
            "error: `stepwell serve` needs packages that are not installed: "
            f"run `uv pip install 'stepwell[serve]' --python {installed.python}`.\n"
        )

    @pytest.mark.parametrize(
        ("words", "extra"), [(("mcp",), "mcp"), (("acp",), "acp"), (("kernel", "install"), "jupyter")]
    )
    def test_agents_without_their_extra_are_told_what_to_install(
        self, words: tuple[str, ...], extra: str, installed: Installation, project: Path
    ) -> None:
        done = installed.run("stepwell", *words, cwd=project)
        assert done.returncode == 2
        assert done.stderr.endswith(f"run `uv pip install 'stepwell[{extra}]' --python {installed.python}`.\n")
        assert done.stderr.count("\n") == 1

    def test_a_configuration_is_written_once(self, installed: Installation, project: Path) -> None:
        assert installed.run("stepwell", "serve", "--write", "langgraph.json", cwd=project).returncode == 0
        said = json.loads((project / "langgraph.json").read_text())
        assert said["graphs"]["stepwell"]["path"] == "stepwell.graph.app:agent"
        assert said["auth"]["path"] == "stepwell.server.auth:auth"
        assert said["http"]["app"] == "stepwell.server.app:app"
        assert said["checkpointer"]["path"] == "stepwell.server.checkpoints.create_checkpointer"
        assert "env" not in said
        again = installed.run("stepwell", "serve", "--write", "langgraph.json", cwd=project)
        assert again.returncode == 2
        assert again.stderr == "error: langgraph.json exists; name another file, or remove it.\n"


@pytest.mark.timeout(900)
def test_a_server_of_the_installed_package_answers(wheel: Path, project: Path, tmp_path: Path) -> None:
    here = Installation(
        tmp_path / "environment", wheel, extras=["serve", "postgres", "server", "acp", "jupyter", "mcp"]
    )
    code = IMPORT_ALL.replace("LEFT_OUT", repr(PROGRAMS))
    done = here.run("python", "-c", code, cwd=project)
    assert done.returncode == 0, done.stderr
    assert {"stepwell.server.app", "stepwell.graph.checkpoints.postgres_saver"} <= set(done.stdout.splitlines())
    port = free_port()
    url, log = f"http://127.0.0.1:{port}", tmp_path / "log"
    settings = {"STEPWELL_MODEL": "playbook", "STEPWELL_INPUT_ROOTS": str(project)}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(here.folder / "bin" / "stepwell"), "serve", "--port", str(port)],
            cwd=project, env=here.environment(settings), stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        while not answers(f"{url}/stepwell/ready"):
            assert process.poll() is None, log.read_text()[-3000:]
            time.sleep(0.2)
        with httpx.Client(base_url=url, timeout=150) as client:
            said = [{"type": "human", "content": "What stands out?"}]
            asked = {"messages": said, "files": [str(project / "birdstrikes.csv")]}
            ended = client.post("/runs/wait", json={"assistant_id": "stepwell", "input": asked})
            page, style = client.get("/ui/"), client.get("/ui/assets/page.css")
        assert ended.status_code == 200, ended.text
        assert "<h1>Threads</h1>" in page.text
        assert style.headers["content-type"] == "text/css; charset=utf-8"
        assert "playbook" in ended.json().get("answer", ""), (ended.text[:2000], log.read_text()[-3000:])
    finally:
        process.terminate()
        process.wait(60)
    left = {file.name for file in project.iterdir()}
    assert not {".langgraph_api", "langgraph.json"} & left
    assert (here.home / "stepwell" / "server" / "langgraph.json").exists()


@pytest.mark.timeout(900)
def test_agents_editors_and_notebooks_reach_the_installed_package(wheel: Path, project: Path, tmp_path: Path) -> None:
    here = Installation(tmp_path / "environment", wheel, extras=["acp", "jupyter", "mcp"])
    offered = here.run("stepwell", "kernel", "install", cwd=project)
    assert offered.returncode == 0, offered.stderr
    shutil.copy(ROOT / "tests" / "installed_clients.py", tmp_path)
    done = here.run("python", "-P", str(tmp_path / "installed_clients.py"), cwd=project)
    expected = ["agent 1 ok (nothing was printed)", "agent 2 ok 42", "editor end_turn True", "notebook ok True"]
    assert done.stdout.splitlines() == expected, done.stderr[-2000:]
    threads = here.run("stepwell", "threads", "--json", cwd=project)
    assert len(threads.stdout.splitlines()) == 3


@pytest.mark.timeout(900)
def test_the_installing_line_of_the_container_s_recipe_works(wheel: Path, tmp_path: Path) -> None:
    """No engine is needed for that: the line is run in an environment of its own, with a folder for the image's."""
    recipe = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    [line] = [line for line in recipe.splitlines() if line.startswith("RUN pip install")]
    build = tmp_path / "build"
    build.mkdir()
    shutil.copy(wheel, build)
    shutil.copy(ROOT / "requirements.lock", build)
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    line = line.removeprefix("RUN ").replace("/build", str(build)).replace("--system", f"--python {environment}")
    variables = {**os.environ, "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-euc", line.replace("--no-cache ", "")], env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not build.exists()
    there = [str(environment / "bin" / "stepwell"), "mcp", "--help"]
    assert "--host" in subprocess.run(there, env=variables, capture_output=True, text=True, check=True).stdout
