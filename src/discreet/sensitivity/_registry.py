"""Statistics by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.errors import ParameterError
from discreet.sensitivity._categories import CountDistinct, Mode
from discreet.sensitivity._mean import Count, Mean, Sum
from discreet.sensitivity._quantile import Quantile
from discreet.sensitivity._slope import Slope
from discreet.sensitivity._statistic import Statistic
from discreet.sensitivity._variance import Variance

__all__ = ["statistic"]

_NAMED: dict[str, Callable[..., Statistic]] = {
    "count": Count,
    "count_distinct": CountDistinct,
    "max": lambda: Quantile(1),
    "mean": Mean,
    "median": lambda: Quantile("1/2"),
    "min": lambda: Quantile(0),
    "mode": Mode,
    "quantile": Quantile,
    "slope": Slope,
    "sum": Sum,
    "variance": Variance,
}


def statistic(name: str | Statistic, *parameters: Any) -> Statistic:
    """The statistic of that name; an object that is a `Statistic` already is returned as it is.

    Names: ``count``, ``count_distinct``, ``max``, ``mean``, ``median``, ``min``, ``mode`` (with its domain),
    ``quantile`` (with q), ``slope`` (with the bounds of the answer), ``sum``, ``variance``.

    Costs no privacy. Raises `ParameterError` if the name is unknown or its parameters are wrong.

    >>> statistic("quantile", 0.25)
    Quantile(q=0.25)
    """
    if not isinstance(name, str):
        if (
            parameters
            or isinstance(name, type)
            or not all(hasattr(name, each) for each in ("value", "global_sensitivity", "profile"))
        ):
            raise ParameterError("a statistic must be a name, or an object with value, global_sensitivity and profile")
        return name
    if name not in _NAMED:
        raise ParameterError(f"unknown statistic {name!r}; choose one of {', '.join(_NAMED)}, or bring a Statistic")
    try:
        return _NAMED[name](*parameters)
    except TypeError as error:
        raise ParameterError(
            f"statistic {name!r} takes other parameters than {parameters!r}; "
            "'quantile' takes q, 'mode' its domain, 'slope' the bounds of the answer, the others none"
        ) from error
