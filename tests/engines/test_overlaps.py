"""People in several groups: each counts once in each, whatever is stored, on every engine; refusals are the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import census
from discreet.engines import Engine
from discreet.engines._open import open_engine
from discreet.errors import DiscreetError
from discreet.policy import Policy, load_policy
from discreet.query import Marginals
from discreet.release import Terms

pytestmark = pytest.mark.usefixtures("one_database")
SALT = b"sixteen bytes of"
Tables = dict[str, pa.Table]
Open = Callable[[Policy, Tables], Engine]
Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
CODES = ["a", "A", "a ", "ä", "", "'b\"\\"]
ODD = ["c", "a\u0308", " a", "a" * 300, None]
AREAS = ["x", "X", "y"]
SEX = {"type": "string", "keys": ["F", "M"]}
AGE = {"type": "int", "bounds": [0, 99], "nullable": False}


def policy_of(relation: str = "add_remove") -> dict[str, Any]:
    people = {"unit": "person", "max_rows": 1, "columns": {"area": {"type": "string"}, "sex": SEX, "age": AGE}}
    origins = {"unit": "person -> people.person", "max_rows": 6, "columns": {"origin": {"type": "string"}}}
    first, second = ({"type": "int", "keys": [1, 2, 3]} for _ in range(2))
    rows = {"unit": "rows", "columns": {"area": {"type": "string"}, "one": first, "two": second, "sex": SEX}}
    return {"version": "1", "relation": relation, "budget": {"rho": 9},
            "tables": {"people": people, "origins": origins, "answers": rows}}  # fmt: skip


def spec_of(kind: str, most: int = 6, areas: Sequence[str] = AREAS, **changed: Any) -> census.DetailSpec:
    by_table = {
        "origins": {"groups": {"column": "origin", "most": most, "codes": CODES},
                    "detail": {"fine": {"from": 5, "columns": ["sex", "age"], "cells": {"age": [18, 65]}}}},
        "answers": {"groups": {"columns": ["one", "two"], "most": 2},
                    "detail": {"fine": {"from": 5, "columns": ["sex"]}}},
    }  # fmt: skip
    geography = {"areas": {"area": list(areas)}, "levels": ["area"]}
    return census.DetailSpec.of_dict({"table": kind, **by_table[kind], "geography": geography, "chance": 0, **changed})


def some_tables(dice: random.Random, people: int, most: int = 8) -> Tables:
    numbers = list(range(people))
    origins = [(p, dice.choice([*CODES, *ODD])) for p in [*numbers, None, 10**6] for _ in range(dice.randint(0, most))]
    dice.shuffle(origins)
    answers = [(dice.choice([*AREAS, "z", None]), *(dice.choice([1, 2, 3, 4, None]) for _ in range(2)),
                dice.choice(["F", "M", None, "?"])) for _ in range(people)]  # fmt: skip
    return {
        "people": pa.table({
            "person": pa.array(numbers, pa.int64()),
            "area": pa.array([dice.choice([*AREAS, "z", None]) for _ in numbers], pa.string()),
            "sex": pa.array([dice.choice(["F", "M", None, "?"]) for _ in numbers], pa.string()),
            "age": pa.array([dice.choice([-3, 0, 17, 18, 64, 65, 120, None]) for _ in numbers], pa.int64()),
        }),
        "origins": pa.table({
            "person": pa.array([p for p, _ in origins], pa.int64()),
            "origin": pa.array([code for _, code in origins], pa.string()),
        }),
        "answers": pa.table({
            name: pa.array([row[i] for row in answers], kind)
            for i, (name, kind) in enumerate(
                [("area", pa.string()), ("one", pa.int64()), ("two", pa.int64()), ("sex", pa.string())]
            )
        }),
    }  # fmt: skip


def by_hand(tables: Tables, kind: str) -> Any:
    """People by groups, areas and cells, one by one."""
    if kind == "answers":
        counts = np.zeros((3, len(AREAS), 3), np.int64)
        for row in tables["answers"].to_pylist():
            if row["area"] in AREAS and row["sex"] != "?":
                for code in {row["one"], row["two"]} & {1, 2, 3}:
                    counts[code - 1, AREAS.index(row["area"]), ["F", "M", None].index(row["sex"])] += 1
        return counts
    counts = np.zeros((len(CODES), len(AREAS), 3, 3), np.int64)
    groups: dict[Any, set[Any]] = {}
    for row in tables["origins"].to_pylist():
        groups.setdefault(row["person"], set()).add(row["origin"])
    for row in tables["people"].to_pylist():
        if row["area"] in AREAS and row["sex"] != "?" and row["age"] is not None:
            cell = ["F", "M", None].index(row["sex"]), (row["age"] >= 18) + (row["age"] >= 65)
            for code in groups.get(row["person"], set()) & set(CODES):
                counts[(CODES.index(code), AREAS.index(row["area"]), *cell)] += 1
    return counts


def counted(open_at: Open, tables: Tables, spec: census.DetailSpec) -> tuple[Any, Any]:
    """What both stages count: the totals, and all finest cells."""
    policy = load_policy(policy_of())
    prepared = census.PublishDetail(spec, dp.rho(1)).prepare(Terms.of_policy(policy))
    engine = open_at(policy, tables)
    asked: list[Marginals] = []

    class Context:
        @staticmethod
        def count_marginals(request: Marginals, salt: bytes) -> Any:
            asked.append(request)
            return engine.count_marginals(request, salt)

    engine.accept(prepared.source.bounded)
    totals = prepared.counted_totals(Context(), SALT)  # type: ignore[arg-type]
    chosen = {level: np.ones_like(each) for level, each in totals.items()}
    cells = prepared.counted_cells(chosen, totals, Context(), SALT)  # type: ignore[arg-type]
    engine.close()
    return totals["area"], cells["area"][1].reshape(*totals["area"].shape, -1)


def agree(open_at: Open, people: int = 150) -> None:
    """Areas are in the order of their names."""
    order = [sorted(AREAS).index(area) for area in AREAS]
    tables = some_tables(random.Random(people), people)
    for kind in ("origins", "answers"):
        totals, cells = counted(open_at, tables, spec_of(kind))
        expected = by_hand(tables, kind)
        assert expected.sum() > people / 3
        assert (cells[:, order].reshape(expected.shape) == expected).all()
        assert (totals[:, order] == expected.reshape(*expected.shape[:2], -1).sum(axis=2)).all()


def at_most(open_at: Open, most: int) -> None:
    """Every person lives in an area of their own: what one of them is in, of many rows and few different ones."""
    dice = random.Random(3)
    codes = [[dice.choice(CODES[: dice.randint(1, 6)]) for _ in range(dice.randint(0, 9))] for _ in range(120)]
    areas = [f"p{i:03}" for i in range(len(codes))]
    people = {"person": list(range(120)), "area": areas, "sex": ["F"] * 120, "age": [30] * 120}
    rows = [(person, code) for person, each in enumerate(codes) for code in each]
    tables = some_tables(dice, 3) | {
        "people": pa.table(people),
        "origins": pa.table({"person": [p for p, _ in rows], "origin": [code for _, code in rows]}),
    }
    totals, cells = counted(open_at, tables, spec_of("origins", most, areas))
    assert totals.max() == cells.max() == 1, "once in a group"
    for person, each in enumerate(codes):
        assert totals[:, person].sum() == cells[:, person].sum() == min(most, len(set(each)))
        assert all(CODES[group] in each for group in np.flatnonzero(totals[:, person]))


def test_counts_are_those_by_hand() -> None:
    agree(lambda policy, tables: open_engine(tables, policy))


@pytest.mark.soak
def test_counts_of_many_rows_are_those_by_hand() -> None:
    agree(lambda policy, tables: open_engine(tables, policy), 40_000)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_person_is_in_so_many_groups_and_once_in_each(most: int) -> None:
    at_most(lambda policy, tables: open_engine(tables, policy), most)


def test_postgres_counts_the_same(load_postgres: Load, postgres: str) -> None:
    def open_at(policy: Policy, tables: Tables) -> Engine:
        from discreet.engines.postgres import PostgreSQL

        return PostgreSQL(postgres, policy, load_postgres(tables))

    agree(open_at)
    at_most(open_at, 2)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_counts_the_same(load_spark: Load, spark: Any) -> None:
    def open_at(policy: Policy, tables: Tables) -> Engine:
        from discreet.engines.spark import Spark

        return Spark(spark, policy, load_spark(tables))

    agree(open_at, 60)


def test_two_sources_have_the_same_refusals_words_and_queries() -> None:
    """Neither source decides what is refused, in which words, what is planned, or what an engine is asked."""
    small, large = some_tables(random.Random(1), 5), some_tables(random.Random(2), 300)
    wrong: list[dict[str, Any]] = [
        {"most": 7},
        {"groups": {"column": "nothing", "most": 1}},
        {"groups": {"column": "origin", "most": 1}},
        {"people": "answers"},
        {"detail": {"fine": {"from": 5, "columns": ["person"]}}},
        {"detail": {"fine": {"from": 5, "columns": ["age"], "cells": {"age": [200]}}}},
        {"detail": {"fine": {"from": 1, "columns": ["sex"]}}, "chance": 0.99},
        {"geography": {"areas": {"area": AREAS}, "levels": ["area"], "column": "age"}},
        {"shares": {"area": 0}},
    ]
    seen: list[list[Any]] = []
    for tables in (small, large):
        words: list[Any] = []
        with dp.connect(dict(tables), policy_of()) as session:
            for change in wrong:
                with pytest.raises(DiscreetError) as refused:
                    census.detail(session, spec_of("origins", **change), dp.rho(1))
                words.append((type(refused.value), str(refused.value)))
            plan = census.plan_detail(session, spec_of("origins"), dp.rho(1))
            words += [plan.to_dict(), plan.explain(), plan.prepared.hash]
            assert str(session.remaining) == "rho(9)"
        seen.append(words)
    assert seen[0] == seen[1]
