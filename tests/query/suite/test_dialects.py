"""Queries of other systems mean here what they mean there, or are refused with what to write."""

from __future__ import annotations

import re
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, QueryError
from discreet.policy import Policy, load_policy
from discreet.query import DIALECTS, RULES, make_plan, transpile
from discreet.session import Session
from suite.dialects import QUERIES, SAME, visits, visits_policy
from suite.truth import difference, rows_of

NEARLY_EXACT = dp.approx(10**9, 1e-6)
EVERY = [(dialect, query) for dialect, queries in QUERIES.items() for query in queries]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return visits()


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(visits_policy())


@pytest.fixture(scope="module")
def session(table: pa.Table) -> Iterator[Session]:
    with dp.connect({"stays": table}, visits_policy()) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(table: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("stays", table)
    return connection


@pytest.mark.parametrize(("dialect", "query"), EVERY, ids=lambda text: text[:90])
def test_an_answer_is_that_of_plain_sql(
    dialect: str, query: str, session: Session, plain: duckdb.DuckDBPyConnection
) -> None:
    release = session.sql(query, NEARLY_EXACT, dialect=dialect)
    truth = plain.execute(QUERIES[dialect][query] or query).fetchall()
    assert truth
    found = difference(
        rows_of(release.to_arrow()), truth, ordered=bool(re.search(r"ORDER BY [^)]*$", query)), within=1e-2
    )
    assert found is None, found


def test_each_dialect_has_queries() -> None:
    assert set(QUERIES) == set(DIALECTS) - {"duckdb"} == set(RULES)
    assert all(len(queries) >= 12 for queries in QUERIES.values())


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts["duckdb"][:60])
def test_one_question_is_one_plan(texts: dict[str, str], session: Session, policy: Policy) -> None:
    plans = {name: session.plan(text, dp.pure(1), dialect=name) for name, text in texts.items()}
    assert len({plan.sql for plan in plans.values()}) == 1
    assert len({plan.hash(policy) for plan in plans.values()}) == 1


def test_the_same_question_in_another_dialect_is_free(session: Session) -> None:
    first = session.sql(SAME[0]["duckdb"], dp.pure(0.25))
    spent = session.spent
    for dialect in QUERIES:
        again = session.sql(SAME[0][dialect], dp.pure(0.25), dialect=dialect)
        assert again.to_arrow() == first.to_arrow()
        assert again.certificate == first.certificate
    assert session.spent == spent


def test_a_dialect_that_is_none() -> None:
    with pytest.raises(ParameterError, match="dialect is one of duckdb, postgres, spark"):
        transpile("SELECT COUNT(*) FROM stays", "mysql")
    assert transpile("whatever", "duckdb") == "whatever"


def test_an_ibis_expression_has_no_dialect(session: Session) -> None:
    with pytest.raises(ParameterError, match="leave dialect out"):
        session.plan(session.table("stays").count(), dialect="postgres")


