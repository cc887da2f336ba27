"""What stands on the host for attacks to be tried on, and whether it still stands as it did."""

import contextlib
import ctypes
import hashlib
import json
import os
import secrets
import socket
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

from sandboxes.host.limits import Limits
from sandboxes.inside.zygote import seccomp
from sandboxes.inside.zygote.system import MACHINE, libc

MARK = "stepwell-" + "secret-"
MODE, TIME = 0o644, 1_000_000_000
IPC_CREATE, IPC_REMOVE = 0o1000, 0
USER_KEYRING = -4
KEYCTL_UNLINK, KEYCTL_LINK = 9, 8
HARMLESS = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")]


class Victims:
    """Files, a process, services and shared memory of the user that Stepwell runs as.

    Args:
        base: An empty folder, which everybody may read, so that nothing but a wall is in the way.
        secret: Stands in a file, in shared memory, in keys and in the environment of this process.
        limits: Those of the sandboxes, which an attacker may know.
    """

    def __init__(self, base: Path, secret: str, limits: Limits) -> None:
        self.base, self.secret, self.limits = base, secret, limits
        self.folder = base / "folder"
        self.calls = _numbers()
        self._held: list[Any] = []
        self._key = secrets.randbelow(1 << 30) + 1
        self._plant_files()
        self._listen()
        self._share()
        self.process = self._start()
        self._before = self._seen()

    def known(self, own: Path, kernel: list[str], caches: list[str]) -> dict[str, Any]:
        """`HOST`: what an attacker may know."""
        disk = Path("/").stat().st_dev
        return {
            "pid": os.getpid(),
            "process": self.process.pid,
            "home": os.environ["HOME"],
            "folder": str(self.folder),
            "secret": str(self.folder / "secret"),
            "digest": hashlib.sha256(self.secret.encode()).hexdigest(),
            "victim": str(self.folder / "victim"),
            "modes": str(self.folder / "modes"),
            "marker": str(self.folder / "marker"),
            "other": str(self.base / "sandboxes" / "other"),
            "blob": "b" * 64,
            "own": str(own),
            "kernel": kernel,
            "caches": caches,
            "calls": self.calls,
            "machine": MACHINE,
            "tcp": self._tcp,
            "tcp6": self._tcp6,
            "udp": self._udp,
            "addresses": _addresses(),
            "abstract": self._abstract,
            "socket": str(self.base / "socket"),
            "datagrams": str(self.base / "datagrams"),
            "key": self._key,
            "queue": f"stepwell-{self._key}",
            "shared": f"/dev/shm/stepwell-{self._key}",
            "disk": [os.major(disk), os.minor(disk)],
            "disks": _devices(stat.S_ISBLK),
            "devices": _devices(stat.S_ISCHR) + _devices(stat.S_ISBLK),
            "harmless": HARMLESS,
            "processes": self.limits.processes,
            "memory": self.limits.memory,
            "tmp": self.limits.tmp_bytes,
            "shm": self.limits.shared_memory_bytes,
            "workspace": self.limits.workspace,
            "file": self.limits.file,
            "files": self.limits.open_files,
        }

    def harmed(self) -> str:
        """What is not as it was; it is mended, so that the next attack meets it whole."""
        now = self._seen()
        harmed = [name for name, was in self._before.items() if now[name] != was]
        if harmed:
            said = ", ".join(f"{name}: {self._before[name]} -> {now[name]}" for name in harmed)
            self.process.kill()
            self.process.wait()
            self.process = self._start()
            self._plant_files()
            self._before = self._seen()
            return said
        return ""

    def close(self) -> None:
        """Take everything away that a folder's removal does not."""
        self.process.kill()
        self.process.wait()
        for held in self._held:
            held.close()
        shm = libc.shmget(self._key, 0, 0)
        if shm >= 0:
            libc.shmctl(shm, IPC_REMOVE, None)
        for name, call in (("msgget", "msgctl"), ("semget", "semctl")):
            number = libc.msgget(self._key, 0) if name == "msgget" else libc.semget(self._key, 1, 0)
            if number >= 0 and call == "msgctl":
                libc.msgctl(number, IPC_REMOVE, None)
            elif number >= 0:
                libc.semctl(number, 0, IPC_REMOVE)
        self._call("mq_unlink", f"stepwell-{self._key}".encode())
        for path in Path("/dev/shm").glob("stepwell-*"):
            with contextlib.suppress(OSError):
                path.unlink()
        if self._ring > 0:
            self._call("keyctl", KEYCTL_UNLINK, self._ring, USER_KEYRING)

    def _plant_files(self) -> None:
        home = Path(os.environ["HOME"]) / ".ssh"
        home.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        for path in (home / "id_rsa", self.folder / "secret"):
            path.write_text(self.secret)
        for name in ("victim", "modes"):
            (self.folder / name).write_text("as it was")
        for name in ("marker", "planted", "put.txt", "made"):
            (self.folder / name).unlink(missing_ok=True)
        for name in ("secret", "victim", "modes"):
            (self.folder / name).chmod(MODE)
            os.utime(self.folder / name, (TIME, TIME))
        other = self.base / "sandboxes" / "other"
        for name in ("workspace", "blobs", "spool"):
            (other / name).mkdir(parents=True, exist_ok=True)
        (other / "workspace" / "secret.txt").write_text(self.secret)
        for name in ("blobs", "spool"):
            (other / name / ("b" * 64)).write_text(self.secret)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "600"], env={"KEY": self.secret, "PATH": os.defpath}, start_new_session=True)

    def _listen(self) -> None:
        """Services that answer anybody."""
        self._abstract = f"stepwell-{self._key}"
        servers = [socket.create_server(("0.0.0.0", 0))]
        with contextlib.suppress(OSError):
            servers.append(socket.create_server(("::1", 0), family=socket.AF_INET6))
        self._tcp, self._tcp6 = servers[0].getsockname()[1], servers[-1].getsockname()[1]
        for address in ("\0" + self._abstract, str(self.base / "socket")):
            server = socket.socket(socket.AF_UNIX)
            server.bind(address)
            server.listen()
            servers.append(server)
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams.bind(str(self.base / "datagrams"))
        for name in ("socket", "datagrams"):
            (self.base / name).chmod(0o777)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self._udp = udp.getsockname()[1]
        threading.Thread(target=_echo, args=(udp,), daemon=True).start()
        self._held += [*servers, datagrams]

    def _share(self) -> None:
        """Memory, messages, semaphores and a key that have no path."""
        libc.shmat.restype = ctypes.c_void_p
        number = libc.shmget(self._key, 4096, IPC_CREATE | 0o666)
        address = libc.shmat(number, None, 0)
        ctypes.memmove(address, self.secret.encode(), len(self.secret))
        libc.msgget(self._key, IPC_CREATE | 0o666)
        libc.semget(self._key, 1, IPC_CREATE | 0o666)
        self._call("mq_open", f"stepwell-{self._key}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        Path(f"/dev/shm/stepwell-{self._key}").write_text(self.secret)
        secret = self.secret.encode()
        self._ring = self._call(
            "add_key", b"user", b"stepwell-test", secret, ctypes.c_size_t(len(secret)), USER_KEYRING
        )

    def _call(self, name: str, *arguments: object) -> int:
        return int(libc.syscall(ctypes.c_long(self.calls[name]), *arguments))

    def _seen(self) -> dict[str, Any]:
        """All that an attack may not change."""
        found: dict[str, Any] = {"the process": self.process.poll() is None}
        if found["the process"]:
            found["its priority"] = os.getpriority(os.PRIO_PROCESS, self.process.pid)
            found["its scheduling"] = os.sched_getscheduler(self.process.pid)
        else:
            found["its priority"] = found["its scheduling"] = None
        found["our priority"] = os.getpriority(os.PRIO_PROCESS, 0)
        for name in ("secret", "victim", "modes"):
            path = self.folder / name
            found[name] = (path.read_text(), path.stat().st_mode, path.stat().st_mtime) if path.exists() else None
        for folder in (self.folder, self.base / "sandboxes" / "other", self.base / "sandboxes" / "other" / "workspace"):
            found[str(folder)] = _names(folder) if folder.is_dir() else None
        found["shared memory"] = libc.shmget(self._key, 0, 0) >= 0
        found["/dev/shm"] = [name for name in _names(Path("/dev/shm")) if "stepwell" in name and "left" in name]
        return found


def _echo(udp: socket.socket) -> None:
    while True:
        try:
            _, sender = udp.recvfrom(99)
            udp.sendto(b"heard", sender)
        except OSError:
            return


def _numbers() -> dict[str, int]:
    tables = seccomp.REFUSED | seccomp.ABSENT | seccomp.REFUSED_WITHOUT_NAMESPACES | seccomp.LOOKED_AT
    numbers = {name: pair[seccomp.COLUMN[MACHINE]] for name, pair in tables.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def _addresses() -> list[str]:
    """Addresses of this machine but loopback."""
    done = subprocess.run(["hostname", "-I"], capture_output=True, text=True)
    return done.stdout.split()[:4] or ["127.0.0.2"]


def _devices(kind: Any) -> list[str]:
    found: list[str] = []
    for folder in map(Path, ("/dev", "/dev/net", "/dev/input", "/dev/mapper")):
        found += [f"{folder}/{name}" for name in (_names(folder) if folder.is_dir() else [])]
    return [path for path in found if _is(kind, path)]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _is(kind: Any, path: str) -> bool:
    try:
        return bool(kind(os.lstat(path).st_mode))
    except OSError:
        return False


def preface(known: dict[str, Any]) -> str:
    """`HOST` as code."""
    return f"import json\nHOST = json.loads({json.dumps(json.dumps(known))})\n"
