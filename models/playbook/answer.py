"""The playbook's answer: the findings that its cells printed, in a few groups, and what it is."""

import re

from models.playbook.route import Route

WHAT_IT_IS = (
    "*This is Stepwell's built-in playbook, not a language model: a fixed exploration of the data. It did not read "
    "the question beyond showing it.*"
)
HOW_TO_CONFIGURE = (
    "To have the question itself answered, configure a language model: set `STEPWELL_MODEL` and `OPENAI_API_KEY` "
    "(and `OPENAI_BASE_URL` for another OpenAI-compatible endpoint), then ask again on this thread."
)
SECTIONS = (
    ("The data", ("Data", "Quality")),
    ("What stands out", ("Column", "Comparison", "Group", "Relation", "Trend", "Text")),
    ("How the values are distributed", ("Distribution", "Outlier")),
    ("Figures and files", ("Figure", "File")),
    ("Assumptions", ("Assumption",)),
    ("Left out", ("Skipped",)),
)
BEGUN_BY_A_FILE = ("Data", "Text")
"""Topics whose findings begin with a file's name, which stays as it is; the others of them have their capital."""
NOT_ENGLISH = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
USED_UP = "the cells of this turn were used up"


def write_answer(route: Route) -> tuple[str, list[str]]:
    """The answer in Markdown, and the plan steps that were left out, each as `number: reason`."""
    situation = route.situation
    parts = [WHAT_IT_IS]
    if question := " ".join(situation["question"].split()):
        parts.append(f"> {question[:300]}{'…' if len(question) > 300 else ''}")
    reasons = _reasons(route)
    if findings := _allowed(route):
        for title, topics in SECTIONS:
            lines = [f"- {_sentence(line)}" for topic in topics for line in findings if line.startswith(f"{topic}: ")]
            if title == "Left out":
                lines += [f"- {reason[0].upper()}{reason[1:]}." for reason in reasons]
            if lines:
                parts.append(f"**{title}**\n\n" + "\n".join(lines))
    else:
        parts.append(_nothing(route, reasons))
    if situation["missing"]:
        parts.append("A review asked for more than a fixed playbook can give; what it doubted is left out here.")
    if len(NOT_ENGLISH.findall(situation["question"])) > 3:
        parts.append("The playbook writes English only, whatever the language of the question.")
    return "\n\n".join([*parts, HOW_TO_CONFIGURE]), _skipped(route)


def _sentence(line: str) -> str:
    topic, _, text = line.partition(": ")
    if topic in BEGUN_BY_A_FILE:
        return text
    return text[0].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def _allowed(route: Route) -> list[str]:
    """The findings, without those that hold a number or a file which a review doubted."""
    words = (word.strip(".,;:'\"()") for remark in route.situation["missing"] for word in remark.split())
    doubted = [word for word in words if re.search(r"\d|\w\.\w", word)]
    return [line for line in route.findings if not any(word in line for word in doubted)]


def _skipped(route: Route) -> list[str]:
    """The plan steps on which no cell ended well, each as `number: reason`."""
    usual = USED_UP if _out_of_cells(route) else "a fixed playbook does not do this"
    reasons = {route.step_of(stage): reason for stage, reason in reversed(route.left_out.items())}
    done = {route.step_of(stage) for stage in route.worked}
    done |= {number for number, step in enumerate(route.situation["plan"], 1) if step["done"]}
    numbers = range(1, len(route.situation["plan"]) + 1)
    return [f"{number}: {reasons.get(number, usual)}" for number in numbers if number not in done]


def _out_of_cells(route: Route) -> bool:
    return route.situation["wanted"] == "answer" and bool(route.todo)


def _reasons(route: Route) -> list[str]:
    """What was left out, in words, without the numbers of steps."""
    texts = {number: step["text"] for number, step in enumerate(route.situation["plan"], 1)}
    reasons = [
        f"{texts.get(route.step_of(stage), stage)}: {reason}"
        for stage, reason in route.left_out.items()
        if stage not in route.worked
    ]
    return list(dict.fromkeys([*reasons, f"the rest of the plan: {USED_UP}"] if _out_of_cells(route) else reasons))


def _nothing(route: Route, reasons: list[str]) -> str:
    inputs = route.inputs
    if inputs.tables or inputs.others:
        return f"Nothing was found out{': ' if reasons else ''}{'; '.join(reasons)}."
    if inputs.unreadable:
        names = ", ".join(f"`{path}`" for path in inputs.unreadable[:10])
        return f"None of the files can be read ({names}), so there is nothing that the playbook can analyse."
    return "There is no file to analyse. The playbook can only analyse files: name one or more with the question."
