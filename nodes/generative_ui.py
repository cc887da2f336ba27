"""Figures and tables as generative UI: for pages that show them with components of their own.

What is pushed is a reference, a link and what to know before it is opened, so State stays small and nothing of a
sandbox's is read here. A page says in its run's `ui` which components it has: one that has none would fetch a program
for them from the server, and there is none.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from langchain_core.messages import AIMessage
from langgraph.config import get_config
from langgraph.graph.ui import UIMessage, push_ui_message

from graph.state import Artifact

PICTURE = re.compile(r"(!?+)\[([^\[\]]{0,300}+)\]\(([^()\s]{1,1000}+)")
"""A link of Markdown up to its address, and whether it is a picture."""
TABLES = frozenset({"text/csv", "text/tab-separated-values"})


@dataclass(frozen=True, slots=True)
class Component:
    """What a page shows with a component of its own."""

    name: Literal["figure", "table"]
    props: dict[str, Any]
    """What the component is given: of JSON values."""


def is_figure(one: Artifact) -> bool:
    """Whether a published file is a picture."""
    return one["mime"].startswith("image/")


def pictures_as_links(text: str, figures: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Markdown with links in the place of pictures that a component will show.

    A picture that is written in an odd way stays one.

    Args:
        text: Markdown.
        figures: For the address of a picture, the name of its file.

    Returns:
        The text, and what it calls each picture that it had, by its file's name.
    """
    titles: dict[str, str] = {}

    def as_link(match: re.Match[str]) -> str:
        is_picture, title, url = match[1], match[2], match[3]
        if not is_picture or url not in figures:
            return match[0]
        titles.setdefault(figures[url], title)
        return f"[{title.strip() or PurePosixPath(figures[url]).name}]({url}"

    return PICTURE.sub(as_link, text), titles


def components_for(
    asked: Collection[str],
    published: Sequence[Artifact],
    cells: Collection[int],
    links: Mapping[str, str],
    titles: Mapping[str, str],
    answer: str,
) -> list[Component]:
    """The figures and tables of a turn, for the components that a page has; nothing that the answer shows itself.

    Args:
        asked: The components' names.
        published: Files that can be opened.
        cells: The numbers of the turn's cells.
        links: Where each is, by its name.
        titles: Pictures that the answer had, see `pictures_as_links`.
        answer: Its text after that.
    """
    plain = Counter(url for is_picture, _, url in PICTURE.findall(answer) if not is_picture)
    figures: list[Component] = []
    tables: list[Component] = []
    for one in published:
        name, url = one["name"], links[one["name"]]
        props = {"name": name, "url": url, "mime": one["mime"], "size": one["size"], "cell": one["cell"]}
        if is_figure(one) and (name in titles or one["cell"] in cells) and answer.count(f"]({url}") == plain[url]:
            figures.append(Component("figure", {**props, "title": titles.get(name, "")}))
        elif one["mime"] in TABLES and one["cell"] in cells:
            tables.append(Component("table", props))
    return [one for one in (*figures, *tables) if one.name in asked]


def push(components: Iterable[Component], turn: int, message: AIMessage) -> list[UIMessage]:
    """Tell whoever streams the run of the components that go with an answer.

    Their ids say what they are, so that what is pushed once more takes its own place.

    Returns:
        What State is to keep of them.
    """
    run = {"run_id": (get_config().get("metadata") or {}).get("run_id")}
    return [
        push_ui_message(
            one.name,
            one.props,
            id=f"{turn}/{one.name}/{one.props['name']}",
            message=message,
            metadata=run,
            state_key=None,  # what it would write by itself would stay if the node failed after it
        )
        for one in components
    ]
