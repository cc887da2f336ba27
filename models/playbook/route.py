"""Which cell comes next: a walk over the cells that ran, with no memory but the messages."""

from collections import Counter
from dataclasses import dataclass, field

from models.playbook.cells import STAGES
from models.playbook.history import History, Inputs, Ran

TABLE_PLAN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Load the data and look at its shape and types", ("load",)),
    ("Clean the columns: dates, numbers stored as text, missing values, duplicate rows", ("clean", "quality")),
    ("Describe how the values are distributed, with figures", ("distributions",)),
    ("Look for columns that go together and for groups that differ", ("relations", "groups")),
    ("Look for trends and seasons where there is a date", ("trends",)),
    ("Look for outliers", ("outliers",)),
    ("Write the summary file and list all findings", ("write", "list")),
)
TEXT_PLAN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Read the text of the files", ("read",)),
    ("Count characters, words, sentences and lines", ("measure",)),
    ("Find the most frequent words, with a figure", ("words",)),
    ("Look at what else the text contains: numbers, addresses, headings", ("contents",)),
    ("Write the word list and list all findings", ("write_text", "list")),
)
FOLLOW_UP_PLAN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Describe the columns that the question names", ("focus",)),
    ("Relate them to the other columns, with a figure", ("relate",)),
    ("Write the tables of this look and list its findings", ("close", "list")),
)
NO_FILES_PLAN: tuple[tuple[str, tuple[str, ...]], ...] = (("Say that there is no file that can be analysed", ()),)

LISTING = {steps[-1][0] for steps in (TABLE_PLAN, TEXT_PLAN, FOLLOW_UP_PLAN)}
"""The plan steps that the list of findings belongs to."""
BROKEN_OFF = ("timeout", "killed", "unknown")
MAX_RESTARTS = 2
MAX_FAILURES = 5
"""After so many failed cells the findings so far are listed."""
OURS = (
    "df",
    "findings",
    "captions",
    "note",
    "show",
    "label",
    "tables",
    "loaded",
    "numbers",
    "groups",
    "dates",
    "texts",
)
"""Names that every later cell relies on; when one is gone, the session was lost."""
NOTHING_MORE = "Nothing more to analyse."
NEW_FILES = "New files came: they are loaded first."
LAST = {"write", "list"}
"""What is still done when there is nothing more to analyse."""


@dataclass(frozen=True, slots=True)
class Todo:
    """A cell to be run."""

    stage: str
    mended: bool = False


@dataclass(slots=True)
class Route:
    """Where the walk stands."""

    todo: list[Todo]
    failures: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, str] = field(default_factory=dict)
    """Stages that were given up, each with the reason."""
    worked: set[str] = field(default_factory=set)
    restarts: int = 0
    sampled: bool = False
    """Whether the data are loaded again as a sample."""
    last: Ran | None = None


