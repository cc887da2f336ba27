"""The playbook's answer: the findings that its cells printed, in a few groups, and what it is."""

import re

from models.playbook.history import History
from models.playbook.route import Route, step_of

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
NOT_ENGLISH = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")


def write_answer(history: History, route: Route, *, out_of_cells: bool = False) -> tuple[str, list[str]]:
    """The answer in Markdown, and the plan steps that were left out, each as `number: reason`."""
    parts = [WHAT_IT_IS]
    if question := " ".join(history.question.split()):
        parts.append(f"> {question[:300]}{'…' if len(question) > 300 else ''}")
    skipped = left_out_steps(history, route, out_of_cells=out_of_cells)
    findings = _allowed(history)
    if findings:
        for title, topics in SECTIONS:
            lines = [f"- {_sentence(line)}" for topic in topics for line in findings if line.startswith(f"{topic}: ")]
            if title == "Left out":
                lines += [f"- {reason[0].upper()}{reason[1:]}." for reason in _reasons(history, route, out_of_cells)]
            if lines:
                parts.append(f"**{title}**\n\n" + "\n".join(lines))
    else:
        parts.append(_nothing(history, route))
    if history.sent_back:
        parts.append("A review asked for more than a fixed playbook can give; what it doubted is left out here.")
    if len(NOT_ENGLISH.findall(history.question)) > 3:
        parts.append("The playbook writes English only, whatever the language of the question.")
    parts.append(HOW_TO_CONFIGURE)
    return "\n\n".join(parts), skipped


def _sentence(line: str) -> str:
    text = line.partition(": ")[2]
    return text[0].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def _allowed(history: History) -> list[str]:
    """The findings, without those that hold a number or a file which a review doubted."""
    doubted = {
        word.strip(".,;:'\"()")
        for remark in history.sent_back
        for word in remark.split()
        if re.search(r"\d", word) or re.search(r"\w\.\w", word)
    }
    return [line for line in history.findings if not any(word and word in line for word in doubted)]


def left_out_steps(history: History, route: Route, *, out_of_cells: bool) -> list[str]:
    """The plan steps on which no cell ended well, each as `number: reason`."""
    worked = {step_of(stage, history) for stage in route.worked}
    skipped = []
    for line in history.plan:
        if line.done or line.number in worked:
            continue
        reasons = [reason for stage, reason in route.left_out.items() if step_of(stage, history) == line.number]
        usual = "the cells of this turn were used up" if out_of_cells else "a fixed playbook does not do this"
        skipped.append(f"{line.number}: {reasons[0] if reasons else usual}")
    return skipped


def _reasons(history: History, route: Route, out_of_cells: bool) -> list[str]:
    """What was left out, in words, without the numbers of steps."""
    texts = {line.number: line.text for line in history.plan}
    said = [
        f"{texts.get(step_of(stage, history), stage)}: {reason}"
        for stage, reason in route.left_out.items()
        if stage not in route.worked
    ]
    if out_of_cells and route.todo:
        said.append("the rest of the plan: the cells of this turn were used up")
    return list(dict.fromkeys(said))


def _nothing(history: History, route: Route) -> str:
    inputs = history.inputs
    if not (inputs.tables or inputs.others or inputs.unreadable):
        return "There is no file to analyse. The playbook can only analyse files: name one or more with the question."
    if not (inputs.tables or inputs.others):
        names = ", ".join(f"`{path}`" for path in inputs.unreadable[:10])
        return f"None of the files can be read ({names}), so there is nothing that the playbook can analyse."
    reasons = "; ".join(_reasons(history, route, out_of_cells=False))
    return f"Nothing was found out{': ' + reasons if reasons else ''}."
