"""Functions of rows: CASE and its kin, numbers, dates, strings, casts, and grouping by an expression."""

from __future__ import annotations

from suite.case import Case, case
from suite.features import Feature

__all__ = ["EXPRESSIONS"]


def _conditions(table: str, needs: Feature, *conditions: str) -> list[Case]:
    return [case(f"SELECT COUNT(*) FROM {table} WHERE {condition}", needs) for condition in conditions]


def _sums(table: str, needs: Feature, *arguments: str) -> list[Case]:
    return [case(f"SELECT SUM({argument}) AS s, COUNT(*) AS n FROM {table}", needs) for argument in arguments]


def _groups(table: str, *keys: str, needs: Feature, where: str = "TRUE") -> list[Case]:
    text = "SELECT {0} AS k, COUNT(*) AS n FROM {1} WHERE {2} GROUP BY {0}"
    return [case(text.format(key, table, where), "group expressions", needs) for key in keys]


EXPRESSIONS = (
    *_sums(
        "customers",
        "case",
        "CASE WHEN age < 30 THEN 1 WHEN age < 60 THEN 2 ELSE 3 END",
        "CASE WHEN vip THEN {age} END",
        "CASE WHEN city IN ('Graz', 'Wien') THEN {score} ELSE 0 END",
        "CASE city WHEN 'Graz' THEN 10 WHEN 'Wien' THEN 20 ELSE 30 END",
        "CASE WHEN age IS NULL THEN 1 ELSE 0 END",
        "COALESCE({score}, 5)",
        "COALESCE({score}, {age}, 0)",
        "IFNULL({age}, 50)",
        "NULLIF({age}, 40)",
        "IF(vip, 1, -1)",
    ),
    *_sums(
        "orders",
        "case",
        "GREATEST({price}, 100)",
        "LEAST({price}, {discount} + 10)",
        "{price} - COALESCE({discount}, 0)",
    ),
    *_conditions(
        "customers",
        "case",
        "COALESCE(age, 0) > 30",
        "CASE WHEN vip THEN age ELSE 0 END > 40",
        "NULLIF(city, 'Graz') IS NULL",
        "COALESCE(city, 'nowhere') = 'nowhere'",
        "IF(age > 50, city, 'Graz') = 'Graz'",
    ),
    *_conditions(
        "customers",
        "number functions",
        "ABS(age - 50) < 10",
        "age % 2 = 1",
        "MOD(age, 7) = 3",
        "ROUND(score) = 4",
        "FLOOR(score) = 4 AND CEIL(score) = 5",
        "[[age >= 0 AND ]]SQRT(age) > 6",
        "[[age > 0 AND ]]LN(age) > 4",
        "SIGN(score - 5) = -1",
        "POWER(score, 2) > 50",
        "EXP(score) < 100",
        "age IS DISTINCT FROM 40",
        "age IS NOT DISTINCT FROM NULL",
    ),
    *_sums(
        "customers",
        "number functions",
        "ABS({age} - 50)",
        "ROUND({score})",
        "ROUND({score}, 1)",
        "FLOOR({score} / 2)",
        "CEIL({age} / 10)",
        "SQRT({age})",
        "POWER({score}, 2)",
        "LN({age} + 1)",
        "{age} % 10",
        "GREATEST({score}, 2)",
    ),
    *_conditions(
        "customers",
        "date functions",
        "YEAR(joined) = 2022",
        "MONTH(joined) IN (1, 2)",
        "EXTRACT(YEAR FROM joined) > 2021",
        "DATE_PART('day', joined) = 1",
        "QUARTER(joined) = 2",
        "DAYOFYEAR(joined) > 300",
        "DATE_TRUNC('month', joined) = DATE '2022-03-01'",
        "joined + INTERVAL 1 YEAR > DATE '2023-06-01'",
        "joined - INTERVAL '10' DAY < DATE '2021-01-01'",
        "DATE_DIFF('day', joined, DATE '2024-02-29') > 500",
        "DATE_DIFF('month', joined, DATE '2024-02-29') > 10",
    ),
    *_conditions(
        "orders",
        "date functions",
        "HOUR(placed) BETWEEN 9 AND 17",
        "MINUTE(placed) = 30",
        "DAYOFWEEK(placed) = 0",
        "ISODOW(placed) = 7",
        "WEEK(placed) = 1",
        "DATE_TRUNC('hour', placed) = TIMESTAMP '2023-03-01 10:00:00'",
        "DATE_TRUNC('year', placed) = TIMESTAMP '2024-01-01 00:00:00'",
    ),
    *_conditions(
        "customers",
        "string functions",
        "LOWER(city) = 'graz'",
        "UPPER(\"Full Name\") = 'ANN LEE'",
        'LENGTH("Full Name") > 3',
        'LENGTH("Full Name") = 5',
        "SUBSTRING(city, 2, 2) = 'ra'",
        "LEFT(city, 1) = 'W' OR RIGHT(city, 1) = 'z'",
        "TRIM(\"Full Name\") = ''",
        "city || '!' = 'Graz!'",
        "CONCAT(city, '-', \"Full Name\") = 'Graz-bob'",
        "CONCAT(city, 'x') = 'x'",
        "STARTS_WITH(city, 'G')",
        "CONTAINS(city, 'in')",
        "ENDS_WITH(city, 's')",
        "REPLACE(city, 'a', 'o') = 'Groz'",
        "STRPOS(city, 'r') = 2",
        "city ILIKE 'GRAZ'",
        "REVERSE(city) = 'zarG'",
    ),
    *_conditions(
        "customers",
        "casts",
        "CAST(age AS VARCHAR) = '40'",
        'TRY_CAST("Full Name" AS INTEGER) IS NULL',
        "CAST(joined AS TIMESTAMP) > TIMESTAMP '2022-01-01 00:00:00'",
        "CAST(vip AS INTEGER) = 1",
    ),
    *_groups("customers", "LOWER(city)", needs="string functions", where="city IN ('Bern', 'Graz', 'Linz', 'Wien')"),
    *_groups("customers", "LEFT(city, 1)", needs="string functions", where="city IN ('Bern', 'Graz', 'Linz', 'Wien')"),
    *_groups("orders", "HOUR(placed)", "MONTH(placed)", "YEAR(placed)", needs="date functions"),
    *_groups("customers", "YEAR(joined)", needs="date functions"),
    *_groups("customers", "{age} // 25", "FLOOR({score} / 4)", "LEAST({age}, 3) = 3", needs="number functions"),
    *_groups("visits", "DAYOFWEEK(day)", "DATE_TRUNC('week', day)", needs="date functions", where="day < '2024-03-05'"),
    *_groups(
        "customers",
        "CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END",
        "CASE WHEN vip THEN 'vip' ELSE 'guest' END",
        "COALESCE(vip, FALSE)",
        "age >= 50",
        needs="case",
        where="age IS NOT NULL",
    ),
    case(
        "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS band, AVG({score}) AS s FROM customers GROUP BY band",
        "group expressions",
        "case",
    ),
    case(
        "SELECT CASE WHEN price < 10 THEN 0 WHEN price < 100 THEN 1 ELSE 2 END, COUNT(*) FROM orders GROUP BY 1",
        "group expressions",
        "case",
    ),
)