REFUSED = {
    "postgres": {
        "SELECT SUM(visits) / COUNT(*) FROM stays": r"1\.0 \* a / b",
        "SELECT COUNT(*) FROM stays WHERE ROUND(price) = 3": "even neighbour",
        "SELECT COUNT(*) FROM stays WHERE note LIKE '50\\%'": "STRPOS",
        "SELECT COUNT(*) FROM stays WHERE day < CURRENT_DATE": "write a constant",
        "SELECT COUNT(*) FROM stays WHERE day < NOW()": "write a constant",
        "SELECT COUNT(*) FROM stays WHERE 2 ^ 3 = 8": "write POWER",
        "SELECT COUNT(*) FROM stays WHERE EXTRACT(SECOND FROM seen) = 8": "fraction",
        "SELECT COUNT(*) FROM stays WHERE SUBSTRING(note FROM 0 FOR 2) = 'l'": "from 1",
        "SELECT COUNT(*) FROM stays WHERE note SIMILAR TO 'x%'": "LIKE",
        "SELECT STRING_AGG(note, ',') FROM stays": "single people",
        "SELECT COUNT(*) FROM stays WHERE \"City\" = 'Graz' AND city = 'Graz'": "in one way",
        "SELECT COUNT(*) FROM stays WHERE note::date = '2023-01-01'": "constants",
        "SELECT COUNT(*) FROM pg_catalog.stays": "tables of the policy",
        "SELECT COUNT(*) FROM stays, GENERATE_SERIES(1, 10)": "supported",
        "SELECT COUNT(*) FROM stays WHERE note = 'a' 'b'": "supported",
        "SELECT COUNT(*) FROM stays WHERE note = $$late$$": "constant|supported",
        "SELECT COUNT(*) FROM stays WHERE note ~ 'x.*'": "another way",
        "SELECT COUNT(*) FROM stays WHERE note LIKE 'x!%' ESCAPE '!'": "STRPOS",
        "SELECT COUNT(*) FROM stays WHERE note COLLATE \"C\" = 'x'": "code points",
        "SELECT COUNT(DISTINCT (city, visits)) FROM stays": "supported|number|one x",
        "SELECT COUNT(*) FROM stays WHERE COUNT(DISTINCT city, visits) = 3": "of one x",
        "SELECT COUNT(*) FROM stays FETCH FIRST 3 ROWS WITH TIES": "TOP n or FETCH",
        'SELECT "upper"(city), COUNT(*) FROM stays GROUP BY 1': "without them",
        "SELECT COUNT(*) FROM stays WHERE pg_catalog.upper(city) = 'X'": "supported",
        "SELECT COUNT(*) FROM stays WHERE price IS NAN": "no column",
        "SELECT COUNT(*) FROM stays WHERE visits = ANY('{1,2}')": "supported|takes|valid|write",
        "SELECT COUNT(*) FROM stays WHERE visits = :x": "without a value",
        "SELECT COUNT(*) FROM stays WHERE seen >= '2023-01-01 00:00:00+02'": "write|is not",
        "SELECT COUNT(*) FROM stays WHERE note = E'a\\nb'": "constant",
        "SELECT COUNT(*) FROM stays WHERE price::varchar = '3'": "another way",
        "SELECT COUNT(*) FROM stays WHERE pg_sleep(9) IS NULL": "Functions are",
        "SELECT COUNT(*) FROM stays WHERE LENGTH(note, 'UTF8') = 3": "write it with others",
        "SELECT COUNT(*) FROM stays WHERE AGE(day, day) IS NULL": "write a - b",
        "SELECT COUNT(*) FROM stays WHERE seen - seen = 0": "DATEDIFF or DATE_DIFF",
        "SELECT COUNT(*) FROM stays TABLESAMPLE SYSTEM (10)": "leave it out",
        "SELECT COUNT(*) FROM stays FOR UPDATE": "supported",
        "SELECT COUNT(*) FROM ONLY (stays)": "supported|valid",
    },
    "spark": {
        "SELECT /*+ BROADCAST(stays) */ COUNT(*) FROM stays": "hint",
        "SELECT COUNT(*) FROM stays WHERE note = 'a\\'b'": "backslash",
        "SELECT COUNT(*) FROM stays WHERE bround(price) = 3": "write ROUND",
        "SELECT COUNT(*) FROM stays WHERE CAST(note AS INT) = 3": "write CAST",
        "SELECT COUNT(*) FROM stays WHERE note RLIKE 'x.*'": "LIKE",
        "SELECT COUNT(*) FROM stays LATERAL VIEW explode(split(note, ' ')) w": "supported",
        "SELECT collect_set(note) FROM stays": "GROUP BY x",
        "SELECT COUNT(*) FROM stays WHERE day - DATE '2023-01-01' > INTERVAL 3 DAYS": "DATEDIFF|supported",
        "SELECT COUNT(*) FROM stays WHERE trunc(day, 'MONTH') = '2023-01-01'": "DATE_TRUNC",
        "SELECT COUNT(*) FROM stays WHERE transform(array(1), x -> x)[0] = 1": "supported",
        "SELECT COUNT(*) FROM stays WHERE substring(note, 0, 2) = 'la'": "from 1",
        "SELECT COUNT(*) FROM stays WHERE ltrim('x', note) = 'la'": "write it with others",
        "SELECT CAST(AVG(price) AS INT) FROM stays": r"write ROUND\(x\)",
        "SELECT COUNT(*) FROM stays DISTRIBUTE BY city": "supported",
        "SELECT COUNT(*) FROM parquet.`/etc/passwd`": "tables of the policy",
    },
    "bigquery": {
        "SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) FROM stays GROUP BY w": "ISOWEEK",
        "SELECT APPROX_QUANTILES(price, 100)[OFFSET(25)] FROM stays": r"QUANTILE_CONT\(price, 0\.25\)",
        "SELECT COUNT(*) FROM stays WHERE TRIM(note) = 'x'": "white space",
        "SELECT UPPER(city) AS city, COUNT(*) FROM stays GROUP BY city": "another alias",
        "SELECT COUNT(*) FROM stays WHERE TIMESTAMP_DIFF(seen, seen, DAY) = 0": "DATETIME_DIFF",
        "SELECT COUNT(*) FROM stays WHERE SAFE.LOG(visits) > 1": "without SAFE",
        "SELECT COUNT(*) FROM stays WHERE EXTRACT(WEEK FROM day) = 1": "ISOWEEK",
        "SELECT * EXCEPT (note) FROM stays": "supported",
        "SELECT AS STRUCT COUNT(*) FROM stays": "supported",
        "SELECT COUNT(*) FROM stays, UNNEST([1, 2, 3])": "supported",
        "SELECT COUNT(*) FROM `other.project.stays`": "tables of the policy",
        "SELECT COUNT(*) FROM stays WHERE visits ^ 2 = 1": "POWER",
        "SELECT PERCENTILE_CONT(price, 0.5) OVER () FROM stays": "QUANTILE_CONT",
        "SELECT ANY_VALUE(note) FROM stays": "one person",
        "SELECT COUNT(*) FROM stays WHERE DATE_DIFF(day, day, WEEK) = 1": "write one of",
        "SELECT COUNT(*) FROM stays WHERE FORMAT_DATE('%c', day) = 'x'": "constant format",
    },
    "snowflake": {
        "SELECT FIRST_VALUE(city) OVER (ORDER BY COUNT(*)) FROM stays GROUP BY city": "UNBOUNDED FOLLOWING",
        "SELECT COUNT(*) FROM stays WHERE note:a.b = 1": "table.column",
        "SELECT COUNT(*) FROM stays SAMPLE (10)": "leave it out",
        "SELECT LISTAGG(note) FROM stays": "single people",
        "SELECT COUNT(*) FROM stays AT (OFFSET => -60)": "supported|valid",
        "SELECT COUNT(*) FROM stays WHERE ADD_MONTHS(day, 1) > '2023-01-01'": "DATEADD",
        "SELECT COUNT(*) FROM stays WHERE DATEDIFF(week, day, day) > 1": "write one of",
        "SELECT COUNT(*) FROM stays WHERE note = 'a\\tb'": "backslash",
        "SELECT COUNT(*) FROM TABLE(GENERATOR(ROWCOUNT => 10))": "supported|valid|policy",
        "SELECT COUNT(*) FROM stays WHERE \"city\" = 'x' AND CITY = 'y'": "in one way",
        "SELECT COUNT(*) FROM stays WHERE RANDOM() > 1": "write a constant",
        "SELECT COUNT(*) FROM stays WHERE TO_CHAR(day, 'MON') = 'Jan'": "constant format",
    },
    "tsql": {
        "SELECT AVG(visits) FROM stays": r"AVG\(x \* 1\.0\)",
        "SELECT TOP 10 PERCENT city, COUNT(*) FROM stays GROUP BY city": "TOP n",
        "SELECT TOP 1 WITH TIES city, COUNT(*) FROM stays GROUP BY city ORDER BY COUNT(*)": "TOP n",
        "SELECT COUNT(*) FROM stays WITH (NOLOCK)": "hint",
        "SELECT COUNT(*) FROM stays OPTION (RECOMPILE)": "option",
        "SELECT COUNT(*) FROM stays WHERE DATEPART(weekday, day) = 1": "write one of",
        "SELECT COUNT(*) FROM stays WHERE day < GETDATE()": "write a constant",
        "SELECT COUNT(*) FROM stays WHERE note LIKE '[a-c]%'": "OR",
        "SELECT COUNT(*) FROM stays WHERE note + visits = 'x'": "CONCAT",
        "SELECT COUNT(*) FROM stays WHERE POWER(visits, 0.5) = 1": "FLOAT",
        "SELECT COUNT(*) FROM stays WHERE ISNULL(visits, 0.5) = 1": "COALESCE",
        "SELECT COUNT(*) FROM stays WHERE CONVERT(VARCHAR(10), day, 120) = 'x'": "STYLE|supported",
        "SELECT COUNT(*) FROM stays WHERE ROUND(price, 0, 1) = 1": "no third",
        "SELECT COUNT(*) FROM stays WHERE CAST(visits AS VARCHAR(3)) = '1'": "another way",
        "SELECT COUNT(*) FROM stays WHERE CAST(price AS VARCHAR) = '1'": "another way",
        "SELECT AVG(COUNT(*)) OVER () FROM stays GROUP BY city": "is cut",
        "SELECT SUM(visits) / COUNT(*) FROM stays": r"1\.0 \* a / b",
        "SELECT COUNT(*) FROM stays WHERE visits ^ 2 = 1": "POWER",
        "SELECT COUNT(*) FROM stays CROSS APPLY (SELECT 1 AS x) AS y": "supported",
        "SELECT @x = COUNT(*) FROM stays": "supported",
        "SELECT COUNT(*) INTO copy FROM stays": "supported",
        "SELECT COUNT(*) FROM stays; DROP TABLE stays": "exactly one",
        "EXEC xp_cmdshell 'dir'": "valid|supported",
    },
}


