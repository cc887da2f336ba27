"""The benchmark of Daytona counts what cells and moves take."""

from pathlib import Path

import pytest

from bench.daytona import cells, moved
from sandboxes.daytona.options import Account, Options
from sandboxes.opening import Sandboxes
from tests.daytona.emulator import Emulator

pytestmark = pytest.mark.slow


async def test_a_cell_is_one_connection_one_upload_and_one_download_and_a_move_only_what_is_lacking(
    tmp_path: Path,
) -> None:
    async with Emulator() as emulator:
        options = Options(Account(api_key=emulator.api_key, api_url=emulator.api_url, target="us"))
        async with Sandboxes(tmp_path / "threads", daytona=options) as sandboxes:
            there = await sandboxes.open("daytona", "counted")
            spent = await cells(there, emulator, 3, 0.0, tmp_path / "blobs")
            assert [spent.most(kind) for kind in ("run", "upload", "download", "exec")] == [1, 1, 1, 0]
            here = await sandboxes.open("local", "here")
            there = await sandboxes.open("daytona", "there")
            rows = await moved(here, there, emulator, 1, tmp_path / "moved")
    assert [row[3:5] for row in rows] == [["1", "1"], ["1", "0"], ["0", "0"]]
    assert [int(row[5].replace(",", "")) > 1_000_000 for row in rows] == [True, False, True]
