"""Files inside messages are found in every form that is about, and taken out of the state."""

import base64
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from nodes.prompts.attachments import Attachment, attachment_file, attachments, without_attachments
from storage.inputs import InputError

DATA = base64.b64encode(b"a,b\n1,2\n").decode()
FORMS: list[dict[str, Any]] = [
    {"type": "file", "base64": DATA, "mime_type": "text/csv", "extras": {"filename": "t.csv"}},
    {"type": "file", "source_type": "base64", "data": DATA, "mime_type": "text/csv", "filename": "t.csv"},
    {"type": "file", "file": {"file_data": f"data:text/csv;base64,{DATA}", "filename": "t.csv"}},
    {"type": "file", "base64": DATA, "metadata": {"filename": "../../t.csv"}},
]


@pytest.mark.parametrize("block", FORMS)
async def test_a_file_is_found_under_a_safe_name_and_laid_out(block: dict[str, Any]) -> None:
    message = HumanMessage([{"type": "text", "text": "Look"}, block], id="1")
    (found,) = attachments(message)
    assert "/" not in found.name
    assert found.name.endswith("t.csv")
    async with attachment_file(found, max_bytes=100) as brought:
        assert (brought.size, brought.file.read_bytes()) == (8, b"a,b\n1,2\n")
    assert not brought.file.exists()
    plain = without_attachments(message, [found.name])
    assert (plain.content, plain.id) == (f"Look\n\n(Attached: {found.name})", "1")


async def test_a_file_without_a_name_gets_one_by_its_type() -> None:
    (found,) = attachments(HumanMessage([{"type": "file", "base64": DATA, "mime_type": "text/csv"}]))
    assert found.name == "attachment-1.csv"


@pytest.mark.parametrize("url", [{"url": f"data:image/png;base64,{DATA}"}, f"data:image/png;base64,{DATA}"])
async def test_a_picture_inside_a_message_is_a_file(url: object) -> None:
    (found,) = attachments(HumanMessage([{"type": "image_url", "image_url": url}]))
    assert (found.name, found.data) == ("attachment-1.png", DATA)


async def test_plain_messages_and_links_have_no_files() -> None:
    link = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert attachments(HumanMessage("Look")) == []
    assert attachments(HumanMessage([{"type": "text", "text": "Look"}, link])) == []


@pytest.mark.parametrize(("data", "word"), [("n%t base64", "not base64"), ("A" * 4000, "larger than")])
async def test_what_cannot_be_taken_is_one_sentence(data: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        async with attachment_file(Attachment("t.csv", data), max_bytes=1000):
            raise AssertionError("it was laid out")
