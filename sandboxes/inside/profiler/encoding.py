"""Which encoding a text is in: by its byte order mark, by what is valid, and by what then reads like language."""

from __future__ import annotations

import codecs
import importlib
import re
import unicodedata
from dataclasses import dataclass

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CANDIDATES = (
    "gb18030", "cp950", "cp932", "euc_jp", "cp949", "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254",
    "cp1255", "cp1256", "mac_roman", "latin-1",
)  # fmt: skip
# The commonest Han characters of prose and of table headings, simplified, traditional and Japanese together:
# decoded wrongly, a text has hardly any of them.
COMMON_HAN = frozenset(
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学"
    "法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外"
    "天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很"
    "情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她"
    "手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油"
    "這個國時來們會發動過說產種經進電裡現實加兩體機當點從業應開還樣與關線內數問變條無結長頭資邊組見計別論運農指幾區決戰"
    "处據隊給門規熱領東導壓爭濟階號額單價銷售日期姓名城市金额数量产品类型地址北京上海广州深圳价格订单客户编号性别男女备注"
    "状态状態類型備註編號訂單客戶産品県都道府村町東京大阪名古屋福岡横浜売上円顧客商品番号氏住所電話会社部署役職社員入社"
    "年齢備考販売店舗在庫単仕入先取引請求書支払合計小計税込消費消费收入支出利润成本增长率占省份国家語英文中文臺台灣灣湾高雄臺"
)
UNDEFINED = re.compile(r"[\x80-\x9f\ue000-\uf8ff]")
CONTROL = re.compile(rb"[\x00\x02-\x08\x0b\x0e-\x1a\x1c-\x1e]")


@dataclass(frozen=True)
class Encoding:
    """An encoding as Python calls it, and whether all bytes that were seen are valid in it."""

    name: str
    clean: bool = True
    guessed: bool = False
    """Told by how the text reads, not by a mark or by what is valid."""


