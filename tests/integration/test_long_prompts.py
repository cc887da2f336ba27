"""The prompts of a task of 30 long questions show everything that its turns need, in fewer tokens than before."""

from pathlib import Path

import pytest

from bench.long_analyses import AT_MOST, BEFORE, LONG, NEEDS, SHARED, ask_all

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("cells", [1, 3])
async def test_all_that_later_turns_need_is_shown(tmp_path: Path, cells: int) -> None:
    assert sum(map(len, NEEDS.values())) == 114
    told = await ask_all(tmp_path, LONG, cells)
    assert told.seen == 114
    assert told.whole == told.calls == 30 * cells
    assert told.tokens <= AT_MOST * BEFORE[LONG, cells]
    assert told.shared >= SHARED
