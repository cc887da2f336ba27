"""Settings come from the environment and `.env`; a mistake is one sentence that names the variable."""

from pathlib import Path

import pytest

from graph.env_files import TrustedFolders, home_folder, read_env_file
from graph.settings import SettingsError, read_settings
from sandboxes.network import Network


def trust() -> None:
    file = read_env_file(Path())
    assert file is not None
    TrustedFolders(home_folder()).add(file)


def test_settings_come_from_the_environment_and_the_env_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("STEPWELL_MODEL=from-file\nOPENAI_API_KEY=sk-secret\nANTHROPIC_API_KEY=other\n")
    monkeypatch.setenv("STEPWELL_PRICES", "2.5, 10")
    monkeypatch.setenv("HOME", str(Path.cwd()))
    monkeypatch.setenv("STEPWELL_HOME", "~/somewhere")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "STEPWELL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    trust()
    settings = read_settings()
    assert settings.model == "from-file"
    assert settings.openai_api_key.get_secret_value() == "sk-secret"
    assert settings.price_list is not None
    assert settings.price_list.cost(1_000_000, 500_000) == 7.5
    assert settings.home == Path.home() / "somewhere"
    assert "sk-secret" not in repr(settings)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "STEPWELL_MODEL"):
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STEPWELL_PRICES", "cheap"),
        ("STEPWELL_PRICES", "1,2,3"),
        ("STEPWELL_MODEL_TIMEOUT", "-1"),
        ("STEPWELL_MODEL_RETRIES", "many"),
        ("STEPWELL_MODLE", "gpt"),
        ("STEPWELL_NETWORK", "some"),
        ("STEPWELL_NETWORK_ALLOW", "https://example.org/"),
    ],
)
def test_a_mistake_is_one_sentence(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as failure:
        read_settings()
    assert variable in str(failure.value)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"STEPWELL_HOME=~nobody-of-that-name/x\n", "folder is not known"),
        (b"STEPWELL_PRICES=a,b\n", "two prices"),
        (b"STEPWELL_PRICES=nan,1\n", "two prices"),
    ],
)
def test_an_env_file_that_cannot_be_used_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(Path.cwd()))
    for name in ("STEPWELL_PRICES", "STEPWELL_HOME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    Path(".env").write_bytes(content)
    trust()
    with pytest.raises(SettingsError, match=words):
        read_settings()


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    default = read_settings().home
    monkeypatch.setenv("STEPWELL_TEMPERATURE", "")
    assert read_settings().temperature is None
    assert read_settings().home == default


def test_an_allow_list_without_domains_is_a_mistake_that_names_the_variable_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STEPWELL_NETWORK", "allowlist")
    with pytest.raises(SettingsError, match="STEPWELL_NETWORK_ALLOW cannot be used: an allow list needs"):
        read_settings()
    monkeypatch.setenv("STEPWELL_NETWORK_ALLOW", "pypi.org, *.Example.org")
    network = read_settings().network_rules
    assert network == Network.only("pypi.org", "*.example.org")
    monkeypatch.setenv("STEPWELL_NETWORK", "none")
    assert read_settings().network_rules == Network()


def test_a_network_that_is_given_goes_before_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_NETWORK", "full")
    settings = read_settings()
    assert settings.with_network(None).network_rules == Network("full")
    assert settings.with_network(Network()).network_rules == Network()
    only = Network.only("a.example.org:81", "*.example.org")
    assert settings.with_network(only).network_rules == only


def test_a_misspelt_setting_is_told_the_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_MODLE", "gpt")
    with pytest.raises(
        SettingsError, match=r"^STEPWELL_MODLE is not a setting of Stepwell; did you mean STEPWELL_MODEL\?$"
    ):
        read_settings()
    monkeypatch.delenv("STEPWELL_MODLE")
    monkeypatch.setenv("STEPWELL_QWXZ", "1")
    with pytest.raises(SettingsError, match=r"known are: .*STEPWELL_MODEL"):
        read_settings()


def test_steps_are_proved_and_kept_in_memory_unless_somebody_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEPWELL_PROOF_SHARE")
    assert (read_settings().proof_share, read_settings().proof_mb, read_settings().kept_copies) == (0.1, 1_000, 2)
    monkeypatch.setenv("STEPWELL_PROOF_SHARE", "1.5")
    with pytest.raises(SettingsError, match="STEPWELL_PROOF_SHARE"):
        read_settings()