def marked(head: bytes) -> str:
    """Name the encoding that a byte order mark, or a pattern of NUL bytes, gives away; else an empty string."""
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    part = head[:4096]
    part = part[: len(part) // 4 * 4]
    if len(part) < 4 or b"\0" not in part:
        return ""
    nuls = [part[place::4].count(0) * 4 / len(part) for place in range(4)]
    for name, pattern in (
        ("utf-32-le", (0, 0, 1, 1)), ("utf-32-be", (1, 1, 0, 0)),
        ("utf-16-le", (0, 1, 0, 1)), ("utf-16-be", (1, 0, 1, 0)),
    ):  # fmt: skip
        high = min(share for share, wanted in zip(nuls, pattern, strict=True) if wanted)
        low = max(share for share, wanted in zip(nuls, pattern, strict=True) if not wanted)
        if name.startswith("utf-32") and name.endswith("be"):
            matches = nuls[0] > 0.95 and high > 0.6 and nuls[3] < 0.05
        elif name.startswith("utf-32"):
            matches = nuls[3] > 0.95 and high > 0.6 and nuls[0] < 0.05
        else:
            matches = high > 0.12 and low < 0.01
        if matches and decodes(part, name):
            return name
    return ""


def looks_binary(head: bytes) -> bool:
    """Whether bytes without a mark are no text: control characters that no text has, beyond a stray few."""
    found = len(CONTROL.findall(head[:65_536]))
    share = found / max(min(len(head), 65_536), 1)
    return share > 0.1 or (share > 0.02 and found > 2)


def decodes(data: bytes, name: str, *, whole: bool = False) -> bool:
    """Whether bytes are valid in an encoding; unless `whole`, the last character may be cut."""
    try:
        codecs.getincrementaldecoder(name)("strict").decode(data, final=whole)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def detect(evidence: bytes) -> Encoding:
    """Tell the encoding from lines that hold bytes beyond ASCII; no evidence means ASCII."""
    if evidence.isascii():
        escaped = b"\x1b$" in evidence and decodes(evidence, "iso2022_jp")
        return Encoding("iso2022_jp" if escaped else "ascii")
    if decodes(evidence, "utf-8"):
        return Encoding("utf-8")
    high = sum(map(evidence.count, range(128, 256)))
    broken = evidence.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    if broken * 10 < high:
        return Encoding("utf-8", clean=False)
    sample = evidence[:20_000]
    scores = {name: score(sample, name) for name in CANDIDATES if decodes(evidence, name)}
    best = max(scores, key=lambda name: scores[name])  # latin-1 decodes anything, so there is always one
    if scores[best] < 0.45:
        best = _second_opinion(evidence, scores) or best
    return Encoding("cp1252" if best == "latin-1" and "cp1252" in scores else best, guessed=True)


def _second_opinion(evidence: bytes, scores: dict[str, float]) -> str:
    try:
        normalizer = importlib.import_module("charset_normalizer")
    except ImportError:
        return ""
    match = normalizer.from_bytes(evidence[:50_000]).best()
    name = str(match.encoding) if match else ""
    if not name or name == "ascii" or not decodes(evidence, name):
        return ""
    if name in scores:
        return name
    return name if score(evidence[:20_000], name) > max(scores.values()) else ""


def score(data: bytes, name: str) -> float:
    """How much like language bytes read in an encoding: about 1 for the right one, below 0.5 for most wrong ones."""
    text = codecs.getincrementaldecoder(name)("strict").decode(data)
    foreign = [place for place, char in enumerate(text) if char >= "\x80"]
    if not foreign:
        return 0.0
    hangul = any("가" <= char <= "힣" for char in text)
    kana = any("ぁ" <= char <= "ヿ" for char in text)
    total = 0.0
    for place in foreign:
        before = text[place - 1] if place else " "
        after = text[place + 1] if place + 1 < len(text) else " "
        char = text[place]
        if char >= "\u2e80":
            total += _eastern(char, name, hangul=hangul, kana=kana)
        else:
            total += _western(char, before, after)
    result = total / len(foreign)
    # Where two read alike, the one that is met more often.
    return result - 0.01 * CANDIDATES.index(name) / len(CANDIDATES) if name in CANDIDATES else result


def _eastern(char: str, name: str, *, hangul: bool, kana: bool) -> float:
    if "가" <= char <= "힣":
        return 0.95 if _has(char, "euc_kr") else 0.2
    if "ぁ" <= char <= "ヿ":
        return 0.6 if name in ("gb18030", "cp950", "cp949") else 1.0
    if "\uff61" <= char <= "\uff9f":
        return 0.2
    if "\u3000" <= char <= "\u303f" or "\uff01" <= char <= "\uff5e":
        return 0.8
    if UNDEFINED.match(char) or unicodedata.category(char) == "Cn":
        return -3.0
    if not ("\u4e00" <= char <= "\u9fff"):
        return 0.0
    if char in COMMON_HAN:
        return 0.1 if hangul else 1.1
    if hangul:
        return -0.2
    usual = {"gb18030": "gb2312", "cp932": "shift_jis", "euc_jp": "euc_jp", "cp950": "big5"}.get(name)
    return 0.5 if usual and _has(char, usual) and _first_level(char, usual) else 0.3 if kana else 0.1


def _has(char: str, encoding: str) -> bool:
    try:
        return len(char.encode(encoding)) <= 2  # euc_kr spells syllables outside its standard in eight bytes
    except UnicodeEncodeError:
        return False


def _first_level(char: str, encoding: str) -> bool:
    """Whether a Han character is in the part of its standard that holds the commoner half."""
    lead = char.encode(encoding)[0]
    last = {"gb2312": 0xD7, "shift_jis": 0x98, "euc_jp": 0xCF, "big5": 0xC6}[encoding]
    return lead <= last


def _western(char: str, before: str, after: str) -> float:
    if UNDEFINED.match(char):
        return -3.0
    if not char.isalpha() or char in "ªº":
        if before.isalpha() and after.isalpha() and char not in "’‘·–-\xad":
            return -0.6
        return 0.6 if char in "€£°–—“”„‘’…«»§±µ²³½¼©®™•·\xa0ºª¿¡¥×№" else 0.1
    if char >= "\u0370":
        return _script(char, before, after)
    if char.isupper() and before.islower():
        return -0.5
    near = (before, after)
    if any(other.isascii() and other.isalpha() for other in near):
        return 0.9 if char in "äöüßéèêàáâãåæçëíìîïñóòôõøúùûýÄÖÜÉÈÀÁÅÆÇÑÓØÚ" else 0.75
    return -0.4 if all(other >= "\x80" for other in near) else 0.2


def _script(char: str, before: str, after: str) -> float:
    """A letter of Greek, Cyrillic, Hebrew or Arabic stands among its own, and small letters follow capitals."""
    if char.isupper() and before.islower():
        return -0.5
    script = ord(char) >> 8
    own = sum(1 for other in (before, after) if other >= "\x80" and other.isalpha() and ord(other) >> 8 == script)
    mixed = any(other.isascii() and other.isalpha() for other in (before, after))
    if mixed:
        return -0.4
    return (0.1, 0.7, 0.95)[own] - (0.25 if char.isupper() and after.isupper() else 0.0)
