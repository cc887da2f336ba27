"""Does the answer come with the files that were asked for, and are the files that it names there?"""

import re
from collections.abc import Iterable

from graph.state import State
from nodes.prompts.observation import shorten
from nodes.restoration.line import line_of

QUESTION_CHARS = 20_000
"""Characters of a question in which wishes are looked for."""
SUFFIXES = "xlsx|xls|csv|tsv|png|svg|pdf|json|jsonl|parquet|html|md|txt|docx|pptx|zip"
FILE_NAME = re.compile(rf"[`'\"(\[\s（「《“：，、](?:outputs/)?((?:[\w\-]+/)*[\w\-]+\.(?:{SUFFIXES}))(?![A-Za-z0-9_])")
MAKE = (
    r"\b(?:write|writing|save|saving|export|exporting|create|creating|make|making|produce|producing|give|generate"
    r"|generating|deliver|build|output|return|send|prepare|put|provide|add)\b"
)
"""Verbs in the forms that ask for something; `the provided Excel file` asks for nothing."""
DRAW = r"\b(?:make|create|produce|generate|draw|add|making|creating|drawing)\b"
BETWEEN = r"[^.?!\n]{0,80}?"
NOT_WHERE = re.compile(
    r"\b(?:in|from|of|on|about|within|inside|across|for|with|using|per)\s+"
    r"(?:the|this|that|these|those|my|our|your|each|every|both|all)\s+(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
"""What stands before a file that is spoken of and not asked for: `add up the amounts in the Excel file`."""
IMPERATIVE = r"(?:^|[.!?;:,\n]\s*|\b(?:and|then|please|to|also|you|me)\s+)(?:plot|draw|visuali[sz]e|graph|chart)\b"
NO_DRAWING = (
    r"(?!\s+(?:of|size|area|number|no|id|twist|any|conclusions?|inferences?|samples?|lessons?|attention)\b"
    r"|\s+(?:a|an|the|your|my|some)\s+(?:\w+\s+)?(?:conclusion|inference|sample|comparison|distinction|line)s?\b)"
)
CJK_MAKE = r"(?:导出|输出|保存|生成|制作|另存|整理成|写入|存成|出力|作成|만들|저장|내보내)"
CJK_CHART = r"(?:柱状|折线|饼|散点|直方|热力|箱线|条形|趋势|曲线|棒グラフ|円グラフ)"


def _wish(english: str, cjk: str) -> re.Pattern[str]:
    """A verb and then the kind of file, in one sentence, or the words that ask for it in another script."""
    return re.compile(rf"{MAKE}{BETWEEN}(?P<kind>{english})|{cjk}", re.IGNORECASE)


def _cjk(word: str) -> str:
    return rf"{CJK_MAKE}[^。？！\n]{{0,20}}{word}|(?:以|用|成|为)\s?{word}\s?(?:格式|文件|形式)?{CJK_MAKE}"


KINDS: tuple[tuple[re.Pattern[str], tuple[str, ...], str], ...] = (
    (
        _wish(
            r"\b(?:excel|xlsx|spreadsheet|workbook)\b",
            _cjk("(?:excel|エクセル|엑셀)") + rf"|(?:エクセル|엑셀)[^。？！\n]{{0,20}}{CJK_MAKE}",
        ),
        (".xlsx", ".xls", ".xlsm"),
        "an Excel file",
    ),
    (_wish(r"\bcsv\b", _cjk("csv")), (".csv",), "a CSV file"),
    (_wish(r"\bparquet\b", _cjk("parquet")), (".parquet",), "a Parquet file"),
    (_wish(r"\bpdf\b", _cjk("pdf")), (".pdf",), "a PDF file"),
    (
        re.compile(
            rf"{MAKE}{BETWEEN}(?P<kind>\b(?:plot|chart|histogram|heatmap|diagram|visuali[sz]ation)s?\b)"
            rf"|\bshow\b{BETWEEN}\b(?:in|as|on|with)\s+an?\s+(?:\w+\s+){{0,2}}(?:plot|chart|histogram|heatmap|diagram)\b"
            rf"|{DRAW}{BETWEEN}(?P<other>\bfigures?\b)|{IMPERATIVE}{NO_DRAWING}"
            rf"|画[^。？！\n]{{0,12}}图|绘制|(?:做|制作|生成|用|出|附)[^。？！\n]{{0,12}}{CJK_CHART}图|グラフを|그래프를|차트를",
            re.IGNORECASE,
        ),
        (".png", ".svg", ".pdf", ".jpg", ".html"),
        "a figure",
    ),
)
"""What a question asks for by kind: the pattern, the file names that satisfy it, and its name."""


def missing_files(state: State) -> list[str]:
    """Files that the question asks for by kind, and that no cell has made."""
    question = shorten(state["question"], QUESTION_CHARS)
    question = _without_input_names(question, [one["path"] for one in state.get("inputs") or []])
    now = State(cells=[cell for cell in state.get("cells") or [] if cell["turn"] == state["turn"]])
    drawn = [path.lower() for path in files_made(now)]  # `draw it` in a follow-up means a new figure
    made = [path.lower() for path in files_made(state)]
    there = {name: drawn if name == "a figure" else made for _, _, name in KINDS}
    return [
        f"The user asked for {name}; none was made. Write it into outputs/."
        for pattern, suffixes, name in KINDS
        if _asks(pattern, question) and not any(path.endswith(suffixes) for path in there[name])
    ]


def unknown_files(state: State) -> list[str]:
    """Files that the answer names and that are neither inputs nor made by a cell."""
    known = {_name(path) for path in files_made(state)} | {"answer.md", "analysis.py"}
    for one in state.get("inputs") or []:
        known |= {_name(one["path"]), _name(one["source"])}
    question = state["question"].lower()
    named = sorted({match[1] for match in FILE_NAME.finditer(" " + state["proposal"])})
    return [
        f"The answer names {name}, and no cell made it. Make it in outputs/ or do not name it."
        for name in named
        if not _is_known(_name(name), known) and _name(name) not in question
    ]


def files_made(state: State) -> list[str]:
    """Paths of the files that cells made or changed and that are still there, figures too."""
    there: dict[str, None] = {}
    for cell in line_of(state.get("cells") or []):
        for file in cell["files"]:
            if file["change"] == "deleted":
                there.pop(file["path"], None)
            else:
                there[file["path"]] = None
        there.update(dict.fromkeys(cell["figures"]))
    return list(there)


def _asks(pattern: re.Pattern[str], question: str) -> bool:
    """Whether some match is a wish, and not a mention of a file that is there."""
    for match in pattern.finditer(question):
        kind = next((name for name, text in match.groupdict().items() if text is not None), None)
        if kind is None or not NOT_WHERE.search(question[: match.start(kind)]):
            return True
    return False


def _is_known(name: str, known: Iterable[str]) -> bool:
    """Whether it is a known file's name, or the end of one with blanks or dots in it, or one with words in front.

    Chinese and Japanese put no blank between words and a name.
    """
    return any(
        name == one or one.endswith((f" {name}", f".{name}")) or (name.endswith(one) and not name.isascii())
        for one in known
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2].lower()


def _without_input_names(question: str, paths: Iterable[str]) -> str:
    """`sales.csv` in a question is the input, not a wish for a CSV file."""
    for path in paths:
        question = re.sub(re.escape(path.rpartition("/")[2]), " ", question, flags=re.IGNORECASE)
    return question
