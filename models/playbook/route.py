"""Which cell comes next: a walk over the cells that ran, with no memory but the situation."""

import re
from collections import Counter
from dataclasses import dataclass, field

from models.playbook.cells import STAGE_OF, STAGES
from models.playbook.profiled_inputs import ALL_READ, Inputs, read_profiles
from models.situation import PromptCell, Situation
from storage.clean_text import clean, shown_code

Plan = dict[str, tuple[str, ...]]
"""Steps in words, each with its stages."""

TABLE_PLAN: Plan = {
    "Load the data and look at its shape and types": ("load",),
    "Clean the columns: dates, numbers stored as text, missing values, duplicate rows": ("clean", "quality"),
    "Describe how the values are distributed, with figures": ("distributions",),
    "Look for columns that go together and for groups that differ": ("relations", "groups"),
    "Look for trends and seasons where there is a date": ("trends",),
    "Look for outliers": ("outliers",),
    "Write the summary file and list all findings": ("write", "list"),
}
TEXT_PLAN: Plan = {
    "Read the text of the files": ("read",),
    "Count characters, words, sentences and lines": ("measure",),
    "Find the most frequent words, with a figure": ("words",),
    "Look at what else the text contains: numbers, addresses, headings": ("contents",),
    "Write the word list and list all findings": ("write_text", "list"),
}
FOLLOW_UP_PLAN: Plan = {
    "Describe the columns that the question names": ("focus",),
    "Relate them to the other columns, with a figure": ("relate",),
    "Write the tables of this look and list its findings": ("close", "list"),
}
NO_FILES_PLAN: Plan = {"Say that there is no file that can be analysed": ()}
STEPS = TABLE_PLAN | TEXT_PLAN | FOLLOW_UP_PLAN | NO_FILES_PLAN

FINDING = re.compile(r"^- ((?:[A-Z][a-z]+): .+\.)$", re.MULTILINE)
"""As `note` prints it in a cell."""
NOTHING_MORE = "Nothing more to analyse."
NEW_FILES = "New files came: they are loaded first."
LOADING = ("load", "restart", "read")
LAST = ("write", "list")
"""What is still done when there is nothing more to analyse."""
REDONE = ("load", "clean", "quality")
"""What is done anew once the data are loaded again."""
BROKEN_OFF = ("timeout", "killed", "unknown")
MAX_RESTARTS = 2
MAX_HEAVY = 3
"""Files that may be left out because the session breaks off at them, each at the cost of one more restart."""
READING = re.compile(r"^Reading (inputs/.+)$", re.MULTILINE)
"""As a cell prints it before it reads a file."""
MAX_FAILURES = 5
"""After so many failed cells the findings so far are listed."""


@dataclass(slots=True)
class Route:
    """How far the turn is."""

    situation: Situation
    inputs: Inputs
    todo: list[str] = field(default_factory=list)
    """The stages that are still to be done, in their order."""
    failures: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)
    """Stages that were given up, each with the reason."""
    worked: set[str] = field(default_factory=set)
    restarts: int = 0
    heavy: list[str] = field(default_factory=list)
    """Files that are not read any more: the session broke off even at their first rows."""
    sampled: bool = False
    """Whether the data are loaded again as a sample."""
    last: PromptCell | None = None

    @property
    def again(self) -> bool:
        """Whether the next cell is a second try."""
        stage = self.todo[0]
        return self.failures[stage] > 0 or self.restarts > {"clean": 0, "restart": 1}.get(stage, MAX_RESTARTS)

    @property
    def cells(self) -> list[PromptCell]:
        """The cells of this turn."""
        return [cell for cell in self.situation["cells"] if cell["turn"] == self.situation["turn"]]

    @property
    def findings(self) -> list[str]:
        """What the cells of this turn printed as findings, each once.

        What is found out anew replaces what was said of it before: the two may assume different things. Cleaning goes
        on with what a first try has changed; loading begins anew.
        """
        said: dict[str, list[str]] = {}
        for place, cell in enumerate(self.cells):
            stage, lines = _stage(cell) or f"cell {place}", _printed(cell)
            for outdated in REDONE if stage == "load" and lines else ():
                said.pop(outdated, None)
            if lines:
                said[stage] = [*said.get(stage, []), *lines] if stage == "clean" else lines
        return list(dict.fromkeys(line for lines in said.values() for line in lines))

    @property
    def outdated(self) -> list[str]:
        """What was printed by cells whose work the next cell does anew, or begins to."""
        anew = REDONE if self.todo[0] in LOADING else () if self.todo[0] == "clean" else (self.todo[0],)
        return [line for cell in self.cells if _stage(cell) in anew for line in _printed(cell)]

    def step_of(self, stage: str) -> int:
        """The number of the plan step that a stage works on; 0 when the plan does not have it."""
        texts = [text for text, stages in STEPS.items() if ("load" if stage == "restart" else stage) in stages]
        plan = enumerate(self.situation["plan"], 1)
        return next((number for number, step in plan if step["text"] in texts), 0)


