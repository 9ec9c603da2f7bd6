"""What an engine is asked to read for a learner: the rows of a bounded aggregate, in public numbers and cells."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.query.measures._bounded import BoundedAggregate
from discreet.query.measures._measures import Sum

__all__ = ["PERSON_COLUMN", "EdgeRows", "RecordRows", "category_column", "number_column"]

PERSON_COLUMN = "u"
"""The column of a batch that says whose a row is, as it is stored; there is none where every row is another person."""


def category_column(place: int) -> str:
    """The column of a batch that has the cells of the key at a place."""
    return f"k{place}"


def number_column(place: int) -> str:
    """The column of a batch that has the whole numbers of the measure at a place."""
    return f"v{place}"


@dataclass(frozen=True, slots=True)
class RecordRows:
    """The rows of a bounded aggregate, after the caps on a unit's rows; they are private.

    An engine gives them in batches, in no particular order. A row has the place of its value among a key's public ones,
    or the text itself where none are public, cut to `HELD_TEXT` characters, and of each measure the whole number that
    it contributes, within the measure's limits, or null. One unit has at most `bounded.max_rows` of them: see
    ``proofs/bounding.md``.

    Attributes
    ----------
    bounded
        Which rows. Its keys are public or texts, its measures are sums over all rows, of different arguments, and it
        has no histograms, no cap on groups and no units.

    Raises `ParameterError` for what is no such request.
    """

    bounded: BoundedAggregate

    def __post_init__(self) -> None:
        bounded = self.bounded
        if bounded.histograms or bounded.count_units or bounded.max_groups is not None:
            raise ParameterError("records have no histograms, units or cap on groups")
        if any(not isinstance(each, Sum) or each.beside or each.when or each.center for each in bounded.measures):
            raise ParameterError("records have sums over all rows alone, none of them centred")
        private = [key.name for key in bounded.keys if key.values is None and key.type != "string"]
        if private:
            raise ParameterError(f"the keys {', '.join(private)} are private; records have public keys, or texts")
        if len({each.argument for each in bounded.measures}) < len(bounded.measures):
            raise ParameterError("a number is in the records twice; keep one")


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Rows as the edges of a graph whose vertices are whole numbers. All of it is public, and the rows are private.

    A row joins the numbers of its two measures. Rows that join a number with itself, or with one that is no vertex, do
    not count; an edge is there once, however many rows there are of it and whichever end comes first.

    Attributes
    ----------
    rows
        Which rows: uncapped, of no unit, with two measures and no keys.
    first, last
        The least and the largest vertex.

    Raises `ParameterError` for what is no such request.
    """

    rows: RecordRows
    first: int
    last: int

    def __post_init__(self) -> None:
        bounded = self.rows.bounded
        if bounded.unit is not None or bounded.keys or len(bounded.measures) != 2:
            raise ParameterError("edges are rows of two whole numbers, each row by itself")
