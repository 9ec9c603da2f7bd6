"""Snowflake, with the parameters that an account has unless somebody sets others."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    added,
    counted_from,
    difference,
    formatted,
    moment,
    truncated,
)
from discreet.query.dialects._rules import Rules
from discreet.query.dialects._shared import ANY_NULL, CONCATENATIONS, MOMENTS, PIECES, REGRESSIONS, SPANS, WEEKS, fields

__all__ = ["SNOWFLAKE"]

SNOWFLAKE = Rules(
    "snowflake",
    "Snowflake",
    same=(
        "CEIL/1 ROUND TRUNC/1 TRUNCATE/1 LN/1 LOG/2 POWER/2 POW/2 CBRT/1 SQUARE/1 WIDTH_BUCKET/4 IFNULL/2 "
        "NVL/2 NVL2/3 ZEROIFNULL/1 NULLIFZERO/1 LENGTH/1 LEN/1 BIT_LENGTH/1 TRIM LTRIM RTRIM STARTSWITH/2 "
        "ENDSWITH/2 CONTAINS/2 VARIANCE_SAMP/1 VARIANCE_POP/1 MEDIAN/1 COUNT_IF/1 PERCENTILE_CONT/1 "
        "PERCENTILE_DISC/1 APPROX_PERCENTILE/2 APPROX_COUNT_DISTINCT/1 HLL/1 PI/0 YEAR/1 QUARTER/1 MONTH/1 "
        "DAY/1 DAYOFMONTH/1 DAYOFYEAR/1 DAYOFWEEK/1 WEEK/1 WEEKOFYEAR/1 HOUR/1 MINUTE/1 SECOND/1 "
        f"GREATEST_IGNORE_NULLS LEAST_IGNORE_NULLS LAST_DAY/1 {MOMENTS} {REGRESSIONS}"
    ),
    written={
        "MOD/2": "$1 % $2",
        "OCTET_LENGTH/1": "STRLEN($1)",
        "IFF/3": "CASE WHEN $1 THEN $2 ELSE $3 END",
        "DIV0/2": "CASE WHEN $2 = 0 AND $1 IS NOT NULL THEN 0 ELSE $1 / $2 END",
        "EQUAL_NULL/2": "$1 IS NOT DISTINCT FROM $2",
        "DAYOFWEEKISO/1": "ISODOW($1)",
        "WEEKISO/1": "WEEK($1)",
        "DATE_FROM_PARTS/3": "MAKE_DATE($1, $2, $3)",
    },
    built={
        **PIECES,
        **CONCATENATIONS,
        **ANY_NULL,
        "POSITION/2": counted_from(0, 1),
        "CHARINDEX/2": counted_from(1, 0),
        "TO_DATE/1": moment("DATE"),
        "DATE/1": moment("DATE"),
        "TO_TIMESTAMP/1": moment("TIMESTAMP"),
        "DATE_TRUNC/2": truncated(0, 1, WEEKS),
        **{f"{name}/3": difference(0, 1, 2, SPANS) for name in ("DATEDIFF", "TIMEDIFF", "TIMESTAMPDIFF")},
        **{f"{name}/3": added(0, 1, 2, WEEKS) for name in ("DATEADD", "TIMEADD", "TIMESTAMPADD")},
        "TO_CHAR/2": formatted("sql"),
        "TO_VARCHAR/2": formatted("sql"),
    },
    instead={
        "ADD_MONTHS": "it keeps the last day of a month the last one; write DATEADD(month, 3, d)",
        "MONTHNAME": "write MONTH(d)",
        "DAYNAME": "write DAYOFWEEKISO(d)",
        "TRY_TO_NUMBER": "write TRY_CAST(s AS DOUBLE)",
        "TO_NUMBER": "write CAST(s AS DOUBLE)",
        "SPLIT_PART": "write SUBSTR(s, POSITION('x', s) + 1), or LEFT(s, n)",
        "DIV0NULL": "write DIV0(a, COALESCE(b, 0))",
        "REGEXP_COUNT": "write CONTAINS(s, 'x')",
    },
    parts={
        **fields(SPANS),
        "WEEK": "EXTRACT(WEEK FROM $1)",
        "WEEKISO": "EXTRACT(WEEK FROM $1)",
        "DAYOFWEEK": "EXTRACT(DOW FROM $1)",
        "DOW": "EXTRACT(DOW FROM $1)",
        "DAYOFWEEKISO": "EXTRACT(ISODOW FROM $1)",
        "DAYOFWEEK_ISO": "EXTRACT(ISODOW FROM $1)",
        "DAYOFYEAR": "EXTRACT(DOY FROM $1)",
        "DOY": "EXTRACT(DOY FROM $1)",
    },
    units=WEEKS,
    half="away",
    subtracts_dates=True,
    escapes="texts",
    schema="public",
    distinguishes_case=True,
)
