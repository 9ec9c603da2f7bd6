"""What a text asks, its parameters and the settings of a session."""

from __future__ import annotations

import time

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.privacy import approx, mu, pure, rho
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres._settings import Settings
from discreet.server.postgres.statements import kinds
from discreet.server.postgres.statements.parameters import Parametrized
from discreet.server.postgres.statements.reading import read_statement, split
from discreet.server.postgres.values.copying import CopyFormat
from discreet.server.postgres.values.literals import literal


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ; ;; ", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        (
            "/* a;b */ SELECT ';' -- ;\n; SELECT $$;$$, $a$;$$;$a$, \";\", E'\\';'",
            ["SELECT ';'", "SELECT $$;$$, $a$;$$;$a$, \";\", E'\\';'"],
        ),
        ("/* a /* ; */ ; */ SHOW ALL", ["SHOW ALL"]),
        ("SELECT a$1$b;c", ["SELECT a$1$b", "c"]),
    ],
)
def test_a_text_is_split_into_its_statements(text: str, statements: list[str]) -> None:
    assert split(text) == statements


@pytest.mark.parametrize("text", ["SELECT '", 'SELECT "a', "SELECT $$ $", "/* /* */", "E'\\'"])
def test_a_text_without_an_end_is_no_statement(text: str) -> None:
    with pytest.raises(SqlError) as error:
        split(text)
    assert error.value.sqlstate == "42601"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("(SELECT 1)", kinds.Question("(SELECT 1)")),
        ("EXPLAIN (COSTS off) SELECT 1", kinds.Explain("SELECT 1")),
        ("explain analyze verbose with x as (select 1) select 2", kinds.Explain("with x as (select 1) select 2")),
        ("BEGIN", kinds.Begin("BEGIN")),
        ("begin isolation level repeatable read, read only, not deferrable", kinds.Begin("BEGIN")),
        ("START TRANSACTION READ WRITE", kinds.Begin("START TRANSACTION")),
        ("COMMIT AND CHAIN", kinds.Commit(chain=True)),
        ("END", kinds.Commit()),
        ("ABORT", kinds.Rollback()),
        ('ROLLBACK TO "S"', kinds.Rollback("S")),
        ("RELEASE s", kinds.Release("s")),
        ("SET discreet.epsilon = 0.1", kinds.Set("discreet.epsilon", "0.1")),
        ("set local Discreet.Rho to '0.1'", kinds.Set("discreet.rho", "0.1", local=True)),
        ('SET SESSION search_path TO "$user", public', kinds.Set("search_path", "$user, public")),
        ("SET TIME ZONE 'UTC'", kinds.Set("TimeZone", "UTC")),
        ("SET extra_float_digits = -3", kinds.Set("extra_float_digits", "-3")),
        ("SET x TO DEFAULT", kinds.Set("x", None)),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", kinds.Nothing("SET")),
        ("RESET ALL", kinds.Reset(None)),
        ("SHOW TRANSACTION ISOLATION LEVEL", kinds.Show("transaction_isolation")),
        ("show discreet.epsilon", kinds.Show("discreet.epsilon")),
        ('DECLARE "C" NO SCROLL CURSOR WITH HOLD FOR SELECT 1', kinds.Declare("C", "SELECT 1", hold=True)),
        ('FETCH FORWARD 10 FROM "C"', kinds.Fetch("C", 10, moves=False)),
        ("FETCH NEXT IN c", kinds.Fetch("c", 1, moves=False)),
        ("FETCH ALL c", kinds.Fetch("c", None, moves=False)),
        ("MOVE FORWARD ALL FROM c", kinds.Fetch("c", None, moves=True)),
        ("CLOSE ALL", kinds.CloseCursor(None)),
        ("DEALLOCATE PREPARE s", kinds.Deallocate("s")),
        ("DISCARD ALL", kinds.Discard("DISCARD ALL")),
        ("UNLISTEN *", kinds.Nothing("UNLISTEN")),
        ("COPY (SELECT (1)) TO STDOUT", kinds.Copy("SELECT (1)", CopyFormat())),
        (
            "COPY (SELECT 1) TO STDOUT (FORMAT csv, HEADER, DELIMITER E'\\t')",
            kinds.Copy("SELECT 1", CopyFormat("csv", "\t", "", header=True)),
        ),
        (
            "copy (select 1) to stdout with csv header delimiter as ';' force quote a, \"B\"",
            kinds.Copy("select 1", CopyFormat("csv", ";", "", header=True, forced=frozenset({"a", "B"}))),
        ),
        ("COPY (SELECT 1) TO STDOUT WITH BINARY", kinds.Copy("SELECT 1", CopyFormat("binary"))),
        ("COPY (SELECT 1) TO STDOUT (FORMAT 'binary')", kinds.Copy("SELECT 1", CopyFormat("binary"))),
    ],
)
def test_a_statement_is_read(text: str, statement: kinds.Statement) -> None:
    assert read_statement(text) == statement


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("SELEC 1", "42601"),
        ("INSERT INTO t VALUES (1)", "25006"),
        ("create table t (x int)", "25006"),
        ("UPDATE t SET x = 1", "25006"),
        ("COPY t FROM STDIN", "25006"),
        ("COPY t (a, b) TO STDOUT", "42501"),
        ("COPY (SELECT 1) TO '/etc/passwd'", "42501"),
        ("COPY (SELECT 1) TO PROGRAM 'sh'", "42501"),
        ("COPY (DELETE FROM t) TO STDOUT", "0A000"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT parquet)", "22023"),
        ("COPY (SELECT 1) TO STDOUT (DELIMITER 'ab')", "22023"),
        ("COPY (SELECT 1) TO STDOUT (QUOTE '|')", "42601"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT csv, QUOTE ',')", "22023"),
        ("COPY (SELECT 1", "42601"),
        ("COPY (SELECT 1) TO STDOUT (ENCODING 'latin1')", "0A000"),
        ("FETCH BACKWARD 1 FROM c", "55000"),
        ("FETCH -1 FROM c", "55000"),
        ("FETCH 99999999999999 FROM c", "42601"),
        ("BEGIN x", "42601"),
        ("COMMIT 1", "42601"),
        ("SET x", "42601"),
        ("SET x = ", "42601"),
        ("SET ROLE admin", "42501"),
        ("EXPLAIN DROP TABLE t", "0A000"),
        ("EXPLAIN (FORMAT json) SELECT 1", "0A000"),
        ("EXPLAIN " * 8000, "0A000"),
        ("PREPARE p AS SELECT 1", "0A000"),
        ("EXECUTE p", "0A000"),
        ("LISTEN c", "0A000"),
        ("DECLARE c BINARY CURSOR FOR SELECT 1", "0A000"),
        ("DECLARE c CURSOR FOR DELETE FROM t", "42601"),
        ("LOCK TABLE t", "25006"),
        ("DO $$ BEGIN END $$", "25006"),
        ("SET a = U&'x'", "42601"),
        ("1", "42601"),
        ("%", "42601"),
    ],
)
def test_a_statement_is_refused(text: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as error:
        read_statement(text)
    assert error.value.sqlstate == sqlstate


@given(
    st.text(max_size=60),
    st.sampled_from(["", "SET x = ", "COPY (", "FETCH ", "DECLARE c CURSOR FOR ", "EXPLAIN (", "SELECT $1"]),
)
def test_any_text_is_read_or_refused(text: str, before: str) -> None:
    try:
        for each in split(before + text):
            read_statement(each)
            Parametrized(each).parameters((), {})
    except SqlError:
        pass


NAMES = {"city": 25, "cost": 701, "day": 1082, "n": 20}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT 1", ()),
        ("SELECT COUNT(*) FROM v WHERE city = $1 AND v.cost >= $2 AND $3 < v.day", (25, 701, 1082)),
        ('SELECT COUNT(*) FROM v WHERE v."city" IN ($1,$2, $3) AND n NOT IN (1, $4)', (25, 25, 25, 20)),
        ("SELECT COUNT(*) FROM v WHERE day BETWEEN $1 AND $2 LIMIT $3", (1082, 1082, 20)),
        ("SELECT COUNT(*) FROM v WHERE day = $2::timestamp OR CAST($1 AS bigint) = 1", (20, 1114)),
        ("SELECT '$1', \"$2\", $$ $3 $$ -- $4\n", ()),
        ("SELECT SUM(cost * $1) FROM v", (25,)),
    ],
)
def test_the_type_of_a_parameter_is_that_of_the_column_beside_it(text: str, types: tuple[int, ...]) -> None:
    assert tuple(each.oid for each in Parametrized(text).parameters((), NAMES)) == types