@pytest.mark.parametrize(
    ("dialect", "query"), [(name, text) for name, texts in REFUSED.items() for text in texts], ids=lambda t: t[:90]
)
def test_what_means_something_else_is_refused_with_what_to_write(dialect: str, query: str, session: Session) -> None:
    spent = session.spent
    with pytest.raises(QueryError, match=REFUSED[dialect][query]) as caught:
        session.sql(query, dp.pure(1), dialect=dialect)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    assert session.spent == spent


@pytest.mark.parametrize(
    ("dialect", "word"),
    [("bigquery", "EXCEPT DISTINCT"), ("tsql", "UNION"), ("spark", "UNION ALL"), ("snowflake", "INTERSECT")],
)
def test_operations_on_answers_are_read(dialect: str, word: str, session: Session, policy: Policy) -> None:
    sides = [f"SELECT city, COUNT(*) AS n FROM stays WHERE visits > {least} GROUP BY city" for least in (1, 2)]
    here = word.replace(" DISTINCT", "")
    one = session.plan(f"{sides[0]} {word} {sides[1]}", dp.pure(1), dialect=dialect)
    assert one.hash(policy) == session.plan(f"{sides[0]} {here} {sides[1]}", dp.pure(1)).hash(policy)


def test_types_that_nobody_declared_decide_nothing() -> None:
    """Without a policy, or where two columns of one name differ, what depends on types is refused."""
    for dialect in ("postgres", "tsql"):
        with pytest.raises(QueryError, match="declare the types"):
            transpile("SELECT COUNT(*) FROM t WHERE a / b > 1", dialect)
    with pytest.raises(QueryError, match="not known"):
        transpile("SELECT COUNT(*) FROM t WHERE CAST(a AS INT64) > 1", "bigquery")
    text = "SELECT COUNT(*) FROM (SELECT price AS visits FROM stays) AS v WHERE visits / 2 > 1"
    with pytest.raises(QueryError, match="declare the types"):
        transpile(text, "postgres", load_policy(visits_policy()))
    text = "SELECT COUNT(*) FROM (SELECT visits AS v FROM stays) AS w WHERE v / 2 > 1"
    assert "v // 2" in transpile(text, "postgres", load_policy(visits_policy()))


