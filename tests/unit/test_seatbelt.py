"""The Seatbelt profile is text that macOS reads; here it can only be looked at."""

import sys
from pathlib import Path

from sandboxes.local import wrappers


def test_everything_is_refused_but_what_is_named() -> None:
    lines = wrappers.seatbelt_profile(sys.executable, read=["/data"], write=["/own/work"]).splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert lines[-1] == "(deny network*)"
    writes = [line for line in lines if "file-write*" in line]
    assert writes == ['(allow file-write* (subpath "/own/work"))']
    reads = next(line for line in lines if line.startswith("(allow file-read* (subpath"))
    assert '(subpath "/data")' in reads
    assert str(Path.home()) not in reads.replace(sys.prefix, "").replace(sys.base_prefix, "")


def test_brackets_are_closed_and_quotes_in_paths_cannot_end_a_string() -> None:
    text = wrappers.seatbelt_profile(sys.executable, read=['/a"b) (allow default'], write=["/c\\d"])
    assert '(subpath "/a\\"b) (allow default")' in text
    assert '(subpath "/c\\\\d")' in text
    outside = "".join(part for index, part in enumerate(text.replace('\\"', "").split('"')) if index % 2 == 0)
    assert outside.count("(") == outside.count(")")


def test_there_is_none_elsewhere() -> None:
    assert wrappers.seatbelt() == "" or sys.platform == "darwin"
