"""The smallest noise, the most steps, the largest sampling rate that a budget allows.

What is returned was itself checked: it fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

from discreet.errors import ParameterError
from discreet.privacy._gauge import gauge_of, verdict_of
from discreet.privacy._loss import Loss
from discreet.privacy._search import Range, Search

__all__ = ["solve"]

_LOW, _HIGH, _MOST_WHOLE = 1e-9, 1e9, 10**12


@overload
def solve(
    make_loss: Callable[[int], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: Literal[True],
) -> int: ...
@overload
def solve(
    make_loss: Callable[[float], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: Literal[False] = False,
) -> float: ...
def solve(
    make_loss: Callable[[Any], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
) -> float:
    """Return the x at which ``make_loss(x)`` only just fits the budget: the least noise, the most steps, or the like.

    The cost must only rise or only fall with x > 0; which of the two is found out. The answer itself fits
    (`Loss.fits`), and a value 1e-4 of it cheaper in noise, or dearer in privacy, does not; with ``whole=True`` it is a
    whole number and its neighbour does not. Without `low` and `high` the search leaves from 1 and goes no further than
    `make_loss` accepts. Costs nothing: no data are seen. Raises `ParameterError` if nothing in the range fits, or if
    everything does, for then the budget does not decide.

    >>> from discreet.privacy import approx, gaussian, pure
    >>> noise = solve(lambda noise: gaussian(noise), budget=approx(1, 1e-5))
    >>> round(noise, 2)
    3.73
    >>> solve(lambda steps: steps * pure(0.1), budget=pure(3), whole=True)
    30
    """
    least, most = _range(low, high, whole=whole)
    limits = Range(least, most, whole=whole, lenient_low=low is None, lenient_high=high is None)
    for gauge in (gauge_of(budget), verdict_of(budget)):
        search = Search(make_loss, gauge, limits)
        found = search.run()
        if make_loss(found).fits(budget):
            return found
    raise ParameterError("the loss neither only rises nor only falls with its argument, so no value can be trusted")


def _range(low: float | None, high: float | None, *, whole: bool) -> tuple[float, float]:
    least = (1 if whole else _LOW) if low is None else low
    most = (_MOST_WHOLE if whole else _HIGH) if high is None else high
    if whole:
        if not all(math.isfinite(end) for end in (least, most)):
            raise ParameterError(f"low and high must be finite numbers, got {low} and {high}")
        least, most = math.ceil(least), math.floor(most)
    if not 0 < least <= most < math.inf:
        raise ParameterError(f"low and high must be finite, with 0 < low <= high, got {least:g} and {most:g}")
    return least, most
