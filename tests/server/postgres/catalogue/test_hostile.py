"""What a catalogue query may not do: read files or settings, reach tables of the policy, or take time and memory."""

from __future__ import annotations

import random
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from recorded import POLICY, recorded

from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.server.postgres.catalogue import Catalogue

SECONDS = 1.0


@pytest.fixture(scope="module")
def catalogue() -> Iterator[Catalogue]:
    made = Catalogue("clinic", load_policy(POLICY), "alice")
    yield made
    made.close()


def answered(catalogue: Catalogue, text: str) -> int | str | None:
    """How many rows, or the refusal, or None; within a second of this thread's CPU."""
    before = time.thread_time()
    try:
        table = catalogue.answer(text)
        outcome = None if table is None else table.num_rows
    except QueryError as error:
        outcome = str(error)
    assert time.thread_time() - before < SECONDS, text[:200]
    return outcome


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('{}')",
        "SELECT * FROM read_text('{}')",
        "SELECT * FROM pg_catalog.read_text('{}')",
        "SELECT * FROM '{}'",
        'SELECT * FROM "{}"',
        "SELECT * FROM pg_class, read_text('{}')",
        "SELECT * FROM pg_class, LATERAL read_text('{}') t",
        "SELECT (SELECT content FROM read_text('{}')) FROM pg_class",
        "SELECT * FROM pg_class WHERE EXISTS (SELECT * FROM '{}')",
        "SELECT pg_read_file('{}') FROM pg_class",
        "SELECT pg_read_file('{}')",
        "SELECT * FROM glob('{}')",
        "SELECT * FROM parquet_scan('{}'), pg_type",
        "WITH t AS (SELECT * FROM read_csv('{}')) SELECT * FROM t, pg_class",
        "COPY pg_class TO '{}'",
        "COPY pg_class FROM '{}'",
        "ATTACH '{}' AS x",
        "IMPORT DATABASE '{}'",
        "EXPORT DATABASE '{}'",
    ],
)
def test_no_file_is_read_or_written(text: str, catalogue: Catalogue, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret", encoding="utf-8")
    outcome = answered(catalogue, text.format(secret))
    assert outcome is None or "not supported" in str(outcome) or "not in the catalogue" in str(outcome)
    assert secret.read_text(encoding="utf-8") == "the secret"
    assert "the secret" not in str(outcome)


@pytest.mark.parametrize(
    "text",
    [
        "SET memory_limit = '1TB'", "RESET ALL", "PRAGMA database_list", "INSTALL httpfs", "LOAD httpfs",
        "CALL pragma_version()", "SELECT * FROM duckdb_settings()", "SELECT * FROM duckdb_tables",
        "SELECT getenv('HOME')", "SELECT 1; SELECT 2", "SELECT getvariable('x')", "SELECT lookup_regclass_in_1('x')",
        "SELECT * FROM pg.pg_class", "SELECT * FROM texts.keywords", "SELECT * FROM pragma_version()",
        "SELECT * FROM sqlite_master", "CREATE TABLE t (a int)", "DROP TABLE pg_class",
        "INSERT INTO pg_class DEFAULT VALUES", "UPDATE pg_class SET relname = 'x'", "DELETE FROM pg_class", "VACUUM",
        "", 'SELECT 1 AS "a\x00b"', "SELECT '\ud800'", "SELECT relname FROM PG_CLA\u017f\u017f",
        'SELECT * FROM "pg_class\u200b"', "SELECT * FROM visits", "SELECT * FROM public.pg_class",
        "SELECT count(*) FROM discreet.history", "TABLE pg_class", "SELECT pg_sleep(100)", "SELECT lo_import('x')",
        "SELECT * FROM pg_stat_file('x')", "EXPLAIN SELECT * FROM pg_class",
    ],
)  # fmt: skip
def test_what_is_no_query_of_the_catalogue_is_left_to_others(text: str, catalogue: Catalogue) -> None:
    assert answered(catalogue, text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT * FROM pg_class, visits", "not both"),
        ("SELECT relname FROM pg_class WHERE oid = (SELECT patient_id FROM public.patients)", "not both"),
        ("SELECT (SELECT count(*) FROM discreet.budget) FROM pg_class", "not both"),
        ("WITH pg_type AS (SELECT * FROM patients) SELECT * FROM pg_class, pg_type", "not both"),
        ("SELECT * FROM pg_catalog.pg_authid", "not in the catalogue"),
        ('SELECT x FROM "information_schema"."nothing"', "not in the catalogue"),
        ("SELECT rolpassword FROM pg_catalog.pg_shadow", "not in the catalogue"),
        ("SELECT getenv('HOME') FROM pg_class", "the function getenv"),
        ("SELECT expanded(conkey) FROM pg_constraint", "the function expanded"),
        ("SELECT holds('SELECT', 'x') FROM pg_class", "the function holds"),
        ("SELECT repeat(relname, 1000000) FROM pg_class", "the function repeat"),
        ("SELECT current_setting('data_directory')", "unrecognized configuration parameter"),
        ("SELECT 'x'::regclass", 'relation "x" does not exist'),
        ("SELECT nothing FROM pg_class", '"nothing" does not exist'),
        ("SELECT relname FROM pg_class FOR UPDATE", "not supported"),
        ("SELECT relname FROM pg_class TABLESAMPLE SYSTEM (1)", "not supported"),
        ("SELECT relname INTO x FROM pg_class", "not both"),
        ("SELECT 'a'::geometry FROM pg_class", "a cast to this type"),
        ("SELECT relname FROM pg_class WHERE relname ~ relname", "not a constant"),
        ("SELECT relname FROM pg_class WHERE relname ~ '" + "a" * 1001 + "'", "at most 1,000"),
    ],
)
def test_what_is_not_listed_is_refused(text: str, words: str, catalogue: Catalogue) -> None:
    assert words in str(answered(catalogue, text))


