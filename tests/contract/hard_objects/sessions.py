"""All the hard sessions."""

from tests.contract.hard_objects import (
    HardSession,
    analysts,
    classes,
    drawn,
    formats,
    frames,
    habits,
    identity,
    language,
    modules,
    programs,
    settings,
    stores,
    tables,
    values,
)

THEMES = (
    identity,
    classes,
    modules,
    settings,
    stores,
    drawn,
    frames,
    values,
    programs,
    language,
    tables,
    habits,
    analysts,
    formats,
)
SESSIONS: dict[str, HardSession] = {name: hard for theme in THEMES for name, hard in theme.SESSIONS.items()}
