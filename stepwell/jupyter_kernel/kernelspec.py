"""Tells Jupyter of the kernel, and takes that back."""

import json
import os
import sys
import tempfile
from pathlib import Path

from stepwell.errors import UsageError

DISPLAY_NAME = "Stepwell"


def kernelspec() -> dict[str, object]:
    """What Jupyter is told: how the kernel is started and interrupted."""
    kept = {name: os.environ[name] for name in ("STEPWELL_HOME",) if os.environ.get(name)}
    return {
        "argv": [sys.executable, "-m", "stepwell.jupyter_kernel", "-f", "{connection_file}"],
        "display_name": DISPLAY_NAME,
        "language": "python",
        "interrupt_mode": "message",
        "env": kept,
        "metadata": {"debugger": False},
    }


def install(name: str) -> str:
    """Write the kernel's description for this user.

    Args:
        name: What Jupyter calls it.

    Returns:
        The folder.

    Raises:
        UsageError: the name cannot be used, or the folder cannot be written.
    """
    from jupyter_client.kernelspec import KernelSpecManager

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.json").write_text(json.dumps(kernelspec(), indent=1), "utf-8")
        try:
            return str(KernelSpecManager().install_kernel_spec(folder, name, user=True))
        except (OSError, ValueError) as error:
            raise UsageError(f"The kernel {name!r} cannot be installed ({error}).") from None


def remove(name: str) -> str:
    """Take the kernel's description away.

    Returns:
        The folder that it was in.

    Raises:
        UsageError: there is none of that name, or it is another kernel's.
    """
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    manager = KernelSpecManager()
    try:
        known = manager.get_kernel_spec(name)
        if "stepwell.jupyter_kernel" not in known.argv:
            raise UsageError(f"The kernel {name!r} is not Stepwell's.")
        return str(manager.remove_kernel_spec(name))
    except NoSuchKernel:
        raise UsageError(f"There is no kernel {name!r}.") from None
    except OSError as error:
        raise UsageError(f"The kernel {name!r} cannot be removed ({error}).") from None
