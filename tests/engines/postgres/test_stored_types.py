"""Every stored type with its oddest values, as every type that a policy knows: nothing raises, in any role."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import discreet as dp
from discreet.engines.postgres import PostgreSQL
from discreet.engines.postgres._types import link_family
from discreet.policy import load_policy
from discreet.query import make_plan

TYPES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "smallint": ["-32768", "0", "32767"],
    "integer": ["-2147483648", "7", "2147483647"],
    "bigint": ["-9223372036854775808", "7", "9223372036854775807"],
    "real": ["NaN", "Infinity", "-Infinity", "-0", "1e-45", "3.4e38", "0.1", "2.5", "-2.5", "7"],
    "double precision": ["NaN", "Infinity", "-Infinity", "-0", "5e-324", "1.7e308", "9.223372036854776e18", "2.5", "7"],
    "numeric": [
        *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "0.00", "7.00", "7", "2.5", "-2.5"),
        *("9223372036854775807.4", "9223372036854775807.5", "-9223372036854775808.4", "1.7e308", "1.8e308", "1e131071"),
    ],
    "numeric(8,2)": ["123456.78", "-0.01", "2.50"],
    "text": ["", " ", "7", " 7 ", "1e999", "nan", "yes", "2024-02-29", "é", "x" * 9000, "\U0010ffff", "\x01"],
    "varchar(5)": ["7", "abc"],
    "char(5)": ["7", "abc"],
    "mood": ["sad", "it's", "7"],
    "named": ["7", "abc"],
    "small": ["7"],
    "uuid": ["00000000-0000-0000-0000-000000000007"],
    "date": ["4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "9999-12-31", "5874897-12-31", "infinity", "-infinity"],
    "timestamp": [
        "4713-01-01 BC",
        "0001-12-31 23:59:59.999999 BC",
        "9999-12-31 23:59:59.999999",
        "294276-12-31",
        "infinity",
    ],
    "timestamptz": ["4713-01-02 BC", "0001-01-01 00:00:00+14", "9999-12-31 23:59:59-14", "294276-12-31", "-infinity"],
}
KINDS: dict[str, dict[str, Any]] = {
    "bool": {"type": "bool"},
    "int": {"type": "int", "bounds": [-9, 9]},
    "float": {"type": "float", "bounds": [-9, 9]},
    "decimal": {"type": "decimal", "bounds": [-9, 9]},
    "string": {"type": "string"},
    "date": {"type": "date"},
    "timestamp": {"type": "timestamp"},
}
EXPECTED: dict[tuple[str, str], dict[object, int]] = {
    ("real", "int"): {0: 3, 2: 1, -2: 1, 7: 1, None: 4},
    ("numeric", "int"): {0: 2, 7: 2, 3: 1, -3: 1, 9223372036854775807: 1, -9223372036854775808: 1, None: 9},
    ("numeric", "bool"): {True: 15, False: 1, None: 1},
    ("mood", "string"): {"sad": 1, "it's": 1, "7": 1},
    ("named", "int"): {7: 1, None: 1},
    ("char(5)", "string"): {"7": 1, "abc": 1},
    ("numeric(8,2)", "string"): {"123456.78": 1, "-0.01": 1, "2.50": 1},
    ("date", "date"): {"0001-01-01": 1, "9999-12-31": 1, None: 5},
    ("date", "timestamp"): {"0001-01-01 00:00:00": 1, "9999-12-31 00:00:00": 1, None: 5},
    ("timestamp", "date"): {"9999-12-31": 1, None: 4},
    ("timestamptz", "date"): {None: 5},
    ("text", "bool"): {True: 1, None: 11},
}


@pytest.fixture(scope="module")
def names(admin: psycopg.Connection[Any]) -> dict[str, str]:
    admin.execute(b"CREATE SCHEMA stored")
    admin.execute(b"CREATE TYPE stored.mood AS ENUM ('sad', 'it''s', '7')")
    admin.execute(b"CREATE DOMAIN stored.named AS varchar(9) CHECK (value <> 'no')")
    admin.execute(b"CREATE DOMAIN stored.inner AS smallint; CREATE DOMAIN stored.small AS stored.inner")
    # an enumeration's owner may say what a cast of it does
    body = "LANGUAGE plpgsql AS $$ BEGIN RAISE 'stolen'; END $$"
    admin.execute(f"CREATE FUNCTION stored.evil(stored.mood) RETURNS text {body}".encode())
    admin.execute(b"CREATE CAST (stored.mood AS text) WITH FUNCTION stored.evil(stored.mood)")
    found: dict[str, str] = {}
    for i, (kind, values) in enumerate(TYPES.items()):
        own = f"stored.{kind}" if kind in ("mood", "named", "small") else kind
        admin.execute(f"CREATE TABLE stored.t{i} (n int, v {own})".encode())
        with admin.cursor() as cursor, cursor.copy(f"COPY stored.t{i} FROM STDIN".encode()) as copy:
            for n, value in enumerate([*values, None]):
                copy.write_row([n, value])
        found[kind] = f"stored.t{i}"
    return found


@pytest.fixture
def asked(postgres: str, names: dict[str, str]) -> Iterator[Any]:
    engines: list[PostgreSQL] = []

    def ask(kind: str, column: dict[str, Any], unit: str, sql: str) -> list[Any]:
        policy = load_policy({
            "version": "1",
            "tables": {"t": {"unit": unit, **({} if unit == "rows" else {"max_rows": 3}), "columns": {"v": column}}},
        })  # fmt: skip
        engines.append(PostgreSQL(postgres, policy, {"t": names[kind]}))
        engines[-1].check("t")
        return engines[-1].run(make_plan(sql, policy).levels[0].bounded, bytes(16))

    yield ask
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("kind", TYPES)
def test_no_value_raises_as_any_type_or_as_a_person(asked: Any, kind: str) -> None:
    for name, column in KINDS.items():
        if name in ("float", "decimal"):
            groups = asked(kind, column, "rows", "SELECT SUM(v), COUNT(v), MEDIAN(v), SUM(v * v) FROM t")
            assert 0 <= groups[0].sums[1] <= len(TYPES[kind])
            continue
        bare = {part: fact for part, fact in column.items() if part != "bounds"}
        groups = asked(kind, bare, "rows", "SELECT v, COUNT(*) FROM t GROUP BY v")
        found = {
            group.key[0] if name in ("bool", "int", "string") else _text(group.key[0]): group.sums[0]
            for group in groups
        }
        assert sum(found.values()) == len(TYPES[kind]) + 1
        if (kind, name) in EXPECTED:
            expected = dict(EXPECTED[kind, name])
            expected[None] = expected.get(None, 0) + 1
            assert found == expected, (kind, name)
    groups = asked(kind, {"type": "string"}, "v", "SELECT COUNT(*), COUNT(DISTINCT v) FROM t")
    nobody = 1 if "NaN" in TYPES[kind] else 0
    alike = 1 if kind == "numeric" else 0  # 7.00 and 7
    assert groups[0].sums == (len(TYPES[kind]) - nobody, len(TYPES[kind]) - nobody - alike)


def test_a_text_of_any_length_stops_no_query(admin: psycopg.Connection[Any], postgres: str) -> None:
    """A query reads its beginning, and it is no number or date beyond 16 MiB."""
    admin.execute(b"CREATE TABLE public.long (u int, s text)")
    admin.execute(b"INSERT INTO public.long VALUES (1, repeat('7', 270000000)), (2, '7')")
    columns = {"s": {"type": "string"}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "u", "max_rows": 3, "columns": columns}}})
    engine = PostgreSQL(postgres, policy, {"t": "public.long"})
    engine.check("t")
    conditions = {
        "CAST(s AS BIGINT) = 7": 1,
        "TRIM(s) = '7'": 1,
        "UPPER(s) = '7'": 1,
        "CAST(s AS DATE) IS NULL OR s = '7'": 2,
        "LENGTH(s) = 16384": 1,
    }
    for condition, count in conditions.items():
        plan = make_plan(f"SELECT COUNT(*) FROM t WHERE ({condition}) AND s IS NOT NULL", policy)
        assert engine.run(plan.levels[0].bounded, bytes(16))[0].sums == (count,), condition
    plan = make_plan("SELECT s, COUNT(*) FROM t GROUP BY s", policy)
    assert {group.key: group.sums for group in engine.run(plan.levels[0].bounded, bytes(16))} == {
        ("7",): (1,),
        ("7" * 250,): (1,),
    }
    engine.close()


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def test_every_pair_of_types_can_be_compared_as_people(postgres: str, names: dict[str, str]) -> None:
    """Refused as unlike, or joined without an error."""
    joined = 0
    column = {"v": {"type": "string"}}
    tables = {name: {"unit": "v", "max_rows": 3, "columns": column} for name in "ab"}
    policy = load_policy({"version": "1", "tables": tables})
    plan = make_plan("SELECT COUNT(*) FROM a JOIN b ON a.v = b.v", policy)
    for one, other in itertools.combinations_with_replacement(TYPES, 2):
        engine = PostgreSQL(postgres, policy, {"a": names[one], "b": names[other]})
        try:
            engine.check("a")
        except dp.DataError:
            assert link_family(one) != link_family(other)
        else:
            joined += 1
            found = engine.run(plan.levels[0].bounded, bytes(16))[0].sums[0]
            assert found >= (len(TYPES[one]) - ("NaN" in TYPES[one]) if one == other else 0), (one, other)
        finally:
            engine.close()
    assert joined > 40
