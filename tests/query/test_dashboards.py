"""The queries that dashboards write for PostgreSQL: each is planned, as the question that a person would write here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from discreet.datasets import rand
from discreet.errors import QueryError
from discreet.policy import Policy, load_policy
from discreet.query import in_dialect, make_plan

POLICY: Mapping[str, Any] = {
    "version": "1",
    "tables": {
        "patients": {
            "unit": "patient_id",
            "max_rows": 1,
            "columns": {
                "city": {"type": "string", "keys": ["Bern", "Geneva", "Basel"]},
                "age": {"type": "int", "bounds": [0, 120]},
                "smoker": {"type": "bool"},
            },
        },
        "visits": {
            "unit": "patient_id -> patients.patient_id",
            "max_rows": 5,
            "columns": {
                "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                "seen_at": {"type": "timestamp"},
                "price": {"type": "decimal", "bounds": [0, 1000]},
                "pain": {"type": "float", "bounds": [0, 10]},
                "ward": {"type": "string", "keys": ["A", "B"]},
            },
        },
    },
}

CLAIMS: Mapping[str, Any] = {
    "unit": "person",
    "max_rows": 12,
    "columns": {
        "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"], "nullable": False},
        "amount": {"type": "float", "bounds": [0, 500], "nullable": False},
    },
}
SUPERSET = {
    "SELECT DISTINCT coinsurance AS column_values \nFROM public.visits \n LIMIT 10000": (
        "SELECT DISTINCT coinsurance AS column_values FROM visits LIMIT 10000"
    ),
    "SELECT\n  female,\n  COUNT(*) AS n\nFROM visits\nGROUP BY\n  female\nLIMIT 1001": (
        "SELECT female, COUNT(*) AS n FROM visits GROUP BY female LIMIT 1001"
    ),
    "SELECT\n  COUNT(*) AS count\nFROM public.visits\nLIMIT 10000": (
        "SELECT COUNT(*) AS count FROM visits LIMIT 10000"
    ),
    'SELECT\n  coinsurance AS coinsurance,\n  AVG(dollars) AS "AVG(dollars)"\nFROM public.visits\n'
    'WHERE\n  year IN (1, 2, 3)\nGROUP BY\n  coinsurance\nORDER BY\n  "AVG(dollars)" DESC\nLIMIT 10000': (
        'SELECT coinsurance, AVG(dollars) AS "AVG(dollars)" FROM visits WHERE year IN (1, 2, 3) GROUP '
        'BY coinsurance ORDER BY "AVG(dollars)" DESC LIMIT 10000'
    ),
    "SELECT\n  DATE_TRUNC('MONTH', day) AS day,\n  SUM(amount) AS \"SUM(amount)\"\nFROM public.claims\n"
    "WHERE\n  day >= TO_DATE('2024-01-01', 'YYYY-MM-DD')\n  AND day < TO_DATE('2025-01-01', "
    "'YYYY-MM-DD')\nGROUP BY\n  DATE_TRUNC('MONTH', day)\nORDER BY\n  \"SUM(amount)\" DESC\nLIMIT "
    "10000": (
        "SELECT DATE_TRUNC('month', day) AS day, SUM(amount) AS \"SUM(amount)\" FROM claims WHERE day "
        ">= '2024-01-01' AND day < '2025-01-01' GROUP BY DATE_TRUNC('month', day) ORDER BY "
        '"SUM(amount)" DESC LIMIT 10000'
    ),
    "SELECT\n  coinsurance AS coinsurance,\n  female AS female,\n  COUNT(*) AS count,\n  AVG(age) AS "
    '"AVG(age)",\n  SUM(doctor_visits) AS "SUM(doctor_visits)",\n  AVG(dollars) AS "AVG(dollars)"\nFROM '
    "public.visits\nWHERE\n  age >= 18\nGROUP BY\n  coinsurance,\n  female\nORDER BY\n  count DESC\n"
    "LIMIT 1000": (
        'SELECT coinsurance, female, COUNT(*) AS count, AVG(age) AS "AVG(age)", SUM(doctor_visits) AS '
        '"SUM(doctor_visits)", AVG(dollars) AS "AVG(dollars)" FROM visits WHERE age >= 18 GROUP BY '
        "coinsurance, female ORDER BY count DESC LIMIT 1000"
    ),
    "SELECT\n  female AS female,\n  COUNT(*) AS count\nFROM (\n  SELECT\n    coinsurance,\n    female,\n"
    "    dollars\n  FROM visits\n  WHERE\n    age >= 18\n) AS virtual_table\nGROUP BY\n  female\nORDER "
    "BY\n  count DESC\nLIMIT 100": (
        "SELECT female, COUNT(*) AS count FROM (SELECT coinsurance, female, dollars FROM visits WHERE "
        "age >= 18) GROUP BY female ORDER BY count DESC LIMIT 100"
    ),
    "SELECT\n  year AS year,\n  coinsurance AS coinsurance,\n  AVG(doctor_visits) AS "
    '"AVG(doctor_visits)"\nFROM public.visits\nGROUP BY\n  year,\n  coinsurance\nORDER BY\n  year ASC\n'
    "LIMIT 10000": (
        'SELECT year, coinsurance, AVG(doctor_visits) AS "AVG(doctor_visits)" FROM visits GROUP BY '
        "year, coinsurance ORDER BY year LIMIT 10000"
    ),
}
"""What Superset 6.1.0 sent, as `bench/superset.py` records it: a filter's values, SQL Lab, and six charts."""
SUPERSET_ALSO = {
    "SELECT DATE_TRUNC('day', seen_at) AS seen_at, AVG(pain) AS \"AVG(pain)\" \nFROM public.visits \nWHERE seen_at >= "
    "TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND seen_at < "
    "TO_TIMESTAMP('2024-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', seen_at)"
    "\n LIMIT 50000": (
        "SELECT DATE_TRUNC('day', seen_at) AS seen_at, AVG(pain) AS \"AVG(pain)\" FROM visits WHERE seen_at >= "
        "TIMESTAMP '2024-01-01 00:00:00' AND seen_at < TIMESTAMP '2024-02-01 00:00:00' "
        "GROUP BY DATE_TRUNC('day', seen_at) LIMIT 50000"
    ),
    "SELECT smoker AS smoker, count(*) AS count \nFROM (SELECT * FROM public.patients\n) AS virtual_table "
    "GROUP BY smoker ORDER BY count DESC \n LIMIT 1000": (
        "SELECT smoker, COUNT(*) AS count FROM patients GROUP BY smoker ORDER BY count DESC LIMIT 1000"
    ),
}
"""Times, and all columns of a table, as Superset writes them of the tables above."""
SERIES_LIMIT = (
    "SELECT\n  year AS year,\n  coinsurance AS coinsurance,\n  COUNT(*) AS count\nFROM public.visits\nJOIN (\n"
    "  SELECT\n    coinsurance AS coinsurance__,\n    COUNT(*) AS mme_inner__\n  FROM public.visits\n  GROUP BY\n"
    "    coinsurance\n  ORDER BY\n    AVG(dollars) DESC\n  LIMIT 3\n) AS series_limit\n"
    "  ON coinsurance = coinsurance__\nGROUP BY\n  year,\n  coinsurance\nLIMIT 10000"
)
METABASE = {
    'SELECT COUNT(*) AS "count" FROM "public"."patients"': "SELECT COUNT(*) AS count FROM patients",
    'SELECT "public"."patients"."city" AS "city", COUNT(*) AS "count" FROM "public"."patients" GROUP BY '
    '"public"."patients"."city" ORDER BY "public"."patients"."city" ASC': (
        "SELECT city, COUNT(*) AS count FROM patients GROUP BY city ORDER BY city"
    ),
    'SELECT CAST(DATE_TRUNC(\'month\', "public"."visits"."day") AS date) AS "day", SUM("public"."visits"."price") AS '
    '"sum" FROM "public"."visits" WHERE ("public"."visits"."day" >= date \'2024-01-01\') AND ("public"."visits"."day" '
    '< date \'2024-07-01\') GROUP BY CAST(DATE_TRUNC(\'month\', "public"."visits"."day") AS date) ORDER BY '
    'CAST(DATE_TRUNC(\'month\', "public"."visits"."day") AS date) ASC': (
        "SELECT DATE_TRUNC('month', visits.day) AS day, SUM(price) AS sum FROM visits WHERE visits.day >= '2024-01-01' "
        "AND visits.day < '2024-07-01' GROUP BY DATE_TRUNC('month', visits.day) "
        "ORDER BY DATE_TRUNC('month', visits.day)"
    ),
    'SELECT AVG("public"."visits"."pain") AS "avg" FROM "public"."visits" WHERE ("public"."visits"."seen_at" >= '
    'timestamp with time zone \'2024-01-01 01:00:00.000+01:00\') AND ("public"."visits"."seen_at" < '
    "timestamp with time zone '2024-02-01 00:00:00.000Z')": (
        "SELECT AVG(pain) AS avg FROM visits WHERE seen_at >= TIMESTAMP '2024-01-01 00:00:00' "
        "AND seen_at < TIMESTAMP '2024-02-01 00:00:00'"
    ),
    'SELECT CAST(SUM(CASE WHEN "public"."patients"."smoker" = TRUE THEN 1 ELSE 0.0 END) AS DOUBLE PRECISION) / '
    'NULLIF(COUNT(*), 0) AS "share" FROM "public"."patients"': (
        "SELECT CAST(SUM(CASE WHEN smoker = TRUE THEN 1 ELSE 0.0 END) AS DOUBLE) / NULLIF(COUNT(*), 0) AS share "
        "FROM patients"
    ),
    'SELECT "source"."city" AS "city", COUNT(*) AS "count" FROM (SELECT "public"."patients"."patient_id" AS '
    '"patient_id", "public"."patients"."city" AS "city", "public"."patients"."age" AS "age" FROM "public"."patients") '
    'AS "source" WHERE "source"."age" > 30 GROUP BY "source"."city" ORDER BY "source"."city" ASC': (
        "SELECT city, COUNT(*) AS count FROM patients WHERE age > 30 GROUP BY city ORDER BY city"
    ),
    'SELECT FLOOR(("public"."patients"."age" / 10.0)) * 10.0 AS "age", COUNT(*) AS "count" FROM "public"."patients" '
    'GROUP BY FLOOR(("public"."patients"."age" / 10.0)) * 10.0 ORDER BY FLOOR(("public"."patients"."age" / 10.0)) * '
    "10.0 ASC": (
        "SELECT FLOOR(patients.age / 10.0) * 10.0 AS age, COUNT(*) AS count FROM patients "
        "GROUP BY FLOOR(patients.age / 10.0) * 10.0 ORDER BY FLOOR(patients.age / 10.0) * 10.0"
    ),
    'SELECT COUNT(DISTINCT "public"."patients"."city") AS "count" FROM "public"."patients"': (
        "SELECT COUNT(DISTINCT city) AS count FROM patients"
    ),
    'SELECT "Patients"."city" AS "Patients__city", AVG("public"."visits"."pain") AS "avg" FROM "public"."visits" LEFT '
    'JOIN "public"."patients" AS "Patients" ON "public"."visits"."patient_id" = "Patients"."patient_id" GROUP BY '
    '"Patients"."city" ORDER BY "Patients"."city" ASC': (
        'SELECT p.city AS "Patients__city", AVG(pain) AS avg FROM visits LEFT JOIN patients AS p '
        "ON visits.patient_id = p.patient_id GROUP BY p.city ORDER BY p.city"
    ),
}
TABLEAU = {
    'SELECT SUM(1) AS "cnt:patients:ok" FROM "public"."patients" "patients" HAVING (COUNT(1) > 0)': (
        'SELECT SUM(1) AS "cnt:patients:ok" FROM patients HAVING COUNT(1) > 0'
    ),
    'SELECT "patients"."city" AS "city", SUM(1) AS "sum:Number of Records:ok" FROM "public"."patients" "patients" '
    "GROUP BY 1": 'SELECT city, SUM(1) AS "sum:Number of Records:ok" FROM patients GROUP BY city',
    'SELECT AVG("visits"."pain") AS "avg:pain:ok", DATE_TRUNC( \'MONTH\', CAST("visits"."day" AS TIMESTAMP WITHOUT '
    'TIME ZONE) ) AS "tmn:day:ok" FROM "public"."visits" "visits" GROUP BY 2': (
        'SELECT AVG(pain) AS "avg:pain:ok", DATE_TRUNC(\'month\', CAST(day AS TIMESTAMP)) AS "tmn:day:ok" FROM visits '
        "GROUP BY 2"
    ),
    'SELECT CAST(EXTRACT(YEAR FROM "visits"."day") AS INTEGER) AS "yr:day:ok", SUM("visits"."price") AS '
    '"sum:price:ok" FROM "public"."visits" "visits" GROUP BY 1': (
        'SELECT CAST(EXTRACT(YEAR FROM day) AS INTEGER) AS "yr:day:ok", SUM(price) AS "sum:price:ok" FROM visits '
        "GROUP BY 1"
    ),
    'SELECT "Custom SQL Query"."city" AS "city", COUNT(1) AS "cnt:city:ok" FROM (SELECT city, age FROM patients WHERE '
    '1 = 1) "Custom SQL Query" GROUP BY 1': (
        'SELECT city, COUNT(1) AS "cnt:city:ok" FROM (SELECT city, age FROM patients WHERE 1 = 1) GROUP BY city'
    ),
}
GRAFANA = {
    'SELECT COUNT(city) AS "n", city FROM patients GROUP BY city LIMIT 50': (
        "SELECT COUNT(city) AS n, city FROM patients GROUP BY city LIMIT 50"
    ),
    "SELECT date_trunc('day', seen_at) AS \"time\", avg(pain) AS pain FROM visits WHERE seen_at BETWEEN "
    "'2024-01-01T00:00:00Z' AND '2024-02-01T00:00:00Z' GROUP BY 1 ORDER BY 1": (
        "SELECT DATE_TRUNC('day', seen_at) AS time, AVG(pain) AS pain FROM visits WHERE seen_at BETWEEN "
        "'2024-01-01 00:00:00' AND '2024-02-01 00:00:00' GROUP BY 1 ORDER BY 1"
    ),
    "SELECT CAST(COUNT(*) AS bigint) AS n, COUNT(*)::double precision AS d, SUM(price)::numeric(18,2) AS s "
    "FROM public.visits WHERE 1 = 1": (
        "SELECT COUNT(*) AS n, CAST(COUNT(*) AS DOUBLE) AS d, ROUND(CAST(SUM(price) AS DOUBLE), 2) AS s FROM visits "
        "WHERE 1 = 1"
    ),
    "SELECT DATE_TRUNC('month', seen_at AT TIME ZONE 'UTC') AS m, COUNT(*) AS n FROM visits WHERE seen_at >= "
    "'2024-01-01 00:00:00+00'::timestamptz AND seen_at < TIMESTAMPTZ '2024-06-01 02:00:00+02' GROUP BY 1": (
        "SELECT DATE_TRUNC('month', seen_at) AS m, COUNT(*) AS n FROM visits WHERE seen_at >= "
        "TIMESTAMP '2024-01-01 00:00:00' AND seen_at < TIMESTAMP '2024-06-01 00:00:00' GROUP BY 1"
    ),
}
IBIS = {
    'SELECT * FROM ( SELECT "t0"."city", COUNT(*) AS "n", AVG("t0"."age") AS "a" FROM "patients" AS "t0" GROUP BY 1 ) '
    'AS "t1" ORDER BY "t1"."n" DESC NULLS LAST LIMIT 10': (
        "SELECT city, COUNT(*) AS n, AVG(age) AS a FROM patients GROUP BY city ORDER BY n DESC LIMIT 10"
    ),
    'SELECT "t1"."smoker", COUNT(*) AS "n" FROM ( SELECT * FROM "patients" AS "t0" WHERE "t0"."age" > 30 ) AS "t1" '
    "GROUP BY 1": "SELECT smoker, COUNT(*) AS n FROM (SELECT * FROM patients WHERE age > 30) GROUP BY smoker",
    'SELECT "t0"."city", COUNT(*) AS "n" FROM "public"."patients" AS "t0" GROUP BY 1': (
        "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
    ),
    'SELECT AVG("t1"."pain") AS "Mean(pain)" FROM ( SELECT * FROM "visits" AS "t0" WHERE "t0"."seen_at" >= '
    "CAST('2024-01-01T00:00:00' AS TIMESTAMP) ) AS \"t1\"": (
        'SELECT AVG(pain) AS "Mean(pain)" FROM (SELECT * FROM visits WHERE seen_at >= '
        "TIMESTAMP '2024-01-01 00:00:00')"
    ),
    'SELECT "t4"."city", AVG("t4"."pain") AS "m" FROM ( SELECT "t2"."patient_id", "t2"."day", "t2"."pain", "t3"."city" '
    'FROM "visits" AS "t2" INNER JOIN "patients" AS "t3" ON "t2"."patient_id" = "t3"."patient_id" ) AS "t4" '
    "GROUP BY 1": (
        "SELECT p.city, AVG(v.pain) AS m FROM visits AS v JOIN patients AS p ON v.patient_id = p.patient_id GROUP BY 1"
    ),
}
SHAPES = {**SUPERSET_ALSO, **METABASE, **TABLEAU, **GRAFANA, **IBIS}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(dict(POLICY))


