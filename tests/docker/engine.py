"""A container engine with Docker's command line, of which each container is a folder with real processes in it.

It says what Docker 28 says, with its exit codes, and is as unkind: the command that carries an `exec` may be killed
without the process inside noticing more than the end of its input, output comes in pieces of any size, standard input
is there with `-i` only, a command that is not known is 127, one that ended by a signal 128 and its number, a container
that stops takes everything in it along. Behind it there is no wall: what `create` is asked for is kept, and shown.

A file `fault` in its folder says what is wrong (`down`, `denied`, `hangs`); `images/NAME` says where an image has its
programs. `python -m tests.docker.engine FOLDER` serves `command.py`: a process for each command, which ends with that.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import IO, Any, NoReturn

from tests import process_table

MARK = "EMULATED_CONTAINER"
DAEMON = "Error response from daemon: "
DOWN = "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"
WITH_VALUE = {
    "--name", "--pull", "--hostname", "--label", "--network", "--user", "-u", "--cap-drop", "--security-opt",
    "--memory",
    "--pids-limit", "--shm-size", "--memory-swap", "--cpus", "--ulimit", "--tmpfs", "--volume", "--workdir", "--env",
    "--entrypoint", "--format", "--filter", "-t", "--signal",
}  # fmt: skip
WITHOUT = {
    "--read-only", "--rm", "-i", "--force", "-f", "--volumes", "-v", "--all", "-a", "--quiet", "-q", "--no-trunc",
}  # fmt: skip


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def fail(text: str, code: int = 1) -> NoReturn:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    sys.exit(code)


def parsed(command: str, words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Flags, and what follows them; flags end with the first word that is none."""
    flags, rest = {}, list(words)
    while rest and rest[0].startswith("-"):
        name, _, value = rest.pop(0).partition("=")
        if name in WITHOUT:
            flags[name] = ["yes"]
        elif name in WITH_VALUE:
            flags.setdefault(name, []).append(value or rest.pop(0))
        else:
            kind = "flag" if name.startswith("--") else "shorthand flag"
            fail(f"unknown {kind}: {name}\n\nUsage:  docker {command} [OPTIONS]", 125)
    return flags, rest


class Container:
    """A folder: `config`, `state`, and `home`, which is its volume."""

    def __init__(self, root: Path, name: str) -> None:
        self.folder = root / "containers" / name
        self.root, self.name = root, name
        self.home = self.folder / "home"

    @property
    def there(self) -> bool:
        return (self.folder / "config").exists()

    def read(self, what: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.folder / what).read_text())
        return value

    def write(self, what: str, value: dict[str, Any]) -> None:
        partial = self.folder / f"{what}.{os.urandom(4).hex()}"
        partial.write_text(json.dumps(value))
        partial.replace(self.folder / what)

    @property
    def state(self) -> dict[str, Any]:
        return self.read("state")

    @property
    def mark(self) -> str:
        return f"{MARK}={self.read('config')['Id']}"

    def environment(self) -> dict[str, str]:
        config = self.read("config")
        image = json.loads((self.root / "images" / config["Image"]).read_text())
        given = dict(pair.partition("=")[::2] for pair in config["Env"])
        return {"PATH": image["path"], "HOSTNAME": config["Hostname"], MARK: config["Id"], **given}

    def words(self, command: list[str]) -> list[str]:
        """Its volume is a folder here."""
        inside = self.read("config")["WorkingDir"]
        return [str(self.home) if word == inside else word for word in command]

    def remove(self) -> None:
        (self.folder / "config").unlink(missing_ok=True)
        for _ in range(50):
            for path in [self.folder, *self.folder.rglob("*")]:
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                return
            time.sleep(0.01)


def now() -> str:
    moment = time.time_ns()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment // 10**9)) + f".{moment % 10**9:09d}Z"


def found(root: Path, name: str) -> Container | None:
    one = Container(root, name)
    if one.there:
        return one
    folder = root / "containers"
    for other in folder.iterdir() if folder.is_dir() else []:
        one = Container(root, other.name)
        if len(name) > 5 and one.there and one.read("config")["Id"].startswith(name):
            return one
    return None


