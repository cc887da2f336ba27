"""Whose checkpoints name the blobs of a store: those of a data folder, or those of a database, from any machine."""

import hashlib
from pathlib import Path

from graph.settings import Settings


def blob_owner(settings: Settings) -> Path:
    """The file that has the name of the owner. For a database, `open_checkpoints` writes it."""
    url = settings.database_url.get_secret_value()
    name = hashlib.sha256(url.encode()).hexdigest()[:16] if url else "command"
    return settings.home / f"blob-owner-{name}"


def note_database(settings: Settings, identity: str) -> None:
    """Write the name of the database's checkpoints, which is the same on all machines."""
    file = blob_owner(settings)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"the database {identity}")
