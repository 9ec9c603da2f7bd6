"""A cap bought by budget: the best of a public list, by how much a count falls from one cap to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.graphs.node._truncation import Resolution, Truncated
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.noise import bernoulli_exp, permutation, uniform_below

__all__ = ["OCTAVES", "CapScores", "choose_cap"]

OCTAVES = 12
"""Caps are looked at down to 1/4096 of the largest."""


@dataclass(slots=True)
class CapScores:
    """How far each cap is from being the best, computed as far as a choice needs it. SENSITIVE.

    With Q = V − penalty, the score of cap i is max over j of (Qⱼ − Qᵢ) / max(wᵢ, wⱼ), plus a public handicap: the less,
    the better, and moved by at most 1 when a vertex comes or goes, as w bounds the move of a difference
    (`Resolution.weight`).
    Source: Raskhodnikova and Smith 2016 (generalised exponential mechanism), with the larger of two sensitivities
    instead of their sum; ``proofs/graph_node_caps.md``.

    Attributes
    ----------
    caps
        Ascending, and public.
    penalties
        In steps of the values, one for each cap, and public.
    handicaps
        In units of the score, one for each cap, and public.
    """

    caps: Sequence[int]
    penalties: Sequence[int]
    handicaps: Sequence[Fraction]
    resolution: Resolution
    truncated: Callable[[int], Truncated]
    solved: dict[int, Truncated] = field(default_factory=dict[int, Truncated])

    def solve(self, i: int) -> Truncated:
        """The value at a cap."""
        if i not in self.solved:
            self.solved[i] = self.truncated(self.caps[i])
        return self.solved[i]

    def score(self, i: int) -> Fraction:
        """The exact score."""
        quality = self.solve(i).value - self.penalties[i]
        worst = max(self._distance(j, self._quality(j), i, quality) for j in self.solved)
        for j in reversed(range(len(self.caps))):  # each larger cap tightens the bounds on smaller ones
            if j not in self.solved:
                most = self._most(j)
                if most is None or self._distance(j, most, i, quality) > worst:
                    self.solve(j)
                    worst = max(worst, self._distance(j, self._quality(j), i, quality))
        return worst + self.handicaps[i]

    def least(self, i: int) -> Fraction:
        """What the score is at least, from the caps solved so far: the score itself, if this one is."""
        if i in self.solved:
            return self.score(i)
        most = self._most(i)
        bounds = [] if most is None else [self._distance(j, self._quality(j), i, most) for j in self.solved]
        return max(Fraction(0), *bounds) + self.handicaps[i] if bounds else self.handicaps[i]

    def best(self) -> Fraction:
        """The least score of all, by looking at caps from the largest down while they might have it."""
        best: Fraction | None = None
        for i in reversed(range(len(self.caps))):
            if best is None or self.least(i) < best:
                score = self.score(i)
                best = score if best is None else min(best, score)
        assert best is not None
        return best

    def _quality(self, j: int) -> int:
        return self.solved[j].value - self.penalties[j]

    def _most(self, i: int) -> int | None:
        """What Q is at most at a cap that is not solved, by the larger caps that are."""
        bounds = [
            value.value - value.slope * (self.caps[j] - self.caps[i]) for j, value in self.solved.items() if j > i
        ]
        return min(bounds) + self.resolution.slack * self.caps[i] - self.penalties[i] if bounds else None

    def _distance(self, j: int, upper: int, i: int, lower: int) -> Fraction:
        return Fraction(upper - lower, self.resolution.weight(self.caps[max(i, j)]))


def choose_cap(choice: PermuteAndFlip | Exponential, scores: CapScores) -> int:
    """The index of the cap chosen, by the law of `choice` on the utilities −score. Costs `choice.loss()`, uncharged.

    A candidate is taken with probability exp(−rate · (score − best)), exactly: a coin for what the score is at least,
    and only if that one falls on it another for the rest. Raises `ParameterError` unless the sensitivity of `choice`
    is 1. Source: ``proofs/graph_node_caps.md``.
    """
    if choice.sensitivity != 1 or choice.monotone:
        raise ParameterError("scores of caps move by 1 either way: use a choice of sensitivity 1")
    rate, n, best = choice.epsilon / 2, len(scores.caps), scores.best()

    def is_taken(i: int) -> bool:
        least = max(scores.least(i), best)
        return _coin(rate * (least - best)) and (i in scores.solved or _coin(rate * (scores.score(i) - least)))

    if isinstance(choice, PermuteAndFlip):
        return next(i for i in permutation(n).tolist() if is_taken(i))
    while not is_taken(i := int(uniform_below(n, 1)[0])):
        pass
    return i


def _coin(exponent: Fraction) -> bool:
    return bool(bernoulli_exp(np.array([float(exponent)]), lambda _: exponent)[0])
