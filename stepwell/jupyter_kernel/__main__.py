"""`python -m stepwell.jupyter_kernel -f FILE`: what Jupyter starts for a notebook."""

from ipykernel.kernelapp import IPKernelApp

from stepwell.jupyter_kernel.kernel import StepwellKernel

if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=StepwellKernel)
