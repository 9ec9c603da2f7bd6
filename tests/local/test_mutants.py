"""Likely mistakes, each patched into the real code of a protocol: the checks of this folder find every one of them."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hashed_laws import assert_supports_are_those_of_the_law
from local_laws import assert_exact, law, odds_of

from discreet.errors import DiscreetError
from discreet.local import Reports


def mutated(module: str, old: str, new: str) -> types.ModuleType:
    """The module with one place of its text changed."""
    real = importlib.import_module(f"discreet.local.{module}")
    text = inspect.getsource(real)
    assert text.count(old) == 1, f"{module} has {text.count(old)} of {old!r}"
    mutant = types.ModuleType(f"mutant_of_{module}")
    importlib.import_module("sys").modules[mutant.__name__] = mutant  # dataclasses look it up
    exec(compile(text.replace(old, new), f"<{module}: {new}>", "exec"), mutant.__dict__)
    return mutant


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
    ("_frequencies._kary", "KaryRandomizedResponse", "(other >= told[lied])", "0"),
    ("_frequencies._kary", "KaryRandomizedResponse", "(other >= told[lied])", "(other > told[lied])"),
    (
        "_frequencies._kary",
        "KaryRandomizedResponse",
        "draws.below(self.domain.size - 1, lied.size)",
        "draws.below(2, lied.size)",
    ),
    (
        "_frequencies._kary",
        "KaryRandomizedResponse",
        "return weight / (weight + self.domain.size - 1)",
        "return weight / (weight + 1)",
    ),
    ("_frequencies._kary", "KaryRandomizedResponse", "np.flatnonzero(~draws", "np.flatnonzero(draws"),
    ("_frequencies._unary", "OptimizedUnary", "(bits[rows, byte] & ~place) |", "bits[rows, byte] |"),
    ("_frequencies._unary", "OptimizedUnary", "np.where(own, place, 0)", "np.where(own, place, place)"),
    (
        "_frequencies._unary",
        "OptimizedUnary",
        "return 1 / (odds(self.epsilon) + 1)",
        "return 1 / (odds(self.epsilon / 2) + 1)",
    ),
    ("_frequencies._unary", "SymmetricUnary", "weight = odds(self.epsilon / 2)", "weight = odds(self.epsilon)"),
    ("_frequencies._unary", "SymmetricUnary", "place = (1 << (prepared & 7))", "place = (1 << (prepared & 3))"),
    ("_frequencies._hadamard", "HadamardResponse", "parity != odd", "parity == odd"),
    ("_frequencies._hadamard", "HadamardResponse", "row += 1", "row += 0"),
    ("_frequencies._hadamard", "HadamardResponse", "((number ^ low) << 1) | low", "(number << 1) | low"),
    ("_frequencies._hadamard", "HadamardResponse", "np.where(elsewhere >= block * columns, columns, 0)", "0"),
    (
        "_frequencies._hadamard",
        "HadamardResponse",
        "away[~likely] = unlikely >= half",
        "away[~likely] = unlikely > half",
    ),
    ("_frequencies._hadamard", "HadamardResponse", "[block, row + 1]", "[block, row]"),
    ("_frequencies._hadamard", "HadamardResponse", "return in_block * scale**2 - shares", "return in_block * scale**2"),
    ("_frequencies._local_hashing", "LocalHashing", "(other >= told[lied])", "0"),
    ("_frequencies._local_hashing", "LocalHashing", "np.flatnonzero(~draws", "np.flatnonzero(draws"),
    ("_frequencies._local_hashing", "LocalHashing", "draws.below(self.buckets - 1,", "draws.below(self.buckets,"),
    (
        "_frequencies._local_hashing",
        "LocalHashing",
        "truth, other = weight / (weight + self.buckets - 1)",
        "truth, other = weight / (weight + 1)",
    ),
    ("_frequencies._supports", None, "(shares * of_yes + (1 - shares) * of_no)", "of_no"),
]

HASHED_MUTANTS = [
    ("_frequencies._local_hashing", "LocalHashing", "function * self.buckets + told", "function * self.buckets"),
    ("_frequencies._local_hashing", "LocalHashing", "np.flatnonzero(~draws", "np.flatnonzero(draws"),
    ("_frequencies._count_mean", "CountMeanSketch", "^= (1 <<", "|= (1 <<"),
    ("_frequencies._count_mean", "CountMeanSketch", "odds(self.epsilon / 2)", "odds(self.epsilon)"),
    ("_frequencies._count_mean", "CountMeanSketch", "(bucket & 7)", "(bucket & 1)"),
    ("_frequencies._count_mean", "CountMeanSketch", "found[:, 1:]", "found[:, :-1]"),
    ("_frequencies._count_mean", "CountMeanSketch", "return 1 - self.other", "return 1 - self.other / 2"),
    ("_frequencies._hadamard_count_mean", "HadamardCountMeanSketch", "^= ~draws", "^= draws"),
    ("_frequencies._hadamard_count_mean", "HadamardCountMeanSketch", "weight / (weight + 1)", "weight / (weight + 2)"),
    (
        "_frequencies._hadamard_count_mean",
        "HadamardCountMeanSketch",
        "found[some, :, 0] - found[some, :, 1]",
        "found[some, :, 0]",
    ),
    (
        "_frequencies._hadamard_count_mean",
        "HadamardCountMeanSketch",
        "line = draws.below(self.width,",
        "line = draws.below(2,",
    ),
    ("_frequencies._hadamard_count_mean", "HadamardCountMeanSketch", "return Fraction(1, 2)", "return 1 - self.truth"),
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
