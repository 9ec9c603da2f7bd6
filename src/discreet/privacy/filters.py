"""Filters and odometers: spending when every next spend may depend on all earlier answers.

A filter stops before a budget is exceeded; an odometer bounds at any time what was spent. Both are pure functions over
losses; the ledger holds the state. Sums of ε, (ε, δ), ρ and μ² are filters in their currency. A composition by privacy
loss distributions is *not*: it is for schedules fixed in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import budget_of, in_currency, left, parts
from discreet.privacy.accounting._renyi import RenyiCurve
from discreet.privacy.curves._rounding import log_bounds, up
from discreet.privacy.losses._base import Loss, SumLoss, TimesLoss
from discreet.privacy.losses._leaves import ApproxLoss, PureLoss
from discreet.privacy.losses._unit import Relation, checked_relation
from discreet.privacy.losses._validation import delta as checked_delta
from discreet.privacy.losses._validation import positive
from discreet.rational import Number

__all__ = ["Filter", "Odometer"]

_THEOREMS = {
    "pure": "Rogers, Roth, Ullman and Vadhan 2016, basic composition for filters: sums of epsilon",
    "approx": "Rogers, Roth, Ullman and Vadhan 2016, basic composition for filters: sums of epsilon and of delta",
    "rho": "Whitehouse, Ramdas, Rogers and Wu 2023, the filter for zCDP: sums of rho and of delta",
    "mu": "Smith and Thakurta 2022 (Fully adaptive composition for Gaussian differential privacy): sums of mu squared",
    "advanced": "Whitehouse, Ramdas, Rogers and Wu 2023, the filter at the rate of advanced composition: "
    "sqrt(2 ln(1/slack) S) + S/2, S = sum of squares",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Whether a next spend, chosen after all earlier answers, may still be made.

    ``rate="basic"`` adds up in the currency of the budget. ``rate="advanced"``, for an (ε, δ) budget, adds up ρ: it
    reserves `slack` of the δ for the conversion (half by default) and lets ε grow like a square root. Raises
    `ParameterError` for a budget without a δ there, and for one that is not stated in a currency (`budget_of`).

    What is spent is one number without a neighbour relation. So a filter adds losses that hold for whatever its budget
    protects (``loss.relation`` is None). With a `relation` it also adds losses for that relation and, under
    ``"substitute"``, losses for add/remove as groups of two. It refuses the rest.

    >>> from discreet.privacy import approx, pure
    >>> basic, advanced = Filter(approx(5, 1e-6)), Filter(approx(5, 1e-6), rate="advanced", slack=1e-6)
    >>> spent = advanced.add(advanced.nothing, 60 * pure(0.1))
    >>> advanced.fits(spent, pure(0.1)), basic.fits(60 * pure(0.1), pure(0.1))
    (True, False)
    """

    budget: Loss
    rate: Literal["basic", "advanced"] = "basic"
    slack: Number | None = None
    relation: Relation | None = None

    def __post_init__(self) -> None:
        budget_of(self.budget)
        if self.relation is not None:
            checked_relation(self.relation)
        if self.rate not in ("basic", "advanced"):
            raise ParameterError(f"rate must be 'basic' or 'advanced', got {self.rate!r}")
        if self.rate == "advanced":
            _, at = self._eps_delta()
            slack = at / 2 if self.slack is None else checked_delta(self.slack)
            if not 0 < slack <= at:
                raise ParameterError("an advanced filter needs a budget with a delta, and a slack above 0 within it")
        elif self.slack is not None:
            raise ParameterError("slack belongs to rate='advanced' only")

    @property
    def currency(self) -> str:
        """What is added up."""
        return "rho" if self.rate == "advanced" else budget_of(self.budget)[0]

    @property
    def theorem(self) -> str:
        """The theorem that makes this a filter."""
        return _THEOREMS["advanced" if self.rate == "advanced" else self.currency]

    @property
    def nothing(self) -> Loss:
        """No loss, in the currency of the filter."""
        return in_currency(TimesLoss(0, PureLoss(Fraction(0))), self.currency)

    def add(self, spent: Loss, following: Loss) -> Loss:
        """What is spent after one more release, as one node.

        Raises `ParameterError` if it has no value in the currency, or is for neighbours other than the filter's.
        """
        return in_currency(SumLoss((self._meant(spent), self._meant(following))), self.currency)

    def fits(self, spent: Loss, following: Loss) -> bool:
        """Whether `following` may be released after `spent`, decided before its noise is drawn."""
        try:
            after = parts(self.add(spent, following))
        except ParameterError:
            return False
        if self.rate == "basic":
            return all(a <= b for a, b in zip(after, budget_of(self.budget)[1], strict=True))
        # The ρ at which this would fail is fixed in advance, so stopping before it is the filter for ρ, and what it
        # guarantees converts to (ε, slack) as any ρ does. That is never more than ρ + 2√(ρ ln(1/slack)), the theorem's.
        rho, leaked = after
        eps, at = self._eps_delta()
        slack = at / 2 if self.slack is None else checked_delta(self.slack)
        if leaked > at - slack or rho == 0:
            return leaked <= at - slack
        converted = _converted(rho, slack)
        return math.isfinite(converted) and Fraction(converted) <= eps

    def left(self, spent: Loss) -> Loss:
        """What a basic filter still allows, never below zero; raises `ParameterError` for an advanced one."""
        if self.rate == "advanced":
            raise ParameterError(
                "an advanced filter has no remainder in epsilon; ask fits for the spend you have in mind"
            )
        return left(self.budget, self._meant(spent))

    def _meant(self, loss: Loss) -> Loss:
        """The loss for the neighbours of the filter."""
        if loss.relation is None or loss.relation == self.relation:
            return loss
        if self.relation is None:
            raise ParameterError(
                f"this loss is for neighbours by {loss.relation}; state what the budget protects, "
                f"Filter(budget, relation={loss.relation!r}), so that a loss for others is not added to it"
            )
        return loss.under(self.relation)

    def _eps_delta(self) -> tuple[Fraction, Fraction]:
        if not isinstance(self.budget, ApproxLoss):
            raise ParameterError("an advanced filter needs a budget dp.approx(epsilon, delta)")
        return self.budget.eps, self.budget.at_delta


