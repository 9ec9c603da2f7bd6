"""Deliberately broken mechanisms, each the real code with one mistake: what the auditor must catch.

`MUTANTS` are those of `discreet.noise`, `discreet.mechanisms` and `discreet.learn`; those of queries, sessions and
ledgers are in `sql` and `ledger`. ``cd tests/audit && python -m mutants`` lists them all.
"""

from __future__ import annotations

from mutants import (
    additive,
    correlated,
    frameworks,
    gaussian,
    ledger,
    noise,
    sampling,
    selection,
    sql,
    streams,
    thresholds,
)
from mutants._mutant import Mutant, Patches, patched

__all__ = ["MUTANTS", "Mutant", "Patches", "ledger", "patched", "rows", "sql"]

MUTANTS: tuple[Mutant, ...] = tuple(
    mutant
    for family in (additive, gaussian, noise, selection, streams, thresholds, frameworks, sampling, correlated)
    for mutant in family.MUTANTS
)


def rows(mutants: tuple[Mutant, ...] = MUTANTS) -> list[tuple[str, float, float, str]]:
    """For each its name, the ε that it claims at the δ of its audit, the true one, and how it is seen."""
    return [(each.name, each.claimed, each.epsilon, each.seen_by) for each in mutants]