@pytest.mark.parametrize("dialect", RULES)
def test_every_function_of_a_table_is_one_here(dialect: str) -> None:
    """What a table says is the same here is known here, and so is what it writes."""
    rules = RULES[dialect]
    for form in (*rules.written, *rules.built, *rules.instead):
        assert form == form.upper(), form
    for form, text in rules.written.items():
        count = int(form.partition("/")[2])
        assert all(f"${i}" in text for i in range(1, count + 1)), form
        duckdb.extract_statements(f"SELECT {text}")
    assert not {form.partition("/")[0] for form in rules.instead} & {
        form.partition("/")[0] for form in (*rules.written, *rules.built) if "/" not in form
    }


@pytest.mark.parametrize("dialect", RULES)
def test_text_that_is_no_query_is_refused_in_words(dialect: str, policy: Policy) -> None:
    deep = "SELECT COUNT(*) FROM stays WHERE " + "(" * 150 + "1 = 1" + ")" * 150
    wide = "SELECT COUNT(*) FROM stays WHERE " + " OR ".join(f"age = {i}" for i in range(3000))
    for text in (
        "",
        ";",
        "SELECT",
        "SELECT FROM WHERE",
        "\ud800",
        "SELECT '",
        deep,
        wide,
        "SELECT 1 " * 9000,
        "((((" * 40,
    ):
        with pytest.raises(QueryError):
            make_plan(transpile(text, dialect, policy), policy)
