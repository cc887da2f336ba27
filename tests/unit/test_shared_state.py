"""What a forked copy would share with its original is found, and what libraries keep open is not taken for it."""

import mmap
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandboxes.inside.kernel.shared_state import SharedState, _children, _descriptors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
LIBRARY = Path(os.__file__)


def look(folder: Path) -> None:
    """Open and close what would be shared, and look each time."""
    state, children = SharedState([str(folder)]), _children()

    def is_shared(*descriptors: int) -> bool:
        return state.is_there(descriptors, children, [])

    assert not is_shared()
    with LIBRARY.open() as of_library, Path(os.devnull).open("w") as nothing, tempfile.TemporaryFile() as written:
        assert is_shared()
        assert not is_shared(written.fileno()), (of_library, nothing)
    (folder / "mine").write_text("1")
    with (folder / "mine").open():
        assert is_shared()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_shared()
        assert is_shared(ours.fileno())
        assert not is_shared(ours.fileno(), theirs.fileno())
    copied = os.dup(2)  # of what there was at the beginning
    assert not is_shared()
    os.close(copied)
    with subprocess.Popen(["sleep", "100"]) as child:
        assert is_shared()
        assert not state.is_there([], {*children, child.pid}, [])
        child.kill()
    assert not is_shared()
    with mmap.mmap(-1, 10, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as private:
        assert not is_shared(), private
        with mmap.mmap(-1, 10):
            assert is_shared()
    assert not is_shared()
    assert set(_descriptors()) >= {0, 1, 2}


LOOK = """
import pathlib, sys
from tests.unit.test_shared_state import look
look(pathlib.Path(sys.argv[1]))
print("looked")
"""


def test_files_pipes_connections_memory_and_children_are_shared(tmp_path: Path) -> None:
    """In a process of its own, since a thread of another test may open something between two looks."""
    looked = subprocess.run([sys.executable, "-c", LOOK, tmp_path], capture_output=True, text=True, check=False)
    assert (looked.stdout, looked.stderr) == ("looked\n", "")


LOOKS = """
import sys
from sandboxes.inside.kernel.shared_state import SharedState
state, before = SharedState([sys.argv[1]]), set(sys.modules)
assert not state.is_there([], [], [])
print(sorted(set(sys.modules) - before))
"""


def test_looking_imports_nothing(tmp_path: Path) -> None:
    """Modules that are there after a look would make the next snapshot another one."""
    looked = subprocess.run([sys.executable, "-c", LOOKS, tmp_path], capture_output=True, text=True, check=False)
    assert (looked.stdout, looked.stderr) == ("[]\n", "")
