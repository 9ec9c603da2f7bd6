"""The mean of vectors in a ball: error and speed of PrivUnit, beside theory and what single numbers make of it.

    python bench/vectors.py [--people 10000] [--dimensions 10 100 1000] [--epsilons 1 4 8]

Errors are n times the mean squared distance in l2 from the true mean of n unit vectors around a common direction;
"measured" is that of 100 collections from a hundredth of the people each. "theory" is this scheme's, "best" PrivUnit's
with the best cap over all directions, with no limit on bytes or work (Asi, Feldman and Talwar 2022). "split" reports
every coordinate by Duchi's bit or the hybrid with ε/d, whichever is better; "one" draws a coordinate for each person,
in public, and reports it by the hybrid with ε. Rates are of a CPU second.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np

from discreet import local
from discreet.local.vectors._caps import largest_slope

HEAD = ("d", "ε", "measured", "theory", "best", "split", "one", "N", "bytes", "clients/s", "server/s")


def vectors(people: int, dimension: int) -> np.ndarray:
    draw = np.random.default_rng(3)
    found = draw.normal(size=(people, dimension)) + draw.normal(size=dimension)
    return found / np.linalg.norm(found, axis=1)[:, None]


def squared(estimate: np.ndarray, values: np.ndarray) -> float:
    return float(((estimate - values.mean(axis=0)) ** 2).sum()) * len(values)


def measured(scheme: local.PrivUnit, reports: local.Reports, values: np.ndarray, rounds: int = 100) -> float:
    parts = zip(np.array_split(reports.rows, rounds), np.array_split(values, rounds), strict=True)
    return float(
        np.mean(
            [
                squared(scheme.server().add(local.Reports(reports.fingerprint, rows)).estimate().mean, some)
                for rows, some in parts
            ]
        )
    )


def split(values: np.ndarray, epsilon: Fraction) -> float:
    share = epsilon / values.shape[1]
    kind = local.Hybrid if share > Fraction("0.61") else local.Duchi
    scheme = kind((-1, 1), share)
    found = [scheme.server().add(scheme.simulate(column)).estimate().mean for column in values.T]
    return squared(np.array(found), values)


def one_each(values: np.ndarray, epsilon: Fraction) -> float:
    """The mean over people of d times what the person whose coordinate it is reports."""
    scheme, (people, dimension) = local.Hybrid((-1, 1), epsilon), values.shape
    mine = np.random.default_rng(4).integers(dimension, size=people)
    found = np.zeros(dimension)
    for place in range(dimension):
        told = values[mine == place, place]
        if told.size:
            found[place] = scheme.server().add(scheme.simulate(told)).estimate().mean
    return squared(found, values)


def row(values: np.ndarray, epsilon: Fraction) -> tuple[object, ...]:
    people, dimension = values.shape
    scheme = local.PrivUnit(dimension, epsilon)
    start = time.process_time()
    reports = scheme.simulate(values)
    encoded = time.process_time()
    scheme.server().add(reports)
    added = time.process_time()
    return (
        dimension,
        epsilon,
        f"{measured(scheme, reports, values):.4g}",
        f"{scheme.variance(values):.4g}",
        f"{largest_slope(dimension, epsilon) ** -2 - 1:.4g}",
        f"{split(values, epsilon):.3g}",
        f"{one_each(values, epsilon):.3g}",
        scheme.candidates,
        scheme.layout.width,
        f"{people / (encoded - start):,.0f}",
        f"{people / (added - encoded):,.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--epsilons", type=Fraction, nargs="+", default=[Fraction(1), Fraction(4), Fraction(8)])
    given = parser.parse_args()
    print("".join(f"{name:>11}" for name in HEAD))
    for dimension in given.dimensions:
        values = vectors(given.people, dimension)
        for epsilon in given.epsilons:
            print("".join(f"{each!s:>11}" for each in row(values, epsilon)), flush=True)


if __name__ == "__main__":
    main()
