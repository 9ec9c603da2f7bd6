"""Blocks rebuilt from all tables of a publication: nearly all people from exact counts, no more than chance from ours.

The second does not hang on luck: of 280 people, a rate that is truly the control's is above it by 15 points, 42 people,
less often than once in 1e9 runs; a publication without noise is far above that.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import discreet as dp
from discreet import attack, census

KINDS: dict[str, list[str]] = {
    "sex": ["F", "M"],
    "age": [str(age) for age in range(0, 100, 5)],
    "race": ["a", "b", "c", "d"],
}
TABLES = {"sex_age": ("sex", "age"), "sex_race": ("sex", "race"), "age_race": ("age", "race"), "each": tuple(KINDS)}
BLOCKS, SIZE = 40, 7


def country() -> pa.Table:
    draws = np.random.default_rng(8)
    kinds = list(product(*KINDS.values()))
    chosen = draws.choice(len(kinds), BLOCKS * SIZE, p=draws.dirichlet(np.full(len(kinds), 0.5)))
    columns = {name: [kinds[i][place] for i in chosen] for place, name in enumerate(KINDS)}
    return pa.table({"block": [f"b{i // SIZE}" for i in range(BLOCKS * SIZE)], **columns})


def published(people: pa.Table, spend: Any, budget: dict[str, int]) -> census.Publication:
    columns: dict[str, Any] = {"block": {"type": "string"}}
    columns |= {name: {"type": "string", "keys": values, "nullable": False} for name, values in KINDS.items()}
    policy = {"version": "1", "budget": budget, "tables": {"people": {"unit": "rows", "columns": columns}}}
    areas = {"tract": [f"t{i // 10}" for i in range(BLOCKS)], "block": [f"b{i}" for i in range(BLOCKS)]}
    land = census.Geography.of_areas(areas, ["tract", "block"], root="country")
    with dp.connect({"people": people}, policy) as session:
        return census.publish(session, census.Spec("people", land, TABLES), spend=spend)


def rebuilt(release: census.Publication, people: pa.Table) -> tuple[int, float]:
    """How many people all tables of their blocks give back, and how many the control guesses."""
    tables = {name: release.table(name, "block") for name in TABLES if name != "each"}
    blocks = {name: np.array(table["block"].to_pylist()) for name, table in tables.items()}
    right, blind = 0, 0.0
    for block in range(BLOCKS):
        own = [
            table.filter(pa.array(blocks[name] == f"b{block}")).select([*TABLES[name], "value"])
            for name, table in tables.items()
        ]
        truth = people.slice(SIZE * block, SIZE)
        result = attack.microdata(own, KINDS, count="value", limit=1_000, steps=3_000)
        outcome = result.against(truth, people)
        right, blind = right + outcome.right, blind + outcome.baseline * SIZE
    return right, blind


def is_more_than_chance(right: int, blind: float) -> bool:
    people = BLOCKS * SIZE
    return bool(right > binom.ppf(1 - 1e-9, people, blind / people))


def test_people_come_back_from_tables_without_noise() -> None:
    people = country()
    right, blind = rebuilt(published(people, dp.rho(2_000), {"rho": 2_000}), people)
    assert right >= 0.9 * BLOCKS * SIZE
    assert is_more_than_chance(right, blind)


@pytest.mark.parametrize("rho", [2_000, 20_000, 2_000_000])
def test_tables_with_next_to_no_noise_are_the_counts(rho: int) -> None:
    """Four tables of no variance say the same: it counts once."""
    people = country()
    release = published(people, dp.rho(rho), {"rho": rho})
    assert (release.total().value, release.total().unbiased) == (BLOCKS * SIZE, BLOCKS * SIZE)
    for name in TABLES:
        table = release.table(name, "block")
        assert table["unbiased"].to_numpy() == pytest.approx(table["value"].to_numpy(), abs=1e-9)


@pytest.mark.parametrize(("spend", "budget"), [(dp.pure(1), {"epsilon": 1}), (dp.rho("1/2"), {"rho": 1})])
def test_of_what_is_published_no_more_come_back_than_by_chance(spend: Any, budget: dict[str, int]) -> None:
    people = country()
    right, blind = rebuilt(published(people, spend, budget), people)
    assert not is_more_than_chance(right, blind)
