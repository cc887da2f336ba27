"""`python -m stepwell.jupyter_kernel -f FILE`: what Jupyter starts for a notebook."""

from contextlib import suppress

from graph.settings import SettingsError, read_settings
from sandboxes.local.isolation_choice import choose_ahead

if __name__ == "__main__":
    with suppress(SettingsError):  # the first cell says what is wrong with them
        choose_ahead(read_settings().local)

    from ipykernel.kernelapp import IPKernelApp

    from stepwell.jupyter_kernel.kernel import StepwellKernel

    IPKernelApp.launch_instance(kernel_class=StepwellKernel)
