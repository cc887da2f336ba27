"""`stepwell eval --beside smolagents` has another agent answer the same tasks, scores it alike, and compares.

smolagents itself is not among our dependencies. What runs here is our own program in a process of its own, with a
package of that name whose agent is scripted; and once with the real one, in the environment of the benchmarks' rivals.
"""

import asyncio
import json
import os
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bench import rival
from graph.settings import Settings
from tests.integration.test_evaluating import evaluated, evaluating, replying, suite
from tests.other_process import wait_for_file
from tests.scripted_model import Say, ScriptedServer

pytestmark = pytest.mark.slow

PACKAGE = """
import json, os, time, types
__version__ = "0.test"
class OpenAIServerModel:
    def __init__(self, **given):
        self.given = given
    def generate(self, messages):
        return types.SimpleNamespace(token_usage=types.SimpleNamespace(input_tokens=100, output_tokens=10))
class CodeAgent:
    def __init__(self, model, **given):
        self.model, self.memory = model, types.SimpleNamespace(steps=[])
    def run(self, task, reset=True):
        self.model.generate([])
        self.memory.steps.append(types.SimpleNamespace(code_action="1"))
        if "Wait" in task:
            open(os.environ["STEPWELL_HOME"] + f"/waits-{os.getpid()}", "w").close()
            time.sleep(600)
        if "Fail" in task:
            raise RuntimeError("out of steps")
        open("outputs/months.csv", "w").write("month,sum\\nMay,3\\n")
        return "It is so.\\n\\nANSWER: " + str(len(open("inputs/sales.csv").readlines()) - 1)
"""
TASKS: list[dict[str, object]] = [
    {"id": "rows", "question": "Zebra?", "files": ["sales.csv"], "expected": 2},
    {"id": "file", "question": "Zebra!", "files": ["sales.csv"], "expected": {"files": {"months.csv": {"rows": 1}}}},
    {"id": "off", "question": ["Zebra.", "Zebra:"], "files": ["sales.csv"], "expected": [2, 3]},
]


def python_with_agent(folder: Path) -> Path:
    """A Python that finds the scripted package."""
    (folder / "packages" / "smolagents").mkdir(parents=True)
    (folder / "packages" / "smolagents" / "__init__.py").write_text(PACKAGE)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder / "packages"} exec {sys.executable} "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return python


def rival_results(folder: Path) -> dict[str, dict[str, object]]:
    lines = (folder / "out" / "own-scripted-smolagents" / "results.jsonl").read_text().splitlines()
    return {one["task"]: one for one in map(json.loads, lines)}


async def test_both_answer_and_are_compared(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "sales.csv").write_text("month,sales\nMay,3\nJune,4\n")
    file = suite(tmp_path, *TASKS)
    options = ("--beside", "smolagents", "--beside-python", str(python_with_agent(tmp_path)), "--jobs", "3")
    async with replying({"Zebra": "ANSWER: 2"}) as server:
        code, out, err = await evaluated(file, settings, server.base_url, *options)
        asked = len(server.requests)
        again = await evaluated(file, settings, server.base_url, *options)
        assert len(server.requests) == asked
    assert (code, again[0]) == (0, 0), err
    assert "its code runs on this machine, without a sandbox" in err
    assert "smolagents, right: 2 of 3" in out
    assert "right in the second only: file" in out  # the scripted model wrote none
    found = rival_results(tmp_path)
    assert {one: (said["status"], said["calls"], said["cells"]) for one, said in found.items()} == {
        "rows": ("right", 1, 1),
        "file": ("right", 1, 1),
        "off": ("wrong", 2, 2),
    }
    assert found["off"]["why"] == "expected 3, got 2"
    assert found["off"]["input_tokens"] == 200
    assert again[1].splitlines()[-6:] == out.splitlines()[-6:]


async def test_what_fails_is_named_and_asked_again(tmp_path: Path, settings: Settings) -> None:
    file = suite(tmp_path, {"id": "a", "question": "Fail, Zebra?", "expected": 2})
    options = ("--beside", "smolagents", "--beside-python", str(python_with_agent(tmp_path)))
    async with replying({"Zebra": "ANSWER: 2"}) as server:
        code, _, err = await evaluated(file, settings, server.base_url, *options)
    assert code == 1
    assert "a: broken off (RuntimeError: out of steps)" in err


async def test_its_process_ends_with_a_killed_evaluation(tmp_path: Path, settings: Settings) -> None:
    file = suite(tmp_path, {"id": "a", "question": "Wait, Zebra?", "expected": 2})
    options = ("--beside", "smolagents", "--beside-python", str(python_with_agent(tmp_path)))
    async with replying({"Zebra": "ANSWER: 2"}) as server:
        process = evaluating(file, settings, server.base_url, *options)
        try:
            agent = os.pidfd_open(int((await wait_for_file(settings.home, "waits-*")).name.partition("-")[2]))
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.communicate)
    ended, _, _ = await asyncio.to_thread(select.select, [agent], [], [], 60)
    os.close(agent)
    assert ended


@pytest.mark.parametrize(
    ("options", "model", "said"),
    [
        (("--beside", "other"), "scripted", "--beside cannot be 'other'"),
        (("--beside", "smolagents", "--beside-python", "/nowhere"), "scripted", "cannot be run"),
        (("--beside", "smolagents", "--beside-python", "PYTHON"), "scripted", "has no smolagents"),
        (("--beside", "smolagents"), "playbook", "OpenAI-compatible endpoint alone, not with playbook"),
        (("--beside", "smolagents"), "anthropic:some", "not with anthropic:some"),
    ],
)
async def test_what_cannot_be_asked_gets_one_sentence_before_anything_is_asked(
    tmp_path: Path, settings: Settings, options: tuple[str, ...], model: str, said: str
) -> None:
    file = suite(tmp_path, {"id": "a", "question": "Zebra?", "expected": 2})
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    given = [str(bare) if one == "PYTHON" else one for one in options]
    async with replying({"Zebra": "ANSWER: 2"}) as server:
        code, out, err = await evaluated(file, settings, server.base_url, "--model", model, *given)
        assert not server.requests
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.timeout(600)
async def test_the_real_one(tmp_path: Path) -> None:
    python = await rival.prepare()
    (tmp_path / "inputs").mkdir()
    said = "Thought: I count.\n<code>\nfinal_answer(f'ANSWER: {1 + 1}')\n</code>"
    async with ScriptedServer([Say(said, usage=(70, 9))]) as server:
        asked = {
            **{"questions": ["How many?"], "files": [], "model": "scripted", "base_url": server.base_url},
            **{"api_key": "k", "timeout": 30, "max_steps": 3, "cell_timeout": 30},
        }
        process = await asyncio.create_subprocess_exec(
            python,
            str(Path(__file__).parents[2] / "evals" / "beside" / "agent_program.py"),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        line = json.loads(await process.stdout.readline())
        process.stdin.close()
        await process.wait()
    assert line == {"answer": "ANSWER: 2", "cells": 1, "calls": 1, "input_tokens": 70, "output_tokens": 9}
