"""Queries as people write them for other systems, and what plain DuckDB says in their place.

A question is for `dialect`; `plain` is the same in DuckDB's own SQL, by hand. Where `plain` is empty both are one text.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

__all__ = ["QUERIES", "SAME", "visits", "visits_policy"]

_CITIES = ("Bern", "Graz", "Linz", "Wien")
_NOTES = ("late", "paid in full", "Paid", "a b ", " x", "50%", "", None)


def visits() -> pa.Table:
    """Rows within the bounds of the policy, so that the bounded truth is what the server itself says."""
    dice = random.Random("dialects")
    rows: list[dict[str, Any]] = []
    for i in range(800):
        day = dt.date(2023, 1, 1) + dt.timedelta(days=dice.randrange(365))
        rows.append(
            {
                "city": dice.choice(_CITIES),
                "note": dice.choice(_NOTES),
                "age": None if i % 23 == 0 else dice.randrange(0, 100),
                "visits": dice.randrange(0, 12),
                "price": None if i % 29 == 0 else dice.randrange(0, 400) / 4,
                "vip": None if i % 31 == 0 else dice.random() < 0.4,
                "day": day,
                "seen": dt.datetime.combine(day, dt.time(dice.randrange(24), dice.randrange(60), dice.randrange(60))),
            }
        )
    return pa.Table.from_pylist(rows, _SCHEMA)


_SCHEMA = pa.schema(
    {
        "city": pa.string(),
        "note": pa.string(),
        "age": pa.int64(),
        "visits": pa.int64(),
        "price": pa.float64(),
        "vip": pa.bool_(),
        "day": pa.date32(),
        "seen": pa.timestamp("us"),
    }
)


def visits_policy() -> dict[str, Any]:
    """The public facts of the table ``stays``."""
    columns = {
        "city": {"type": "string", "keys": list(_CITIES), "nullable": False},
        "note": {"type": "string"},
        "age": {"type": "int", "bounds": [0, 99]},
        "visits": {"type": "int", "bounds": [0, 11], "nullable": False},
        "price": {"type": "float", "bounds": [0, 100]},
        "vip": {"type": "bool"},
        "day": {"type": "date", "bounds": ["2023-01-01", "2023-12-31"], "nullable": False},
        "seen": {"type": "timestamp", "nullable": False},
    }
    budget = {"epsilon": 10**14, "delta": 0.9}
    return {"version": "1", "budget": budget, "tables": {"stays": {"unit": "rows", "columns": columns}}}


_POSTGRES: Mapping[str, str] = {
    "SELECT city, COUNT(*) AS n FROM stays GROUP BY city ORDER BY n DESC": "",
    "SELECT COUNT(*) FROM stays WHERE age / 10 = 3": "SELECT COUNT(*) FROM stays WHERE age // 10 = 3",
    "SELECT age / 10 * 10 AS decade, COUNT(*) AS n FROM stays WHERE age IS NOT NULL GROUP BY 1 ORDER BY 1": (
        "SELECT age // 10 * 10 AS decade, COUNT(*) AS n FROM stays WHERE age IS NOT NULL GROUP BY 1 ORDER BY 1"
    ),
    "SELECT COUNT(*) FROM stays WHERE 7 / 2 = 3 AND 7 % 3 = 1 AND -7 / 2 = -3": "SELECT COUNT(*) FROM stays",
    "SELECT SUM(price) / COUNT(price) AS mean, 1.0 * SUM(visits) / COUNT(*) AS v FROM stays": "",
    "SELECT ROUND(AVG(price)::numeric, 2) AS p FROM stays": "SELECT AVG(price) FROM stays",
    "SELECT EXTRACT(DOW FROM day) AS w, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1": (
        "SELECT DAYOFWEEK(day) AS w, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1"
    ),
    "SELECT DATE_TRUNC('month', day)::date AS m, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1": "",
    "SELECT TO_CHAR(day, 'YYYY-MM') AS m, AVG(visits) AS v FROM stays GROUP BY 1 ORDER BY 1": (
        "SELECT STRFTIME(day, '%Y-%m') AS m, AVG(visits) AS v FROM stays GROUP BY 1 ORDER BY 1"
    ),
    "SELECT COUNT(*) FILTER (WHERE vip) AS v, COUNT(*) FILTER (WHERE NOT vip) AS other FROM stays": "",
    "SELECT COUNT(*) FROM stays WHERE price::int = 12": "SELECT COUNT(*) FROM stays WHERE round_even(price, 0) = 12",
    "SELECT COUNT(*) FROM stays WHERE ROUND(price::numeric) = 12": "SELECT COUNT(*) FROM stays WHERE ROUND(price) = 12",
    "SELECT COUNT(*) FROM stays WHERE day - DATE '2023-06-01' > 30": "",
    "SELECT COUNT(*) FROM stays WHERE (day - DATE '2023-01-01') / 7 = 5": (
        "SELECT COUNT(*) FROM stays WHERE (day - DATE '2023-01-01') // 7 = 5"
    ),
    "SELECT COUNT(*) FROM stays WHERE day >= DATE '2023-12-31' - INTERVAL '1 month'": "",
    "SELECT COUNT(*) FROM stays WHERE note ILIKE 'paid%' AND POSITION('full' IN note) > 0": "",
    "SELECT COUNT(*) FROM stays WHERE SUBSTRING(note FROM 1 FOR 4) = 'paid' OR note || 'x' = 'latex'": "",
    "SELECT COUNT(*) FROM stays WHERE GREATEST(age, 50) = 50 AND LOG(100) = 2": (
        "SELECT COUNT(*) FROM stays WHERE GREATEST(age, 50) = 50"
    ),
    "SELECT COUNT(*) FROM public.stays WHERE EXTRACT(YEAR FROM seen) / 10 > 202.2": (
        "SELECT COUNT(*) FROM stays WHERE YEAR(seen) / 10 > 202.2"
    ),
    "SELECT city, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM stays GROUP BY city": "",
    "WITH v AS (SELECT city, price FROM stays WHERE vip) SELECT city, AVG(price) AS p FROM v GROUP BY city": "",
    "SELECT CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS g, COUNT(*) AS n "
    "FROM stays GROUP BY g": "",
    "SELECT COUNT(*) FROM stays WHERE COALESCE(age, 0) BETWEEN 10 AND 20 AND city IN ('Graz', 'Wien')": "",
    "SELECT COUNT(DISTINCT visits) AS d, VAR_SAMP(price) AS s, CORR(price, visits) AS c FROM stays": "",
    "SELECT COUNT(*) FROM stays WHERE LENGTH(TRIM(note)) = 1 OR LEFT(note, 2) = 'la'": "",
    'SELECT "public"."stays"."city" AS "city", COUNT(*) AS "count" FROM "public"."stays" WHERE ("public"."stays"."age" '
    '> 30) GROUP BY "public"."stays"."city" ORDER BY "public"."stays"."city" ASC': (
        "SELECT city, COUNT(*) AS count FROM stays WHERE age > 30 GROUP BY city ORDER BY city"
    ),
    "SELECT COUNT(*) FROM stays WHERE seen >= timestamp with time zone '2023-03-01 01:30:00+01:30' AND seen < "
    "TO_TIMESTAMP('2023-04-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND day > "
    "TO_DATE('2023-03-02', 'YYYY-MM-DD')": (
        "SELECT COUNT(*) FROM stays WHERE day BETWEEN '2023-03-03' AND '2023-03-31'"
    ),
    "SELECT DATE_TRUNC('month', seen AT TIME ZONE 'UTC') AS m, COUNT(*) AS n FROM stays WHERE seen BETWEEN "
    "'2023-01-01T00:00:00Z' AND '2023-04-30T00:00:00+00:00' GROUP BY 1 ORDER BY 1": (
        "SELECT DATE_TRUNC('month', seen) AS m, COUNT(*) AS n FROM stays WHERE seen <= '2023-04-30' GROUP BY 1 "
        "ORDER BY 1"
    ),
}
_SPARK: Mapping[str, str] = {
    "SELECT city, count(*) AS n FROM stays GROUP BY city ORDER BY n DESC": "",
    "SELECT if(age > 40, 'old', 'young') AS g, count(1) AS n FROM stays GROUP BY 1": "",
    "SELECT dayofweek(day) AS w, count(*) AS n FROM stays GROUP BY dayofweek(day)": (
        "SELECT DAYOFWEEK(day) + 1 AS w, COUNT(*) AS n FROM stays GROUP BY ALL"
    ),
    "SELECT weekday(day) AS w, count(*) AS n FROM stays GROUP BY weekday(day)": (
        "SELECT ISODOW(day) - 1 AS w, COUNT(*) AS n FROM stays GROUP BY ALL"
    ),
    "SELECT count(*) FROM stays WHERE extract(DOW FROM day) = 1": "SELECT COUNT(*) FROM stays WHERE DAYOFWEEK(day) = 0",
    "SELECT count(*) FROM stays WHERE CAST(price AS INT) = 12": "SELECT COUNT(*) FROM stays WHERE TRUNC(price) = 12",
    "SELECT count(*) FROM stays WHERE CAST(price AS DECIMAL(10, 0)) = 13 OR ROUND(price) = 15": (
        "SELECT COUNT(*) FROM stays WHERE ROUND(price) IN (13, 15)"
    ),
    "SELECT count(*) FROM stays WHERE visits / 2 = 1.5": "SELECT COUNT(*) FROM stays WHERE visits = 3",
    "SELECT count(*) FROM stays WHERE visits DIV 2 = 1": "SELECT COUNT(*) FROM stays WHERE visits IN (2, 3)",
    "SELECT count(*) FROM stays WHERE concat(note, 'x') IS NULL": "SELECT COUNT(*) FROM stays WHERE note IS NULL",
    'SELECT count(*) FROM stays WHERE note <=> NULL OR note = "late"': (
        "SELECT COUNT(*) FROM stays WHERE note IS NULL OR note = 'late'"
    ),
    "SELECT date_format(day, 'yyyy-MM') AS m, sum(visits) AS v FROM stays GROUP BY 1 ORDER BY 1": (
        "SELECT STRFTIME(day, '%Y-%m') AS m, SUM(visits) AS v FROM stays GROUP BY 1 ORDER BY 1"
    ),
    "SELECT date_trunc('MONTH', seen) AS m, avg(price) AS p FROM stays WHERE seen >= '2023-01-01' AND "
    "seen < '2023-04-01' GROUP BY 1": "SELECT DATE_TRUNC('month', seen) AS m, AVG(price) AS p FROM stays "
    "WHERE seen < '2023-04-01' GROUP BY 1",
    "SELECT count_if(vip) AS v, avg(IF(vip, 1, 0)) AS share FROM stays": (
        "SELECT COUNT_IF(vip) AS v, AVG(CASE WHEN vip THEN 1 ELSE 0 END) AS share FROM stays"
    ),
    "SELECT count(*) FROM stays WHERE datediff(day, '2023-06-01') > 30": (
        "SELECT COUNT(*) FROM stays WHERE day - DATE '2023-06-01' > 30"
    ),
    "SELECT count(*) FROM stays WHERE date_add(day, 7) > '2023-12-31' AND last_day(day) = DATE '2023-12-31'": (
        "SELECT COUNT(*) FROM stays WHERE day > '2023-12-24'"
    ),
    "SELECT count(*) FROM stays WHERE log(visits + 1) > 1 AND log10(visits + 1) > 0.5": (
        "SELECT COUNT(*) FROM stays WHERE LN(visits + 1) > 1 AND LOG10(visits + 1) > 0.5"
    ),
    "SELECT count(*) FROM stays WHERE day >= to_date('2023-06-01') AND day < date('2023-06-11')": (
        "SELECT COUNT(*) FROM stays WHERE day BETWEEN '2023-06-01' AND '2023-06-10'"
    ),
    "SELECT count(*) FROM stays WHERE instr(note, 'full') > 0 AND startswith(note, 'paid')": (
        "SELECT COUNT(*) FROM stays WHERE note = 'paid in full'"
    ),
    "SELECT count(*) FROM stays WHERE greatest(age, 50) = 50 AND nvl(age, 7) = 7 AND length(note) = 0": (
        "SELECT COUNT(*) FROM stays WHERE COALESCE(age, 7) = 7 AND note = ''"
    ),
    "SELECT `city`, stddev(price) AS s, corr(price, visits) AS c FROM default.stays GROUP BY `city`": (
        "SELECT city, STDDEV(price) AS s, CORR(price, visits) AS c FROM stays GROUP BY city"
    ),
    "SELECT city, count(*) AS n FROM stays GROUP BY city WITH ROLLUP": (
        "SELECT city, COUNT(*) AS n FROM stays GROUP BY ROLLUP (city)"
    ),
}
_BIGQUERY: Mapping[str, str] = {
    "SELECT city, COUNT(*) AS n FROM `stays` GROUP BY city ORDER BY n DESC LIMIT 2": (
        "SELECT city, COUNT(*) AS n FROM stays GROUP BY city ORDER BY n DESC LIMIT 2"
    ),
    "SELECT COUNTIF(vip) AS v, SAFE_DIVIDE(SUM(price), COUNT(price)) AS p FROM stays": (
        "SELECT COUNT_IF(vip) AS v, AVG(price) AS p FROM stays"
    ),
    "SELECT DATE_TRUNC(day, MONTH) AS m, COUNT(*) AS n FROM stays GROUP BY m ORDER BY m": (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM stays GROUP BY m ORDER BY m"
    ),
    "SELECT DATE_TRUNC(day, ISOWEEK) AS w, COUNT(*) AS n FROM stays WHERE day < '2023-02-06' AND day >= '2023-01-02' "
    "GROUP BY 1": "SELECT DATE_TRUNC('week', day) AS w, COUNT(*) AS n FROM stays WHERE day < '2023-02-06' AND "
    "day >= '2023-01-02' GROUP BY 1",
    "SELECT EXTRACT(DAYOFWEEK FROM day) AS w, COUNT(*) AS n FROM stays GROUP BY w": (
        "SELECT DAYOFWEEK(day) + 1 AS w, COUNT(*) AS n FROM stays GROUP BY w"
    ),
    "SELECT COUNT(*) FROM stays WHERE CAST(price AS INT64) = 13": "SELECT COUNT(*) FROM stays WHERE ROUND(price) = 13",
    "SELECT COUNT(*) FROM stays WHERE visits / 2 = 1.5 AND DIV(visits, 2) = 1 AND MOD(visits, 2) = 1": (
        "SELECT COUNT(*) FROM stays WHERE visits = 3"
    ),
    "SELECT COUNT(*) FROM stays WHERE GREATEST(age, 50) = 50": "SELECT COUNT(*) FROM stays WHERE age <= 50",
    "SELECT AVG(LEAST(price, 50)) AS p FROM stays": (
        "SELECT AVG(LEAST(price, 50)) AS p FROM stays WHERE price IS NOT NULL"
    ),
    "SELECT FORMAT_DATE('%Y-%m', day) AS m, SUM(visits) AS v FROM stays GROUP BY m": (
        "SELECT STRFTIME(day, '%Y-%m') AS m, SUM(visits) AS v FROM stays GROUP BY m"
    ),
    'SELECT IF(age > 40, "old", "young") AS g, COUNT(*) AS n FROM stays GROUP BY g': (
        "SELECT CASE WHEN age > 40 THEN 'old' ELSE 'young' END AS g, COUNT(*) AS n FROM stays GROUP BY g"
    ),
    "SELECT COUNT(*) FROM stays WHERE DATE_DIFF(day, DATE '2023-06-01', DAY) > 30": (
        "SELECT COUNT(*) FROM stays WHERE day > '2023-07-01'"
    ),
    "SELECT COUNT(*) FROM stays WHERE day >= DATE_SUB(DATE '2023-12-31', INTERVAL 7 DAY)": (
        "SELECT COUNT(*) FROM stays WHERE day >= '2023-12-24'"
    ),
    "SELECT COUNT(*) FROM stays WHERE LOG(visits + 1) > 1 AND LOG(visits + 1, 2) > 2": (
        "SELECT COUNT(*) FROM stays WHERE LN(visits + 1) > 1 AND LOG2(visits + 1) > 2"
    ),
    "SELECT COUNT(*) FROM stays WHERE CONCAT(note, 'x') = 'latex' OR STARTS_WITH(note, 'paid')": (
        "SELECT COUNT(*) FROM stays WHERE note IN ('late', 'paid in full')"
    ),
    "SELECT COUNT(*) FROM stays WHERE seen >= TIMESTAMP('2023-06-01 12:00:00') AND day < DATE('2023-07-01')": (
        "SELECT COUNT(*) FROM stays WHERE seen >= TIMESTAMP '2023-06-01 12:00:00' AND day < '2023-07-01'"
    ),
    "SELECT COUNT(*) FROM stays WHERE REGEXP_CONTAINS(note, r'^p\\w+ in') OR REGEXP_EXTRACT(note, r'l(.)te') = 'a'": (
        "SELECT COUNT(*) FROM stays WHERE note IN ('paid in full', 'late')"
    ),
    "SELECT COUNT(*) FROM stays WHERE TRIM(note, ' ') = 'x' AND DATE(seen) > DATE(2023, 2, 1)": (
        "SELECT COUNT(*) FROM stays WHERE note = ' x' AND day > '2023-02-01'"
    ),
    "SELECT city, COUNT(*) AS n FROM stays WHERE vip IS TRUE GROUP BY city QUALIFY RANK() OVER (ORDER BY n DESC) = 1": (
        ""
    ),
    "SELECT SAFE_CAST(visits AS FLOAT64) > 5 AS busy, STDDEV_SAMP(price) AS s FROM stays GROUP BY busy": (
        "SELECT visits > 5 AS busy, STDDEV(price) AS s FROM stays GROUP BY busy"
    ),
}
_SNOWFLAKE: Mapping[str, str] = {
    "SELECT CITY, COUNT(*) AS N FROM STAYS GROUP BY CITY ORDER BY N DESC": (
        "SELECT city, COUNT(*) AS n FROM stays GROUP BY city ORDER BY n DESC"
    ),
    "SELECT IFF(age > 40, 'old', 'young') AS g, COUNT(*) AS n FROM stays GROUP BY g": (
        "SELECT CASE WHEN age > 40 THEN 'old' ELSE 'young' END AS g, COUNT(*) AS n FROM stays GROUP BY g"
    ),
    "SELECT DIV0(SUM(price), COUNT(price)) AS p, COUNT_IF(vip) AS v FROM stays": (
        "SELECT AVG(price) AS p, COUNT_IF(vip) AS v FROM stays"
    ),
    "SELECT SUM(ZEROIFNULL(age)) AS a, SUM(NVL(age, 5)) AS b, SUM(NVL2(age, 1, 2)) AS c FROM stays": (
        "SELECT SUM(COALESCE(age, 0)), SUM(COALESCE(age, 5)), SUM(CASE WHEN age IS NULL THEN 2 ELSE 1 END) FROM stays"
    ),
    "SELECT DATE_TRUNC('MONTH', day) AS m, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1": (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1"
    ),
    "SELECT COUNT(*) FROM stays WHERE DATEDIFF('day', '2023-06-01', day) > 30": (
        "SELECT COUNT(*) FROM stays WHERE day > '2023-07-01'"
    ),
    "SELECT COUNT(*) FROM stays WHERE DATEADD(month, 1, day) > '2023-12-31' AND DATEADD(day, -5, day) < '2023-12-10'": (
        "SELECT COUNT(*) FROM stays WHERE day BETWEEN '2023-12-01' AND '2023-12-14'"
    ),
    "SELECT COUNT(*) FROM stays WHERE price::int = 13": "SELECT COUNT(*) FROM stays WHERE ROUND(price) = 13",
    "SELECT COUNT(*) FROM stays WHERE price::number(10, 1) = 13.3": (
        "SELECT COUNT(*) FROM stays WHERE ROUND(price, 1) = 13.3"
    ),
    "SELECT COUNT(*) FROM stays WHERE DAYOFWEEK(day) = 0 OR DAYOFWEEKISO(day) = 6": (
        "SELECT COUNT(*) FROM stays WHERE ISODOW(day) IN (6, 7)"
    ),
    "SELECT COUNT(*) FROM stays WHERE LEAST(age, 50) = 50 AND EQUAL_NULL(note, NULL)": (
        "SELECT COUNT(*) FROM stays WHERE age >= 50 AND note IS NULL"
    ),
    "SELECT city, COUNT(*) AS n FROM stays GROUP BY city QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 2": "",
    "SELECT TO_CHAR(day, 'YYYY-MM') AS m, AVG(visits) AS v FROM stays GROUP BY m": (
        "SELECT STRFTIME(day, '%Y-%m') AS m, AVG(visits) AS v FROM stays GROUP BY m"
    ),
    "SELECT COUNT(*) FROM stays WHERE note ILIKE ANY ('paid%', 'late')": (
        "SELECT COUNT(*) FROM stays WHERE note ILIKE 'paid%' OR note = 'late'"
    ),
    "SELECT COUNT(*) FROM stays WHERE CHARINDEX('full', note) > 0 AND CONTAINS(note, 'in')": (
        "SELECT COUNT(*) FROM stays WHERE note = 'paid in full'"
    ),
    "SELECT COUNT(*) FROM stays WHERE day - '2023-06-01'::date > 30": (
        "SELECT COUNT(*) FROM stays WHERE day > '2023-07-01'"
    ),
}
_TSQL: Mapping[str, str] = {
    "SELECT TOP 2 [city], COUNT(*) AS n FROM [dbo].[stays] GROUP BY [city] ORDER BY n DESC": (
        "SELECT city, COUNT(*) AS n FROM stays GROUP BY city ORDER BY n DESC LIMIT 2"
    ),
    "SELECT city, n = COUNT_BIG(*) FROM stays WHERE vip = 1 GROUP BY city": (
        "SELECT city, COUNT(*) AS n FROM stays WHERE vip GROUP BY city"
    ),
    "SELECT COUNT(*) FROM stays WHERE vip <> 1 OR vip IS NULL": (
        "SELECT COUNT(*) FROM stays WHERE vip IS DISTINCT FROM TRUE"
    ),
    "SELECT COUNT(*) FROM stays WHERE visits / 2 = 1": "SELECT COUNT(*) FROM stays WHERE visits IN (2, 3)",
    "SELECT AVG(price) AS p, AVG(1.0 * visits) AS v FROM stays": "SELECT AVG(price) AS p, AVG(visits) AS v FROM stays",
    "SELECT COUNT(*) FROM stays WHERE LEN(note) = 3": "SELECT COUNT(*) FROM stays WHERE LENGTH(RTRIM(note)) = 3",
    "SELECT COUNT(*) FROM stays WHERE note + N'x' = N'latex'": "SELECT COUNT(*) FROM stays WHERE note = 'late'",
    "SELECT IIF(age > 40, 'old', 'young') AS g, SUM(visits) AS v FROM stays GROUP BY IIF(age > 40, 'old', 'young')": (
        "SELECT CASE WHEN age > 40 THEN 'old' ELSE 'young' END AS g, SUM(visits) AS v FROM stays GROUP BY g"
    ),
    "SELECT DATEPART(month, day) AS m, COUNT(*) AS n FROM stays GROUP BY DATEPART(month, day)": (
        "SELECT MONTH(day) AS m, COUNT(*) AS n FROM stays GROUP BY m"
    ),
    "SELECT COUNT(*) FROM stays WHERE DATEDIFF(day, '2023-06-01', day) > 30 AND DATEADD(day, 7, day) > '2023-12-31'": (
        "SELECT COUNT(*) FROM stays WHERE day > '2023-12-24'"
    ),
    "SELECT COUNT(*) FROM stays WHERE CONVERT(INT, price) = 12": "SELECT COUNT(*) FROM stays WHERE TRUNC(price) = 12",
    "SELECT COUNT(*) FROM stays WHERE TRY_CAST(price AS DECIMAL(9, 0)) = 13": (
        "SELECT COUNT(*) FROM stays WHERE ROUND(price) = 13"
    ),
    "SELECT SUM(ISNULL(age, 0)) AS a, STDEV(price) AS s FROM stays": (
        "SELECT SUM(COALESCE(age, 0)) AS a, STDDEV(price) AS s FROM stays"
    ),
    "SELECT city, COUNT(*) AS n FROM stays GROUP BY city ORDER BY n DESC OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY": "",
    "SELECT COUNT(*) FROM stays WHERE CHARINDEX('full', note) > 0 AND LOG(visits + 1) > 1": (
        "SELECT COUNT(*) FROM stays WHERE note = 'paid in full' AND LN(visits + 1) > 1"
    ),
    "SELECT FORMAT(day, 'yyyy-MM') AS m, COUNT(*) AS n FROM stays GROUP BY FORMAT(day, 'yyyy-MM')": (
        "SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) AS n FROM stays GROUP BY m"
    ),
}
QUERIES: Mapping[str, Mapping[str, str]] = {
    "postgres": _POSTGRES,
    "spark": _SPARK,
    "bigquery": _BIGQUERY,
    "snowflake": _SNOWFLAKE,
    "tsql": _TSQL,
}

SAME: tuple[Mapping[str, str], ...] = (
    {
        "duckdb": "SELECT city, COUNT(*) AS n FROM stays WHERE age > 30 GROUP BY city ORDER BY n DESC LIMIT 2",
        "postgres": 'SELECT "city", COUNT(*) AS n FROM public.stays WHERE age > 30 GROUP BY 1 ORDER BY 2 DESC LIMIT 2',
        "spark": "SELECT `city`, count(1) AS n FROM stays WHERE age > 30 GROUP BY `city` ORDER BY n DESC LIMIT 2",
        "bigquery": "SELECT city, COUNT(*) AS n FROM `stays` WHERE age > 30 GROUP BY 1 ORDER BY n DESC LIMIT 2",
        "snowflake": "SELECT CITY, COUNT(*) AS n FROM STAYS WHERE AGE > 30 GROUP BY CITY ORDER BY N DESC LIMIT 2",
        "tsql": "SELECT TOP 2 [city], n = COUNT(*) FROM dbo.stays WHERE age > 30 GROUP BY [city] ORDER BY n DESC",
    },
    {
        "duckdb": "SELECT COUNT_IF(age >= 65) AS n, AVG(price) AS p FROM stays",
        "spark": "SELECT count_if(age >= 65) AS n, avg(price) AS p FROM stays",
        "bigquery": "SELECT COUNTIF(age >= 65) AS n, AVG(price) AS p FROM stays",
        "snowflake": "SELECT COUNT_IF(age >= 65) AS n, AVG(price) AS p FROM stays",
    },
    {
        "duckdb": "SELECT COUNT(*) FILTER (WHERE vip) AS n FROM stays WHERE age // 10 = 3 AND LN(visits + 1) > 1",
        "postgres": "SELECT COUNT(*) FILTER (WHERE vip) AS n FROM stays WHERE age / 10 = 3 AND LN(visits + 1) > 1",
        "spark": "SELECT count(*) FILTER (WHERE vip) AS n FROM stays WHERE age DIV 10 = 3 AND log(visits + 1) > 1",
    },
)
"""Texts that ask one question: their plans are one plan."""