@pytest.fixture(scope="module")
def demo() -> Policy:
    """The demo's policy with the claims of `bench/superset.py`."""
    tables = tomllib.loads(rand.policy.read_text(encoding="utf-8"))["tables"]
    return load_policy({"version": "1", "tables": {**tables, "claims": CLAIMS}})


def check_plan(text: str, wanted: str, policy: Policy) -> None:
    plan, other = make_plan(in_dialect(text, "postgres", policy), policy), make_plan(wanted, policy)
    assert [level.bounded for level in plan.levels] == [level.bounded for level in other.levels]


@pytest.mark.parametrize("text", SHAPES)
def test_a_dashboards_query_is_the_question_that_a_person_would_write(text: str, policy: Policy) -> None:
    check_plan(text, SHAPES[text], policy)


@pytest.mark.parametrize("text", SUPERSET)
def test_what_superset_sent_is_the_question_that_a_person_would_write(text: str, demo: Policy) -> None:
    check_plan(text, SUPERSET[text], demo)


def test_the_largest_series_of_superset_are_refused(demo: Policy) -> None:
    with pytest.raises(QueryError, match="LIMIT in a sub-query"):
        make_plan(in_dialect(SERIES_LIMIT, "postgres", demo), demo)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM public.patients AS p WHERE public.patients.city = 'Bern'", "names a schema"),
        ("SELECT COUNT(*) FROM visits AS patients WHERE public.patients.ward = 'A'", "names a schema"),
        ("SELECT COUNT(*) FROM patients WHERE other.patients.city = 'Bern'", "names a schema"),
        ("SELECT COUNT(*) FROM visits WHERE seen_at AT TIME ZONE 'Europe/Zurich' > '2024-01-01'", "'UTC'"),
        ("SELECT COUNT(*) FROM visits WHERE day AT TIME ZONE 'UTC' > '2024-01-01'", "'UTC'"),
        ("SELECT COUNT(*) FROM visits WHERE seen_at > '2024-01-01 00:00:00+02'", "has a time zone"),
        ("SELECT COUNT(*) FROM visits WHERE seen_at > 'yesterday'::timestamptz", "differs"),
        ("SELECT COUNT(*) FROM visits WHERE seen_at > '2024-13-01 00:00:00Z'::timestamptz", "differs"),
        ("SELECT COUNT(*) FROM visits WHERE day > TO_DATE('01.02.2024', 'DD.MM.YYYY')", "in the format"),
        ("SELECT COUNT(*) FROM visits WHERE day > TO_DATE('2024-1-2', 'YYYY-MM-DD')", "in the format"),
        ("SELECT COUNT(*) FROM visits WHERE day > TO_DATE(ward, 'YYYY-MM-DD')", "in the format"),
        ('SELECT COUNT(*) FROM patients AS "P" JOIN visits AS p ON "P".patient_id = p.patient_id', "in one way"),
        ("SELECT floor(extract(epoch from seen_at)/86400)*86400 AS t, COUNT(*) FROM visits GROUP BY 1", "EPOCH"),
    ],
)
def test_what_means_something_else_there_is_refused(text: str, words: str, policy: Policy) -> None:
    with pytest.raises(QueryError, match=words):
        make_plan(in_dialect(text, "postgres", policy), policy)


def test_each_dashboard_has_queries() -> None:
    assert min(map(len, (SUPERSET, METABASE, TABLEAU, GRAFANA, IBIS))) >= 4
    assert len(SHAPES) + len(SUPERSET) >= 16
