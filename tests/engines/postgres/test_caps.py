"""Which rows of a person count when a cap bites: those of the definition. No neighbour moves further than planned."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from suite.features import landed
from suite.moves import beyond
from suite.questions import TEMPLATES, question
from suite.worlds import _SCHEMAS, _TAGS, Bench, World, make_pair, world_policy

from discreet.engines.postgres import PostgreSQL
from discreet.engines.sql import salts
from discreet.policy import Policy, load_policy
from discreet.privacy import Relation, approx
from discreet.query import make_plan

Load = Callable[[Mapping[str, pa.Table]], dict[str, str]]
COLUMNS: dict[str, Any] = {
    "k": {"type": "string", "keys": ["a", "b", "c", "d"]},
    "q": {"type": "string"},
    "i": {"type": "int", "keys": [1, 2, 3, 4]},
    "x": {"type": "int", "bounds": [0, 10**6]},
}
QUERIES = {
    "mask": ("SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k", "k"),
    "split, public numbers": ("SELECT i, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY i", "i"),
    "split, private": ("SELECT q, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY q", "q"),
    "split, two keys": ("SELECT k, i, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k, i", "ki"),
    "whole": ("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", ""),
}
NAMES = ["u", "k", "q", "i", "x"]
CAPS = {"max_rows": 4, "max_groups": 2}
WORLDS = 12


def _table(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    types = [pa.int64(), pa.string(), pa.string(), pa.int64(), pa.int64()]
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)], NAMES
    )


def _rows(dice: random.Random, people: int) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for person in range(people):
        for _ in range(dice.choice([1, 3, 4, 5, 9, 12])):
            letter = dice.choice("abcde")
            found.append((person, letter, dice.choice([letter * 2, None]), dice.randrange(1, 5), dice.randrange(5)))
    dice.shuffle(found)
    return found


def _policy(**caps: int) -> Policy:
    return load_policy({"version": "1", "tables": {"t": {"unit": "u", **caps, "columns": COLUMNS}}})


def _even(items: list[Any], most: int, start: int) -> list[Any]:
    """The items at ranks floor((j n + start) / most)."""
    n = len(items)
    return items if n <= most else [items[(j * n + start) // most] for j in range(most)]


def _defined(
    rows: list[tuple[Any, ...]], keys: str, salt: bytes, start: Callable[[int, int, int], int]
) -> Counter[tuple[Any, ...]]:
    """Counts and sums by the definition in proofs/bounding.md, in plain Python."""
    groups_salt, rows_salt = salts(salt)
    people: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        named = dict(zip(NAMES, row, strict=True))
        if "k" not in keys or named["k"] != "e":
            people[row[0]].append((tuple(named[key] for key in keys), named["x"]))
    total: Counter[tuple[Any, ...]] = Counter()
    for person, content in people.items():
        content.sort(key=lambda row: ([(v is not None, v) for v in row[0]], row[1]))
        kept = _even(content, CAPS["max_rows"], start(person, rows_salt, len(content)))
        groups = list(dict.fromkeys(row[0] for row in kept))
        if keys:
            groups = _even(groups, CAPS["max_groups"], start(person, groups_salt, len(groups)))
        for key, x in kept:
            if key in groups:
                total[key, "n"] += 1
                total[key, "s"] += x
    return +total


@pytest.mark.parametrize("name", QUERIES)
def test_what_counts_is_what_the_definition_says(
    admin: psycopg.Connection[Any], load: Load, postgres: str, name: str
) -> None:
    """Whatever the order of the rows: it is another one here than in the definition."""
    query, keys = QUERIES[name]
    dice = random.Random(name)
    rows, salt, policy = _rows(dice, people=80), dice.randbytes(16), _policy(**CAPS)

    def start(person: int, salt: int, n: int) -> int:
        asked = admin.execute('SELECT hashtextextended(%s::text COLLATE "C", %s)', (str(person), salt)).fetchone()
        assert asked is not None
        return (asked[0] & 2**63 - 1) % n

    engine = PostgreSQL(postgres, policy, load({"t": _table(rows)}))
    bounded = make_plan(query, policy).levels[0].bounded
    found: Counter[tuple[Any, ...]] = Counter()
    center = sum(getattr(measure, "center", 0) for measure in bounded.measures)
    for group in engine.run(bounded, salt):
        present = next(s for m, s in zip(bounded.measures, group.sums, strict=True) if not hasattr(m, "center"))
        found[group.key, "n"] += present
        found[group.key, "s"] += sum(
            s for m, s in zip(bounded.measures, group.sums, strict=True) if hasattr(m, "center")
        )
        found[group.key, "s"] += center * present
    engine.close()
    assert +found == _defined(rows, keys, salt, start)


def test_each_row_is_kept_with_the_same_probability_however_many_are_alike(load: Load, postgres: str) -> None:
    """As for DuckDB: Hoeffding over independent people; false-alarm rate 4 · 2 · exp(−22.9) < 1e-9."""
    kinds, people, cap = {1: 12, 2: 5, 3: 2, 4: 1}, 4_000, 6
    rows = [(p, "a", "aa", i, 0) for i, count in kinds.items() for _ in range(count) for p in range(people)]
    policy = _policy(max_rows=cap)
    engine = PostgreSQL(postgres, policy, load({"t": _table(rows)}))
    bounded = make_plan("SELECT i, COUNT(*) AS n FROM t GROUP BY i", policy).levels[0].bounded
    kept = {group.key[0]: group.sums[0] for group in engine.run(bounded, bytes(range(16)))}
    engine.close()
    assert sum(kept.values()) == cap * people
    slack = cap * math.sqrt(people * 22.9 / 2)
    for i, count in kinds.items():
        assert abs(kept[i] - people * cap * count / 20) <= slack


class Served(Bench):
    """The worlds in a PostgreSQL server."""

    def __init__(self, policy: Policy, load: Load, url: str, admin: psycopg.Connection[Any]) -> None:
        self.policy, self._admin = policy, admin
        self._names = load({name: _SCHEMAS[name].empty_table() for name in policy.tables})
        self.engine = PostgreSQL(url, policy, self._names)  # type: ignore[assignment]
        for name in policy.tables:
            self.engine.check(name)

    def load(self, worlds: Iterable[World]) -> None:
        every = list(worlds)
        for name, stored in self._names.items():
            rows = [row for world in every for row in world[name]]
            if name == "tags":
                rows = [dict(zip(("k", "tag", "size"), row, strict=True)) for row in _TAGS]
            self._admin.execute(f"TRUNCATE {stored}".encode())
            with self._admin.cursor() as cursor, cursor.copy(f"COPY {stored} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row([row[field] for field in _SCHEMAS[name].names])


@pytest.mark.sampled
@pytest.mark.parametrize("caps", ["2 rows", "4 rows 2 groups"])
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_a_person_moves_no_answer_further_than_planned(
    load: Load, postgres: str, admin: psycopg.Connection[Any], relation: Relation, caps: str
) -> None:
    dice = random.Random(f"{relation} {caps}")
    bench = Served(world_policy(WORLDS, relation, caps), load, postgres, admin)
    for template in sorted(name for name, (*_, needs) in TEMPLATES.items() if landed(needs)):
        plan = make_plan(question(dice, template, by_world=True), bench.policy, approx(1, "1e-6"))
        pairs, salt = [make_pair(dice, i, relation) for i in range(WORLDS)], dice.randbytes(16)
        sides: list[list[dict[object, Any]]] = []
        for side in ("one", "other"):
            bench.load(getattr(pair, side) for pair in pairs)
            sides.append([bench.by_world(level.bounded, salt) for level in plan.levels])
        for world in {world for side in sides for level in side for world in level}:
            found = beyond(plan, *([level.get(world, []) for level in side] for side in sides))
            assert found is None, (template, world, found)
    bench.engine.close()
