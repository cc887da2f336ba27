"""What the files and texts of cells are published as."""

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, unquote

from graph.state import Artifact, State
from nodes.calls.recorded_calls import functions_called
from nodes.restoration.line import left_aside
from storage.clean_text import clean_code, clean_prose, shown_code
from storage.safe_names import harmless_name, safe_names

OURS = re.compile(r"answer(-\d+)?\.md|analysis\.py", re.IGNORECASE)
"""Names of artifacts that Stepwell writes itself."""
UPLOADED = re.compile(r"/uploads/[0-9a-f]{40}/[0-9a-f]{32}/")
"""In the path of an upload: a place of Stepwell's own, which says nothing to whoever reads the script."""
NAMED = 100
"""Inputs of which a script says where they came from."""


def published_names(paths: Iterable[str]) -> dict[str, str]:
    """For each workspace file its name among the artifacts.

    It is its own below `outputs/`, if every system takes that and no program looks for it.
    """
    return safe_names((path, _own_name(path)) for path in paths)


def is_renamed(path: str, name: str) -> bool:
    """Whether a workspace file has a name among the artifacts by which nobody who knows its path would look for it."""
    return name not in (path, path.removeprefix("outputs/"))


def reason_for(path: str) -> str:
    """Why a workspace file has another name among the artifacts, as the end of a sentence."""
    plain = path.removeprefix("outputs/")
    if harmless_name(plain) != plain:
        return ": programs look for files of its own name, or run them"
    return ", a name that every system takes"


def _own_name(path: str) -> str:
    """Its own name without what programs pick up, unless that could be another's."""
    name = harmless_name(path.removeprefix("outputs/"))
    return f"outputs/{name}" if path.startswith("outputs/") and _is_anothers(name) else name


def _is_anothers(name: str) -> bool:
    return OURS.fullmatch(name) is not None or name.startswith(("figures/", "outputs/"))


def shown(path: str) -> str:
    """A path that anybody may have made, with what cannot be seen of it written out."""
    return path if path.isprintable() else ascii(path)[1:-1]


LINK = re.compile(r"\]\(([^()\"]{1,1000}+)((?:\"[^\"\n]{0,1000}+\"\s{0,9}+)?\))")
"""The end of a Markdown link or picture, from the bracket on, and its title; nothing of it is tried twice."""


def relinked(text: str, targets: Mapping[str, str]) -> str:
    """Markdown whose links and pictures lead elsewhere.

    Args:
        text: Markdown.
        targets: For the path of a file, in any of the ways in which a link may name it, where its link leads instead.
    """

    def linked(match: re.Match[str]) -> str:
        path = unquote(match[1].strip().removeprefix("<").removesuffix(">").strip()).removeprefix("./")
        title = match[2] if match[2] == ")" else f" {match[2]}"
        return f"]({targets[path]}{title}" if path in targets else match[0]

    return LINK.sub(linked, text)


def names_by_path(published: Sequence[Artifact]) -> dict[str, str]:
    """For each way in which an answer may name a published file, the file's name among the others."""
    renamed = {one["path"]: one["name"] for one in published if one.get("path")}
    own = {one["name"]: one["name"] for one in published if not one.get("path")}
    below_outputs = {f"outputs/{name}": name for name in own}
    return below_outputs | own | {path.removeprefix("outputs/"): name for path, name in renamed.items()} | renamed


def as_document(question: str, answer: str, published: Iterable[Artifact], concerns: Iterable[str] = ()) -> str:
    """An answer as a Markdown file, with links to files by the names that they are published under.

    What the checks hold against it stands below: whoever is handed the file sees nothing else.
    """
    published = list(published)
    renamed = {one["path"]: one["name"] for one in published if one.get("path")}
    listed = "".join(f"- {as_code(path)}: {as_code(name)}\n" for path, name in renamed.items())
    ending = f"\nPublished under other names:\n\n{listed}" if listed else ""
    doubts = "".join(f"- {_one_line(concern)}\n" for concern in concerns)
    ending += f"\nNot verified:\n\n{doubts}" if doubts else ""
    text = relinked(answer, {path: quote(name) for path, name in names_by_path(published).items()})
    return clean_prose(f"# {_title(question)}\n\n{text}\n{ending}")


def as_code(name: str) -> str:
    """A file's name as Markdown that is nothing else, whatever characters are in it."""
    return f"`{name.replace('`', chr(39))}`"


def as_script(state: State) -> str:
    """The cells that ran, as one Python file that can be run again beside `inputs/` (IPython for top-level `await`).

    Cells that a later one went back over are comments.
    """
    questions = {turn["number"]: turn["question"] for turn in state.get("turns") or []} | {
        state["turn"]: state["question"]
    }
    parts = ['"""The code of this analysis, cell by cell. Run it in a folder that holds inputs/ and outputs/."""\n']
    named = [
        one for one in state.get("inputs") or [] if one["source"].startswith("/") and not UPLOADED.search(one["source"])
    ]
    parts += [f"# {_one_line(one['path'])} is a copy of {_one_line(one['source'])}\n" for one in named[:NAMED]]
    if functions := sorted({name for cell in state.get("cells") or [] for name in functions_called(cell)}):
        parts.append(
            f"# It calls functions of the program that ran it; define them here first: {', '.join(functions)}\n"
        )
    turn = 0
    aside = left_aside(state.get("cells") or [])
    for cell in state.get("cells") or []:
        if cell["turn"] != turn:
            turn = cell["turn"]
            parts.append(f"\n# ==== Question {turn} ====\n{_commented(clean_prose(questions.get(turn, '')))}\n")
        head = f"\n# %% cell {cell['number']}: {_one_line(cell['purpose'])}"
        if cell["status"] in ("rejected", "killed", "unknown") or cell["number"] in aside:
            why = "a later cell goes back before it" if cell["number"] in aside else cell["status"]
            parts.append(f"{head} ({why}; left out)\n{_commented(shown_code(cell['code']))}\n")
        elif cell["status"] == "ok":
            parts.append(f"{head}\n{clean_code(cell['code'])}\n")
        else:
            parts.append(
                f"{head} ({cell['status']}: {_one_line(cell['error'])})\n" + _guarded(clean_code(cell["code"]))
            )
    return "".join(parts)


def _one_line(text: str) -> str:
    return " ".join(clean_prose(text).split())


def _commented(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.splitlines())


def _guarded(code: str) -> str:
    """A cell that failed, so that the script goes on after it as the session did."""
    indented = "\n".join(f"    {line}" if line.strip() else "" for line in code.splitlines())
    try:
        compile(code, "cell", "exec")
    except (SyntaxError, ValueError):
        return _commented(shown_code(code)) + "\n"
    if '"""' in code or "'''" in code:  # indenting would change the text in them
        return f"try:\n    exec({code!r}, globals())\nexcept Exception as error:\n    print(repr(error))\n"
    return f"try:\n{indented}\nexcept Exception as error:\n    print(repr(error))\n"


def _title(question: str) -> str:
    first = question.strip().splitlines()[0] if question.strip() else "Answer"
    return first if len(first) <= 200 else first[:199] + "…"
