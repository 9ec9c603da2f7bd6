"""Propose-test-release: propose a sensitivity, test in private that it holds around the data, and only then answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import ParameterError
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numeric._integers import least
from discreet.mechanisms.statistics._answer import answer, fixed, numeric, power_of_two_below, to_float
from discreet.noise import MIN_SCALE, exp_bounds
from discreet.privacy import ApproxLoss, Loss, Relation, budget_of
from discreet.rational import Number, decimal_text, rational
from discreet.reprs import call_repr
from discreet.sensitivity import Statistic, distance

__all__ = ["ProposeTestRelease"]

_FINENESS = 2**10
"""Grid steps in the proposed bound: two of them more in its scale is what rounding to the grid costs."""

_WIDEST = Fraction(2**900)


@dataclass(frozen=True, slots=True, init=False)
class ProposeTestRelease:
    """A statistic with noise for a proposed local sensitivity, or a refusal where the data might not have it.

    The data's distance from data whose local sensitivity exceeds the bound gets discrete Laplace noise of scale 2/ε; at
    or below a threshold the answer is refused. Otherwise the statistic, on a grid a thousand times finer than the
    bound, gets discrete Laplace noise of scale 2 · bound/ε (and two grid steps more). In all this costs (ε, δ),
    answered or refused.

    Parameters
    ----------
    statistic
        A name such as ``"mean"`` or ``"median"``, or a `discreet.sensitivity.Statistic` with numbers as values.
    bound
        The proposed local sensitivity, in the unit of the statistic; public, from 2**-900 to 2**900.
    bounds
        The public (lower, upper) of the data.
    spend
        `dp.approx(ε, δ)` with δ above 0, all of which is spent.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.

    Raises `ParameterError` for an argument out of its range, which never depends on data.
    Source: Dwork and Lei 2009, section 4, with the constants of ``proofs/propose_test_release.md``.

    >>> from discreet.privacy import approx
    >>> cautious = ProposeTestRelease("median", bound=0.01, bounds=(0, 1), spend=approx(1, 1e-12))
    >>> cautious.loss()
    approx(1, 1e-12)
    >>> print(cautious.release([0, 1]))
    None
    """

    statistic: Statistic
    bound: Fraction
    bounds: Any
    epsilon: Fraction
    delta: Fraction
    relation: Relation

    __repr__ = call_repr

    def __init__(
        self,
        statistic: str | Statistic,
        *,
        bound: Number,
        bounds: Any = None,
        spend: Loss,
        relation: Relation = "add_remove",
    ) -> None:
        exact = rational(bound, "bound")
        if not 1 / _WIDEST <= exact <= _WIDEST:
            raise ParameterError(f"bound must be between 2**-900 and 2**900, got {decimal_text(exact)}")
        kind, pair = budget_of(spend)
        if kind != "approx" or min(pair) <= 0:
            raise ParameterError(
                "propose-test-release spends an epsilon and a delta, both greater than 0, "
                "because its test may pass by chance; spend for example dp.approx(1, 1e-6)"
            )
        for name, value in (
            ("statistic", numeric(statistic, bounds, relation)[0]),
            ("bound", exact),
            ("bounds", fixed(bounds)),
            ("epsilon", pair[0]),
            ("delta", pair[1]),
            ("relation", relation),
        ):
            object.__setattr__(self, name, value)
        _ = self.noise, self.threshold  # a scale out of range is refused now

    @property
    def spend(self) -> ApproxLoss:
        """(ε, δ), all of which a release costs."""
        return ApproxLoss(self.epsilon, self.delta)

    def loss(self) -> Loss:
        """The whole spend, whether it answers or refuses. Source: ``proofs/propose_test_release.md``."""
        return self.spend

    @property
    def threshold(self) -> int:
        """The noisy distance up to which an answer is refused. Public: it depends on the spend alone."""
        return _threshold(self.test.scale, self.delta)

    @property
    def test(self) -> DiscreteLaplace:
        """The noise on the distance. Public: it depends on the spend alone."""
        return DiscreteLaplace(max(2 / self.epsilon, MIN_SCALE))

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the answer, in steps of `step`. Public: it depends on the spend and the bound alone."""
        most_steps = -(-self.bound // self.step) + 1
        return DiscreteLaplace(max(2 * most_steps / self.epsilon, MIN_SCALE))

    @property
    def step(self) -> Fraction:
        """The step of the grid of answers, a power of two. Public: it depends on the bound alone."""
        return power_of_two_below(self.bound) / _FINENESS

    def release(self, x: Any) -> float | None:
        """The statistic of x with noise, a float that is a multiple of `step`; or None, which means refused.

        Costs `loss()` either way, **and charges nobody**: this is the raw toolbox. Answers are cut to 2**52 steps
        around 0 before the noise. Raises `ParameterError` only if x is not a data set of the statistic's shape.
        Source: ``proofs/propose_test_release.md``.

        >>> from discreet.privacy import approx
        >>> mean = ProposeTestRelease("mean", bound=0.001, bounds=(0, 1), spend=approx(1, 1e-6))
        >>> abs(mean.release([0, 1] * 2000) - 0.5) < 0.2
        True
        """
        steps_away, value = self._before_noise(x)
        noise_on_distance, noise = self.test.release(0), self.noise.release(0)
        if steps_away + noise_on_distance <= self.threshold:
            return None
        return to_float(value + noise, self.step)

    def error(self, level: Number = 0.95) -> float:
        """How far an answer that is not refused is from the statistic, at most, with probability `level`.

        Public: it does not depend on data. Raises `ParameterError` unless 0 < level < 1.
        """
        return to_float(self.noise.error(level) + 1, self.step)

    def _before_noise(self, x: Any) -> tuple[float, int]:
        """The distance, and the statistic in grid steps. SENSITIVE."""
        away = distance(self.statistic, x, self.bound, bounds=self.bounds, relation=self.relation)
        value = answer(self.statistic, x, self.bounds, self.step) / self.step
        return away, (value + Fraction(1, 2)).__floor__()


@lru_cache(maxsize=64)
def _threshold(scale: Fraction, delta: Fraction) -> int:
    """The least T ≥ 0 with P(X > T) = q**(T + 1) / (1 + q) ≤ δ, q = exp(−1/scale); one more if 128 bits are unsure."""
    bits = 128 + (1 / delta).__ceil__().bit_length()
    q_low = exp_bounds(1 / scale, bits)[0]

    def passes_too_often(threshold: int) -> bool:
        return exp_bounds((threshold + 1) / scale, bits)[1] > delta * ((1 << bits) + q_low)

    return least(lambda threshold: not passes_too_often(threshold))
