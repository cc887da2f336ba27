"""How a file of somebody else is handed to a browser: named and typed so that nothing in it runs there."""

import re
from urllib.parse import quote

INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
"""What a browser shows without running anything in it; all else is handed over as a download."""
TEXT = frozenset({"application/json", "application/jsonl", "application/x-ipynb+json"})
SAFE: dict[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-site",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
"""Whatever a file pretends to be, a browser gives it no rights."""


def content_type(kind: str) -> str:
    """`Content-Type` for a MIME type: text is UTF-8."""
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind in TEXT else kind


def disposition(name: str, *, inline: bool) -> str:
    """`Content-Disposition` (RFC 6266) for a file's name: nothing in it can end the header or begin another."""
    last = name.rpartition("/")[2]
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", last)[:200] or "file"
    exact = quote(last.encode("utf-8", "replace"), safe="")
    return f"{'inline' if inline else 'attachment'}; filename=\"{plain}\"; filename*=UTF-8''{exact}"
