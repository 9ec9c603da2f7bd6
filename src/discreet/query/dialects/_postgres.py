"""PostgreSQL."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    counted_from,
    formatted,
    moment,
    replaced,
    rounded_numeric,
    sided,
    substring,
    truncated,
)
from discreet.query.dialects._rules import Rules

__all__ = ["POSTGRES"]

_UNITS = {unit: unit.lower() for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")}
POSTGRES = Rules(
    "postgres",
    "PostgreSQL",
    same=(
        "CEIL/1 CEILING/1 TRUNC/1 LN/1 LOG/1 LOG/2 LOG10/1 POWER/2 POW/2 CBRT/1 WIDTH_BUCKET/4 GREATEST LEAST "
        "LENGTH/1 CHAR_LENGTH/1 CHARACTER_LENGTH/1 BIT_LENGTH/1 TRIM LTRIM RTRIM BTRIM CONCAT "
        "STARTS_WITH/2 STDDEV/1 STDDEV_SAMP/1 STDDEV_POP/1 VARIANCE/1 VAR_SAMP/1 VAR_POP/1 CORR/2 COVAR_POP/2 "
        "COVAR_SAMP/2 REGR_COUNT/2 REGR_AVGX/2 REGR_AVGY/2 REGR_SXX/2 REGR_SYY/2 REGR_SXY/2 REGR_SLOPE/2 "
        "REGR_INTERCEPT/2 REGR_R2/2 PERCENTILE_CONT/1 PERCENTILE_DISC/1 PI/0 MAKE_DATE/3"
    ),
    written={"MOD/2": "$1 % $2", "OCTET_LENGTH/1": "STRLEN($1)", "DIV/2": "TRUNC($1 / $2)"},
    built={
        "ROUND/1": rounded_numeric,
        "ROUND/2": rounded_numeric,
        "SUBSTRING/2": substring,
        "SUBSTRING/3": substring,
        "SUBSTR/2": substring,
        "SUBSTR/3": substring,
        "LEFT/2": sided("LEFT"),
        "RIGHT/2": sided("RIGHT"),
        "REPLACE/3": replaced,
        "POSITION/2": counted_from(0, 1),
        "STRPOS/2": counted_from(0, 1),
        "DATE/1": moment("DATE"),
        "DATE_TRUNC/2": truncated(0, 1, _UNITS),
        "TO_CHAR/2": formatted("sql"),
    },
    instead={
        "AGE": "write a - b of two dates, in days",
        "TO_DATE": "write DATE '2024-01-31'",
        "TO_TIMESTAMP": "write TIMESTAMP '2024-01-31 12:00:00'",
        "SPLIT_PART": "write SUBSTRING(s, STRPOS(s, 'x') + 1), or LEFT(s, n)",
    },
    parts={
        **{part: f"EXTRACT({part} FROM $1)" for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")},
        "DOW": "EXTRACT(DOW FROM $1)",
        "ISODOW": "EXTRACT(ISODOW FROM $1)",
        "DOY": "EXTRACT(DOY FROM $1)",
    },
    units=_UNITS,
    half="even",
    cuts_quotients=True,
    widens_sums=True,
    subtracts_dates=True,
    escapes="patterns",
    schema="public",
    distinguishes_case=True,
)
