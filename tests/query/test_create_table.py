"""CREATE TABLE in the dialects of the databases that people dump: names and declared types, and nothing else."""

from __future__ import annotations

import logging

import pytest

from discreet.errors import ParameterError
from discreet.query import created_tables, type_in_policy

STATEMENTS = {
    "PostgreSQL": (
        ('CREATE TABLE IF NOT EXISTS public.visits (id bigserial PRIMARY KEY, "Person ID" uuid NOT NULL REFERENCES p, '
        "at timestamptz DEFAULT now(), x double precision, tags text[], n numeric(10,2), j jsonb, CHECK (x > 0));"),
        {"visits": {"id": "int", "Person ID": "string", "at": "timestamp", "x": "float", "tags": None, "n": "decimal",
                    "j": None}},
    ),
    "MySQL": (
        ("CREATE TABLE `orders` (`id` int(11) unsigned NOT NULL AUTO_INCREMENT, `kind` enum('a','b'), "
        "`when` datetime(6), `year` year, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;"),
        {"orders": {"id": "int", "kind": "string", "when": "timestamp", "year": "int"}},
    ),
    "SQL Server": (
        ("CREATE TABLE [dbo].[Sales] ([Id] INT IDENTITY(1,1) NOT NULL, [Flag] BIT, [Full Name] NVARCHAR(MAX), "
        "[At] DATETIME2(7), [Paid] MONEY)\nGO"),
        {"Sales": {"Id": "int", "Flag": "bool", "Full Name": "string", "At": "timestamp", "Paid": "decimal"}},
    ),
    "Oracle": (
        "CREATE TABLE emp (id NUMBER(10), sal NUMBER(8,2), name VARCHAR2(30 CHAR), hired DATE) TABLESPACE users;",
        {"emp": {"id": "int", "sal": "decimal", "name": "string", "hired": "date"}},
    ),
    "BigQuery": (
        "CREATE TABLE `p.d.t` (a INT64, b FLOAT64, c STRING, d BOOL, f ARRAY<STRING>) PARTITION BY DATE(e);",
        {"t": {"a": "int", "b": "float", "c": "string", "d": "bool", "f": None}},
    ),
    "Snowflake": (
        "CREATE OR REPLACE TRANSIENT TABLE t (a NUMBER(38,0), c TIMESTAMP_NTZ(9), d VARIANT, e BOOLEAN);",
        {"t": {"a": "int", "c": "timestamp", "d": None, "e": "bool"}},
    ),
    "Spark": (
        "CREATE TABLE t (a BIGINT COMMENT 'it''s (1)', c DECIMAL(10,2), m MAP<STRING,INT>) USING parquet;",
        {"t": {"a": "int", "c": "decimal", "m": None}},
    ),
    "SQLite": (
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c REAL, d TEXT);",
        {"t": {"a": "int", "b": None, "c": "float", "d": "string"}},
    ),
}  # fmt: skip
DUMP = """
-- CREATE TABLE commented (x int);
/* CREATE TABLE also (x int); */
SET statement_timeout = 0;
INSERT INTO log VALUES ('CREATE TABLE quoted (x int)');
CREATE TABLE one (a int, -- the first, with a ) in it
  b text DEFAULT ');');
COPY one (a, b) FROM stdin;
1\tit's
\\.
CREATE TABLE copied AS SELECT 1 AS x;
CREATE INDEX i ON one (a);
"""


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_dialect_is_read_for_its_names_and_types(name: str, caplog: pytest.LogCaptureFixture) -> None:
    text, tables = STATEMENTS[name]
    with caplog.at_level(logging.DEBUG):
        assert created_tables(text) == tables
    assert caplog.records == []


def test_a_dump_holds_other_things_too() -> None:
    assert created_tables(DUMP) == {"one": {"a": "int", "b": "string"}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no CREATE TABLE with a list of columns"),
        ("CREATE TABLE t AS SELECT 1 AS x;", "has no CREATE TABLE"),
        ("SELECT 1;\n\nCREATE TABLE t (a int b int c);", "in line 3 of the SQL text cannot be read"),
        ("CREATE TABLE a.t (x int); CREATE TABLE b.T (x int);", "creates the table T twice"),
        ("x" * (2**20 + 1), "longer than 1,048,576 characters"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        created_tables(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("varchar(20)", "string"), ("INTEGER", "int"), ("double precision", "float"), ("decimal(5, 0)", "int"),
        ("decimal", "decimal"), ("timestamp with time zone", "timestamp"), ("bool", "bool"), ("date", "date"),
        ("json", None), ("category", None), ("number of years", None), ("int, y int", None), ("", None),
        ("int);", None),
    ],
)  # fmt: skip
def test_a_type_of_sql_is_one_of_a_policy_or_none(text: str, kind: str | None) -> None:
    assert type_in_policy(text) == kind
