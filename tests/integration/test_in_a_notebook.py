"""In a notebook, whose event loop runs already, `await` works in a cell, and an answer shows itself."""

import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient

from graph.events import Finished

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ROOT / "docs" / "install.md").read_text().partition("```ipython\n")[2].partition("```")[0]


def finished(answer: str, **more: object) -> str:
    return Finished(thread="t", answer=answer, **more)._repr_html_()  # type: ignore[arg-type]


def test_an_answer_is_shown_as_a_table_and_its_files_are_named() -> None:
    table = "**North**\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    file = {"name": "<b>.png", "url": "/x/<b>.png", "size": 1, "sha256": "", "mime": "", "cell": 1}
    shown = finished(table, artifacts=[file], concerns=["1 < 2"])
    assert "<strong>North</strong>" in shown
    assert "<td>1</td>" in shown
    assert "&lt;b&gt;.png" in shown
    assert "Concern: 1 &lt; 2" in shown


@pytest.mark.parametrize(
    "answer",
    [
        "<script>steal()</script>",
        "<img src=x onerror=steal()>",
        "[a](javascript:steal())",
        "![a](https://example.org/seen.png)",
        "<iframe src=https://example.org></iframe>",
    ],
)
def test_nothing_of_an_answer_acts_in_the_notebook(answer: str) -> None:
    shown = finished(answer)
    assert "<script" not in shown
    assert "<img" not in shown
    assert "<iframe" not in shown
    assert 'href="javascript' not in shown


@pytest.mark.slow
async def test_the_documented_cells_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=start, display_name="this", language="python")

    assert "await stepwell.run(" in DOCUMENTED
    assert "stepwell.wait(" in DOCUMENTED
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("STEPWELL_ARTIFACTS", str(tmp_path / "out"))
    (tmp_path / "work" / "examples").symlink_to(ROOT / "examples")
    cells = [nbformat.v4.new_code_cell(code) for code in DOCUMENTED.split("\n\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=150, resources={"metadata": {"path": str(tmp_path / "work")}})
    client.create_kernel_manager().kernel_spec_manager = ThisPython()
    await client.async_execute()
    for cell in notebook.cells[-2:]:  # what was awaited in a cell, and what a function has waited for
        shown = cell.outputs[-1]
        assert "summary.xlsx" in shown["data"]["text/html"]
        assert "Finished(" in shown["data"]["text/plain"]
