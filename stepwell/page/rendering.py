"""From what the page knows to HTML: its templates, the words in them, and what every page has."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from stepwell.amounts import ago_text, count_text, duration_text, size_text
from stepwell.exports.markdown import prose
from stepwell.exports.report import diff_lines, highlighted, stylesheet, variables_in
from stepwell.page.backend import Backend
from stepwell.page.variables import NOTHING, Missing
from storage.clean_text import clean, shown_code

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = Path(__file__).parent / "assets"
STATUS = {
    "finished": "answered",
    "waiting": "waits for a decision",
    "failed": "stopped on an error",
    "paused": "paused",
    "damaged": "damaged",
}
"""Where a thread stands, in words."""

POLICY = (
    "default-src 'none'; script-src {assets}; style-src {assets}; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{1,255}")
NUMBER = re.compile(r"\s*[+-]?[\d.,]*\d[\d.,]*(?:e[+-]?\d+)?\s*%?\s*", re.IGNORECASE)
LONG_NUMBER, LONGEST_NUMBER = re.compile(r"[+-]?\d+\.\d{5,}(?:e[+-]?\d+)?", re.IGNORECASE), 40
DAY = re.compile(r"\d{4}-\d\d-\d\d[ T]00:00:00(?:\.0+)?")
MISSING = Markup('<span class="missing" role="img" aria-label="missing" title="{}">—</span>')
MARKUP = re.compile(r"\|[\s:|-]*\||\||(?<!\S)#+(?!\S)")
EMPHASIS = re.compile(r"\*\*|`")
"""Signs of Markdown that a line of text is read without; what the first ones part stays apart."""
PARTS = 60
"""Pieces of a template that are sent together."""

NAME = "stepwell_page_user"
"""In the scope of a request: what its user is called, where they have signed in."""

BackendOf = Callable[[Request], Backend]


def backend_of(request: Request) -> Backend:
    """Whose threads a request sees."""
    found: BackendOf = request.app.state.backend_of
    return found(request)


def policy_of(request: Request) -> str:
    """What a page may load and run: its own scripts, and none that a thread has published at the same host."""
    host = public_host(request) or request.headers.get("host", "")
    assets = f"{host}{base_of(request)}/assets/" if HOST.fullmatch(host) else "'none'"
    return POLICY.format(assets=assets)


def base_of(request: Request) -> str:
    """Where the page is mounted: empty, or a path without a slash at its end."""
    root, public = str(request.scope.get("root_path", "")).rstrip("/"), _public_url(request).path.rstrip("/")
    return root if not public or root.startswith(f"{public}/") else public + root


def public_host(request: Request) -> str:
    """The host under which browsers find the page; empty where the operator has not said it."""
    return _public_url(request).netloc


def _public_url(request: Request) -> SplitResult:
    """Where browsers find what serves the page, when the operator has said so."""
    app = request.scope.get("app")
    return urlsplit(getattr(app.state, "public_url", "") if app is not None else "")


@cache
def environment() -> "Environment":
    """The templates of the page and of the reports; what is put into them is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader("stepwell.page"), PackageLoader("stepwell.exports")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters |= {
        "ago": _ago,
        "size": size_text,
        "duration": duration_text,
        "clean": clean,
        "code": highlighted,
        "plain_code": shown_code,
        "prose": _prose,
        "diff": diff_lines,
        "count": count_text,
        "money": _money,
        "marked": _marked,
        "numeric": _numeric,
        "days": _days,
        "shorter": _shorter,
        "missing": _missing,
        "variables": variables_in,
    }
    made.globals |= {"STATUS": STATUS}
    return made


async def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page as an answer."""
    text = await asyncio.to_thread(_rendered, template, {**values, **about(request)})
    return HTMLResponse(text, status)


async def long_page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page as an answer that begins before all of it is made."""
    values = {**values, **about(request), "asset": await asyncio.to_thread(_asset_version)}
    made = await asyncio.to_thread(lambda: environment().get_template(template).stream(values))
    made.enable_buffering(PARTS)
    return StreamingResponse(made, status, media_type="text/html; charset=utf-8")


