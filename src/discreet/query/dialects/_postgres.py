"""PostgreSQL."""

from __future__ import annotations

from discreet.query.dialects._builders import (
    counted_from,
    formatted,
    moment,
    read_moment,
    rounded_numeric,
    truncated,
)
from discreet.query.dialects._rules import Rules
from discreet.query.dialects._shared import MOMENTS, PIECES, REGRESSIONS, WEEKS

__all__ = ["POSTGRES"]

POSTGRES = Rules(
    "postgres",
    "PostgreSQL",
    same=(
        "CEIL/1 CEILING/1 TRUNC/1 LN/1 LOG/1 LOG/2 LOG10/1 POWER/2 POW/2 CBRT/1 WIDTH_BUCKET/4 GREATEST "
        "LEAST LENGTH/1 CHAR_LENGTH/1 CHARACTER_LENGTH/1 BIT_LENGTH/1 TRIM LTRIM RTRIM BTRIM CONCAT "
        f"STARTS_WITH/2 PERCENTILE_CONT/1 PERCENTILE_DISC/1 PI/0 MAKE_DATE/3 {MOMENTS} {REGRESSIONS}"
    ),
    written={"MOD/2": "$1 % $2", "OCTET_LENGTH/1": "STRLEN($1)", "DIV/2": "TRUNC($1 / $2)"},
    built={
        **PIECES,
        "ROUND/1": rounded_numeric,
        "ROUND/2": rounded_numeric,
        "POSITION/2": counted_from(0, 1),
        "STRPOS/2": counted_from(0, 1),
        "DATE/1": moment("DATE"),
        "DATE_TRUNC/2": truncated(0, 1, WEEKS),
        "TO_CHAR/2": formatted("sql"),
        "TO_DATE/2": read_moment("DATE"),
        "TO_TIMESTAMP/2": read_moment("TIMESTAMP"),
    },
    instead={
        "AGE": "write a - b of two dates, in days",
        "TO_TIMESTAMP": "write TIMESTAMP '2024-01-31 12:00:00'",
        "SPLIT_PART": "write SUBSTRING(s, STRPOS(s, 'x') + 1), or LEFT(s, n)",
    },
    parts={
        **{part: f"EXTRACT({part} FROM $1)" for part in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")},
        "DOW": "EXTRACT(DOW FROM $1)",
        "ISODOW": "EXTRACT(ISODOW FROM $1)",
        "DOY": "EXTRACT(DOY FROM $1)",
    },
    units=WEEKS,
    half="even",
    cuts_quotients=True,
    widens_sums=True,
    subtracts_dates=True,
    escapes="patterns",
    schema="public",
    distinguishes_case=True,
)
