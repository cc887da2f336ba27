"""Sandboxes in Daytona: the same kernel on somebody else's machine."""

from sandboxes.daytona.sandbox import DaytonaSandbox

__all__ = ["DaytonaSandbox"]
