"""Decisions in LangChain's shape are read as our own, and what is neither decides nothing."""

from typing import Any

import pytest
from pydantic import ValidationError

from nodes.approve import CallDecision, Decision, PlanDecision


def decisions(*given: Any) -> dict[str, Any]:
    return {"decisions": list(given)}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"verdict": "approve"}, Decision(verdict="approve")),
        (decisions({"type": "approve"}), Decision(verdict="approve")),
        (decisions({"type": "reject", "message": "No."}), Decision(verdict="reject", remark="No.")),
        (decisions({"type": "reject"}), Decision(verdict="reject")),
        (
            decisions({"type": "edit", "edited_action": {"name": "run_python", "args": {"code": "x = 1"}}}),
            Decision(verdict="edit", code="x = 1"),
        ),
        (
            decisions({"type": "edit", "edited_action": {"name": "follow_plan", "args": {"plan": "Look\nCount"}}}),
            PlanDecision(verdict="edit", plan="Look\nCount"),
        ),
        (
            decisions({"type": "edit", "edited_action": {"args": {"verdict": "approve", "call": "c1"}}}),
            CallDecision(verdict="approve", call="c1"),
        ),
    ],
)
def test_both_shapes_are_read(given: Any, read: Decision | PlanDecision | CallDecision) -> None:
    assert type(read).model_validate(given) == read


@pytest.mark.parametrize(
    "given",
    [
        decisions(),
        decisions({"type": "approve"}, {"type": "approve"}),
        decisions("approve"),
        decisions({"type": "accept"}),
        decisions({"type": "edit"}),
        decisions({"type": "edit", "edited_action": {"args": "x = 1"}}),
        decisions({"type": "edit", "edited_action": {"args": {"code": 5}}}),
        {"decisions": {"type": "approve"}},
        decisions({}),
        "approve",
        None,
    ],
)
def test_what_is_no_decision_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        Decision.model_validate(given)


@pytest.mark.parametrize("verdict", ["undecided", "", None, "edit"])
def test_a_call_is_not_made_by_an_edit_that_leaves_it_undecided(verdict: Any) -> None:
    with pytest.raises(ValidationError):
        CallDecision.model_validate(decisions({"type": "edit", "edited_action": {"args": {"verdict": verdict}}}))


def test_an_approval_without_a_name_names_no_call() -> None:
    """The node asks again then."""
    assert CallDecision.model_validate(decisions({"type": "approve"})).call == ""


def test_a_form_shows_our_own_fields_alone() -> None:
    assert set(Decision.model_json_schema()["properties"]) == {"verdict", "code", "remark"}
