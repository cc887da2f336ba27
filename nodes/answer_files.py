"""Does the answer come with the files that were asked for, and are the files that it names there?"""

import re
from collections.abc import Iterable

from graph.state import State
from nodes.observation import shorten

MAKE = (
    r"(?:write|save|export|create|make|produce|give|generate|deliver|build|output|return|send|prepare|put|provide|add)"
)
NEAR = rf"\b{MAKE}\w*\b[^.?!\n]{{0,80}}?"
QUESTION_CHARS = 20_000
"""Characters of a question in which wishes are looked for."""
SUFFIXES = "xlsx|xls|csv|tsv|png|svg|pdf|json|jsonl|parquet|html|md|txt|docx|pptx|zip"
FILE_NAME = re.compile(rf"[`'\"(\[\s](?:outputs/)?((?:[\w\-]+/)*[\w\-]+\.(?:{SUFFIXES}))\b")
CJK_MAKE = r"(?:导出|输出|保存|生成|制作|出力|作成|만들|저장|내보내)"
KINDS: tuple[tuple[re.Pattern[str], tuple[str, ...], str], ...] = tuple(
    (re.compile(rf"{NEAR}{english}|{cjk}", re.IGNORECASE), suffixes, name)
    for english, cjk, suffixes, name in (
        (
            r"(?:\bexcel\b|\bxlsx\b|\bspreadsheet\b|\bworkbook\b)",
            rf"{CJK_MAKE}[^。？！\n]{{0,20}}(?:excel|エクセル|엑셀)|(?:excel|エクセル|엑셀)[^。？！\n]{{0,20}}{CJK_MAKE}",
            (".xlsx", ".xls", ".xlsm"),
            "an Excel file",
        ),
        (r"\bcsv\b", rf"{CJK_MAKE}[^。？！\n]{{0,20}}csv", (".csv",), "a CSV file"),
        (r"\bparquet\b", rf"{CJK_MAKE}[^。？！\n]{{0,20}}parquet", (".parquet",), "a Parquet file"),
        (r"\bpdf\b", rf"{CJK_MAKE}[^。？！\n]{{0,20}}pdf", (".pdf",), "a PDF file"),
        (
            r"\b(?:plot|chart|figure|histogram|heatmap|diagram)s?\b",
            r"\b(?:plot|draw|visuali[sz]e)\b(?! of)|画[^。？！\n]{0,12}图|绘制|グラフを|그래프를|차트를",
            (".png", ".svg", ".pdf", ".jpg", ".html"),
            "a figure",
        ),
    )
)
"""What a question asks for by kind: the pattern, the file names that satisfy it, and its name."""


def files_asked_for(state: State) -> list[str]:
    """Files that the question asks for by kind, and that no cell has made."""
    question = shorten(state["question"], QUESTION_CHARS)
    question = _without_input_names(question, [one["path"] for one in state.get("inputs") or []])
    made = [path.lower() for path in files_made(state)]
    return [
        f"The user asked for {name}; none was made. Write it into outputs/."
        for pattern, suffixes, name in KINDS
        if pattern.search(question) and not any(path.endswith(suffixes) for path in made)
    ]


def files_named(state: State) -> list[str]:
    """Files that the answer names and that are neither inputs nor made by a cell."""
    known = {_name(path) for path in files_made(state)} | {"answer.md", "analysis.py"}
    for one in state.get("inputs") or []:
        known |= {_name(one["path"]), _name(one["source"])}
    question = state["question"].lower()
    named = sorted({match[1] for match in FILE_NAME.finditer(" " + state["proposal"])})
    return [
        f"The answer names {name}, and no cell made it. Make it in outputs/ or do not name it."
        for name in named
        if _name(name) not in known and _name(name) not in question
    ]


def files_made(state: State) -> list[str]:
    """Paths of the files that cells made or changed and that are still there, figures too."""
    there: dict[str, None] = {}
    for cell in state.get("cells") or []:
        for file in cell["files"]:
            if file["change"] == "deleted":
                there.pop(file["path"], None)
            else:
                there[file["path"]] = None
        there.update(dict.fromkeys(cell["figures"]))
    return list(there)


def _name(path: str) -> str:
    return path.rpartition("/")[2].lower()


def _without_input_names(question: str, paths: Iterable[str]) -> str:
    """`sales.csv` in a question is the input, not a wish for a CSV file."""
    for path in paths:
        question = re.sub(re.escape(path.rpartition("/")[2]), " ", question, flags=re.IGNORECASE)
    return question