def test_declared_types_come_first() -> None:
    query = Parametrized("SELECT COUNT(*) FROM v WHERE n = $1 AND n = $2 LIMIT $3")
    assert query.parameters((701, 705), NAMES) == ((701, "n"), (20, "n"), (20, None))


def test_types_agree_with_those_that_postgresql_infers(admin: psycopg.Connection) -> None:
    admin.execute("CREATE TEMPORARY TABLE inferred (city text, cost double precision, day date, n bigint)")
    for text in (
        "SELECT COUNT(*) FROM inferred WHERE city = $1 AND cost >= $2 AND $3 < day AND n IN ($4, $5) AND city LIKE $6",
        "SELECT COUNT(*) FROM inferred AS v WHERE v.day BETWEEN $1 AND $2 AND v.n NOT IN ($3) LIMIT $4 OFFSET $5",
        "SELECT COUNT(*) FROM inferred WHERE day = $1::date AND n = CAST($2 AS integer)",
    ):
        admin.pgconn.prepare(b"inferred", text.encode())
        theirs = admin.pgconn.describe_prepared(b"inferred")
        ours = [each.oid for each in Parametrized(text).parameters((), NAMES)]
        assert ours == [theirs.param_type(i) for i in range(theirs.nparams)]
        admin.execute("DEALLOCATE inferred")


HOSTILE = ["'", "''", "'; DROP TABLE t; --", "\\'", "$1", "$$", "*/", "\\", "E'", "a\nb", "--", "/*"]


