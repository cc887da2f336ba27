"""What an operator writes about the network is read in one way, or refused with one sentence."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.local.network.resolver import is_public, written_address
from sandboxes.network import Network, NetworkError, host_name, parse_domains


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "notexample.org", 443, False),
        ("example.org", "example.org.evil.test", 443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "aexample.org", 443, False),
        ("*.example.org:81", "a.example.org", 81, True),
        ("EXAMPLE.Org.", "example.org", 443, True),
        ("bücher.example", "xn--bcher-kva.example", 443, True),
        ("BÜCHER.example", "xn--bcher-kva.example", 443, True),
        ("例え.jp", "xn--r8jz45g.jp", 443, True),
        ("straße.example", "strasse.example", 443, False),
        ("my_service.example.org", "my_service.example.org", 443, True),
    ],
)
def test_an_entry_stands_for_what_it_says_and_no_more(entry: str, host: str, port: int, allowed: bool) -> None:
    assert Network.only(entry).allows(host, port) is allowed


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("https://example.org/x", "name alone"),
        ("example.org/x", "name alone"),
        ("user@example.org", "name alone"),
        ("[::1]:80", "name alone"),
        ("example.org:0", "1 to 65535"),
        ("example.org:99999", "1 to 65535"),
        ("example.org:http", "1 to 65535"),
        ("::1", "1 to 65535"),
        ("*", "too much"),
        ("*.org", "too much"),
        ("*.", "too much"),
        ("a.*.org", "not a domain"),
        ("10.0.0.1", "not a domain"),
        ("0x7f.1", "not a domain"),
        ("2130706433", "not a domain"),
        ("exa mple.org", "not a domain"),
        ("-example.org", "not a domain"),
        ("a..b", "not a domain"),
        (f"{'a' * 64}.org", "not a domain"),
        ("\u200dx.org", "not a domain"),
    ],
)
def test_a_wrong_entry_is_named_in_one_sentence(entry: str, words: str) -> None:
    with pytest.raises(NetworkError, match=words) as failure:
        Network.only(entry)
    assert repr(entry) in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_list_may_be_written_with_commas_and_names_nothing_twice() -> None:
    found = parse_domains(["pypi.org, *.example.org:81", "PYPI.org", ""])
    assert [str(domain) for domain in found] == ["pypi.org", "*.example.org:81"]


def test_an_allow_list_without_domains_and_domains_without_one_are_mistakes() -> None:
    with pytest.raises(NetworkError, match="at least one domain"):
        Network.only()
    with pytest.raises(NetworkError, match="mode allowlist only"):
        Network("full", parse_domains(["example.org"]))
    with pytest.raises(NetworkError, match="none, allowlist, full"):
        Network("some")  # type: ignore[arg-type]


def test_without_arguments_nothing_is_allowed() -> None:
    assert Network() == Network("none")
    assert not Network().allows("example.org", 443)
    assert Network("full").allows("example.org", 25)


@pytest.mark.parametrize(
    "text",
    [
        "127.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.0x1",
        "1.2.3.4",
        "",
        ".",
        "a b",
        "a\n",
        "ａ.org",
        "a.1",
    ],
)
def test_what_a_resolver_may_take_for_an_address_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"name|address"):
        host_name(text)


@given(st.text(max_size=40))
def test_a_name_is_the_same_when_it_is_read_again(text: str) -> None:
    try:
        name = host_name(text)
    except ValueError:
        return
    assert host_name(name) == name == name.lower()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "198.18.0.1", "203.0.113.7", "192.88.99.1",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
        "64:ff9b:1::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2002:7f00:1::",
        "2001:0:53aa::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "fec0::1", "2606:4700::1%eth0",
    ],
)  # fmt: skip
def test_an_address_that_is_not_of_the_open_network_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "1.1.1.1", "2606:2800:21f:cb07::1", "2a00:1450::1"])
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_what_python_knows_to_be_special_is_never_public(address: ipaddress.IPv4Address) -> None:
    special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
    )
    if special:
        assert not is_public(str(address))


def test_only_an_address_in_full_is_read_as_one() -> None:
    assert written_address("93.184.216.34") == "93.184.216.34"
    assert written_address("[2001:DB8::0:7]") == "2001:db8::7"
    for text in ("127.1", "0177.0.0.1", "1.2.3.4.5", "2001:db8::7", "[1.2.3.4]", "example.org"):
        assert written_address(text) == ""
