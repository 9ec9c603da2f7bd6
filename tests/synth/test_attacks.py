"""The arithmetic of the attacks in bench/attack_scores.py: an attack that cannot see proves less than none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth


def load_attacks() -> Any:
    path = Path(__file__).parents[2] / "bench" / "attack_scores.py"
    spec = importlib.util.spec_from_file_location("bench_attack_scores", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_attack_scores"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


attacks = load_attacks()
SPANS = [10, 0, 0]
ROWS = np.array([[1, 0, 0], [5, 0, 1], [9, 1, 1], [5, 2, 1]])


@pytest.mark.parametrize(
    ("hits", "trials", "interval"), [(0, 100, (0, 0.0362)), (50, 100, (0.3983, 0.6017)), (100, 100, (0.9638, 1))]
)
def test_intervals_are_those_of_tables(hits: int, trials: int, interval: tuple[float, float]) -> None:
    assert attacks.Successes(hits, trials).interval == pytest.approx(interval, abs=1e-4)


def test_a_difference_holds_0_where_rates_are_near_and_not_where_they_are_far() -> None:
    some, more, most = (attacks.Successes(hits, 1000) for hits in (500, 510, 600))
    low, high = some.more_than(more)
    assert low < -0.01 < 0 < high
    low, high = most.more_than(some)
    assert 0 < low < 0.1 < high
    assert most + some == attacks.Successes(1100, 2000)


def test_the_upper_half_are_guessed_to_be_members() -> None:
    rng = np.random.default_rng(0)
    assert attacks.guesses(np.array([4.0, 3.0, 1.0]), np.array([2.0, 0.0, 0.0]), rng) == attacks.Successes(4, 6)
    equal = attacks.guesses(np.zeros(4000), np.zeros(4000), rng)
    assert abs(equal.rate - 0.5) < 0.05  # nine standard deviations


def test_the_area_counts_pairs_and_half_of_equal_ones() -> None:
    members, others = np.array([3.0, 2.0, 1.0]), np.array([2.0, 0.0])
    pairs = [(one > other) + (one == other) / 2 for one in members for other in others]
    assert attacks.auc(members, others)[0] == pytest.approx(np.mean(pairs))


def test_one_synthetic_row_satisfies_each_predicate() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 11, 200), rng.integers(0, 5, (200, 2))])
    predicates = attacks.multivariate(rows, SPANS, rng, 50, 3)
    assert predicates and all(len(each) == 3 for each in predicates)
    assert attacks.singled_out(predicates, rows) == attacks.Successes(len(predicates), len(predicates))


def test_values_of_one_row_and_ends_single_out() -> None:
    predicates = attacks.univariate(ROWS, SPANS, np.random.default_rng(0), 100)
    numbers = {((0, "=", 1),), ((0, "=", 9),), ((0, "<=", 1),), ((0, ">=", 9),)}
    assert set(predicates) == numbers | {((1, "=", 1),), ((1, "=", 2),), ((2, "=", 0),)}
    assert attacks.singled_out([((0, "=", 5),), ((0, "=", 5), (1, "=", 2))], ROWS) == attacks.Successes(1, 2)


def test_distances_add_categories_and_parts_of_spans() -> None:
    assert attacks.distances(ROWS[:1], ROWS, SPANS, range(3)).tolist() == [pytest.approx([0, 1.4, 2.8, 2.4])]


def test_a_row_among_the_synthetic_ones_is_seen() -> None:
    near = attacks.neighbours(np.array([[5, 0, 1], [0, 3, 0]]), ROWS, SPANS, 1, ([0, 1], [2]), 0.1)
    assert near.closeness == pytest.approx([0, -1.1])
    assert near.inferred.tolist() == [True, False]
    assert near.linked.tolist() == [True, True]
    assert near.log_density[0] > near.log_density[1]
    assert near.log_density[1] == pytest.approx(-11, abs=1e-3)


def test_the_strongest_adversary_sees_a_record_where_there_is_hardly_noise() -> None:
    """Whole noise that is 0 but once in 1e16 draws leaves no doubt whether the one row with b = 2 is there."""
    columns = {name: {"type": "int", "bounds": [0, 2], "nullable": False} for name in "ab"}
    policy = {"version": "1", "budget": {"rho": 10_000}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    rows = np.array([[0, 0], [0, 1], [1, 1]] * 100 + [[2, 2]])
    for there in (True, False):
        fitted = rows if there else rows[:-1]
        with dp.connect({"t": pa.table({"a": fitted[:, 0], "b": fitted[:, 1]})}, policy) as session:
            model = synth.fit(session, "t", dp.rho(400), tier="instant")
        (ratio,) = attacks.likelihood_ratios(model, rows[-1:], fitted, np.array([there]))
        assert (ratio > 20) if there else (ratio < -20)
        (beyond,) = attacks.beyond(model, rows[-1:], rows[:-1], 1.0, None)
        assert beyond > 0.5 if there else abs(beyond) < 0.5
