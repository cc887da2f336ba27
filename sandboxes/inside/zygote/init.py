"""The first process of a sandbox: trusted, no user code in it. It interrupts, kills, measures and reports.

What it says goes to the host over a socket of its own, which no other process of the sandbox has. Each message is one
JSON object. From the host: `begin` (with the order), `cell` (a cell runs, or none), `interrupt`, `kill`, `return` (end
the runner, and spare the copy of a step), `wake`, and the end of the connection, which ends everything. To the host:
`failed`, `exit`, `returning` (whether there is a copy of that step).
"""

import array
import fcntl
import json
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from . import measuring, private_root, system
from .measuring import LimitMonitor
from .runner import CONTROL, run
from .system import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    bound_capabilities,
    die_with_parent,
    drop_capabilities,
    no_new_privileges,
    prctl,
)


class ControlGroupJoin:
    """Enters control groups with this process, in a thread that has started.

    Args:
        join_fds: Descriptors of their `cgroup.procs`; closed once they are entered.
    """

    def __init__(self, join_fds: Iterable[int]) -> None:
        self._join_fds = tuple(join_fds)
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._enter)
        if self._join_fds:
            self._thread.start()

    def _enter(self) -> None:
        try:
            for fd in self._join_fds:
                os.write(fd, b"0")
        except OSError as error:
            self._error = error

    def end(self) -> None:
        """Wait until it is in all of them; only then a child is, too.

        Raises:
            OSError: it is refused.
        """
        if self._join_fds:
            self._thread.join()
        for fd in self._join_fds:
            os.close(fd)
        if self._error is not None:
            raise OSError(self._error.errno, f"its control group: {self._error}")


PORT = 3128
BACKLOG = 128
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 1, 64


