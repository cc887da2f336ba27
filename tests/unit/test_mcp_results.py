"""What callers over MCP read, whatever the endpoint says."""

import json
from typing import Any

import pytest

from server.mcp_results import readable


def said(result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()


def of_run(output: Any) -> bytes:
    return said({"content": [{"type": "text", "text": repr(output)}]})


def test_a_result_is_the_answer_with_its_concerns_and_the_rest_as_data() -> None:
    messages = [{"type": "human", "content": "How much?"}, {"type": "ai", "content": "It is \N{SNOWMAN} 42."}]
    output = {"messages": messages, "ui": [], "answer": "a", "artifacts": [{"name": "x"}], "concerns": ["No source."]}
    result = json.loads(readable(of_run(output)))["result"]
    assert result["content"] == [{"type": "text", "text": "It is \N{SNOWMAN} 42.\n\nNot verified:\n- No source."}]
    assert result["structuredContent"] == {"answer": "a", "artifacts": [{"name": "x"}], "concerns": ["No source."]}


def test_a_run_that_waits_says_for_what() -> None:
    value = {"ask": "Run this cell?", "action_requests": [{"description": "Run cell 1? Add"}]}
    output = {"messages": [], "__interrupt__": [{"value": value}]}
    [part] = json.loads(readable(of_run(output)))["result"]["content"]
    assert part["text"] == "The analysis waits for somebody's decision. Run this cell?\n\nRun cell 1? Add"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        said({"tools": []}),
        said({"isError": True, "content": [{"type": "text", "text": "It failed."}]}),
        said({"content": [{"type": "text", "text": "[" * 100_000}]}),
        said({"content": [{"type": "text", "text": "__import__('os').getcwd()"}]}),
        of_run({"messages": []}),
        of_run({"messages": 5}),
        of_run([1]),
        of_run({"messages": [], "__interrupt__": [{"value": "x"}]}),
    ],
)
def test_anything_else_is_left_as_it_is(body: bytes) -> None:
    assert readable(body) == body