def needed(root: Path, name: str, last: str = "") -> Container:
    one = found(root, name)
    if one is None:
        fail(f"{DAEMON}No such container: {name}" + last)
    return one


def filled(form: str, value: object) -> str:
    """A template of Go's, as far as it is used: `{{json .Path}}` and `{{.Path}}`."""

    def fill(match: re.Match[str]) -> str:
        at = value
        for part in match[2].strip(".").split(".") if match[2] != "." else []:
            at = at.get(part) if isinstance(at, dict) else None
        return json.dumps(at) if match[1] else str(at)

    return re.sub(r"\{\{(json )?(\.[\w.]*)\}\}", fill, form)


def info(root: Path, words: list[str]) -> None:
    flags, _ = parsed("info", words)
    say(filled(flags["--format"][0], {"MemTotal": 8 << 30, "ServerVersion": "28.2.2"}))


def image(root: Path, words: list[str]) -> None:
    flags, rest = parsed("image inspect", words[1:])
    if not (root / "images" / rest[0]).exists():
        say("")
        fail(f"{DAEMON}No such image: {rest[0] if ':' in rest[0] else rest[0] + ':latest'}")
    say(filled(flags["--format"][0], {"Id": "sha256:" + hashlib.sha256(rest[0].encode()).hexdigest()}))


def create(root: Path, words: list[str]) -> None:
    flags, rest = parsed("create", words)
    name = flags["--name"][0]
    if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+", name):
        fail(f"{DAEMON}Invalid container name ({name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed")
    if not (root / "images" / rest[0]).exists():
        fail(f"{DAEMON}No such image: {rest[0]}")
    networks = (root / "networks").read_text().split() if (root / "networks").exists() else []
    if flags["--network"][0] not in ("none", "bridge", *networks):
        fail(f"{DAEMON}failed to set up container networking: network {flags['--network'][0]} not found")
    one = Container(root, name)
    if one.there:
        fail(
            f'{DAEMON}Conflict. The container name "/{name}" is already in use by container '
            f'"{one.read("config")["Id"]}". You have to remove (or rename) that container to be able to reuse that '
            "name."
        )
    one.folder.mkdir(parents=True, exist_ok=True)
    one.home.mkdir(exist_ok=True)
    config: dict[str, Any] = {
        "Id": os.urandom(32).hex(),
        "Image": rest[0],
        "Labels": dict(label.partition("=")[::2] for label in flags.get("--label", [])),
        "Env": flags.get("--env", []),
        "User": flags.get("--user", [""])[0],
        "WorkingDir": flags["--workdir"][0],
        "Hostname": flags.get("--hostname", ["x"])[0],
        "Cmd": [*flags.get("--entrypoint", []), *rest[1:]],
        "Flags": words[: len(words) - len(rest)],
        "AutoRemove": "--rm" in flags,
    }
    state = {"Status": "created", "Running": False, "OOMKilled": False, "ExitCode": 0}
    one.write("state", {**state, "StartedAt": "0001-01-01T00:00:00Z", "FinishedAt": "0001-01-01T00:00:00Z"})
    one.write("config", config)
    say(config["Id"])


def start(root: Path, words: list[str]) -> None:
    one = needed(root, words[0], f"\nError: failed to start containers: {words[0]}")
    if one.state["Status"] != "running":
        command, environment = one.words(one.read("config")["Cmd"]), one.environment()
        if not any((Path(folder) / command[0]).exists() for folder in environment["PATH"].split(":")):
            fail(
                f'{DAEMON}failed to create task for container: OCI runtime create failed: exec: "{command[0]}": '
                f"executable file not found in $PATH: unknown\nError: failed to start containers: {words[0]}"
            )
        reading, writing = os.pipe()
        if not os.fork():
            os.close(reading)
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            os.closerange(3, writing)  # a lock among them
            os.closerange(writing + 1, 256)
            if not os.fork():
                attend(one, command, environment, writing)
            os._exit(0)
        os.close(writing)
        os.wait()
        os.read(reading, 1)
    say(words[0])


