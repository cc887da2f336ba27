"""Cells in other languages and with magics become Python that says what is wrong, before anything runs."""

import ast

import pytest

from nodes.cell_magics.languages import CellLanguageError, as_python
from nodes.cell_magics.magics import python_of, translate


def test_sql_asks_the_sessions_duckdb_and_shows_a_frame() -> None:
    assert python_of("%%sql totals\nselect 1 as x;\n") == (
        'import duckdb\ntotals = duckdb.execute("select 1 as x").df()\ntotals'
    )
    assert python_of("%%sql\nselect 1") == 'import duckdb\nresult = duckdb.execute("select 1").df()\nresult'
    assert python_of("%%sql totals <<\nselect 1").startswith("import duckdb\ntotals = ")


def test_a_query_stays_what_it_is() -> None:
    query = 'select \'{x}\' as "a\\b", $$t$$\nfrom "my table"\nwhere x = \'it\'\'s\' -- ü {{y}} """'
    code = python_of(f"%%sql\n{query}")
    (text,) = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert text == query


def test_comments_above_stay_above() -> None:
    assert python_of("# step 2: Sum up\n\n%%sql t\nselect 1").splitlines()[:2] == ["# step 2: Sum up", "import duckdb"]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%sql 2x\nselect 1", "no name that a frame can have"),
        ("%%sql class\nselect 1", "no name that a frame can have"),
        ("%%sql a b\nselect 1", "%%sql takes a name"),
        ("%%sql x -i y\nselect 1", "%%sql takes a name"),
        ("%%sql --db\nselect 1", "--db of %%sql wants a file"),
        ("%%sql 'x\nselect 1", "cannot be read"),
        ("%%sql t\n  \n", "stands above nothing"),
        ("%%r -o x;y\n1", "no name that a frame can have"),
        ("%%js sales\n1", "%%js takes -i FRAME"),
        ("%%html\n<b>x</b>", "%%html cannot run"),
        ("%%julia\n1", "%%julia cannot run: it is another language"),
        ("%%nonsense\n1", "%%nonsense cannot run"),
    ],
)
def test_a_wrong_first_line_is_an_error_of_the_cell(cell: str, says: str) -> None:
    code = python_of(cell)
    assert f"# {cell.splitlines()[0]}" in code
    with pytest.raises(SyntaxError, match=says):
        exec(compile(code, "<cell>", "exec"), {})


def test_lines_that_only_ipython_knows() -> None:
    code = python_of("%matplotlib inline\n%load_ext sql\nx = 7 % 2")
    assert code.splitlines() == [
        "# not run: %load_ext (extensions of IPython cannot be loaded)",
        "# %matplotlib inline",
        "# %load_ext sql",
        "x = 7 % 2",
    ]


@pytest.mark.parametrize("code", ["x = 1\n", "a %b", "def f(:", "'%%sql'\n1", "s = '''\n%%sql\n!ls\n'''", "%%", "!"])
def test_other_code_stays_as_it_is(code: str) -> None:
    if code in ("!", "%%"):
        ast.parse(python_of(code))
    else:
        assert python_of(code) == code


def test_javascript_of_a_notebook_is_its_pages() -> None:
    assert translate("%%js\nalert(1)", jupyter=True).not_run == ("%%js (it shows something on a notebook's page)",)
    assert "node" in translate("%%js\nconsole.log(1)").code
    assert translate("%%sql postgresql://host/db\nselect 1", jupyter=True).not_run[0].startswith("%%sql (it asks a")
    assert translate("%%sql\nsqlite:///x.db\nselect 1", jupyter=True).not_run[0].startswith("%%sql (it asks a")
    assert "duckdb.execute" in translate("%%sql\nselect 1", jupyter=True).code


def test_what_is_no_language_of_ours() -> None:
    assert as_python("julia", "", "1") is None
    with pytest.raises(CellLanguageError):
        as_python("SQL", "", "")
