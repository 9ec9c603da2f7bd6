"""Which way a search goes: a public rule from the spend and the number of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.learn.selection._budgets import prices_of_try
from discreet.learn.selection._tries import Tries
from discreet.prices import Prices, price_as_loss
from discreet.privacy import Loss, budget_of, in_words, parts
from discreet.sensitivity import Norms

__all__ = ["CHOOSING", "SearchPlan", "Way", "plan_search"]

Way = Literal["auto", "all", "random"]

CHOOSING = Fraction(1, 10)
"""The part of a spend that chooses among candidates; and the part of a try's that says how good it is."""
_FEW = {"pure": 2, "approx": 3}
"""Of so many candidates or fewer, all are paid for: parts of ε are small, those of Gaussian noise add in squares."""
_SHAPE = {"pure": Fraction(0), "approx": Fraction(1)}
_TRIES = {"pure": 16, "approx": 64}


@dataclass(frozen=True)
class SearchPlan:
    """How a search will go, in public.

    Attributes
    ----------
    way
        ``"all"``: each candidate has its part of the spend, and a tenth chooses. ``"random"``: a secret random number
        of tries, each of a candidate drawn at random.
    candidates
        How many there are.
    spend
        What all of it costs.
    one_try
        What one candidate that is fitted may lose, its score included if there are tries.
    tries
        The distribution of the number of tries; None if all are paid for.
    """

    way: Literal["all", "random"]
    candidates: int
    spend: Loss
    one_try: Loss
    tries: Tries | None = None

    @property
    def strength(self) -> float:
        """How much of what the noise would tell, if all of the spend were one fit's, a fit here has: from 0 to 1."""
        prices = Prices.of_spend(self.spend, Norms(1, 1))
        part = float(parts(self.one_try)[0] / prices.total)
        return part**0.5 if prices.is_quadratic else part

    def explain(self) -> str:
        """It in words."""
        fits = f"{self.candidates} candidates, for {in_words(self.spend)} in all"
        noise = f"noise is {1 / self.strength:.1f} times that of one fit for all of the spend"
        if self.tries is None:
            return f"{fits}. Each is fitted for {in_words(self.one_try)}, and a tenth chooses one: {noise}."
        none = self.tries.chance_of_none(self.candidates)
        return (
            f"{fits}. A secret random number of times, {float(self.tries.mean):.0f} on average and {self.tries.most} "
            f"at most, one is drawn, fitted and scored for {in_words(self.one_try)}; the best is shown: {noise}. A "
            f"candidate is never tried with probability {none:.0%}. How long the search takes depends on how many "
            "tries there are: show that to nobody."
        )


def plan_search(spend: Loss, candidates: int, way: Way = "auto", tries: int | None = None) -> SearchPlan:
    """How to search among so many candidates; `tries` is how many there are on average, if they are random.

    Raises `ParameterError` for another way, and a spend or a number of tries that it cannot have.
    """
    if way not in ("auto", "all", "random"):
        raise ParameterError(f"way is 'auto', 'all' or 'random', not {way!r}")
    prices, kind = Prices.of_spend(spend, Norms(1, 1)), _kind(spend)
    if way == "auto":
        way = "random" if kind in _FEW and (tries is not None or candidates > _FEW[kind]) else "all"
    if way == "all":
        if tries is not None:
            raise ParameterError(
                "tries are random only in pure ε or (ε, δ), and where way is not 'all': leave tries out"
            )
        part = prices.total * (1 - CHOOSING) / candidates
        return SearchPlan("all", candidates, spend, price_as_loss(prices.currency, part))
    if kind not in _FEW:
        raise ParameterError(
            "a random number of tries has a loss in pure ε, or in (ε, δ): spend one of those, or take way='all'"
        )
    law = Tries.of_mean(_SHAPE[kind], _TRIES[kind] if tries is None else tries)
    one_try = prices_of_try(spend, law)
    return SearchPlan("random", candidates, spend, price_as_loss(one_try.currency, one_try.total), law)


def _kind(spend: Loss) -> str:
    """``"approx"`` only with a δ."""
    kind, allowed = budget_of(spend)
    return "pure" if kind == "approx" and not allowed[1] else kind