def plan_for(inputs: Inputs, *, has_table: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The plan that fits the inputs: steps in words, each with its stages."""
    if has_table:
        return FOLLOW_UP_PLAN
    if inputs.tables:
        return TABLE_PLAN
    return TEXT_PLAN if inputs.others else NO_FILES_PLAN


def stages_of(history: History) -> list[str]:
    """The stages of this turn; the plan decides, so that a step taken out of it is not done."""
    known = {text: stages for steps in (TABLE_PLAN, TEXT_PLAN, FOLLOW_UP_PLAN, NO_FILES_PLAN) for text, stages in steps}
    wanted = [stage for line in history.plan for stage in known.get(line.text, ())]
    if not any(line.text in known for line in history.plan):
        loaded_now = any(stage_named(ran.purpose)[0] == "load" for ran in history.ran)
        follows_up = history.has_table and history.turn > 1 and not loaded_now
        wanted = [stage for _, own in plan_for(history.inputs, has_table=follows_up) for stage in own]
    if wanted and "list" not in wanted:
        wanted.append("list")
    if "load" not in wanted and any(line.text in _texts(TABLE_PLAN) for line in history.plan):
        wanted.insert(0, "load")
    if "load" in wanted and "clean" not in wanted:
        wanted[1:1] = ["clean", "quality"]
    return wanted


def _texts(steps: tuple[tuple[str, tuple[str, ...]], ...]) -> list[str]:
    return [text for text, _ in steps]


def step_of(stage: str, history: History) -> int:
    """The number of the plan step that a stage works on; 0 when the plan does not have it."""
    stage = "load" if stage == "restart" else stage
    if stage == "list":
        return next((line.number for line in history.plan if line.text in LISTING), 0)
    for text, stages in (*TABLE_PLAN, *TEXT_PLAN, *FOLLOW_UP_PLAN):
        if stage in stages:
            return next((line.number for line in history.plan if line.text == text), 0)
    return 0


def walk(history: History) -> Route:
    """Go over the cells of this turn and say what is left to do."""
    route = Route([Todo(stage) for stage in stages_of(history)])
    for ran in history.ran:
        route.last = ran
        stage, _ = stage_named(ran.purpose)
        if not route.todo:
            break
        if stage and any(one.stage == stage for one in route.todo):
            while route.todo[0].stage != stage:  # what lies between is no longer shown; it ran
                route.worked.add(route.todo.pop(0).stage)
        _take(route, ran)
    return route


def stage_named(purpose: str) -> tuple[str, bool]:
    """The stage, and whether it is its second form, that a purpose (or a line that begins with it) tells of."""
    best, length = ("", False), 0
    for name, stage in STAGES.items():
        for mended in (False, True):
            own = stage.purpose_of(mended=mended)
            if purpose.startswith(own) and len(own) > length:
                best, length = (name, mended), len(own)
    return best


def _take(route: Route, ran: Ran) -> None:
    """Account for one cell: what stands at the front of the list ran, and ended like this."""
    now = route.todo[0]
    if ran.status == "ok":
        route.todo.pop(0)
        route.worked.add(now.stage)
        if NOTHING_MORE in ran.observation:
            ends = [one for one in route.todo if one.stage in LAST]
            for one in route.todo:
                if one not in ends:
                    route.left_out[one.stage] = "there is nothing in the data that it could be done with"
            route.todo = ends
        elif NEW_FILES in ran.observation:
            route.todo = [Todo(stage) for _, stages in TABLE_PLAN for stage in stages]
        return
    route.failures[now.stage] += 1
    if ran.status == "rejected":
        _give_up(route, now, "the cell was rejected")
    elif ran.status in BROKEN_OFF or _session_lost(ran):
        _restart(route, now, sample=ran.status in BROKEN_OFF)
    elif route.failures[now.stage] >= 2:
        _give_up(route, now, "it failed twice")
    else:
        route.todo[0] = Todo(now.stage, mended=True)
    if route.failures.total() >= MAX_FAILURES:
        for one in route.todo[:-1]:
            route.left_out.setdefault(one.stage, "too many cells failed before it")
        route.todo = route.todo[-1:]


def _session_lost(ran: Ran) -> bool:
    return any(f"NameError: name '{name}' is not defined" in ran.observation for name in OURS)


def _give_up(route: Route, now: Todo, reason: str) -> None:
    route.left_out[now.stage] = reason
    route.todo.pop(0)
    if now.stage in ("load", "restart", "read"):
        for one in route.todo:
            route.left_out[one.stage] = "the data could not be loaded"
        route.todo = []


def _restart(route: Route, now: Todo, *, sample: bool) -> None:
    """Load again, on a sample when the data were too much, and go on with the stage that broke off."""
    reason = "it took too long or too much memory" if sample else "the session's variables were lost"
    if route.restarts >= MAX_RESTARTS:
        _give_up(route, now, reason)
        return
    route.restarts += 1
    route.sampled = route.sampled or sample
    if route.failures[now.stage] >= 2 and now.stage not in ("load", "restart"):
        route.left_out[now.stage] = reason
    if "read" in route.worked or now.stage == "read":
        again = [Todo("read", mended=True)]
    else:
        again = [Todo("restart", mended=route.restarts > 1), Todo("clean", mended=True), Todo("quality")]
    done = {one.stage for one in again} | {"load"} | set(route.left_out)
    route.todo = [*again, *(one for one in route.todo if one.stage not in done)]
