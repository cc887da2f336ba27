"""`stepwell doctor --repair`: a damaged file of threads is written anew, and what was lost is said thread by thread."""

import asyncio
import sys

from graph.checkpoints.opening import checkpoints_file, plain_values
from graph.checkpoints.salvage import Salvaged, salvage
from graph.checkpoints.thread_lock import anybody_at_work
from graph.settings import Settings, SettingsError, given_or_read, read_settings
from stepwell.cli.exits import FINISHED, complain
from stepwell.cli.rendering import json_out


def repair(*, as_json: bool) -> int:
    """Repair the threads of these settings' data folder."""
    done = asyncio.run(repair_threads(read_settings()))
    if as_json:
        json_out({"threads": done.threads, "set_back": done.set_back, "kept": str(done.kept_copy)})
        return FINISHED
    for thread, left in done.set_back.items():
        sys.stdout.write(f"{thread}\t{f'went back, {left:,} checkpoints are left' if left else 'nothing is left'}\n")
    if done.set_back:
        complain(
            "Cells that ran after what is left may have had effects outside of their sandboxes: look before you go on."
        )
    whole = "1 thread is" if done.threads == 1 else f"{done.threads:,} threads are"
    complain(f"{whole} whole. The file as it was is in {done.kept_copy}; `stepwell gc` removes what only it names.")
    return FINISHED


async def repair_threads(settings: Settings | None = None) -> Salvaged:
    """Write a data folder's file of threads anew with what can be read of it.

    Raises:
        SettingsError: there is none, somebody is at work there, or it cannot be written.
    """
    settings = await given_or_read(settings)
    if settings.database_url.get_secret_value():
        raise SettingsError("The threads are in the database of STEPWELL_DATABASE_URL; repair that with its own tools.")
    file = checkpoints_file(settings.home)

    def work() -> Salvaged:
        if not file.exists():
            raise SettingsError(f"There are no threads in {settings.home}, so there is nothing to repair.")
        if anybody_at_work(settings.home):
            raise SettingsError("A thread is being worked on; wait for it or stop it, then repair.")
        return salvage(file, plain_values())

    return await asyncio.to_thread(work)
