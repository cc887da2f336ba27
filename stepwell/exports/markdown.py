"""Markdown and HTML of others, made harmless: what of them a document shows, and nothing that runs or is fetched."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nodes.answer_checks.number_sources import NumberSource, NumberSources
from storage.clean_text import clean_prose

LINK_SCHEMES = ("http", "https", "mailto")
TABLE_TAGS = {"table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption"}
INLINE_TAGS = {"b", "i", "em", "strong", "code", "br", "span", "sub", "sup", "s", "del", "small", "p", "div", "pre"}
SPANS = {"colspan", "rowspan", "scope"}
PROSE_TAGS = TABLE_TAGS | INLINE_TAGS | {
    "a", "img", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "figure", "figcaption",
}  # fmt: skip
DATE = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")
SIGN = re.compile(r"(?:(?<![^\s(\[=:])[-−+])?$")
"""The sign of the number that follows: not the hyphen of a word or of a range."""
MAX_PROSE = 400_000
"""Characters of a text that are read as Markdown; one that is longer is shown as it is."""


def prose(
    text: str,
    *,
    numbers: NumberSources | None = None,
    picture: Callable[[str], str] = lambda path: "",
    link: Callable[[str], str] = lambda path: "",
) -> str:
    """Markdown as HTML that runs nothing and fetches nothing.

    Args:
        text: Markdown; HTML in it is shown as text.
        numbers: Finds what its numbers come from: they become links to the cells.
        picture: The address of a picture by its path; empty: its words stand in its place.
        link: The address of a file by its path; empty: the words stand there without a link.
    """
    text = clean_prose(text)
    if len(text) > MAX_PROSE:
        return f"<pre>{html.escape(text)}</pre>"
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        if style := str(token.attrs.pop("style", "")):
            token.attrs["class"] = style.removeprefix("text-align:")
        if token.children:
            token.children = list(_inline(token.children, numbers, picture, link))
    return _cleaned(parser.renderer.render(tokens, parser.options, {}))


def table(text: str) -> str:
    """The HTML that an object wrote of itself, as far as it is a table: no styles, no links, no pictures."""
    tags = TABLE_TAGS | INLINE_TAGS
    cleaned = nh3.clean(
        text,
        tags=tags,
        attributes={"th": SPANS, "td": SPANS},
        clean_content_tags={"script", "style", "template", "noscript", "svg", "math", "iframe", "object"},
        link_rel=None,
    )
    return clean_prose(cleaned).strip()


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _cleaned(text: str) -> str:
    cleaned = nh3.clean(
        text,
        tags=PROSE_TAGS,
        attributes={
            "a": {"href", "title", "class"},
            "img": {"src", "alt", "title"},
            "th": SPANS | {"class"},
            "td": SPANS | {"class"},
            "ol": {"start"},
            "code": {"class"},
        },
        url_schemes={*LINK_SCHEMES, "data"},
        link_rel="noopener noreferrer",
        attribute_filter=_allowed,
    )
    return clean_prose(cleaned)  # again: characters that were written as entities are themselves now


def _allowed(tag: str, attribute: str, value: str) -> str | None:
    """What of an attribute stays: pictures come with the document, and links lead to the web or into it."""
    if attribute == "src":
        return value if value.startswith(("data:image/", "/")) and not value.startswith("//") else None
    if attribute == "href":
        return None if value.lower().startswith("data:") else value
    return value


def _inline(
    tokens: Sequence[Token],
    numbers: NumberSources | None,
    picture: Callable[[str], str],
    link: Callable[[str], str],
) -> Iterator[Token]:
    """The tokens of a line, with addresses of this document in their place, and numbers that lead to their cells."""
    dropped: list[bool] = []
    for token in tokens:
        if token.type == "image":
            yield from _image(token, picture)
        elif token.type == "link_open":
            address = _address(str(token.attrs.get("href") or ""), link)
            dropped.append(not address)
            if address:
                token.attrs["href"] = address
                yield token
        elif token.type == "link_close":
            if not (dropped and dropped.pop()):
                yield token
        elif token.type == "text" and numbers is not None and not dropped:
            yield from _traced(token, numbers)
        elif token.type == "code_inline" and not dropped and (address := link(_path(token.content.strip()))):
            yield from (Token("link_open", "a", 1, attrs={"href": address}), token, Token("link_close", "a", -1))
        else:
            yield token


def _image(token: Token, picture: Callable[[str], str]) -> Iterator[Token]:
    if address := picture(_path(str(token.attrs.get("src") or ""))):
        token.attrs["src"] = address
        yield token
    else:
        yield Token("text", "", 0, content=f"[{token.content or 'picture'}]")


def _address(href: str, link: Callable[[str], str]) -> str:
    try:
        scheme = urlsplit(href).scheme.lower()
    except ValueError:
        return ""
    if scheme:
        return href if scheme in LINK_SCHEMES else ""
    return link(_path(href))


def _path(href: str) -> str:
    return unquote(href).removeprefix("./")


def _traced(token: Token, numbers: NumberSources) -> Iterator[Token]:
    text, position = token.content, 0
    dates = [match.span() for match in DATE.finditer(text)]
    for source in numbers.find(text):
        if any(start <= source.start < end for start, end in dates):
            continue  # the year of a date is no result
        sign = SIGN.search(text, position, source.start)
        start = sign.start() if sign else source.start
        if start > position:
            yield Token("text", "", 0, content=text[position:start])
        yield from _mark(source, text[start : source.end])
        position = source.end
    if position < len(text):
        yield Token("text", "", 0, content=text[position:])


def _mark(source: NumberSource, text: str) -> Iterator[Token]:
    title = f"Cell {source.cell}" + (f": {source.expression}" if source.expression else "")
    attributes: dict[str, Any] = {"href": f"#cell-{source.cell}", "class": "number", "title": title[:500]}
    yield Token("link_open", "a", 1, attrs=attributes)
    yield Token("text", "", 0, content=text)
    yield Token("link_close", "a", -1)
