"""Likely mistakes, each patched into the real code of a protocol: the checks of this folder find every one of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hashed_laws import assert_supports_are_those_of_the_law
from local_laws import assert_exact, law, odds_of
from mutated_modules import mutated

from discreet.errors import DiscreetError
from discreet.local import Reports


def exact(scheme: Any) -> None:
    assert_exact(odds_of(scheme, list(range(scheme.domain.size))), scheme.epsilon)


def unbiased_and_as_wide_as_it_says(scheme: Any) -> None:
    size = scheme.domain.size
    shares = np.arange(1, size + 1) / (size * (size + 1) / 2)
    total = np.zeros(size)
    for value in range(size):
        mean = np.zeros(size)
        for report, weight in law(scheme, value).items():
            rows = np.frombuffer(report, dtype=np.uint8).reshape(1, -1)
            server = scheme.server().add(Reports(scheme.fingerprint, rows))
            assert server.rejected == 0
            found = server.estimate().frequencies
            mean += float(weight) * found
            total += shares[value] * float(weight) * (found - np.eye(size)[value]) ** 2
        assert mean == pytest.approx(np.eye(size)[value], abs=1e-9)
    assert scheme.variance(shares) == pytest.approx(total, rel=1e-9)


CHECKS: tuple[Callable[[Any], None], ...] = (exact, unbiased_and_as_wide_as_it_says)

MUTANTS = [
    ("frequencies._kary", "KaryRandomizedResponse", "(other >= reported[changed])", "0"),
    ("frequencies._kary", "KaryRandomizedResponse", "(other >= reported[changed])", "(other > reported[changed])"),
    (
        "frequencies._kary",
        "KaryRandomizedResponse",
        "draws.below(self.domain.size - 1, changed.size)",
        "draws.below(2, changed.size)",
    ),
    (
        "frequencies._kary",
        "KaryRandomizedResponse",
        "total = weight + self.domain.size - 1",
        "total = weight + 1",
    ),
    ("frequencies._kary", "KaryRandomizedResponse", "np.flatnonzero(~draws", "np.flatnonzero(draws"),
    ("frequencies._unary", "OptimizedUnary", "(bits[rows, byte] & ~place) |", "bits[rows, byte] |"),
    ("frequencies._unary", "OptimizedUnary", "np.where(own, place, 0)", "np.where(own, place, place)"),
    (
        "frequencies._unary",
        "OptimizedUnary",
        "1 / (exp_epsilon(self.epsilon) + 1)",
        "1 / (exp_epsilon(self.epsilon / 2) + 1)",
    ),
    (
        "frequencies._unary",
        "SymmetricUnary",
        "weight = exp_epsilon(self.epsilon / 2)",
        "weight = exp_epsilon(self.epsilon)",
    ),
    ("frequencies._unary", "SymmetricUnary", "place = (1 << (prepared & 7))", "place = (1 << (prepared & 3))"),
    ("frequencies._hadamard", "HadamardResponse", "parity != odd", "parity == odd"),
    ("frequencies._hadamard", "HadamardResponse", "row += 1", "row += 0"),
    ("frequencies._hadamard", "HadamardResponse", "((number ^ low) << 1) | low", "(number << 1) | low"),
    ("frequencies._hadamard", "HadamardResponse", "np.where(elsewhere >= block * columns, columns, 0)", "0"),
    (
        "frequencies._hadamard",
        "HadamardResponse",
        "away[~likely] = unlikely >= half",
        "away[~likely] = unlikely > half",
    ),
    ("frequencies._hadamard", "HadamardResponse", "[block, row + 1]", "[block, row]"),
    ("frequencies._hadamard", "HadamardResponse", "return in_block * scale**2 - shares", "return in_block * scale**2"),
    ("frequencies._local_hashing", "LocalHashing", "(other >= bucket[changed])", "0"),
    ("frequencies._local_hashing", "LocalHashing", "np.flatnonzero(~draws", "np.flatnonzero(draws"),
    ("frequencies._local_hashing", "LocalHashing", "draws.below(self.buckets - 1,", "draws.below(self.buckets,"),
    (
        "frequencies._local_hashing",
        "LocalHashing",
        "p, other = weight / (weight + self.buckets - 1)",
        "p, other = weight / (weight + 1)",
    ),
    (
        "frequencies._supports",
        None,
        "(shares * of_yes + (1 - shares) * of_no) / span**2\n\n\ndef",
        "of_no / span**2\n\n\ndef",
    ),
]

HASHED_MUTANTS = [
    ("frequencies._local_hashing", "LocalHashing", "function * self.buckets + bucket", "function * self.buckets"),
    ("frequencies._local_hashing", "LocalHashing", "np.flatnonzero(~draws", "np.flatnonzero(draws"),
    ("frequencies._count_mean", "CountMeanSketch", "^= (1 <<", "|= (1 <<"),
    ("frequencies._count_mean", "CountMeanSketch", "exp_epsilon(self.epsilon / 2)", "exp_epsilon(self.epsilon)"),
    ("frequencies._count_mean", "CountMeanSketch", "(bucket & 7)", "(bucket & 1)"),
    ("frequencies._count_mean", "CountMeanSketch", "cells[:, 1:]", "cells[:, :-1]"),
    ("frequencies._count_mean", "CountMeanSketch", "return 1 - other, other", "return 1 - other / 2, other"),
    ("frequencies._hadamard_count_mean", "HadamardCountMeanSketch", "^= ~draws", "^= draws"),
    ("frequencies._hadamard_count_mean", "HadamardCountMeanSketch", "weight / (weight + 1)", "weight / (weight + 2)"),
    (
        "frequencies._hadamard_count_mean",
        "HadamardCountMeanSketch",
        "cells[some, :, 0] - cells[some, :, 1]",
        "cells[some, :, 0]",
    ),
    (
        "frequencies._hadamard_count_mean",
        "HadamardCountMeanSketch",
        "line = draws.below(self.width,",
        "line = draws.below(2,",
    ),
    ("frequencies._hadamard_count_mean", "HadamardCountMeanSketch", "Fraction(1, 2)", "1 / (weight + 1)"),
]

SIZES = {
    "LocalHashing": {"buckets": 3, "keys": 4, "key": 1},
    "CountMeanSketch": {"hashes": 3, "width": 4, "key": 3},
    "HadamardCountMeanSketch": {"hashes": 3, "width": 4, "key": 3},
}


@pytest.mark.parametrize(
    ("module", "name", "old", "new"), HASHED_MUTANTS, ids=lambda each: str(each).replace(" ", "")[:40]
)
def test_mutants_with_public_functions_are_found(module, name, old, new) -> None:
    found = []
    for check in (exact, assert_supports_are_those_of_the_law):
        try:
            check(getattr(mutated(module, old, new), name)(domain=4, epsilon=Fraction(2), **SIZES[name]))
        except (AssertionError, IndexError, DiscreetError, ValueError) as reason:
            found.append(reason)
    assert found


@pytest.mark.parametrize(("module", "name"), sorted({(module, name) for module, name, *_ in HASHED_MUTANTS}))
def test_the_checks_pass_public_functions_that_are_not_mutated(module, name) -> None:
    kind = getattr(mutated(module, "from __future__", "from __future__"), name)
    for check in (exact, assert_supports_are_those_of_the_law):
        check(kind(domain=4, epsilon=Fraction(2), **SIZES[name]))


@pytest.mark.parametrize(("module", "name", "old", "new"), MUTANTS, ids=lambda each: str(each).replace(" ", "")[:40])
def test_mutants_are_found(module, name, old, new) -> None:
    mutant = mutated(module, old, new)
    if name is None:
        from discreet.local import KaryRandomizedResponse

        kind = type("Mutant", (KaryRandomizedResponse,), {"variance": mutant.SupportScheme.variance})
    else:
        kind = getattr(mutant, name)
    found = []
    for check in CHECKS:
        for size in (6, 9) if name == "HadamardResponse" else (5,):
            try:
                check(kind(domain=size, epsilon=Fraction(2)))
            except (AssertionError, IndexError, DiscreetError, ValueError) as reason:
                found.append(reason)
    assert found


@pytest.mark.parametrize(("module", "name"), sorted({(module, name) for module, name, *_ in MUTANTS if name}))
def test_the_checks_pass_what_is_not_mutated(module, name) -> None:
    kind = getattr(mutated(module, "from __future__", "from __future__"), name)
    for check in CHECKS:
        check(kind(domain=6, epsilon=Fraction(2)))
