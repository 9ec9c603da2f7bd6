"""What continual counting costs in error and in time, next to other factorizations of the prefix sums.

    python bench/counting.py

Errors are exact, for one event and Δ = 1, without the rounding to whole numbers: the root mean square error of the
worst step and of the mean over all steps. Pure ε = 1 with Laplace noise, μ = 1 with Gaussian noise. The rows marked *
are in this library; the others are closed forms of what is published.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from discreet.mechanisms import ToeplitzCounter, TreeCounter
from discreet.privacy import mu, pure

Variances = NDArray[np.float64]

STEPS = (100, 10_000, 1_000_000)
TIMED = 200_000


def digit_sums(steps: int, arity: int, weight: Callable[[int], float] = lambda _: 1.0) -> Variances:
    """For every step the sum of its digits without signs, those at place j times weight(j)."""
    number, total, below, place = np.arange(1, steps + 1), np.zeros(steps), (arity - 1) // 2, 0
    while number.any():
        digit = (number + below) % arity - below
        total += np.abs(digit) * weight(place)
        number, place = (number - digit) // arity, place + 1
    return total


def honaker(place: int) -> float:
    """The variance of a node estimated from itself and from the two below it (Honaker 2015)."""
    variance = 1.0
    for _ in range(place):
        variance = 1 / (1 + 1 / (2 * variance))
    return variance


def toeplitz(column: Variances, steps: int) -> Variances:
    """The variances at μ = 1 of A = B·C, by the first column of C: ‖C‖² times the running sum of the squares of B."""
    impulse = np.zeros(steps)
    impulse[0] = 1
    inverse = np.cumsum(lfilter([1.0], column, impulse))
    return float(column @ column) * np.cumsum(inverse**2)


def root(steps: int) -> Variances:
    j = np.arange(1, steps)
    return np.concatenate([[1.0], np.cumprod((2 * j - 1) / (2 * j))])


def ours(steps: int) -> Variances:
    """Of `ToeplitzCounter`, at up to 2,000 steps that are evenly spread, the last among them."""
    counter = ToeplitzCounter.calibrate(mu(1), 1, steps=steps)
    at = np.unique(np.linspace(1, steps, min(steps, 2000)).astype(int))
    return np.array([counter.std_at(int(step)) ** 2 - 1 / 12 for step in at])


def lower_bound(steps: int) -> float:
    """The mean of the singular values of A: no factorization has less error in the mean, so none has for the worst."""
    j = np.arange(1, steps + 1)
    return float(np.mean(1 / (2 * np.sin((2 * j - 1) * np.pi / (4 * steps + 2)))))


def laplace_rows(steps: int) -> Iterator[tuple[str, Variances]]:
    binary = TreeCounter(steps, 1, arity=2).height
    best = TreeCounter.calibrate(pure(1), 1, steps=steps)
    yield "binary tree *", 2.0 * binary**2 * digit_sums(steps, 2)
    yield "binary tree, Honaker", 2.0 * binary**2 * digit_sums(steps, 2, honaker)
    yield f"tree of arity {best.arity} *", 2.0 * best.height**2 * digit_sums(steps, best.arity)


def gaussian_rows(steps: int) -> Iterator[tuple[str, Variances]]:
    binary = TreeCounter(steps, 1, arity=2).height
    few, many = len(f"{steps:b}") // 2, math.isqrt(steps)
    yield "binary tree", float(binary) * digit_sums(steps, 2)
    yield "binary tree, Honaker", float(binary) * digit_sums(steps, 2, honaker)
    for width in (few, many):
        yield f"square root, banded, {width}", toeplitz(root(width), steps)
    column = root(steps)
    yield f"square root, {steps:,}", float(column @ column) * np.cumsum(column**2)
    yield "ToeplitzCounter *", ours(steps)


def show(name: str, variances: Variances) -> None:
    print(f"  {name:<28}{math.sqrt(variances.max()):>12.3f}{math.sqrt(variances.mean()):>12.3f}")


def main() -> None:
    for steps in STEPS:
        print(f"{steps:,} steps" + f"{'worst':>24}{'mean':>12}".rjust(54 - len(f"{steps:,} steps")))
        print(" Laplace, pure ε = 1")
        for name, variances in laplace_rows(steps):
            show(name, variances)
        print(" Gaussian, μ = 1")
        for name, variances in gaussian_rows(steps):
            show(name, variances)
        print(f"  {'lower bound':<28}{lower_bound(steps):>12.3f}{lower_bound(steps):>12.3f}")
    print(f"\nCPU µs per step, {TIMED:,} steps of a counter for {STEPS[-1]:,}")
    for counter in (TreeCounter(STEPS[-1], 100), ToeplitzCounter(STEPS[-1], 100)):
        start = time.process_time()
        counter.release([1] * TIMED)
        print(f"  {type(counter).__name__:<28}{(time.process_time() - start) / TIMED * 1e6:>12.2f}")


if __name__ == "__main__":
    main()
