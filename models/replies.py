"""Reading code, answers, JSON and lists of steps out of what a model wrote as plain text."""

import re
from collections.abc import Iterator

from models.json_replies import json_in
from models.reply_parts import parts

__all__ = ["answer_in", "code_in", "json_in", "prose_around", "steps_in", "without_thought"]

PYTHON_TAGS = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3", "jupyter", "execute", "tool_code"})
"""Tags of fences that hold Python for sure."""

WRAPPING_TAGS = frozenset({"markdown", "md"})
"""Tags of fences that some models put around a whole reply."""

OTHER_TAGS = frozenset(
    {
        "text", "txt", "plaintext", "plain", "output", "out", "stdout", "stderr", "console", "log", "traceback",
        "error", "pycon", "json", "jsonl", "json5", "yaml", "yml", "toml", "ini", "csv", "tsv", "table", "xml", "html",
        "css", "svg", "bash", "sh", "shell", "zsh", "powershell", "bat", "cmd", "sql", "r", "julia", "javascript",
        "js", "typescript", "ts", "java", "c", "cpp", "rust", "go", "ruby", "latex", "tex", "math", "mermaid", "diff",
    }
)  # fmt: skip
"""Tags of fences that hold something else than Python."""

LONGEST_LINE = 2_000
"""Characters of one line of a list that are read."""

_THOUGHT = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>\s*", re.IGNORECASE)
_ITEM = re.compile(
    r"""^(?P<indent>\s*)(?:\#{1,6}\s*)?(?:\*\*)?
    (?:
        (?P<number>(?:step|schritt|étape|paso|步骤|步驟|ステップ|단계)?\s*[(（]?\d{1,3}[.):、：）])(?!\d)\s*
        | 第[一二三四五六七八九十\d]{1,3}步[:：、]?\s*
        | (?P<bullet>[-*+•–])\s+
    )
    (?:\[[ xX]?\]\s+)?
    (?P<text>\S.*)$""",
    re.VERBOSE | re.IGNORECASE,
)


def without_thought(text: str) -> str:
    """Drop the reasoning that some models write before their reply: `<think>…</think>`, or all up to a lone `</think>`.

    Reasoning that never ends leaves nothing.
    """
    while opening := _THOUGHT.match(text):
        closing = _THOUGHT_END.search(text, opening.end())
        if closing is None:
            return ""
        text = text[closing.end() :]
    # Some chat templates write the opening tag themselves, into the prompt.
    closing = _THOUGHT_END.search(text)
    if closing and closing.group().lower().startswith("</think>") and "<think>" not in text[: closing.start()].lower():
        return text[closing.end() :]
    return text


def code_in(text: str) -> str:
    """The code of a reply: all its code blocks in order, joined with a blank line; empty when there is none.

    A code block is a fence (three or more backticks or tildes), `<execute>…</execute>`, or `<code>…</code>` that
    opens a line; one that is not closed runs to the end. What stands between the marks comes back unchanged (of an
    indented fence, without that indentation; a fence inside the tags is unwrapped).

    A fence whose tag names something else than Python (`json`, `text`, `bash`, `output`, …) is never code, not even
    if there is no other: run as Python it could only fail. Fences with no tag or an unknown one are code unless
    other blocks are marked as Python for sure; then they are taken for sample output. Fences inside `<answer>` are
    part of the answer. A fence tagged `markdown` is read as a reply of its own.
    """
    sure, likely = _blocks(text)
    return "\n\n".join(sure or likely)


def answer_in(text: str) -> str | None:
    """The text of the first `<answer>…</answer>`, stripped; one that is not closed runs to the end.

    Returns:
        None when there is none. Tags inside code blocks do not count.
    """
    for part in parts(text):
        if part.kind == "answer":
            return part.text.strip()
        if part.kind == "fence" and part.tag in WRAPPING_TAGS:
            inner = answer_in(part.text)
            if inner is not None:
                return inner
    return None


def prose_around(text: str, *, limit: int = 1_000) -> str:
    """What a reply says beside its code blocks and its answer: blank lines merged, cut to `limit` characters."""
    prose = "\n".join(part.text.strip() for part in parts(text) if part.kind == "prose")
    prose = re.sub(r"\n\s*\n+", "\n\n", prose).strip()
    return prose if len(prose) <= limit else prose[: limit - 1].rstrip() + "…"


def steps_in(text: str, *, limit: int = 500) -> list[str]:
    """The steps of a numbered or bulleted list, without markdown; each cut to `limit` characters.

    Numbers go before bullets: of a numbered list with bulleted details, the numbered items are the steps. Deeper items
    and indented lines belong to the step above them. A list inside a fence counts when there is none outside.
    """
    for kind in ("prose", "fence"):
        body = "\n".join(part.text for part in parts(text) if part.kind == kind and part.tag not in PYTHON_TAGS)
        if steps := _steps(body):
            return [step if len(step) <= limit else step[: limit - 1].rstrip() + "…" for step in steps]
    return []


def _blocks(text: str) -> tuple[list[str], list[str]]:
    """The blocks that are Python for sure, and those that are likely."""
    sure: list[str] = []
    likely: list[str] = []
    for part in parts(text):
        if part.kind == "fence" and part.tag in WRAPPING_TAGS:
            inner_sure, inner_likely = _blocks(part.text)
            sure += inner_sure
            likely += inner_likely
        elif part.kind in ("execute", "code"):
            sure.append(_unwrapped(part.text))
        elif part.kind == "fence" and part.tag in PYTHON_TAGS:
            sure.append(part.text)
        elif part.kind == "fence" and part.tag not in OTHER_TAGS:
            likely.append(part.text)
    return [block for block in sure if block.strip()], [block for block in likely if block.strip()]


def _unwrapped(body: str) -> str:
    """The code inside a fence that fills the whole body; else the body."""
    inner = parts(body)
    return inner[0].text if len(inner) == 1 and inner[0].kind == "fence" else body


def _steps(body: str) -> list[str]:
    items: list[tuple[re.Match[str] | None, str]] = [
        (_ITEM.match(line), line) for line in body.split("\n") if line.strip()
    ]
    heads = [match for match, _ in items if match]
    numbered = [match for match in heads if not match["bullet"]]
    chosen = numbered or heads
    if not chosen:
        return []
    level = min(_width(match) for match in chosen)
    tops = {id(match) for match in chosen if _width(match) <= level + 1}
    return list(_gather(items, tops, level))


def _gather(items: list[tuple[re.Match[str] | None, str]], tops: set[int], level: int) -> Iterator[str]:
    """Each top item with the deeper lines below it; a line that is not deeper ends it."""
    step: list[str] = []
    for match, line in items:
        if match and id(match) in tops:
            if step:
                yield " ".join(step)
            step = [_plain(match["text"])]
        elif step and (len(line) - len(line.lstrip()) > level or match):
            step.append(_plain(match["text"] if match else line))
        elif step:
            yield " ".join(step)
            step = []
    if step:
        yield " ".join(step)


def _width(match: re.Match[str]) -> int:
    return len(match["indent"].expandtabs(4))


def _plain(text: str) -> str:
    """Text without markdown's emphasis, code marks and links."""
    text = re.sub(r"\[([^\]\[]{1,300})\]\([^)\s(]{1,300}\)", r"\1", text[:LONGEST_LINE])
    text = re.sub(r"\*\*|`", "", text)
    text = re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"\1", text)
    return " ".join(text.split())
