"""Benchmarks: ratios against a named alternative in the same run. `python -m bench [NAME…]` prints their tables."""
