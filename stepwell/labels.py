"""What people call their threads: names and tags, as they are given, checked, changed and looked up."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from graph.checkpoints.labels import Labels
from stepwell.errors import ThreadError

if TYPE_CHECKING:
    from graph.settings import Settings

MAX_NAME, MAX_TAG, MAX_TAGS = 100, 50, 50
FULL_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
RESERVED = "last"
ChangeOf = Callable[[str, Mapping[str, Labels]], Labels]
"""Given a thread's id and the labels of all threads, its new ones."""


def threads_named(name: str, labels: Mapping[str, Labels]) -> list[str]:
    """The ids of the threads that have a name, in whatever case."""
    wanted = _comparable(name)
    return sorted(thread for thread, one in labels.items() if wanted and _comparable(one.name) == wanted)


async def rename(thread: str, name: str, *, settings: "Settings | None" = None) -> str:
    """Give a thread a name, by which commands find it; an empty one removes it.

    Args:
        thread: Its name so far, its id or the beginning of that, or `last`.
        name: The new name: up to 100 characters on one line, without `@`, and no other thread's.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The thread's id.

    Raises:
        ThreadError: there is no such thread, or the name cannot be used.
    """
    new = checked_name(name)
    return (await _change(thread, lambda id, labels: Labels(_free(new, id, labels), _of(id, labels).tags), settings))[0]


async def tag(
    thread: str, *tags: str, remove: bool = False, settings: "Settings | None" = None
) -> tuple[str, tuple[str, ...]]:
    """Give a thread tags, or take them away; without any tag, nothing changes.

    Args:
        thread: Its name, its id or the beginning of that, or `last`.
        tags: Up to 50 characters each, without spaces and commas.
        remove: Take these away.
        settings: Where threads are kept; None reads the environment.

    Returns:
        The thread's id, and all tags that it has then.

    Raises:
        ThreadError: there is no such thread, it lacks a tag that is to be removed, or a tag cannot be used.
    """
    given = [checked_tag(one) for one in tags]

    def changed(id: str, labels: Mapping[str, Labels]) -> Labels:
        old = _of(id, labels)
        return Labels(old.name, _without(old, given, id) if remove else _with(old, given))

    id, new = await _change(thread, changed, settings)
    return id, new.tags


def checked_name(name: str) -> str:
    """The name as it is kept.

    Raises:
        ThreadError: it cannot be used.
    """
    name = unicodedata.normalize("NFC", name).strip()
    if len(name) > MAX_NAME or not name.isprintable():
        raise ThreadError(f"A thread's name has up to {MAX_NAME} characters on one line; {name[:40]!r}… has not.")
    if "@" in name or name.startswith("-"):
        raise ThreadError(f"{name!r} cannot be a name: `@` names a step, and `-` at the beginning an option.")
    if name.casefold() == RESERVED or FULL_ID.fullmatch(name):
        raise ThreadError(f"{name!r} cannot be a name, since it names a thread already: the newest, or one by its id.")
    return name


def checked_labels(name: str, tags: Sequence[str]) -> Labels:
    """A name, or none, and tags as they are kept.

    Raises:
        ThreadError: one of them cannot be used.
    """
    return Labels(checked_name(name), _with(Labels(), [checked_tag(one) for one in tags]))


def checked_tag(tag: str) -> str:
    """The tag as it is kept.

    Raises:
        ThreadError: it cannot be used.
    """
    tag = unicodedata.normalize("NFC", tag).strip()
    if not tag or len(tag) > MAX_TAG or not tag.isprintable() or re.search(r"[\s,]", tag) or tag.startswith("-"):
        raise ThreadError(
            f"{tag[:60]!r} cannot be a tag, which has 1 to {MAX_TAG} characters, no spaces or commas and no `-` first."
        )
    return tag


async def _change(thread: str, change: ChangeOf, settings: "Settings | None") -> tuple[str, Labels]:
    from graph.checkpoints.factory import open_checkpoints
    from graph.settings import settings_or_default
    from stepwell.threads import find_thread

    settings = await settings_or_default(settings)
    id = await find_thread(thread, settings)
    made: list[Labels] = []

    def work(labels: Mapping[str, Labels]) -> Labels:
        made[:] = [change(id, labels)]
        return made[0]

    async with open_checkpoints(settings) as saver:
        if not await saver.change_labels(id, work):
            raise ThreadError(f"There is no thread {id}; `stepwell threads` lists them.")
    return id, made[0]


def _free(name: str, thread: str, labels: Mapping[str, Labels]) -> str:
    others = [one for one in threads_named(name, labels) if one != thread]
    if others:
        raise ThreadError(f"Thread {others[0]} is called {name} already; rename that one first, or take another name.")
    return name


def _of(thread: str, labels: Mapping[str, Labels]) -> Labels:
    return labels.get(thread, Labels())


def _with(old: Labels, tags: Sequence[str]) -> tuple[str, ...]:
    known = {one.casefold(): one for one in (*reversed(tags), *old.tags)}
    if len(known) > MAX_TAGS:
        raise ThreadError(f"A thread has up to {MAX_TAGS} tags; remove some first.")
    return tuple(sorted(known.values(), key=str.casefold))


def _without(old: Labels, tags: Sequence[str], thread: str) -> tuple[str, ...]:
    missing = [one for one in tags if not old.tagged(one)]
    if missing:
        there = f"it has {', '.join(old.tags)}" if old.tags else "it has none"
        raise ThreadError(f"Thread {thread} has no tag {', '.join(missing)}; {there}.")
    gone = {one.casefold() for one in tags}
    return tuple(one for one in old.tags if one.casefold() not in gone)


def _comparable(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().casefold()
