"""Prices of the 2-star program by Newton's method on a smoothed dual: floats without any claim, for exact bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.graphs.node.stars._program import Clip, PricedStars, StarProgram

__all__ = ["Mixture", "descending_prices"]

_WIDEN = 8
_SHRINK = 4
_BARRIER = 1 / 32
_NEWTON_STEPS, _HALVINGS = 60, 12
_CONJUGATE_STEPS, _CONJUGATE_TOLERANCE = 1_000, 0.02
_NEAR, _NEARER = 1 / 2048, 1 / 8192
"""A gap in caps at which the last steps are worth taking, and how far the loads may be off after them."""
_LEAST, _MOST = 1e-14, 1.99
_LEAST_WIDTH = 64


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mean of clips, each 8 times as wide as the one before, and with an eighth of its part.

    The narrow ones make weights nearly optimal, the wide ones let Newton's method see stars that are not near 0.
    """

    clips: tuple[Clip, ...]

    @classmethod
    def starting_at(cls, width: int, scale: int) -> Mixture:
        """Clips from a width up to the scale, or a little more."""
        widths = [width]
        while widths[-1] < scale:
            widths.append(widths[-1] * _WIDEN)
        return cls(tuple(Clip(each, each // 3) for each in widths if each <= 4 * scale or each == width))

    def parts(self) -> list[float]:
        """The part of each clip; they add up to 1."""
        total = sum(_WIDEN**-k for k in range(len(self.clips)))
        return [_WIDEN**-k / total for k in range(len(self.clips))]

    def exact_loads(self, stars: PricedStars) -> tuple[list[int], int, int]:
        """Of the mean, the weight at each row and of all stars, as numerators, and their denominator. SENSITIVE."""
        last = len(self.clips) - 1
        sums, total = [0] * stars.program.rows, 0
        for k, clip in enumerate(self.clips):
            factor = _WIDEN ** (2 * (last - k))  # part and width both shrink 8-fold from the widest to this one
            loads, all_of_them = stars.loads(clip)
            sums = [a + factor * b for a, b in zip(sums, loads, strict=True)]
            total += factor * all_of_them
        return sums, total, sum(_WIDEN**k for k in range(last + 1)) * self.clips[-1].width


def descending_prices(program: StarProgram) -> Iterator[tuple[NDArray[np.int64], int, Mixture]]:
    """Prices on a grid, its scale, and weights by them, in turn nearer to optimal; each may be the last. SENSITIVE.

    Minimises cap Σλ + Σ h(r) − ν Σ log λ by Newton's method for ever narrower mixtures, where h′ is the weight of a
    star by its remainder, and ν is proportional to the width; directions by conjugate gradients. Source: Nesterov 2005
    (smoothed duals); Fiacco and McCormick 1968 (following a path).
    """
    scale = 1 << program.bits
    prices = np.full(program.rows, 0.34)
    width = scale // 2
    with np.errstate(all="ignore"):
        while width >= _LEAST_WIDTH:
            path = _Smoothed(program, scale, Mixture.starting_at(width, scale), program.cap * width / scale * _BARRIER)
            prices = path.minimise(prices, program.cap * width / scale * program.rows / 100, None)
            if path.gap_at_optimum(prices) <= program.cap * _NEAR:
                prices = path.minimise(prices, 0.0, program.cap * _NEARER)
                yield _on_grid(prices, scale), scale, path.mixture
            if not np.isfinite(prices).all():
                return
            width //= _SHRINK


@dataclass(slots=True, eq=False)
class _Point:
    """Loads, their derivatives, and how far the primal value is below the dual one, at some prices."""

    stars: PricedStars
    loads: NDArray[np.float64]
    gap: float
    ends: list[tuple[float, NDArray[np.int64]]] = field(default_factory=list[tuple[float, NDArray[np.int64]]])
    leaves: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    itself: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def derivative(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much loads fall for each unit of a step of prices: Σ e eᵀ v over stars of a weight between 0 and 1."""
        stars, program = self.stars, self.stars.program
        padded = np.append(v, 0.0)
        at_leaf, at_centre = padded[stars.leaf], padded[program.centre_row][program.centre]
        prefix = np.concatenate([[0.0], np.cumsum(stars.weight * at_leaf)])
        each = self.leaves * (at_centre + at_leaf) - self.itself * (at_centre + 2 * at_leaf)
        for factor, end in self.ends:
            each += factor * prefix[end]
        return stars.at_rows(each)

    def diagonal(self) -> NDArray[np.float64]:
        return self.stars.at_rows(self.leaves - self.itself)


class _Smoothed:
    """A smoothed dual with a barrier at 0."""

    def __init__(self, program: StarProgram, scale: int, mixture: Mixture, barrier: float) -> None:
        self.program, self.scale, self.mixture, self.barrier = program, scale, mixture, barrier

    def at(self, prices: NDArray[np.float64]) -> _Point:
        program, scale = self.program, self.scale
        stars = PricedStars(program, _on_grid(prices, scale), scale)
        each = np.zeros(len(stars.weight))
        point = _Point(stars, each, 0.0, [], np.zeros(len(each)), np.zeros(len(each)))
        for part, clip in zip(self.mixture.parts(), self.mixture.clips, strict=True):
            sums, first, last, itself = stars.clipped(clip)
            factor = part * scale / clip.width
            each += sums * (part / clip.width)
            point.ends += [(factor, last), (-factor, first)]
            point.leaves += factor * stars.leaves_between(first, last)
            point.itself += factor * itself
        point.loads = stars.at_rows(each)
        point.gap = stars.dual_estimate() - float(stars.weight @ each) / 2
        return point

    def gap_at_optimum(self, prices: NDArray[np.float64]) -> float:
        """What smoothing and barrier leave open where all loads are as they should be, estimated nearby."""
        point = self.at(prices)
        return point.gap - float(prices @ (self.program.cap - point.loads)) + self.barrier * len(prices)

    def gradient(self, prices: NDArray[np.float64], point: _Point) -> NDArray[np.float64]:
        return self.program.cap - point.loads - self.barrier / prices

    def minimise(self, prices: NDArray[np.float64], decrement: float, off: float | None) -> NDArray[np.float64]:
        """Newton steps until the decrement is that small, or if given until loads are off by so little."""
        point = self.at(prices)
        for _ in range(_NEWTON_STEPS):
            gradient = self.gradient(prices, point)
            if off is not None:
                over = float(np.maximum(point.loads - self.program.cap, 0).max())
                if float(prices @ np.abs(gradient)) + over * float(prices.sum()) <= off:
                    break
            step = _direction(point, gradient, self.barrier / prices**2)
            slope = float(gradient @ step)
            if not np.isfinite(slope) or -slope <= decrement:
                break
            falling = step < 0
            after, reached = prices, point
            size = min(1.0, 0.9 * float(np.min(prices[falling] / -step[falling], initial=np.inf)))
            for _ in range(_HALVINGS):
                after = np.clip(prices + size * step, _LEAST, _MOST)
                reached = self.at(after)
                here = float(self.gradient(after, reached) @ step)
                if here <= -0.3 * slope:
                    break
                size *= max(0.1, min(0.7, slope / (slope - here)))
            prices, point = after, reached
        return prices


def _direction(point: _Point, gradient: NDArray[np.float64], barrier: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Newton step by conjugate gradients, preconditioned by the diagonal."""
    diagonal = point.diagonal() + barrier
    step, left = np.zeros(len(gradient)), -gradient
    scaled = left / diagonal
    along, product = scaled, float(left @ scaled)
    enough = product * _CONJUGATE_TOLERANCE**2
    for _ in range(_CONJUGATE_STEPS):
        if not product > enough:
            break
        image = point.derivative(along) + barrier * along
        size = product / float(along @ image)
        step = step + size * along
        left = left - size * image
        scaled = left / diagonal
        before, product = product, float(left @ scaled)
        along = scaled + product / before * along
    return step


def _on_grid(prices: NDArray[np.float64], scale: int) -> NDArray[np.int64]:
    finite = np.nan_to_num(prices, nan=0.0, posinf=_MOST, neginf=0.0)
    return np.rint(np.clip(finite, 0, _MOST) * scale).astype(np.int64)
