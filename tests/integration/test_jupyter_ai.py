"""The persona of the examples in the real Jupyter AI, in an environment of its own: its chat, without its page."""

import asyncio
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from graph.settings import Settings
from tests.other_process import ROOT, environment
from tests.scripted_model import ScriptedServer
from tests.scripted_replies import Call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
EXAMPLE = ROOT / "examples" / "jupyter_ai"


async def done(*command: str, env: dict[str, str] | None = None) -> str:
    """What a program prints; it must not fail."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=env)
    said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode(errors="replace")[-3000:]
    return said.decode()


async def jupyter_ai(folder: Path) -> Path:
    """A Python with Jupyter AI's client, of the versions that are locked beside the example."""
    uv, python = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv"), folder / "bin" / "python"
    await done(uv, "venv", "-q", "--python", sys.executable, str(folder))
    lock = str(EXAMPLE / "requirements.lock")
    await done(uv, "pip", "install", "-q", "--python", str(python), "--require-hashes", "-r", lock)
    return python


def put_persona_into(folder: Path) -> None:
    """Where Jupyter AI looks for personas."""
    (folder / ".jupyter" / "personas").mkdir(parents=True)
    shutil.copy(EXAMPLE / "stepwell_persona.py", folder / ".jupyter" / "personas")


def command_in(folder: Path) -> None:
    """The command `stepwell`, of this checkout."""
    folder.mkdir()
    command = folder / "stepwell"
    found = shlex.join([f"PYTHONPATH={ROOT}", sys.executable, "-m", "stepwell"])
    command.write_text(f'#!/bin/sh\nexec env {found} "$@"\n')
    command.chmod(0o755)


async def talk(python: Path, folder: Path, env: dict[str, str], mode: str, *questions: str) -> dict[str, Any]:
    """What a chat shows in the end, and what was asked in it."""
    program = str(ROOT / "tests" / "jupyter_ai_chat.py")
    said = await done(str(python), program, str(folder), mode, *questions, env=env)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


async def test_a_chat_asks_shows_cells_and_asks_for_permission(settings: Settings, tmp_path: Path) -> None:
    python = await jupyter_ai(tmp_path / "jupyter")
    folder = tmp_path / "notebooks"
    put_persona_into(folder)
    command_in(tmp_path / "bin")
    script = [
        Call("run_python", purpose="Look", step=1, plan=["Look"], code="print('n is', n)"),
        Call("submit_answer", answer="It is **41**.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as model:
        env = environment(settings, model.base_url, OPENAI_API_KEY="k", HOME=str(tmp_path))
        del env["PYTHONPATH"]  # what is of the checkout is none of Jupyter AI's
        env["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{env['PATH']}"
        found = await talk(python, folder, env, "ask", "/run n = 41", "What is n?")
    assert found["modes"] == ["auto", "ask", "plan"]
    assert found["asked"] == [{"options": ["allow_once", "allow_always", "reject_once"]}], "in the mode that was chosen"
    ours = [one for one in found["messages"] if one["sender"] == found["me"]]
    calls = [call for one in ours for call in (one["metadata"] or {}).get("tool_calls", [])]
    assert [call["raw_input"]["code"] for call in calls] == ["n = 41", "print('n is', n)", "print('n is', n)"]
    assert [call["status"] for call in calls] == ["completed"] * 3
    assert calls[1]["permission_status"] == "resolved"
    assert "It is **41**." in "".join(one["body"] for one in ours)
