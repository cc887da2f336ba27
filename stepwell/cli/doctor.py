"""`stepwell doctor`: which isolation works on this machine, what the chosen one keeps apart, and whether it serves."""

import asyncio
import sys
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from graph.checkpoints.data_folder import caution, trouble
from graph.env_files import make_home
from graph.settings import Settings, read_settings
from sandboxes.base import NoSuchSandboxError
from sandboxes.host.limits import Limits
from sandboxes.local.isolation import IN_WORDS
from sandboxes.local.isolation_choice import Examination, LevelTried, examine
from stepwell.cli.doctor_trial import Tried, attempt
from stepwell.cli.exits import FAILED, FINISHED, print_error
from stepwell.cli.live_view import Terminal
from stepwell.cli.thread_list import json_out, line_out
from stepwell.errors import UsageError

STYLES = {"enforced": "green", "soft": "yellow", "none": "red"}


def doctor(*, as_json: bool) -> int:
    """Say what works here; its exit code is 1 when no session can be had with these settings, or none that is whole."""
    settings = read_settings()
    if problem := _data_folder_trouble(settings):
        print_error(f"error: {problem}")
        return FAILED
    try:
        examination = examine(settings.local)
    except NoSuchSandboxError as error:
        raise UsageError(f"STEPWELL_ISOLATION or STEPWELL_REQUIRE_ISOLATION: {error}") from error
    tried: list[Tried] = []
    if not as_json:
        _show(examination, settings)
    problem = examination.problem
    if examination.level is not None:
        problem = asyncio.run(attempt(settings, "local", tried.append if as_json else _show_step, packages=True))
    note = caution(settings.home)
    if as_json:
        session = [asdict(one) for one in tried]
        json_out(as_data(examination, settings) | {"problem": problem, "session": session, "caution": note})
    elif note:
        line_out("caution", note)
    if problem:
        print_error(problem)
        return FAILED
    return FINISHED


def _show(examination: Examination, settings: Settings) -> None:
    if sys.stdout.isatty():
        _draw(examination, settings)
    else:
        for line in _lines(examination, settings):
            line_out(*line)


def _show_step(tried: Tried) -> None:
    line_out("session", tried.step, "failed" if tried.problem else "works", f"{tried.seconds:.2f} s")
    sys.stdout.flush()


def _data_folder_trouble(settings: Settings) -> str:
    """Why threads cannot be kept in the data folder, in a sentence."""
    try:
        make_home(settings.home)
    except OSError as error:
        reason = error.strerror or error
        return f"The data folder {settings.home} cannot be used ({reason}); set STEPWELL_HOME to a writable folder."
    return trouble(settings.home)


def as_data(examination: Examination, settings: Settings) -> dict[str, Any]:
    """The whole examination as JSON shapes."""
    return {
        "level": examination.level,
        "problem": examination.problem,
        "properties": {
            name: {"state": verdict.state, "why": verdict.why} for name, verdict in examination.states.items()
        },
        "levels": [
            {"level": one.level, "works": one.works, "chosen": one.chosen, "why": one.why} for one in examination.levels
        ],
        "limits": dict(_limits(settings.limits)),
        "network": settings.network,
    }


def _limits(limits: Limits) -> list[tuple[str, int]]:
    """The limits of a sandbox in bytes, counts and seconds; 0: there is none."""
    return [
        ("memory", limits.memory_or_half),
        ("processes", limits.processes),
        ("workspace", limits.workspace),
        ("file", limits.file_bytes),
        ("tmp", limits.tmp_bytes),
        ("shared memory", limits.shared_memory_bytes),
        ("open files", limits.open_files),
        ("cpu seconds", limits.cpu),
    ]


def _works(one: LevelTried) -> str:
    return "chosen" if one.chosen else "works" if one.works else "does not work"


def _lines(examination: Examination, settings: Settings) -> list[tuple[str, ...]]:
    return [
        *(("level", one.level, _works(one), one.why) for one in examination.levels),
        *(("property", name, verdict.state, verdict.why) for name, verdict in examination.states.items()),
        *(("limit", name, str(value)) for name, value in _limits(settings.limits)),
        ("network", settings.network),
    ]


def _draw(examination: Examination, settings: Settings) -> None:
    terminal = Terminal()
    levels = Table(
        "level", "", "", box=None, pad_edge=False, title="Levels of isolation, best first", title_justify="left"
    )
    for one in examination.levels:
        style = "bold" if one.chosen else "" if one.works else "dim"
        levels.add_row(one.level, _works(one), one.why, style=style)
    terminal.print(levels)
    if examination.level is None:
        return
    terminal.print(f"\n{examination.level}: {IN_WORDS[examination.level]}\n")
    properties = Table("property", "", "why", box=None, pad_edge=False)
    for name, verdict in examination.states.items():
        properties.add_row(name, Text(verdict.state, style=STYLES[verdict.state]), verdict.why)
    terminal.print(properties)
    shown = ", ".join(f"{name} {_short(name, value)}" for name, value in _limits(settings.limits) if value)
    terminal.print(f"\nLimits of a sandbox: {shown}. Network: {settings.network}.")


def _short(name: str, value: int) -> str:
    return f"{value:,}" if name in ("processes", "open files", "cpu seconds") else f"{value / 1e6:,.0f} MB"
