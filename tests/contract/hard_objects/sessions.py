"""All the hard sessions."""

from tests.contract.hard_objects import (
    HardSession,
    classes,
    definitions,
    drawn,
    execution,
    frames,
    habits,
    identity,
    instances,
    interpreter,
    language,
    modules,
    programs,
    settings,
    stores,
    tables,
    values,
)

THEMES = (
    identity, classes, modules, settings, stores, drawn, frames, values, programs, language, tables, habits, instances,
    definitions, interpreter, execution,
)  # fmt: skip
SESSIONS: dict[str, HardSession] = {name: hard for theme in THEMES for name, hard in theme.SESSIONS.items()}
