"""What each part of a query may spend, and the noise that it buys."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, PartitionSelection
from discreet.privacy import Approx, Loss, Mu, Pure, Rho, Unit, budget_of
from discreet.query._bounded import BoundedAggregate
from discreet.query._noise import Noise
from discreet.query._quantile_noise import QuantileNoise
from discreet.query._top_k import TopRows, buy_top_k
from discreet.query._top_keys import TopKeys
from discreet.sensitivity import Norms

__all__ = ["calibrate", "level_spends"]

_KINDS: dict[str, type[DiscreteLaplace] | type[DiscreteGaussian] | type[Gaussian]] = {
    "rho": DiscreteGaussian,
    "mu": Gaussian,
}
"""The noise of each currency; discrete Laplace for both in ε."""


def calibrate(
    spend: Loss, bounded: BoundedAggregate, norms: tuple[Norms, ...], unit: Unit, top: TopRows | None = None
) -> Noise:
    """Split the spend evenly over the measures, the histograms and, if keys are private, their discovery.

    Where the query asks for the first keys by a count and choosing them first pays, the choice has half the share of
    that count, and the measures have the noise of as many keys.
    """
    if not isinstance(spend, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("spend must be a loss, for example dp.pure(0.5) or dp.rho(0.01)")
    shares = len(bounded.measures) + len(bounded.histograms) + bounded.count_units
    name, allowed = budget_of(spend)
    main, delta = (*allowed, Fraction(0))[:2]
    if main <= 0:
        raise ParameterError("spend must be greater than 0")
    share, kind = main / shares, _KINDS.get(name, DiscreteLaplace)
    each = _priced(name, share, Fraction(0))
    half = _priced(name, share / 2, Fraction(0))
    bought = None if top is None else buy_top_k(top, half, bounded, norms, unit.relation)
    chosen = bought if isinstance(bought, TopKeys) else None
    mechanisms = tuple(
        kind.calibrate(half if chosen and chosen.count == i else each, limits if limits.l1 else Norms(1, 1))
        for i, limits in enumerate(chosen.norms if chosen else norms)
    )
    moves = bounded.max_rows * (2 if unit.relation == "substitute" else 1)
    quantiles = tuple(QuantileNoise.calibrate(each, histogram, moves) for histogram in bounded.histograms)
    selection = None
    if bounded.count_units:
        if delta == 0:
            private = ", ".join(key.name for key in bounded.keys if key.values is None)
            raise ParameterError(
                f"{private} has private keys, whose discovery needs a delta: spend dp.approx(epsilon, delta) or "
                "dp.rho(rho, delta), or list the keys in the policy if they are public"
            )
        touched = bounded.groups_per_unit * (2 if unit.relation == "substitute" else 1)
        selection = PartitionSelection.calibrate(_priced(name, share, delta), keys=touched)
    # What the ledger is asked for: the whole spend, less a δ that nothing in this query needs.
    loss = _priced(name, main, delta if selection else Fraction(0))
    ranked = bought if isinstance(bought, str) else None
    return Noise(mechanisms, selection, loss, quantiles, chosen, ranked)


def level_spends(spend: Loss, private: Sequence[bool]) -> list[Loss]:
    """What each level may spend: an even share, and an even share of the δ for those whose keys are private.

    Their composition is the spend, less a δ that no level needs. Source: ``proofs/levels.md``.
    """
    if len(private) == 1 or not isinstance(spend, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        return [spend for _ in private]
    name, (main, *rest) = budget_of(spend)
    delta = sum(rest, Fraction(0)) / max(sum(private), 1)
    return [_priced(name, main / len(private), delta if needed else Fraction(0)) for needed in private]


def _priced(name: str, main: Fraction, delta: Fraction) -> Loss:
    match name:
        case "rho":
            return Rho(main, delta)
        case "mu":
            return Mu(main, delta)
        case _:
            return Approx(main, delta) if delta else Pure(main)
