"""GoogleSQL, the dialect of BigQuery."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    counted_from,
    difference,
    extracted,
    formatted,
    moment,
    shifted,
    truncated,
)
from discreet.query.dialects._rules import Rules
from discreet.query.dialects._shared import ANY_NULL, CONCATENATIONS, MOMENTS, PIECES, SPANS, fields

__all__ = ["BIGQUERY"]

_UNITS = {
    **SPANS,
    "ISOWEEK": "week",
    "WEEK(MONDAY)": "week",
}
BIGQUERY = Rules(
    "bigquery",
    "BigQuery",
    same=(
        "CEIL/1 CEILING/1 ROUND TRUNC/1 LN/1 LOG10/1 POWER/2 POW/2 CBRT/1 IFNULL/2 LENGTH/1 CHAR_LENGTH/1 "
        "CHARACTER_LENGTH/1 TRIM/2 LTRIM/2 RTRIM/2 STARTS_WITH/2 ENDS_WITH/2 APPROX_COUNT_DISTINCT/1 "
        f"COUNT_IF/1 LAST_DAY/1 {MOMENTS}"
    ),
    written={
        "MOD/2": "$1 % $2",
        "OCTET_LENGTH/1": "STRLEN($1)",
        "BYTE_LENGTH/1": "STRLEN($1)",
        "COUNTIF/1": "COUNT_IF($1)",
        "REGEXP_CONTAINS/2": "REGEXP_MATCHES($1, $2)",
        "SAFE_DIVIDE/2": "$1 / $2",
        "DIV/2": "TRUNC($1 / $2)",
        "LOG/1": "LN($1)",
        "LOG/2": "LOG($2, $1)",
        "DATE/3": "MAKE_DATE($1, $2, $3)",
    },
    built={
        **PIECES,
        **CONCATENATIONS,
        **ANY_NULL,
        "REGEXP_EXTRACT/2": extracted,
        "STRPOS/2": counted_from(0, 1),
        "INSTR/2": counted_from(0, 1),
        "DATE/1": moment("DATE"),
        "DATETIME/1": moment("TIMESTAMP"),
        "TIMESTAMP/1": moment("TIMESTAMP"),
        **{f"{name}/2": truncated(1, 0, _UNITS) for name in ("DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC")},
        **{f"{name}/3": difference(2, 1, 0, SPANS) for name in ("DATE_DIFF", "DATETIME_DIFF")},
        **{f"{name}_ADD/2": shifted(1) for name in ("DATE", "DATETIME", "TIMESTAMP")},
        **{f"{name}_SUB/2": shifted(-1) for name in ("DATE", "DATETIME", "TIMESTAMP")},
        **{f"FORMAT_{name}/2": formatted("c", 1, 0) for name in ("DATE", "DATETIME", "TIMESTAMP")},
    },
    instead={
        "APPROX_QUANTILES": "write QUANTILE_CONT(x, 0.5) for the median, or another share",
        "PERCENTILE_CONT": "write QUANTILE_CONT(x, 0.5), without OVER",
        "PERCENTILE_DISC": "write QUANTILE_CONT(x, 0.5), without OVER",
        "TIMESTAMP_DIFF": "it counts whole spans that are over; write DATETIME_DIFF(a, b, part), which counts changes",
        "CONTAINS_SUBSTR": "write STRPOS(LOWER(s), 'x') > 0",
        "APPROX_TOP_COUNT": "write GROUP BY x ORDER BY COUNT(*) DESC LIMIT k",
        "PARSE_DATE": "write DATE '2024-01-31'",
        "TRIM": "it removes all white space there; write TRIM(s, ' ')",
        "LTRIM": "it removes all white space there; write LTRIM(s, ' ')",
        "RTRIM": "it removes all white space there; write RTRIM(s, ' ')",
    },
    parts={
        **fields(SPANS),
        "DAYOFYEAR": "EXTRACT(DOY FROM $1)",
        "DAYOFWEEK": "EXTRACT(DOW FROM $1) + 1",
        "ISOWEEK": "EXTRACT(WEEK FROM $1)",
        "DATE": "CAST($1 AS DATE)",
    },
    units=_UNITS,
    half="away",
    escapes="texts",
    alias_hides_column=True,
)
