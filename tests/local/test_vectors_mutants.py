"""Likely mistakes, each patched into the real code of vectors: the checks of this folder find every one of them."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from local_laws import assert_exact
from mutated_modules import mutated
from scipy import stats
from vector_laws import BOOKS, assert_law, odds_of_vectors

from discreet.errors import DiscreetError

PRIV_UNIT, CAPS, DIRECTIONS = (f"vectors.{name}" for name in ("_priv_unit", "_caps", "_directions"))

MUTANTS = [
    (PRIV_UNIT, "np.where(chosen, near, number)", "near"),
    (PRIV_UNIT, "np.where(chosen, near, number)", "np.where(chosen, number, near)"),
    (PRIV_UNIT, "draws.below(self.likely, people)", "draws.below(self.candidates // 2, people)"),
    (PRIV_UNIT, "draws.below(self.candidates, people)", "draws.below(self.candidates // 2, people)"),
    (PRIV_UNIT, "place) ^ turned", "place)"),
    (PRIV_UNIT, "(1 - lengths(vectors)) * 2.0**31", "(1 - lengths(vectors)) * 2.0**32"),
    (PRIV_UNIT, "place[rows, None]", "0 * place[rows, None]"),
    (PRIV_UNIT, "-np.abs(inner)", "-inner"),
    (PRIV_UNIT, "-np.abs(inner)", "np.abs(inner)"),
    (PRIV_UNIT, "line, axis=1) < 0)", "line, axis=1) > 0)"),
    (PRIV_UNIT, "2 * line + (", "2 * line + 0 * ("),
    (PRIV_UNIT, "inner / np.sqrt(np.einsum", "inner * np.sqrt(np.einsum"),
    (PRIV_UNIT, "1 - 2 * (number[rows] & 1)", "1 - 0 * (number[rows] & 1)"),
    (PRIV_UNIT, "number[rows] >> 1", "number[rows]"),
    (PRIV_UNIT, "per_unit = self.slope * UNIT", "per_unit = self.slope**2 * UNIT"),
    (PRIV_UNIT, "vectors**2 / _SQUARE", "vectors**2 / UNIT"),
    (PRIV_UNIT, "VectorEstimate(radius * mean, radius * stderr", "VectorEstimate(mean, radius * stderr"),
    (PRIV_UNIT, "VectorEstimate(radius * mean, radius * stderr", "VectorEstimate(radius * mean, stderr"),
    (PRIV_UNIT, "square - mean**2, 0", "square, 0"),
    (CAPS, "return more / (more + candidates)", "return more / (more + candidates - likely)"),
    (CAPS, "likely * (exp_epsilon(epsilon) - 1)", "likely * exp_epsilon(epsilon)"),
    (CAPS, "likely) / likely", "likely)"),
    (CAPS, "candidates // 2, likely) / likely", "candidates, likely) / likely"),
    (CAPS, "power = (dimension - 1) / 2", "power = dimension / 2"),
    (DIRECTIONS, "steps[long] = np.rint(", "steps[long] = 0 * np.rint("),
    (DIRECTIONS, "/ fraction, scale", "/ 1.0, scale"),
    (DIRECTIONS, "power - own, 1)", "power - own, 0)"),
    (DIRECTIONS, "vectors * UNIT / length[:, None]", "vectors * UNIT / 10_000"),
    (DIRECTIONS, "entries[:, 2 * half : 2 * half + dimension]", "entries[:, :dimension]"),
    (DIRECTIONS, "np.concatenate([-upper[::-1], upper])", "np.concatenate([upper[::-1], upper])"),
    (DIRECTIONS, "lines.astype(np.uint64) + np.uint64(1)", "np.uint64(0) * lines.astype(np.uint64) + np.uint64(1)"),
]


def assembled(module: str, old: str, new: str):
    """`PrivUnit` with one place of one of its modules changed, and the others as they are."""
    names = {each: f"discreet.local.{each}" for each in (CAPS, DIRECTIONS)}
    real = {path: sys.modules[path] for path in names.values()}
    try:
        if module != PRIV_UNIT:
            sys.modules[names[module]] = mutated(module, old, new)
            return mutated(PRIV_UNIT, "from __future__", "from __future__").PrivUnit
        return mutated(module, old, new).PrivUnit
    finally:
        sys.modules.update(real)


def exact(kind) -> None:
    few = type("Few", (kind,), {"_books": property(lambda _: BOOKS)})
    for length in (1.0, 0.5):
        assert_law(few(2, "1.5", candidates=8, likely=2), length)
    scheme = few(2, "1.5", candidates=8, likely=3)
    assert_exact(odds_of_vectors(scheme), scheme.epsilon)


def unbiased_with_its_errors(kind) -> None:
    """Passes by chance what is right but for 1e-9 of the time; 16,000 people see the mutants."""
    for dimension, radius in ((1, 3), (3, 1), (3, 5)):
        scheme = kind(dimension, 3, candidates=8, likely=2, radius=radius)
        some = np.zeros((2, dimension))
        some[0, 0], some[1] = radius, radius / 2 / dimension
        some[0, 0] *= 1.5  # is clipped
        values = np.tile(some, (8000, 1))
        truth = (some[0] / 1.5 + some[1]) / 2
        found = scheme.server().add(scheme.simulate(values)).estimate()
        off = (found.mean - truth) / found.stderr
        assert stats.chi2.sf((off**2).sum(), dimension) > 1e-9
        square = ((some[0] / 1.5) ** 2 + some[1] ** 2).sum() / 2
        told = found.error**2 * len(values) + (found.mean**2).sum()  # all directions have length 1
        assert told == pytest.approx(scheme.variance(values) + square, rel=1e-3)


def slope_of_uniform_heights(kind) -> None:
    """In three dimensions heights on the sphere are uniform, and the i-th largest of B has mean (B + 1 − i)/(B + 1)."""
    for pairs, likely in ((4, 4), (20, 3)):
        scheme, more = kind(3, 2, candidates=2 * pairs, likely=likely), math.e**2 - 1
        total = likely - likely * (likely + 1) / 2 / (pairs + 1)
        assert scheme.slope == pytest.approx(more * total / (likely * more + 2 * pairs), rel=1e-12)


CHECKS = (slope_of_uniform_heights, unbiased_with_its_errors, exact)
"""The quickest first."""


@pytest.mark.parametrize(
    ("module", "old", "new"), MUTANTS, ids=[f"{place}{each[0][8:]}" for place, each in enumerate(MUTANTS)]
)
def test_mutants_are_found(module, old, new) -> None:
    found = []
    kind = assembled(module, old, new)
    for check in CHECKS:
        try:
            with np.errstate(all="ignore"):
                check(kind)
        except (AssertionError, ArithmeticError, DiscreetError, IndexError, KeyError, ValueError) as reason:
            found.append(reason)
            break
    assert found


@pytest.mark.parametrize("module", sorted({module for module, *_ in MUTANTS}))
def test_the_checks_pass_what_is_not_mutated(module) -> None:
    for check in CHECKS:
        check(assembled(module, "from __future__", "from __future__"))