@given(st.text(max_size=20).filter(lambda text: "\0" not in text) | st.sampled_from(HOSTILE))
def test_a_value_is_never_read_as_sql(value: str) -> None:
    text = "SELECT COUNT(*) FROM v WHERE city = $1 AND note <> '$1' /* $1 */ AND n < $2"
    filled = Parametrized(text).filled([literal(25, 0, value.encode(errors="replace")), "(-1)"])
    read = parse_one(filled, dialect="postgres")
    texts = [node.this for node in read.find_all(exp.Literal) if node.is_string]
    assert sorted(texts) == sorted([value.encode(errors="replace").decode(), "$1"])


@pytest.mark.parametrize("text", ["SELECT $0", "SELECT $99999", "SELECT $65536"])
def test_a_parameter_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(SqlError) as error:
        Parametrized(text)
    assert error.value.sqlstate == "42P02"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE x IN (" + ",".join(f"${i}" for i in range(1, 9000)) + ")",
        "$1" * 32768,
        "(" * 65536,
        "/*" * 32768,
        "'" * 65535,
        "a " * 32768,
        ";" * 65536,
        "select $$" * 7000,
        "$a$" * 21845,
        "E'\\''" * 13000,
        "1e+" * 21845,
        "SET x = " + "a," * 32764,
        "COPY (" + "(" * 65530,
        "EXPLAIN (" + "(" * 65527,
        "$a $b" * 13107,
    ],
    ids=lambda text: text[:10],
)
def test_64_kib_of_any_text_are_read_or_refused_in_a_moment(text: str) -> None:
    started = time.process_time()
    try:
        for each in split(text):
            read_statement(each)
            query = Parametrized(each)
            query.parameters((), {})
            query.filled(["'x'"] * query.count)
    except SqlError:
        pass
    assert time.process_time() - started < 1


def test_a_spend_is_set() -> None:
    settings = Settings()
    assert settings.spend is None and settings.max_price is None and settings.level == 0.95
    settings = settings.set("discreet.epsilon", "0.1")
    assert settings.spend == pure("0.1") == settings.max_price
    assert settings.set("discreet.delta", "1e-6").spend == approx("0.1", "1e-6")
    assert settings.set("discreet.rho", "0.01").spend == rho("0.01")
    assert settings.set("DISCREET.MU", "1/2").set("discreet.delta", "1e-6").spend == mu("1/2", "1e-6")
    assert settings.set("discreet.max_price", "0.05").max_price == pure("0.05")
    assert settings.set("discreet.max_price", "rho(0.2)").max_price == rho("0.2")
    assert settings.set("discreet.epsilon", "").spend is None


def test_settings_of_a_transaction_end_with_it() -> None:
    settings = Settings("ada").set("discreet.epsilon", "1").started()
    local = settings.set("discreet.epsilon", "2", local=True).set("statement_timeout", "30s")
    assert (local.spend, local.ended().spend, local.timeout, local.reset().timeout) == (pure(2), pure(1), 30.0, None)
    assert local.set("discreet.epsilon", None).spend == pure(1)
    assert settings.get("SESSION_AUTHORIZATION") == "ada" and settings.get("server_version_num") == "180004"


@pytest.mark.parametrize(
    ("name", "value", "sqlstate"),
    [
        ("discreet.epsilon", "-1", "22023"),
        ("discreet.epsilon", "0", "22023"),
        ("discreet.epsilon", "nan", "22023"),
        ("discreet.epsilon", "inf", "22023"),
        ("discreet.epsilon", "1e99999", "22023"),
        ("discreet.delta", "2", "22023"),
        ("discreet.level", "1", "22023"),
        ("discreet.level", "nan", "22023"),
        ("discreet.errors", "maybe", "22023"),
        ("discreet.max_price", "__import__('os')", "22023"),
        ("discreet.nothing", "1", "42704"),
        ("nothing", "1", "42704"),
        ("client_encoding", "LATIN1", "22023"),
        ("DateStyle", "German", "22023"),
        ("TimeZone", "Europe/Berlin", "22023"),
        ("standard_conforming_strings", "off", "22023"),
        ("statement_timeout", "soon", "22023"),
        ("server_version", "9", "55P02"),
        ("search_path", "x" * 1001, "22023"),
        ("bytea_output", "escape", "22023"),
    ],
)
def test_a_setting_is_refused(name: str, value: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as error:
        Settings().set(name, value)
    assert error.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("client_encoding", "utf-8", "UTF8"),
        ("CLIENT_ENCODING", "'UTF8'".strip("'"), "UTF8"),
        ("datestyle", "ISO", "ISO, MDY"),
        ("extra_float_digits", "3", "3"),
        ("application_name", "x" * 99, "x" * 63),
        ("TimeZone", "Etc/UTC", "UTC"),
        ("statement_timeout", "5min", "300000"),
        ("jit", "off", "off"),
        ("transaction_isolation", "SERIALIZABLE", "serializable"),
    ],
)
def test_what_drivers_set_is_taken(name: str, value: str, shown: str) -> None:
    assert Settings().set(name, value).get(name) == shown
