"""Landlock: what a sandbox can reach once it is restricted, tried in a process of its own on this kernel."""

import ast
import os
import socket
import threading
from pathlib import Path

import pytest

from sandboxes.inside.zygote import landlock
from tests.unit.walled import python, walled

needs_landlock = pytest.mark.skipif(landlock.abi() < 1, reason="this kernel has no Landlock")

RESTRICTED = """
from sandboxes.inside.zygote import landlock
import errno, json, shutil, signal, socket, subprocess
BASE = sys.argv[1]
SYSTEM = ["/usr", "/lib", "/lib64", "/bin", sys.prefix, sys.base_prefix]
NOWHERE = ["/not/there", BASE + "/file-in-read/below"]
landlock.restrict(read=[*SYSTEM, BASE + "/readable", BASE + "/file-in-read", *NOWHERE],
    write=[BASE + "/writable"], read_files=[BASE + "/lone"], write_files=["/dev/null", BASE + "/log"], network=%s)
def tried(what):
    try:
        what()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
answers = {}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with something of each kind in it."""
    for name in ("readable", "writable", "secret", "writable/a", "writable/b"):
        (tmp_path / name).mkdir()
    for name in ("readable/file", "writable/file", "secret/file", "lone", "log", "file-in-read", "writable/a/file"):
        (tmp_path / name).write_text(name)
    (tmp_path / "writable" / "to-secret").symlink_to(tmp_path / "secret" / "file")
    program = tmp_path / "readable" / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    (tmp_path / "log").chmod(0o755)
    return tmp_path


def answers(base: Path, code: str, *, network: bool = False) -> dict[str, str]:
    """What each thing tried came to."""
    said = walled(RESTRICTED % network + code + "\nprint(answers)", str(base))
    result = ast.literal_eval(said.splitlines()[-1])
    assert isinstance(result, dict)
    return result


@needs_landlock
def test_only_the_named_folders_and_files_can_be_read(base: Path) -> None:
    said = answers(
        base,
        """
for name in ("readable/file", "writable/file", "lone", "log", "file-in-read", "secret/file", "writable/to-secret"):
    answers[name] = tried(lambda: open(BASE + "/" + name).close())
for name in ("readable", "writable", "secret", "."):
    answers["ls " + name] = tried(lambda: os.listdir(BASE + "/" + name))
""",
    )
    refused = {name for name, came_to in said.items() if came_to == "EACCES"}
    assert refused == {"secret/file", "writable/to-secret", "ls secret", "ls ."}
    assert set(said.values()) == {"EACCES", "done"}


@needs_landlock
def test_only_the_named_folders_and_files_can_be_written(base: Path) -> None:
    said = answers(
        base,
        """
for name in ("readable/file", "writable/file", "lone", "log", "secret/file", "readable/new", "writable/new", "new"):
    answers[name] = tried(lambda: open(BASE + "/" + name, "a").close())
answers["null"] = tried(lambda: open("/dev/null", "w").close())
answers["zero"] = tried(lambda: open("/dev/zero").close())
answers["rm readable/file"] = tried(lambda: os.remove(BASE + "/readable/file"))
answers["mkdir readable/x"] = tried(lambda: os.mkdir(BASE + "/readable/x"))
answers["mkdir writable/x"] = tried(lambda: os.mkdir(BASE + "/writable/x"))
answers["move within"] = tried(lambda: os.rename(BASE + "/writable/a/file", BASE + "/writable/b/file"))
answers["move out"] = tried(lambda: os.rename(BASE + "/writable/b/file", BASE + "/readable/taken"))
answers["link in"] = tried(lambda: os.link(BASE + "/secret/file", BASE + "/writable/linked"))
answers["rm writable"] = tried(lambda: shutil.rmtree(BASE + "/writable/b"))
answers["device"] = tried(lambda: os.mknod(BASE + "/writable/device", 0o20600, os.makedev(1, 1)))
""",
    )
    done = {name for name, came_to in said.items() if came_to == "done"}
    moved = {"move within"} if landlock.abi() >= 2 else set()
    assert done == {"writable/file", "log", "writable/new", "null", "mkdir writable/x", "rm writable"} | moved
    assert (base / "secret" / "file").read_text() == "secret/file"


