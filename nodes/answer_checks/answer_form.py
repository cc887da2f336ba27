"""Does the answer have the form that the question prescribes: tags, JSON, headings, a last line, columns?

Only what a question prescribes in so many words is looked at. What it merely speaks of (`the text within <title>`) is
no prescription. A form that is not recognised here is left to the rules of the prompt and to the review.
"""

import csv
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from graph.state import State
from nodes.answer_checks.answer_files import QUESTION_CHARS, files_made
from nodes.prompts.observation import shorten
from nodes.restoration.line import line_of
from sandboxes.base import Sandbox
from sandboxes.host.scratch import scratch_folder

QUOTE, UNQUOTED = "[`\"'“”«»]", "[^`\"'“”«»\n]"
TELL = (
    r"\b(?:answer|reply|respond|return|output|give|write|put|wrap|enclose|place|provide|report|state|end|finish)\w*\b"
)
NAMED_TAG = re.compile(r"(?<![\w.])@(\w{1,60})\[[^\]\n]{0,200}\]")
"""`@mean_fare[value]`, as InfiAgent-DABench asks for it."""
XML_TAG = re.compile(rf"{TELL}[^.?!\n]{{0,80}}?<(\w{{1,40}})>[^\n]{{0,200}}?</\1>", re.IGNORECASE)
AS_JSON = re.compile(
    rf"{TELL}[^.?!\n]{{0,60}}?\b(?:(?:as|in|with|of|only|just|nothing but|a|an|one|valid|single|plain|flat)\s+)+"
    r"JSON\b(?!\s*(?:files?|lines?|L\b))",
    re.IGNORECASE,
)
TO_A_FILE = re.compile(r"\bfiles?\b|\.jsonl?\b|\b(?:save|saved|export|exported|outputs)\b", re.IGNORECASE)
ALONE = re.compile(r"\b(?:only|nothing (?:else|but)|just|no (?:other|further) text|without any)\b", re.IGNORECASE)
QUOTED_NAMES = re.compile(rf"{QUOTE}({UNQUOTED}{{1,80}}){QUOTE}")
NAMES = rf"((?:{QUOTE}{UNQUOTED}{{1,80}}{QUOTE}(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*)){{1,40}})"
KEYS = re.compile(rf"\b(?:keys?|fields?)\b\s*(?:named\s+|called\s+|are\s+|:\s*)?{NAMES}", re.IGNORECASE)
KEY_IN_JSON = re.compile(r"[{,]\s*\"([^\"\n]{1,80})\"\s*:")
HEADING = re.compile(rf"{QUOTE}(#{{1,6}}\s+{UNQUOTED}{{1,80}}){QUOTE}")
HEADINGS = re.compile(rf"\b(?:headings?|sections?)\b\s*(?:named\s+|called\s+|titled\s+|:\s*)?{NAMES}", re.IGNORECASE)
LINE = re.compile(
    r"\b(?:(?P<end>end|finish|close|last|final)|(?P<begin>begin|start|first))\w*\b[^.?!\n]{0,40}?\bline\b[^.?!\n`\"'“”«»]{0,40}?"
    rf"{QUOTE}(?P<text>{UNQUOTED}{{2,80}}){QUOTE}",
    re.IGNORECASE,
)
BLANK = re.compile(r"[<\[{…_].*|\.\.\..*", re.DOTALL)
"""Where a pattern of a line begins that the answer fills in."""
ITEM = rf"(?:{QUOTE}{UNQUOTED}{{1,60}}{QUOTE}|[\w%][\w%/-]*(?: [\w%/-]+){{0,2}}?)"
COLUMNS = re.compile(
    rf"\bcolumns?\b\s*(?:named\s+|called\s+|are\s+|:\s*)?(?P<names>{ITEM}(?:\s*,\s*(?:and\s+)?{ITEM}|\s+and\s+{ITEM})+)",
    re.IGNORECASE,
)
GOES_ON = {
    *("in", "with", "as", "all", "both", "each", "one", "every", "sorted", "ordered", "rounded", "where", "which"),
    *("whose", "without", "using", "separated", "exactly", "only", "then", "no", "nothing", "please", "given", "such"),
    *("if", "so", "but"),
}
"""Words that begin no name of a column but the rest of the sentence: `before, after and raise, in euros`."""
TABLE = re.compile(rf"{TELL}[^.?!\n]{{0,60}}?\btable\b[^.?!\n]{{0,40}}?\Z", re.IGNORECASE)
CSV_NAME = re.compile(r"([\w-]{1,80}\.(?:csv|tsv))\b[^?!\n]{0,60}?\Z", re.IGNORECASE)
FENCE = re.compile(r"```[\w-]*\n(.*?)\n```", re.DOTALL)
MAX_FETCHED = 100 << 20
"""Bytes of a table whose header is looked at."""


