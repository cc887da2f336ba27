"""Reads the heads of requests and replies, strictly: what two programs could read in two ways is refused.

The grammar and the framing of bodies are h11's. It is lenient where clients and servers are sloppy; a proxy that guards
a network must not be. So what h11 would repair or let pass (bare LF, folded lines, control characters, repeated
lengths, a length beside a transfer coding, other versions) is refused here.
"""

import re
from dataclasses import dataclass

import h11

from sandboxes.local.network.resolver import written_address
from sandboxes.network import host_name

MAX_HEADERS = 200
LINES = re.compile(rb"[\t\x20-\x7e\x80-\xff]+\r\n(?:[!-9;-~]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n")
"""Lines that end with CR LF, have no control characters, and are not folded."""
FIRST_LINE = re.compile(rb"([^ \r\n]+) ([^ \r\n]+) HTTP/1\.[01]\r\n")
HOST = re.compile(rb"\r\nhost:", re.IGNORECASE)
LENGTH = re.compile(rb"\r\ncontent-length:[\t ]*([^\r]*?)[\t ]*(?=\r\n)", re.IGNORECASE)
DIGITS = re.compile(rb"[0-9]{1,18}")
"""A length that fits into 64 bits with a sign, wherever it is read."""
PORT = re.compile(r"[0-9]{1,5}")
HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
     b"trailer", b"transfer-encoding", b"upgrade"}
)  # fmt: skip
"""Headers for the next hop only (RFC 9110, section 7.6.1), with the older ones that are still about."""
FRAMING = frozenset({b"host", b"content-length", b"transfer-encoding"})
"""Headers that this proxy writes itself: no `Connection` header can take them away."""
Message = h11.Request | h11.InformationalResponse | h11.Response


class BadRequestError(Exception):
    """A request that cannot be passed on; the message says why."""


class BrokenReplyError(Exception):
    """What the host sent is no reply."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request, and the connection that it came over."""

    client: h11.Connection
    """Reads the request's body; writes the reply in a way that the client's version of HTTP can read."""
    host: str
    """A name, in lower case and without a dot at its end, or an address."""
    port: int
    message: h11.Request | None = None
    """The request as it goes to the host; None: a tunnel, through which bytes go both ways without being looked at."""


def read_request(head: bytes) -> RequestHead:
    """Read the head of a request, up to and with its empty line.

    Raises:
        BadRequestError: it is not one that a proxy passes on.
    """
    _check_lines(head)
    first = FIRST_LINE.match(head)
    if first is None:
        raise BadRequestError("its first line is not that of a request in HTTP/1.1 or HTTP/1.0")
    method, target = first[1], first[2].decode("latin-1")
    if method == b"CONNECT":
        host, port = _authority(target, 0)
        if not port:
            raise BadRequestError("a tunnel needs a port, such as example.org:443")
        client, _ = _parse(head, host, port, default_port=port)
        return RequestHead(client, host, port)
    scheme, found, rest = target.partition("://")
    if not found or scheme.lower() != "http":
        raise BadRequestError("this is a proxy: it takes http:// addresses in full, and CONNECT for everything else")
    cut = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    host, port = _authority(rest[:cut], 80)
    client, received = _parse(head, host, port, default_port=80)
    path = rest[cut:].partition("#")[0]
    if not path.startswith("/"):
        path = "*" if method == b"OPTIONS" and not path else f"/{path}"
    headers = [(b"Host", _written(host, port)), *_passing(received), *_framing(received, LENGTH.findall(head))]
    message = h11.Request(method=method, target=path, headers=[*headers, (b"Connection", b"close")])
    return RequestHead(client, host, port, message)


def read_reply(head: bytes, server: h11.Connection) -> h11.InformationalResponse | h11.Response:
    """Read the head of a reply, up to and with its empty line, and without what was meant for this proxy.

    Raises:
        BrokenReplyError: it is not one.
    """
    try:
        _check_lines(head)
        server.receive_data(head)
        event = server.next_event()
    except (BadRequestError, h11.RemoteProtocolError):
        raise BrokenReplyError("it sent no reply that could be read") from None
    if (
        not isinstance(event, h11.InformationalResponse | h11.Response)
        or event.http_version not in (b"1.0", b"1.1")
        or event.status_code > 599
    ):
        raise BrokenReplyError("it sent no reply that could be read")
    kept = _passing(event, keep=frozenset({b"content-length", b"transfer-encoding"}))
    if isinstance(event, h11.InformationalResponse):
        return h11.InformationalResponse(status_code=event.status_code, headers=kept, reason=event.reason)
    kept.append((b"Connection", b"close"))
    return h11.Response(status_code=event.status_code, headers=kept, reason=event.reason)


def _check_lines(head: bytes) -> None:
    """Refuse lines that another program could cut elsewhere."""
    if head.count(b"\n") > MAX_HEADERS + 2:
        raise BadRequestError(f"it has more than {MAX_HEADERS} headers")
    if not LINES.fullmatch(head):
        raise BadRequestError("one of its lines is no header, is folded, or does not end with CR LF")


def _parse(head: bytes, host: str, port: int, *, default_port: int) -> tuple[h11.Connection, h11.Request]:
    """A request as h11 reads it. Its `Host` must name the host of the first line: a server may go by either of them."""
    if not HOST.search(head):  # h11 insists on one; older clients send none through a proxy
        head = head.replace(b"\r\n", b"\r\nHost: " + _written(host, port) + b"\r\n", 1)
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(head)
    try:
        event = connection.next_event()
    except h11.RemoteProtocolError as error:
        raise BadRequestError(str(error).partition(": bytearray(")[0]) from None
    assert isinstance(event, h11.Request)
    given = next(value for name, value in event.headers if name == b"host")
    if _authority(given.decode("latin-1"), default_port) != (host, port):
        raise BadRequestError("its Host header names another host than its first line")
    return connection, event


def _framing(request: h11.Request, lengths: list[bytes]) -> list[tuple[bytes, bytes]]:
    """The header that says where the body ends; both kinds at once, or two lengths, are how requests are smuggled.

    Args:
        request: As h11 read it, which makes one of lengths that are repeated.
        lengths: As they were sent.
    """
    chunked = any(name == b"transfer-encoding" for name, _ in request.headers)
    if (
        (chunked and (lengths or request.http_version == b"1.0"))
        or len(lengths) > 1
        or not all(DIGITS.fullmatch(length) for length in lengths)
    ):
        raise BadRequestError("the length of its body is not clear")
    if chunked:
        return [(b"Transfer-Encoding", b"chunked")]
    length = int(lengths[0]) if lengths else 0
    return [(b"Content-Length", b"%d" % length)] if length or request.method in (b"POST", b"PUT", b"PATCH") else []


def _passing(message: Message, keep: frozenset[bytes] = frozenset()) -> list[tuple[bytes, bytes]]:
    """The headers that are not for this hop only, by their kind or because the `Connection` header says so."""
    lists = [value for name, value in message.headers if name == b"connection"]
    named = {item.strip().lower() for value in lists for item in value.split(b",")}
    left_out = (HOP_BY_HOP | FRAMING | named) - keep
    return [(name, value) for name, value in message.headers.raw_items() if name.lower() not in left_out]


def _written(host: str, port: int) -> bytes:
    """Host and port as they stand in a `Host` header."""
    host = f"[{host}]" if ":" in host else host
    return (host if port == 80 else f"{host}:{port}").encode()


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
