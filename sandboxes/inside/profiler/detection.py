"""What a file is: its kind by its first bytes, a text's encoding by its mark, its validity and its language."""

from __future__ import annotations

import codecs
import importlib
import re
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath

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


MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"), (b"PARE", "encrypted parquet"), (b"ARROW1", "arrow"), (b"FEA1", "feather 1"),
    (b"SQLite format 3\0", "sqlite"), (b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"),
    (b"GIF89a", "gif"), (b"II*\0", "tiff"), (b"MM\0*", "tiff"), (b"\x93NUMPY", "npy"), (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"), (b"\x7fELF", "a Linux program"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"), (b"ID3", "MP3 audio"), (b"OggS", "Ogg audio or video"), (b"fLaC", "FLAC audio"),
    (b"\x1aE\xdf\xa3", "Matroska video"), (b"\0asm", "a WebAssembly program"), (b"CDF\x01", "netCDF"),
    (b"CDF\x02", "netCDF"), (b"GRIB", "GRIB weather data"), (b"OBJ\x01", "Avro data"), (b"Obj\x01", "Avro data"),
    (b"ORC", "ORC"), (b"RDX", "R data"), (b"$FL2", "SPSS data"), (b"$FL3", "SPSS data"),
    (b"\xca\xfe\xba\xbe", "a Java class"),
)  # fmt: skip
BIFF = (
    b"\x09\x00\x04\x00",
    b"\x09\x02\x06\x00",
    b"\x09\x04\x06\x00",
    b"\x09\x08\x08\x00\x00\x05",
    b"\x09\x08\x10\x00\x00\x06",
)
NAMES = {
    "xlsx": "an Excel workbook (xlsx)", "xls": "an old Excel workbook (xls)", "xlsb": "a binary Excel workbook (xlsb)",
    "ods": "an OpenDocument spreadsheet", "docx": "a Word document", "pptx": "a PowerPoint presentation",
    "odt": "an OpenDocument text", "zip": "a zip archive", "gzip": "gzip-compressed", "bz2": "bzip2-compressed",
    "xz": "xz-compressed", "zstd": "Zstandard-compressed", "parquet": "a Parquet file", "arrow": "an Arrow file",
    "sqlite": "an SQLite database", "duckdb": "a DuckDB database", "pdf": "a PDF document", "png": "a PNG image",
    "jpeg": "a JPEG image", "gif": "a GIF image", "tiff": "a TIFF image", "bmp": "a BMP image", "webp": "a WebP image",
    "pickle": "a Python pickle", "npy": "a NumPy array", "npz": "NumPy arrays", "html": "an HTML page",
    "json": "JSON", "jsonl": "JSON Lines", "xml": "XML", "delimited": "delimited text", "text": "plain text",
    "markdown": "Markdown", "hdf5": "an HDF5 file", "encrypted office": "a password-protected Office file",
    "arrow stream": "an Arrow stream", "ole": "an old Office file", "doc": "an old Word document",
    "excel xml": "an Excel 2003 XML workbook", "svg": "an SVG image",
}  # fmt: skip
SUFFIXES = {
    ".xlsx": ("xlsx",), ".xlsm": ("xlsx",), ".xls": ("xls",), ".xlsb": ("xlsb",), ".ods": ("ods",), ".docx": ("docx",),
    ".pptx": ("pptx",), ".csv": ("delimited",), ".tsv": ("delimited",), ".parquet": ("parquet",), ".pq": ("parquet",),
    ".feather": ("arrow",), ".arrow": ("arrow", "arrow stream"), ".json": ("json", "jsonl"),
    ".jsonl": ("jsonl", "json"),
    ".ndjson": ("jsonl", "json"), ".geojson": ("json",), ".sqlite": ("sqlite",), ".sqlite3": ("sqlite",),
    ".db": ("sqlite", "duckdb"), ".duckdb": ("duckdb",), ".pdf": ("pdf",), ".png": ("png",), ".jpg": ("jpeg",),
    ".jpeg": ("jpeg",), ".gif": ("gif",), ".webp": ("webp",), ".html": ("html", "xml"), ".htm": ("html", "xml"),
    ".xml": ("xml", "excel xml", "svg"), ".zip": ("zip", "npz"), ".gz": ("gzip",), ".bz2": ("bz2",), ".xz": ("xz",),
    ".zst": ("zstd",), ".pkl": ("pickle",), ".pickle": ("pickle",), ".npy": ("npy",), ".npz": ("npz",),
}  # fmt: skip


