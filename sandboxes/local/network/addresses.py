"""Which addresses are public. Everything else (this machine, its network, a cloud's metadata) is never reached.

After the IANA registries of special-purpose addresses (RFC 6890 and its updates). Addresses that carry another within
them (IPv4-mapped, NAT64, 6to4, Teredo) are refused whole: what is behind them depends on the machine.
"""

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

REFUSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network; 0.0.0.0 reaches this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and metadata of some clouds
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host
        "169.254.0.0/16",  # link-local: metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
        "2001::/23",  # Teredo and other protocols' own
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""All of IPv6 that is given to anybody; outside of it are loopback, mapped IPv4, NAT64, private and link-local."""


def is_public(address: str) -> bool:
    """Whether an address is one of the open network.

    Raises:
        ValueError: it is not an address.
    """
    found: Address = ipaddress.ip_address(address)
    if found.version == 6 and (found not in GLOBAL_UNICAST or "%" in address):
        return False
    return found.is_global and not any(found in network for network in REFUSED if network.version == found.version)


def written_address(text: str) -> str:
    """An address that stands in the place of a name: `192.0.2.7`, `[2001:db8::7]`.

    Returns:
        It in its usual form; empty when it is not one in full (four decimal numbers, or IPv6 in brackets).
    """
    try:
        if text.startswith("[") and text.endswith("]"):
            return str(ipaddress.IPv6Address(text[1:-1]))
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        return ""
