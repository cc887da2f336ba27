"""Cells for files that are not tables: reading text, counting, and what stands in it."""

from models.playbook.cells.loading import HELPERS

READ = (
    r"""
import re
from collections import Counter
from pathlib import Path

findings, captions, texts = [], [], {}
"""
    + HELPERS
    + r"""

def read(path):
    '''The file's text; pages of a PDF one after the other.'''
    if path.suffix.lower() == ".pdf":
        from pypdf import PdfReader

        return "\n".join(page.extract_text() or "" for page in PdfReader(path).pages)
    data = path.read_bytes()[:20_000_000]
    if data.count(0) > len(data) / 20 and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it does not look like text")
    encodings = ["utf-16"] if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ["utf-8", "gb18030", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    if path.suffix.lower() in (".html", ".htm"):
        text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", text)
    return text


for path in map(Path, paths):
    try:
        texts[path.name] = read(path)
    except Exception as problem:
        note("Skipped", f"{path.name} could not be read ({type(problem).__name__}).")
        continue
    note("Data", f"{path.name} holds {len(texts[path.name]):,} characters.")
    print(texts[path.name].strip()[:300])
everything = "\n".join(texts.values())
if not everything.strip():
    note("Data", "no text could be read.")
    print("Nothing more to analyse.")
"""
)

MEASURE = r"""
import re

for name, text in list(texts.items())[:10]:
    lines = [line for line in text.splitlines() if line.strip()]
    words = re.findall(r"[^\W\d_]+", text)
    sentences = [part for part in re.split(r"[.!?。！？]+\s*", text) if part.strip()]
    note("Text", f"{name}: {len(words):,} words in {len(sentences):,} sentences and {len(lines):,} lines; "
         f"{len(set(map(str.casefold, words))):,} different words.")
    if sentences:
        print(f"Words per sentence: {len(words) / len(sentences):.1f}")
"""

SIZE = r"""
for name, text in list(texts.items())[:10]:
    note("Text", f"{name}: {len(text.split()):,} words by spaces.")
    print(text.strip()[:200])
"""

WORDS = r"""
import re
from collections import Counter

import matplotlib.pyplot as plt

common = set("the a an and or but of to in on at for with by from is are was were be been it its this that as not no "
             "he she they we you i his her their our your has have had will would can could which who what there if so "
             "der die das und ist ein eine zu den von mit le la les de des et un une que el los en y".split())
counts = Counter(w for w in re.findall(r"[^\W\d_]{3,}", everything.casefold()) if w not in common)
marks = Counter(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2}", everything))
if sum(marks.values()) > sum(counts.values()) / 2:
    counts = marks
    note("Assumption", "the text is written without spaces, so pairs of characters are counted as words.")
top = counts.most_common(10)
if top:
    note("Text", "the most frequent words are " + ", ".join(f"'{w}' ({n:,})" for w, n in top) + ".")
else:
    note("Text", "there are no words to count.")
"""

WORDS_FIGURE = r"""
if top:
    fig, ax = plt.subplots(figsize=(8, 4))
    ax.barh([label(w) for w, _ in top[::-1]], [n for _, n in top[::-1]], color="#4878a8")
    ax.set_title("Most frequent words")
    fig.tight_layout()
    captions.append("the most frequent words")
"""

CONTENTS = r"""
import re

shapes = {
    "numbers": r"(?<!\w)\d[\d.,]*",
    "years": r"\b(?:1[89]|20)\d\d\b",
    "web addresses": r"https?://\S+",
    "mail addresses": r"\b[\w.+-]+@[\w-]+\.\w+",
    "headings": r"(?m)^#{1,6} .+",
    "questions": r"[?？]",
}
held = {what: re.findall(pattern, everything) for what, pattern in shapes.items()}
for what, hits in held.items():
    if hits:
        print(f"{what}: {len(hits):,}, such as {', '.join(h[:40] for h in hits[:5])}")
listed = ", ".join(f"{len(hits):,} {what}" for what, hits in held.items() if hits)
note("Text", f"it contains {listed}." if listed else "it contains no numbers, addresses, headings or questions.")
"""

WRITE = r"""
import csv
from pathlib import Path

with Path("outputs/words.csv").open("w", encoding="utf-8", newline="") as file:
    csv.writer(file).writerows([("word", "count"), *globals().get("counts", {}).most_common(1000)])
note("File", "`outputs/words.csv` holds the words with their counts.")
"""
