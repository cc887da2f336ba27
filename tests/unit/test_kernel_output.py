"""What the host keeps of a stream, and what it believes of a kernel's words."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sandboxes.host import replies
from sandboxes.host.running_cell import Capture, Live
from sandboxes.results import CellError, ChangedFile, Display, NamespaceRow

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=4)),
    max_leaves=10,
)
KEYS = ("kind", "text", "html", "path", "error", "namespace", "files", "name", "type", "summary", "change", "size")


@given(st.lists(st.text(alphabet="aé日😀\n", max_size=40), max_size=20), st.integers(1, 7))
def test_nothing_that_is_printed_goes_uncounted(texts: list[str], size: int) -> None:
    data = "".join(texts).encode()
    capture = Capture(kept=32)
    for start in range(0, len(data), size):
        capture.add(data[start : start + size])
    kept = capture.text()
    assert "\ufffd" not in kept.head + kept.tail
    assert len(kept.head.encode()) + len(kept.tail.encode()) + kept.dropped == len(data)
    assert data.startswith(kept.head.encode())
    assert data.endswith(kept.tail.encode())
    assert (kept.dropped == 0) == (kept.head.encode() == data)


def test_a_listener_gets_whole_characters_and_then_samples() -> None:
    live = Live()
    data = "é日".encode()
    assert "".join(live.pieces(data[i : i + 1], full=False) for i in range(len(data))) == "é日"
    assert "only now and then" in live.pieces(b"more", full=True)
    assert live.pieces(b"at once", full=True) == ""


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
def test_whatever_a_kernel_says_gives_well_formed_results(said: dict[str, Any]) -> None:
    said = json.loads(json.dumps(said))
    assert isinstance(replies.display(said, json.dumps(said).encode()), Display | None)
    assert isinstance(replies.error(said), CellError | None)
    assert all(isinstance(row, NamespaceRow) for row in replies.namespace(said))
    assert all(isinstance(file, ChangedFile) for file in replies.files(said))


def test_paths_and_sizes_of_a_kernel_are_checked() -> None:
    rows = [
        {"path": "../out", "change": "created", "size": 1},
        {"path": "/etc/passwd", "change": "created", "size": 1},
        {"path": "a", "change": "stolen", "size": 1},
        {"path": "a", "change": "created", "size": -1},
        {"path": "a", "change": "created", "size": True},
        {"path": "./a//b", "change": "created", "size": 1},
    ]
    assert replies.files({"files": rows}) == (ChangedFile("a/b", "created", 1),)
    assert replies.display({"kind": "display", "path": "../x", "text": 1}, b"tu") == Display("display", "t", "u")
    assert replies.display({"kind": "display", "text": 0}, b"") is None
    assert replies.display({"kind": "display"}, b"t") is None
    assert replies.display({"kind": "display", "text": 2}, b"t") is None
    assert replies.display({"kind": "display", "text": -1}, b"t") is None
    assert replies.display({"kind": "other", "text": 1}, b"t") is None
    assert replies.error({"error": {"name": "X", "message": "\ud800", "traceback": 3}}) == CellError("X", "\\ud800", "")


async def test_an_answer_that_is_none_is_empty_and_one_beyond_any_honest_one_says_so() -> None:
    for body in (b"[1]", b"{", b"", b"[" * 9_000):
        assert await replies.read(body) == {}
    for body in (b"x" * (replies.MAX_BYTES + 1), b'{"a": [' + b"[]," * replies.MAX_ITEMS + b"0]}"):
        said = await replies.read(body)
        error = replies.error(said)
        assert error is not None
        assert error.message.startswith("What the session said cannot be used: it has ")
        assert replies.snapshot(said).refused == error.message
        assert replies.problems(said)[1] == error.message
