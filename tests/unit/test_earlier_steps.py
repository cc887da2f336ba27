"""The host finds the snapshot of an earlier step in State, and lays out nothing else."""

from pathlib import Path

import pytest

from graph.state import Cell
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.fake import FakeSandbox, ScriptedCell
from sandboxes.functions import Raised, Returned
from sandboxes.results import CellResult
from storage.blobs import Blobs
from tests.states import make_cell

LIMIT = 10_000_000


class World:
    """A thread of some steps, and a sandbox that has none of their blobs."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "blobs"
        self.snapshots = SnapshotStore(Blobs.at(str(self.store)))
        self.sandbox = FakeSandbox(folder / "reading")
        self.cells: list[Cell] = []

    async def keep(self, folder: Path, contents: list[bytes]) -> list[Cell]:
        """Cells that write a file each, and are kept."""
        scripted = [ScriptedCell(CellResult("ok"), files={"outputs/x": data}) for data in contents]
        sandbox = FakeSandbox(folder, cells=scripted)
        cells: list[Cell] = []
        for number in range(1, len(contents) + 1):
            await sandbox.run("", number=number, timeout=1, head=f"{number}")
            kept = await self.snapshots.keep(sandbox, cells, limit_bytes=LIMIT)
            cells.append(make_cell(number, snapshot=kept.snapshot))
        return cells

    async def read(self, request: str) -> Returned | Raised:
        """What the host says to a request of a cell that comes after the cells."""
        return await EarlierSteps(None, self.sandbox, self.cells, self.snapshots).read_step(request.encode())

    async def refusal(self, request: str) -> Raised:
        """Why it does not do what is asked."""
        said = await self.read(request)
        assert isinstance(said, Raised), said
        return said

    async def blobs_of(self, cell: Cell) -> set[str]:
        """What a step's manifest names."""
        return await self.snapshots._named(cell["snapshot"])


@pytest.fixture
async def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.cells = await made.keep(tmp_path / "thread", [b"one", b"two", b"three"])
    return made


async def test_the_manifest_of_a_step_and_what_it_names_are_laid_out(world: World) -> None:
    first = world.cells[0]
    said = await world.read("1\n")
    assert isinstance(said, Returned)
    assert first["snapshot"] in said.value.decode()
    assert await world.sandbox.supplied_blobs() == {first["snapshot"]}
    names = await world.blobs_of(first)
    assert isinstance(await world.read(f"1\n{''.join(names)}"), Returned)
    assert await world.sandbox.supplied_blobs() == {first["snapshot"], *names}


async def test_blobs_of_other_steps_and_threads_are_out_of_reach(world: World, tmp_path: Path) -> None:
    [stranger] = await world.keep(tmp_path / "stranger", [b"secret"])
    for cell in (stranger, world.cells[1]):
        for name in {cell["snapshot"], *(await world.blobs_of(cell) - await world.blobs_of(world.cells[0]))}:
            said = await world.refusal(f"1\n{name}")
            assert said == Raised(
                "The snapshot of step 1 cannot be read any more: It does not name what was asked for.", "StepError"
            )
    assert await world.sandbox.supplied_blobs() == frozenset()


@pytest.mark.parametrize("step", ["4", "", "-1", "1.5", "x", "9" * 30, "last", "../1"])
async def test_there_is_no_such_step(world: World, step: str) -> None:
    said = await world.refusal(step)
    assert said.message.startswith("There is no s")
    assert said.message.endswith("the last one is step 3.")


@pytest.mark.parametrize("names", ["/etc/passwd", "../" * 30, "0" * 63, "Z" * 64, "é" * 64])
async def test_what_is_no_name_of_a_blob_is_refused(world: World, names: str) -> None:
    assert (await world.refusal(f"1\n{names}")).kind == "StepError"


async def test_a_cell_that_took_no_effect_leaves_the_step_before_it(world: World) -> None:
    world.cells += [make_cell(4, status="rejected"), make_cell(5, status="killed", snapshot="")]
    said = await world.read("5\n")
    assert isinstance(said, Returned)
    assert world.cells[2]["snapshot"] in said.value.decode()
    world.cells = [make_cell(1, status="rejected")]
    assert (await world.refusal("1")).message == "Step 1 has no variables: no cell had taken effect by then."
    assert (await world.refusal("0")).kind == "StepError"


async def test_a_step_without_a_snapshot_says_so(world: World) -> None:
    world.cells.append(make_cell(4, snapshot=""))
    assert (await world.refusal("4")).message == "Step 4 was not kept: it has no snapshot, so it cannot be read."


async def test_a_step_whose_snapshot_is_gone_says_so(world: World) -> None:
    name = world.cells[0]["snapshot"]
    (world.store / name[:2] / name).unlink()
    said = await world.refusal("1\n")
    assert said.kind == "StepError"
    assert said.message.startswith("The snapshot of step 1 cannot be read any more: ")


async def test_a_store_that_cannot_be_reached_is_an_error_of_another_kind(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    world.snapshots = SnapshotStore(Blobs.at(str(tmp_path / "file" / "blobs")))
    assert (await world.refusal("1\n")).kind in ("OSError", "StepError")