def listen() -> socket.socket:
    """Bring loopback up in this network namespace, and listen there; the host accepts what connects.

    Raises:
        OSError: it is refused.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
    return socket.create_server(("127.0.0.1", PORT), backlog=BACKLOG)


HOST = 4
MEMORY_SECONDS = 0.05
"""How often it is looked at while a cell runs."""
BETWEEN_SECONDS = 1.0
"""How often all of it is looked at between cells, while something that a cell started goes on."""
COPY_FIRST = 900
"""How readily the system ends a copy when memory runs short, before the session itself."""
STOP_ROUNDS = 8
"""How often it is looked for processes that began while the others were stopped."""
MOST_ROUNDS = 1_000
"""How often it is looked for processes that began while the others were ended, before nothing is spared."""
QUIET_ROUNDS = 2
"""How often nobody new is found until it is believed that nobody is left."""
SO_PASSRIGHTS = 83
"""Whether descriptors can be handed over by a socket; Linux 6.16 and later."""
CREDENTIALS = struct.Struct("iII")
MAX_MESSAGE = 1 << 20


def serve(config: dict[str, Any], given: list[int], proc: int) -> None:
    """Become the first process of a sandbox; does not return.

    Args:
        config: The zygote's.
        given: Descriptors: the kernel's connection, what the sandbox prints into, the same for stderr, our connection,
            and the descriptor that joins a control group, if there is one.
        proc: A descriptor of a `/proc` that shows this process and its children.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open("/dev/null", os.O_RDONLY)
    control, output, errors, host, *groups = given
    _renumber([nothing, output, errors, control, host, proc, *groups])
    proc, first = 5, 6
    os.setsid()
    try:
        entering = ControlGroupJoin(range(first, first + len(groups)))
        if config["private_root"]:
            die_with_parent(signal.SIGKILL)
            system.unshare(system.NEW_MOUNTS | system.NEW_IPC | system.NEW_UTS | system.NEW_NETWORK)
            socket.sethostname("sandbox")
            sizes = {name: config[name] for name in ("tmp_bytes", "shared_memory_bytes")}
            owner = (config["user"], config["group"])
            private_root.build(config["read_only"], owner=owner, with_proc=config["with_proc"], **sizes)
            entering.end()
            system.unshare(system.NEW_CGROUP)
        else:  # nobody would end the others after it: so it dies of nothing but the end of its connection to the host
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            entering.end()
        Init(config, socket.socket(fileno=HOST), proc).serve()
    except BaseException as error:
        _tell(socket.socket(fileno=HOST), {"event": "failed", "why": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(1)


class Init:
    """Looks after one runner, from before it begins until everything ends."""

    def __init__(self, config: dict[str, Any], host: socket.socket, proc: int) -> None:
        self._config = config
        self._host = host
        if config["private_root"] and config["with_proc"]:
            # Its own numbers of processes are those that count for signals.
            self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        else:
            self._proc = proc
        in_memory = ("/tmp", private_root.HOME, "/dev/shm") if config["private_paths"] else ()
        self._watching = LimitMonitor(config["watched"], self._proc, in_memory)
        self._busy = self._left_over = False
        self._standby = 0
        self._copies: dict[str, int] = {}
        """The frozen copies of steps by their snapshots, the newest last; that of the last one is the standby."""
        self._ending: set[int] = set()
        """What was ended for a copy of an earlier step, and is not gone yet."""
        self._limit: dict[str, Any] = {}
        self._notices, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._notices.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with suppress(OSError):
            self._notices.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
        bound_capabilities()  # here and not with the order: somebody waits then
        order, self._order = os.pipe()
        self._woken, waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._runner = os.fork()
        if self._runner == 0:
            try:
                signal.set_wakeup_fd(-1)
                for ours in (self._host, self._notices):  # their numbers will be others' soon
                    ours.detach()
                for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, signal.SIG_DFL)
                seen = os.dup(proc)
                _renumber([0, 1, 2, CONTROL, theirs.detach(), order, seen])
                run(config, 6)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(112)
        theirs.close()
        os.close(order)
        for descriptor in (0, 1, 2, CONTROL):
            os.close(descriptor)
        prctl(PR_SET_DUMPABLE, 0)

    def serve(self) -> None:
        """Answer the host until it closes the connection."""
        poll = select.poll()
        for descriptor in (self._host.fileno(), self._notices.fileno(), self._woken):
            poll.register(descriptor, select.POLLIN)
        while True:
            pause = MEMORY_SECONDS if self._busy else BETWEEN_SECONDS if self._left_over else None
            ready = {descriptor for descriptor, _ in poll.poll(None if pause is None else pause * 1_000)}
            if self._notices.fileno() in ready:  # first: the host may ask for that copy
                for _ in range(self._config["copies"] + 2):  # a cell may send more than there is an end to
                    if not self._register_standby(poll):
                        break
            if self._host.fileno() in ready:
                self._listen()
            if self._woken in ready:
                self._reap()
            if self._busy or self._left_over:
                self._watch()
            if self._left_over and not self._busy and not ready:
                self._left_over = self._goes_on()

    def _listen(self) -> None:
        try:
            message, attached, _, _ = self._host.recvmsg(MAX_MESSAGE, 1_024)
        except OSError:
            message, attached = b"", []
        if not message:
            self._end()
        given = array.array("i")
        for level, kind, data in attached:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                given.frombytes(data[: len(data) - len(data) % given.itemsize])
        order = json.loads(message)
        what = order["op"]
        if what == "begin":
            self._begin(order, list(given))
        elif what == "cell":
            self._busy, self._left_over = order["runs"], True
        elif what == "interrupt":
            self._signal(signal.SIGINT)
        elif what == "kill":
            self._kill(self._runner)
        elif what == "return":
            self._return(order["step"])
        elif what == "wake":
            self._wake()
        elif what == "end":
            self._end()

    def _return(self, step: str) -> None:
        """Put the copy of a step in the place of the runner, which is ended, if there is such a copy.

        Nobody waits for what is ended: giving back a lot of memory takes longer than waking the copy.
        """
        copy, others = self._copies.get(step, 0), self._others()
        there = bool(self._runner) and copy in others
        if there:
            kept = {one for one in self._copies.values() if one in others}
            # What was killed starts nothing more, and copies sleep; who has just lost its parent may be missed once.
            self._ending &= set(others)
            quiet = rounds = 0
            while quiet < QUIET_ROUNDS and rounds < MOST_ROUNDS:
                new = set(others) - kept - self._ending
                for one in new:
                    self._kill(one)
                self._ending |= new
                quiet, rounds = 0 if new else quiet + 1, rounds + 1
                others = self._others()
            if quiet < QUIET_ROUNDS:
                self._end()
            self._copies.pop(step)
            self._runner, self._standby = copy, 0
        self._tell({"event": "returning", "there": there})

    def _wake(self) -> None:
        """Wake the copy that is the runner now."""
        if self._runner:
            measuring.give_way(self._proc, self._runner, 0)
            self._kill(self._runner, signal.SIGUSR1)

    def _begin(self, order: dict[str, Any], trees: list[int]) -> None:
        """Attach the sandbox's own folders, give up all privileges, and let the runner go on."""
        if order.get("why"):
            self._tell({"event": "failed", "why": order["why"]})
            self._end()
        try:
            given = dict(zip(order["trees"], trees, strict=True))
            if self._config["private_root"]:
                private_root.attach_places(given, hidden=order["hidden"], needed=self._config["read_only"])
            self._watching.begin(order)
            if self._config["network"]:
                with listen() as listener:
                    socket.send_fds(self._host, [json.dumps({"event": "door"}).encode()], [listener.fileno()])
            if self._config["become"]:
                system.switch_user(self._config["user"], self._config["group"])
            no_new_privileges()
            drop_capabilities()
            prctl(PR_SET_DUMPABLE, 0)
            os.write(self._order, json.dumps(order).encode())
        except OSError as error:
            self._tell({"event": "failed", "why": str(error)})
            self._end()
        os.close(self._order)
        self._watching.measure_baseline()

    def _register_standby(self, poll: select.poll) -> bool:
        """Learn which process is the standby: its number comes from the operating system, not from what it says.

        Returns:
            Whether there was a message.
        """
        size = socket.CMSG_SPACE(CREDENTIALS.size)
        try:
            message, attached, _, _ = self._notices.recvmsg(128, size, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            message, attached = b"", []
        if not message:
            poll.unregister(self._notices.fileno())
            return False
        for level, kind, data in attached:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and message.startswith(b"frozen"):
                self._standby = CREDENTIALS.unpack(data[: CREDENTIALS.size])[0]
                self._note_copy(message[7:].decode("ascii", "replace"))
        return True

    def _note_copy(self, step: str) -> None:
        """Note the step of the copy that is the standby now; there are no more than may be, the oldest go first."""
        self._copies.pop(step, None)
        if step:
            self._copies[step] = self._standby
        measuring.give_way(self._proc, self._standby, COPY_FIRST)
        while len(self._copies) > self._config["copies"] + 1:
            self._end_copy(next(iter(self._copies)))

    def _end_copy(self, step: str) -> None:
        process = self._copies.pop(step)
        if process not in (self._runner, self._standby):
            self._kill(process)

    def _reap(self) -> None:
        """Reap processes that have ended. If the runner has, its forked standby takes over."""
        try:
            while os.read(self._woken, 512):
                continue
        except BlockingIOError:
            pass
        while True:
            try:
                process, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            self._ending.discard(process)
            if process == self._runner:
                self._runner_ended(os.waitstatus_to_exitcode(status), used)
            elif process == self._standby:
                self._standby = 0

    def _runner_ended(self, code: int, used: Any) -> None:
        others = self._others()
        spared = self._standby if self._standby in others else 0
        if spared and self._limit.get("limit") == "memory" and self._watching.exceeds_memory(spared):
            spared = 0  # what is in /tmp would end it, too; it goes with the sandbox
        self._runner = self._standby = 0
        # Where memory ran short, there is no room for those of earlier steps.
        kept = {one for one in self._copies.values() if one in others} if spared and not self._limit else set()
        self._kill_all(kept | ({spared} if spared else set()))
        self._copies = {step: one for step, one in self._copies.items() if one in kept and one != spared}
        self._runner = spared
        self._busy = False
        if self._limit:
            self._watching.measure_baseline()
        peak = max(self._watching.peak, used.ru_maxrss << 10)
        said = {"event": "exit", "code": code, "copy": bool(spared), "peak": peak, **self._limit}
        self._tell({**said, "cpu": used.ru_utime + used.ru_stime})
        self._limit, self._watching.peak = {}, 0

    def _others(self) -> list[int]:
        """All processes of the sandbox but this one, under their numbers in the `/proc` that is looked at.

        Signals reach them by these, but for a private root without a `/proc` of its own: see `namespace_pid`.
        """
        if self._config["private_root"] and self._config["with_proc"]:
            return [int(name) for name in os.listdir(self._proc) if name.isdigit() and name != "1"]
        return measuring.tree(self._proc, _own_number(self._proc))

    def _measured(self) -> list[int]:
        """Those whose use counts: what was ended for a copy is about to give all of it back."""
        others = self._others()
        self._ending &= set(others)
        return [one for one in others if one not in self._ending]

    def _goes_on(self) -> bool:
        """Whether more than a waiting runner and its standby is there."""
        processes = self._others()
        expected = 1 + len({self._standby, *self._copies.values()} & set(processes))
        return len(processes) > expected or any(measuring.threads(self._proc, one) > 1 for one in processes)

    def _kill_all(self, spared: set[int]) -> None:
        """End every process of the sandbox but this one and the spared ones, and wait until they are gone."""
        if self._config["private_root"] and not spared and not self._signal_all(signal.SIGKILL):
            return
        for _ in range(1_000):
            left = [process for process in self._others() if process not in spared]
            for process in left:
                self._kill(process)
            if not self._wait_for(left, spared):
                return

    def _wait_for(self, left: list[int], spared: set[int]) -> bool:
        """Reap what has ended; whether something is left to be killed."""
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            try:
                process, _, _ = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            self._ending.discard(process)
            if not process:
                if not [one for one in self._others() if one not in spared]:
                    return False
                time.sleep(0.001)
        return bool(left)

    def _end(self) -> None:
        """End the sandbox with all its processes."""
        if not self._config["private_root"]:
            self._kill_all(set())
        os._exit(0)

    def _signal(self, number: int) -> None:
        """Send a signal to the runner's group, as a terminal does on Ctrl-C."""
        if self._runner:
            try:
                os.killpg(os.getpgid(self._runner), number)
            except (ProcessLookupError, PermissionError):
                return

    def _signal_all(self, number: int) -> bool:
        """Send a signal to every process of the sandbox but this one, its first; whether there is another."""
        try:
            os.kill(-1, number)
        except ProcessLookupError:
            return False
        return True

    def _kill(self, process: int, number: int = signal.SIGKILL) -> None:
        if process > 1:
            try:
                os.kill(process, number)
            except (ProcessLookupError, PermissionError):
                return

    def _watch(self) -> None:
        """End the runner when it uses more than it may."""
        if self._runner and not self._limit:
            self._limit = self._watching.look(self._measured(), self._held)
            while self._limit.get("limit") == "memory" and self._give_up_copy():
                self._limit = self._watching.look(self._measured(), self._held)
            hidden = (measuring.namespace_pid(self._proc, one) for one in self._watching.hidden)
            for one in [self._runner] if self._limit else hidden:
                self._kill(one)
            self._watching.hidden = []

    def _give_up_copy(self) -> bool:
        """End the oldest copy of an earlier step, whose memory somebody needs; whether there was one."""
        earlier = [step for step, one in self._copies.items() if one not in (self._standby, self._runner)]
        if not earlier:
            return False
        process = self._copies.pop(earlier[0])
        self._kill(process)
        until = time.monotonic() + 0.2
        while process in self._others() and not self._is_gone(process) and time.monotonic() < until:
            time.sleep(0.001)
        return True

    def _is_gone(self, process: int) -> bool:
        """Whether a process has given back its memory, though nobody has asked how it ended."""
        return not measuring.resident(self._proc, [process])

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Stop all processes that are not stopped already, for the length of the block."""
        if self._config["private_root"] and not self._config["with_proc"]:  # their numbers are not known
            self._signal_all(signal.SIGSTOP)
            try:
                yield
            finally:
                self._signal_all(signal.SIGCONT)
            return
        stopped: list[int] = []
        for _ in range(STOP_ROUNDS):
            asleep = {self._standby, *self._copies.values()}
            found = [one for one in self._others() if one not in asleep.union(stopped)]
            for one in (going := [one for one in found if not measuring.stopped(self._proc, one)]):
                self._kill(one, signal.SIGSTOP)
            if not going:
                break
            stopped += going
        try:
            yield
        finally:
            for one in stopped:
                self._kill(one, signal.SIGCONT)

    def _tell(self, said: dict[str, Any]) -> None:
        """Send the host a message; exit when there is no host."""
        if not _tell(self._host, said):
            self._end()


def _own_number(proc: int) -> int:
    """The number of this process in a `/proc` that may be of another namespace."""
    return int(os.readlink("self", dir_fd=proc))


def _tell(host: socket.socket, said: dict[str, Any]) -> bool:
    """Send a message to the host; false when it is gone."""
    try:
        host.send(json.dumps(said).encode())
    except OSError:
        return False
    return True


def _renumber(descriptors: list[int]) -> None:
    """Give descriptors the numbers 0, 1, 2, …, and close all others."""
    moved = [_above(descriptor, len(descriptors)) for descriptor in descriptors]
    for number, descriptor in enumerate(moved):
        os.dup2(descriptor, number, inheritable=number < 3)
    os.closerange(len(descriptors), max(moved) + 256)


def _above(descriptor: int, count: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, count + 16)