def nested(before: str, inner: str, after: str, times: int) -> str:
    return before * times + inner + after * times


BOMBS = {
    "series": "SELECT count(*) FROM generate_series(1, 1000000000000)",
    "series of series": "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    "series as values": "SELECT generate_series(1, 1000000000), 1",
    "cross join": "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_proc d",
    "rows": "SELECT * FROM pg_attribute a, pg_attribute b",
    "array": "SELECT array_agg(a.attname) FROM pg_attribute a, pg_attribute b, pg_attribute c",
    "text": "SELECT string_agg(a.attname, ',') FROM pg_attribute a, pg_attribute b, pg_attribute c",
    "recursion": "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "recursive text": "WITH RECURSIVE t(n) AS (SELECT 'x'::text UNION ALL SELECT n || n FROM t) SELECT max(n) FROM t",
    "doubled text": nested("SELECT x || x AS x FROM (", "SELECT '" + "a" * 30_000 + "'::text AS x", ") q", 22),
    "replaced text": nested(
        "SELECT replace(x, 'a', 'aa') AS x FROM (", "SELECT '" + "a" * 30_000 + "'::text AS x", ") q", 22
    ),
    "nested replaced text": nested("SELECT replace(", "'" + "a" * 30_000 + "'", ", 'a', 'aa')", 50).replace(
        "SELECT ", "", 49
    ),
    "joins": "SELECT * FROM pg_class " + " ".join(f"JOIN pg_class c{i} ON c{i}.oid = pg_class.oid" for i in range(55)),
    "columns": "WITH t0 AS (SELECT * FROM pg_class), "
    + ", ".join(f"t{i} AS (SELECT * FROM t{i - 1} a, t{i - 1} b)" for i in range(1, 20))
    + " SELECT 1 FROM t19",
    "tables": "WITH t0 AS (SELECT oid FROM pg_class), "
    + ", ".join(f"t{i} AS (SELECT a.oid FROM t{i - 1} a JOIN t{i - 1} b ON a.oid < b.oid)" for i in range(1, 20))
    + " SELECT count(*) FROM t19",
    "sub-queries": "SELECT 1 FROM pg_attribute WHERE "
    + " AND ".join(
        f"attnum > (SELECT count(*) FROM pg_attribute x{i} WHERE x{i}.attnum < pg_attribute.attnum)" for i in range(23)
    ),
    "regular expression": "SELECT relname FROM pg_class WHERE relname ~ '((a{1,100}){1,100}){1,100}'",
    "unions": " UNION ALL ".join(["SELECT * FROM pg_attribute"] * 24),
    "functions": "SELECT " + ", ".join(["pg_get_userbyid(oid)"] * 900) + " FROM pg_proc",
}


