"""Attacks on synthetic tables: copies give people away, independent marginals do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import attack
from discreet.errors import ParameterError

NAMES = ["age", "income", "town", "trade"]


def people(draws: np.random.Generator, rows: int = 600) -> pa.Table:
    age = draws.integers(18, 90, rows)
    return pa.table([
        pa.array(age), pa.array(np.round(draws.lognormal(10, 1, rows))),
        pa.array([f"t{each}" for each in draws.integers(0, 12, rows)]),
        pa.array([f"b{each}" for each in (age // 9 + draws.integers(0, 6, rows)) % 9]),
    ], NAMES)  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> Any:
    draws = np.random.default_rng(1)
    original, control = people(draws), people(draws)
    copied = original.take(pa.array(draws.integers(0, 600, 600)))
    independent = people(np.random.default_rng(99))
    return original, control, copied, independent


def attacks() -> list[Any]:
    return [
        attack.singling_out,
        lambda *t: attack.singling_out(*t, columns=3, guesses=2000),
        lambda *t: attack.linkability(*t, first=["age", "town"], second=["income", "trade"]),
        lambda *t: attack.inference(*t, secret="town"),
        lambda *t: attack.inference(*t, secret="trade", known=["income", "town"]),
    ]


@pytest.mark.parametrize("place", range(5))
def test_copies_give_people_away(tables: Any, place: int) -> None:
    original, control, copied, _ = tables
    outcome = attacks()[place](copied, original, control)
    assert outcome.advantage_interval(1 - 1e-6)[0] > 0.05


@pytest.mark.parametrize("place", range(5))
def test_independent_tables_are_at_the_baseline(tables: Any, place: int) -> None:
    original, control, _, independent = tables
    outcome = attacks()[place](independent, original, control)
    low, high = outcome.advantage_interval(1 - 1e-9)
    assert low <= 0 <= high


@pytest.mark.parametrize("place", range(2))
def test_the_order_of_rows_is_no_advantage(tables: Any, place: int) -> None:
    original, _, _, independent = tables
    control = people(np.random.default_rng(3), 3000).sort_by("age")
    for one, other in ((original, control), (control, original)):
        outcome = attacks()[place](independent, one, other)
        low, high = outcome.advantage_interval(1 - 1e-9)
        assert low <= 0 <= high


def test_large_numbers_near_to_each_other_stay_apart() -> None:
    draws = np.random.default_rng(4)
    drawn = [pa.table({"at": 10**12 + draws.integers(0, 2000, 300), "secret": draws.random(300)}) for _ in range(2)]
    outcome = attack.inference(drawn[0], drawn[0], drawn[1], secret="secret")
    assert outcome.success > 0.9
    assert outcome.advantage > 0.5
    apart = pa.table({"at": [-1.7e308, 1.7e308], "secret": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="at are too far apart"):
        attack.inference(apart, apart, apart, secret="secret")


def test_predicates_are_in_words(tables: Any) -> None:
    original, control, copied, _ = tables
    words = attack.singling_out(copied, original, control, columns=2).evidence["predicate"].to_pylist()
    assert any("town = t" in str(each) for each in words)


def test_closeness_sees_copies_and_nothing_else(tables: Any) -> None:
    original, control, copied, independent = tables
    assert attack.closeness(copied, original, control).auc > 0.7
    low, high = attack.closeness(independent, original, control).auc_interval(1 - 1e-9)
    assert low <= 0.5 <= high


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: attack.singling_out(a, b.drop_columns("age"), b),
        lambda a, b: attack.singling_out(a, b, b, columns=9),
        lambda a, b: attack.linkability(a, b, b, first=["age"], second=["age"]),
        lambda a, b: attack.linkability(a, b, b, first=["age"], second=["town"], neighbours=0),
        lambda a, b: attack.inference(a, b, b, secret="county"),
        lambda a, b: attack.inference(a, b, b, secret="age", targets=0),
        lambda a, b: attack.closeness(a, b, b, targets=-1),
        lambda a, b: attack.singling_out(a, b, b, guesses=0),
        lambda a, b: attack.inference(a, b, b, secret="age", known=["age"]),
        lambda a, b: attack.closeness(a, b, b.set_column(0, "age", pa.array(["x"] * 600))),
    ],
)
def test_what_does_not_fit_is_refused(tables: Any, call: Any) -> None:
    with pytest.raises(ParameterError):
        call(tables[2], tables[0])
