"""The user's settings file: written for its owner alone, shown with its origins, refused where it cannot be trusted."""

from pathlib import Path

import pytest

from graph.env_files import home_folder
from graph.settings import SettingsError, read_settings
from graph.settings_file import full_name, set_variable, set_variables, unset_variable, user_file
from stepwell.cli import user_settings


@pytest.fixture(autouse=True)
def environment_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file puts into the environment of this process is gone after a test."""
    for name in ("STEPWELL_MODEL", "OPENAI_API_KEY", "STEPWELL_PRICES"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def origin_of(name: str) -> tuple[str, str]:
    return next((one.value, one.origin) for one in set_variables() if one.name == name)


def test_a_value_is_kept_for_its_owner_alone_and_other_lines_stay() -> None:
    home_folder().mkdir()
    user_file().write_text("# mine\nSTEPWELL_PRICES=1,2\nSTEPWELL_MODEL=old")
    assert set_variable("model", "it's a \\ name") == "STEPWELL_MODEL"
    assert user_file().stat().st_mode & 0o777 == 0o600
    assert user_file().read_text().startswith("# mine\nSTEPWELL_PRICES=1,2\n")
    assert origin_of("STEPWELL_MODEL") == ("it's a \\ name", str(user_file()))
    assert read_settings().model == "it's a \\ name"


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    set_variable("STEPWELL_MODEL", "mine")
    monkeypatch.setenv("STEPWELL_MODEL", "named")
    assert origin_of("STEPWELL_MODEL") == ("named", "environment")
    assert unset_variable("model") == ("STEPWELL_MODEL", True)
    assert unset_variable("model") == ("STEPWELL_MODEL", False)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("modle", "x", "did you mean STEPWELL_MODEL"),
        ("prices", "dear", "two prices"),
        ("model_timeout", "-1", "STEPWELL_MODEL_TIMEOUT cannot be used"),
        ("home", "/tmp", "set it in the environment"),
        ("model", "a\nb", "cannot be kept"),
        ("model", "${PATH}", "cannot be kept"),
    ],
)
def test_what_cannot_be_set_is_one_sentence_and_changes_nothing(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as raised:
        set_variable(name, value)
    assert "\n" not in str(raised.value)
    assert not user_file().exists()


def test_names_may_be_short_and_vendors_keys_are_known() -> None:
    assert [full_name(name) for name in ("max-sandboxes", "openai_api_key", "ANTHROPIC_API_KEY")] == [
        "STEPWELL_MAX_SANDBOXES",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
    ]


def test_a_file_that_everybody_can_write_or_nobody_can_understand_is_refused() -> None:
    set_variable("model", "mine")
    user_file().chmod(0o602)
    with pytest.raises(SettingsError, match="Everybody on this machine can write"):
        read_settings()
    user_file().chmod(0o600)
    user_file().write_text("STEPWELL_MODEL=mine\n= what\n")
    with pytest.raises(SettingsError, match=r"Line 2 of .* is not NAME=VALUE"):
        read_settings()


def test_keys_are_not_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    set_variable("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:sk-very-secret@proxy")
    assert user_settings.show(as_json=False) == 0
    said = capsys.readouterr()
    assert f"OPENAI_API_KEY\t(set, not shown)\t{user_file()}\n" in said.out
    assert "secret" not in said.out + said.err
    user_settings.path()
    assert Path(capsys.readouterr().out.strip()) == user_file()
