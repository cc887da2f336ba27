"""Reads the questions of the two long tasks as a person does, and answers them with pandas."""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pandas as pd

from tests.unit.own_solutions import Files

State = dict[str, Any]
NUMBERS = re.compile(r"question (\d+)")


def said_of_sales(text: str) -> State:
    """What a definition or a supposition about orders sets."""
    if found := re.search(r"these (regions|categories|statuses|kinds).*?: (.*)", text):
        return {found[1]: found[2].split(", ")}
    if found := re.search(r"months (\d+) to (\d+)", text):
        return {"months": (int(found[1]), int(found[2]))}
    if found := re.search(r"(\d+) euros or more", text):
        return {"least": int(found[1])}
    if found := re.search(r"prices of (\w+) were (\d+) % higher", text):
        return {"dearer": (found[1], int(found[2]))}
    assert "corrections.jsonl" in text, text
    return {"corrected": "does not count" not in text}


def said_of_flow(text: str) -> State:
    """What a definition or a supposition about postings sets."""
    if found := re.search(r"begins with one of: (.*)", text):
        return {"texts": found[1].split(", ")}
    if found := re.search(r"account of (\w+) were left out", text):
        return {"without": found[1]}
    if "reverse" in text:
        return {"real": text.startswith("neither")}
    return said_of_sales(text)


class Sales:
    """Measures states of the definition of sales."""

    opening: ClassVar[State] = {"statuses": ["paid"]}
    said = staticmethod(said_of_sales)

    def __init__(self, files: Files) -> None:
        more = files.joined()[["order", "Region", "CATEGORY"]]
        self.tables = {False: files.orders().merge(more, on="order"), True: files.corrected().merge(more, on="order")}

    def rows(self, state: State) -> pd.DataFrame:
        """The rows that count."""
        frame: pd.DataFrame = self.tables[state.get("corrected", False)]
        for field, column in (("regions", "Region"), ("categories", "CATEGORY"), ("statuses", "status")):
            if field in state:
                frame = frame[frame[column].isin(state[field])]
        if "months" in state:
            frame = frame[frame["day"].dt.month.between(*state["months"])]
        least: float = state.get("least", 0)
        return frame[frame["total"] >= least - 1e-6]

    def total(self, state: State) -> float:
        """Their sum."""
        frame = self.rows(state)
        category, percent = state.get("dearer", ("", 0))
        return float((frame["total"] * (1 + percent / 100 * (frame["CATEGORY"] == category))).sum())


class Flow:
    """Measures states of the definition of the flow."""

    opening: ClassVar[State] = {}
    said = staticmethod(said_of_flow)

    def __init__(self, files: Files) -> None:
        self.table = files.bank()

    def rows(self, state: State) -> pd.DataFrame:
        """The rows that count."""
        frame: pd.DataFrame = self.table
        if "kinds" in state:
            frame = frame[frame["kind"].isin(state["kinds"])]
        if "months" in state:
            frame = frame[frame["month"].between(*state["months"])]
        if state.get("real"):
            frame = frame[frame["real"]]
        if "texts" in state:
            frame = frame[frame["text"].str.startswith(tuple(state["texts"]))]
        if "without" in state:
            frame = frame[frame["owner"] != state["without"]]
        least: int = state.get("least", 0)
        return frame[frame["cents"].abs() >= least * 100]

    def total(self, state: State) -> float:
        """Their sum."""
        return float(self.rows(state)["cents"].sum()) / 100


def answers(questions: Sequence[str], of: Sales | Flow) -> list[float | int]:
    """The answer to each question, from its words alone."""
    asked: dict[int, State] = {1: of.opening}
    given: list[float | int] = [of.total(of.opening)]
    counting = [1]
    said: Callable[[str], State] = of.said
    for number, question in enumerate(questions[1:], 2):
        now, named = asked[counting[-1]], [int(one) for one in NUMBERS.findall(question)]
        if question.startswith("By how much"):
            given.append(given[named[0] - 1] - given[named[1] - 1])
            continue
        if question.startswith("How many records"):
            given.append(len(of.rows(now)))
            continue
        if question.startswith("Undo"):
            assert counting.pop() == named[0]
            state = asked[counting[-1]]
        elif question.startswith("From now on the definition that counted"):
            state = asked[named[0]]
            counting.append(number)
        elif question.startswith("From now on"):
            state = now | said(question.removeprefix("From now on ").partition(". All else")[0])
            counting.append(number)
        elif "take what question" in question:
            state = dict(asked[named[0]])
            part = "months" if "the months of" in question else "kinds"
            state.pop(part, None)
            state |= {part: now[part]} if part in now else {}
        else:
            state = now | said(question.partition("suppose that ")[2].partition(". What")[0])
        asked[number] = state
        given.append(of.total(state))
    return given
