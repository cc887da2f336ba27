"""Programs of ours that run behind a wall, or build it; they import nothing of the host."""

from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent
"""The folder with our programs, each a folder."""
