"""Sandboxes on a machine that is reached only by commands, files and streams: a bridge there holds the kernel.

What differs between such machines is in `machine.Machine`, which each kind writes.
"""
