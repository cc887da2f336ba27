"""Hard objects come back as they were, or the receipt names what does not."""

import json
import re

import pytest

from tests.contract.conftest import Steps
from tests.contract.hard_objects import RAISES, HardSession
from tests.contract.hard_objects.sessions import SESSIONS

ASK = """
def _ask():
    import ast, json
    import re
    def answer(probe):
        statements, _, expression = probe.rpartition(";;")
        space = globals()
        try:
            if statements:
                exec(statements.strip(), space)
            found = repr(eval(expression.strip(), space))
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        return re.sub("0x[0-9a-f]{6,}", "0x", found)
    encode = __import__("json.encoder").encoder.JSONEncoder().encode
    return encode([answer(probe) for probe in PROBES])
print("<<" + _ask() + ">>")
"""


async def _answers(steps: Steps, probes: tuple[str, ...]) -> list[str]:
    printed = await steps.run(ASK.replace("PROBES", repr(probes)))
    found: list[str] = json.loads(printed[printed.rindex("<<") + 2 : printed.rindex(">>")])
    return found


async def wrong(steps: Steps, hard: HardSession) -> dict[str, tuple[str, str]]:
    """Probes whose answers differ without a word: probe → as it was, as it is."""
    for cell in hard.cells:
        await steps.run(cell, fails=cell.startswith(RAISES))
    taken = await steps.keep()
    alive = await _answers(steps, hard.probes)
    restored = await steps.take_up_at(taken.id)
    back = await _answers(steps, hard.probes)
    named = {re.findall(r"\w+", one.name)[-1] for one in restored.lost}
    assert named <= set(hard.named), restored.lost
    return {
        probe: (before, after)
        for probe, before, after in zip(hard.probes, alive, back, strict=True)
        if before != after and not any(re.search(rf"\b{re.escape(name)}\b", probe) for name in named)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("steps", ["local"], indirect=True)
async def test_what_is_hard_to_bring_back(steps: Steps, name: str) -> None:
    hard = SESSIONS[name]
    found = await wrong(steps, hard)
    assert {probe: pair for probe, pair in found.items() if probe not in hard.known} == {}


def test_there_are_enough_of_them() -> None:
    probes = [probe for hard in SESSIONS.values() for probe in hard.probes]
    known = [probe for hard in SESSIONS.values() for probe in hard.known]
    assert len(SESSIONS) >= 90
    assert len(probes) >= 600
    assert len(known) <= len(probes) // 100, known