def other_form(state: State) -> list[str]:
    """What the question prescribes of the answer's form and the proposal does not have."""
    question = shorten(state["question"], QUESTION_CHARS)
    answer = state["proposal"]
    return [*_tags(question, answer), *_json(question, answer), *_lines(question, answer), *_table(question, answer)]


def _tags(question: str, answer: str) -> Iterator[str]:
    plain = answer.replace("\\_", "_")
    if missing := [name for name in dict.fromkeys(NAMED_TAG.findall(question)) if f"@{name}[" not in plain]:
        yield f"The answer lacks what the user asked for by name: {', '.join(f'@{name}[…]' for name in missing)}."
    for name in dict.fromkeys(XML_TAG.findall(question)):
        if f"<{name}>" not in answer or f"</{name}>" not in answer:
            yield f"The user wants the answer in <{name}>…</{name}>; it has no such tags."


def _json(question: str, answer: str) -> Iterator[str]:
    asked = next(
        (found for found in AS_JSON.finditer(question) if not TO_A_FILE.search(_sentence(question, found))), None
    )
    if asked is None:
        return
    alone = bool(ALONE.search(_sentence(question, asked)))
    value = _parsed(answer, alone=alone)
    if value is None:
        yield f"The user wants the answer as JSON{' and nothing else' if alone else ''}; this cannot be read as such."
        return
    names = {key for found in KEYS.finditer(question) for key in QUOTED_NAMES.findall(found[1])}
    names |= set(KEY_IN_JSON.findall(question))
    if missing := sorted(names - _all_keys(value)):
        yield f"The JSON of the answer lacks keys that the user named: {', '.join(missing)}."


def _sentence(text: str, found: re.Match[str]) -> str:
    """The sentence around a match; a point in a file's name ends none."""
    start = max((one.end() for one in re.finditer(r"[.?!](?=\s)|\n", text[: found.start()])), default=0)
    end = re.search(r"[.?!](?=\s|$)|\n", text[found.end() :])
    return text[start : found.end() + (end.start() if end else len(text))]


def _parsed(answer: str, *, alone: bool) -> Any:
    """The JSON that an answer is, or holds; None: none."""
    whole = answer.strip()
    parts = [whole, *FENCE.findall(whole)] if not alone or whole.startswith("```") else [whole]
    if not alone:
        parts += [whole[whole.find(a) : whole.rfind(b) + 1] for a, b in ("{}", "[]") if a in whole and b in whole]
    for part in parts:
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return value
    return None


def _all_keys(value: Any) -> set[str]:
    """The keys of all objects in a value that came from JSON."""
    keys: set[str] = set()
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            keys |= set(one)
            left += one.values()
        elif isinstance(one, list):
            left += one
    return keys


