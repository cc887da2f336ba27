"""What a single string stands for: a whole number, a decimal comma, money, a date in which format, a placeholder."""

from __future__ import annotations

import re
from functools import lru_cache

MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
"""What pandas reads as missing unless told otherwise."""

PLACEHOLDERS = frozenset(
    ("-", "--", "---", "–", "—", "?", "??", ".", "..", "*", "n.a.", "n.a", "na", "n/d", "nd", "n.d.", "#", "none",
     "missing", "unknown", "k.a.", "k. a.", "无", "暂无", "未知", "不明", "なし", "없음",
     "#REF!", "#VALUE!", "#DIV/0!",
     "#NAME?", "#NUM!", "#NULL!", "Null", "Na", "N.A.", "NONE", "UNKNOWN", "ND", "Unknown", "Missing")
)  # fmt: skip
"""What people write where a number is missing, and pandas reads as text."""

TRUTH = frozenset(
    ("true", "false", "yes", "no", "y", "n", "t", "f", "ja", "nein", "oui", "non", "是", "否", "sí", "si")
)

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DOT_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?")
_SPACED = re.compile(r"[+-]?[0-9]{1,3}(?:[ \xa0\u2009\u202f'’][0-9]{3})+(?:[.,][0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_BODY = r"[+-]?[0-9][0-9.,'’ \xa0\u202f]*"
_MONEY_MARK = r"(?:[€$£¥￥₩₹₽฿₫₺元円원]|EUR|USD|GBP|JPY|CNY|RMB|CHF|KRW|INR|US\$|R\$|kr|zł|Kč)"
_MONEY = re.compile(rf"[+-]?\(?(?:{_MONEY_MARK}\s?{_BODY}|{_BODY}\s?{_MONEY_MARK})\)?")
_PERCENT = re.compile(rf"{_BODY}\s?[%％‰]")
_BRACKETED = re.compile(r"\([0-9][0-9.,]*\)")
_BEFORE_MINUS = re.compile(r"[0-9]{1,3}(?:[.,][0-9]{3})*(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LONG_MONTH = r"(?:January|February|March|April|June|July|August|September|October|November|December)"
_ZONE = r"(?P<zone>\s?(?:Z|UTC|(?:GMT|UTC)[+-][0-9]{1,2}(?::?[0-9]{2})?|[+-][0-9]{2}:?[0-9]{2}))?"
_HALF = r"(?P<half>\s?[AaPp][Mm])?"
_CLOCK = rf"(?P<clock>[ T][0-9]{{1,2}}:[0-9]{{2}}(?P<seconds>:[0-9]{{2}}(?P<part>[.,][0-9]+)?)?{_HALF}{_ZONE})?"
_DATES = tuple(
    (re.compile(pattern + _CLOCK), form)
    for pattern, form in (
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "%Y-%m-%d"),
        (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}", "%Y-%m-%d"),
        (r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}", "%Y/%m/%d"),
        (r"[0-9]{4}\.[0-9]{1,2}\.[0-9]{1,2}", "%Y.%m.%d"),
        (r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}", "%d.%m.%Y"),
        (r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}", "%d.%m.%y"),
        (r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", "slash"),
        (r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}", "short slash"),
        (r"[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}", "dash"),
        (rf"[0-9]{{1,2}} {_MONTH} [0-9]{{4}}", "%d %b %Y"),
        (rf"[0-9]{{1,2}}-{_MONTH}-[0-9]{{4}}", "%d-%b-%Y"),
        (rf"[0-9]{{1,2}} {_LONG_MONTH} [0-9]{{4}}", "%d %B %Y"),
        (rf"{_MONTH} [0-9]{{1,2}}, [0-9]{{4}}", "%b %d, %Y"),
        (rf"{_LONG_MONTH} [0-9]{{1,2}}, [0-9]{{4}}", "%B %d, %Y"),
        (r"[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日", "%Y年%m月%d日"),
        (r"[0-9]{4}년 ?[0-9]{1,2}월 ?[0-9]{1,2}일", "%Y년 %m월 %d일"),
    )
)
_MONTHS = re.compile(r"[0-9]{4}[-/](?:0[1-9]|1[0-2])|[0-9]{4}年[0-9]{1,2}月")
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?")
_LEADS = frozenset("0123456789+-.,($€£¥￥₩₹₽฿₫₺EUGJCRKIi")

NUMERIC = frozenset(("integer", "number"))
FORMATTED = frozenset(("money", "percent", "spaced", "bracketed", "trailing minus"))
"""Numbers that need cleaning before they are numbers."""
NUMBERS = NUMERIC | FORMATTED | {"dot number", "comma", "grouped", "dot grouped", "ambiguous comma"}


@lru_cache(maxsize=1 << 16)
def classify(value: str) -> str:
    """Name what a string stands for.

    Returns:
        `missing`, `placeholder`, `integer`, `zeros` (digits with a leading zero), `long` (more digits than a 64-bit
        number has), `number`, `dot number` (1.234: a number or grouped), `comma` (decimal comma), `grouped`
        (1,234.5), `dot grouped` (1.234,5), `ambiguous comma` (1,234: either), `spaced`, `money`, `percent`,
        `bracketed`, `trailing minus` (as SAP writes it), `date FORMAT`, `time`, `month`, `truth`, `text`.
    """
    if value in MISSING:
        return "missing"
    text = value.strip()
    if text in PLACEHOLDERS or text in MISSING:  # pandas takes "NA" for missing, and " NA" or " " for text
        return "placeholder"
    if len(text) > 48:
        return "text"
    if text[0] in _LEADS or "0" <= text[0] <= "9":
        found = _numeric(text)
        if found:
            return found
    if found := _date(text):
        return found
    return "truth" if text.lower() in TRUTH else "text"


def _numeric(text: str) -> str:
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        if len(digits) > 18:
            return "long"
        return "zeros" if len(digits) > 1 and digits[0] == "0" else "integer"
    if _NUMBER.fullmatch(text) or _INFINITE.fullmatch(text):
        grouped = _DOT_GROUPED.fullmatch(text) and not text.lstrip("+-").startswith("0")
        return "dot number" if grouped else "number"
    for pattern, name in (
        (_GROUPED, "grouped"), (_COMMA, "comma"), (_DOT_GROUPED, "dot grouped"), (_SPACED, "spaced"),
        (_PERCENT, "percent"), (_BRACKETED, "bracketed"), (_MONEY, "money"),
    ):  # fmt: skip
        if pattern.fullmatch(text):
            if name == "grouped" and text.count(",") == 1 and "." not in text and not text.lstrip("+-").startswith("0"):
                return "ambiguous comma"
            return "comma" if name == "grouped" and text.lstrip("+-").startswith("0") else name
    return "trailing minus" if text.endswith("-") and _BEFORE_MINUS.fullmatch(text[:-1]) else ""


def _date(text: str) -> str:
    if len(text) < 4 or len(text) > 40:
        return ""
    for pattern, form in _DATES:
        if match := pattern.fullmatch(text):
            return f"date {_settled(text, form)}{_clock(match)}"
    if _MONTHS.fullmatch(text):
        return "month"
    return "time" if _TIME.fullmatch(text) else ""


def _settled(text: str, form: str) -> str:
    """Whether the day or the month comes first, where the value itself tells."""
    if form not in ("slash", "short slash", "dash"):
        return form
    first, second = (int(part) for part in re.findall("[0-9]+", text)[:2])
    mark = "-" if form == "dash" else "/"
    year = "%y" if form == "short slash" else "%Y"
    if first > 12:
        return f"%d{mark}%m{mark}{year}"
    if second > 12:
        return f"%m{mark}%d{mark}{year}"
    return form.replace(" ", "_")


def _clock(match: re.Match[str]) -> str:
    if not match["clock"]:
        return ""
    form = match["clock"][0] + ("%I:%M" if match["half"] else "%H:%M")
    if match["seconds"]:
        form += ":%S" + (match["part"][0] + "%f" if match["part"] else "")
    if match["half"]:
        form += " %p" if match["half"][0].isspace() else "%p"
    return form + ("%z" if match["zone"] else "")


def to_float(text: str, *, comma: bool = False) -> float | None:
    """Read a number however it is dressed.

    Args:
        text: The string.
        comma: Whether a comma is the decimal mark where the string itself leaves it open.
    """
    bare = re.sub(r"[^0-9.,eE+()-]", "", text.strip())
    negative = (bare.startswith("(") and bare.endswith(")")) or (len(bare) > 1 and bare.endswith("-"))
    bare = bare.strip("()").removesuffix("-")
    if "," in bare and "." in bare:
        comma = bare.rfind(",") > bare.rfind(".")
    elif "," in bare and not comma:
        comma = not re.fullmatch(r"[+-]?[0-9]{1,3}(,[0-9]{3})+", bare)
    bare = bare.replace(".", "").replace(",", ".") if comma else bare.replace(",", "")
    try:
        number = float(bare) if bare else float(text)
    except ValueError:
        return None
    return -number if negative else number
