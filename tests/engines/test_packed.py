"""Packed rows, the plan in SQL and the definition in proofs/bounding.md keep the same rows."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB, _packed, _ranges
from discreet.engines.duckdb._caps import Caps, capped
from discreet.engines.sql import salts
from discreet.policy import load_policy
from discreet.query import Group, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = {
    "k": {"type": "string", "keys": ["b", "a", "c"]},
    "q": {"type": "string"},
    "i": {"type": "int", "keys": [3, -1, 2]},
    "j": {"type": "int"},
    "d": {"type": "date"},
    "x": {"type": "int", "bounds": [-2, 4]},
}
SUMS = "COUNT(*) AS n, SUM(x) AS s, COUNT(x) AS c"
GROUPINGS = ["", "k", "q", "i", "j", "d", "k, q", "q, j", "i, k"]
Spy = Callable[[pytest.MonkeyPatch], list[bool]]
CAPS = {"loose": (50, 50), "rows": (3, 50), "groups": (50, 2), "both": (4, 2), "one": (1, 1)}
PEOPLE = {"int8": pa.int8(), "int64": pa.int64(), "uint32": pa.uint32()}
NAMES = ["u", *COLUMNS]
Row = tuple[Any, ...]


def _rows(dice: random.Random, count: int) -> list[Row]:
    return [
        (
            dice.choice([0, 1, 1, 2, 3, 3, 3, 100, None]),
            dice.choice(["a", "b", "c", "elsewhere", None]),
            dice.choice(["", "é", "\0x", "Z", "z", None]),
            dice.choice([-1, 2, 3, 9, None]),
            dice.choice([2**63 - 1, -(2**63), 0, None]),
            dice.choice(["2020-02-29", "0001-01-01", "9999-12-31", None]),
            dice.choice([-(2**63), -2, 0, 1, 1, 4, None]),
        )
        for _ in range(count)
    ]


def _engine(rows: list[Row], kind: pa.DataType, caps: tuple[int, int]) -> tuple[DuckDB, Any]:
    policy = load_policy(
        {
            "version": "1",
            "tables": {"t": {"unit": "u", "max_rows": caps[0], "max_groups": caps[1], "columns": COLUMNS}},
        }
    )
    types = [kind, pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string(), pa.int64()]
    columns = [pa.array([row[c] for row in rows], types[c]) for c in range(len(NAMES))]
    return DuckDB({"t": pa.Table.from_arrays(columns, names=NAMES)}, policy), policy


def _query(grouping: str) -> str:
    return f"SELECT {grouping}, {SUMS} FROM t GROUP BY {grouping}" if grouping else f"SELECT {SUMS} FROM t"


def _found(groups: list[Group]) -> dict[Row, Row]:
    return {tuple(map(str, group.key)): (group.units, *group.sums) for group in groups if any(group.sums)}


def _even(items: list[Any], limit: int, hashed: int) -> list[Any]:
    if len(items) <= limit:
        return items
    return [items[(j * len(items) + hashed % len(items)) // limit] for j in range(limit)]


def _defined(rows: list[Row], grouping: str, kind: str, caps: tuple[int, int], salt: bytes) -> dict[Row, Row]:
    """The definition, a person at a time, in plain Python."""
    keys = [NAMES.index(name) for name in grouping.split(", ") if name]
    public = {NAMES.index(n): column["keys"] for n, column in COLUMNS.items() if "keys" in column}
    by_person: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        if row[0] is not None and all(c not in public or row[c] in public[c] for c in keys):
            x = None if row[-1] is None else min(max(row[-1], -2), 4)
            by_person[row[0]].append((*[row[c] for c in keys], x))

    def place(column: int, value: Any) -> tuple[Any, ...]:
        if value is None:
            return (0,)
        if column == NAMES.index("k"):
            return (1, COLUMNS["k"]["keys"].index(value))
        return (1, value.encode() if isinstance(value, str) else value)

    counts: Counter[tuple[Row, int]] = Counter()
    for person, own in by_person.items():
        by_groups, by_rows = (
            duckdb.execute(f"SELECT hash({s}, CAST({person} AS {kind}))").fetchall()[0][0] for s in salts(salt)
        )
        own.sort(key=lambda row: [place(c, v) for c, v in zip([*keys, -1], row, strict=True)])
        kept = _even(own, caps[0], by_rows)
        groups = list(dict.fromkeys(row[:-1] for row in kept))
        chosen = set(_even(groups, caps[1], by_groups) if keys else groups)
        for group in chosen:
            counts[group, 0] += 1
        for *group, x in kept:
            if tuple(group) in chosen:
                counts[tuple(group), 1] += 1
                counts[tuple(group), 2] += x or 0
                counts[tuple(group), 3] += x is not None
    return {tuple(map(str, g)): tuple(counts[g, c] for c in range(4)) for g, c in counts if c == 1}


@pytest.mark.sampled
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("grouping", GROUPINGS, ids=lambda grouping: grouping or "whole")
def test_packed_rows_and_sql_and_the_definition_agree(
    grouping: str, caps: str, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(f"{grouping} {caps}")
    for kind, count in zip(PEOPLE, (60, 25, 7), strict=True):
        rows, salt = _rows(dice, count), dice.randbytes(16)
        engine, policy = _engine(rows, PEOPLE[kind], CAPS[caps])
        bounded = make_plan(_query(grouping), policy).levels[0].bounded
        with monkeypatch.context() as patch:
            used = spied(patch)
            packed = _found(engine.run(bounded, salt))
            assert used == [True]
        with monkeypatch.context() as patch:
            patch.setattr(_packed, "_FEW", 10**9)
            assert _found(engine.run(bounded, salt)) == packed
        stored = {"int8": "TINYINT", "int64": "BIGINT", "uint32": "UINTEGER"}[kind]
        expected = _defined(rows, grouping, stored, CAPS[caps], salt)
        if not bounded.count_units:
            expected = {key: (0, *sums) for key, (_, *sums) in expected.items()}
        assert packed == expected
        engine.close()


@pytest.mark.parametrize("size", [1, 7, 64])
def test_parts_and_slices_of_any_length_give_the_same_sums(
    size: int, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(size)
    rows = [(dice.randrange(30), *row[1:]) for row in _rows(dice, 300)]
    engine, policy = _engine(rows, pa.int64(), (4, 2))
    bounded, salt = make_plan(_query("q"), policy).levels[0].bounded, dice.randbytes(16)
    whole = _found(engine.run(bounded, salt))
    used = spied(monkeypatch)
    monkeypatch.setattr(_ranges, "_PART", max(size, 4))
    monkeypatch.setattr(_ranges, "_SAMPLES", min(size, 4))
    real = _ranges.slices
    monkeypatch.setattr(_packed, "slices", lambda rows, person: real(rows, person, size))
    assert _found(engine.run(bounded, salt)) == whole
    assert used == [True]
    assert engine._connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
    engine.close()


@pytest.mark.parametrize("person", [-(2**63), 2**63 - 1])
def test_an_extreme_person_changes_the_numbers_and_nobody_else(
    person: int, spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(person)
    rows = [(dice.randrange(9), *row[1:]) for row in _rows(dice, 80)]
    used, answers, salt = spied(monkeypatch), [], dice.randbytes(16)
    for some in (rows, [*rows, (person, "a", "only", 2, 0, "2020-01-01", 1)]):
        engine, policy = _engine(some, pa.int64(), (4, 2))
        answers.append(_found(engine.run(make_plan(_query("q"), policy).levels[0].bounded, salt)))
        engine.close()
    assert used == [True, True]
    assert answers[1].pop(("only",)) == (1, 1, 1, 1)
    assert answers[1] == answers[0]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("n", range(1, 12))
def test_every_rank_is_kept_by_as_many_starts(n: int, limit: int) -> None:
    kept: Counter[int] = Counter()
    for start in range(n):
        hashes = lambda people, start=start: np.full(people.size, start, np.uint64)  # noqa: E731
        caps = Caps(limit, None, hashes, hashes)
        (rows,), _ = capped(((5 << 4) + np.arange(n),), 4, 4, caps)
        assert rows.size == min(n, limit)
        kept.update((rows & 15).tolist())
    assert kept == dict.fromkeys(range(n), min(n, limit))


@pytest.mark.parametrize("people", [[-(2**63) + i % 9 for i in range(60)], [2**63 - 1 - i % 9 for i in range(60)]])
def test_people_at_the_ends_of_64_bits_are_people(
    people: list[int], spied: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(people[0])
    rows = [(person, *row[1:]) for person, row in zip(people, _rows(dice, 60), strict=True)]
    engine, policy = _engine(rows, pa.int64(), (2, 1))
    bounded, salt = make_plan(_query("q"), policy).levels[0].bounded, dice.randbytes(16)
    in_sql = _found(engine.run(bounded, salt))
    used = spied(monkeypatch)
    assert _found(engine.run(bounded, salt)) == in_sql
    assert used == [True]
    engine.close()
