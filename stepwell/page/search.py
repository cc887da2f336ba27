"""Where a search has found its words: a part of a question or an answer, to be shown beside the thread."""

AROUND = 80
"""Characters that are shown on either side of what was found."""


def excerpt(text: str, words: str) -> str:
    """The place at which the first of the words stands that the text has; empty when it has none of them.

    Args:
        text: All questions and answers of a thread.
        words: What was searched for.
    """
    folded = text.casefold()
    found = next((word for word in words.casefold().split() if word in folded), "")
    if not found:
        return ""
    at = folded.find(found)
    start, end = max(at - AROUND, 0), min(at + len(found) + AROUND, len(text))
    part = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{part}{'…' if end < len(text) else ''}"
