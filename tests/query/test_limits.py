"""Answers that lie at a limit which their bounds put on them: their bars are not zero, and hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

pytestmark = pytest.mark.usefixtures("one_database")

GROUPS = 40
TOP = {"a": 10.0, "v": 25.0, "s": 5.0}
QUERY = "SELECT k, AVG(x) AS a, VAR_POP(x) AS v, STDDEV_POP(x) AS s FROM t WHERE x > -{} GROUP BY k"


def small_groups() -> tuple[dict[str, pa.Table], dict[str, np.ndarray]]:
    """Groups of 5 to 60 rows whose means and variances lie at the bounds of [0, 10], or near them."""
    chance = np.random.default_rng(7)
    columns: list[np.ndarray] = []
    for group in range(GROUPS):
        rows = int(chance.integers(5, 60))
        columns.append(
            [
                np.zeros(rows),
                chance.uniform(0, 1, rows),
                10 - chance.uniform(0, 0.3, rows),
                chance.choice([0.0, 10.0], rows),
            ][group % 4]
        )
    keys = [f"g{group}" for group, column in enumerate(columns) for _ in column]
    truth = {
        name: np.array([of(column) for column in columns])
        for name, of in (("a", np.mean), ("v", np.var), ("s", np.std))
    }
    return {"t": pa.table({"k": keys, "x": np.concatenate(columns)})}, truth


def test_bars_at_a_limit_hold() -> None:
    """1,800 bars at limits or so, of which 95 in 100 are to hold: if so, 4 in 100 fewer are below 1 in 10⁹."""
    tables, truth = small_groups()
    columns = {
        "k": {"type": "string", "keys": [f"g{group}" for group in range(GROUPS)]},
        "x": {"type": "float", "bounds": [0, 10], "nullable": False},
    }
    policy = {"version": "1", "budget": {"epsilon": 100}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    held, least = list[np.ndarray](), list[float]()
    with dp.connect(tables, policy) as session:
        for number in range(1, 41):
            release = session.sql(QUERY.format(number), dp.pure(1))
            for name, true in truth.items():
                values = np.array(release.to_arrow()[name].to_numpy(zero_copy_only=False), dtype=np.float64)
                half = release.error(name)
                at_limit = (values == 0) | (values == TOP[name])
                held.append((np.abs(values - true) <= half + 1e-9)[at_limit])
                least.append(half[at_limit].min(initial=np.inf))
    every = np.concatenate(held)
    assert len(every) > 1_200
    assert min(least) > 0.01
    assert every.mean() > 0.91


def test_a_root_at_its_limit_has_a_bar() -> None:
    tables, _ = small_groups()
    columns = {
        "k": {"type": "string", "keys": [f"g{group}" for group in range(GROUPS)]},
        "x": {"type": "float", "bounds": [0, 10], "nullable": False},
    }
    policy = {"version": "1", "budget": {"epsilon": 9}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    query = "SELECT k, SQRT(VAR_POP(x)) AS r, SQRT(10 - AVG(x)) AS f FROM t GROUP BY k"
    with dp.connect(tables, policy) as session:
        release = session.sql(query, dp.pure(1))
    for name in ("r", "f"):
        half = release.error(name)[release.to_arrow()[name].is_valid().to_numpy()]
        assert len(half) > GROUPS / 2
        assert np.isfinite(half).all() and half.min() > 0.01