def about(request: Request) -> dict[str, Any]:
    """What every template knows."""
    sent = request.method == "POST"
    return {"base": base_of(request), "path": request.url.path, "user": request.scope.get(NAME, ""), "sent": sent}


def part(template: str, name: str, values: Mapping[str, Any], *arguments: Any) -> str:
    """What a macro of a template makes; reads the disk the first time."""
    module = environment().get_template(template).make_module(dict(values))
    return str(getattr(module, name)(*arguments)).strip()


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(values, asset=_asset_version())


@cache
def asset(name: str) -> bytes:
    """A file of the page's own; reads the disk."""
    if name == "thread.css":
        return stylesheet().encode()
    return (ASSETS / name).read_bytes()


ASSET_TYPES = {
    "thread.css": "text/css; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "live.js": "text/javascript; charset=utf-8",
    "files.js": "text/javascript; charset=utf-8",
    "tus.js": "text/javascript; charset=utf-8",
    "decide.js": "text/javascript; charset=utf-8",
    "forms.js": "text/javascript; charset=utf-8",
    "numbers.js": "text/javascript; charset=utf-8",
    "prompt.js": "text/javascript; charset=utf-8",
}


@cache
def _asset_version() -> str:
    """Another one when a file of the page's own is another one, so that browsers may keep them."""
    digest = hashlib.sha256()
    for name in sorted(ASSET_TYPES):
        digest.update(asset(name))
    return digest.hexdigest()[:12]


def as_event(name: str, number: int, data: Mapping[str, Any]) -> bytes:
    """A server-sent event."""
    return f"event: {name}\nid: {number}\ndata: {json.dumps(data)}\n\n".encode()


def _ago(when: datetime) -> str:
    return ago_text((datetime.now(UTC) - when).total_seconds())


def _prose(text: str) -> Markup:
    return Markup(prose(text))  # noqa: S704 - it was made harmless


def _numeric(rows: Sequence[Sequence[str]], width: int) -> list[bool]:
    """Which columns of a table hold numbers and nothing else; at least so many as the width says."""
    return _all_match(NUMBER, rows, width)


def _days(rows: Sequence[Sequence[str]], width: int) -> list[bool]:
    """Which columns of a table hold times that are all midnight, so that they are days."""
    return _all_match(DAY, rows, width)


def _all_match(form: re.Pattern[str], rows: Sequence[Sequence[str]], width: int) -> list[bool]:
    columns = [[one for one in column if one.strip() not in NOTHING] for column in zip_longest(*rows, fillvalue="")]
    found = [bool(column) and all(map(form.fullmatch, column)) for column in columns]
    return found + [False] * (width - len(found))


def _shorter(text: str) -> str:
    """A number as people write it, where it has many digits behind its point; the whole is seen on hover."""
    if len(text) > LONGEST_NUMBER or not LONG_NUMBER.fullmatch(text):
        return clean(text)
    number = float(text)
    shown = f"{number:.2f}" if abs(number) >= 10_000 else f"{number:.6g}"
    return Markup('<span title="{}">{}</span>').format(text, shown) if shown != text else text


def _missing(text: str) -> str:
    """How a value that is missing is shown; empty for one that is there."""
    if not isinstance(text, Missing):
        return ""
    return MISSING.format(f"missing: {clean(text)}" if text.strip() else "missing: nothing is written here")


def _marked(excerpt: str, words: str) -> list[tuple[str, bool]]:
    """A part of an answer without the signs of Markdown, in pieces: the text, and whether it is a word searched for."""
    text = " ".join(MARKUP.sub(" ", EMPHASIS.sub("", excerpt)).split())
    found = "|".join(re.escape(word) for word in sorted(words.split(), key=len, reverse=True))
    parts = re.split(f"({found})", text, flags=re.IGNORECASE) if found else [text]
    return [(one, place % 2 == 1) for place, one in enumerate(parts) if one]


def _money(amount: float) -> str:
    return f"{amount:.4f}" if amount < 1 else f"{amount:.2f}"
