"""Runs smolagents' CodeAgent on one task. It is a program of its own, for a Python that has smolagents.

It imports nothing of Stepwell. The first line on stdin says in JSON what is asked; a line of JSON on stdout says, after
each question, what was answered and what it took. It ends when stdin does: then whoever started it is gone.
"""

import importlib
import json
import os
import signal
import sys
import threading
import traceback
from typing import Any

GIVEN = "The files are in the folder `inputs`: {files}. Write every file meant for the user into the folder `outputs`."
SAID = 2_000
"""Characters of an error."""


def counting(module: Any, asked: dict[str, Any]) -> Any:
    """A model that counts what it is asked and what it says."""

    class Counting(module.OpenAIServerModel):  # type: ignore[misc]
        calls = input_tokens = output_tokens = 0

        def generate(self, *args: Any, **more: Any) -> Any:
            said = super().generate(*args, **more)
            usage = said.token_usage
            self.calls += 1
            self.input_tokens += usage.input_tokens if usage else 0
            self.output_tokens += usage.output_tokens if usage else 0
            return said

    client = {"timeout": asked["timeout"]}
    return Counting(
        model_id=asked["model"], api_base=asked["base_url"] or None, api_key=asked["api_key"], client_kwargs=client
    )


def end_with_stdin() -> None:
    """End this process and what its code has started, when nobody waits for an answer any more."""
    while os.read(0, 4_096):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> int:
    """Ask all questions of the task, one after another."""
    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_stdin, daemon=True).start()
    says, sys.stdout = sys.stdout, sys.stderr  # what the agent prints is no answer
    try:
        module = importlib.import_module("smolagents")
        model = counting(module, asked)
        agent = module.CodeAgent(
            tools=[],
            model=model,
            additional_authorized_imports=["*"],
            max_steps=asked["max_steps"],
            executor_kwargs={"timeout_seconds": asked["cell_timeout"]},
            verbosity_level=-1,
        )
        cells = 0
        for number, question in enumerate(asked["questions"]):
            files = GIVEN.format(files=", ".join(asked["files"]) or "none")
            answer = agent.run(f"{question}\n\n{files}" if number == 0 else question, reset=number == 0)
            steps = [step for step in agent.memory.steps if getattr(step, "code_action", None)]
            cells = len(steps)
            report = {name: getattr(model, name) for name in ("calls", "input_tokens", "output_tokens")}
            says.write(json.dumps({"answer": str(answer), "cells": cells, **report}) + "\n")
            says.flush()
    except BaseException as error:
        traceback.print_exc()
        says.write(json.dumps({"failed": f"{type(error).__name__}: {error}"[:SAID]}) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
