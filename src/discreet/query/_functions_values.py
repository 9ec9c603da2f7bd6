"""What functions of numbers give in Python, where that is surely what an engine gives."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["cut_quotient", "divide", "doubles", "remainder", "signum", "truncated"]


def divide(a: float, b: float) -> float | None:
    """The quotient; None where an engine has null."""
    return None if b == 0 else float(a) / float(b)


def remainder(a: float, b: float) -> float | None:
    """The remainder with the sign of a; None where an engine has null."""
    return None if b == 0 else math.fmod(a, b)


def cut_quotient(a: float, b: float) -> int | None:
    """The quotient without its fraction; None where an engine has null."""
    return None if b == 0 else math.trunc(float(a) / float(b))


def doubles(function: Callable[..., float]) -> Callable[..., float]:
    """A function of doubles; raises `ValueError` for a result that is not finite."""

    def evaluate(*values: float) -> float:
        value = float(function(*map(float, values)))
        if not math.isfinite(value):
            raise ValueError
        return value

    return evaluate


def truncated(x: float) -> int:
    """The number without its fraction."""
    return math.trunc(x)


def signum(x: float) -> int:
    """-1, 0 or 1."""
    return (x > 0) - (x < 0)
