"""Tiny databases, and queries over them as mechanisms: what the mutants of SQL are audited with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import pyarrow as pa

from discreet.audit.sql._query import query
from discreet.privacy import Loss, pure
from mutants._mutant import Mutant, patched

__all__ = ["Row", "hidden", "kept", "of_bits", "sql_mutant"]

Row = Mapping[str, Any]
"""What is not said of a row is `_USUAL`."""

_USUAL: Row = {"u": 1, "x": 10, "z": 10, "y": 0.0, "k": "a", "q": "mine"}

_SCHEMA = {"u": pa.int64(), "x": pa.int64(), "z": pa.int64(), "y": pa.float64(), "k": pa.string(), "q": pa.string()}

_COLUMNS: dict[str, dict[str, Any]] = {
    "x": {"type": "int", "bounds": [0, 10]},
    "z": {"type": "int", "bounds": [-10, 10]},
    "y": {"type": "float", "bounds": [-5, 10]},
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
}


def _table(rows: Iterable[Row], stored: Mapping[str, pa.DataType]) -> dict[str, pa.Table]:
    schema = pa.schema({**_SCHEMA, **stored})
    return {"t": pa.Table.from_pylist([{**_USUAL, **row} for row in rows], schema=schema)}


def sql_mutant(
    name: str,
    why: str,
    *changes: tuple[Any, str, Any],
    text: str,
    pair: tuple[Sequence[Row], Sequence[Row]],
    true_epsilon: float | Callable[[], float],
    spend: Loss | None = None,
    relation: str = "add_remove",
    stored: Mapping[str, pa.DataType] | None = None,
    samples: int = 4_000,
    complete: int = 0,
    copies: int = 250,
    slow: bool = False,
    **table: Any,
) -> Mutant:
    """A mutant that is asked `text` of two lists of rows; its claim is the spend, (1, 0) if it is not said.

    `copies` must be 1 where the mistake makes numbers of one answer hang together; for it and `complete` see
    `discreet.audit.query`.
    """
    spend = pure(1) if spend is None else spend
    about = {"unit": "rows", **table, "columns": _COLUMNS}
    policy = {"version": "1", "relation": relation, "tables": {"t": about}}
    return Mutant(
        name,
        why,
        patched(*changes),
        lambda: query(text, policy, spend, complete=complete, copies=copies),
        tuple(_table(rows, stored or {}) for rows in pair),
        spend,
        true_epsilon,
        samples=samples,
        slow=slow,
    )


def hidden(shown: float, delta: float) -> float:
    """The ε at δ of an event that is seen with probability `shown` on one input and never on the other."""
    return math.inf if shown > delta else 0.0


def kept(units: int, epsilon: float, delta: float) -> float:
    """The chance that a key of so many units is shown: Desfontaines et al. 2022, Theorem 1."""
    chance = 0.0
    for _ in range(units):
        chance = min(math.exp(epsilon) * chance + delta, 1 - math.exp(-epsilon) * (1 - chance - delta), 1.0)
    return chance


def of_bits(chances: Sequence[float]) -> list[float]:
    """The law of independent bits, by the chance that each is 1: 2^n probabilities, in a fixed order."""
    return [
        math.prod(p if bit else 1 - p for p, bit in zip(chances, bits, strict=True))
        for bits in product((False, True), repeat=len(chances))
    ]
