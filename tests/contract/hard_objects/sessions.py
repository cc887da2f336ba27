"""All the hard sessions."""

from tests.contract.hard_objects import (
    HardSession,
    classes,
    drawn,
    frames,
    identity,
    language,
    modules,
    programs,
    settings,
    stores,
    tables,
    values,
)

SESSIONS: dict[str, HardSession] = {
    name: hard
    for theme in (identity, classes, modules, settings, stores, drawn, frames, values, programs, language, tables)
    for name, hard in theme.SESSIONS.items()
}