def suffix_of(path: str) -> str:
    """What a name ends with, in lower case, with the dot."""
    return PurePosixPath(path).suffix.lower()


def by_magic(path: str, head: bytes, tail: bytes) -> str:
    """Tell a binary kind from a file's first and last bytes; an empty string when it may be text.

    Returns:
        A key of `NAMES`, or a phrase such as `a RAR archive` for what is known and not opened.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_kind(path)
    for magic, kind in MAGIC:
        # A text may begin with the letters of a magic number: no control characters follow, and it is not named so.
        named = kind in SUFFIXES.get(suffix_of(path), ())
        if head.startswith(magic) and (named or not magic.decode("latin-1").isprintable() or looks_binary(head)):
            return _ole_kind(path) if kind == "ole" else kind
    if head.startswith(BIFF):
        return "xls"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[:4] == b"RIFF":
        return {b"WEBP": "webp", b"WAVE": "WAV audio", b"AVI ": "AVI video"}.get(head[8:12], "RIFF data")
    if head[4:8] == b"ftyp":
        return "MP4 or HEIC media"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or (b"%PDF-" in head[:1024] and looks_binary(head)):
        return "pdf"
    return _weak_magic(path, head, tail)


def _weak_magic(path: str, head: bytes, tail: bytes) -> str:
    if head[:4] == b"\xff\xff\xff\xff" and b"\0" in head[:64]:
        return "arrow stream"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and tail.endswith(b"."):
        return "pickle"
    if suffix_of(path) in (".pkl", ".pickle", ".joblib"):
        return "pickle"
    if head[:2] == b"BM" and b"\0" in head[:32]:
        return "bmp"
    if head[:2] == b"MZ" and b"\0" in head[:64]:
        return "a Windows program"
    if head[257:262] == b"ustar":
        return "a tar archive"
    return ""


def _zip_kind(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            mime = archive.read("mimetype")[:80].decode("ascii", "replace") if "mimetype" in names else ""
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError):
        return "broken zip"
    if "opendocument.spreadsheet" in mime:
        return "ods"
    if "opendocument.text" in mime:
        return "odt"
    for name, kind in (
        ("xl/workbook.xml", "xlsx"), ("xl/workbook.bin", "xlsb"), ("word/document.xml", "docx"),
        ("ppt/presentation.xml", "pptx"),
    ):  # fmt: skip
        if name in names:
            return kind
    if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
        return "xlsx"
    return "npz" if names and all(name.endswith(".npy") for name in names) else "zip"


def _ole_kind(path: str) -> str:
    """An OLE file's directory holds the names of its streams in UTF-16; it may stand anywhere in the file."""
    with open(path, "rb") as stream:  # noqa: PTH123  what is opened here is a stream, not a path's content
        data = stream.read(8_000_000)
        stream.seek(0, 2)
        stream.seek(max(stream.tell() - 1_000_000, 0))
        data += stream.read()
    for name, kind in (
        ("EncryptedPackage", "encrypted office"), ("Workbook", "xls"), ("Book", "xls"), ("WordDocument", "doc"),
        ("PowerPoint Document", "an old PowerPoint presentation"), ("__properties_version1.0", "an Outlook message"),
    ):  # fmt: skip
        if name.encode("utf-16-le") + b"\0\0" in data:
            return kind
    return "ole"


def kind_of_name(path: str) -> str:
    """What the name says the file is; empty when it says nothing."""
    kinds = SUFFIXES.get(suffix_of(path))
    return NAMES[kinds[0]] if kinds else ""


def mismatch(path: str, kind: str) -> str:
    """One remark when the name says something else than the content; else an empty string."""
    kinds = SUFFIXES.get(suffix_of(path))
    if kinds is None or kind in kinds:
        return ""
    article = NAMES.get(kind, kind)
    return f"named {suffix_of(path)} but it is {article}"
