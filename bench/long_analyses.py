"""What the prompts of a task of 30 turns show of its earlier definitions, and how many tokens they take."""

import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from rich.console import RenderableType

import stepwell
from bench.aims import Aim, aims_table
from tests.scripted_model import Call, Plain, Request, ScriptedServer

TURNS, LONG = 30, 1_067
_dice = random.Random(14)
NEEDS = {turn: [turn, *_dice.sample(range(1, turn), min(3, turn - 1))] for turn in range(1, TURNS + 1)}
"""By turn: the turns whose definitions its answer needs; 114 in all."""
BEFORE = {(0, 1): 465_055, (LONG, 1): 598_373, (0, 3): 1_063_538, (LONG, 3): 1_307_645}
"""Tokens (characters / 4) of the same at d57ddb0, with a plan and a review in each turn; by the characters of a
question and the cells of a turn. There the first prompts of the plans showed 57 of 114 definitions."""
AT_MOST, SHARED = 0.6, 0.85
"""Of these; and the part of two consecutive prompts that is the same beginning, on average."""
FILLER = "The table comes from the shops as they send it, and nothing in it has been changed by us. "
CODE = """import pandas as pd
part_{t}_{c} = pd.DataFrame({{"group": range(40), "value": [n * {t} % 17 for n in range(40)]}})
kept_{t}_{c} = part_{t}_{c}[part_{t}_{c}["group"] % {m} != 0].copy()
kept_{t}_{c}["weighted"] = kept_{t}_{c}["value"] * {t}.5
by_{t}_{c} = kept_{t}_{c}.groupby(kept_{t}_{c}["group"] % 5)["weighted"].agg(["sum", "mean", "count", "min", "max"])
print(by_{t}_{c})
print(kept_{t}_{c}.describe())
total_{t} = float(kept_{t}_{c}["weighted"].sum())
print("total", total_{t})
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What the endpoint was told in all turns."""

    calls: int
    tokens: int
    """Characters / 4 of messages and tools."""
    seen: int
    """Needed definitions that the first prompt of a turn shows."""
    whole: int
    """Prompts that show all that their turn needs."""
    shared: float
    """The part of the shorter of two consecutive prompts that both begin with, on average."""


def mark(turn: int) -> str:
    """What stands in the question of a turn alone."""
    return f"rule {turn * 37 % 91 + 100}-{turn:02d}"


def question(turn: int, length: int) -> str:
    """The question of a turn; a long one has its definition in the middle."""
    asked = (
        f"Turn {turn}: from now on {mark(turn)} holds, orders of group {turn} count with weight {turn}.5. "
        "Apply it; what is the sum?"
    )
    before = (FILLER * 12)[: max(length - len(asked), 0)]
    return before[: len(before) // 2] + asked + before[len(before) // 2 :]


async def ask_all(home: Path, length: int, cells: int) -> Told:
    """Ask all questions on one thread.

    Args:
        home: An empty folder.
        length: Characters of a question; 0: as many as it takes.
        cells: Of each turn.
    """
    requests: list[tuple[int, Request]] = []
    now = {"turn": 0, "cell": 0}

    def reply(request: Request) -> Plain:
        turn = now["turn"]
        requests.append((turn, request))
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        now["cell"] += 1
        code = CODE.format(t=turn, c=now["cell"], m=now["cell"] + 2)
        said = {"answer": f"With {mark(turn)} the sum is {{{{total_{turn}:.1f}}}}."} if now["cell"] == cells else {}
        return Call("run_python", purpose=f"Part {now['cell']} of turn {turn}", code=code, **said)

    file = home / "orders.csv"
    file.write_text("group,value\n" + "".join(f"{n % 40},{n * 7 % 101}\n" for n in range(500)))
    async with ScriptedServer(policy=reply) as server:
        settings = await asyncio.to_thread(
            stepwell.Settings,
            home=home / "stepwell",
            model="scripted",
            openai_base_url=server.base_url,
            openai_api_key=SecretStr("k"),
        )
        thread = None
        for turn in range(1, TURNS + 1):
            now.update(turn=turn, cell=0)
            files = [file] if thread is None else []
            done = await stepwell.run(question(turn, length), files=files, thread=thread, settings=settings)
            thread = done.thread
    return judge_prompts([(turn, text_of(request.body)) for turn, request in requests])


def text_of(body: dict[str, Any]) -> str:
    """A prompt as a provider reads it."""
    messages = "".join(json.dumps(message, ensure_ascii=False) for message in body["messages"])
    return json.dumps(body.get("tools"), ensure_ascii=False) + messages


def same_beginning(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def judge_prompts(prompts: list[tuple[int, str]]) -> Told:
    """Count.

    Args:
        prompts: Each with its turn, in order.
    """
    first: dict[int, str] = {}
    for turn, text in prompts:
        first.setdefault(turn, text)
    shared = [same_beginning(one, two) / min(len(one), len(two)) for (_, one), (_, two) in pairwise(prompts)]
    return Told(
        calls=len(prompts),
        tokens=sum(len(text) for _, text in prompts) // 4,
        seen=sum(mark(need) in first[turn] for turn, needs in NEEDS.items() for need in needs),
        whole=sum(all(mark(need) in text for need in NEEDS[turn]) for turn, text in prompts),
        shared=sum(shared) / len(shared),
    )


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Ask, and print what came of it.

    Args:
        quick: Only turns of one cell.
    """
    aims: list[Aim] = []
    for (length, cells), before in BEFORE.items():
        if quick and cells > 1:
            continue
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            told = await ask_all(Path(folder), length, cells)
        share = told.tokens / before
        aims.append(
            Aim(
                f"30 turns, {cells} cells each, questions of {length or 'about 110'} characters: all 114 needed "
                f"definitions are shown, at {AT_MOST:.0%} of the tokens of before at most, {SHARED:.0%} begins as the "
                "call before",
                f"{told.seen} of 114, all of a turn's in {told.whole} of {told.calls} prompts; {told.tokens:,} tokens, "
                f"{share:.0%} of {before:,}; {told.shared:.0%} is the same beginning",
                told.seen == 114 and told.whole == told.calls and share <= AT_MOST and told.shared >= SHARED,
            )
        )
    yield aims_table(aims, "Long analyses: aims")
