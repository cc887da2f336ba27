"""A thread in which everything that somebody else writes tries to run a script in the browser of who looks at it."""

from html.parser import HTMLParser
from pathlib import Path

from tests.scripted_model import Call, Scripted

SCRIPT = "<script>window.hostile=1</script>"
IMAGE = "<img src=x onerror=window.hostile=2>"
QUESTION = f"How many? {SCRIPT}{IMAGE}\n</textarea></h2>{SCRIPT}"
INPUT = "a<img src=x onerror=window.hostile=3>.csv"

CODE = f"""import pandas as pd
hostile = pd.DataFrame({{"{SCRIPT}": ["{IMAGE}", "</td></table>{SCRIPT}"]}})
open("outputs/page.html", "w").write("<html><script>parent.hostile=4;window.hostile=4</script>")
open("outputs/picture.svg", "w").write(
    '<svg xmlns="http://www.w3.org/2000/svg"><script>window.hostile=5</script></svg>')
open("outputs/notes.md", "w").write("# Notes {SCRIPT}\\n\\n[go](javascript:window.hostile=6) {IMAGE}")
open("outputs/table.csv", "w").write("a,b\\n{SCRIPT},{IMAGE}\\n")
open("outputs/fake.png", "w").write("<html>{SCRIPT}")
open("outputs/{IMAGE.replace("/", "")}.txt", "w").write("{SCRIPT}")
class Shown:
    def _repr_html_(self):
        return '<table onmouseover="window.hostile=7"><tr><td style="position:fixed">{SCRIPT}{IMAGE}' \\
            '<a href="javascript:window.hostile=8">x</a><iframe srcdoc="{SCRIPT}"></iframe></td></tr></table>'
    def __repr__(self):
        return "{SCRIPT}\\x1b]0;title\\x07"
print("</pre>{SCRIPT}{IMAGE}")
display(Shown())
count = 2
hostile"""
ANSWER = f"""# There are {{{{count}}}} {SCRIPT}

{IMAGE} <svg onload=window.hostile=9> [a](javascript:window.hostile=10) [b](data:text/html,{SCRIPT})
![c](javascript:window.hostile=11) ![d](https://tracker.example.org/pixel.png) [e](page.html)

| {SCRIPT} |
|---|
| {IMAGE} |
"""


def hostile_replies() -> list[Scripted]:
    """What a hostile model says."""
    return [
        Call("run_python", purpose=f"Count {SCRIPT}{IMAGE}", code=CODE),
        Call("run_python", purpose="Answer", code=f"# </code>{SCRIPT}\ncount", answer=ANSWER),
        Call("submit_review", good_enough=True, missing=[]),
    ]


def hostile_input(folder: Path) -> Path:
    """A file with a hostile name."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / INPUT
    file.write_text(f"{SCRIPT},b\n1,{IMAGE}\n")
    return file


class LiveParts(HTMLParser):
    """Collects what of an HTML text a browser would run, load from elsewhere, or lay over the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        address = given.get("src") or given.get("href") or given.get("action") or ""
        inside = address.startswith(("/", "#")) and not address.startswith("//")
        if tag in ("iframe", "object", "base", "svg", "math") or (tag == "script" and not inside):
            self.found.append(f"<{tag} {attrs}>")
        if any(name.startswith("on") or name in ("style", "srcdoc") for name in given):
            self.found.append(f"<{tag} {attrs}>")
        if address and not inside and not (tag == "a" and address.startswith(("https://", "mailto:"))):
            self.found.append(f"<{tag} {attrs}>")
