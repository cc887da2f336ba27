"""Which steps lose their snapshots: rules on trees with branches, forks and turns, and what that gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.step_tree import Step, StepTree, step_tree_from_states
from graph.state import Cell, CellStatus, LostName, State, Turn
from stepwell.giving_up import holds_more_than_snapshots
from stepwell.retention import Candidate, Rules, StoredSnapshots, candidates, chosen, named_by
from storage.amounts import parse_age, parse_size

NOW = datetime(2026, 6, 30, tzinfo=UTC)


def cell(
    number: int, turn: int = 1, snapshot: str | None = None, *, status: CellStatus = "ok", back_to: int = -1
) -> Cell:
    made = Cell(
        number=number,
        turn=turn,
        step=1,
        purpose=f"cell {number}",
        thought="",
        code=f"x = {number}",
        status=status,
        observation="",
        error="",
        seconds=0.1,
        files=[],
        figures=[],
        snapshot=f"s{number}" if snapshot is None else snapshot,
    )
    if back_to >= 0:
        made["back_to"] = back_to
    return made


def tree_of(*lines: Sequence[Cell], days: Mapping[str, float] | None = None, head: str = "") -> StepTree:
    """A tree with a checkpoint for each cell; a line continues the one that it shares its first cells with."""
    rows: list[tuple[str, str, State]] = [("c000", "", State(cells=[]))]
    known: dict[tuple[str, ...], str] = {(): "c000"}
    for line in lines:
        for end in range(1, len(line) + 1):
            key = tuple(f"{one['number']} {one.get('snapshot')} {one['code']}" for one in line[:end])
            if key in known:
                continue
            known[key] = f"c{len(known):03}"
            turns = [Turn(number=n, question="", plan=[], answer="") for n in range(1, line[end - 1]["turn"])]
            rows.append((known[key], known[key[:-1]], State(cells=list(line[:end]), turns=turns)))
    tree = step_tree_from_states(rows)
    ages = days or {}
    tree.steps = [_at(step, ages.get(step.name), head) for step in tree.steps]
    return tree


def _at(step: Step, days: float | None, head: str) -> Step:
    when = NOW - timedelta(days=days) if days is not None else None
    return replace(step, when=when, head=step.name == head if head else step.head)


def named(rules: Rules, tree: StepTree, *, stored: Sequence[str] = (), needed: Sequence[str] = ()) -> list[str]:
    """The snapshots that rules name, in the order in which they go."""
    there = stored or [step.cell.get("snapshot", "") for step in tree.steps if step.cell is not None]
    found = candidates("t", tree, [one for one in there if one], NOW, needed)
    return [one.snapshot for one in chosen(found, named_by(rules, NOW))]


def line(last: int, turns: Sequence[int] = ()) -> list[Cell]:
    """Cells; `turns` says with which cell each turn but the last ends."""
    return [cell(number, 1 + sum(number > end for end in turns)) for number in range(1, last + 1)]


def test_all_but_the_last_steps_go_from_the_oldest_on() -> None:
    assert named(Rules(keep_last=2), tree_of(line(5))) == ["s1", "s2", "s3"]
    assert named(Rules(keep_last=1), tree_of(line(3))) == ["s1", "s2"]
    assert named(Rules(keep_last=9), tree_of(line(5))) == []


def test_the_newest_of_each_branch_stays_whatever_the_rule() -> None:
    first, second = line(4), [*line(2), cell(3, snapshot="b3"), cell(4, snapshot="b4")]
    tree = tree_of(first, second)
    assert named(Rules(keep_last=1), tree) == ["s1", "s2", "s3", "b3"]
    assert named(Rules(older_than="0d"), tree_of(first, second, days=dict.fromkeys("1234", 9.0))) == ["s1", "s2", "s3"]


def test_steps_that_branches_share_count_from_the_end_of_each() -> None:
    tree = tree_of(line(6), [*line(3), cell(4, snapshot="b4")])
    # Two from the end of the second branch is step 3, which is four from the end of the first.
    assert named(Rules(keep_last=2), tree) == ["s1", "s2", "s4"]


def test_where_the_thread_is_now_stays() -> None:
    assert named(Rules(keep_last=1), tree_of(line(5), head="2")) == ["s1", "s3", "s4"]


def test_the_end_of_a_turn_waits_for_its_middle() -> None:
    turns = line(6, turns=[3])
    # The thread went back into the middle of its first turn: step 2 stays, and so does the end of that turn.
    assert named(Rules(keep_last=1), tree_of(turns, head="2")) == ["s1", "s4", "s5"]
    assert named(Rules(keep_last=1), tree_of(turns)) == ["s1", "s2", "s3", "s4", "s5"]
    old = tree_of(turns, days={"1": 1, "2": 1, "3": 50, "4": 1, "5": 1, "6": 1})  # a clock that was set back
    assert named(Rules(older_than="30d"), old) == ["s1", "s2", "s3"]  # what came before is as old


def test_an_end_without_a_snapshot_stands_on_the_one_before() -> None:
    tree = tree_of([*line(3), cell(4, snapshot="", status="killed")])
    assert named(Rules(keep_last=1), tree) == ["s1", "s2"]
    back = tree_of([*line(4), cell(5, snapshot="", status="killed", back_to=2)])
    assert "s2" not in named(Rules(older_than="0d"), tree_of([*line(4), cell(5, snapshot="", back_to=2)]))
    assert named(Rules(keep_last=1), back) == ["s1", "s3"]


def test_what_is_not_there_or_was_given_up_is_no_candidate() -> None:
    tree = tree_of(line(5))
    assert named(Rules(keep_last=1), tree, stored=["s2", "s4", "s5"]) == ["s2", "s4"]
    tree.steps[1] = replace(tree.steps[1], given_up=GivenUp.now("keep last 1"))
    assert named(Rules(keep_last=1), tree) == ["s1", "s3", "s4"]
    assert named(Rules(keep_last=1), tree, needed=["s3"]) == ["s1", "s4"]


def test_a_snapshot_of_several_steps_goes_only_when_all_may() -> None:
    same = [cell(1), cell(2), cell(3, snapshot="s2"), cell(4)]
    assert named(Rules(keep_last=2), tree_of(same)) == ["s1"]
    assert named(Rules(keep_last=1), tree_of(same)) == ["s1", "s2"]


def test_age_is_that_of_the_step_and_of_nothing_younger() -> None:
    tree = tree_of(line(4), days={"1": 40, "2": 31, "3": 29, "4": 1})
    assert named(Rules(older_than="30d"), tree) == ["s1", "s2"]
    # A fork does not know when its thread made what it began with: at least as long ago as what follows.
    forked = tree_of(line(4), days={"3": 31, "4": 1})
    assert named(Rules(older_than="30d"), forked) == ["s1", "s2", "s3"]


def test_without_any_time_nothing_is_old() -> None:
    assert named(Rules(older_than="30d"), tree_of(line(3))) == []


def test_a_budget_goes_over_threads_from_the_oldest_on() -> None:
    def of(thread: str, days: Sequence[float]) -> list[Candidate]:
        ages = {str(number): age for number, age in enumerate(days, 1)}
        return candidates(thread, tree_of(line(len(days)), days=ages), [f"s{n}" for n in range(1, 9)], NOW)

    every = sorted([*of("a", [9, 7, 5]), *of("b", [8, 6, 4])], key=lambda one: one.when)
    gone: list[tuple[str, str]] = []
    for one in chosen(every, lambda _: 100 - 10 * len(gone) > 70):
        gone.append((one.thread, one.snapshot))
    assert gone == [("a", "s1"), ("b", "s1"), ("a", "s2")]


def test_a_shared_snapshot_gives_room_only_once_nobody_needs_it() -> None:
    sizes = {"m1": 1, "m2": 1, "p": 10, "q": 20, "r": 40, "input": 80}
    store = StoredSnapshots(
        sizes, {"m1": {"p", "q"}, "m2": {"q", "r", "input"}}, {"m1": {"a", "b"}, "m2": {"a"}}, {"input"}
    )
    tried = store.copy()
    assert tried.give_up("a", "m1") == 0
    assert tried.give_up("b", "m1") == 11  # q is in m2, too
    assert tried.give_up("b", "m1") == 0
    assert tried.give_up("a", "m2") == 61  # what a thread names by itself stays
    assert store.give_up("a", "m2") == 41  # the copy was another one


@pytest.mark.parametrize(
    ("text", "size"), [("20GB", 20 * 10**9), ("500MB", 5 * 10**8), ("1.5 gb", 15 * 10**8), ("4GiB", 2**32), ("0B", 0)]
)
def test_sizes_are_written_as_people_do(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("30d", 2_592_000), ("12h", 43_200), ("90min", 5_400), ("2 w", 1_209_600), ("0.5d", 43_200)]
)
def test_ages_are_written_as_people_do(text: str, seconds: int) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "GB", "-1GB", "1e9B", "20 G B", "30d", "9" * 20 + "GB", "∞GB"])
def test_what_is_no_size_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is no size: write a number and its unit, such as 20GB"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1m", "20GB", "nan d"])
def test_what_is_no_age_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is no age: write a number and its unit, such as 30d"):
        parse_age(text)


def test_rules_are_looked_at_when_they_are_made() -> None:
    with pytest.raises(ValueError, match="no age"):
        Rules(older_than="soon")
    with pytest.raises(ValueError, match="no size"):
        Rules(budget="much")
    with pytest.raises(ValueError, match="more than a hundred years"):
        Rules(older_than="9000w")
    with pytest.raises(ValueError, match="at least 1"):
        Rules(keep_last=-1)


def test_a_session_that_may_hold_more_than_its_snapshots_is_left_alone_for_a_day() -> None:
    def holds(days: float, *cells: Cell) -> bool:
        return holds_more_than_snapshots(tree_of(cells, days={str(len(cells)): days}), NOW)

    lost = cell(2)
    lost["lost"] = [LostName(name="it", type="generator", reason="")]
    assert holds(0.5, cell(1), lost)
    assert not holds(1.5, cell(1), lost)
    assert holds(0.5, cell(1), cell(2, snapshot=""))
    assert not holds(0.5, cell(1), cell(2))
    assert not holds(0.5, lost, cell(3))
