"""What a case is: a query, and plain SQL for the answer that it must give."""

from __future__ import annotations

import re
from dataclasses import dataclass

from suite.features import Feature

__all__ = ["Case", "Rejection", "case", "rejection"]


@dataclass(frozen=True, slots=True)
class Case:
    """A query that is answered. `within` is how far an answer may be off beside the grid, in its own unit."""

    query: str
    truth: str
    needs: frozenset[Feature]
    ordered: bool
    within: float


@dataclass(frozen=True, slots=True)
class Rejection:
    """A query that is never answered. Once `needs` have landed, the message holds all the `words`."""

    query: str
    words: tuple[str, ...]
    needs: frozenset[Feature]


def case(query: str, *needs: Feature, truth: str | None = None, ordered: bool = False, within: float = 0.0) -> Case:
    """A case whose truth is its own text but for two marks, or a text of its own.

    ``{x}`` is a column that is clamped where it stands, which plain SQL calls ``x_``; what stands between ``[[`` and
    ``]]`` is for plain SQL alone: that only public keys count, or that the sum of nothing is 0.

    >>> case("SELECT SUM({price}) FROM orders[[ WHERE price IS NOT NULL]]")
    ... # doctest: +ELLIPSIS
    Case(query='SELECT SUM(price) FROM orders', truth='SELECT SUM(price_) FROM orders WHERE price IS NOT NULL', ...
    """
    asked = re.sub(r"\[\[.*?\]\]", "", re.sub(r"\{(\w+)\}", r"\1", query))
    plain = re.sub(r"\[\[|\]\]", "", re.sub(r"\{(\w+)\}", r"\1_", query))
    return Case(asked, plain if truth is None else truth, frozenset(needs), ordered, within)


def rejection(query: str, *words: str, needs: tuple[Feature, ...] = ()) -> Rejection:
    """A query to refuse, and words that the message must hold, in any case."""
    return Rejection(query, words, frozenset(needs))
