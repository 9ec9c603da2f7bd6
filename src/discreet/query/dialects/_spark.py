"""Spark SQL, and Databricks."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    counted_from,
    days_added,
    formatted,
    moment,
    truncated,
)
from discreet.query.dialects._rules import Rules
from discreet.query.dialects._shared import CONCATENATIONS, MOMENTS, PIECES, REGRESSIONS, WEEKS

__all__ = ["SPARK"]

SPARK = Rules(
    "spark",
    "Spark",
    same=(
        "CEIL/1 CEILING/1 ROUND LN/1 LOG10/1 LOG2/1 LOG/2 POWER/2 POW/2 CBRT/1 SIGNUM/1 GREATEST LEAST "
        "IFNULL/2 NVL/2 NVL2/3 ISNULL/1 LENGTH/1 LEN/1 CHAR_LENGTH/1 CHARACTER_LENGTH/1 BIT_LENGTH/1 LCASE/1 "
        "UCASE/1 TRIM/1 LTRIM/1 RTRIM/1 BTRIM STARTSWITH/2 ENDSWITH/2 CONTAINS/2 MEAN/1 MEDIAN/1 COUNT_IF/1 "
        "PERCENTILE/2 PERCENTILE_APPROX/2 APPROX_PERCENTILE/2 PERCENTILE_CONT/1 PERCENTILE_DISC/1 "
        "APPROX_COUNT_DISTINCT/1 PI/0 YEAR/1 QUARTER/1 MONTH/1 DAY/1 DAYOFMONTH/1 DAYOFYEAR/1 WEEKOFYEAR/1 "
        f"HOUR/1 MINUTE/1 SECOND/1 MAKE_DATE/3 LAST_DAY/1 {MOMENTS} {REGRESSIONS}"
    ),
    written={
        "MOD/2": "$1 % $2",
        "OCTET_LENGTH/1": "STRLEN($1)",
        "LOG/1": "LN($1)",
        "ISNOTNULL/1": "NOT $1 IS NULL",
        "EQUAL_NULL/2": "$1 IS NOT DISTINCT FROM $2",
        "DAYOFWEEK/1": "DAYOFWEEK($1) + 1",
        "WEEKDAY/1": "ISODOW($1) - 1",
        "DATEDIFF/2": "DATE_DIFF('day', $2, $1)",
        "DATE_DIFF/2": "DATE_DIFF('day', $2, $1)",
    },
    built={
        **PIECES,
        **CONCATENATIONS,
        "POSITION/2": counted_from(0, 1),
        "INSTR/2": counted_from(0, 1),
        "LOCATE/2": counted_from(1, 0),
        "DATE/1": moment("DATE"),
        "TO_DATE/1": moment("DATE"),
        "DATE_TRUNC/2": truncated(0, 1, WEEKS),
        "DATE_ADD/2": days_added(1),
        "DATEADD/2": days_added(1),
        "DATE_SUB/2": days_added(-1),
        "DATE_FORMAT/2": formatted("java"),
    },
    instead={
        "BROUND": "halves go away from zero here; write ROUND",
        "TRUNC": "write DATE_TRUNC('MONTH', d)",
        "MONTHS_BETWEEN": "write DATEDIFF(a, b), in days",
        "ADD_MONTHS": "write d + INTERVAL 3 MONTH",
        "PMOD": "its sign is that of the divisor; write CASE WHEN a % b < 0 THEN a % b + b ELSE a % b END",
        "COLLECT_SET": "write GROUP BY x",
        "COLLECT_LIST": "write GROUP BY x",
    },
    parts={
        **{part: f"EXTRACT({part} FROM $1)" for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")},
        "DOY": "EXTRACT(DOY FROM $1)",
        "DAYOFWEEK": "EXTRACT(DOW FROM $1) + 1",
        "DOW": "EXTRACT(DOW FROM $1) + 1",
        "DAYOFWEEK_ISO": "EXTRACT(ISODOW FROM $1)",
        "DOW_ISO": "EXTRACT(ISODOW FROM $1)",
    },
    units=WEEKS,
    half="cut",
    escapes="texts",
    schema="default",
)