def _converted(rho: Fraction, slack: Fraction) -> float:
    """ε of ρ-zCDP at `slack`, rounded up."""
    ceiling = up(rho) * (1 + 1e-12)
    return RenyiCurve(lambda order: order * ceiling).epsilon(log_bounds(slack))[1]


@dataclass(frozen=True, slots=True)
class Odometer:
    """A running bound on the privacy loss, true at all times at once except with probability `delta`.

    Rungs j = 0, 1, … hold budgets first·2^j and a share δ/((j+1)(j+2)) of `delta`, which add up to it. With losses
    of ρ_n so far, e^{λL_n − λ(λ+1)Σρ} is a supermartingale, so by Ville's inequality the loss never
    exceeds ρ_j + 2√(ρ_j ln(1/δ_j)) while Σρ ≤ ρ_j; the first rung that holds what was spent is the bound. It costs a
    little over a filter of that size (Whitehouse, Ramdas, Rogers and Wu 2023 have finer ones). A δ within
    the losses comes on top.

    >>> from discreet.privacy import pure
    >>> odometer = Odometer(delta=1e-6)
    >>> [round(odometer.epsilon(n * pure(0.1)), 3) for n in (1, 100)]
    [0.1, 7.398]
    """

    delta: Number
    first: Number = Fraction(1, 100)

    def __post_init__(self) -> None:
        if checked_delta(self.delta) == 0:
            raise ParameterError("delta must be greater than 0 and less than 1 for an odometer")
        positive(self.first, "first")

    def epsilon(self, spent: Loss) -> float:
        """The bound on the loss after `spent`, rounded up. Raises `ParameterError` if `spent` has no ρ."""
        from discreet.privacy.accounting._budget import as_pure, as_rho

        rho, _ = as_rho(spent)
        eps = as_pure(spent)
        basic = math.inf if eps is None else up(eps)
        if rho == 0:
            return 0.0
        rung, first = 0, positive(self.first, "first")
        while first * 2**rung < rho:
            rung += 1
        budget = up(first * 2**rung)
        log_share = log_bounds(checked_delta(self.delta) / ((rung + 1) * (rung + 2)))[0]
        return min(basic, (budget + 2 * math.sqrt(budget * -log_share)) * (1 + 1e-12))
