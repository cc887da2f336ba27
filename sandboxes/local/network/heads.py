"""Reads the head of a request to the proxy, strictly: what two programs could read in two ways is refused."""

import re
from dataclasses import dataclass

from sandboxes.local.network.addresses import written_address
from sandboxes.network import host_name

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
TARGET = re.compile(r"[\x21-\x7e]+")
PORT = re.compile(r"[0-9]{1,5}")
LENGTH = re.compile(r"[0-9]{1,18}")
MAX_HEADERS = 200
HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade"}
)  # fmt: skip
"""Headers for the next hop only (RFC 9110, section 7.6.1), with the older ones that are still about."""
FRAMING = frozenset({"host", "content-length", "transfer-encoding"})
"""Headers that this proxy writes itself: no `Connection` header can take them away."""

Headers = list[tuple[str, str]]


class BadRequestError(Exception):
    """A request that cannot be passed on; the message says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request."""

    method: str
    host: str
    """A name, in lower case and without a dot at its end, or an address."""
    port: int
    target: str = ""
    """What is asked of the host: path and query; empty for a tunnel."""
    version: str = "HTTP/1.1"
    headers: tuple[tuple[str, str], ...] = ()
    """Those that go on."""
    length: int | None = 0
    """Bytes of its body; None: it comes in chunks."""

    @property
    def tunnel(self) -> bool:
        """Whether bytes are passed on both ways without being looked at."""
        return self.method == "CONNECT"

    @property
    def authority(self) -> str:
        """Host and port as they stand in a `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 and not self.tunnel else f"{host}:{self.port}"

    def head(self) -> bytes:
        """The head as it goes to the host: its own `Host`, and nothing that was meant for the proxy."""
        headers = [("Host", self.authority), *self.headers]
        if self.length is None:
            headers.append(("Transfer-Encoding", "chunked"))
        elif self.length or self.method in ("POST", "PUT", "PATCH"):
            headers.append(("Content-Length", str(self.length)))
        return written(f"{self.method} {self.target} {self.version}", [*headers, ("Connection", "close")])


def read_request(head: bytes) -> Request:
    """Read the head of a request, up to and with its empty line.

    Raises:
        BadRequestError: it is not one that a proxy passes on.
    """
    first, headers = read_head(head)
    parts = first.split(" ")
    if len(parts) != 3 or not TOKEN.fullmatch(parts[0]) or not TARGET.fullmatch(parts[1]):
        raise BadRequestError("the first line is not that of a request")
    method, target, version = parts
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequestError("only HTTP/1.1 and HTTP/1.0 are spoken here")
    if method == "CONNECT":
        host, port = _authority(target, 0)
        if not port:
            raise BadRequestError("a tunnel needs a port, such as example.org:443")
        _check_host(headers, host, port, tunnel=True)
        return Request(method, host, port, version=version)
    scheme, found, rest = target.partition("://")
    if not found or scheme.lower() != "http":
        raise BadRequestError("this is a proxy: it takes http:// addresses in full, and CONNECT for everything else")
    cut = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    host, port = _authority(rest[:cut], 80)
    _check_host(headers, host, port, tunnel=False)
    path = rest[cut:].partition("#")[0]
    if not path.startswith("/"):
        path = "*" if method == "OPTIONS" and not path else f"/{path}"
    named = {name for name in passing_names(headers) if name not in FRAMING}
    kept = [(name, value) for name, value in headers if name.lower() not in HOP_BY_HOP | FRAMING | named]
    return Request(method, host, port, path, version, tuple(kept), _length(headers, version))


def read_head(head: bytes) -> tuple[str, Headers]:
    """The first line of a head and its headers.

    Raises:
        BadRequestError: a line of it is not in order.
    """
    lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    if any("\r" in line or "\n" in line or "\0" in line for line in lines):
        raise BadRequestError("its lines do not end with CR LF")
    if len(lines) > MAX_HEADERS + 1:
        raise BadRequestError(f"it has more than {MAX_HEADERS} headers")
    headers: Headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
            raise BadRequestError("one of its headers is not one")
        headers.append((name, value.strip(" \t")))
    return lines[0], headers


def passing_names(headers: Headers) -> set[str]:
    """The headers that the `Connection` header says are for this hop only, in lower case."""
    lists = [value for name, value in headers if name.lower() == "connection"]
    return {one.strip().lower() for value in lists for one in value.split(",")}


def written(first: str, headers: Headers) -> bytes:
    """A head as bytes."""
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _authority(text: str, port: int) -> tuple[str, int]:
    """Host and port of `host`, `host:port`; an address is given as an address."""
    if "@" in text or "\\" in text or "%" in text:
        raise BadRequestError("a host has no user, no backslash and no percent sign in it")
    host, colon, digits = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host = text
    elif not PORT.fullmatch(digits) or not 1 <= int(digits) <= 65_535:
        raise BadRequestError("its port is none")
    else:
        port = int(digits)
    if address := written_address(host):
        return address, port
    try:
        return host_name(host), port
    except ValueError as error:
        raise BadRequestError(f"its host is {error}") from None


def _check_host(headers: Headers, host: str, port: int, *, tunnel: bool) -> None:
    """A `Host` header must name the host of the first line: a program behind us may go by either of them."""
    given = [value for name, value in headers if name.lower() == "host"]
    if len(given) > 1:
        raise BadRequestError("it has more than one Host header")
    if given and _authority(given[0], port if tunnel else 80) != (host, port):
        raise BadRequestError("its Host header names another host than its first line")


def _length(headers: Headers, version: str) -> int | None:
    """How the end of the body is known; both ways at once, or two lengths, are how requests are smuggled."""
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    codings = [value.lower() for name, value in headers if name.lower() == "transfer-encoding"]
    if codings:
        if codings != ["chunked"] or lengths or version == "HTTP/1.0":
            raise BadRequestError("the length of its body is not clear")
        return None
    if len(lengths) > 1 or (lengths and not LENGTH.fullmatch(lengths[0])):
        raise BadRequestError("the length of its body is not clear")
    return int(lengths[0]) if lengths else 0
