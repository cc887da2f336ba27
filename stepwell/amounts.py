"""Counts, sizes and times in few words, the same in the terminal and on the page."""

THOUSAND = 1_000
MINUTE, HOUR, DAY = 60, 3_600, 86_400


def count_text(count: int, one: str, more: str = "") -> str:
    """`1 cell`, `1,204 cells`; a plural that does not only add an s is given."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def size_text(size: int) -> str:
    """`812 B`, `1.2 MB`."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < THOUSAND:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= THOUSAND
    return f"{amount:.1f} TB"


def duration_text(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE:02} min"


def ago_text(seconds: float) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `12 d ago`."""
    if seconds < MINUTE:
        return "just now"
    for unit, length, until in (("min", MINUTE, HOUR), ("h", HOUR, 2 * DAY)):
        if seconds < until:
            return f"{int(seconds // length)} {unit} ago"
    return f"{int(seconds // DAY)} d ago"
