"""Likely mistakes, each patched into the real code of several attributes: the checks find every one of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from local_laws import assert_exact, assert_numbers_by_key_are_unbiased, estimate_of, law, odds_of
from mutated_modules import mutated

from discreet.errors import DiscreetError
from discreet.local import KaryRandomizedResponse, OptimizedUnary, SampledAttributes, SubsetSelection
from discreet.local._reports import Fields
from discreet.local.multidimensional._sampling import Sampling

HELD: list[dict[int, float]] = [{}, {0: 4.0}, {1: 1.0, 2: 4.0}, {0: 2.5, 2: 1.0}, {0: 1, 1: 2, 2: 3}]
RECORDS = [{"a": 0, "b": 0}, {"a": 2, "b": 1}, {"a": 1, "b": 3}]


def check_key_values(kind: Any) -> None:
    scheme = kind(3, (1, 4), 1, padding=2, oracle="kary_randomized_response")
    assert_exact(odds_of(scheme, HELD), Fraction(1))
    assert_numbers_by_key_are_unbiased(scheme, HELD)


def check_marginals(kind: Any) -> None:
    scheme = kind({"a": 3, "b": 4}, 1)
    assert_exact(odds_of(scheme, RECORDS), Fraction(1))
    for held in RECORDS:
        mean = np.zeros((3, 4))
        for report, weight in law(scheme, held).items():
            mean += float(weight) * estimate_of(scheme, report).marginal("a", "b").table
        truth = np.zeros((3, 4))
        truth[held["a"], held["b"]] = 1
        assert mean == pytest.approx(truth, abs=1e-9)


def check_sampling(kind: Any) -> None:
    scheme = SampledAttributes({"a": KaryRandomizedResponse(3, 1), "b": OptimizedUnary(9, 1)}, weights={"a": 1, "b": 2})
    sampling = kind(scheme.schemes, scheme.weights)
    assert sampling.layout.width == 3
    fields, valid = scheme.layout.unpack(np.array([[0, 1, 0], [0, 1, 1], [0, 9, 0], [1, 1, 1]], dtype=np.uint8))
    assert valid.all()
    assert sampling.genuine(fields).tolist() == [True, False, False, True]
    counts = np.zeros(sampling.cells, dtype=np.int64)
    sampling.tally(fields.select(sampling.genuine(fields)), counts)
    assert counts.tolist() == [1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    subset = SubsetSelection(8, 1).layout.unpack(np.array([[255], [0]], dtype=np.uint8))[0]
    rows = Fields((np.zeros(2, dtype=np.int64),), subset.bits)
    assert not kind((SubsetSelection(8, 1),), (1,)).genuine(rows).any()
    part = OptimizedUnary(64, 1, longitudinal="memoize")

    def remembered(places: int, label: bytes) -> bytes:
        sampling = kind((part,) * places, (1,) * places)
        return sampling.remember(1, lambda _, at: part.prepare([5] * at.size), bytes(32), label).tobytes()

    assert remembered(1, b"one")[1:] != remembered(1, b"two")[1:]  # of another document
    same = {remembered(places, b"one") for places in range(1, 9)}
    assert len({row[1:] for row in same}) == len(same) > 1  # of another place
    for held in RECORDS:
        found = law(scheme, held)
        share = sum(weight for report, weight in found.items() if report[0] == 0)
        assert share == Fraction(1, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.maximum(sizes, self.padding)", "np.maximum(sizes, 1)"),
        ("2 * keys[pair] + draws.steps(thresholds[pair])", "2 * keys[pair] + (thresholds[pair] > 2**31)"),
        ("np.full(sizes.size, 2 * self.domain.size", "np.full(sizes.size, 0"),
        ("np.cumsum(sizes) - sizes + slots", "np.cumsum(sizes) - sizes + slots * 0"),
        ("2 * self.domain.size + 1, self.epsilon, self.long", "2 * self.domain.size + 1, 2 * self.epsilon, self.long"),
        ("words[high] - words[low]", "words[high] + words[low]"),
    ],
)
def test_mistakes_in_numbers_by_key_are_found(old, new) -> None:
    mutant = mutated("multidimensional._key_values", old, new).KeyValues
    with pytest.raises((AssertionError, DiscreetError, IndexError)):
        check_key_values(mutant)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cells * self.domains[place].size + prepared", "cells * 2 + prepared"),
        ("best_oracle(size, epsilon), size, epsilon,", "best_oracle(size, epsilon), size, 2 * epsilon,"),
    ],
)
def test_mistakes_in_tables_are_found(old, new) -> None:
    with pytest.raises((AssertionError, DiscreetError, IndexError, ValueError)):
        check_marginals(mutated("multidimensional._marginals", old, new).Marginals)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('side="right"', 'side="left"'),
        ("valid &= ~rows[:, width:].any(axis=1)", "pass"),
        ("scheme.genuine(inner.select(valid))", "True"),
        ("counts[start + 1 : start + 1 + scheme.cells])\n\n", "counts[start : start + scheme.cells])\n\n"),
        ('label + b"part" + number', 'b"part" + number'),
        ('label + b"part" + number.to_bytes(2, "little")', 'label + b"part"'),
    ],
)
def test_mistakes_in_sampling_are_found(old, new, monkeypatch) -> None:
    mutant = mutated("multidimensional._sampling", old, new).Sampling
    monkeypatch.setattr("discreet.local.multidimensional._sampled_attributes.Sampling", mutant)
    with pytest.raises((AssertionError, DiscreetError)):
        check_sampling(mutant)


def test_the_code_itself_passes() -> None:
    from discreet.local import KeyValues, Marginals

    check_key_values(KeyValues)
    check_marginals(Marginals)
    check_sampling(Sampling)
