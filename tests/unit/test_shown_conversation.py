"""The conversation that chat pages show: links that lead to files, and calls that are answered."""

import pytest

from graph.state import Artifact, CellStatus, Pending
from nodes.computed_answers import ONLY_VALUES
from nodes.shown_conversation import answer_message, not_run, reply_messages, result_messages
from tests.states import make_cell


def artifact(name: str, cell: int = 1, path: str = "") -> Artifact:
    made = Artifact(name=name, url="", size=1, sha256="", mime="", cell=cell)
    if path:
        made["path"] = path
    return made


async def link(name: str) -> str:
    return f"https://h/{name}?s"


async def no_link(name: str) -> str:
    return ""


async def shown(answer: str, *published: Artifact) -> str:
    return str((await answer_message(answer, published, {1, 2}, link))[0].content)


@pytest.mark.parametrize("named", ["a.csv", "outputs/a.csv", "./outputs/a.csv", "<outputs/a.csv>"])
async def test_a_link_may_name_a_file_in_each_of_the_ways_that_models_do(named: str) -> None:
    assert await shown(f"See [it]({named}).", artifact("a.csv")) == "See [it](https://h/a.csv?s)."


async def test_a_picture_with_a_title_keeps_it() -> None:
    picture = artifact("figures/b.png")
    assert await shown('![b](figures/b.png "B")', picture) == '![b](https://h/figures/b.png?s "B")'


async def test_what_an_answer_does_not_link_is_shown_below_it_if_this_turn_made_it() -> None:
    published = [artifact("figures/b.png"), artifact("a.csv", 2), artifact("old.csv", 0), artifact("before.csv", 9)]
    assert await shown("Done.", *published) == (
        "Done.\n\n![b.png](https://h/figures/b.png?s)\n\nFiles:\n\n- [`a.csv`](https://h/a.csv?s)"
    )


async def test_the_workspace_path_of_one_file_prevails_over_the_new_name_of_another() -> None:
    one, two = artifact("script-x.py", path="outputs/x.py"), artifact("script-script-x.py", path="outputs/script-x.py")
    for published in ((one, two), (two, one)):
        text = await shown("[x](outputs/x.py) [s](script-x.py)", *published)
        assert text == "[x](https://h/script-x.py?s) [s](https://h/script-script-x.py?s)"


async def test_many_files_are_counted_and_a_files_name_is_no_markdown() -> None:
    many = [artifact(f"{number}.csv") for number in range(25)]
    assert (await shown("Done.", *many)).endswith("- 5 more among the thread's artifacts")
    text = await shown("Done.", artifact("figures/x](https://evil) ![.png"))
    assert "](https://evil)" not in text.replace("https://h/figures/x](https://evil) ![.png?s", "")


async def test_without_a_server_the_answer_is_as_it_was_written() -> None:
    message, _ = await answer_message("See [it](a.csv).", [artifact("a.csv")], {1}, no_link)
    assert message.content == "See [it](a.csv)."


def test_each_call_that_is_shown_can_be_answered_and_the_rest_is_not_shown() -> None:
    cell = Pending(purpose="Add", code="1", step=0, thought="", call_id="")
    silent = Pending(purpose="Values", code=ONLY_VALUES, step=0, thought="", call_id="")
    [message] = reply_messages([cell])
    assert [call["id"] for call in message.tool_calls] == [cell["call_id"]]
    assert reply_messages([silent]) == []
    assert [one.tool_call_id for one in not_run([cell, silent], "why")] == [cell["call_id"]]


@pytest.mark.parametrize(("status", "shown_as"), [("ok", "success"), ("error", "error"), ("rejected", "error")])
def test_a_result_has_the_name_of_its_call_and_says_whether_it_failed(status: CellStatus, shown_as: str) -> None:
    """Of assistant-ui, a result with another name takes the whole page down."""
    pending = Pending(purpose="Add", code="1", step=0, thought="", call_id="")
    [asked] = reply_messages([pending])
    [result] = result_messages(pending, make_cell(1, status=status))
    [left_out] = not_run([pending], "why")
    assert {one["name"] for one in asked.tool_calls} == {result.name} == {left_out.name}
    assert (result.status, left_out.status) == (shown_as, "error")
