"""Says in plain words in what two fingerprints of a session differ."""

from typing import Any

MAX_NAMED = 50
"""Differences that are named."""
NOT_COMPARED = -1
"""In the place of the size of a file whose content is another each time."""

Difference = dict[str, str]
"""`{"name", "how"}`."""


def compare(before: dict[str, Any], now: dict[str, Any], reasons: dict[str, str]) -> dict[str, Any]:
    """Compare a session that was restored with what it is to be.

    Args:
        before: The fingerprints of the session as it was kept.
        now: Those of the one that was restored.
        reasons: Why variables could not be loaded, by name.

    Returns:
        `differs`, `compared` (how many things were), and `skipped` (names of variables that could not be).
    """
    found: list[Difference] = []
    skipped: list[str] = []
    variables = now["variables"]
    unsure: dict[str, str] = {}
    for name, was in before["variables"].items():
        how = _variable(was, variables.get(name), reasons.get(name, ""))
        if not how and how is not None:
            if others := _shares(was, variables[name]):
                unsure[name] = others
            continue
        if how:
            found.append({"name": name, "how": how})
        elif how is None:
            skipped.append(name)
    # What was walked in another way than before says nothing of who shares with it.
    strange = {one["name"] for one in found} | set(skipped)
    for name, others in unsure.items():
        others_of = {*before["variables"][name]["with"], *variables[name]["with"]}
        if not strange & others_of and others_of <= before["variables"].keys() & variables.keys():
            found.append({"name": name, "how": f"no longer shares{others} what was shared"})
    extra = [name for name in variables if name not in before["variables"] and "." not in name]
    found += [{"name": name, "how": "comes back although it was gone"} for name in extra]
    for name, digest in before["settings"].items():
        if now["settings"].get(name) != digest:
            found.append({"name": name, "how": "is a setting that does not come back as it was"})
    found += [
        {"name": name, "how": "is set although it was not"}
        for name in now["settings"]
        if name not in before["settings"]
    ]
    for path, entry in before["files"].items():
        how = _file(entry, now["files"].get(path))
        if how:
            found.append({"name": path, "how": how})
    compared = len(before["variables"]) - len(skipped) + len(before["settings"]) + len(before["files"])
    return {"differs": found[:MAX_NAMED], "compared": compared, "skipped": skipped[:MAX_NAMED]}


def _variable(was: dict[str, Any], is_now: dict[str, Any] | None, reason: str) -> str | None:
    """How a variable differs; empty when it does not, None when that cannot be known."""
    if is_now is None:
        return f"does not come back ({reason})" if reason else "does not come back"
    if _like(was["type"]) != _like(is_now["type"]):
        return f"comes back as {is_now['type'].rpartition('.')[2]}, not as {was['type'].rpartition('.')[2]}"
    if lacking := _lacking(was.get("holds"), is_now.get("holds")):
        return f"comes back detached from {lacking}"
    if not (was["digest"] and is_now["digest"]):
        return None
    if was["digest"] != is_now["digest"]:
        return "comes back different"
    return ""


def _shares(was: dict[str, Any], is_now: dict[str, Any]) -> str:
    """With which other variables it does not share what it shared; empty when it does."""
    if was["shares"] == is_now["shares"]:
        return ""
    named = ", ".join(f"`{name}`" for name in list(dict.fromkeys((*was["with"], *is_now["with"])))[:3])
    return f" with {named}" if named else " within itself"


def _like(kind: str) -> str:
    """A kind, or what is used in the same way: iterators over the same things, files that can be written."""
    if kind.endswith("iterator"):
        return "iterator"
    return "_io.BufferedWriter" if kind == "_io.BufferedRandom" else kind


def _lacking(before: dict[str, int] | None, now: dict[str, int] | None) -> str:
    """What of the user's something held and does not hold any more, a few names."""
    if before is None or now is None:
        return ""
    lacking = [name for name, count in before.items() if now.get(name, 0) < count]
    return ", ".join(f"`{name}`" for name in lacking[:3])


def _file(was: list[Any], is_now: list[Any] | None) -> str:
    if is_now is None:
        return "is a file that does not come back"
    if was[0] != is_now[0]:
        return "is a file that comes back with another mode or as another kind"
    if NOT_COMPARED in (was[1], is_now[1]):
        return ""
    if was[1] != is_now[1] or (len(was) > 2 and was[2] and is_now[2] and was[2] != is_now[2]):
        return "is a file that comes back with other content"
    return ""
