"""T-SQL, the dialect of SQL Server."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    added,
    counted_from,
    difference,
    first_arguments_kind,
    formatted,
    replaced,
    reset,
    sided,
    substring,
    truncated,
)
from discreet.query.dialects._rules import Rules
from discreet.query.dialects._shared import SPANS, WEEKS, fields

__all__ = ["TSQL"]

_FRACTIONS = ("decimal", "float", "fraction")
TSQL = Rules(
    "tsql",
    "T-SQL",
    same=(
        "CEILING/1 ROUND/2 LOG10/1 SQUARE/1 GREATEST LEAST COUNT_BIG TRIM/1 LTRIM/1 RTRIM/1 CONCAT STDEV/1 "
        "STDEVP/1 VAR/1 VARP/1 APPROX_COUNT_DISTINCT/1 PI/0 YEAR/1 MONTH/1 DAY/1 DATEFROMPARTS/3"
    ),
    written={
        "IIF/3": "CASE WHEN $1 THEN $2 ELSE $3 END",
        "LEN/1": "LENGTH(RTRIM($1))",
        "LOG/1": "LN($1)",
        "LOG/2": "LOG($2, $1)",
        "EOMONTH/1": "LAST_DAY($1)",
    },
    built={
        "AVG/1": first_arguments_kind("AVG", _FRACTIONS, "that of whole numbers is cut; write AVG(x * 1.0)"),
        "POWER/2": first_arguments_kind("POWER", ("float",), "its type is that of x; write POWER(CAST(x AS FLOAT), y)"),
        "ISNULL/2": reset,
        "SUBSTRING/3": substring,
        "LEFT/2": sided("LEFT"),
        "RIGHT/2": sided("RIGHT"),
        "REPLACE/3": replaced,
        "CHARINDEX/2": counted_from(1, 0),
        "DATETRUNC/2": truncated(0, 1, SPANS | {"ISO_WEEK": "week"}),
        "DATEDIFF/3": difference(0, 1, 2, SPANS),
        "DATEDIFF_BIG/3": difference(0, 1, 2, SPANS),
        "DATEADD/3": added(0, 1, 2, WEEKS),
        "FORMAT/2": formatted("net"),
    },
    instead={
        "PERCENTILE_CONT": "write QUANTILE_CONT(x, 0.5), without OVER",
        "PERCENTILE_DISC": "write QUANTILE_CONT(x, 0.5), without OVER",
        "ROUND": "write ROUND(x, 2), with the number of digits and no third argument",
        "GETDATE": "its value changes from run to run: write a constant",
        "SYSDATETIME": "its value changes from run to run: write a constant",
        "DATENAME": "write DATEPART",
        "DATALENGTH": "write LEN",
        "STR": "write CAST(x AS VARCHAR)",
        "CHOOSE": "write CASE x WHEN 1 THEN …",
        "STRING_AGG": "write GROUP BY x",
    },
    parts={
        **fields(SPANS),
        "DAYOFYEAR": "EXTRACT(DOY FROM $1)",
        "ISO_WEEK": "EXTRACT(WEEK FROM $1)",
    },
    units=SPANS | {"ISO_WEEK": "week"},
    half="cut",
    cuts_quotients=True,
    schema="dbo",
    compares_bits=True,
)
