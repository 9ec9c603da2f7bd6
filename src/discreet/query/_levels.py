"""The levels of a query: one for each of its grouping sets, and one alone for most queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.privacy import Loss, currency, in_currency
from discreet.query._bounded import BoundedAggregate, GroupKey
from discreet.query._noise import Noise
from discreet.sensitivity import Norms

__all__ = ["Level", "keys_of", "level_loss"]


@dataclass(frozen=True, slots=True)
class Level:
    """What the plain query with the GROUP BY of one grouping set would be.

    `bounded` is what an engine sums, `norms` how far one unit moves each measure of it, `noise` None without a spend.
    `groupings` are the values of the query's GROUPING(…) in every row of this level.
    """

    bounded: BoundedAggregate
    norms: tuple[Norms, ...]
    noise: Noise | None
    groupings: Mapping[str, int] = field(default_factory=dict[str, int])


def keys_of(levels: Sequence[Level]) -> tuple[GroupKey, ...]:
    """The keys of all levels, each once."""
    return tuple({key.name: key for level in levels for key in level.bounded.keys}.values())


def level_loss(levels: Sequence[Level]) -> Loss | None:
    """The composition of all levels, in the currency of the spend; None without one."""
    losses = [level.noise.loss for level in levels if level.noise is not None]
    if len(losses) < 2:
        return losses[0] if losses else None
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return in_currency(total, currency(total))
