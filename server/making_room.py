"""Makes room while a server runs: its threads' steps lose their snapshots by the rules of its settings.

Each worker looks once an hour, and one of them at a time does it: who finds another one at it leaves it to that one.
"""

import asyncio
import logging

from graph.settings import Settings, SettingsError, server_keeps_our_checkpoints
from stepwell.cleanup import SweepHeldError, Swept, gc
from stepwell.retention import Rules

SWEEP_SECONDS = 3_600.0

logger = logging.getLogger(__name__)


def rules_of(settings: Settings) -> Rules:
    """The rules that an operator has set; without any, a server gives nothing up."""
    return Rules(settings.gc_keep_last, settings.gc_older_than, settings.gc_budget)


async def make_room(settings: Settings) -> None:
    """Make room now and then, as long as the server runs; nothing without rules."""
    rules = rules_of(settings)
    if not rules:
        return
    if not server_keeps_our_checkpoints(settings):
        logger.warning(
            "STEPWELL_GC_KEEP_LAST, STEPWELL_GC_OLDER_THAN and STEPWELL_GC_BUDGET do nothing here: "
            "this server keeps its checkpoints where Stepwell cannot see what they need."
        )
        return
    while True:
        await sweep_once(rules, settings)
        await asyncio.sleep(SWEEP_SECONDS)


async def sweep_once(rules: Rules, settings: Settings) -> Swept | None:
    """Make room once; None when it could not be done now, which the log says."""
    try:
        swept = await gc(rules=rules, settings=settings)
    except SweepHeldError:
        logger.debug("Another worker makes room.")
        return None
    except SettingsError as error:
        logger.warning("No room is made now: %s", error)
        return None
    except Exception:  # of whichever database or store; the next round tries again
        logger.exception("No room is made now")
        return None
    logger.info(
        "%d snapshots were given up; %d blobs with %d bytes were removed, %d bytes are kept.",
        swept.given_up,
        swept.removed,
        swept.removed_bytes,
        swept.kept_bytes,
    )
    if swept.over_budget:
        logger.warning(
            "Snapshots take %d bytes more than STEPWELL_GC_BUDGET; what is left is young, or ends a branch or a turn.",
            swept.over_budget,
        )
    return swept
