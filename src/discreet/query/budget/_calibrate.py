"""What each part of a query may spend, by the derivatives of its columns, and the noise that it buys.

Theory: ``proofs/budgets.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, PartitionSelection, ThresholdedCounts
from discreet.prices import check_spend
from discreet.privacy import ApproxLoss, Loss, MuLoss, PureLoss, RhoLoss, Unit, budget_of
from discreet.query.budget._modes import ModeNoise
from discreet.query.budget._noise import (
    NEARLY_ALWAYS,
    CountThreshold,
    KeyDiscovery,
    Level,
    Noise,
    NoiseMechanism,
    TopKeys,
)
from discreet.query.budget._quantiles import QuantileNoise
from discreet.query.budget._split import best_shares, even_shares, mean_log_error
from discreet.query.budget._top_k import TopRows, buy_top_k, if_clearer
from discreet.query.measures._aggregates import Aggregate
from discreet.query.measures._bounded import BoundedAggregate, Group, GroupKey
from discreet.query.measures._histograms import Histogram
from discreet.query.measures._measures import Measure, Product, Sum
from discreet.query.results._answer import QUANTILE, answer
from discreet.query.results._dual import Floats
from discreet.sensitivity import Norms

__all__ = ["Slopes", "calibrate", "column_slopes", "level_spends", "part_of", "typical"]


_ROWS = 1_000
_PLACES = (Fraction(1, 6), Fraction(1, 2), Fraction(5, 6))
"""How far means lie from the middle of their bounds, in halves of the bounds' width: thirds of a mean that is as likely
anywhere, by their own middles."""


def column_slopes(
    select: exp.Select, levels: Sequence[Level], aggregates: Sequence[Aggregate]
) -> list[list[list[float]]]:
    """For each level and each column, its slopes by each measure's noise, in three groups of 1,000 made-up rows.

    The columns are those of the result that carry noise, and the aggregates that only HAVING, QUALIFY, ORDER BY or a
    window reads.
    What hangs on a quantile is left out. Public facts alone decide; costs nothing.
    """
    measures = len(levels[0].bounded.measures)
    groups = [[_group(level, place) for place in _PLACES] for level in levels]
    items = [item.copy() for item in select.expressions if item.find(exp.Window) is None]
    alone = exp.Select(expressions=[*items, *_only_read(select)])
    shapes = answer(alone, levels, aggregates, groups).shapes.values()
    known = [shape.slopes for shape in shapes if QUANTILE not in shape.slopes]

    def level_slopes(level: int, slopes: Mapping[int, Floats], row: int) -> list[float]:
        at = range(measures * level, measures * (level + 1))
        return [float(slopes[i][row]) if i in slopes else 0.0 for i in at]

    each = len(_PLACES)
    return [
        [level_slopes(level, slopes, level * each + place) for slopes in known for place in range(each)]
        for level in range(len(levels))
    ]


def typical(measure: Measure, rows: int, place: Fraction = _PLACES[1]) -> int:
    """A measure of so many rows, none of them null, whose values have their mean at a place in their bounds.

    Their variance is a quarter of the largest with that mean, and the correlation of two is a half.

    >>> typical(Sum(exp.column("x"), Fraction(1), 0, -20, 20), 10)
    100
    """
    match measure:
        case Sum():
            return round(rows * _mean(measure, place))
        case Product():
            left, right = measure.left, measure.right
            spread = _half(left) * _half(right) * (1 - place**2) / (4 if left == right else 8)
            product = _mean(left, place) * _mean(right, place) + spread
            return round(rows * (product / 2**measure.shift - measure.center))
        case _:
            return rows


def _mean(measure: Sum, place: Fraction) -> Fraction:
    return Fraction(measure.lower + measure.upper, 2) + place * _half(measure)


def _half(measure: Sum) -> Fraction:
    return Fraction(measure.upper - measure.lower, 2)


def _group(level: Level, place: Fraction) -> Group:
    key = tuple(None if key.values is None else key.values[0] for key in level.bounded.keys)
    sums = tuple(typical(measure, _ROWS, place) for measure in level.bounded.measures)
    tops = tuple(histogram.largest for histogram in level.bounded.histograms)
    return Group(key, 0, sums, quantiles=tops)


def _only_read(select: exp.Select) -> list[exp.Expr]:
    """The aggregates that no column of the result reads, or that stand beside a window, each as a column."""
    windowed = [item for item in select.expressions if item.find(exp.Window) is not None]
    alone = [item for item in select.expressions if item.find(exp.Window) is None]
    shown = {leaf.name for item in alone for leaf in item.find_all(exp.Placeholder)}
    clauses = [clause for name in ("having", "qualify", "order") if (clause := select.args.get(name)) is not None]
    clauses += windowed
    read = dict.fromkeys(leaf.name for clause in clauses for leaf in clause.find_all(exp.Placeholder))
    return [exp.alias_(exp.Placeholder(this=name), f":{name}", quoted=True) for name in read if name not in shown]


Slopes = Sequence[Sequence[float]]
"""For each column of the result, its slope by each measure."""

_KINDS: dict[str, type[DiscreteLaplace] | type[DiscreteGaussian] | type[Gaussian]] = {
    "rho": DiscreteGaussian,
    "mu": Gaussian,
}
"""The noise of each currency; discrete Laplace for both in ε, unless Gaussian noise errs less at the δ that is left."""

_LESS = math.log(0.9)
"""By how much Gaussian noise must err less, in the geometric mean of the columns' errors, for a δ to be spent on it."""

