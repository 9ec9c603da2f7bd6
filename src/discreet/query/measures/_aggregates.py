"""The aggregates of a query, and from which noisy sums each is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.query.expressions._intervals import Interval

__all__ = ["KINDS", "PAIRS", "SPELLINGS", "Aggregate", "Axis", "Second"]

KINDS: Mapping[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.CountIf: "COUNT_IF",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Variance: "VAR_SAMP",
    exp.VariancePop: "VAR_POP",
    exp.Stddev: "STDDEV_SAMP",
    exp.StddevSamp: "STDDEV_SAMP",
    exp.StddevPop: "STDDEV_POP",
    exp.CovarPop: "COVAR_POP",
    exp.CovarSamp: "COVAR_SAMP",
    exp.Corr: "CORR",
    exp.RegrCount: "REGR_COUNT",
    exp.RegrAvgx: "REGR_AVGX",
    exp.RegrAvgy: "REGR_AVGY",
    exp.RegrSxx: "REGR_SXX",
    exp.RegrSyy: "REGR_SYY",
    exp.RegrSxy: "REGR_SXY",
    exp.RegrSlope: "REGR_SLOPE",
    exp.RegrIntercept: "REGR_INTERCEPT",
    exp.RegrR2: "REGR_R2",
}
"""SQL's name of each aggregate that can be answered; VARIANCE is VAR_SAMP and STDDEV is STDDEV_SAMP."""

SPELLINGS: Mapping[str, str] = {
    name: kind for node, kind in KINDS.items() if issubclass(node, exp.Func) for name in node.sql_names()
}
"""The same by every name that the parser reads."""

PAIRS: Mapping[str, str] = {
    "COVAR_POP": "xy",
    "COVAR_SAMP": "xy",
    "CORR": "xx xy yy",
    "REGR_COUNT": "",
    "REGR_AVGX": "x",
    "REGR_AVGY": "y",
    "REGR_SXX": "xx",
    "REGR_SYY": "yy",
    "REGR_SXY": "xy",
    "REGR_SLOPE": "xx xy",
    "REGR_INTERCEPT": "xx xy",
    "REGR_R2": "xx xy yy",
}
"""What each aggregate of (y, x) is made of beside the count: first and second moments of the pairs without a null."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A sum of values: step · (the measure at `total` + center · count), of values within `bounds`."""

    total: int
    step: Fraction
    center: int
    bounds: Interval


@dataclass(frozen=True, slots=True)
class Second:
    """A sum of products of centred values: step_x · step_y · 2^shift · (the measure at `total` + center · count)."""

    total: int
    shift: int
    center: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the query, read off the measure at position `count` and those of its moments.

    `kind` is a value of `KINDS`, or COUNT for all that is one count: of rows, of people, of distinct values. A QUANTILE
    is drawn from a histogram: `quantile` says which one, and which of its quantiles.
    """

    kind: str
    sql: str
    count: int | None
    x: Axis | None = None
    y: Axis | None = None
    xx: Second | None = None
    xy: Second | None = None
    yy: Second | None = None
    quantile: tuple[int, int] | None = None

    @property
    def measures(self) -> frozenset[int]:
        """The positions of the measures that it is read off; none for a quantile."""
        parts = (self.x, self.y, self.xx, self.xy, self.yy)
        positions = [self.count, *(None if part is None else part.total for part in parts)]
        return frozenset(i for i in positions if i is not None)

    @property
    def integer(self) -> bool:
        """Whether the aggregate is a whole number, known exactly before noise."""
        if self.kind != "SUM":
            return self.kind == "COUNT"
        return self.x is not None and self.x.bounds.integer and self.x.step == 1