def attend(one: Container, command: list[str], environment: dict[str, str], ready: int) -> None:
    """What holds a container: it waits for its first process, and takes everything along when that ends."""
    first = subprocess.Popen(command, cwd=one.home, env=environment, start_new_session=True, stdin=subprocess.DEVNULL)
    mark = one.mark
    one.write("state", {"Status": "running", "Running": True, "OOMKilled": False, "ExitCode": 0, "Pid": first.pid,
                        "StartedAt": now(), "FinishedAt": "0001-01-01T00:00:00Z"})  # fmt: skip
    os.write(ready, b".")
    os.close(ready)
    code = first.wait()
    process_table.end_all(mark, one.home)
    oom = (one.folder / "oom").exists()
    state = one.state
    if one.read("config")["AutoRemove"]:
        one.remove()
    else:
        (one.folder / "oom").unlink(missing_ok=True)
        one.write("state", {**state, "Status": "exited", "Running": False, "Pid": 0, "OOMKilled": oom,
                            "ExitCode": 128 - code if code < 0 else code, "FinishedAt": now()})  # fmt: skip
    os._exit(0)


def execute(root: Path, words: list[str]) -> None:
    flags, (name, *command) = parsed("exec", words)
    one = needed(root, name)
    if one.state["Status"] != "running":
        fail(f"{DAEMON}container {one.read('config')['Id']} is {'not running' if one.there else 'gone'}")
    environment = one.environment()
    path = environment["PATH"].split(":")
    if not any((Path(folder) / command[0]).exists() for folder in path):
        fail(f'OCI runtime exec failed: exec failed: unable to start container process: exec: "{command[0]}": '
             "executable file not found in $PATH: unknown", 127)  # fmt: skip
    process = subprocess.Popen(
        one.words(command),
        cwd=one.home,
        env=environment,
        start_new_session=True,
        stdin=subprocess.PIPE if "-i" in flags else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    carried = [
        threading.Thread(target=carry, args=(process.stdout, 1)),
        threading.Thread(target=carry, args=(process.stderr, 2)),
    ]
    if "-i" in flags:
        threading.Thread(target=feed, args=(process.stdin,), daemon=True).start()
    for one_way in carried:
        one_way.start()
    code = process.wait()
    for one_way in carried:
        one_way.join()
    sys.exit(128 - code if code < 0 else code)


def carry(source: IO[bytes], target: int) -> None:
    """In pieces of any size."""
    while data := os.read(source.fileno(), (7, 4_099, 65_536)[os.urandom(1)[0] % 3]):
        while data:
            data = data[os.write(target, data) :]


def feed(pipe: IO[bytes]) -> None:
    try:
        while data := os.read(0, 65_536):
            pipe.write(data)
            pipe.flush()
        pipe.close()
    except BrokenPipeError:
        return


def stop(root: Path, words: list[str]) -> None:
    flags, names = parsed("stop", words)
    for name in names:
        one = needed(root, name)
        ended(one, float(flags.get("-t", ["10"])[0]))
        say(name)


def ended(one: Container, seconds: float) -> None:
    try:
        state = one.state
        if state["Status"] != "running":
            return
        os.kill(state["Pid"], signal.SIGTERM)
        until = time.monotonic() + seconds
        while one.there and one.state["Status"] == "running":
            if time.monotonic() > until:
                os.kill(state["Pid"], signal.SIGKILL)
            time.sleep(0.005)
    except (FileNotFoundError, ProcessLookupError):
        time.sleep(0.05)


def kill(root: Path, words: list[str]) -> None:
    flags, names = parsed("kill", words)
    one = needed(root, names[0])
    if one.state["Status"] != "running":
        fail(f"{DAEMON}cannot kill container: {names[0]}: container {one.read('config')['Id']} is not running")
    os.kill(one.state["Pid"], getattr(signal, "SIG" + flags.get("--signal", ["KILL"])[0].removeprefix("SIG")))
    say(names[0])


def rm(root: Path, words: list[str]) -> None:
    flags, names = parsed("rm", words)
    for name in names:
        one = needed(root, name)
        if one.state["Status"] == "running":
            if "--force" not in flags and "-f" not in flags:
                fail(f'{DAEMON}cannot remove container "/{name}": container is running: stop the container before '
                     "removing or force remove")  # fmt: skip
            ended(one, 0)
        one.remove()
        say(name)


def ps(root: Path, words: list[str]) -> None:
    flags, _ = parsed("ps", words)
    folder = root / "containers"
    for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []:
        one = Container(root, name)
        if not one.there or ("--all" not in flags and "-a" not in flags and one.state["Status"] != "running"):
            continue
        config = one.read("config")
        wanted = [label.removeprefix("label=").partition("=")[::2] for label in flags.get("--filter", [])]
        if all(config["Labels"].get(name) == value for name, value in wanted):
            say(config["Id"] if "--no-trunc" in flags else config["Id"][:12])


def container(root: Path, words: list[str]) -> None:
    flags, names = parsed("container inspect", words[1:])
    missing = False
    for name in names:
        one = found(root, name)
        value: dict[str, Any] | None
        try:
            value = {"Name": f"/{one.name}", "State": one.state, "Config": one.read("config")} if one else None
        except FileNotFoundError:
            value = None
        if value is None:
            missing = True
            sys.stderr.write(f"{DAEMON}No such container: {name}\n")
        else:
            say(filled(flags["--format"][0], value))
    sys.exit(1 if missing else 0)


COMMANDS = {"info": info, "image": image, "create": create, "start": start, "exec": execute, "stop": stop, "kill": kill,
            "rm": rm, "ps": ps, "container": container}  # fmt: skip


def do(root: Path, command: str, words: list[str]) -> None:
    """Do what a command line asks for."""
    with (root / "said").open("a") as said:
        said.write(json.dumps([command, *words]) + "\n")
    fault = (root / "fault").read_text() if (root / "fault").exists() else ""
    if fault == "down":
        if command == "info":
            say(json.dumps({"ServerErrors": [DOWN]}))
            sys.exit(0)
        fail(DOWN)
    if fault == "denied":
        fail("permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock")
    if fault == "hangs" or fault == f"hangs {command}":
        time.sleep(600)
    if fault.startswith(f"fails {command} "):
        fail(fault.split(" ", 2)[2])
    if command not in COMMANDS:
        fail(f"docker: unknown command: docker {command}\n\nRun 'docker --help' for more information")
    if command in ("create", "start", "rm"):
        lock = os.open(root / f"lock-{command}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
    COMMANDS[command](root, words)


def answer(root: Path, asking: socket.socket) -> NoReturn:
    """Do what one process of `command.py` asks for, with its streams; when it is killed, so is this."""
    head, streams, _, _ = socket.recv_fds(asking, 4, 3)
    for stream, given in enumerate(streams):
        os.dup2(given, stream)
        os.close(given)
    said = b""
    while len(said) < int.from_bytes(head, "big"):
        said += asking.recv(1 << 16)
    threading.Thread(target=end_with, args=(asking,), daemon=True).start()
    command, *words = said.decode("utf-8", "surrogateescape").split("\0")
    code = 1
    try:
        do(root, command, words)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        asking.send(bytes([code]))
    os._exit(code)


def end_with(asking: socket.socket) -> None:
    """End when the one that asked is gone."""
    with contextlib.suppress(OSError):
        asking.recv(1)
    os._exit(1)


def main() -> None:
    """Serve the folder that the command line names, until this is killed."""
    root = Path(sys.argv[1])
    os.chdir(root)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind("socket")
    listening.listen(128)
    say("ready")
    sys.stdout.flush()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        asking, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(root, asking)
        asking.close()


if __name__ == "__main__":
    main()
