"""What a cell may ask of objects is told by the names in its code, not by texts and variables of the same names."""

import pytest

from sandboxes.inside.kernel.snapshots.objects.id_numbers import are_asked_for
from sandboxes.inside.kernel.snapshots.objects.instances import use_dictionaries


@pytest.mark.parametrize(
    "source", ["a = id(x)", "seen = set(map(id, xs))", "import builtins\nf(builtins.id, 1); g(id)"]
)
def test_one_that_calls_or_hands_on_the_function_does(source: str) -> None:
    assert are_asked_for(source)


@pytest.mark.parametrize(
    "source",
    [
        "db.execute('select id, name from t where (id) > 3')",
        'people = [{"id": i, "name": i}]',
        "for id, row in rows: print(id, row)",
        "def one(id): return f(id)",
        "%%sql\nselect id, name from t",
        "frame.id()",
        "x = 1",
    ],
)
def test_one_with_a_text_or_a_variable_of_that_name_does_not(source: str) -> None:
    assert not are_asked_for(source)


@pytest.mark.parametrize("source", ["vars(x)['a'] = 1", "held = x.__dict__", "getattr(x, '__dict__')", "f = vars"])
def test_one_that_may_hold_attributes_is_seen(source: str) -> None:
    assert use_dictionaries(source)


@pytest.mark.parametrize("source", ["print('look at vars or __dict__')", "x.a = 1", "my_vars = 1"])
def test_one_that_speaks_of_them_does_not(source: str) -> None:
    assert not use_dictionaries(source)
