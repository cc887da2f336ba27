"""Takes and restores snapshots: the variables as one graph of objects, and the files of the workspace.

What is called by name when a stream is loaded (`stepwell_kernel.snapshots.…`) is part of the format.
"""
