"""What the command line says of the network, and what the model is told of it."""

import pytest

from nodes.prompts.instructions import network_text
from sandboxes.network import Network
from stepwell.cli.command_options import NetworkChoice
from stepwell.cli.run import Choices
from stepwell.errors import UsageError


@pytest.mark.parametrize(
    ("choice", "network"),
    [
        (NetworkChoice(), Network("full")),
        (NetworkChoice("none"), Network()),
        (NetworkChoice("", ("example.org",)), Network.only("example.org")),
        (NetworkChoice("allowlist", ("example.org", "a.test:81")), Network.only("example.org", "a.test:81")),
        (NetworkChoice("allowlist"), Network.only("kept.example.org")),
    ],
)
def test_options_go_before_the_settings(
    monkeypatch: pytest.MonkeyPatch, choice: NetworkChoice, network: Network
) -> None:
    monkeypatch.setenv("STEPWELL_NETWORK", "full")
    monkeypatch.setenv("STEPWELL_NETWORK_ALLOW", "kept.example.org")
    assert Choices(network=choice).settings().network_rules == network


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (NetworkChoice("some"), "none, allowlist, full"),
        (NetworkChoice("full", ("example.org",)), "--allow-domain goes with --network allowlist"),
        (NetworkChoice("", ("https://example.org",)), "--allow-domain: 'https://example.org' is not a domain"),
    ],
)
def test_a_wrong_option_is_one_sentence(choice: NetworkChoice, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choice.settings()


def test_the_options_are_given_again_to_the_command_that_goes_on() -> None:
    choice = NetworkChoice("allowlist", ("a.test", "b.test"))
    assert choice.options() == ("--network", "allowlist", "--allow-domain", "a.test", "--allow-domain", "b.test")


def test_the_model_is_told_what_it_may_reach() -> None:
    assert "Do not use the network" in network_text(Network())
    told = network_text(Network.only("example.org", "*.data.test:81"))
    assert "only these domains" in told
    assert "example.org, *.data.test:81." in told
    assert '"-m", "pip"' not in told
    assert '"-m", "pip"' in network_text(Network.only("pypi.org", "files.pythonhosted.org"))
    assert '"-m", "pip"' in network_text(Network("full"))
    long = network_text(Network.only(*(f"a{number}.test" for number in range(90))))
    assert "a29.test, and 60 more." in long
