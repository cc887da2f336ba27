"""Sandboxes in Daytona: the same kernel on somebody else's machine.

Nothing is imported here: Daytona's client is an extra, and takes a second to import.
"""
