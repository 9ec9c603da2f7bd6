"""What several dialects have in common: functions, and parts of dates."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.query.dialects._builders import concatenated, greatest, replaced, sided, substring
from discreet.query.dialects._rules import Builder

__all__ = ["ANY_NULL", "CONCATENATIONS", "MOMENTS", "PIECES", "REGRESSIONS", "SPANS", "WEEKS", "fields"]

MOMENTS = "STDDEV/1 STDDEV_SAMP/1 STDDEV_POP/1 VARIANCE/1 VAR_SAMP/1 VAR_POP/1 CORR/2 COVAR_POP/2 COVAR_SAMP/2"
REGRESSIONS = (
    "REGR_COUNT/2 REGR_AVGX/2 REGR_AVGY/2 REGR_SXX/2 REGR_SYY/2 REGR_SXY/2 REGR_SLOPE/2 REGR_INTERCEPT/2 REGR_R2/2"
)
"""Statistics that mean the same."""

PIECES: Mapping[str, Builder] = {
    "SUBSTRING/2": substring,
    "SUBSTRING/3": substring,
    "SUBSTR/2": substring,
    "SUBSTR/3": substring,
    "LEFT/2": sided("LEFT"),
    "RIGHT/2": sided("RIGHT"),
    "REPLACE/3": replaced,
}
"""Pieces of texts."""

CONCATENATIONS: Mapping[str, Builder] = {f"CONCAT/{size}": concatenated for size in (2, 3, 4)}
"""CONCAT that is null where one argument is."""

ANY_NULL: Mapping[str, Builder] = {
    f"{name}/{size}": greatest(name) for name in ("GREATEST", "LEAST") for size in (2, 3)
}
"""GREATEST and LEAST that are null where one argument is."""

SPANS = {unit: unit.lower() for unit in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")}
"""Units of time whose boundaries all systems agree on."""

WEEKS = SPANS | {"WEEK": "week"}
"""Where a week is one, or begins on Monday, too."""


def fields(units: Mapping[str, str]) -> dict[str, str]:
    """Parts of a date that EXTRACT has here by the same name."""
    return {unit: f"EXTRACT({unit} FROM $1)" for unit in units}
