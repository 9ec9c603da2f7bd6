"""Linear rules: what can be written, the generators of what keeps them, and rounding under them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.census.rules._generators import generators
from discreet.census.rules._rounding import Rounding
from discreet.census.specs import Rule, Term
from discreet.errors import ParameterError
from discreet.marginals.trees import Tree

MOST = 6


def keeps(numbers: Any, factors: Any, is_equal: Any) -> bool:
    sums = factors @ numbers
    return bool((sums[is_equal] == 0).all() and (sums[~is_equal] <= 0).all())


@st.composite
def systems(draw: st.DrawFn) -> tuple[Any, Any]:
    rows, classes = draw(st.integers(1, 2)), draw(st.integers(2, 4))
    factors = draw(st.lists(st.integers(-2, 2), min_size=rows * classes, max_size=rows * classes))
    equal = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    return np.array(factors, np.int64).reshape(rows, classes), np.array(equal)


@given(systems())
@settings(max_examples=60, deadline=None)
def test_what_keeps_rules_is_a_sum_of_generators(system: tuple[Any, Any]) -> None:
    """Of all small numbers: those that keep the rules are sums of generators, and no generator is a sum of others."""
    factors, is_equal = system
    basis = [tuple(row) for row in generators(factors, is_equal).tolist()]
    assert all(keeps(np.array(each), factors, is_equal) for each in basis)
    sums: set[tuple[int, ...]] = set()
    for numbers in product(range(MOST), repeat=factors.shape[1]):
        smaller = [tuple(a - b for a, b in zip(numbers, each, strict=True)) for each in basis if each != numbers]
        is_sum = not any(numbers) or any(each in sums for each in smaller)
        if keeps(np.array(numbers), factors, is_equal):
            assert is_sum or numbers in basis
            assert not (is_sum and numbers in basis)
            sums.add(numbers)


@given(systems(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_rounded_numbers_keep_the_rules_and_add_up(system: tuple[Any, Any], seed: int) -> None:
    factors, is_equal = system
    basis, draws = generators(factors, is_equal), np.random.default_rng(seed)
    if not len(basis):
        return
    rounding = Rounding(basis, factors, is_equal)
    tree = Tree.of_parents([[0, 0], [0, 0, 0, 1, 1]])
    near = draws.exponential(3, (5, len(basis))) * (draws.random((5, len(basis))) < 0.6)
    above = draws.integers(0, 9, (2, len(basis))) @ basis
    rounded = rounding.children(tree, 2, near * 0.2, above)
    assert (tree.up(1, rounded) == above).all()
    assert all(keeps(row, factors, is_equal) for row in rounded)
    alone = rounding.alone(near[0])
    assert keeps(alone, factors, is_equal)


def test_rounding_is_within_1_where_no_rule_forbids() -> None:
    draws = np.random.default_rng(5)
    rounding = Rounding(np.eye(3, dtype=np.int64), np.zeros((1, 3), np.int64), np.array([True]))
    for _ in range(50):
        tree = Tree.of_parents([[0] * int(draws.integers(2, 9))])
        real = draws.exponential(4, (tree.sizes[1], 3))
        above = np.rint(real.sum(axis=0)).astype(np.int64)[None]
        real *= above / real.sum(axis=0)
        rounded = rounding.children(tree, 1, real, above)
        assert (np.abs(rounded - real) < 1 + 1e-5).all()


@pytest.mark.parametrize(
    ("text", "terms", "is_equal"),
    [
        ("a = b", [(1, "a", None), (-1, "b", None)], True),
        ("2*a[x = ']'] + b - 3 c <= d[y IN (1, 2)]",
         [(2, "a", "x = ']'"), (1, "b", None), (-3, "c", None), (-1, "d", "y IN (1, 2)")], False),
        ("a[x >= 3] >= 2b", [(2, "b", None), (-1, "a", "x >= 3")], False),
    ],
)  # fmt: skip
def test_rules_are_read(text: str, terms: list[tuple[int, str, str | None]], is_equal: bool) -> None:
    assert Rule.parse(text) == Rule(tuple(Term(*each) for each in terms), is_equal)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", "compares nothing"), ("a < b", "compares nothing"), ("a = b = c", "compares twice"),
        ("a[x = b", "without its other end"), ("a[x]x = b", "where a universe stands"), ("= b", "where a universe"),
        ("0 a = b", "factors are whole numbers"), ("a[] = b", "where a universe stands"), ("a = 3", "where a universe"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Rule.parse(text)


def test_rules_with_too_many_generators_are_refused() -> None:
    with pytest.raises(ParameterError, match="too many"):
        generators(np.array([[331, -577, 211, -997], [13, 7, -411, -3]]), np.array([True, True]))
