"""A model that always asks for the same cells, however often it is asked: for processes that are killed in between."""

import re
from collections.abc import Callable, Sequence

from tests.scripted_replies import Call, Plain, Request

CELL = re.compile(r"cell (\d+) · ")


def steady(cells: Sequence[Call], *, answer: str = "Done.") -> Callable[[Request], Plain]:
    """The policy of a `ScriptedServer`: the cell after the newest one that the prompt tells of, then the answer.

    Args:
        cells: In their order.
        answer: What is said when all of them have run.
    """

    def policy(request: Request) -> Plain:
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        ran = max((int(number) for number in CELL.findall(request.text)), default=0)
        return cells[ran] if ran < len(cells) else Call("submit_answer", answer=answer, skipped=[])

    return policy
