"""Figures and tables for the components of pages: which are pushed, once, and what the answer's text says then."""

from typing import Any

import pytest
from langgraph.graph.ui import UIMessage

from graph.context import KnobError, parse_context
from graph.state import Artifact, newest_of_each
from nodes.generative_ui import Component, pictures_as_links
from nodes.shown_conversation import MOST_SHOWN, answer_message

URL = "https://h/figures/a.png?s"


def artifact(name: str, mime: str, cell: int = 1) -> Artifact:
    return Artifact(name=name, url="", size=7, sha256="", mime=mime, cell=cell)


FIGURE, TABLE = artifact("figures/a.png", "image/png"), artifact("t.csv", "text/csv")


async def link(name: str) -> str:
    return f"https://h/{name}?s"


async def shown(
    answer: str, *published: Artifact, components: tuple[str, ...] = ("figure", "table")
) -> tuple[str, list[Component]]:
    message, with_it = await answer_message(answer, published, {1}, link, components)
    return str(message.content), with_it


def pushed(id: str, type: str = "ui", **props: Any) -> Any:
    return UIMessage(type=type, id=id, name="figure", props=props, metadata={})  # type: ignore[typeddict-item]


async def test_a_picture_of_the_answer_is_a_link_there_and_goes_to_the_component() -> None:
    text, [figure] = await shown("See ![the line](figures/a.png).", FIGURE)
    assert text == f"See [the line]({URL})."
    props = {"name": "figures/a.png", "url": URL, "mime": "image/png", "size": 7, "cell": 1, "title": "the line"}
    assert figure == Component("figure", props)


async def test_what_the_answer_does_not_name_stays_reachable_by_a_link() -> None:
    text, components = await shown("Done.", FIGURE, TABLE, artifact("b.csv", "text/csv", cell=9))
    assert "![" not in text
    assert text.endswith(f"- [`figures/a.png`]({URL})\n- [`t.csv`](https://h/t.csv?s)")
    assert [(one.name, one.props["name"]) for one in components] == [("figure", "figures/a.png"), ("table", "t.csv")]


async def test_a_page_gets_for_its_components_only() -> None:
    answer = "See ![the line](figures/a.png)."
    text, components = await shown(answer, FIGURE, TABLE, components=("table",))
    assert text.startswith(f"See ![the line]({URL}).")
    assert [one.name for one in components] == ["table"]
    assert (await shown(answer, FIGURE, TABLE, components=()))[1] == []


async def test_without_a_server_nothing_is_pushed() -> None:
    async def no_link(name: str) -> str:
        return ""

    message, components = await answer_message("![x](figures/a.png)", [FIGURE], {1}, no_link, ("figure",))
    assert (message.content, components) == ("![x](figures/a.png)", [])


async def test_many_figures_are_bounded() -> None:
    many = [artifact(f"figures/{number}.png", "image/png") for number in range(30)]
    assert len((await shown("Done.", *many))[1]) == MOST_SHOWN


@pytest.mark.parametrize("odd", ["![a [b] c](figures/a.png)", "![x](figures/a.png) and ![a [b] c](figures/a.png)"])
async def test_a_picture_that_stays_in_the_answer_is_not_pushed_beside_it(odd: str) -> None:
    text, components = await shown(odd, FIGURE)
    assert f"![a [b] c]({URL})" in text
    assert components == []


def test_a_picture_without_words_is_called_by_its_file() -> None:
    assert pictures_as_links("![]( )![](u)", {"u": "figures/a.png"}) == ("![]( )[a.png](u)", {"figures/a.png": ""})


def test_one_that_is_pushed_again_takes_its_own_place() -> None:
    batches = [[pushed("1", n=1), pushed("2", n=2)], [pushed("1", n=3)], [pushed("2", "remove-ui")]]
    after = newest_of_each([], batches)
    assert [one["props"] for one in after] == [{"n": 3}]
    assert newest_of_each(newest_of_each([], batches[:1]), batches[1:]) == after
    assert newest_of_each([], [[pushed("gone", "remove-ui")]]) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["figure", "chart"], "ui cannot be 'chart': it has to be 'figure' or 'table'."),
        (True, "ui cannot be True: it has to be a valid list."),
    ],
)
def test_a_component_that_there_is_not_is_refused(given: object, says: str) -> None:
    with pytest.raises(KnobError) as refusal:
        parse_context({"ui": given})
    assert str(refusal.value) == says
