"""What an operator allows of the network: nothing, some domains, or every public address."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, get_args

import idna

Mode = Literal["none", "allowlist", "full"]
"""`none`: nothing can be reached. `allowlist`: the named domains. `full`: every public address; never a private one."""

WEB_PORTS = (80, 443)
"""What an entry without a port allows."""
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
MAX_NAME = 253
MAX_DOMAINS = 1_000


class NetworkError(ValueError):
    """The operator's network policy is wrong; the message says in one sentence what to write instead."""


@dataclass(frozen=True, slots=True)
class Domain:
    """One entry of an allow list."""

    name: str
    """In lower case, in ASCII (IDNA 2008), without a dot at its end."""
    below: bool = False
    """Whether it stands for all names below `name`, at any depth, and not for `name` itself."""
    port: int = 0
    """The only port; 0: 80 and 443."""

    def __str__(self) -> str:
        """As it is written in a list."""
        return f"{'*.' if self.below else ''}{self.name}{f':{self.port}' if self.port else ''}"

    def allows(self, host: str, port: int) -> bool:
        """Whether it allows this port of this host; the host as `host_name` returns it."""
        if port not in ((self.port,) if self.port else WEB_PORTS):
            return False
        return host.endswith(f".{self.name}") if self.below else host == self.name


@dataclass(frozen=True, slots=True)
class Network:
    """What a sandbox may reach. Without arguments: nothing.

    Raises:
        NetworkError: there is no such mode, or an allow list without domains.
    """

    mode: Mode = "none"
    allowed: tuple[Domain, ...] = ()
    """The domains of mode `allowlist`; none in the others."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise NetworkError(f"{self.mode!r} is not a network mode; there are: none, allowlist, full")
        if self.mode == "allowlist" and not self.allowed:
            raise NetworkError(
                "an allow list needs at least one domain, such as pypi.org (--allow-domain or STEPWELL_NETWORK_ALLOW)"
            )
        if self.mode != "allowlist" and self.allowed:
            raise NetworkError(f"domains are allowed in mode allowlist only, not in mode {self.mode}")

    @classmethod
    def only(cls, *domains: str) -> Self:
        """A network of these domains: `example.org`, `*.example.org` (all names below it), `example.org:8443`.

        Raises:
            NetworkError: one of them is not a domain, or there is none.
        """
        return cls("allowlist", parse_domains(domains))

    def allows(self, host: str, port: int) -> bool:
        """Whether this port of this host may be reached by name; its addresses are checked elsewhere.

        Args:
            host: A name as `host_name` gives it, or an address.
            port: The port.
        """
        return self.mode == "full" or any(domain.allows(host, port) for domain in self.allowed)


NO_NETWORK = Network()


def parse_domains(entries: Iterable[str]) -> tuple[Domain, ...]:
    """Read the entries of an allow list; each may be several with commas between them.

    Raises:
        NetworkError: one cannot be read, or there are too many.
    """
    parts = [part.strip() for entry in entries for part in entry.split(",")]
    found = tuple(dict.fromkeys(_parse(part) for part in parts if part))
    if len(found) > MAX_DOMAINS:
        raise NetworkError(f"an allow list may have {MAX_DOMAINS:,} domains; there are {len(found):,}")
    return found


def _parse(entry: str) -> Domain:
    rest, port = entry, 0
    if "://" in rest or "/" in rest or "@" in rest or "[" in rest:
        raise NetworkError(f"{entry!r} is not a domain; give the name alone, such as example.org or *.example.org")
    rest, colon, digits = rest.partition(":")
    if colon:
        if not re.fullmatch(r"[0-9]{1,5}", digits) or not 1 <= int(digits) <= 65_535:
            raise NetworkError(f"{entry!r} has no port that there can be; give one from 1 to 65535, or none")
        port = int(digits)
    below = rest.startswith("*.")
    if rest == "*" or (below and "." not in rest[2:].strip(".")):
        raise NetworkError(
            f"{entry!r} would allow too much; name the domain, such as *.example.org, or use the network mode full"
        )
    try:
        name = host_name(_in_ascii(rest[2:] if below else rest))
    except ValueError:
        raise NetworkError(
            f"{entry!r} is not a domain; write a name, such as example.org, *.example.org or example.org:8443"
        ) from None
    return Domain(name, below, port)


def _in_ascii(name: str) -> str:
    """A name as DNS takes it.

    Raises:
        ValueError: it is not one.
    """
    if name.isascii():
        return name
    return idna.encode(name, uts46=True).decode("ascii")


def host_name(host: str) -> str:
    """A name in the one form in which names are compared: lower case, no dot at its end.

    Raises:
        ValueError: it is not the name of a host; every kind of number that some resolver takes for an address
            (`127.1`, `0x7f.0.0.1`, `2130706433`) is none.
    """
    name = host.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_NAME or not all(LABEL.fullmatch(label) for label in labels):
        raise ValueError("not the name of a host")
    if NUMBER.fullmatch(labels[-1]):
        raise ValueError("an address, or something that may be taken for one")
    return name
