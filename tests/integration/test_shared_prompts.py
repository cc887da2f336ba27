"""Consecutive calls of a thread share their beginning, across all kinds of call, so that providers can cache it."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graph.context import Context
from graph.events import Finished
from graph.settings import Settings
from stepwell.runs import start
from tests.analyses import follow, last, with_model, write_sales
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

CELLS = 12
AT_LEAST = 0.85
PRINTS = """
for row in range(30):
    print('row', row, {number}, 'of the table, with some text to be read')
v{number} = {number}
"""


def beginning(request: Request) -> str:
    """The prompt as a provider reads it: tools, then messages."""
    return json.dumps(request.body.get("tools")) + "".join(json.dumps(message) for message in request.messages)


def shared(one: str, other: str) -> float:
    """The part of the shorter text that both begin with."""
    length = min(len(one), len(other))
    same = next((at for at in range(length) if one[at] != other[at]), length)
    return same / length


@pytest.mark.slow
@pytest.mark.parametrize("back_to", [None, 4])
async def test_twelve_cells_a_review_and_a_second_turn(settings: Settings, tmp_path: Path, back_to: int | None) -> None:
    replies: list[Scripted] = []
    for number in range(1, CELLS + 1):
        fields: dict[str, Any] = {"plan": ["Look", "Compare", "Sum up"]} if number == 1 else {"step": 1 + number // 5}
        fields |= {"back_to": back_to} if back_to and number == 9 else {}
        replies.append(Call("run_python", purpose=f"Part {number}", code=PRINTS.format(number=number), **fields))
    answer = Call("submit_answer", answer="It is {{v4}}.")
    lacks = Call("submit_review", good_enough=False, missing=["Say how many rows there are."])
    good = Call("submit_review", good_enough=True, missing=[])
    more = Call("run_python", purpose="More", code="print(v4)", answer="It is {{v4}}, of 30 rows.")
    replies += [answer, lacks, more, good, Call("run_python", purpose="On", code="print(v4 + 1)"), answer]
    async with ScriptedServer(replies) as server:
        model = with_model(settings, server.base_url)
        sales = write_sales(tmp_path / "sales.csv")
        run = start("Compare the regions.", files=[sales], settings=model, context=Context(review="always"))
        last(await follow(run), Finished)
        again = start("And the months?", thread=run.thread, settings=model, context=Context(review="never"))
        last(await follow(again), Finished)
        asked = [beginning(request) for request in server.requests]
    assert len(asked) == len(replies)
    parts = [shared(one, other) for one, other in pairwise(asked)]
    assert min(parts) >= AT_LEAST, [round(part, 2) for part in parts]
