"""All mistakes in the way of a query, from its plan to its answer."""

from __future__ import annotations

from mutants import sql_bounding, sql_caps, sql_keys, sql_noise, sql_statistics

__all__ = ["MUTANTS"]

MUTANTS = (*sql_bounding.MUTANTS, *sql_caps.MUTANTS, *sql_keys.MUTANTS, *sql_noise.MUTANTS, *sql_statistics.MUTANTS)
