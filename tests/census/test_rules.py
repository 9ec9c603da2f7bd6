"""Linear rules: what can be written, the generators of what keeps them, and rounding under them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from countries import cells, random_counts, random_layout, random_noise
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import census
from discreet.census._question import published_integers
from discreet.census.estimates import Errors, Estimate, Layout
from discreet.census.rules import RuledTotals, check_rules
from discreet.census.rules._generators import generators
from discreet.census.rules._held import times_with_totals
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


RULES = (
    "people[c0 = 0] = homes", "homes <= people", "people[c0 = 0] <= 3 homes[k = 1]", "2 homes[k = 0] <= 3 people",
    "people[c0 = 0] + homes[k = 2] = homes[k <= 1]", "homes[k = 0] <= homes[k = 1]", "people[c0 = 1] >= 2 homes[k = 2]",
)  # fmt: skip


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_held_totals_are_met_wherever_whole_numbers_have_them(seed: int) -> None:
    draws = np.random.default_rng(seed)
    sums = draws.integers(0, 6, (int(draws.integers(1, 3)), int(draws.integers(1, 6))))
    true = draws.integers(0, int(draws.choice([3, 40, 3_000_000])), sums.shape[1])
    totals, near = sums @ true, draws.exponential(5, sums.shape[1])
    for start in (near, true + draws.normal(0, 1, len(true)), np.zeros(len(true))):
        times = times_with_totals(np.maximum(start, 0.0), sums, totals)
        assert times is not None
        assert (times >= 0).all()
        assert (sums @ times == totals).all()


def test_totals_that_no_whole_numbers_have_are_seen() -> None:
    assert times_with_totals(np.array([3.0]), np.array([[2]]), np.array([7])) is None
    assert times_with_totals(np.zeros(2), np.array([[1, 1], [0, 1]]), np.array([3, 5])) is None


def ruled_country(draws: np.random.Generator) -> int:
    """A random country of two universes under random rules: 1 if it has any numbers, which are checked, else 0."""
    ours = random_layout(draws)
    chosen = [rule for rule in RULES if draws.random() < 0.35 and ("c0" not in rule or layout_has(ours, 2))]
    homes = Layout(census.Spec("homes", ours.spec.geography, {"all": (), "k": ("k",)}, column="area"), (cells("k", 3),))
    layouts = {"people": ours, "homes": homes}
    try:
        ruled = RuledTotals.of_rules(layouts, {f"rule {i}": Rule.parse(rule) for i, rule in enumerate(chosen)})
    except ParameterError:
        return 0
    if ruled is None:
        return 0
    held_at, held = int(draws.integers(0, ours.tree.levels)), {}
    if draws.random() < 0.5:
        times = draws.integers(0, 5, (ours.tree.sizes[held_at], len(ruled.generators)))
        numbers = times @ ruled.generators
        level = ours.spec.geography.levels[held_at]
        for name in ruled.layouts:
            totals = numbers[:, ruled.spans[name]].sum(axis=1)
            names = ours.spec.geography.names[held_at]
            held[name] = {level: dict(zip(names, totals.tolist(), strict=True))}
        layouts = {
            name: Layout(replace(each.spec, held=held.get(name, {})), each.columns) for name, each in layouts.items()
        }
        ruled = RuledTotals.of_rules(layouts, {f"rule {i}": Rule.parse(rule) for i, rule in enumerate(chosen)})
        assert ruled is not None
    estimates: dict[str, Estimate] = {}
    for name, layout in layouts.items():
        noise = random_noise(draws, layout)
        estimates[name] = Estimate(Errors(layout, noise), random_counts(draws, layout, noise))
    check_rules(ruled, {name: each.errors for name, each in estimates.items()})
    leaves = published_integers(estimates, ruled)
    again = published_integers(estimates, ruled)
    for name, layout in layouts.items():
        assert (leaves[name] >= 0).all()
        assert (leaves[name] == again[name]).all()
        by_level = layout.tree.sums(leaves[name])
        if layout.held is not None:
            level, totals = layout.held
            assert (by_level[level].sum(axis=1) == totals).all()
    for level in range(ours.tree.levels):
        for rule in ruled.rules:
            total: Any = 0
            for term in rule.terms:
                layout = layouts[term.universe]
                weights = layout.weights(term.where, layout.detail).ravel()
                total = total + term.factor * (layout.tree.sums(leaves[term.universe])[level] @ weights)
            assert ((total == 0) if rule.is_equal else (total <= 0)).all(), (chosen, level)
    return 1


def layout_has(layout: Layout, size: int) -> bool:
    return any(column.name == "c0" and column.size >= size for column in layout.columns)


@pytest.mark.parametrize("countries", [4, pytest.param(1_000, marks=pytest.mark.soak)])
def test_random_countries_keep_random_rules(countries: int) -> None:
    draws = np.random.default_rng(15)
    assert sum(ruled_country(draws) for _ in range(countries)) > countries / 3
