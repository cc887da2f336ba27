"""Runs a piece of Python in a process of its own: what cannot be taken back is tried there.

A fresh interpreter and not a fork of the test's, because a filter for every thread must not meet pytest's threads.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREPARED = "import sys, os\nfrom sandboxes.inside.zygote import system\nsystem.no_new_privileges()\n"


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The code, run to its end."""
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


def walled(code: str, *arguments: str) -> str:
    """What the code printed; `no_new_privs` is set before it."""
    done = python(PREPARED + code, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ending(code: str) -> int:
    """How the code ended: its exit code, negative for a signal; `no_new_privs` is set before it."""
    return python(PREPARED + code).returncode
