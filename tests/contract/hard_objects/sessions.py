"""All the hard sessions."""

from tests.contract.hard_objects import (
    HardSession,
    analyses,
    analysts,
    classes,
    definitions,
    drawn,
    engineers,
    execution,
    formats,
    frames,
    habits,
    handles,
    identity,
    instances,
    interpreter,
    language,
    libraries,
    modules,
    natives,
    natures,
    process,
    programs,
    scripts,
    settings,
    sharing,
    stores,
    tables,
    values,
)

THEMES = (
    identity, classes, modules, settings, stores, drawn, frames, values, programs, language, tables, habits, handles,
    process, libraries, analyses, analysts, formats, instances, definitions, interpreter, execution, scripts,
    natures, natives, engineers, sharing,
)  # fmt: skip
SESSIONS: dict[str, HardSession] = {name: hard for theme in THEMES for name, hard in theme.SESSIONS.items()}
