"""Which sources are read: those that store what is read of them, in types with a defined reading."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import psycopg
import psycopg.sql
import pytest

import discreet as dp
from discreet.engines.postgres import PostgreSQL
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.query import make_plan, plan_records
from discreet.session import Session

_numbers = itertools.count()
COLUMNS: dict[str, Any] = {"k": {"type": "string"}, "x": {"type": "int", "bounds": [0, 9]}}


def _policy(columns: dict[str, Any] | None = None, unit: str = "u", **tables: Any) -> Any:
    caps = {} if unit == "rows" else {"max_rows": 3}
    table = {"unit": unit, **caps, "columns": columns if columns is not None else COLUMNS}
    return load_policy({"version": "1", "tables": {"t": table, **tables}})


@pytest.fixture
def schema(admin: psycopg.Connection[Any]) -> str:
    name = f"src{next(_numbers)}"
    admin.execute(f"CREATE SCHEMA {name}".encode())
    return name


def _refused(url: str, name: str, policy: Any = None) -> str:
    engine = PostgreSQL(url, policy or _policy(), {"t": name})
    try:
        with pytest.raises(dp.DataError) as caught:
            engine.check("t")
    finally:
        engine.close()
    assert caught.value.__context__ is None
    return str(caught.value)


def _keys(url: str, name: str, policy: Any = None, sql: str = "SELECT k, COUNT(*) FROM t GROUP BY k") -> Any:
    policy = policy or _policy()
    engine = PostgreSQL(url, policy, {"t": name})
    try:
        engine.check("t")
        groups = engine.run(make_plan(sql, policy).levels[0].bounded, bytes(16))
    finally:
        engine.close()
    return {group.key[0] if group.key else (): group.sums[0] for group in groups}


@pytest.mark.parametrize(
    ("made", "word"),
    [
        ("CREATE VIEW {s}.t AS SELECT 1 AS u, 'a' AS k, 1 AS x", "a view"),
        ("CREATE MATERIALIZED VIEW {s}.t AS SELECT 1 AS u, 'a' AS k, 1 AS x WITH NO DATA", "REFRESH"),
        ("CREATE TABLE {s}.t (u int, k text, x int); ALTER TABLE {s}.t ENABLE ROW LEVEL SECURITY", "row-level"),
        ("CREATE TABLE {s}.t (u int, k text, y int, x int GENERATED ALWAYS AS (1 / y) VIRTUAL)", "virtual generated"),
        ("CREATE TABLE {s}.t (u int, k text)", "lacks"),
        ("CREATE TABLE {s}.t (u int, k text[], x int)", "stored as text[]"),
        ("CREATE TABLE {s}.t (u int, k jsonb, x int)", "stored as jsonb"),
        ("CREATE TABLE {s}.t (u int, k bytea, x int)", "stored as bytea"),
        ("CREATE TABLE {s}.t (u int, k text, x money)", "stored as money"),
        ("CREATE TABLE {s}.t (u interval, k text, x int)", "stored as interval"),
        ("CREATE TABLE {s}.t (u int, k int4range, x time)", "stored as int4range"),
        ('CREATE TABLE {s}.t (u int, "K" text, "k " int, x int, "X" int, "U" int)', None),
        ('CREATE TABLE {s}.t (u int, "K" text, "X" int, "x " int)', None),
        ('CREATE TABLE {s}.t ("U" int, "u " int, "kK" int, "K" text, x int)', None),
        ('CREATE TABLE {s}.t (u int, k text, "X" int, "xX" int, x2 int)', None),
        ("CREATE TABLE {s}.z (u int)", "there is no table"),
        ('CREATE TABLE {s}."T" (u int); CREATE TABLE {s}."tT" (u int)', "lacks"),
        ("CREATE TYPE {s}.pair AS (a int); CREATE TABLE {s}.t (u int, k {s}.pair, x int)", "stored as"),
        ("CREATE TYPE {s}.text; CREATE TABLE {s}.t (u int, k text, x inet)", "stored as inet"),
    ],
)
def test_what_computes_or_has_no_reading_is_refused(
    admin: psycopg.Connection[Any], postgres: str, schema: str, made: str, word: str | None
) -> None:
    admin.execute(made.format(s=schema).encode())
    if word is None:
        assert _keys(postgres, f"{schema}.t") == {}
    else:
        assert word in _refused(postgres, f"{schema}.t")


def test_names_that_differ_by_case_alone_are_refused(
    admin: psycopg.Connection[Any], postgres: str, schema: str
) -> None:
    admin.execute(f'CREATE TABLE {schema}.t (u int, k text, "X" int, "xx" int, "XX" int)'.encode())
    columns = {"Xx": {"type": "int", "bounds": [0, 9]}}
    assert "but for case" in _refused(postgres, f"{schema}.t", _policy(columns))
    admin.execute(f'CREATE TABLE {schema}."aB" (u int); CREATE TABLE {schema}."Ab" (u int)'.encode())
    assert "but for case" in _refused(postgres, f"{schema}.AB")


def test_stored_things_are_read(admin: psycopg.Connection[Any], postgres: str, schema: str) -> None:
    rows = "SELECT 1 AS u, 'a' AS k, 1 AS x UNION ALL SELECT 2, 'b', 2"
    admin.execute(f"CREATE MATERIALIZED VIEW {schema}.m AS {rows}".encode())
    admin.execute(f"CREATE TABLE {schema}.p (u int, k text, x int) PARTITION BY LIST (k)".encode())
    admin.execute(f"CREATE TABLE {schema}.p1 PARTITION OF {schema}.p FOR VALUES IN ('a')".encode())
    admin.execute(f"CREATE TABLE {schema}.p2 PARTITION OF {schema}.p FOR VALUES IN ('b')".encode())
    admin.execute(f"INSERT INTO {schema}.p {rows}".encode())
    admin.execute(f"CREATE TABLE {schema}.g (u int, y int, k text, x int GENERATED ALWAYS AS (y + 1) STORED)".encode())
    admin.execute(f"INSERT INTO {schema}.g (u, k, y) SELECT u, k, x FROM ({rows}) AS r".encode())
    for name in "mpg":
        assert _keys(postgres, f"{schema}.{name}") == {"a": 1, "b": 1}, name


def test_a_foreign_part_is_refused(admin: psycopg.Connection[Any], postgres: str, schema: str) -> None:
    admin.execute(
        f"CREATE FOREIGN DATA WRAPPER w{schema}; CREATE SERVER v{schema} FOREIGN DATA WRAPPER w{schema}".encode()
    )
    admin.execute(f"CREATE FOREIGN TABLE {schema}.f (u int, k text, x int) SERVER v{schema}".encode())
    assert "a foreign table" in _refused(postgres, f"{schema}.f")
    admin.execute(f"CREATE TABLE {schema}.p (u int, k text, x int) PARTITION BY LIST (k)".encode())
    admin.execute(
        f"CREATE FOREIGN TABLE {schema}.q PARTITION OF {schema}.p FOR VALUES IN ('a') SERVER v{schema}".encode()
    )
    assert "a foreign table" in _refused(postgres, f"{schema}.p")


def test_a_role_needs_to_be_let_in(admin: psycopg.Connection[Any], postgres: str, schema: str) -> None:
    admin.execute(f"CREATE ROLE r{schema} LOGIN; CREATE TABLE {schema}.t (u int, k text, x int)".encode())
    url = postgres.replace("//postgres:@", f"//r{schema}@")
    assert url != postgres
    assert "GRANT USAGE" in _refused(url, f"{schema}.t")
    admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO r{schema}".encode())
    assert "GRANT SELECT" in _refused(url, f"{schema}.t")
    admin.execute(f"GRANT SELECT (u, k, x) ON {schema}.t TO r{schema}".encode())
    assert _keys(url, f"{schema}.t") == {}


def test_functions_and_operators_of_the_database_are_not_picked_up(
    admin: psycopg.Connection[Any], postgres: str, schema: str
) -> None:
    """Better matches in `public` than any in pg_catalog, and a search path of the role that puts them first."""
    admin.execute(f"CREATE TABLE {schema}.t (u int, k varchar, x smallint)".encode())
    admin.execute(f"INSERT INTO {schema}.t VALUES (1, 'a', 3), (2, 'b', 4)".encode())
    body = "LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'stolen'; END $$"
    admin.execute(f"CREATE FUNCTION {schema}.lower(varchar) RETURNS text {body}".encode())
    admin.execute(f"CREATE FUNCTION {schema}.less(smallint, bigint) RETURNS bool {body}".encode())
    admin.execute(
        f"CREATE OPERATOR {schema}.> (LEFTARG = smallint, RIGHTARG = bigint, FUNCTION = {schema}.less)".encode()
    )
    admin.execute(f"CREATE ROLE h{schema} LOGIN; GRANT USAGE ON SCHEMA {schema} TO h{schema}".encode())
    admin.execute(f"GRANT SELECT ON {schema}.t TO h{schema}".encode())
    admin.execute(f"ALTER ROLE h{schema} SET search_path = {schema}, pg_catalog".encode())
    url = postgres.replace("//postgres:@", f"//h{schema}@")
    sql = "SELECT LOWER(k) AS k, SUM(x) FROM t WHERE x > 1 GROUP BY LOWER(k)"
    assert len(_keys(url, "t", sql=sql)) == 2  # and the table is found where the role looks for it


def test_settings_of_the_role_change_nothing(admin: psycopg.Connection[Any], postgres: str, schema: str) -> None:
    admin.execute(f"CREATE TABLE {schema}.t (u int, k timestamptz, x real)".encode())
    admin.execute(f"INSERT INTO {schema}.t VALUES (1, '2024-02-29 12:00:00+00', 0.1)".encode())
    admin.execute(f"CREATE ROLE o{schema} LOGIN; GRANT USAGE ON SCHEMA {schema} TO o{schema}".encode())
    admin.execute(f"GRANT SELECT ON {schema}.t TO o{schema}".encode())
    for name, value in {
        "TimeZone": "'Asia/Tokyo'", "DateStyle": "'SQL, DMY'", "extra_float_digits": "-10",
        "IntervalStyle": "sql_standard", "standard_conforming_strings": "off",
        "client_encoding": "LATIN1", "transform_null_equals": "on",
    }.items():  # fmt: skip
        admin.execute(f"ALTER ROLE o{schema} SET {name} = {value}".encode())
    url = postgres.replace("//postgres:@", f"//o{schema}@")
    policy = _policy({"k": {"type": "string"}, "x": {"type": "string"}})
    assert _keys(url, f"{schema}.t", policy) == {"2024-02-29 12:00:00+00": 1}
    assert _keys(url, f"{schema}.t", policy, "SELECT x, COUNT(*) FROM t GROUP BY x") == {"0.10000000149011612": 1}
    quoted = "SELECT 'a\\' || CAST(x AS VARCHAR) AS q, COUNT(*) FROM t GROUP BY q"
    assert _keys(url, f"{schema}.t", policy, quoted) == {"a\\0.10000000149011612": 1}


@pytest.mark.parametrize(
    "name", ['"', "a.b", "x' OR 1=1 --", "ä" * 31, "SELECT", "$$", "\\", "a\nb", '";DROP TABLE t;--', "%s {x}"]
)
def test_odd_names_inject_nothing(admin: psycopg.Connection[Any], postgres: str, schema: str, name: str) -> None:
    table, column = psycopg.sql.Identifier(schema, name), psycopg.sql.Identifier(name)
    admin.execute(psycopg.sql.SQL("CREATE TABLE {} (u int, {} text)").format(table, column))
    admin.execute(psycopg.sql.SQL("INSERT INTO {} VALUES (1, 'a')").format(table))
    policy = _policy({name: {"type": "string"}})
    quoted = '"' + name.replace('"', '""') + '"'
    sql = f"SELECT {quoted} AS k, COUNT(*) FROM t WHERE {quoted} < 'z' GROUP BY {quoted}"
    assert _keys(postgres, f"{schema}.{quoted}", policy, sql) == {"a": 1}


def test_long_names_of_a_query_do_not_collide(admin: psycopg.Connection[Any], postgres: str, schema: str) -> None:
    one, other = "n" * 62 + "a", "n" * 62 + "b"
    admin.execute(f"CREATE TABLE {schema}.t (u int, {one} text, {other} text)".encode())
    admin.execute(f"INSERT INTO {schema}.t VALUES (1, 'a', 'b')".encode())
    policy = _policy({one: {"type": "string"}, other: {"type": "string"}})
    for name, key in ((one, "a"), (other, "b")):
        sql = f"SELECT {name}, COUNT(*) FROM t WHERE {one} < {other} GROUP BY {name}"
        assert _keys(postgres, f"{schema}.t", policy, sql) == {key: 1}


@pytest.mark.parametrize("name", ["", "a.b.c", "a.", ".a", 'a."b', "a\0b"])
def test_what_is_no_name_is_refused(postgres: str, name: str) -> None:
    assert "name" in _refused(postgres, name)


@pytest.mark.parametrize(
    "url",
    ["", "postgresql:/x", "mysql://a@b/c", "postgresql://u:secret@h:port/d", "postgresql://u:secret@[::1/d",
     "postgresql://u:secret%zz@h/d", "postgresql://u:secret@h/d?nonsense=1", "host=x password=secret"],
)  # fmt: skip
def test_a_bad_url_is_refused_and_tells_no_secret(url: str) -> None:
    with pytest.raises(dp.DataError) as caught:
        PostgreSQL(url, _policy())
    assert "secret" not in str(caught.value)
    assert "URL" in str(caught.value)
    assert caught.value.__context__ is None


def test_a_server_that_is_not_there_is_named_without_its_password(postgres: str) -> None:
    with pytest.raises(dp.DataError, match=r"127\.0\.0\.1:1, database d") as caught:
        PostgreSQL("postgresql://u:secret@127.0.0.1:1/d", _policy())
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    engine = PostgreSQL(postgres.replace("postgres:@", "postgres:secret@"), _policy())
    assert "secret" not in repr(engine) + repr(vars(engine))
    engine.close()
    with pytest.raises(dp.DataError, match="closed"):
        engine.check("t")


def test_another_encoding_is_refused(admin: psycopg.Connection[Any], postgres: str) -> None:
    admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(dp.DataError, match="LATIN1"):
        PostgreSQL(postgres.replace("/postgres?", "/latin?"), _policy())


def test_a_policy_that_has_no_such_table(postgres: str) -> None:
    with pytest.raises(dp.DataError, match="no table x"):
        PostgreSQL(postgres, _policy(), {"x": "x"})


def test_people_stored_unlike_in_two_tables_are_refused(
    admin: psycopg.Connection[Any], postgres: str, schema: str
) -> None:
    admin.execute(f"CREATE TABLE {schema}.t (u real, k text, x int); CREATE TABLE {schema}.v (u int, k text)".encode())
    policy = _policy(v={"unit": "u", "max_rows": 1, "columns": {"k": {"type": "string"}}})
    engine = PostgreSQL(postgres, policy, {"t": f"{schema}.t", "v": f"{schema}.v"})
    with pytest.raises(dp.DataError, match="store them alike"):
        engine.check("t")
    engine.close()


ODD_KEYS = (
    "it's",
    'a"b',
    "a\\",
    "\\'",
    "\U0001f600",
    "%s",
    "{x}",
    "$1",
    "é",
    "e\u0301",
    "",
    " ",
    "a\nb",
    "\u202e",
    "-- x",
)


@pytest.mark.parametrize("unit", ["u", "rows"])
def test_odd_public_keys_are_found_and_those_that_nothing_holds_are_not(
    admin: psycopg.Connection[Any], postgres: str, schema: str, unit: str
) -> None:
    admin.execute(f"CREATE TABLE {schema}.t (u int, k text, x int)".encode())
    for i, key in enumerate((*ODD_KEYS, "elsewhere")):
        admin.execute(f"INSERT INTO {schema}.t VALUES (%s, %s, 1)".encode(), (i, key))
    for keys in (ODD_KEYS, (*ODD_KEYS, "a\0b"), (*ODD_KEYS, "a\0b", "\ud800")):
        try:
            policy = _policy({"k": {"type": "string", "keys": list(keys)}}, unit)
        except dp.PolicyError:  # a surrogate is in no policy
            continue
        assert _keys(postgres, f"{schema}.t", policy) == dict.fromkeys(ODD_KEYS, 1)
        same = "SELECT COUNT(*) FROM t WHERE " + " OR ".join(
            f"k = '{key.replace(chr(39), chr(39) * 2)}'" for key in ODD_KEYS
        )
        assert _keys(postgres, f"{schema}.t", policy, same) == {(): len(ODD_KEYS)}
    assert _keys(postgres, f"{schema}.t", _policy({"k": {"type": "string", "keys": ["\0"]}}, unit)) == {}
    with pytest.raises(dp.QueryError, match="NUL"):
        _keys(postgres, f"{schema}.t", None, "SELECT COUNT(*) FROM t WHERE k = 'a\0b'")


def test_what_cannot_be_asked_is_refused_before_anything_is_spent(
    admin: psycopg.Connection[Any], postgres: str, schema: str
) -> None:
    admin.execute(f"CREATE TABLE {schema}.t (u int, k text, x int)".encode())
    policy = _policy()
    engine = PostgreSQL(postgres, policy, {"t": f"{schema}.t"})
    with Session(engine, policy, open_ledger(None, dp.pure(1))) as session:
        for ask in (session.plan, session.sql):
            with pytest.raises(dp.QueryError, match="NUL"):
                ask("SELECT COUNT(*) AS n FROM t WHERE k = 'a\0b'", dp.pure(1))
        assert session.remaining == dp.pure(1)


def test_more_columns_than_postgres_holds_are_refused_before_they_are_read(
    admin: psycopg.Connection[Any], postgres: str, schema: str
) -> None:
    names = {table: [f"{table}{i}" for i in range(820)] for table in "ab"}
    tables: dict[str, Any] = {}
    for table, columns in names.items():
        admin.execute(f"CREATE TABLE {schema}.{table} (u int, {' int, '.join(columns)} int)".encode())
        admin.execute(f"INSERT INTO {schema}.{table} VALUES ({', '.join('1' * 821)})".encode())
        tables[table] = {"unit": "u", "max_rows": 1, "columns": dict.fromkeys(columns, COLUMNS["x"])}
    policy = load_policy({"version": "1", "tables": tables})
    engine = PostgreSQL(postgres, policy, {table: f"{schema}.{table}" for table in names})
    most, too_many = (
        plan_records(f"SELECT {', '.join([*names['a'], *names['b'][:more]])} FROM a JOIN b ON a.u = b.u", policy).rows
        for more in (770, 820)
    )
    engine.accept(most.bounded)
    assert engine.read_records(most, bytes(16)).shape == (1, 1591)
    with pytest.raises(dp.QueryError, match="PostgreSQL holds 1,600"):
        engine.accept(too_many.bounded)
    engine.close()


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "psycopg.conninfo", None)
    with pytest.raises(dp.MissingExtra, match=r"pip install 'discreet\[postgres\]'"):
        PostgreSQL("postgresql://h/d", _policy())
