"""The prompts of a task of 30 long questions show everything that its turns need, in fewer tokens than before."""

from pathlib import Path

import pytest

from bench.long_analyses import AT_MOST, BEFORE, LONG, NEEDS, ask_all

pytestmark = pytest.mark.slow


async def test_all_that_later_turns_need_is_shown(tmp_path: Path) -> None:
    assert sum(map(len, NEEDS.values())) == 114
    told = await ask_all(tmp_path, LONG, 1)
    assert told.seen == 114
    assert told.whole == told.calls == 30
    assert told.tokens <= AT_MOST[LONG, 1] * BEFORE[LONG, 1]
