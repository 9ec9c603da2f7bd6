"""What nine quantiles of ages err by at equal total ε: discreet, and published mechanisms in floating point.

    python bench/quantiles.py [--data adult.data ...] [--runs 200]

With `--data`, ages are the first column of these comma-separated files. Without it they follow a fixed formula.
Errors are means over the nine deciles, medians over the runs. Rank errors count people: how far p n is from the
interval [#{x < v}, #{x ≤ v}]. Value errors are in years, against the value of rank ⌈p n⌉. "At its ρ" is at ε²/8, which
is what JointExp costs in ρ.

The peers are run here as their papers state them, on ages with uniform jitter of one year, rounded to years at the
end; they are yardsticks for utility alone, being neither exact nor secure:

    independent     Smith 2011 for each decile with ε/9, utility sensitivity 1
    independent*    the same with what `Quantiles` knows of one quantile: tight sensitivity, ties that cost nothing
    joint           JointExp, Gillenwater, Joseph and Kulesza 2021, by fast Fourier transforms
    recursive       ApproximateQuantiles, Kaplan, Schnapp and Stemmer 2022, utility sensitivity 1
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Quantiles
from discreet.privacy import Loss, pure, rho

LOWER, UPPER = 17, 90
DECILES = tuple(Fraction(k, 10) for k in range(1, 10))
Floats = NDArray[np.float64]
Method = Literal["recursive", "joint"]
Release = Callable[[Floats, float], Floats]
RNG = np.random.default_rng(1)


def ages(paths: list[Path]) -> Floats:
    if paths:
        found = [re.match(r"\d+", line) for path in paths for line in path.read_text().splitlines()]
        return np.array([float(age[0]) for age in found if age])
    spread = (np.arange(48_842) * 0.6180339887498949) % 1.0
    return np.floor(LOWER + (UPPER - LOWER) * spread**1.75)


def one_quantile(x: Floats, low: float, high: float, p: float, rate: float) -> float:
    """Density exp(−rate · |#{x < t} − p n|) on [low, high], for sorted x."""
    edges = np.concatenate([[low], x, [high]])
    with np.errstate(divide="ignore"):
        score = np.log(np.diff(edges)) - rate * np.abs(np.arange(x.size + 1) - p * x.size)
    gap = int(np.argmax(score + RNG.gumbel(size=score.size)))
    return float(RNG.uniform(edges[gap], edges[gap + 1]))


def jittered(x: Floats) -> Floats:
    return np.sort(x + RNG.random(x.size))


def years(t: list[float]) -> Floats:
    return np.minimum(np.floor(np.sort(t)), UPPER)


def independent(x: Floats, epsilon: float) -> Floats:
    y, rate = jittered(x), epsilon / len(DECILES) / 2
    return years([one_quantile(y, LOWER, UPPER + 1, float(p), rate) for p in DECILES])


def recursive(x: Floats, epsilon: float) -> Floats:
    rate = epsilon / len(DECILES).bit_length() / 2

    def part(y: Floats, low: float, high: float, start: int, stop: int) -> list[float]:
        if start == stop:
            return []
        at = (start + stop) // 2
        below, above = ([0.0, *map(float, DECILES), 1.0][k] for k in (start, stop + 1))
        t = one_quantile(y, low, high, (float(DECILES[at]) - below) / (above - below), rate)
        return [*part(y[y < t], low, t, start, at), t, *part(y[y >= t], t, high, at + 1, stop)]

    return years(part(jittered(x), LOWER, UPPER + 1, 0, len(DECILES)))


def joint(x: Floats, epsilon: float) -> Floats:
    """Draws the gaps of all quantiles backwards, from sums over all the gaps before them, by Fourier transforms."""
    y, m = jittered(x), len(DECILES)
    edges = np.concatenate([[LOWER], y, [UPPER + 1.0]])
    size, n = np.diff(edges), y.size
    shares = np.diff([0.0, *map(float, DECILES), 1.0])
    rate = epsilon / 2 / (2 * (1 - shares.min()))
    steps = np.arange(n + 1)
    alpha = np.zeros((m, m + 1, n + 1))  # quantile, how many of them share the gap, gap
    alpha[0, 1] = size * np.exp(-rate * np.abs(steps - shares[0] * n))
    for j in range(1, m):
        move = np.where(steps > 0, np.exp(-rate * np.abs(steps - shares[j] * n)), 0)
        sums = np.fft.irfft(np.fft.rfft(move, 2 * n + 2) * np.fft.rfft(alpha[j - 1].sum(axis=0), 2 * n + 2))[: n + 1]
        alpha[j, 1] = size * np.maximum(sums, 0)
        for k in range(2, j + 2):
            alpha[j, k] = alpha[j - 1, k - 1] * np.exp(-rate * shares[j] * n) * size / k
        scale = alpha[: j + 1].max()
        alpha[: j + 1] /= scale
    found: list[float] = []
    after, j = n, m - 1
    last = alpha[j] * np.exp(-rate * np.abs(n - steps - shares[m] * n))
    while True:
        k, gap = np.unravel_index(RNG.choice(last.size, p=last.ravel() / last.sum()), last.shape)
        found += RNG.uniform(edges[gap], edges[gap + 1], k).tolist()
        after, j = int(gap), j - int(k)
        if j < 0:
            return years(found)
        reach = np.where(steps < after, np.exp(-rate * np.abs(after - steps - shares[j + 1] * n)), 0)
        last = alpha[j] * reach


def independent_tight(x: Floats, epsilon: float) -> Floats:
    each = [Quantiles.calibrate(pure(epsilon / 9), probabilities=p, bounds=(LOWER, UPPER), step=1) for p in DECILES]
    return np.sort([quantile.release(x) for quantile in each])


def discreet(x: Floats, spend: Loss, method: Method) -> Floats:
    return Quantiles.calibrate(spend, probabilities=DECILES, bounds=(LOWER, UPPER), step=1, method=method).release(x)


def discreet_recursive(x: Floats, epsilon: float) -> Floats:
    return discreet(x, pure(epsilon), "recursive")


def discreet_joint(x: Floats, epsilon: float) -> Floats:
    return discreet(x, pure(epsilon), "joint")


def discreet_recursive_rho(x: Floats, epsilon: float) -> Floats:
    return discreet(x, rho(epsilon**2 / 8), "recursive")


def discreet_joint_rho(x: Floats, epsilon: float) -> Floats:
    return discreet(x, rho(epsilon**2 / 8), "joint")


def errors(x: Floats, released: Floats) -> tuple[float, float]:
    ordered = np.sort(x)
    targets = np.array([float(p * x.size) for p in DECILES])
    low, high = (np.searchsorted(ordered, released, side) for side in ("left", "right"))
    true = ordered[[-int(-p * x.size // 1) - 1 for p in DECILES]]
    return float(np.maximum(0, np.maximum(low - targets, targets - high)).mean()), float(np.abs(released - true).mean())


def measure(release: Release, x: Floats, epsilon: float, runs: int) -> tuple[float, float, float]:
    start = time.process_time()
    found = [errors(x, release(x, epsilon)) for _ in range(runs)]
    seconds = (time.process_time() - start) / runs
    return (*np.median(np.array(found), axis=0), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=200)
    given = parser.parse_args()
    everyone = ages(given.data)
    sample = RNG.choice(everyone, 1000, replace=False)
    peers: dict[str, Release] = {
        "independent": independent,
        "independent*": independent_tight,
        "joint": joint,
        "recursive": recursive,
        "ours, recursive": discreet_recursive,
        "ours, joint": discreet_joint,
        "  at its ρ, rec.": discreet_recursive_rho,
        "  at its ρ, joint": discreet_joint_rho,
    }
    print(
        f"{'people':>8}{'epsilon':>9}  {'mechanism':<18}{'rank error':>11}{'years':>8}{'of independent':>16}{'ms':>8}"
    )
    for x, epsilons in ((sample, (0.1, 0.3, 1.0)), (everyone, (0.003, 0.01, 0.03, 0.1, 1.0))):
        for epsilon in epsilons:
            base = 0.0
            for name, release in peers.items():
                rank, value, seconds = measure(release, x, epsilon, given.runs)
                base = base or rank
                share = f"{rank / base:.2f}" if base else "-"
                print(
                    f"{x.size:>8,}{epsilon:>9g}  {name:<18}{rank:>11.1f}{value:>8.2f}{share:>16}{1000 * seconds:>8.1f}"
                )


if __name__ == "__main__":
    main()
