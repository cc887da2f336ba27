"""A child process on this machine, with a clean environment and a folder of its own."""

from sandboxes.local.sandbox import LocalSandbox

__all__ = ["LocalSandbox"]
