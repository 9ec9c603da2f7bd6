"""A cap that is chosen by noisy counts of people, and what it cuts off.

Proof: ``proofs/caps.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

from discreet.policy import Policy
from discreet.privacy import Loss, Unit
from discreet.query._certificate_levels import level_to_json
from discreet.query.budget._calibrate import calibrate, part_of
from discreet.query.budget._noise import Level, NoiseMechanism
from discreet.query.caps._people_by_rows import people_by_rows
from discreet.query.measures._bounded import Group, public_groups
from discreet.query.measures._sensitivity import measure_norms
from discreet.query.results._intervals import linear_half_width
from discreet.sensitivity import caps_up_to

__all__ = ["SHARE", "CapChoice", "cap_choice"]

SHARE = Fraction(3, 20)
"""The part of the spend that chooses the cap."""

_PER_OCTAVE = 4
"""Caps for each doubling."""
_HANDICAP = 2.25
"""People who pay for the next cap, in scales of the noise of a count: fewer cannot be told from noise."""
_DIFFERENCE = 0.1
"""How far the rows that are cut are supposed to differ from the others, where that alone moves an answer."""
_SEEN = 4
"""What is cut off is estimated of people who have up to so many times the cap."""


@dataclass(frozen=True, slots=True)
class CapChoice:
    """How a query chooses its cap on the rows of one person: the counts that it buys, and the caps that it may take.

    `levels` are those of the query under the largest cap, without noise, and `level` the one that counts people. The
    first `affordable` caps may be chosen: the spend is enough under the last. `chosen` is the cap, once it is, or one
    that is assumed; `people` are the noisy counts that chose it. `ratios` says that all columns with
    noise are averages, shares and the like, which stay the same where rows are cut at random.
    """

    levels: tuple[Level, ...]
    level: Level
    caps: tuple[int, ...]
    affordable: int
    ratios: bool = False
    chosen: int | None = None
    people: tuple[int, ...] = ()

    def bought(self, spend: Loss, unit: Unit) -> CapChoice:
        """The same choice with the noise that its share of the spend buys; `ParameterError` if it is too little."""
        share = part_of(spend, SHARE, keeps_delta=False)
        noise = calibrate(share, self.level.bounded, self.level.norms, unit)
        return replace(self, level=replace(self.level, noise=noise))

    def choose(self, groups: Sequence[Group], levels: Sequence[Level]) -> CapChoice:
        """The choice, made by noisy counts and by the noise that `levels` have at a cap of 1: post-processing.

        A larger cap is better by the people whose rows it does not cut, and worse by so many people for each step of
        the list: as many as cannot be told from the noise of the counts, or for each row of the largest values that the
        noise of all cells is worth at a cap of 1, if that is more. Where rows that are cut move answers only as far as
        they differ from the others, they weigh a tenth.
        """
        people = [group.sums[0] for group in groups]
        noise = sum(map(_rows_of_noise, levels)) / (_DIFFERENCE if self.ratios else 1)
        step = max(_HANDICAP * self._noise.std / sqrt(2), noise)
        scores = [sum(people[i + 1 :]) + i * step for i in range(len(people))]
        chosen = min(range(self.affordable), key=scores.__getitem__)
        return replace(self, chosen=self.caps[chosen], people=tuple(people))

    def at(self, cap: int, unit: Unit) -> tuple[Level, ...]:
        """The levels of the query, without noise, where at most `cap` rows of one person count."""
        return tuple(_with_cap(level, cap, unit) for level in self.levels)

    def cut(self, level: float = 0.95) -> list[tuple[str, float, float, bool]]:
        """What the cap cuts off: in words, the estimate, its half-width, and whether it is a lower limit.

        People with more than four times the cap are left out, so that few counts' noise adds up.
        """
        assert self.chosen is not None
        places = [i for i, cap in enumerate(self.caps) if self.chosen < cap <= _SEEN * self.chosen]
        if not places:
            return []
        beyond = [self.caps[i - 1] + 1 - self.chosen for i in places]
        people, noises = [self.people[i] for i in places], [self._noise] * len(places)
        rows = sum(number * least for number, least in zip(people, beyond, strict=True))
        last = self.caps[places[-1]]
        to = "or more" if last == self.caps[-1] else f"to {last:,}"
        whose = f"people with {self.chosen + 1:,} {to} rows, of which {self.chosen:,} count"
        return [
            (whose, float(sum(people)), linear_half_width([1.0] * len(places), noises, level), True),
            (f"rows beyond the cap of {whose}", float(rows), linear_half_width(beyond, noises, level), True),
        ]

    def to_json(self) -> dict[str, Any]:
        """What a certificate says of the choice."""
        return {"caps": list(self.caps), "chosen": self.chosen, "level": level_to_json(self.level)}

    @property
    def _noise(self) -> NoiseMechanism:
        assert self.level.noise is not None
        return self.level.noise.mechanisms[0]


def cap_choice(levels: Sequence[Level], unit: Unit, policy: Policy, *, ratios: bool) -> CapChoice:
    """The choice for a query whose levels have the largest cap that may be chosen; `ratios` is as in `CapChoice`."""
    bounded = levels[0].bounded
    caps = caps_up_to(bounded.max_rows, _PER_OCTAVE)
    return CapChoice(tuple(levels), people_by_rows(bounded, caps, unit, policy), caps, len(caps), ratios)


def _with_cap(level: Level, cap: int, unit: Unit) -> Level:
    groups = level.bounded.max_groups
    bounded = replace(level.bounded, max_rows=cap, max_groups=groups if groups is not None and groups < cap else None)
    norms = tuple(measure_norms(measure, bounded, unit.relation) for measure in bounded.measures)
    return replace(level, bounded=bounded, norms=norms, noise=None)


def _rows_of_noise(level: Level) -> float:
    """How many rows with the largest values the noise of all cells is as large as, on average over the measures."""
    if level.noise is None or not level.bounded.measures:
        return 0.0
    pairs = zip(level.noise.mechanisms, level.bounded.measures, strict=True)
    rows = [noise.std / max(abs(measure.lower), abs(measure.upper), 1) for noise, measure in pairs]
    return (public_groups(level.bounded.keys) or 1) * sum(rows) / len(rows) / sqrt(2)
