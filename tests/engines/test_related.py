"""Rows of histories and linked tables: engines count what one counts by hand, and people move it by the caps."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import Engine
from discreet.engines._open import open_engine
from discreet.engines.sql import _rendering
from discreet.policy import Policy
from discreet.privacy import Relation
from discreet.query import BoundedAggregate, Count, Marginals, measure_norms

sys.path.insert(0, str(Path(__file__).parents[1] / "synth"))

from worlds import HISTORIES, WORLDS, World, by_hand, marginals, parts, some_world, tables, together, world_policy

from discreet.synth.related._parts import bounded_of

pytestmark = pytest.mark.usefixtures("one_database")
SALT = b"sixteen bytes of"
WIDE = (100, 100, 100)
RELATIONS: tuple[Relation, ...] = ("add_remove", "substitute")
Tables = dict[str, pa.Table]
Open = Callable[[Policy, Tables], Engine]
Fault = Callable[[BoundedAggregate], BoundedAggregate]


def opened(policy: Policy, data: Tables) -> Engine:
    engine = open_engine(data, policy)
    for name in data:
        engine.check(name)
    return engine


def request_of(bounded: BoundedAggregate) -> Marginals:
    """All marginals of one, two and all columns."""
    columns = range(len(bounded.keys))
    sets = [each for width in (0, 1, 2) for each in itertools.combinations(columns, width)]
    return Marginals(bounded, tuple(dict.fromkeys(sets)))


def counted_as_by_hand(open_at: Open, seed: int, histories: Mapping[str, Any], chosen: str = "") -> int:
    """Compare all parts where no cap bites, or the `chosen` ones; how many rows they have."""
    dice, policy, rows = random.Random(seed), world_policy(caps=WIDE), 0
    world = together([some_world(dice, range(4), 20) for _ in range(4)])
    engine = open_at(policy, tables(world))
    for part, shape in parts(policy, histories):
        if chosen and part.name not in chosen:
            continue
        request = request_of(replace(bounded_of(policy, part, shape), max_rows=10_000))
        engine.accept(request.bounded)
        expected = marginals(part, by_hand(policy, part, shape, world), request.sets)
        for each, counts, plain in zip(request.sets, engine.count_marginals(request, SALT), expected, strict=True):
            assert np.array_equal(counts, plain), (part.name, [part.columns[i].name for i in each])
        rows += int(expected[0])
    engine.close()
    return rows


@pytest.mark.parametrize("histories", HISTORIES, ids=["by number", "by date"])
def test_rows_are_counted_as_one_would_by_hand(histories: Mapping[str, Any]) -> None:
    assert sum(counted_as_by_hand(opened, seed, histories) for seed in range(2)) > 200


def moved(open_at: Open, seed: int, relation: Relation, fault: Fault, worlds: int = WORLDS) -> list[str]:
    """The parts of which two neighbouring databases are further apart than the norms say, of many pairs."""
    dice = random.Random(seed)
    caps = [dice.choice([2, 3, 4]), dice.choice([1, 2]), dice.choice([2, 3])]
    policy, histories = world_policy(relation, caps), dice.choice(HISTORIES)
    pairs = [neighbours(dice, relation) for _ in range(worlds)]
    engines = [open_at(policy, tables(together(side))) for side in zip(*pairs, strict=True)]
    beyond: list[str] = []
    for part, shape in parts(policy, histories):
        bounded = bounded_of(policy, part, shape)
        norms = measure_norms(Count(None), bounded, relation)
        world = part.roles.index(("own", "w"))
        sets = [{world, *each} for each in itertools.combinations(range(len(part.columns)), 2)]
        request = Marginals(fault(bounded), tuple(dict.fromkeys(tuple(sorted(each)) for each in sets)))
        for each, *sides in zip(
            request.sets, *(engine.count_marginals(request, SALT) for engine in engines), strict=True
        ):
            far = np.moveaxis(np.abs(sides[0] - sides[1]), each.index(world), 0).reshape(WORLDS, -1)
            if (far.sum(axis=1) > norms.l1).any() or ((far**2).sum(axis=1) > norms.l2_squared).any():
                beyond.append(part.name)
    for engine in engines:
        engine.close()
    return beyond


def neighbours(dice: random.Random, relation: Relation) -> tuple[World, World]:
    """Two databases that differ in the rows of person 0 alone, who has many; rows by path follow theirs."""
    world = some_world(dice, [1, 2], 12)
    persons = [some_world(dice, [0], 16) for _ in range(2)]

    def beside(person: World | None) -> World:
        if person is None:
            return world
        own = {name: [row for row in person[name] if row.get("p") == 0] for name in ("persons", "visits", "orders")}
        return {**world, **{name: [*own[name], *world[name]] for name in own}}

    world["items"] += persons[0]["items"] * 2
    return beside(persons[0]), beside(persons[1] if relation == "substitute" else None)


def none(bounded: BoundedAggregate) -> BoundedAggregate:
    return bounded


def one_row_more(bounded: BoundedAggregate) -> BoundedAggregate:
    return replace(bounded, max_rows=bounded.max_rows + 1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_person_moves_no_part_further_than_planned(relation: Relation) -> None:
    assert [seed for seed in range(2) if moved(opened, seed, relation, none)] == []


@pytest.mark.soak
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_person_moves_no_part_further_in_thousands_of_pairs(relation: Relation) -> None:
    assert [seed for seed in range(1_000, 1_060) if moved(opened, seed, relation, none)] == []


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_cap_of_one_row_more_shows(relation: Relation) -> None:
    assert any(moved(opened, seed, relation, one_row_more) for seed in range(2))


def test_windows_over_all_people_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    real = _rendering._Rendering._ranked

    def mixed(self: Any, ranked: Any) -> Any:
        rows = real(self, ranked)
        return replace(rows, sql=rows.sql.replace(f"PARTITION BY {rows.owner}", "PARTITION BY 1"))

    monkeypatch.setattr(_rendering._Rendering, "_ranked", mixed)
    assert moved(opened, 0, "add_remove", none)


def test_postgres_counts_the_same(load_postgres: Any, postgres: str) -> None:
    from discreet.engines.postgres import PostgreSQL

    def open_at(policy: Policy, data: Tables) -> Engine:
        return PostgreSQL(postgres, policy, load_postgres(data))

    assert counted_as_by_hand(open_at, 1, HISTORIES[0]) > 10
    assert counted_as_by_hand(open_at, 2, HISTORIES[1]) > 10
    assert [seed for seed in range(2) if moved(open_at, seed, "substitute", none, 5)] == []


CHOSEN = ["persons: every row, items: next rows", pytest.param("", marks=pytest.mark.soak)]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("chosen", CHOSEN, ids=["two parts", "all parts"])
def test_spark_counts_the_same(load_spark: Any, spark: Any, chosen: str) -> None:
    from discreet.engines.spark import Spark

    def open_at(policy: Policy, data: Tables) -> Engine:
        return Spark(spark, policy, load_spark(data))

    assert counted_as_by_hand(open_at, 3, HISTORIES[0], chosen) > 10
