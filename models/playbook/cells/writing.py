"""Cells that end an analysis: the summary file, and all findings in one place."""

LIST = r"""
import re
from pathlib import Path

drawn_files = sorted(Path("figures").rglob("*.png"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)])
new_files = [p.as_posix() for p in drawn_files if p.as_posix() not in globals().get("told", [])]
told = [p.as_posix() for p in drawn_files]
if len(new_files) == len(captions):
    findings += [f"Figure: `{path}` shows {caption}." for path, caption in zip(new_files, captions, strict=True)]
elif new_files:
    findings.append(f"Figure: `{'`, `'.join(new_files[:10])}`.")
print(f"Question: {question}")
print("Findings:")
lines, room = list(dict.fromkeys(findings)), 3300
for line in sorted(lines, key=lambda line: line.startswith(("Distribution", "Outlier"))):
    if len(line) + 3 <= room:
        print("-", line)
    room -= len(line) + 3
if room < 0:
    print("More findings were printed by earlier cells.")
"""

PAGES = r"""
import re

import pandas as pd


def safe(value):
    '''Text that a spreadsheet neither refuses nor takes for a formula.'''
    if not isinstance(value, str):
        return value
    value = re.sub(r"[\x00-\x08\x0b-\x1f]", "", value)[:1000]
    return "'" + value if value.startswith(("=", "+", "@")) else value


def save(pages, stem):
    '''Write the tables as sheets of one workbook, or as one CSV each where openpyxl is missing.'''
    pages = {name: page.map(safe).rename(columns=safe) for name, page in pages.items() if len(page)}
    try:
        with pd.ExcelWriter(f"outputs/{stem}.xlsx", engine="openpyxl") as book:
            for name, page in pages.items():
                page.to_excel(book, sheet_name=name, index=False)
        note("File", f"`outputs/{stem}.xlsx` holds the tables {', '.join(pages)}.")
    except ImportError:
        for name, page in pages.items():
            page.to_csv(f"outputs/{stem}-{name}.csv", index=False)
            note("File", f"`outputs/{stem}-{name}.csv` holds the table {name}.")
"""

WRITE = (
    PAGES
    + r"""
have = globals()
columns = pd.DataFrame({"column": df.columns, "type": df.dtypes.astype(str).to_list(),
                        "missing": df.isna().sum().to_list(), "distinct": df.astype(str).nunique().to_list()})
roles = {c: role for role in ("numbers", "groups", "dates") for c in have.get(role, [])}
columns["used as"] = [roles.get(c, have.get("aside", {}).get(c, "")) for c in df.columns]
pages = {"columns": columns, "missing": columns.loc[columns["missing"] > 0, ["column", "missing"]]}
if len(have.get("numbers", [])):
    pages["numbers"] = df[numbers[:500]].describe().T.reset_index(names="column")
if len(have.get("pairs", [])):
    pages["correlations"] = pd.DataFrame(pairs[:500], columns=["first", "second", "spearman"])
for name in ("differences", "outliers"):
    pages[name] = have.get(name, pd.DataFrame())
if len(have.get("per", [])):
    pages["trend"] = pd.DataFrame({"period": per.index.astype(str), "rows": per.to_numpy()})
pages["findings"] = pd.DataFrame({"finding": list(dict.fromkeys(findings))})
save(pages, stem)
"""
)

PLAIN = r"""
from pathlib import Path

Path(f"outputs/{stem}-findings.txt").write_text("\n".join(findings) + "\n", encoding="utf-8")
note("File", f"`outputs/{stem}-findings.txt` holds the findings.")
"""
