"""What to compose in which direction, where to tilt it, and on which mesh."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, fsum, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

from discreet.privacy.pld._discretize import lower_measure, upper_measure
from discreet.privacy.pld._gaussian import GaussianPair
from discreet.privacy.pld._laplace import LaplacePair
from discreet.privacy.pld._mesh import Staged, split_at, split_lower, split_upper, stages_for
from discreet.privacy.pld._sampling import Swapped
from discreet.privacy.pld._tilting import Aim, Cumulants

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy.pld._pairs import Measure, Pair

    Parts = Sequence[tuple[Pair, int]]


def merged(parts: Sequence[tuple[Pair, int]]) -> list[tuple[Pair, int]]:
    """Add up the counts of equal pairs, and make one Gaussian of all that are not sampled.

    Gaussians with noise s_i compose to one with 1/s^2 = sum count_i / s_i^2 (Dong, Roth and Su 2022, Corollary 3.3).
    """
    counts: dict[Pair, int] = {}
    precisions: list[float] = []
    for pair, count in parts:
        if isinstance(pair, GaussianPair | LaplacePair) and pair.rate == 0.0:
            continue  # P = Q
        if isinstance(pair, GaussianPair) and pair.rate == 1.0:
            precisions += [count / pair.noise**2]
        else:
            counts[pair] = counts.get(pair, 0) + count
    combined = list(counts.items())
    if precisions and fsum(precisions) > 0:
        combined.append((GaussianPair(fsum(precisions) ** -0.5), 1))
    return combined


CELLS = 1 << 21  # cells of all pairs together, at most: the work limit
MANY = 50  # parts, from which on closed forms are used
FEW = 4  # parts, up to which each may be split in bulk and tail
COARSE = 600  # cells of a pair when only the tilt is sought


@dataclass(frozen=True)
class Plan:
    """One direction: what is composed, where it is tilted, and how far tails must reach."""

    parts: Parts
    tilt: float
    guess: float
    spans: Sequence[tuple[float, float]]
    width: float
    aim: Aim
    tolerance: float = 0.0  # error in loss that the caller can stand

    @property
    def count(self) -> int:
        return sum(count for _, count in self.parts)


def plans_for(
    parts: Parts, log_delta: float | None, tilt_of: Callable[[Cumulants], float], *, symmetric: bool
) -> list[Plan]:
    """One plan per direction that matters."""
    ours = [(pair, count) for pair, count in merged(parts) if count > 0]
    directions = [ours]
    if symmetric and not all(pair.symmetric for pair, _ in ours):
        directions.append([(Swapped(pair), count) for pair, count in ours])
    plans: list[Plan] = []
    for each in directions:
        count = sum(n for _, n in each)
        log_tail = max(-640.0, (-60.0 if log_delta is None else log_delta) - log(max(count, 1)) - 14.0)
        plan, reached = _plan(each, log_tail, log_delta, tilt_of)
        for _ in range(2):
            if log_delta is not None or reached - log(count) - 14.0 > log_tail:
                break
            log_tail = max(-640.0, reached - log(count) - 24.0)
            plan, reached = _plan(each, log_tail, log_delta, tilt_of)
        plans.append(plan)
    return sorted(plans, key=lambda plan: -plan.guess)


def _plan(
    parts: Parts, log_tail: float, log_delta: float | None, tilt_of: Callable[[Cumulants], float]
) -> tuple[Plan, float]:
    """A plan for tails of that size, and ln of about the delta that its tilt is for."""
    cumulants = Cumulants.rough(parts, log_tail, max(12, min(COARSE, 100_000 // len(parts))))
    tilt = tilt_of(cumulants)
    k, mean, variance = cumulants.moments(tilt)
    guess = (k - log1p(tilt) - log_delta) / tilt if log_delta is not None else mean
    spans = _spans(parts, log_tail, tilt, cumulants)
    reached = k - tilt * mean - log1p(tilt)
    aim = Aim(mean - 1 / tilt - 1 / (1 + tilt), min(reached, 0.0) if log_delta is None else log_delta)
    return Plan(parts, tilt, max(guess, 0.0), spans, sqrt(max(variance, 0.0)), aim), reached


def largest_loss(plans: Sequence[Plan], delta: float) -> float:
    """No epsilon is larger than the largest finite loss, unless infinite losses have more than delta."""
    largest = 0.0
    for plan in plans:
        if not all(pair.bounded for pair, _ in plan.parts):
            return inf
        if fsum(count * pair.infinity[1] for pair, count in plan.parts) > delta * (1 - 1e-12):
            return inf
        losses = [(count, max(pair.span(-inf)[1], 0.0)) for pair, count in plan.parts]
        # a loss after sampling is a logarithm near 1, right within 1e-14 absolutely
        largest = max(largest, fsum(count * (high * (1 + 1e-12) + 1e-14) for count, high in losses))
    return largest


def _spans(parts: Parts, log_tail: float, tilt: float, cumulants: Cumulants) -> list[tuple[float, float]]:
    """The losses that matter of each pair.

    Raising losses below x to x adds at most e^{tilt x} to the sum of mass e^{tilt loss} = e^K: no more than e^-16 of
    delta, over all copies, if x = (K - 16 - ln count) / tilt.
    """
    count = log(sum(n for _, n in parts))
    spans: list[tuple[float, float]] = []
    for (pair, _), k in zip(parts, cumulants.each(tilt).tolist(), strict=True):
        low, high = pair.span(log_tail)
        spans.append((min(max(low, (k - 16.0 - count) / tilt), high), high))
    return spans


def first_step(plan: Plan, tolerance: float) -> float:
    """The mesh at which connecting the dots costs about `tolerance`: each step adds (1 + tilt) h^2 / 12."""
    wanted = sqrt(12 * tolerance / (plan.count * (1 + plan.tilt)))
    return fitted_step(plan, wanted)


def fitted_step(plan: Plan, wanted: float) -> float:
    """A mesh of about `wanted` that divides the lattice of the most used pair that has one, within the work limit."""
    total = sum(high - low for low, high in plan.spans)
    lattices = [(count, pair.lattice) for pair, count in plan.parts]
    widest = max((lattice.spacing for _, lattice in lattices if lattice is not None), default=0.0)
    wanted = max(wanted, total / CELLS, 16 * plan.width / CELLS, widest / CELLS, 1e-13)
    known = [(count, lattice) for count, lattice in lattices if lattice is not None and lattice.spacing >= wanted]
    if len(plan.parts) == 1 and lattices[0][1] is not None and lattices[0][1].only_atoms:
        return lattices[0][1].spacing
    if not known:
        return wanted
    _, lattice = max(known, key=lambda each: each[0])
    return lattice.spacing / ceil(lattice.spacing / wanted)


def measures(plan: Plan, step: float, *, upper: bool) -> list[tuple[Measure, int]]:
    """Measures of all parts on one mesh, as accurate as `step`: in bulk and tail, in stages, or whole."""
    few = len(plan.parts) <= FEW
    splits = [split_at(part, step, span, plan.tolerance) if few else None
              for part, span in zip(plan.parts, plan.spans, strict=True)]  # fmt: skip
    if few and not any(splits):
        stages = stages_for(plan.parts, plan.spans, plan.width, step)
        if stages is not None:
            blocks = [Staged(*part, size, *span)
                      for part, size, span in zip(plan.parts, stages.sizes, plan.spans, strict=True)]  # fmt: skip
            return [each for block in blocks for each in (
                block.upper(stages, plan.tilt, plan.aim.log_delta) if upper else block.lower(stages, plan.tilt)
            )]  # fmt: skip
    on_mesh: list[tuple[Measure, int]] = []
    for (pair, count), (low, high), split in zip(plan.parts, plan.spans, splits, strict=True):
        closed = pair.measures(step) if len(plan.parts) > MANY else None
        if split is not None:
            on_mesh += split_upper(split, plan.tilt) if upper else split_lower(split, plan.tilt)
        elif closed is not None:
            on_mesh.append((closed[upper], count))
        elif upper:
            on_mesh.append((upper_measure(pair, step, low, high), count))
        else:
            on_mesh.append((lower_measure(pair, step, low, high, plan.tilt), count))
    return on_mesh