def _stage(cell: PromptCell) -> str:
    """The stage of a cell; loading again is loading."""
    stage = STAGE_OF.get(cell["purpose"], "")
    return "load" if stage == "restart" else stage


def _printed(cell: PromptCell) -> list[str]:
    """The findings that a cell printed."""
    return FINDING.findall(shown_code(clean(cell["observation"])))


def walk(situation: Situation) -> Route:
    """Go over the cells of this turn and say what is left to do."""
    route = Route(situation, read_profiles(situation["inputs"]))
    route.todo = _stages(route)
    for cell in route.cells:
        route.last = cell
        stage = STAGE_OF.get(cell["purpose"])
        if stage in route.todo:
            while route.todo[0] != stage:  # earlier versions called some second tries something else
                route.worked.add(route.todo.pop(0))
            _take(route, cell)
    return route


def plan_for(route: Route) -> Plan:
    """The plan that fits the files: a shorter one when an earlier question left a loaded table."""
    left = {(variable["name"], variable["kind"].rpartition(".")[2]) for variable in route.situation["variables"]}
    if route.inputs.tables:
        # Of many variables the oldest are not told of; `told` is newer than `df`.
        return FOLLOW_UP_PLAN if left & {("df", "DataFrame"), ("told", "list")} else TABLE_PLAN
    return TEXT_PLAN if route.inputs.others else NO_FILES_PLAN


def _stages(route: Route) -> list[str]:
    """The stages of this turn; the plan decides, so that a step taken out of it is not done."""
    texts = [step["text"] for step in route.situation["plan"] if step["text"] in STEPS]
    if not texts:
        loads = any(STAGE_OF.get(cell["purpose"]) == "load" for cell in route.cells)
        first = route.inputs.tables and (loads or route.situation["turn"] == 1)
        texts = list(TABLE_PLAN if first else plan_for(route))
    wanted = [stage for text in texts for stage in STEPS[text]]
    if any(text in TABLE_PLAN for text in texts):
        wanted = ["load", "clean", "quality", *wanted]
    return list(dict.fromkeys([*wanted, "list"] if wanted else []))


def _take(route: Route, cell: PromptCell) -> None:
    """Account for one cell: what stands at the front of the list ran, and ended like this."""
    now = route.todo[0]
    if cell["status"] == "ok":
        route.todo.pop(0)
        route.worked.add(now)
        if NOTHING_MORE in cell["observation"]:
            _leave_out(route, "there is nothing in the data that it could be done with", but=LAST)
        elif NEW_FILES in cell["observation"]:
            route.todo = [stage for stages in TABLE_PLAN.values() for stage in stages]
        return
    route.failures[now] += 1
    if cell["status"] == "rejected":
        if now not in LOADING or route.failures[now] > 1:  # without the data there is nothing left to offer
            _give_up(route, now, "the cell was rejected")
    elif cell["status"] in BROKEN_OFF:
        _restart(route, now, "it took too long or too much memory", sample=True)
    elif cell["error"].startswith("NameError:"):
        _restart(route, now, "the session's variables were lost", sample=False)
    elif route.failures[now] > 1 or not STAGES[now].second:
        _give_up(route, now, "it failed twice" if route.failures[now] > 1 else "it failed")
    if route.failures.total() >= MAX_FAILURES and route.todo:
        _leave_out(route, "too many cells failed before it", but=(route.todo[-1],))


def _leave_out(route: Route, reason: str, but: tuple[str, ...] = ()) -> None:
    """Take what is left to do from the list, but for some stages."""
    for stage in route.todo:
        if stage not in but:
            route.left_out.setdefault(stage, reason)
    route.todo = [stage for stage in route.todo if stage in but]


def _give_up(route: Route, now: str, reason: str) -> None:
    route.left_out[now] = reason
    route.todo.pop(0)
    if now in LOADING:
        _leave_out(route, "the data could not be loaded")


def _restart(route: Route, now: str, reason: str, *, sample: bool) -> None:
    """Load again, on a sample when the data were too much, and go on with the stage that broke off."""
    printed = route.last["observation"] if route.last else ""
    if now == "restart" and ALL_READ not in printed and len(route.heavy) < MAX_HEAVY:
        route.heavy += READING.findall(printed)[-1:]
    if route.restarts >= MAX_RESTARTS + len(route.heavy):
        _give_up(route, now, reason)
        return
    route.restarts += 1
    route.sampled = route.sampled or sample
    if route.failures[now] > 1 and now not in LOADING:
        route.left_out[now] = reason
    first = ["read"] if "read" in {now, *route.worked} else ["restart", "clean", "quality"]
    done = {"load", *first, *route.left_out}
    route.todo = [*first, *(stage for stage in route.todo if stage not in done)]