_MOST_PEOPLE = 1_000_000
"""A discovery that shows only keys of more people than this is refused."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """The noise of all measures, what it spends beside its ε, ρ or μ², and how the spend is shared among them."""

    mechanisms: tuple[NoiseMechanism, ...]
    shares: tuple[Fraction, ...]
    delta: Fraction = Fraction(0)


def calibrate(  # noqa: PLR0913, PLR0917
    spend: Loss,
    bounded: BoundedAggregate,
    norms: tuple[Norms, ...],
    unit: Unit,
    slopes: Slopes = (),
    top: TopRows | None = None,
) -> Noise:
    """Split the spend over the measures, the histograms and, if keys are private, their discovery.

    Each histogram and the discovery have an even share; where people are counted, a threshold for that count is the
    discovery, and takes no share. What the measures have together is shared among them so that
    the geometric mean of the errors of the columns, which hang on the measures by `slopes`, is least; see
    `best_shares`. In (ε, δ) the measures have discrete Laplace noise, or Gaussian noise if it errs less by a tenth or
    more; it then takes the δ, or half of it beside a discovery of keys.

    Where the query asks for the first keys by a count and choosing them first pays, shares are even, the choice has
    half the share of that count, and the measures have the noise of as many keys.

    Public keys alone cost nothing.
    """
    check_spend(spend)
    measures = len(bounded.measures)
    people = bounded.people if bounded.count_units else None
    parts = measures + len(bounded.histograms) + (bounded.count_units and people is None)
    name, allowed = budget_of(spend)
    if bounded.is_public:
        return Noise((), None, _priced(name, Fraction(0), Fraction(0)))
    main, delta = (*allowed, Fraction(0))[:2]
    if main <= 0:
        raise ParameterError("spend must be greater than 0")
    if bounded.count_units and delta == 0:
        private = ", ".join(key.name for key in bounded.keys if key.values is None)
        coarser = (
            ", or group public tables by what has at most 10,000 values" if any(map(_is_public, bounded.keys)) else ""
        )
        raise ParameterError(
            f"{private} has private keys, whose discovery needs a delta: spend dp.approx(epsilon, delta) or "
            f"dp.rho(rho, delta), or list the keys in the policy if they are public{coarser}"
        )
    each = main / parts
    half = _priced(name, each / 2, Fraction(0))
    bought = None if top is None else buy_top_k(top, half, bounded, norms, unit.relation)
    moved = [limits if limits.l1 else Norms(1, 1) for limits in norms]
    measured = _measured(name, each * measures, moved, slopes)
    if name == "approx" and delta and measures:
        measured = _gaussian_if_better(measured, each * measures, delta / (1 + bounded.count_units), moved, slopes)
    if top is not None and isinstance(bought, TopKeys):
        chosen = _of_chosen(name, each, bought)
        bought = bought if measured.delta == 0 else if_clearer(bought, top, chosen.mechanisms, measured.mechanisms)
        measured = chosen if isinstance(bought, TopKeys) else measured
    moves = bounded.max_rows * (2 if unit.relation == "substitute" else 1)
    quantiles = tuple(_drawn(_priced(name, each, Fraction(0)), histogram, moves) for histogram in bounded.histograms)
    selection = None
    if bounded.count_units:
        touched = bounded.groups_per_unit * (2 if unit.relation == "substitute" else 1)
        rest = delta - measured.delta
        if people is None:
            selection = _most_keys(_priced(name, each, rest), touched)
        else:
            selection = CountThreshold(people, ThresholdedCounts.least(measured.mechanisms[people], touched, rest))
        _check_shown(selection)
    # What the ledger is asked for: the whole spend, less a δ that nothing in this query needs.
    loss = _priced(name, main, delta if selection or measured.delta else Fraction(0))
    return Noise(
        mechanisms=measured.mechanisms,
        selection=selection,
        loss=loss,
        quantiles=quantiles,
        top_keys=bought if isinstance(bought, TopKeys) else None,
        ranked=bought if isinstance(bought, str) else None,
        shares=tuple(share * measures / parts for share in measured.shares),
    )


def level_spends(spend: Loss, private: Sequence[bool], shares: Sequence[Fraction] | None = None) -> list[Loss]:
    """What each level may spend: its share, an even one if none are given, and even shares of δ for private keys.

    Their composition is the spend, less a δ that no level needs. Source: ``proofs/levels.md``.
    """
    if len(private) == 1 or not isinstance(spend, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        return [spend for _ in private]
    name, (main, *rest) = budget_of(spend)
    delta = sum(rest, Fraction(0)) / max(sum(private), 1)
    parts = shares or even_shares(len(private))
    return [
        _priced(name, main * part, delta if each else Fraction(0)) for each, part in zip(private, parts, strict=True)
    ]


def part_of(spend: Loss, share: Fraction, *, keeps_delta: bool) -> Loss:
    """So much of the ε, ρ or μ² of a spend, with all of its δ or none of it."""
    name, (main, *rest) = budget_of(spend)
    return _priced(name, main * share, sum(rest, Fraction(0)) if keeps_delta else Fraction(0))


def _check_shown(selection: KeyDiscovery) -> None:
    """Raise `ParameterError` for a spend that is as good as lost: it would show no key but of a million people."""
    people = selection.shown_from(NEARLY_ALWAYS)
    if people > _MOST_PEOPLE:
        raise ParameterError(
            f"with this spend no key with fewer than about {people:,} people would be likely to appear; use a larger "
            "epsilon or rho, a larger delta, or fewer groups of a person"
        )


def _most_keys(spend: Loss, touched: int) -> KeyDiscovery:
    """The discovery that is as good as certain to show keys of the fewest people: a selection, or a threshold."""
    ways, refusals = list[KeyDiscovery](), list[ParameterError]()
    for calibrate_way in (
        lambda: PartitionSelection.calibrate(spend, keys=touched),
        lambda: ThresholdedCounts.calibrate(spend, keys=touched, noise="gaussian"),
    ):
        try:
            ways.append(calibrate_way())
        except ParameterError as error:
            refusals.append(error)
    if not ways:
        raise refusals[0]
    return min(ways, key=lambda way: way.shown_from(NEARLY_ALWAYS))


def _measured(name: str, main: Fraction, norms: Sequence[Norms], slopes: Slopes) -> _Measured:
    """The best split of what all measures have together, each with the noise of the currency."""
    kind = _KINDS.get(name, DiscreteLaplace)
    laplace = kind is DiscreteLaplace
    moves = [limits.l1**2 if laplace else limits.l2_squared for limits in norms]
    columns = [[slope * slope * move for slope, move in zip(row, moves, strict=True)] for row in slopes]
    shares = best_shares(columns, len(norms), power=2 if laplace else 1)
    prices = [_priced(name, main * share, Fraction(0)) for share in shares]
    return _Measured(tuple(kind.calibrate(*each) for each in zip(prices, norms, strict=True)), shares)


def _of_chosen(name: str, each: Fraction, bought: TopKeys) -> _Measured:
    """An even split, with the noise of as many keys as are chosen; the choice takes half the share of its count."""
    kind = _KINDS.get(name, DiscreteLaplace)
    prices = [_priced(name, each / 2 if i == bought.count else each, Fraction(0)) for i in range(len(bought.norms))]
    norms = [limits if limits.l1 else Norms(1, 1) for limits in bought.norms]
    mechanisms = tuple(kind.calibrate(*both) for both in zip(prices, norms, strict=True))
    return _Measured(mechanisms, even_shares(len(norms)))


def _gaussian_if_better(
    laplace: _Measured, epsilon: Fraction, delta: Fraction, norms: Sequence[Norms], slopes: Slopes
) -> _Measured:
    """Gaussian noise for all measures together, if it errs less by enough, else the Laplace noise.

    The μ² of the measures add up to at most one that is certified to be within (ε, δ).
    """
    try:
        joint = Gaussian.calibrate(ApproxLoss(epsilon, delta), 1)
        gaussian = _measured("mu", 1 / joint.sigma**2, norms, slopes)
    except ParameterError:
        return laplace
    before, after = (mean_log_error(slopes, [m.std for m in each.mechanisms]) for each in (laplace, gaussian))
    if before is None or after is None or after > before + _LESS:
        return laplace
    return _Measured(gaussian.mechanisms, gaussian.shares, delta)


def _drawn(spend: Loss, histogram: Histogram, moves: int) -> QuantileNoise | ModeNoise:
    if histogram.values:
        return ModeNoise.calibrate(spend, len(histogram.values), moves)
    return QuantileNoise.calibrate(spend, histogram, moves)


def _priced(name: str, main: Fraction, delta: Fraction) -> Loss:
    match name:
        case "rho":
            return RhoLoss(main, delta)
        case "mu":
            return MuLoss(main, delta)
        case _:
            return ApproxLoss(main, delta) if delta else PureLoss(main)


def _is_public(key: GroupKey) -> bool:
    return key.public is not None
