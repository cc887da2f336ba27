"""All the hard sessions."""

from tests.contract.hard_objects import (
    HardSession,
    analyses,
    analysts,
    classes,
    drawn,
    formats,
    frames,
    habits,
    handles,
    identity,
    language,
    libraries,
    modules,
    process,
    programs,
    settings,
    stores,
    tables,
    values,
)

THEMES = (
    identity, classes, modules, settings, stores, drawn, frames, values, programs, language, tables, habits, handles,
    process, libraries, analyses, analysts, formats,
)  # fmt: skip
SESSIONS: dict[str, HardSession] = {name: hard for theme in THEMES for name, hard in theme.SESSIONS.items()}
