"""What runs inside a sandbox: it imports nothing of the host, and the host believes nothing that it says."""

from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent
"""The folder with our programs, each a folder."""
