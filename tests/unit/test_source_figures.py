"""The source keeps what its layout promises: functions that fit on a screen, and little that is written twice."""

from bench.figures import duplicates, functions, read, sources

MAX_LINES = 60
MAX_DUPLICATES = 5


def test_functions_are_short_and_little_is_written_twice() -> None:
    texts, trees = read(sources())
    assert [one for one in functions(trees) if one[0] > MAX_LINES] == []
    assert duplicates(texts, trees) <= MAX_DUPLICATES
