"""Checkpoints: where they are kept, who holds a thread, and what is read of them without a graph."""
