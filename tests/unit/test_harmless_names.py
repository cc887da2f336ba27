"""What a cell wrote is published under no name that a program looks for."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.publishing import published_names
from storage.safe_names import DATA, SCRIPTS, TEXTS, harmless_name

KEPT = [
    "report.csv", "deep/er/report.csv", "Ümsatz 2024 (final).xlsx", "売上.csv", "100%.csv", "📊 report.pdf", "(1).csv",
    "model.pkl", "report.html", "notes.md", "results.json", "params.yaml", "summary.txt", "v1.2/table.parquet",
    "sales.parquet/part-0.parquet", "year=2024/part-0.parquet", "data.csv.gz", "figures/1-2.png", "_SUCCESS.csv",
    "notebook.ipynb", "a'b.csv", "Env.csv", "git/objects.csv", "README.md", "output.json", "profile.html", "stock.json",
]  # fmt: skip

RENAMED = {
    ".env": "_env.txt",
    ".git/HEAD": "_git/HEAD.txt",
    ".git/config": "_git/file-config.txt",
    "HEAD": "HEAD.txt",
    "config": "file-config.txt",
    ".GIT/hooks/pre-commit": "_GIT/hooks/pre-commit.txt",
    ".\u200cgit/config.csv": "_\u200cgit/config.csv",
    "\u200c.git/a.csv": "_\u200c_git/a.csv",
    "\uff0egit/a.csv": "_\uff0egit/a.csv",
    "-rf": "_-rf.txt",
    "-rf/a.csv": "_-rf/a.csv",
    "--help.csv": "_--help.csv",
    "~/a.csv": "_~/a.csv",
    "@args.csv": "_@args.csv",
    ".envrc": "_envrc.txt",
    ".vscode/tasks.json": "_vscode/file-tasks.json",
    ".vscode/settings.json": "_vscode/file-settings.json",
    ".mcp.json": "_mcp.json",
    "mcp.json": "file-mcp.json",
    "opencode.json": "file-opencode.json",
    "crush.json": "file-crush.json",
    "aegra.json": "file-aegra.json",
    "application.yml": "file-application.yml",
    "hie.yaml": "file-hie.yaml",
    "phpunit.xml": "file-phpunit.xml",
    "Makefile": "Makefile.txt",
    "GNUmakefile": "GNUmakefile.txt",
    "Dockerfile": "Dockerfile.txt",
    "autorun.inf": "autorun.inf.txt",
    "desktop.ini": "desktop.ini.txt",
    "x.desktop": "x.desktop.txt",
    "x.lnk": "x.lnk.txt",
    "x.url": "x.url.txt",
    "pandas.so": "pandas.so.txt",
    "pandas.pyc": "pandas.pyc.txt",
    "x.pth": "x.pth.txt",
    "package.json": "file-package.json",
    "Package.JSON": "file-Package.JSON",
    "pack\u200dage.json": "file-pack\u200dage.json",
    "\uff50ackage.json": "file-\uff50ackage.json",
    "tsconfig.json": "file-tsconfig.json",
    "compose.override.yml": "file-compose.override.yml",
    "_config.yml": "file-_config.yml",
    "pom.xml": "file-pom.xml",
    "CMakeLists.txt": "file-CMakeLists.txt",
    "CMakeLists": "file-CMakeLists.txt",
    "CLAUDE.md": "file-CLAUDE.md",
    "agents.md": "file-agents.md",
    "pyproject.toml": "pyproject.toml.txt",
    "tox.ini": "tox.ini.txt",
    "pytest.ini": "pytest.ini.txt",
    "setup.cfg": "setup.cfg.txt",
    "setup.py": "script-setup.py",
    "conftest.py": "script-conftest.py",
    "test_x.py": "script-test_x.py",
    "sitecustomize.py": "script-sitecustomize.py",
    "usercustomize.py": "script-usercustomize.py",
    "json.py": "script-json.py",
    "pandas/__init__.py": "pandas/script-__init__.py",
    "PANDAS.PY": "script-PANDAS.PY",
    "clean.py": "script-clean.py",
    "startup.m": "script-startup.m",
    "Evil.app/Contents/MacOS/x": "Evil_app/Contents/MacOS/x.txt",
    "Evil.app /x.csv": "Evil_app /x.csv",
    "0..A/a.csv": "0__A/a.csv",
    "x.app.d/a.csv": "x_app_d/a.csv",
    "x.dist-info/entry_points.txt": "x_dist-info/entry_points.txt",
    "package.json ": "file-package.json .txt",
    "conftest.py.": "conftest.py..txt",
}


@pytest.mark.parametrize("name", KEPT)
def test_results_keep_their_names(name: str) -> None:
    assert harmless_name(name) == name


@pytest.mark.parametrize(("name", "harmless"), RENAMED.items())
def test_what_a_program_looks_for_gets_another_name(name: str, harmless: str) -> None:
    assert harmless_name(name) == harmless


PARTS = st.one_of(
    st.text(min_size=1, max_size=20),
    st.sampled_from([*RENAMED, *KEPT, *sys.stdlib_module_names]),
    st.from_regex(r"[.\-_~@a-zA-Z]{1,6}\.(py|json|md|toml|cfg|PY|pyc|so|yml|txt|csv)", fullmatch=True),
).map(lambda part: part.replace("/", "") or "x")


PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)


@given(PATHS)
def test_a_harmless_name_stays(path: str) -> None:
    assert harmless_name(harmless_name(path)) == harmless_name(path)


@given(PATHS)
def test_whatever_a_cell_calls_its_files(path: str) -> None:
    name = next(iter(published_names([f"outputs/{path}"]).values()))
    for part in name.split("/"):
        assert part[0] not in ".-~@"
    last = name.rpartition("/")[2].casefold()
    suffix = last.rpartition(".")[2].casefold()
    assert suffix in DATA | TEXTS | SCRIPTS
    if suffix == "py":
        assert not re.fullmatch(r"\w+", last.removesuffix(".py")), "a script that can be imported"
