"""The sandbox benchmark says what was measured, and judges it by the aims."""

from typing import Any

from rich.console import Console

from bench.sandbox_results import POOL, RIVAL, UNPOOLED, judge, percentile, seconds, table


def answers(**changes: Any) -> dict[str, dict[str, list[dict[str, Any]]]]:
    ours: dict[str, list[dict[str, Any]]] = {
        "first": [{"seconds": 0.5}, {"seconds": 0.001}, {"seconds": 0.003}, {"seconds": 0.002}],
        "pandas": [{"seconds": 0.5}, {"seconds": 0.005}, {"seconds": 0.007}],
        "cells": [{"seconds": [0.0003] * 99 + [0.009]}],
        "memory": [{"each": 8e6, "unshared": 6e6}],
        "output": [{"seconds": 0.2, "bytes": 1e6}],
        "prints": [{"late": True}],
        "recover": [{"seconds": 0.01, "kept": True, "how": "fork"}],
    }
    return {
        POOL: {**ours, **changes},
        UNPOOLED: {"pandas": [{"seconds": 0.02}]},
        RIVAL: {"pandas": [{"seconds": 1.2}], "recover": [{"seconds": 0.6, "kept": False, "how": "a new process"}]},
        "broken": {"first": [{"failed": "it broke"}]},
    }


def test_all_aims_are_met_by_what_meets_them() -> None:
    aims = judge(answers())
    assert [aim.met for aim in aims] == [True] * 6
    assert "200 times" in aims[2].reached


def test_each_aim_is_missed_by_what_misses_it() -> None:
    def met(**changes: Any) -> list[bool]:
        return [aim.met for aim in judge(answers(**changes))]

    assert met(pandas=[{"seconds": 0.04}]) == [True, False, False, True, True, True]
    assert met(cells=[{"seconds": [0.0006]}]) == [True, True, True, False, True, True]
    assert met(memory=[{"each": 11e6, "unshared": 1e6}]) == [True, True, True, True, False, True]
    assert met(recover=[{"seconds": 0.01, "kept": True, "how": "snapshot"}])[-1] is False
    assert met(recover=[{"seconds": 0.01, "kept": False, "how": "fork"}])[-1] is False
    assert met(recover=[{"seconds": 0.03, "kept": True, "how": "fork"}])[-1] is False


def test_what_was_not_measured_is_not_met() -> None:
    aims = judge({})
    assert {(aim.reached, aim.met) for aim in aims} == {("not measured", False)}


def test_the_table_says_what_failed_what_was_late_and_what_was_lost() -> None:
    console = Console(width=240)
    with console.capture() as printed:
        console.print(table(answers(), "Sandboxes"))
    text = printed.get()
    assert "2 (1)" in text  # the first round warms up
    assert "0.3" in text
    assert "not in time" in text
    assert "fails" in text
    assert "10 (fork)" in text
    assert "600 (a new process, variables lost)" in text


def test_percentiles_and_warm_up() -> None:
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([float(number) for number in range(1, 101)], 99) == 99.0
    assert percentile([1.0], 1) == 1.0
    assert seconds([{"seconds": 9}, {"failed": "x"}, {"seconds": 1}]) == [1.0]
    assert seconds([{"seconds": 9}]) == [9.0]
