"""Searching threads: in all their questions and answers, without regard to case."""

from collections.abc import Sequence

from graph.state import State
from stepwell.thread_summaries import last_question

AROUND = 80
"""Characters that are shown on either side of what was found."""


def texts_of(state: State) -> list[str]:
    """The questions and answers of a thread."""
    texts = [text for turn in state.get("turns") or [] for text in (turn["question"], turn["answer"])]
    texts += [last_question(state), state.get("answer") or ""]
    return list(dict.fromkeys(text for text in texts if text))


def excerpt(texts: Sequence[str], words: Sequence[str]) -> str | None:
    """The place at which the first of the words stands; None unless all of them stand somewhere.

    Args:
        texts: Where they are looked for.
        words: In lower case.
    """
    folded = [text.casefold() for text in texts]
    if not all(any(word in text for text in folded) for word in words):
        return None
    text, at = next(
        (whole, place) for whole, low in zip(texts, folded, strict=True) if (place := low.find(words[0])) >= 0
    )
    start, end = max(at - AROUND, 0), min(at + len(words[0]) + AROUND, len(text))
    part = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{part}{'…' if end < len(text) else ''}"
