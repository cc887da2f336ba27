"""Published names are such as every system takes, stable, and no two are one where case does not count."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.publishing import published_names, shown
from storage.safe_names import MAX_PART, MAX_PATH, RESERVED, safe_name, safe_names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("report.csv", "report.csv"),
        ("deep/er/report.csv", "deep/er/report.csv"),
        ("Ümsatz 2024 (final).xlsx", "Ümsatz 2024 (final).xlsx"),
        ("売上.csv", "売上.csv"),
        ("100%.csv", "100%.csv"),
        ("100%25.csv", "100%2525.csv"),
        ("a:b.csv", "a%3Ab.csv"),
        ("a<b>|c?*.csv", "a%3Cb%3E%7Cc%3F%2A.csv"),
        ("a\\b.csv", "a%5Cb.csv"),
        ('say "x".csv', "say %22x%22.csv"),
        ("line\nend.csv", "line%0Aend.csv"),
        ("\x1b[31mred.csv", "%1B[31mred.csv"),
        ("invoice\u202egpj.exe", "invoice%E2%80%AEgpj.exe"),
        ("bad-\udcff.txt", "bad-%FF.txt"),
        ("\ufeffa.csv", "%EF%BB%BFa.csv"),
        ("a.", "a%2E"),
        ("a. .", "a%2E%20%2E"),
        (" a ", "%20a%20"),
        ("...", "%2E%2E%2E"),
        ("  ", "%20%20"),
        ("con", "_con"),
        ("CON.txt", "_CON.txt"),
        ("nul .tar.gz", "_nul .tar.gz"),
        ("x/aux.csv/y", "x/_aux.csv/y"),
        ("COM¹.csv", "_COM¹.csv"),
        ("console.csv", "console.csv"),
        ("e\u0301.csv", "é.csv"),
        (".hidden", ".hidden"),
        ("family 👨\u200d👩\u200d👧.png", "family 👨\u200d👩\u200d👧.png"),
    ],
)
def test_a_name_keeps_what_every_system_takes(path: str, name: str) -> None:
    assert safe_name(path) == name


def test_a_long_name_keeps_its_beginning_and_its_suffix() -> None:
    name = safe_name("ü" * 400 + ".parquet")
    assert name.startswith("üüüü")
    assert name.endswith(".parquet")
    assert len(name.encode()) <= MAX_PART
    assert name != safe_name("ü" * 401 + ".parquet")
    deep = "/".join(["folder-" + "x" * 100] * 20) + "/last.csv"
    assert safe_name(deep).endswith("/last.csv")
    assert len(safe_name(deep).encode()) <= MAX_PATH


def test_names_that_differ_only_in_case_or_composition_are_told_apart() -> None:
    found = safe_names((path, path) for path in ("a.csv", "A.csv", "\u00e9.csv", "e\u0301.csv", "Data", "data/x.csv"))
    assert len({name.casefold() for name in found.values()}) == 6
    assert found["A.csv"] == "A.csv"
    assert found["a.csv"].startswith("a~")
    assert found["a.csv"].endswith(".csv")
    assert found["Data"] == "Data"
    assert found["data/x.csv"] != "data/x.csv"


def test_a_published_name_is_never_that_of_an_artifact_of_ours() -> None:
    found = published_names(["outputs/answer.md", "outputs/Analysis.py", "outputs/a.csv", "figures/1.png"])
    assert found == {
        "outputs/answer.md": "outputs/answer.md",
        "outputs/Analysis.py": "script-Analysis.py",
        "outputs/a.csv": "a.csv",
        "figures/1.png": "figures/1.png",
    }


PATHS = st.lists(
    st.lists(st.text(min_size=1, max_size=300).filter(lambda part: "/" not in part), min_size=1, max_size=4).map(
        "/".join
    ),
    unique=True,
    max_size=8,
)


@given(PATHS)
def test_whatever_the_names_are_what_is_published_is_safe_and_stable(paths: list[str]) -> None:
    found = safe_names((path, path) for path in paths)
    assert set(found) == set(paths)
    assert found == safe_names((path, path) for path in reversed(paths))
    folded = [unicodedata.normalize("NFKC", name).casefold() for name in found.values()]
    assert len(set(folded)) == len(folded)
    for name in found.values():
        seen = "".join(one for one in name if one not in "\u200c\u200d" and unicodedata.category(one) != "Zs")
        assert seen.isprintable()
        for part in name.split("/"):
            assert 0 < len(part.encode()) <= MAX_PART
            assert not set(part) & set('<>:"\\|?*\0\n')
            assert part == part.strip(" ")
            assert not part.endswith(".")
            assert not RESERVED.fullmatch(part)


def test_what_cannot_be_seen_of_a_name_is_written_out() -> None:
    assert shown("outputs/売上.csv") == "outputs/売上.csv"
    assert shown("outputs/a\u202eb\n.csv") == "outputs/a\\u202eb\\n.csv"
