"""Statistics in plain Python, for the answers."""

import math
import statistics
from collections.abc import Sequence


def welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Welch's t of two samples, and its degrees of freedom."""
    spread, other_spread = statistics.variance(one) / len(one), statistics.variance(other) / len(other)
    t = (statistics.mean(one) - statistics.mean(other)) / math.sqrt(spread + other_spread)
    lower = spread**2 / (len(one) - 1) + other_spread**2 / (len(other) - 1)
    return t, (spread + other_spread) ** 2 / lower


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the line by least squares."""
    return statistics.linear_regression(x, y).slope