def _lines(question: str, answer: str) -> Iterator[str]:
    lines = [_bare(line) for line in answer.splitlines() if _bare(line)]
    titles = {
        line.lstrip("#").strip(" *_:").casefold() for line in answer.splitlines() if line.strip()[:1] in ("#", "*")
    }
    wanted = [text.lstrip("#").strip() for text in HEADING.findall(question)]
    wanted += [name for found in HEADINGS.finditer(question) for name in QUOTED_NAMES.findall(found[1])]
    if missing := [text for text in dict.fromkeys(wanted) if text.strip("# ").casefold() not in titles]:
        yield f"The answer lacks headings that the user prescribed: {', '.join(missing)}."
    for found in LINE.finditer(question):
        text = BLANK.sub("", found["text"]).strip()
        place = -1 if found["end"] else 0
        if len(text) > 1 and not (lines and lines[place].casefold().startswith(_bare(text).casefold())):
            yield f"The {'last' if found['end'] else 'first'} line of the answer has to begin with: {text}"


def _bare(line: str) -> str:
    """A line without Markdown's marks around it."""
    return line.strip().strip("*_`").strip()


def _table(question: str, answer: str) -> Iterator[str]:
    for found in COLUMNS.finditer(question):
        if not TABLE.search(question[: found.start()]) or CSV_NAME.search(question[: found.start()]):
            continue
        headers = [line.strip().strip("|").split("|") for line in answer.splitlines() if line.count("|") > 1]
        names = _column_names(found["names"])
        if not any(not _missing(names, header) for header in headers):
            yield f"The user wants a table with the columns {', '.join(names)}; the answer has none with these names."


def _column_names(listed: str) -> list[str]:
    """The names in a list, up to where the sentence goes on; of a last one without quotes only the first word."""
    parts = [part.strip() for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", listed) if part.strip()]
    parts = list(itertools.takewhile(lambda part: part.split()[0].casefold() not in GOES_ON, parts))
    quoted = [QUOTED_NAMES.fullmatch(part) for part in parts]
    names = [found[1] if found else part for part, found in zip(parts, quoted, strict=True)]
    return [*names[:-1], names[-1] if quoted[-1] else names[-1].split()[0]] if names else []


def _missing(names: Iterable[str], header: Iterable[str]) -> list[str]:
    """The names that no field of a header has or begins with."""
    fields = [_plain(field) for field in header]
    return [name for name in names if not any(field.startswith(_plain(name)) for field in fields)]


def _plain(name: str) -> str:
    return re.sub(r"[\s_*`\\]+", " ", name).strip().casefold()


async def other_columns(state: State, sandbox: Sandbox) -> list[str]:
    """Delivered tables in CSV whose header lacks columns that the question names for them.

    Raises:
        SandboxError: the sandbox cannot be reached.
    """
    question = shorten(state["question"], QUESTION_CHARS)
    wanted: dict[str, list[str]] = {}
    for found in COLUMNS.finditer(question):
        if named := CSV_NAME.search(question[: found.start()]):
            wanted[named[1].casefold()] = _column_names(found["names"])
    sizes = {file["path"]: file["size"] for cell in line_of(state.get("cells") or []) for file in cell["files"]}
    lacks = []
    for path in files_made(state):
        names = wanted.get(path.rpartition("/")[2].casefold(), [])
        if not names or sizes.get(path, 0) > MAX_FETCHED:
            continue
        async with scratch_folder("header") as folder:
            try:
                await sandbox.fetch(path, folder / "table", max_bytes=MAX_FETCHED)
                header = _header(folder / "table")
            except (OSError, ValueError, csv.Error):
                continue
        if missing := _missing(names, header):
            lacks.append(f"{path.rpartition('/')[2]} lacks columns that the user named: {', '.join(missing)}.")
    return lacks


def _header(file: Path) -> list[str]:
    """The fields of a table's first line."""
    with file.open("rb") as stream:
        first = stream.readline(1 << 20).decode("utf-8-sig")
    separator = max(",;\t|", key=first.count)
    return next(csv.reader(io.StringIO(first), delimiter=separator), [])
