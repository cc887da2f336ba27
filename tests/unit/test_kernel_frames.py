"""The wire between host and kernel."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.inside.kernel import frames

HEADERS = st.dictionaries(st.text(max_size=5), st.one_of(st.text(max_size=20), st.integers(), st.none()), max_size=3)


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=200)), max_size=5), st.integers(1, 50))
def test_frames_arrive_whole_however_the_bytes_are_cut(sent: list[frames.Frame], size: int) -> None:
    data = b"".join(frames.pack(header, body) for header, body in sent)
    unpacker, received = frames.Unpacker(), list[frames.Frame]()
    for start in range(0, len(data), size):
        received += unpacker.feed(data[start : start + size])
    assert received == sent


@given(st.binary(max_size=400))
def test_junk_is_refused_or_waits_for_more(junk: bytes) -> None:
    try:
        for header, _body in frames.Unpacker().feed(junk):
            assert isinstance(header, dict)
    except frames.ProtocolError:
        return


def test_what_came_whole_before_junk_is_not_lost() -> None:
    said = [({"type": "hello"}, b""), ({"type": "done"}, b"x")]
    for junk in (b"\xff" * 100, b"\0\0\0\2\0\0\0\0[]"):
        with pytest.raises(frames.ProtocolError) as refused:
            frames.Unpacker().feed(b"".join(frames.pack(*one) for one in said) + junk)
        assert refused.value.before == said


def test_sizes_are_checked_before_anything_is_kept() -> None:
    for lengths in ((frames.MAX_HEADER + 1, 0), (1, frames.MAX_BODY + 1), (2**32 - 1, 2**32 - 1)):
        with pytest.raises(frames.ProtocolError):
            frames.Unpacker().feed(frames.LENGTHS.pack(*lengths))
    with pytest.raises(frames.ProtocolError):
        frames.pack({"text": "x" * frames.MAX_HEADER})


@pytest.mark.parametrize("header", [b"[]", b"1", b"{", b"\xff", b"[" * 60_000])
def test_a_header_must_be_an_object(header: bytes) -> None:
    with pytest.raises(frames.ProtocolError):
        frames.Unpacker().feed(frames.LENGTHS.pack(len(header), 0) + header)


def test_a_header_is_json() -> None:
    packed = frames.pack({"a": "é"}, b"body")
    head, body = frames.LENGTHS.unpack_from(packed)
    assert json.loads(packed[frames.LENGTHS.size :][:head]) == {"a": "é"}
    assert packed[-body:] == b"body"