@pytest.mark.parametrize("name", BOMBS)
def test_time_and_memory_are_capped(name: str, catalogue: Catalogue) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = answered(catalogue, BOMBS[name])
    assert name == "functions" or not isinstance(outcome, int) or outcome == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024  # KiB
    assert answered(catalogue, "SELECT relname FROM pg_class WHERE relname = 'visits'") == 1


LONG = {
    "brackets": nested("SELECT (", "1", ")", 59),
    "open brackets": "SELECT " + "(" * 60_000,
    "sums": "SELECT " + "+".join(["1"] * 2_900),
    "conjunction": "SELECT 1 WHERE " + " AND ".join(["1=1"] * 1_400),
    "text": "SELECT '" + "a" * 65_000 + "'",
    "too long a text": "SELECT '" + "a" * 70_000 + "'",
    "quotes": "SELECT '" + "''" * 30_000 + "'",
    "list": "SELECT 1 WHERE 1 IN (" + ",".join(["1"] * 2_900) + ")",
    "array": "SELECT oid FROM pg_class WHERE oid = ANY('{" + ",".join(map(str, range(12_000))) + "}')",
    "casts": "SELECT 1" + "::text" * 1_500,
    "cases": "SELECT " + "CASE WHEN true THEN " * 50 + "1" + " END" * 50,
    "nots": "SELECT " + "NOT " * 2_000 + "true",
    "minus": "SELECT " + "- " * 5_000 + "1",
    "comment": "SELECT 1 " + "/*" * 30_000,
    "dots": "SELECT " + ".".join(["a"] * 2_500),
    "places": "SELECT a" + "[1]" * 1_500 + " FROM (SELECT conkey AS a FROM pg_constraint) q",
    "dollars": "SELECT " + "$1 " * 5_000,
    "pattern": "SELECT relname FROM pg_class WHERE relname LIKE '" + "%a" * 30_000 + "'",
    "names": "SELECT " + ", ".join(f"relname AS x{i}" for i in range(1_400)) + " FROM pg_class",
    "words": "SELECT " + "row(" * 2_000,
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_are_answered_or_refused_in_a_second(name: str, catalogue: Catalogue) -> None:
    answered(catalogue, LONG[name])


def test_settings_change_nothing(catalogue: Catalogue) -> None:
    table = catalogue.answer("SELECT set_config('memory_limit', '1TB', false), current_setting('work_mem')")
    assert table is not None
    assert table.to_pylist() == [{"set_config": "1TB", "current_setting": "4MB"}]


def test_many_threads_ask_one_catalogue(catalogue: Catalogue) -> None:
    failed = list[object]()

    def ask(number: int) -> None:
        role = f"role{number}"
        mine = catalogue.for_role(role)
        for _ in range(10):
            table = mine.answer("SELECT current_user, count(*) FILTER (WHERE rolname = current_user) FROM pg_roles")
            if table is None or list(table.to_pylist()[0].values()) != [role, 1]:
                failed.append(table)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def mutated(text: str, draw: random.Random, others: list[str]) -> str:
    """A text with a piece cut out, repeated, moved, or taken from another."""
    words = text.split(" ")
    for _ in range(draw.randint(1, 4)):
        start, stop = sorted(draw.sample(range(len(words) + 1), 2)) if len(words) > 1 else (0, 1)
        stop = min(stop, start + draw.randint(1, 12))
        match draw.randrange(4):
            case 0:
                del words[start:stop]
            case 1:
                words[start:start] = words[start:stop]
            case 2:
                other = draw.choice(others).split(" ")
                place = draw.randrange(len(other))
                words[start:stop] = other[place : place + draw.randint(1, 12)]
            case _:
                words[start:stop] = draw.choice(
                    ["NULL", "'x'", "(", ")", "visits", "read_text('/etc/passwd')", "*", "$1"]
                )
    return " ".join(words)


def hunt(catalogue: Catalogue, number: int, seed: int) -> None:
    draw = random.Random(seed)
    texts = [query.text for query in recorded() if len(query.text) < 6_000]
    for _ in range(number):
        outcome = answered(catalogue, mutated(draw.choice(texts), draw, texts))
        assert "root:" not in str(outcome)


def test_mutated_queries_are_answered_refused_or_left(catalogue: Catalogue) -> None:
    hunt(catalogue, 150, 1)


@pytest.mark.soak
def test_100_000_mutated_queries_are_answered_refused_or_left(catalogue: Catalogue) -> None:
    hunt(catalogue, 100_000, 2)
