"""Files outside of the workspace: in the home and in the folder for temporary files."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from sandboxes.opening import Sandboxes
from tests.contract.conftest import DAYTONA, DOCKER, REAL, Steps

TEMPORARY = Path(tempfile.gettempdir())
PROGRAMS = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]}
MOUNTED = {path.relative_to(TEMPORARY).parts[0] for path in PROGRAMS if path.is_relative_to(TEMPORARY)}
"""Where these tests lie below that folder, a sandbox shows the way to them."""
LIST = f"""
import os, tempfile
T, H = tempfile.gettempdir(), os.path.expanduser("~")
def seen(): return sorted({{*os.listdir(T)}} - {MOUNTED}), sorted(os.listdir(H))
"""


@pytest.fixture
async def there(walled: Sandboxes, tmp_path: Path, request: pytest.FixtureRequest) -> Steps:
    """A session in a sandbox of every level, and elsewhere."""
    kind = request.node.callspec.params["walled"]
    if kind == REAL:
        pytest.skip("its folder is on another machine")
    if kind == DAYTONA:
        prefix, machines = request.getfixturevalue("in_daytona").prefix, request.getfixturevalue("emulated")
        made = Steps(walled, DAYTONA, lambda id: machines.home(f"{prefix}-{id}") / "stepwell")
    elif kind == DOCKER:
        prefix, engine = request.getfixturevalue("in_docker").prefix, request.getfixturevalue("engine")
        made = Steps(walled, DOCKER, lambda id: engine.home(f"{prefix}-{id}") / "stepwell")
    else:
        made = Steps(walled, "local", lambda id: tmp_path / "sandboxes" / id)
    await made.open()
    await made.run(LIST)
    return made


async def _back_to(steps: Steps, id: str) -> None:
    """Go back in the same sandbox, as the graph does."""
    spool = steps.folder("spool")
    await steps.sandbox.supply_blobs([spool / name for name in os.listdir(spool)])  # noqa: PTH208
    await steps.sandbox.restore(id)


async def test_files_that_were_made_later_are_gone_after_going_back(there: Steps) -> None:
    await there.run("open(T + '/a', 'w').write('1'), open(H + '/a', 'w').write('1')")
    one = await there.keep()
    await there.run("""
        os.remove(T + '/a'); os.makedirs(T + '/new/er'); open(T + '/new/er/file', 'w').write('2')
        open(H + '/b', 'w').write('2'); open(T + '/large', 'wb').truncate(150_000_000)
    """)
    await there.keep()
    await _back_to(there, one.id)
    assert await there.run("print(seen())") == "(['a'], ['a'])\n"
    await there.run("open(T + '/after', 'w').write('3')")
    await there.take_up()
    await there.run(LIST)
    assert await there.run("print(seen())") == "(['a', 'after'], ['a'])\n"


async def test_what_a_session_that_was_never_kept_has_left_is_gone_after_a_reset(there: Steps) -> None:
    await there.run("open(T + '/a', 'w').write('1'), open(H + '/a', 'w').write('1')")
    await there.sandbox.reset()
    await there.run(LIST)
    assert await there.run("print(seen())") == "([], [])\n"


async def test_links_and_open_files_are_those_of_the_sandbox(there: Steps) -> None:
    await there.run("""
        file = open(T + '/a', 'w'); file.write('1'); file.flush()
        os.symlink(T + '/a', T + '/absolute'); os.symlink('a', T + '/relative')
    """)
    await there.take_up()
    await there.run(LIST)
    await there.run("file.write('2'); file.flush()")
    assert await there.run("print([open(T + '/' + name).read() for name in ('a', 'absolute', 'relative')])") == (
        "['12', '12', '12']\n"
    )
    assert await there.run("print(os.readlink(T + '/absolute') == T + '/a')") == "True\n"


async def test_names_that_programs_use_are_kept_of_files(steps: Steps) -> None:
    await steps.run(LIST)
    await steps.run("""
        for path in (T + '/torch_model.pt', T + '/pip-freeze.txt', H + '/pymp-notes'): open(path, 'w').write('x')
        os.makedirs(H + '/matplotlib'); open(H + '/matplotlib/style', 'w').write('x')
        os.makedirs(T + '/pymp-1'); os.makedirs(H + '/.cache')
    """)
    await steps.take_up()
    await steps.run(LIST)
    assert await steps.run("print(seen())") == (
        "(['pip-freeze.txt', 'torch_model.pt'], ['matplotlib', 'pymp-notes'])\n"
    )


async def test_of_thousands_of_files_a_few_are_named(steps: Steps) -> None:
    await steps.run(LIST)
    await steps.run("for i in range(2_600): open(f'{T}/f{i:05}', 'w').close()")
    taken = await steps.keep()
    assert len(taken.lost) == 21
    assert taken.lost[0].name.endswith("/f02000")
    assert taken.lost[-1].name.endswith("/*")
    assert taken.lost[-1].reason.startswith("580 more; ")


async def test_what_cannot_be_kept_is_named_with_its_folder(steps: Steps) -> None:
    await steps.run(LIST)
    await steps.run("os.mkfifo(T + '/pipe'); os.symlink('/nowhere', H + '/nowhere'); print(T, H)")
    folders = (await steps.run("print(T, H)")).split()
    taken = await steps.keep()
    assert {one.name for one in taken.lost} == {folders[0] + "/pipe", folders[1] + "/nowhere"}


async def test_a_folder_that_a_cell_put_in_the_place_of_the_home_is_left_alone(tmp_path: Path, cache: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x", encoding="utf-8")
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation="process") as opened:
        steps = Steps(opened, "local", lambda id: tmp_path / "sandboxes" / id)
        await steps.open()
        await steps.run(LIST)
        one = await steps.keep()
        await steps.run(f"os.rmdir(H); os.symlink({str(precious)!r}, H)")
        await _back_to(steps, one.id)
        await steps.sandbox.reset()
    assert (precious / "file").read_text(encoding="utf-8") == "x"
