"""Snowflake, with the parameters that an account has unless somebody sets others."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    added,
    concatenated,
    counted_from,
    difference,
    formatted,
    greatest,
    moment,
    replaced,
    sided,
    substring,
    truncated,
)
from discreet.query.dialects._rules import Rules

__all__ = ["SNOWFLAKE"]

_SPANS = {unit: unit.lower() for unit in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")}
_UNITS = _SPANS | {"WEEK": "week"}
_INTERVALS = _SPANS | {"WEEK": "week"}
SNOWFLAKE = Rules(
    "snowflake",
    "Snowflake",
    same=(
        "CEIL/1 ROUND TRUNC/1 TRUNCATE/1 LN/1 LOG/2 POWER/2 POW/2 CBRT/1 SQUARE/1 WIDTH_BUCKET/4 IFNULL/2 NVL/2 "
        "NVL2/3 ZEROIFNULL/1 NULLIFZERO/1 LENGTH/1 LEN/1 BIT_LENGTH/1 TRIM LTRIM RTRIM STARTSWITH/2 "
        "ENDSWITH/2 CONTAINS/2 STDDEV/1 STDDEV_SAMP/1 STDDEV_POP/1 VARIANCE/1 VARIANCE_SAMP/1 VAR_SAMP/1 VAR_POP/1 "
        "VARIANCE_POP/1 CORR/2 COVAR_POP/2 COVAR_SAMP/2 REGR_COUNT/2 REGR_AVGX/2 REGR_AVGY/2 REGR_SXX/2 REGR_SYY/2 "
        "REGR_SXY/2 REGR_SLOPE/2 REGR_INTERCEPT/2 REGR_R2/2 MEDIAN/1 COUNT_IF/1 PERCENTILE_CONT/1 PERCENTILE_DISC/1 "
        "APPROX_PERCENTILE/2 APPROX_COUNT_DISTINCT/1 HLL/1 PI/0 YEAR/1 QUARTER/1 MONTH/1 DAY/1 DAYOFMONTH/1 "
        "DAYOFYEAR/1 DAYOFWEEK/1 WEEK/1 WEEKOFYEAR/1 HOUR/1 MINUTE/1 SECOND/1 GREATEST_IGNORE_NULLS "
        "LEAST_IGNORE_NULLS"
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
        "LAST_DAY/1": "CAST(DATE_TRUNC('month', $1) + INTERVAL 1 MONTH - INTERVAL 1 DAY AS DATE)",
    },
    built={
        "GREATEST/2": greatest("GREATEST"),
        "GREATEST/3": greatest("GREATEST"),
        "LEAST/2": greatest("LEAST"),
        "LEAST/3": greatest("LEAST"),
        "CONCAT/2": concatenated,
        "CONCAT/3": concatenated,
        "CONCAT/4": concatenated,
        "SUBSTRING/2": substring,
        "SUBSTRING/3": substring,
        "SUBSTR/2": substring,
        "SUBSTR/3": substring,
        "LEFT/2": sided("LEFT"),
        "RIGHT/2": sided("RIGHT"),
        "REPLACE/3": replaced,
        "POSITION/2": counted_from(0, 1),
        "CHARINDEX/2": counted_from(1, 0),
        "TO_DATE/1": moment("DATE"),
        "DATE/1": moment("DATE"),
        "TO_TIMESTAMP/1": moment("TIMESTAMP"),
        "DATE_TRUNC/2": truncated(0, 1, _UNITS),
        **{f"{name}/3": difference(0, 1, 2, _SPANS) for name in ("DATEDIFF", "TIMEDIFF", "TIMESTAMPDIFF")},
        **{f"{name}/3": added(0, 1, 2, _INTERVALS) for name in ("DATEADD", "TIMEADD", "TIMESTAMPADD")},
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
        **{
            part: f"EXTRACT({part} FROM $1)" for part in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
        },
        "WEEK": "EXTRACT(WEEK FROM $1)",
        "WEEKISO": "EXTRACT(WEEK FROM $1)",
        "DAYOFWEEK": "EXTRACT(DOW FROM $1)",
        "DOW": "EXTRACT(DOW FROM $1)",
        "DAYOFWEEKISO": "EXTRACT(ISODOW FROM $1)",
        "DAYOFWEEK_ISO": "EXTRACT(ISODOW FROM $1)",
        "DAYOFYEAR": "EXTRACT(DOY FROM $1)",
        "DOY": "EXTRACT(DOY FROM $1)",
    },
    units=_UNITS,
    half="away",
    subtracts_dates=True,
    escapes="texts",
    schema="public",
    distinguishes_case=True,
)
