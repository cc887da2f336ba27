"""Cells for files that are not tables: reading text, counting, and what stands in it."""

READ = r"""
texts = {}
for path in map(Path, paths):
    try:
        if path.suffix.lower() == ".pdf":
            from pypdf import PdfReader

            text = "\n".join(page.extract_text() or "" for page in PdfReader(path).pages)
        else:
            data = path.read_bytes()[:20_000_000]
            wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
            if data.count(0) > len(data) / 20 and not wide:
                raise ValueError("it does not look like text")
            for encoding in ["utf-16"] if wide else ["utf-8", "gb18030", "cp1252", "latin-1"]:
                try:
                    text = data.decode(encoding)
                    break
                except UnicodeDecodeError:
                    text = ""
            if path.suffix.lower() in (".html", ".htm"):
                text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", text)
    except Exception as problem:
        note("Skipped", f"{path} could not be read ({type(problem).__name__}).")
        continue
    texts[path.name] = text
    note("Data", f"{path.name} holds {many(len(text), 'character')}.")
    print(text.strip()[:300])
everything = "\n".join(texts.values())
if not everything.strip():
    note("Data", "No text could be read.")
    print("Nothing more to analyse.")
"""

MEASURE = r"""
for name, text in list(texts.items())[:10]:
    lines = [line for line in text.splitlines() if line.strip()]
    words = re.findall(r"[^\W\d_]+", text)
    sentences = [part for part in re.split(r"[.!?。！？]+\s*", text) if part.strip()]
    different = len(set(map(str.casefold, words)))
    size = f"{many(len(words), 'word')} in {many(len(sentences), 'sentence')} and {many(len(lines), 'line')}"
    note("Text", f"{name}: {size}; {many(different, 'different word')}.")
"""

WORDS = r"""
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
    note("Text", "The most frequent words are " + ", ".join(f"'{w}' ({n:,})" for w, n in top) + ".")
else:
    note("Text", "There are no words to count.")
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
shapes = {
    "numbers": r"(?<!\w)\d[\d.,]*",
    "years": r"\b(?:1[89]|20)\d\d\b",
    "web addresses": r"https?://\S+",
    "mail addresses": r"\b[\w.+-]+@[\w-]+\.\w+",
    "headings": r"(?m)^#{1,6} .+",
    "questions": r"[?？]",
}
held = {what: re.findall(pattern, everything) for what, pattern in shapes.items()}
listed = ", ".join(f"{len(hits):,} {what}" for what, hits in held.items() if hits)
note("Text", f"it contains {listed}." if listed else "it contains no numbers, addresses, headings or questions.")
"""

WRITE = r"""
page = pd.DataFrame(counts.most_common(1000), columns=["word", "count"])
page.to_csv("outputs/words.csv", index=False)
note("File", "`outputs/words.csv` holds the words with their counts.")
"""
