"""The queries that dashboards write for PostgreSQL: each is planned, as the question that a person would write here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

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

SUPERSET = {
    "SELECT city AS city, COUNT(*) AS count \nFROM public.patients GROUP BY city ORDER BY count DESC \n LIMIT 10000": (
        "SELECT city, COUNT(*) AS count FROM patients GROUP BY city ORDER BY count DESC LIMIT 10000"
    ),
    "SELECT DATE_TRUNC('month', day) AS day, SUM(price) AS \"SUM(price)\" \nFROM public.visits \nWHERE day >= "
    "TO_DATE('2024-01-01', 'YYYY-MM-DD') AND day < TO_DATE('2025-01-01', 'YYYY-MM-DD') GROUP BY "
    "DATE_TRUNC('month', day) ORDER BY \"SUM(price)\" DESC \n LIMIT 10000": (
        "SELECT DATE_TRUNC('month', day) AS day, SUM(price) AS \"SUM(price)\" FROM visits WHERE day >= '2024-01-01' "
        "AND day < '2025-01-01' GROUP BY DATE_TRUNC('month', day) ORDER BY \"SUM(price)\" DESC LIMIT 10000"
    ),
    "SELECT DATE_TRUNC('day', seen_at) AS seen_at, AVG(pain) AS \"AVG(pain)\" \nFROM public.visits \nWHERE seen_at >= "
    "TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND seen_at < "
    "TO_TIMESTAMP('2024-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', seen_at)"
    "\n LIMIT 50000": (
        "SELECT DATE_TRUNC('day', seen_at) AS seen_at, AVG(pain) AS \"AVG(pain)\" FROM visits WHERE seen_at >= "
        "TIMESTAMP '2024-01-01 00:00:00' AND seen_at < TIMESTAMP '2024-02-01 00:00:00' "
        "GROUP BY DATE_TRUNC('day', seen_at) LIMIT 50000"
    ),
    "SELECT city AS city, COUNT(*) AS count \nFROM (SELECT city, age FROM public.patients WHERE age > 30\n) AS "
    "virtual_table GROUP BY city ORDER BY count DESC \n LIMIT 1000": (
        "SELECT city, COUNT(*) AS count FROM (SELECT city, age FROM patients WHERE age > 30) GROUP BY city "
        "ORDER BY count DESC LIMIT 1000"
    ),
    "SELECT smoker AS smoker, count(*) AS count \nFROM (SELECT * FROM public.patients\n) AS virtual_table "
    "GROUP BY smoker ORDER BY count DESC \n LIMIT 1000": (
        "SELECT smoker, COUNT(*) AS count FROM patients GROUP BY smoker ORDER BY count DESC LIMIT 1000"
    ),
    "SELECT SUM(price) AS \"SUM(price)\" \nFROM public.visits \nWHERE ward IN ('A', 'B') \n LIMIT 50000": (
        "SELECT SUM(price) AS \"SUM(price)\" FROM visits WHERE ward IN ('A', 'B') LIMIT 50000"
    ),
}
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
SHAPES = {**SUPERSET, **METABASE, **TABLEAU, **GRAFANA, **IBIS}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(dict(POLICY))


@pytest.mark.parametrize("text", SHAPES)
def test_a_dashboards_query_is_the_question_that_a_person_would_write(text: str, policy: Policy) -> None:
    plan = make_plan(in_dialect(text, "postgres", policy), policy)
    wanted = make_plan(SHAPES[text], policy)
    assert [level.bounded for level in plan.levels] == [level.bounded for level in wanted.levels]


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
    assert len(SHAPES) >= 16
