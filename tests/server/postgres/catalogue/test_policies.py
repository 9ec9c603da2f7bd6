"""A catalogue shows a policy, whatever its names are, and each account as itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.server.postgres.catalogue import SERVER_VERSION, TYPE_KEY, Catalogue, Description

ODD: Mapping[str, Any] = {
    "version": "1",
    "tables": {
        'Odd "name"; DROP': {
            "unit": "who",
            "max_rows": 2,
            "columns": {
                "x'y": {"type": "int", "keys": {"from": 1, "to": 100}},
                "Ünï": {"type": "string", "keys": ["a'b", 'c"d', "x\ny"]},
                "select": {"type": "decimal", "bounds": ["0.25", 3], "nullable": False},
            },
        },
        "pg_class": {"unit": "rows", "columns": {"relname": {"type": "string"}}},
        "columns": {"public": True, "key": "a", "columns": {"a": {"type": "date"}}},
        "visits": {"unit": 'id -> Odd "name"; DROP.who', "max_rows": "auto", "columns": {"t": {"type": "timestamp"}}},
        "history": {"unit": "rows", "columns": {"b": {"type": "bool"}}},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def catalogue() -> Iterator[Catalogue]:
    made = Catalogue('my "db"', load_policy(dict(ODD)), "al\"ice'; --")
    yield made
    made.close()


def rows(catalogue: Catalogue, text: str, *parameters: Any, **settings: str) -> list[list[Any]]:
    table = catalogue.answer(text, parameters, settings)
    assert table is not None
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def test_odd_names_are_quoted_where_names_are(catalogue: Catalogue) -> None:
    text = "SELECT oid::regclass FROM pg_class WHERE oid >= 16384 AND relkind = 'r' ORDER BY relname"
    names = ["discreet.budget", "columns", "discreet.history", "history", '"Odd ""name""; DROP"', "public.pg_class",
             "discreet.shelf", "visits"]  # fmt: skip
    assert sorted(name for (name,) in rows(catalogue, text)) == sorted(names)
    for name in names:
        assert rows(catalogue, "SELECT $1::regclass::text", name) == [[name]]
    assert rows(catalogue, "SELECT current_user, current_database()") == [["al\"ice'; --", 'my "db"']]


def test_columns_have_types_and_comments(catalogue: Catalogue) -> None:
    text = (
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum) "
        "FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum"
    )
    first = ", ".join(map(str, range(1, 21)))
    assert rows(catalogue, text, '"Odd ""name""; DROP"') == [
        ["who", "text", False, "whose a row is"],
        ["x'y", "bigint", False, f"public keys: {first} and 80 more"],
        ["Ünï", "text", False, "public keys: 'a''b', 'c\"d', 'x\ny'"],
        ["select", "numeric", True, "bounds: 0.25 to 3"],
    ]
    assert rows(catalogue, text, "visits") == [
        ["id", "text", False, "whose a row is"],
        ["t", "timestamp without time zone", False, None],
    ]
    comments = rows(catalogue, "SELECT obj_description($1::regclass, 'pg_class')", "visits")
    assert comments == [
        ['whose a row is: id -> Odd "name"; DROP.who; at most as many rows of one person as each query chooses count']
    ]


def test_a_key_is_a_primary_key_and_a_path_to_none_is_no_foreign_key(catalogue: Catalogue) -> None:
    text = "SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 2200 ORDER BY 1"
    assert rows(catalogue, text) == [
        ['Odd "name"; DROP_select_not_null', "n", 'NOT NULL "select"'],
        ["columns_a_not_null", "n", "NOT NULL a"],
        ["columns_pkey", "p", "PRIMARY KEY (a)"],
    ]


def test_unqualified_names_are_the_catalogues_first(catalogue: Catalogue) -> None:
    assert rows(catalogue, "SELECT count(*) > 400 FROM pg_class") == [[True]]
    assert catalogue.answer("SELECT count(*) FROM public.pg_class") is None
    assert catalogue.answer("SELECT count(*) FROM columns") is None
    assert catalogue.answer("SELECT count(*) FROM discreet.history") is None


def test_each_account_sees_itself(catalogue: Catalogue) -> None:
    text = "SELECT rolname, rolname = current_user FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname"
    assert rows(catalogue.for_role("bob"), text) == [["bob", True], ["discreet", False]]
    assert rows(catalogue, "SELECT usename FROM pg_user ORDER BY 1") == [["al\"ice'; --"], ["discreet"]]
    assert rows(
        catalogue, "SELECT has_table_privilege('visits', 'SELECT'), has_table_privilege('visits', 'INSERT')"
    ) == [[True, False]]


def test_settings_are_the_sessions(catalogue: Catalogue) -> None:
    text = "SELECT current_setting('discreet.epsilon', true), current_setting('server_version')"
    assert rows(catalogue, text) == [[None, SERVER_VERSION]]
    assert rows(catalogue, text, **{"discreet.epsilon": "0.1"}) == [["0.1", SERVER_VERSION]]
    with pytest.raises(QueryError, match="unrecognized configuration parameter"):
        catalogue.answer("SELECT current_setting('discreet.epsilon')")


def test_types_are_named(catalogue: Catalogue) -> None:
    table = catalogue.answer(
        "SELECT oid, relname, relkind, relacl, 1 AS one, 'x' AS x, NULL AS n FROM pg_class LIMIT 0"
    )
    assert table is not None
    assert [field.metadata[TYPE_KEY] for field in table.schema] == [
        b"oid", b"name", b'"char"', b"aclitem[]", b"integer", b"text", b"text"
    ]  # fmt: skip
    described = catalogue.describe("SELECT relname FROM pg_class WHERE oid = ANY($1) AND relkind = $2 LIMIT $3", 3)
    assert described == Description(("oid[]", '"char"', "bigint"), (("relname", "name"),))
    assert catalogue.describe("SELECT city FROM visits WHERE city = $1", 1) is None


def test_a_closed_catalogue_answers_nothing() -> None:
    made = Catalogue("db", load_policy(dict(ODD)), "alice")
    made.close()
    with pytest.raises(QueryError, match="closed"):
        made.answer("SELECT relname FROM pg_class")
