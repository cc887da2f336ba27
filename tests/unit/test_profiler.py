"""The profiler run as a program: one JSON list, in order, bounded, and no file costs another."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import profiled_files as files

PROFILER = Path(__file__).parents[2] / "sandboxes" / "inside" / "profiler"


def run(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> list[dict[str, str]]:
    """Run the profiler in a folder exactly as a sandbox does."""
    done = subprocess.run(
        [sys.executable, "-P", "-s", str(PROFILER), *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    entries: list[dict[str, str]] = json.loads(done.stdout)
    return entries


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return folder


def test_each_path_gets_an_entry_in_the_order_given(tmp_path: Path, inputs: Path) -> None:
    files.german_csv(inputs)
    files.workbook(inputs)
    paths = ["inputs/book.xlsx", "inputs/missing.csv", "inputs/german.csv"]
    entries = run(tmp_path, "--chars", "2000", *paths)
    assert [entry["path"] for entry in entries] == paths
    assert [entry["problem"] for entry in entries] == ["", "there is no such file", ""]
    assert [set(entry) for entry in entries] == [{"path", "abstract", "problem"}] * 3
    assert all(entry["abstract"].startswith(f"### {entry['path']}\n") for entry in entries)


def test_no_paths_give_an_empty_list(tmp_path: Path) -> None:
    assert run(tmp_path) == []


def test_broken_files_beside_a_good_one_cost_it_nothing(tmp_path: Path, inputs: Path) -> None:
    bad = [
        files.empty_file(inputs),
        files.truncated_workbook(inputs),
        files.login_workbook(inputs),
        files.protected_workbook(inputs),
        files.binary_file(inputs),
        files.png_file(inputs, truncated=True),
    ]
    good = files.gbk_csv(inputs)
    entries = run(tmp_path, *[f"inputs/{path.name}" for path in [*bad, good]])
    assert all(entry["problem"] for entry in entries[:-1])
    assert entries[-1]["problem"] == ""
    assert "28 rows (exact)" in entries[-1]["abstract"]


@pytest.mark.parametrize("chars", [300, *(pytest.param(chars, marks=pytest.mark.slow) for chars in (1, 60, 700, 2000))])
def test_no_abstract_is_longer_than_asked(tmp_path: Path, inputs: Path, chars: int) -> None:
    made = [
        files.wide_csv(inputs),
        files.workbook(inputs),
        files.nested_json(inputs),
        files.sqlite_file(inputs),
        files.xml_file(inputs),
        files.zip_of_two(inputs),
        files.pdf_file(inputs),
    ]
    long_name = inputs / f"{'n' * 200}.csv"
    long_name.write_text("a,b\n" + f"{'x' * 100_000},1\n" * 3)
    entries = run(tmp_path, "--chars", str(chars), *[f"inputs/{path.name}" for path in [*made, long_name]])
    assert [len(entry["abstract"]) <= chars for entry in entries] == [True] * len(entries)
    assert all(entry["problem"] == "" for entry in entries)


def test_a_csv_is_profiled_without_importing_an_analysis_library(tmp_path: Path, inputs: Path) -> None:
    files.german_csv(inputs)
    forbidden = tmp_path / "forbidden"
    forbidden.mkdir()
    for name in ("pandas", "numpy", "openpyxl", "pyarrow", "duckdb", "xlrd", "pypdf", "lxml", "charset_normalizer"):
        (forbidden / f"{name}.py").write_text("import os\nos._exit(7)\n")
    (entry,) = run(tmp_path, "inputs/german.csv", environment={"PYTHONPATH": str(forbidden)})
    assert entry["problem"] == ""
    assert "100 rows (exact)" in entry["abstract"]


def test_a_missing_library_is_named_and_the_rest_goes_on(tmp_path: Path, inputs: Path) -> None:
    made = [
        files.workbook(inputs),
        files.biff2_workbook(inputs),
        files.parquet_file(inputs, rows=100),
        files.duckdb_file(inputs),
        files.pdf_file(inputs),
        files.gbk_csv(inputs),
    ]
    absent = tmp_path / "absent"
    absent.mkdir()
    for name in ("pandas", "openpyxl", "xlrd", "pyarrow", "duckdb", "pypdf", "charset_normalizer"):
        (absent / f"{name}.py").write_text(f"raise ImportError('no {name}')\n")
    entries = run(tmp_path, *[f"inputs/{path.name}" for path in made], environment={"PYTHONPATH": str(absent)})
    assert [entry["problem"] for entry in entries] == [""] * len(made)
    for entry, library in zip(entries, ("openpyxl", "xlrd", "pyarrow", "duckdb", "pypdf"), strict=False):
        assert f"({library})" in entry["abstract"]
    assert "sheets: Q1, codes, sums" in entries[0]["abstract"]
    assert "28 rows (exact)" in entries[-1]["abstract"]


def test_a_parser_that_dies_is_a_problem_of_its_file_only(tmp_path: Path, inputs: Path) -> None:
    files.workbook(inputs)
    files.gbk_csv(inputs)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "openpyxl.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    first, second = run(tmp_path, "inputs/book.xlsx", "inputs/gbk.csv", environment={"PYTHONPATH": str(broken)})
    assert first["problem"] == "the program that reads it broke down (signal 11)"
    assert second["problem"] == ""


def test_a_parser_that_hangs_is_ended_and_what_is_known_is_told(tmp_path: Path, inputs: Path) -> None:
    files.workbook(inputs)
    files.gbk_csv(inputs)
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "openpyxl.py").write_text("print('noise', flush=True)\nimport time\ntime.sleep(600)\n")
    first, second = run(
        tmp_path, "--seconds", "0.5", "inputs/book.xlsx", "inputs/gbk.csv", environment={"PYTHONPATH": str(slow)}
    )
    assert first["problem"] == ""
    assert "an Excel workbook (xlsx)" in first["abstract"]
    assert "ran out" in first["abstract"]
    assert "28 rows (exact)" in second["abstract"]


def test_when_the_time_for_all_is_used_up_the_rest_is_named(tmp_path: Path, inputs: Path) -> None:
    files.gbk_csv(inputs)
    (entry,) = run(tmp_path, "--total-seconds", "0", "inputs/gbk.csv")
    assert entry["problem"] == ""
    assert "not looked at" in entry["abstract"]


def test_odd_names_and_things_that_are_no_files(tmp_path: Path, inputs: Path) -> None:
    odd = inputs / 'odd "name" ü.csv'
    odd.write_text("a,b\n1,2\n")
    (inputs / "folder").mkdir()
    os.mkfifo(inputs / "pipe")
    entries = run(tmp_path, f"inputs/{odd.name}", "inputs/folder", "inputs/pipe")
    assert entries[0]["path"] == f"inputs/{odd.name}"
    assert "pd.read_csv('inputs/odd \"name\" ü.csv')" in entries[0]["abstract"]
    assert entries[1]["problem"] == "it is a folder, not a file"
    assert entries[2]["problem"] == "it is not a regular file"


@pytest.mark.slow
def test_a_large_file_is_sampled_with_flat_memory(tmp_path: Path, inputs: Path) -> None:
    block = "".join(f'{n},{n * 0.5},"city, {n % 50}",note {n}\n' for n in range(100_000)).encode()
    with (inputs / "large.csv").open("wb") as stream:
        stream.write(b"id,amount,city,note\n")
        while stream.tell() < 150_000_000:
            stream.write(block)
    rows = (stream_size(inputs / "large.csv") // len(block)) * 100_000
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "print(); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", measure, sys.executable, "-P", "-s", str(PROFILER), "inputs/large.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert time.monotonic() - begun < 120
    text, kilobytes = done.stdout.strip().rsplit("\n", 1)
    abstract = json.loads(text)[0]["abstract"]
    estimate = int(abstract.split("about ")[1].split(" rows")[0].replace(",", ""))
    assert abs(estimate - rows) < 0.05 * rows
    assert "(estimated)" in abstract
    assert int(kilobytes) < 200_000


def stream_size(path: Path) -> int:
    return path.stat().st_size
