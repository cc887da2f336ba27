"""Cells that are not plain Python: IPython's magics, and other languages."""
