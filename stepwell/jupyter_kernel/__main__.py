"""`python -m stepwell.jupyter_kernel -f FILE`: what Jupyter starts for a notebook."""

import sys

from graph.settings import SettingsError, read_settings
from stepwell.jupyter_kernel.notebook_threads import NotebookThreads
from stepwell.last_session import OF_NOTEBOOKS, LastSession, begin_early


def begin() -> LastSession | None:
    """Begin what the first cell needs; what is wrong with the settings is said by that cell."""
    try:
        settings = read_settings()
    except SettingsError:
        return None
    thread = NotebookThreads.of(settings.home, sys.argv[-1]).read().thread
    return begin_early(settings, OF_NOTEBOOKS, thread=thread or "none")


if __name__ == "__main__":
    last = begin()

    from ipykernel.kernelapp import IPKernelApp

    from stepwell.jupyter_kernel.kernel import StepwellKernel

    StepwellKernel.last = last
    IPKernelApp.launch_instance(kernel_class=StepwellKernel)
