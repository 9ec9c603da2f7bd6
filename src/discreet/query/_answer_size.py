"""How large the answer to a query may be. Its size is public where all keys are, so it is known before any row is."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import QueryError
from discreet.query._bounded import GroupKey, public_groups

__all__ = ["check_aggregates", "check_measures", "check_rows", "check_slopes"]

_MOST_ROWS = 100_000
_MOST_QUANTILES = 20_000
_MOST_SLOPES = 10_000_000
_MOST_AGGREGATES = 200
_MOST_PARTS = 50_000
_SEVERAL = "ask several queries, each with a part of the spend"


def check_rows(levels: Sequence[Sequence[GroupKey]], quantiles: int = 0) -> int:
    """How many rows the answer has: a row for each combination of public keys, over all grouping sets together.

    What private keys make is not public, and not among them. Each row has so many `quantiles`, which take a draw each.
    Raises `QueryError` for more than 100,000 rows, or 20,000 quantiles. Nothing is listed for it.
    """
    rows = sum(public_groups(keys) or 0 for keys in levels)
    if rows > _MOST_ROWS:
        sizes = {key.name: len(key.values) for keys in levels for key in keys if key.values is not None}
        listed = ", ".join(f"{name[:40]} {size:,}" for name, size in list(sizes.items())[:10])
        raise QueryError(
            f"the answer has {rows:,} rows, one for each combination of public keys, and an answer has at most "
            f"{_MOST_ROWS:,}; group by fewer keys or coarser ones. The keys have so many values: {listed}"
        )
    if rows * quantiles > _MOST_QUANTILES:
        raise QueryError(
            f"the answer has {rows * quantiles:,} quantiles in {rows:,} rows, and an answer has at most "
            f"{_MOST_QUANTILES:,}; group by fewer keys or coarser ones, or ask for fewer quantiles"
        )
    return rows


def check_aggregates(aggregates: int) -> None:
    """Raise `QueryError` for more than 200 different aggregates, before anything is worked out for each of them."""
    if aggregates > _MOST_AGGREGATES:
        raise QueryError(
            f"the query is too large: it has {aggregates:,} aggregates, and a query has at most {_MOST_AGGREGATES}; "
            f"{_SEVERAL}"
        )


def check_measures(aggregates: int, measures: int, levels: int) -> None:
    """Raise `QueryError` for more aggregates and measures of them than the spend can be shared among in a moment."""
    if aggregates * measures * levels > _MOST_PARTS:
        sets = f" in {levels} grouping sets" if levels > 1 else ""
        raise QueryError(
            f"the query is too large: it has {aggregates:,} aggregates, read off {measures:,} sums and counts{sets}, "
            f"and the product of these numbers is at most {_MOST_PARTS:,}; {_SEVERAL}"
        )


def check_slopes(rows: int, slopes: int) -> None:
    """Raise `QueryError` where error bars would rest on more than 10,000,000 numbers: `slopes` for each of the rows."""
    if rows * slopes > _MOST_SLOPES:
        raise QueryError(
            f"the answer is too large: the error bars of its {rows:,} rows rest on {rows * slopes:,} numbers, "
            f"{slopes:,} a row, and at most {_MOST_SLOPES:,} are stored; group by fewer keys, or ask for fewer columns"
        )
