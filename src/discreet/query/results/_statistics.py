"""From noisy sums and counts to the statistics that are read off them, each with its slopes by every noise.

The moments are of clamped values: a variance is that of the column cut off at its bounds. What limits the bounds put on
an answer are put on it again, at no cost: a variance lies in [0, (w/2)²] for bounds w apart, a correlation in [−1, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from discreet.query.measures._aggregates import Aggregate, Axis, Second
from discreet.query.results._dual import Dual, Floats, between, constant, div, missing_where, mul, sqrt, sub

__all__ = ["Sums", "exact_integers", "read"]

Sums = Sequence[Sequence[int]] | Mapping[int, Floats]
"""The noisy sums of each measure, by group: whole numbers, or doubles near them."""

Clamped = bool
_CLAMPED: Clamped = True
Reader = Callable[[Aggregate, Sums, Clamped], Dual]


def read(aggregate: Aggregate, sums: Sums, *, clamped: bool = True) -> Dual:
    """The aggregate in each group: post-processing of noisy sums. NaN where SQL says null.

    Not `clamped`, it is what the sums say before the limits that the bounds put on it: a mean beyond the bounds, a
    variance below 0 (and of that the negative root). No answer within the limits is nearer to it than to the clamped
    one, so that what noise does to it bounds what noise does to a value at a limit.

    >>> read(Aggregate("COUNT", "COUNT(*)", 0), [[3, 4]]).value
    array([3., 4.])
    """
    with np.errstate(all="ignore"):
        return _READERS[aggregate.kind](aggregate, sums, clamped)


def exact_integers(aggregate: Aggregate, sums: Sequence[Sequence[int]]) -> list[int] | None:
    """A count, or the SUM of whole numbers, exactly; None for other aggregates."""
    if not aggregate.integer:
        return None
    if aggregate.x is None:
        assert aggregate.count is not None
        return list(sums[aggregate.count])
    return [int(aggregate.x.step) * total for total in _uncentered(aggregate, aggregate.x, sums)]


def _uncentered(aggregate: Aggregate, x: Axis, sums: Sequence[Sequence[int]]) -> list[int]:
    if aggregate.count is None:
        return list(sums[x.total])
    return [total + x.center * n for total, n in zip(sums[x.total], sums[aggregate.count], strict=True)]


def _count(aggregate: Aggregate, sums: Sums, _: Clamped = _CLAMPED) -> Dual:
    assert aggregate.count is not None
    rows = np.array(sums[aggregate.count], dtype=np.float64)
    return Dual(rows, {aggregate.count: np.ones_like(rows)})


def _sum(aggregate: Aggregate, sums: Sums, _: Clamped = _CLAMPED) -> Dual:
    x = aggregate.x
    assert x is not None
    step = float(x.step)
    if isinstance(sums, Mapping):
        value = step * (sums[x.total] + (0.0 if aggregate.count is None else x.center * sums[aggregate.count]))
    else:
        value = step * np.array(_uncentered(aggregate, x, sums), dtype=np.float64)
    slopes = {x.total: np.full_like(value, step)}
    if aggregate.count is not None:
        slopes[aggregate.count] = np.full_like(value, step * x.center)
    return Dual(value, slopes)


def _mean(aggregate: Aggregate, x: Axis | None, sums: Sums, clamped: Clamped) -> Dual:
    """Σx / n, at least one row taken: the mean of nothing is the middle of the bounds."""
    assert aggregate.count is not None
    assert x is not None
    step, lower, upper = float(x.step), float(x.bounds.lower), float(x.bounds.upper)
    total = np.array(sums[x.total], dtype=np.float64)
    rows = np.maximum(np.array(sums[aggregate.count], dtype=np.float64), 1.0)
    mean = step * (total / rows + x.center)
    mean = np.clip(mean, lower, upper) if clamped else mean
    slopes = {x.total: step / rows, aggregate.count: (step * x.center - mean) / rows}
    return Dual(mean, slopes, linear=False, cap=upper - lower)


def _central(  # noqa: PLR0913, PLR0917
    aggregate: Aggregate, x: Axis | None, y: Axis | None, second: Second | None, sums: Sums, clamped: Clamped
) -> Dual:
    """Σxy / n − Σx · Σy / n², computed in whole numbers: a covariance, and with y = x a variance. Null for n < 1."""
    assert aggregate.count is not None
    assert x is not None
    assert y is not None
    assert second is not None
    unit, scale = 2**second.shift, float(x.step * y.step)
    where = (aggregate.count, x.total, y.total, second.total)
    n, a, b, p = (np.array(sums[i], dtype=np.float64) for i in where)
    n = np.where(n >= 1, n, np.nan)
    if isinstance(sums, Mapping):
        value = scale * (unit * (p / n + second.center) - (a / n) * (b / n))
    else:
        parts = zip(*(sums[i] for i in where), strict=True)
        exact = [n * unit * (p + second.center * n) - a * b for n, a, b, p in parts]
        value = scale * np.array(exact, dtype=np.float64) / (n * n)
    slopes = {
        second.total: scale * unit / n,
        aggregate.count: scale * (2 * a * b / n - unit * p) / (n * n),
        x.total: -scale * b / (n * n),
    }
    slopes[y.total] = slopes.get(y.total, 0.0) - scale * a / (n * n)
    most = _half_width(x) * _half_width(y)
    return _limited(0.0 if x == y else -most, Dual(value, slopes), most, clamped)


def _limited(lower: float, inner: Dual, upper: float, clamped: Clamped) -> Dual:
    return between(lower, inner, upper) if clamped else Dual(inner.value, inner.slopes, linear=False, cap=upper - lower)


def _root(inner: Dual, clamped: Clamped) -> Dual:
    """The square root, and not clamped the negative one of less than zero."""
    if clamped:
        return sqrt(inner)
    value = np.sign(inner.value) * np.sqrt(np.abs(inner.value))
    return Dual(value, inner.slopes, linear=False, cap=None if inner.cap is None else inner.cap**0.5)


def _half_width(x: Axis) -> float:
    return float((x.bounds.upper - x.bounds.lower) / 2)


def _variance(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    return _central(aggregate, aggregate.x, aggregate.x, aggregate.xx, sums, clamped)


def _covariance(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    return _central(aggregate, aggregate.x, aggregate.y, aggregate.xy, sums, clamped)


def _spread(aggregate: Aggregate, x: Axis | None, xx: Second | None, sums: Sums) -> Dual:
    """A variance to divide by: null where it is zero, or too near for the grid to tell."""
    assert x is not None
    assert xx is not None
    variance = _central(aggregate, x, x, xx, sums, _CLAMPED)
    finest = float(x.step**2 * 2**xx.shift) if xx.shift else 0.0
    return missing_where(variance.value <= finest, variance)


def _sampled(moment: Reader) -> Reader:
    """The moment times n / (n − 1): null for n ≤ 1, and at most twice as large."""

    def sample(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
        inner, n = moment(aggregate, sums, clamped), _count(aggregate, sums)
        corrected = mul(inner, div(n, sub(n, constant(1.0, len(n.value)))))
        cap = None if inner.cap is None else 2 * inner.cap
        return Dual(np.where(n.value > 1, corrected.value, np.nan), corrected.slopes, linear=False, cap=cap)

    return sample


def _correlation(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    x, y = _spread(aggregate, aggregate.x, aggregate.xx, sums), _spread(aggregate, aggregate.y, aggregate.yy, sums)
    return _limited(-1.0, div(_covariance(aggregate, sums, clamped), mul(sqrt(x), sqrt(y))), 1.0, clamped)


def _determination(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    """The square of the correlation; SQL says 1 where y does not vary, and null where x does not.

    Correlations at most e apart have squares at most (1 + |r|) · e apart: the derivative 2r is too small near r = 0.
    """
    correlation = _correlation(aggregate, sums, clamped)
    x, y = _spread(aggregate, aggregate.x, aggregate.xx, sums), _spread(aggregate, aggregate.y, aggregate.yy, sums)
    constant_y = np.isnan(y.value) & ~np.isnan(x.value)
    slopes = {i: (1 + np.abs(correlation.value)) * slope for i, slope in correlation.slopes.items()}
    return _limited(0.0, Dual(np.where(constant_y, 1.0, correlation.value**2), slopes), 1.0, clamped)


def _slope(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    return div(_covariance(aggregate, sums, clamped), _spread(aggregate, aggregate.x, aggregate.xx, sums))


def _intercept(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    x, y = (_mean(aggregate, axis, sums, clamped) for axis in (aggregate.x, aggregate.y))
    return sub(y, mul(_slope(aggregate, sums, clamped), x))


def _total(moment: Reader) -> Reader:
    return lambda aggregate, sums, clamped: mul(moment(aggregate, sums, clamped), _count(aggregate, sums))


def _of_y(aggregate: Aggregate, sums: Sums, clamped: Clamped) -> Dual:
    return _central(aggregate, aggregate.y, aggregate.y, aggregate.yy, sums, clamped)


_READERS: Mapping[str, Reader] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": lambda aggregate, sums, clamped: _mean(aggregate, aggregate.x, sums, clamped),
    "VAR_POP": _variance,
    "VAR_SAMP": _sampled(_variance),
    "STDDEV_POP": lambda aggregate, sums, clamped: _root(_variance(aggregate, sums, clamped), clamped),
    "STDDEV_SAMP": lambda aggregate, sums, clamped: _root(_sampled(_variance)(aggregate, sums, clamped), clamped),
    "COVAR_POP": _covariance,
    "COVAR_SAMP": _sampled(_covariance),
    "CORR": _correlation,
    "REGR_AVGX": lambda aggregate, sums, clamped: _mean(aggregate, aggregate.x, sums, clamped),
    "REGR_AVGY": lambda aggregate, sums, clamped: _mean(aggregate, aggregate.y, sums, clamped),
    "REGR_SXX": _total(_variance),
    "REGR_SYY": _total(_of_y),
    "REGR_SXY": _total(_covariance),
    "REGR_SLOPE": _slope,
    "REGR_INTERCEPT": _intercept,
    "REGR_R2": _determination,
}