@needs_landlock
@pytest.mark.skipif(landlock.abi() < 3, reason="truncating is guarded from ABI 3 on")
def test_a_file_that_is_only_readable_cannot_be_emptied(base: Path) -> None:
    said = answers(
        base,
        """
for name in ("readable/file", "secret/file", "writable/file", "log"):
    answers[name] = tried(lambda: os.truncate(BASE + "/" + name, 0))
""",
    )
    assert said == {"readable/file": "EACCES", "secret/file": "EACCES", "writable/file": "done", "log": "done"}


@needs_landlock
def test_programs_run_from_readable_folders_and_not_from_lone_files(base: Path) -> None:
    said = answers(
        base,
        """
for name in ("readable/program", "log"):
    answers[name] = tried(lambda: subprocess.run([BASE + "/" + name], check=True, stdout=subprocess.PIPE))
answers["python"] = tried(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
""",
    )
    assert said == {"readable/program": "done", "log": "EACCES", "python": "done"}


@needs_landlock
@pytest.mark.skipif(landlock.abi() < 4, reason="TCP is guarded from ABI 4 on")
def test_tcp_is_refused_unless_the_network_is_asked_for(base: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
answers["connect"] = tried(lambda: socket.create_connection(("127.0.0.1", {port})).close())
answers["bind"] = tried(lambda: socket.create_server(("127.0.0.1", 0)).close())
"""
        assert answers(base, code) == {"connect": "EACCES", "bind": "EACCES"}
        assert answers(base, code, network=True) == {"connect": "done", "bind": "done"}


@needs_landlock
@pytest.mark.skipif(landlock.abi() < 6, reason="signals and abstract sockets are guarded from ABI 6 on")
def test_processes_outside_get_no_signal_and_their_abstract_sockets_are_not_reached(base: Path) -> None:
    name = f"\0stepwell-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        said = answers(
            base,
            f"""
answers["signal out"] = tried(lambda: os.kill({os.getpid()}, 0))
child = subprocess.Popen(["sleep", "60"])
answers["signal in"] = tried(lambda: child.kill())
child.wait()
answers["abstract"] = tried(lambda: socket.socket(socket.AF_UNIX).connect({name!r}))
""",
        )
    assert said == {"signal out": "EPERM", "signal in": "done", "abstract": "EPERM"}


@needs_landlock
def test_children_are_restricted_too_and_nothing_gives_it_back(base: Path) -> None:
    said = answers(
        base,
        """
reading = f"open({BASE + '/secret/file'!r})"
answers["child"] = str(subprocess.run([sys.executable, "-c", reading], stderr=subprocess.DEVNULL).returncode)
landlock.restrict(read=["/"], write=["/"], network=True)
answers["again"] = tried(lambda: open(BASE + "/secret/file").close())
""",
    )
    assert said == {"child": "1", "again": "EACCES"}


@needs_landlock
def test_a_folder_among_the_files_is_an_error_and_not_a_hole(base: Path) -> None:
    code = "from sandboxes.inside.zygote import landlock\n"
    code += "landlock.restrict(read=[], write=[], read_files=[sys.argv[1]], network=False)"
    done = python("import sys\n" + code, str(base))
    assert "IsADirectoryError" in done.stderr
    assert "a folder stands among the files" in done.stderr


@pytest.mark.parametrize(
    ("version", "files", "ports", "scopes"),
    [
        (1, 0x1FFF, 0, 0),
        (2, 0x3FFF, 0, 0),
        (3, 0x7FFF, 0, 0),
        (4, 0x7FFF, 3, 0),
        (5, 0xFFFF, 3, 0),
        (6, 0xFFFF, 3, 3),
        (7, 0xFFFF, 3, 3),
    ],
)
def test_each_abi_is_asked_for_what_it_knows(version: int, files: int, ports: int, scopes: int) -> None:
    assert landlock.handled(version, network=False) == (files, ports, scopes)
    assert landlock.handled(version, network=True) == (files, 0, scopes)


def test_asking_for_the_abi_restricts_nothing() -> None:
    before = threading.active_count()
    assert 0 <= landlock.abi() < 100
    assert Path("/etc/passwd").read_text()
    assert threading.active_count() == before
