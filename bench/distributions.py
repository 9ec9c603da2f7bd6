"""Distributions of a number from local reports: Wasserstein distances to the truth, for RAND's outpatient dollars.

    python bench/distributions.py [--runs 20] [--high 1000] [--epsilons 0.5 1 2 4]

Everybody reports once: by the square wave, smoothed and not, by the piecewise mechanism and by the hybrid one. What the
latter two say of the distribution comes in two ways: the reported numbers themselves, cut to the bounds; and, for the
piecewise one, the shares that make its reports likeliest, by the expectation maximisation that the square wave has. The
distance is that of the cumulated shares from those of the people, in dollars, as a mean over the runs.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import numpy as np
import pandas as pd

from discreet import local
from discreet.datasets import rand
from discreet.local.numbers._distribution import most_likely

BINS = 1000
Shares = Callable[[np.ndarray, float, int], np.ndarray]


def square_wave(smooth: bool) -> Shares:  # noqa: FBT001
    def shares(people: np.ndarray, epsilon: float, high: int) -> np.ndarray:
        scheme = local.SquareWave((0, high), epsilon, bins=BINS, smooth=smooth)
        return scheme.server().add(scheme.simulate(people)).estimate().shares

    return shares


def as_reported(kind: type[local.Piecewise] | type[local.Hybrid]) -> Shares:
    def shares(people: np.ndarray, epsilon: float, high: int) -> np.ndarray:
        scheme = kind((0, high), epsilon)
        counts = scheme.server().add(scheme.simulate(people)).counts
        places = np.clip(scheme.levels() * BINS, 0, BINS - 1).astype(int)
        return np.bincount(places, weights=counts / people.size, minlength=BINS)

    return shares


def likeliest_piecewise(people: np.ndarray, epsilon: float, high: int) -> np.ndarray:
    scheme = local.Piecewise((0, high), epsilon)
    counts = scheme.server().add(scheme.simulate(people)).counts
    positions = most_likely(counts, scheme.window, smooth=True)
    places = np.minimum(np.arange(positions.size) * BINS // (positions.size - 1), BINS - 1)
    return np.bincount(places, weights=positions, minlength=BINS)


WAYS: dict[str, Shares] = {
    "square wave": square_wave(smooth=True),
    "square wave, not smoothed": square_wave(smooth=False),
    "piecewise, as reported": as_reported(local.Piecewise),
    "piecewise, likeliest": likeliest_piecewise,
    "hybrid, as reported": as_reported(local.Hybrid),
}


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--high", type=int, default=1000)
    options.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1, 2, 4])
    given = options.parse_args()
    people = pd.read_parquet(rand.table)["dollars"].clip(0, given.high).to_numpy(dtype=np.float64)
    truth = np.cumsum(np.histogram(people, BINS, (0, given.high))[0]) / people.size
    print(f"{people.size:,} people, 0 to {given.high:,} dollars, mean {people.mean():.1f}; mean distance in dollars\n")
    print(f"{'':<28}" + "".join(f"{'ε = ' + str(epsilon):>10}" for epsilon in given.epsilons))
    for name, way in WAYS.items():
        line = f"{name:<28}"
        for epsilon in given.epsilons:
            runs = [np.abs(np.cumsum(way(people, epsilon, given.high)) - truth).sum() for _ in range(given.runs)]
            line += f"{statistics.mean(runs) * given.high / BINS:>10.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
