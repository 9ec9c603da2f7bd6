"""Refits of a synthetic table under redrawn noise, and the rule that combines a statistic over them.

What was measured is drawn again: the counts that the table itself expects, with noise of the same public distribution
from a public stream, which protects nobody. The distribution is estimated from it as it was the first time, from the
same marginals over the same merged cells. Source: Efron and Tibshirani 1993, chapters 6 and 21 (the parametric
bootstrap); for combining, Rubin 1987, chapter 3. Proof: ``proofs/synth_intervals.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.errors import ParameterError
from discreet.marginals import Clique, Measurement, Merge, Model, Numbers, PublicStream, estimate, on_simplex
from discreet.mechanisms import DiscreteLaplace
from discreet.query import check_level
from discreet.synth.answers._estimates import LEAST_STD, MeasuredMarginal

__all__ = ["CombinedEstimate", "Refit", "combine", "refit"]

_NEWTON, _STEPS = 10, 60
_HALF_STEP = 2.0**-54


@dataclass(frozen=True, eq=False)
class Refit:
    """A synthetic table estimated again: its number of rows, and its distribution."""

    total: float
    merges: tuple[Merge, ...]
    potentials: dict[Clique, Numbers]


class _Rules(Protocol):
    """What a table's rules make of its potentials; see `discreet.synth.rules.BoundRules`."""

    @property
    def rows(self) -> int | None: ...
    def fixed(self, merges: Sequence[Merge]) -> dict[Clique, Numbers]: ...
    def finished(self, potentials: Mapping[Clique, Numbers], merges: Sequence[Merge]) -> dict[Clique, Numbers]: ...


def refit(
    model: Model, merges: Sequence[Merge], measured: Sequence[MeasuredMarginal], rules: _Rules, stream: PublicStream
) -> Refit:
    """Estimate a distribution again, from its own expected counts with noise that is drawn again."""
    drawn = [(each, _expected(model, merges, each) + _noise(each, stream)) for each in measured]
    alone = [(each, counts) for each, counts in drawn if each.is_public]
    weights = np.array([1 / counts.size for _, counts in alone])
    summed = float(np.array([counts.sum() for _, counts in alone]) @ weights / weights.sum())
    total = float(rules.rows or max(summed, 1.0))
    again, by_clique = list(merges), dict[Clique, Measurement]()
    for marginal, counts in drawn:
        variances = np.full(counts.size, max(marginal.mechanism.std, LEAST_STD) ** 2)
        if marginal.is_public:
            (column,) = marginal.clique
            merge = merges[column]
            again[column] = _shared(merge, counts)
            counts, variances = merge.summed(counts), merge.summed(variances)  # noqa: PLW2901
        earlier = by_clique.get(marginal.clique)
        one = Measurement(marginal.clique, counts, variances)
        by_clique[marginal.clique] = one if earlier is None else earlier.with_counts(counts, variances)
    sizes = [merge.size for merge in merges]
    fitted = estimate(
        sizes, list(by_clique.values()), total, newton=_NEWTON, steps=_STEPS, start=dict(model.potentials),
        fixed=rules.fixed(again),
    )  # fmt: skip
    return Refit(total, tuple(again), rules.finished(fitted.potentials, again))


def _expected(model: Model, merges: Sequence[Merge], marginal: MeasuredMarginal) -> Numbers:
    shares = model.marginal(marginal.clique)
    if marginal.is_public:
        merge = merges[marginal.clique[0]]
        shares = shares[merge.places] * np.array(merge.shares)
    return model.total * shares


def _shared(merge: Merge, counts: Numbers) -> Merge:
    """The same cells merged, with their shares by other counts."""
    shares = np.zeros(counts.size)
    for cell in range(merge.size):
        inside = np.flatnonzero(merge.places == cell)
        held = float(counts[inside].sum())
        shares[inside] = on_simplex(counts[inside], held) / held if held > 0 else 1 / len(inside)
    return Merge(merge.into, tuple(shares.tolist()))


def _noise(marginal: MeasuredMarginal, stream: PublicStream) -> Numbers:
    """Public draws with the distribution of a marginal's noise: whole numbers by inverse distribution functions."""
    from scipy.special import ndtri

    mechanism, count = marginal.mechanism, marginal.counts.size
    if isinstance(mechanism, DiscreteLaplace):  # the difference of two geometric numbers
        first, second = (np.log(stream.uniform(count) + _HALF_STEP) for _ in range(2))
        scale = float(mechanism.scale)
        return np.floor(-scale * first) - np.floor(-scale * second)
    return np.rint(mechanism.std * ndtri(stream.uniform(count) + _HALF_STEP))


@dataclass(frozen=True, slots=True)
class CombinedEstimate:
    """One estimate from those of several refits, with its variance and the degrees of freedom of its t distribution."""

    estimate: float
    variance: float
    degrees: float

    def error(self, level: float = 0.95) -> float:
        """The half-width at a level. Raises `ParameterError` for a level outside (0, 1)."""
        from scipy.special import ndtri, stdtrit

        share = (1 + check_level(level)) / 2
        quantile = float(ndtri(share)) if math.isinf(self.degrees) else float(stdtrit(self.degrees, share))
        return quantile * math.sqrt(self.variance)


def combine(estimates: Sequence[float], variances: Sequence[float] | None = None) -> CombinedEstimate:
    """Combine a statistic of each table of `SyntheticTable.tables` into one, with an interval.

    Of m tables with mean q̄ and variance B between them, the variance is (1 + 1/m)·B, with m − 1 degrees of freedom. The
    interval is for the same statistic of the *private table*, as far as the table's marginals determine it: what they
    leave out is no noise, and in no interval. With `variances`, what each table itself gives as the sampling variance
    of its estimate, their mean Ū is added: (1 + 1/m)·B + Ū, with Rubin's degrees of freedom, and the interval is for
    the population that the private table samples. Proof and limits: ``proofs/synth_intervals.md``.

    Costs nothing. Raises `ParameterError` for fewer than two estimates, or for what are no finite numbers.

    >>> combine([1.0, 2.0, 3.0])
    CombinedEstimate(estimate=2.0, variance=1.3333333333333333, degrees=2.0)
    >>> round(combine([1.0, 2.0, 3.0]).error(0.95), 2)
    4.97
    """
    values = np.array(estimates, np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all():
        raise ParameterError("estimates are two finite numbers or more, one from each table of tables(m)")
    m = values.size
    between = float(values.var(ddof=1)) * (1 + 1 / m)
    if variances is None:
        return CombinedEstimate(float(values.mean()), between, m - 1.0)
    each = np.array(variances, np.float64)
    if each.shape != values.shape or not np.isfinite(each).all() or (each < 0).any():
        raise ParameterError("variances are as many as the estimates, each a finite number of 0 or more")
    within = float(each.mean())
    degrees = math.inf if between == 0 else (m - 1) * (1 + within / between) ** 2
    return CombinedEstimate(float(values.mean()), between + within, degrees)
