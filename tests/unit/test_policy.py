"""What users of a server may ask for: the operator's file, the bounds of all knobs, and who is different."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from graph.context import Context, KnobError, parse_context
from graph.settings import Settings, SettingsError
from graph.users.policy import MAX_POLICY_BYTES, Policy, PolicyFile, RunLimits, read_policy

WITH_USERS: dict[str, Any] = {"oidc_issuer": "https://login.example.org/", "oidc_audience": "stepwell"}
TEXTS = {
    "approve_plan",
    "review",
    "model",
    "tool_calling",
    "instructions",
    "review_instructions",
    "sandbox",
    "approval",
    "language",
    "ui",
}
NUMBERS = sorted(set(Context.model_fields) - TEXTS)


def policy_of(text: str = "", **settings: Any) -> Policy:
    Path("policy.toml").write_text(text)
    policy = read_policy(Settings(policy=Path("policy.toml"), **settings))
    assert policy is not None
    return policy


def test_without_users_and_without_a_file_there_is_none() -> None:
    assert read_policy(Settings()) is None


def test_each_number_has_a_bound_and_the_defaults_are_within() -> None:
    assert sorted(set(RunLimits.model_fields) - {"models", "sandboxes"}) == NUMBERS
    policy = read_policy(Settings(**WITH_USERS))
    assert policy is not None
    held = policy.of("key:anybody").knobs({})
    assert held.max_tokens == 5_000_000
    assert held.model_copy(update={"max_tokens": 0}) == Context()


@pytest.mark.parametrize("knob", NUMBERS)
def test_a_value_above_the_bound_is_refused_in_one_sentence(knob: str) -> None:
    allowance = policy_of("[limits]\nmax_cost = 5\nmax_reviews = 4", prices="1,2").of("key:bob")
    most = getattr(allowance.limits, knob)
    assert getattr(allowance.knobs({knob: most}), knob) == most
    with pytest.raises(KnobError) as refusal:
        allowance.knobs({knob: most + 1})
    said = str(refusal.value)
    assert said == f"{knob} is {most + 1:,.12g}, and at most {most:,.12g} is allowed here; the operator sets that."


@pytest.mark.parametrize("knob", NUMBERS)
def test_a_text_is_never_taken_for_a_number(knob: str) -> None:
    for wrong in ("many", [1], {"a": 1}):
        with pytest.raises(KnobError, match=f"^{knob} cannot be ") as refusal:
            parse_context({knob: wrong})
        assert "\n" not in str(refusal.value)
        assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"aproval": "cells"}, "There is no knob 'aproval'; did you mean approval?"),
        ({"zzz": 1}, "There is no knob 'zzz'; there are model, "),
        ({"approval": "always"}, "approval cannot be 'always': it has to be 'none' or 'cells'."),
        ({"instructions": "x" * 20_001}, "instructions cannot be 'xxx"),
        ({"language": "x" * 101}, "language cannot be 'xxx"),
        (["approval"], "has to be an object"),
        ({"cell_timeout": float("inf")}, "cell_timeout cannot be inf"),
    ],
)
def test_what_is_no_knob_is_refused_in_one_sentence(given: Any, words: str) -> None:
    with pytest.raises(KnobError) as refusal:
        parse_context(given)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "pydantic" not in str(refusal.value)


def test_a_form_that_sends_all_defaults_gets_what_may_be_had() -> None:
    allowance = policy_of("[limits]\ncell_timeout = 60\nmax_cells = 10\nmax_tokens = 1000").of("key:bob")
    held = allowance.knobs(Context().model_dump())
    assert (held.cell_timeout, held.max_cells, held.max_tokens) == (60, 10, 1000)
    assert allowance.knobs({"approval": "cells"}).approval == "cells"


@pytest.mark.parametrize(
    ("limits", "model", "allowed"),
    [
        ("", "", {"": True, "playbook": True, "gpt-5.4": False, "langsmith:x": False}),
        ("", "gpt-5.4", {"": True, "playbook": True, "gpt-5.4": True, "openai:gpt-5.4": True, "gpt-5.4-pro": False}),
        ("models = ['gpt-5.4*', 'anthropic:*']", "", {"gpt-5.4-pro": True, "anthropic:x": True, "o9": False}),
    ],
)
def test_models_are_the_operators_choice(limits: str, model: str, allowed: dict[str, bool]) -> None:
    allowance = policy_of(f"[limits]\n{limits}", model=model).of("key:bob")
    for name, may in allowed.items():
        if may:
            assert allowance.knobs({"model": name}).model == name
        else:
            with pytest.raises(KnobError, match=r"^model is "):
                allowance.knobs({"model": name})


def test_sandboxes_are_those_that_are_configured_or_listed() -> None:
    with pytest.raises(KnobError, match="only local may be used"):
        policy_of().of("key:bob").knobs({"sandbox": "daytona"})
    assert policy_of(daytona_api_key="k").of("key:bob").knobs({"sandbox": "daytona"}).sandbox == "daytona"
    listed = policy_of("[limits]\nsandboxes = ['daytona']", daytona_api_key="k").of("key:bob")
    with pytest.raises(KnobError, match="only daytona may be used"):
        listed.knobs({})


def test_one_user_may_have_other_limits_than_the_rest() -> None:
    policy = policy_of(
        "[limits]\ncell_timeout = 60\n[quotas]\nruns = 2\n"
        "[users.'key:alice'.limits]\ncell_timeout = 7200\n[users.'key:alice'.quotas]\nsandboxes = 9\n"
    )
    assert policy.of("key:alice").knobs({"cell_timeout": 7200}).cell_timeout == 7200
    assert (policy.of("key:alice").quotas.runs, policy.of("key:alice").quotas.sandboxes) == (2, 9)
    with pytest.raises(KnobError):
        policy.of("key:bob").knobs({"cell_timeout": 61})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\ncell_timeuot = 5", "limits.cell_timeuot is not known"),
        ("[limits]\ncell_timeout = 'long'", "limits.cell_timeout cannot be used"),
        ("[limits]\ncell_timeout = inf", "limits.cell_timeout cannot be used"),
        ("[limits]\nmax_cells = 0", "limits.max_cells cannot be used"),
        ("[quotas]\nruns = 1.5", "quotas.runs cannot be used"),
        ("[users.bob.limits]\nmax_cell = 5", "users.bob.limits.max_cell is not known"),
        ("[users.bob.quotas]\nruns = 0", "users.bob.quotas.runs cannot be used"),
        ("[limit]\n", "limit is not known"),
        ("limits = ", "is not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as mistake:
        policy_of(text)
    assert str(mistake.value).startswith("STEPWELL_POLICY: ")
    assert words in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_a_file_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_policy(Settings(policy=Path("nowhere.toml")))


def test_the_documents_show_the_defaults() -> None:
    text = (Path(__file__).parents[2] / "docs/deployment.md").read_text()
    block = text.partition("### Limits and quotas")[2].partition("```toml\n")[2].partition("```")[0]
    said = tomllib.loads(block)
    assert set(said.pop("users")) == {"key:alice"}
    document = PolicyFile()
    assert said == {
        name: {key: list(value) if isinstance(value, tuple) else value for key, value in part.model_dump().items()}
        for name, part in (("limits", document.limits), ("quotas", document.quotas), ("bodies", document.bodies))
    }


@pytest.mark.parametrize(
    "text",
    [
        "[limits]\nmax_cost = 1.5",
        "[quotas]\ncost_a_day = 1.5",
        '[users."key:bob".limits]\nmax_cost = 1.5',
        '[users."key:bob".quotas]\ncost_a_day = 1.5',
    ],
)
def test_a_limit_of_money_needs_prices(text: str) -> None:
    with pytest.raises(SettingsError, match="STEPWELL_PRICES"):
        policy_of(text)
    policy_of(text, prices="1,2")


def test_no_part_of_a_long_file_is_left_out() -> None:
    line = '[users."key:bob".limits]\nmax_cells = 3\n'
    assert policy_of("#\n" * ((MAX_POLICY_BYTES - len(line)) // 2) + line).of("key:bob").limits.max_cells == 3
    with pytest.raises(SettingsError, match="larger than 1,000,000 bytes"):
        policy_of("#\n" * (MAX_POLICY_BYTES // 2) + line)
