"""``ORDER BY COUNT(*) DESC LIMIT k`` of public keys: recognised, and bought as a choice of k keys where that pays.

Proof: ``proofs/query_top_k.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.mechanisms import TopK
from discreet.privacy import Loss, Relation, budget_of
from discreet.query.budget._noise import NoiseMechanism, TopKeys
from discreet.query.measures._aggregates import Aggregate
from discreet.query.measures._bounded import BoundedAggregate, public_groups
from discreet.query.measures._sensitivity import chosen_norms
from discreet.query.results._conditions import row_limit
from discreet.sensitivity import Norms

__all__ = ["TopRows", "buy_top_k", "if_clearer", "top_rows"]

_DOUBT = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class TopRows:
    """That a query asks for the first `rows` of `keys` public keys, most first by the count at position `count`."""

    count: int
    rows: int
    keys: int


def top_rows(select: exp.Select, bounded: BoundedAggregate, aggregates: Sequence[Aggregate]) -> TopRows | None:
    """The keys that a SELECT over extracted aggregates wants first by a count; None if none, or if it wants all.

    The count is the first term of ORDER BY, alone and descending, whichever count it is; nulls and further terms do not
    matter, as counts are not null, and ties are for the noisy rows to break. What OFFSET drops are keys that are wanted
    too. HAVING may need more keys than LIMIT has, windows read all of them, and private keys are discovered, so none of
    them is a case for a choice.
    """
    order, limit, having = (select.args.get(name) for name in ("order", "limit", "having"))
    keys = public_groups(bounded.keys)
    if order is None or limit is None or having is not None or not bounded.keys or keys is None:
        return None
    if select.args.get("qualify") is not None or select.find(exp.Window) is not None:
        return None
    first = order.expressions[0]
    leaf = first.this.unnest()
    if not first.args.get("desc") or not isinstance(leaf, exp.Placeholder):
        return None
    aggregate = aggregates[int(leaf.name[1:])]
    rows = (row_limit(limit) or 0) + (row_limit(select.args.get("offset")) or 0)
    if aggregate.kind != "COUNT" or aggregate.count is None or not 0 < rows < keys:
        return None
    return TopRows(aggregate.count, rows, keys)


def buy_top_k(
    asked: TopRows, half: Loss, bounded: BoundedAggregate, norms: Sequence[Norms], relation: Relation
) -> TopKeys | str:
    """The choice of keys that `half` the share of the count buys, or why noisy counts of all keys are ranked instead.

    Public facts alone decide: the norms, the number of keys, k and the spend. Keys are chosen if, at equal spend, (1)
    the noise of the released counts is smaller, and (2) the choice confuses no more than ranking noisy counts does: for
    Laplace noise, any two keys at any gap; for Gaussian noise, the gap at which two keys are confused with probability
    5 % / (k · keys) is no wider. Costs nothing.
    """
    monotone = relation == "add_remove"
    chosen = tuple(chosen_norms(measure, bounded, relation, asked.rows) for measure in bounded.measures)
    all_keys, few = norms[asked.count], chosen[asked.count]
    name, (allowed, *_) = budget_of(half)
    laplace = name in ("pure", "approx")
    before, after = (all_keys.l1, few.l1) if laplace else (all_keys.l2_squared, few.l2_squared)
    if 2 * after >= before:
        unit, few_counts = "" if laplace else " (squared)", "1 count" if asked.rows == 1 else f"{asked.rows:,} counts"
        return (
            f"one person moves {few_counts} by {after:,}{unit} and all by {before:,}; choosing pays below half of that"
        )
    try:
        mechanism = TopK.calibrate(half, all_keys, k=asked.rows, monotone=monotone)
    except ParameterError:
        return "the spend buys no choice of keys"
    scale = mechanism.sensitivity * (1 if monotone else 2) / mechanism.epsilon
    if laplace:
        clear = scale <= all_keys.l1 / (2 * allowed)
    else:
        variance = all_keys.l2_squared / (4 * allowed if name == "rho" else 2 * allowed)
        clear = _as_clear(scale, variance, _DOUBT / (asked.rows * asked.keys))
    return TopKeys(asked.count, mechanism, chosen) if clear else "a choice would confuse more keys than noisy counts do"


def if_clearer(
    bought: TopKeys, asked: TopRows, chosen: Sequence[NoiseMechanism], ranked: Sequence[NoiseMechanism]
) -> TopKeys | str:
    """The choice, unless the Gaussian noise that (ε, δ) would buy for all keys errs less or confuses less.

    `chosen` and `ranked` are the noises of the measures with the choice and without it. Costs nothing.
    """
    mechanism, noise = bought.mechanism, ranked[bought.count]
    scale = mechanism.sensitivity * (1 if mechanism.monotone else 2) / mechanism.epsilon
    smaller = chosen[bought.count].std <= noise.std
    if smaller and _as_clear(scale, Fraction(noise.std) ** 2, _DOUBT / (asked.rows * asked.keys)):
        return bought
    return "with this delta Gaussian noise on all keys does better"


def _as_clear(scale: Fraction, variance: Fraction, doubt: Fraction) -> bool:
    """Whether Gumbel noise of that scale needs no wider a gap than Gaussian noise, for two keys to be told apart.

    The difference of two Gumbel variables is logistic, and that of two Gaussian ones has twice the variance.
    """
    from scipy.special import ndtri

    chance = float(doubt)
    gumbel = float(scale) * (math.log1p(-chance) - math.log(chance))
    return gumbel <= math.sqrt(2 * variance) * -float(ndtri(chance))
