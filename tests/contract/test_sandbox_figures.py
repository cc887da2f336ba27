"""Figures become PNG files without savefig, once each, with every glyph."""

from pathlib import Path

import pytest

from sandboxes.base import Sandbox
from sandboxes.results import CellResult
from tests.contract.conftest import Run, fine, has_shared_memory, printed

PLT = "import matplotlib.pyplot as plt\n"


def pictures(result: CellResult) -> list[tuple[str, str]]:
    return [(shown.kind, shown.path) for shown in result.displays if shown.path]


async def test_open_figures_are_saved(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    result = fine(
        await run(PLT + "plt.plot([1, 2]); plt.title('Rise'); plt.xlabel('day')\nplt.figure(); plt.bar([1], [2]);")
    )
    assert pictures(result) == [("figure", "figures/cell-001-1.png"), ("figure", "figures/cell-001-2.png")]
    assert result.displays[0].text == "figure: Rise (day)"
    assert [file.path for file in result.files] == ["figures/cell-001-1.png", "figures/cell-001-2.png"]
    await sandbox.fetch("figures/cell-001-1.png", tmp_path / "one.png", max_bytes=1_000_000)
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert result.stderr.text == ""
    assert pictures(fine(await run("1"))) == []


async def test_figures_are_saved_after_an_error(run: Run) -> None:
    result = await run(PLT + "plt.plot([1, 2])\n1 / 0")
    assert result.status == "error"
    assert pictures(result) == [("figure", "figures/cell-001-1.png")]


@pytest.mark.slow
async def test_a_figure_that_the_cell_saved_is_not_saved_again(run: Run) -> None:
    number = 0
    for use in ("", "import matplotlib\nmatplotlib.use('Agg')\n", "plt.switch_backend('agg')\n"):
        for ending in ("png", "pdf", "svg"):
            number += 1
            name = f"outputs/plot-{number}.{ending}"
            code = PLT + use + f"plt.plot([1, 2])\nplt.savefig({name!r}, bbox_inches='tight', dpi=50)\nplt.figure();"
            result = fine(await run(code))
            assert [file.path for file in result.files] == [f"figures/cell-{number:03}-1.png", name], (use, ending)
            assert len(pictures(result)) == 1, (use, ending)
    assert pictures(fine(await run("1"))) == []


async def test_saving_elsewhere_does_not_count(run: Run) -> None:
    code = "import io, os\nplt.plot([1, 2])\nplt.savefig(io.BytesIO())\nplt.savefig(os.environ['TMPDIR'] + '/x.png');"
    assert len(pictures(fine(await run(PLT + code)))) == 1


async def test_show_ends_a_figure_as_in_a_notebook(run: Run) -> None:
    code = PLT + "for column in 'abc':\n    plt.plot([1, 2], label=column)\n    plt.show()\nprint(plt.get_fignums())"
    result = fine(await run(code))
    assert len(pictures(result)) == 3
    assert result.stdout.text == "[]\n"
    assert result.stderr.text == ""


async def test_a_figure_as_the_value_is_shown_once(run: Run) -> None:
    assert pictures(fine(await run(PLT + "fig, ax = plt.subplots()\nfig"))) == [("result", "figures/cell-001-1.png")]
    assert pictures(fine(await run("from matplotlib.figure import Figure\nFigure()"))) == [
        ("result", "figures/cell-002-1.png")
    ]


async def test_a_figure_that_cannot_be_drawn_is_told_of(run: Run) -> None:
    result = fine(await run(PLT + "plt.title(r'$\\frac{1$');"))
    assert pictures(result) == []
    assert "could not be drawn: ValueError" in result.displays[0].text
    assert len(pictures(fine(await run("plt.plot([1]);")))) == 1


async def test_seaborn_styles_and_animations_work(run: Run) -> None:
    code = (
        PLT
        + """
import seaborn as sns, matplotlib.animation as animation
sns.set_theme(); plt.style.use('ggplot')
fig, ax = plt.subplots()
line, = ax.plot([0, 1])
animation.FuncAnimation(fig, lambda i: [line], frames=2).save('outputs/moving.gif', writer='pillow')
"""
    )
    result = fine(await run(code))
    assert "outputs/moving.gif" in [file.path for file in result.files]


async def test_a_huge_figure_is_made_smaller(run: Run, sandbox: Sandbox, tmp_path: Path) -> None:
    code = PLT + "plt.figure(figsize=(300, 200));"
    (shown,) = pictures(fine(await run(code)))
    size = f"from PIL import Image\nprint(max(Image.open({shown[1]!r}).size))"
    assert int(printed(await run(size))) <= 4_100


GLYPHS = """
import warnings
warnings.simplefilter('error')
import io
import matplotlib.pyplot as plt
from PIL import Image
{style}
def drawn(text):
    fig = plt.figure(figsize=(1, 1))
    fig.text(0.5, 0.5, text, size=40, {options})
    out = io.BytesIO()
    fig.savefig(out, format='{format}')
    plt.close(fig)
    return Image.open(out).tobytes() if '{format}' == 'png' else out.getvalue()
pictures = [drawn(text) for text in '日あ한국本']
print(len(set(pictures)))
"""


async def test_chinese_japanese_and_korean_glyphs_are_drawn(run: Run) -> None:
    for style, options, kind in (
        ("", "", "png"),
        ("import seaborn as sns; sns.set_theme()", "", "png"),
        ("plt.style.use('ggplot'); plt.rcParams['font.family'] = 'serif'", "weight='bold'", "png"),
        ("plt.rcParams['font.sans-serif'] = ['DejaVu Sans Mono']", "family='monospace'", "png"),
        ("", "", "svg"),
    ):
        code = GLYPHS.format(style=f"plt.rcdefaults(); {style}", options=options, format=kind)
        assert printed(await run(code)) == "5\n", (style, kind)


async def test_glyphs_of_a_saved_figure_raise_no_warning(run: Run) -> None:
    result = fine(await run(PLT + "plt.title('日本語 한국어'); plt.xlabel('価格 가격');"))
    assert result.stderr.text == ""
    assert result.displays[0].text == "figure: 日本語 한국어 (価格 가격)"


async def test_a_plain_figure_outside_pyplot_has_the_glyphs_too(run: Run) -> None:
    code = """
import warnings; warnings.simplefilter('error')
from matplotlib.figure import Figure
fig = Figure(); fig.text(0.5, 0.5, '日本 한국'); fig.savefig('outputs/plain.png')
"""
    assert [file.path for file in fine(await run(code)).files] == ["outputs/plain.png"]


async def test_a_child_process_draws_without_the_kernel(sandbox: Sandbox, run: Run) -> None:
    code = """
import subprocess, sys
script = "import matplotlib.pyplot as plt; plt.plot([1]); plt.savefig('child.png')"
subprocess.run([sys.executable, '-c', script], check=True)
import multiprocessing, os
import matplotlib.pyplot as plt
def draw(i):
    plt.figure(); plt.show(); return len(plt.get_fignums())
with multiprocessing.Pool(1) as pool: print(pool.map(draw, [1]))
"""
    result = await run(code)
    assert [file.path for file in result.files] == ["child.png"]
    if has_shared_memory(sandbox):
        assert fine(result).stdout.text == "[1]\n"


async def test_that_fonts_are_being_looked_for_is_no_output_of_a_cell(run: Run) -> None:
    code = """
import matplotlib, logging
logging.getLogger('matplotlib.font_manager').warning('Matplotlib is building the font cache; this may take a moment.')
logging.getLogger('matplotlib.font_manager').warning('findfont: Font family Nowhere not found.')
"""
    result = await run(code)
    assert "Nowhere" in result.stderr.text
    assert "font cache" not in result.stderr.text
