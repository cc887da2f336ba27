"""Bytes of a snapshot: blobs, what names them, large buffers, and what need not be written again: it is as it was."""
