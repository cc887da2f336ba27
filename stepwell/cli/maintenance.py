"""Keep a data folder in order: remove threads and blobs, trust `.env` files, repair a database."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from graph.checkpoints.factory import checkpoints_file, plain_values
from graph.checkpoints.repair import RepairReport, repair_database
from graph.checkpoints.thread_lock import any_thread_held
from graph.env_files import EnvFile, EnvFileError, TrustedFolders, home_folder, read_env_file
from graph.settings import Settings, SettingsError, read_settings, settings_or_default
from stepwell import cleanup
from stepwell.cleanup import Swept
from stepwell.cli.exits import FAILED, FINISHED, print_error
from stepwell.cli.terminal_text import duration_text, is_conversation, one_line, size_text
from stepwell.cli.thread_list import json_out, line_out
from stepwell.errors import UsageError
from stepwell.retention import Rules
from stepwell.threads import find_thread


def gc(*, grace: float, dry_run: bool, rules: tuple[int, str, str] = (0, "", "")) -> int:
    """`stepwell gc`; the rules are those of `Rules`."""
    try:
        named = Rules(*rules)
    except ValueError as error:
        raise UsageError(f"{str(error).rstrip('.')}.") from None
    swept = asyncio.run(cleanup.gc(grace=grace, dry_run=dry_run, rules=named, settings=read_settings()))
    sys.stdout.write(f"{'would remove' if dry_run else 'removed'} {_counted(swept)}\n")
    for line in _about_rules(swept, dry_run=dry_run, grace=grace):
        sys.stdout.write(f"{line}\n")
    return FINISHED


def _about_rules(swept: Swept, *, dry_run: bool, grace: float) -> Iterator[str]:
    if swept.rules:
        yield f"{'would give up' if dry_run else 'gave up'} {_snapshots(swept.given_up)}"
    for effect in swept.rules:
        yield f"  {effect.rule}: {_snapshots(effect.steps)}, {size_text(effect.bytes)} by itself"
    if swept.young:
        yield f"{_snapshots(swept.young)} younger than {duration_text(grace)} stayed (--grace)"
    if swept.busy:
        threads = "1 thread was" if swept.busy == 1 else f"{swept.busy:,} threads were"
        yield f"{threads} left alone: at work, or with a session of the last day that holds what no snapshot has"
    if swept.over_budget:
        over = size_text(swept.over_budget)
        yield f"{over} above the budget: what is left is young, or where a branch or a turn ends"


def _snapshots(count: int) -> str:
    return "1 snapshot" if count == 1 else f"{count:,} snapshots"


def delete(name: str) -> int:
    """`stepwell delete`."""
    thread, swept = asyncio.run(_delete(name))
    sys.stdout.write(f"deleted thread {thread}; removed {_blobs(swept.removed, swept.removed_bytes)}\n")
    return FINISHED


async def _delete(name: str) -> tuple[str, Swept]:
    settings = await asyncio.to_thread(read_settings)
    thread = await find_thread(name, settings)
    return thread, await cleanup.delete(thread, settings=settings)


def _counted(swept: Swept) -> str:
    kept = f"{_blobs(swept.removed, swept.removed_bytes)}; {_blobs(swept.kept, swept.kept_bytes)} kept"
    return f"{kept}, {_inputs(swept.inputs, swept.inputs_bytes)} among them" if swept.inputs else kept


def _inputs(count: int, size: int) -> str:
    return f"{'1 input' if count == 1 else f'{count:,} inputs'} ({size_text(size)})"


def _blobs(count: int, size: int) -> str:
    return f"{'1 blob' if count == 1 else f'{count:,} blobs'} ({size_text(size)})"


SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DATABASE_URL", re.IGNORECASE)


def trust(folder: Path, *, yes: bool) -> int:
    """Show what the folder's `.env` decides, and trust it as it is now."""
    try:
        file = read_env_file(folder)
        if file is None:
            raise UsageError(f"{one_line(str(folder))} holds no file .env; there is nothing to trust.")
        _show(file)
        if not yes and is_conversation() and input("Trust it? [y/N] ").strip().lower() not in ("y", "yes"):
            print_error("Not trusted; nothing of it is applied.")
            return FAILED
        TrustedFolders(home_folder()).add(file)
    except (EnvFileError, OSError) as error:
        raise SettingsError(str(error)) from None
    print_error(f"{one_line(str(file.path))} is trusted until it changes; stepwell trust --remove takes that back.")
    return FINISHED


def distrust(folder: Path) -> int:
    """Trust the folder's `.env` no more, whether it is still there or not."""
    path = Path(os.path.realpath(folder)) / ".env"
    try:
        there = TrustedFolders(home_folder()).remove(path)
    except (EnvFileError, OSError) as error:
        raise SettingsError(str(error)) from None
    print_error(f"{one_line(str(path))} {'is trusted no more' if there else 'was not trusted'}.")
    return FINISHED


def list_trusted() -> int:
    """A line for each file: its path, and whether it is as it was when it was trusted."""
    try:
        listed = TrustedFolders(home_folder()).listed()
    except EnvFileError as error:
        raise SettingsError(str(error)) from None
    for path, sha256 in sorted(listed.items()):
        line_out(one_line(path), _state(Path(path), sha256))
    return FINISHED


def _state(path: Path, sha256: str) -> str:
    try:
        file = read_env_file(path.parent)
    except EnvFileError:
        return "changed"
    if file is None:
        return "gone"
    return "trusted" if file.sha256 == sha256 else "changed"


def _show(file: EnvFile) -> None:
    line_out(f"{one_line(str(file.path))} {'decides:' if file.values else 'decides nothing.'}")
    for name, value in file.values.items():
        line_out(f"  {name}={'(not shown)' if value and SECRET.search(name) else one_line(value, 300)}")


def repair(*, as_json: bool) -> int:
    """Repair the threads of these settings' data folder."""
    done = asyncio.run(repair_threads(read_settings()))
    if as_json:
        json_out({"threads": done.threads, "set_back": done.set_back, "kept": str(done.kept_copy)})
        return FINISHED
    for thread, left in done.set_back.items():
        sys.stdout.write(f"{thread}\t{f'went back, {left:,} checkpoints are left' if left else 'nothing is left'}\n")
    if done.set_back:
        print_error(
            "Cells that ran after what is left may have had effects outside of their sandboxes: look before you go on."
        )
    whole = "1 thread is" if done.threads == 1 else f"{done.threads:,} threads are"
    print_error(f"{whole} whole. The file as it was is in {done.kept_copy}; `stepwell gc` removes what only it names.")
    return FINISHED


async def repair_threads(settings: Settings | None = None) -> RepairReport:
    """Write a data folder's file of threads anew with what can be read of it.

    Raises:
        SettingsError: there is none, somebody is at work there, or it cannot be written.
    """
    settings = await settings_or_default(settings)
    if settings.database_url.get_secret_value():
        raise SettingsError("The threads are in the database of STEPWELL_DATABASE_URL; repair that with its own tools.")
    file = checkpoints_file(settings.home)

    def work() -> RepairReport:
        if not file.exists():
            raise SettingsError(f"There are no threads in {settings.home}, so there is nothing to repair.")
        if any_thread_held(settings.home):
            raise SettingsError("A thread is being worked on; wait for it or stop it, then repair.")
        return repair_database(file, plain_values())

    return await asyncio.to_thread(work)
