"""How much one unit can make an engine hold: rows and bytes are bounded by the plan, so that no unit decides whether a
query ends.

A step that reads rows one by one holds nothing. What holds rows are joins in which a row may meet many, sub-queries
that group, and the rows that count in the end. There the rows of one unit are as many as are stored, and a little
wider; or they are `Limited` to a number, and their texts to a number of bytes, such that all that the unit makes of
them fits a public budget. A query that leaves no such number is refused. The argument is in proofs/relations.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isqrt

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.query.measures._bounded import BoundedAggregate
from discreet.query.measures._measures import Distinct
from discreet.query.relations._nodes import (
    Computed,
    Filtered,
    Grouped,
    Joined,
    Limited,
    Ranked,
    Relation,
    Scan,
    SemiJoined,
    Stacked,
    Total,
    is_public,
    walked,
)

__all__ = ["HELD_TEXT", "TooManyRows", "with_bounded_footprint"]

_BUDGET = 2**27
"""Bytes that the rows of one unit may take in all steps together that multiply or widen them."""
_MOST_ROWS = 1000
"""So many rows of one person enter a step that multiplies them, or `max_rows` if it is more, if the budget allows."""
_WIDE = 2_500
"""Bytes that may be made of a stored row, wherever it is read, before the rows of a person are limited."""
_WIDEST = 2**16
"""Bytes that any row may take: engines hold some thousand rows at once."""
HELD_TEXT = 250
"""Characters of a text where rows are held: of a private key, and of any text where rows of one person meet others."""
_OWNER, _NUMBER, _DIGEST, _TEXT = 16, 9, 256, 4 * HELD_TEXT
"""Bytes of what says whose a row is, of a value that is no text, of one that is told from others, which is held with
its row, in an order and among the others, and of a text: texts are cut where they are held."""


class TooManyRows(QueryError):
    """So many rows of a person as the policy's caps allow take more than one person may."""


def with_bounded_footprint(request: BoundedAggregate, policy: Policy) -> BoundedAggregate:
    """The request with limits wherever one unit could make an engine hold more than its share.

    Raises `TooManyRows` if what `max_rows` rows of a unit may need exceeds the budget, `QueryError` for rows that are
    too wide.
    """
    joins = sum(isinstance(node, Joined) and _multiplies(node) for node in walked(request.relation))
    numbers = len(request.keys) + 3 * len(request.measures) + len(request.histograms)
    digests = sum(isinstance(measure, Distinct) for measure in request.measures)
    texts = [key.computed for key in request.keys if key.type == "string"]
    stored = sum(isinstance(node.unnest(), exp.Column) for node in texts)
    counted = _OWNER + numbers * _NUMBER + digests * _DIGEST + (len(texts) - stored) * _TEXT
    bounding = _Bounding(policy, request, _BUDGET // max(joins, 1), counted)
    relation, footprint = bounding.bound(request.relation)
    covered = footprint.rows is not None and not footprint.free
    row = counted if covered else counted + stored * _TEXT
    relation, _ = bounding.fitted(relation, footprint, row, footprint.reads)
    return replace(request, relation=relation)


@dataclass(frozen=True, slots=True)
class _Footprint:
    """What one unit's rows of a relation take at most; of a public relation, what its rows do.

    There are `rows` of them, None for as many as are stored, with `numbers` values that are no texts, and the columns
    `texts` that are. Of these all but `free` are limited together, in bytes. `least` is how many rows of a unit count
    in the end, and `reads` how many there may be for each that is stored.
    """

    rows: int | None
    numbers: int
    texts: tuple[str, ...]
    free: int
    least: int
    reads: int = 1

    @property
    def fixed(self) -> int:
        """The bytes of a row beside its texts."""
        return _OWNER + self.numbers * _NUMBER

    @property
    def row(self) -> int:
        """The bytes of a row beside its texts that are limited together."""
        return self.fixed + self.free * _TEXT

    def beside(self, other: _Footprint) -> _Footprint:
        """The same rows with the columns of another relation."""
        texts = (*self.texts, *other.texts)
        return replace(self, numbers=self.numbers + other.numbers, texts=texts, free=self.free + len(other.texts))

    def limited(self, rows: int | None) -> _Footprint:
        """The same columns, of which so many rows are left, if there was a limit."""
        return self if rows == self.rows else replace(self, rows=rows, free=0)


@dataclass(frozen=True, slots=True)
class _Bounding:
    """One request under way.

    `share` is the part of the budget for one join, and `counted` the bytes of a row that counts, beside stored texts.
    """

    policy: Policy
    request: BoundedAggregate
    share: int
    counted: int

    def bound(self, relation: Relation) -> tuple[Relation, _Footprint]:
        """The relation with limits in it, and its footprint."""
        match relation:
            case Scan():
                least = self.policy.tables[relation.table].rows_per_unit
                return relation, self._columns(relation.columns, 1 if self.request.unit is None else None, least)
            case Filtered():
                inner, footprint = self.bound(relation.input)
                return replace(relation, input=inner), footprint
            case Computed():
                inner, footprint = self.bound(relation.input)
                inner, footprint = self._widened(inner, footprint, self._columns(relation.columns, None, 0))
                return replace(relation, input=inner), footprint
            case Joined():
                return self._joined(relation)
            case SemiJoined():
                return self._semi_joined(relation)
            case Stacked():
                return self._stacked(relation)
            case Grouped():
                return self._grouped(relation)
            case Ranked():
                return self._ranked(relation)
            case Limited():
                raise AssertionError("limits are set once")

    def fitted(
        self, relation: Relation, footprint: _Footprint, row: int, reads: int = 1
    ) -> tuple[Relation, _Footprint]:
        """The relation, limited if need be so that a step can hold rows of so many bytes.

        A step that holds all rows at once says how many there may be for each that is stored.
        """
        if row > _WIDEST:
            raise QueryError(
                f"a row of this query may take {row:,} bytes where {_WIDEST:,} are allowed; ask for fewer columns or "
                "aggregates at once"
            )
        held = _WIDE // reads if footprint.rows is None else self.share // 2 // footprint.rows
        if self.request.unit is None or is_public(relation) or row <= held:
            return relation, footprint
        rows = self.share // 2 // row
        if footprint.least > rows:
            raise _too_large(f"{footprint.least:,} rows", footprint.least * row, rows * row)
        return Limited(relation, rows, self.share // 2, footprint.texts), footprint.limited(rows)

    def _widened(self, relation: Relation, rows: _Footprint, by: _Footprint) -> tuple[Relation, _Footprint]:
        """The rows that a step reads and gives further columns, and what it makes of them."""
        relation, limited = self.fitted(relation, rows, rows.beside(by).row)
        return relation, limited.beside(by)

    def _columns(self, names: Iterable[str], rows: int | None, least: int) -> _Footprint:
        """So many rows of some columns."""
        fields = self.request.columns
        used = [name for name in names if name in self.request.used]
        texts = tuple(name for name in used if name in fields and fields[name].type == "string")
        return _Footprint(rows, len(used) - len(texts), texts, len(texts), least)

    def _stacked(self, stacked: Stacked) -> tuple[Relation, _Footprint]:
        """Where every row is a person, a row is in one part alone."""
        own = self._columns(stacked.types, None, 0)
        parts: list[tuple[Relation, Mapping[str, exp.Expr]]] = []
        sides: list[_Footprint] = []
        for part, columns in stacked.parts:
            relation, footprint = self.bound(part)
            relation, footprint = self.fitted(relation, footprint, own.row)
            parts.append((relation, columns))
            sides.append(footprint)
        stacked = replace(stacked, parts=tuple(parts))
        if self.request.unit is None:
            return stacked, replace(own, rows=1, least=1)
        rows, least = _sum(side.rows for side in sides), sum(side.least for side in sides)
        return stacked, replace(own, rows=rows, least=least, reads=sum(side.reads for side in sides))

    def _grouped(self, grouped: Grouped) -> tuple[Relation, _Footprint]:
        inner, below = self.bound(grouped.input)
        own = self._columns([*grouped.keys, *grouped.totals], None, 0)
        distinct = sum(isinstance(t, Total) and t.kind == "COUNT DISTINCT" for t in grouped.totals.values())
        written = {name: kind for name, (_, kind) in grouped.keys.items()}
        written |= {name: total.type for name, total in grouped.totals.items() if isinstance(total, Total)}
        unread = [kind for name, kind in written.items() if name not in self.request.used]
        held = distinct * _DIGEST + sum(_TEXT if kind == "string" else _NUMBER for kind in unread)
        inner, below = self.fitted(inner, below, own.row + held, below.reads)
        grouped = replace(grouped, input=inner)
        if not grouped.keys:
            return grouped, replace(own, rows=1, least=1)
        return grouped, replace(own, rows=below.rows, least=below.least, reads=below.reads)

    def _ranked(self, ranked: Ranked) -> tuple[Relation, _Footprint]:
        """All rows of an owner are held to put them in order, with the columns that they get there."""
        inner, below = self.bound(ranked.input)
        added = self._columns([ranked.place, ranked.number, *ranked.previous], None, 0)
        inner, below = self.fitted(inner, below, below.beside(added).row, below.reads)
        return replace(ranked, input=inner), below.beside(added)

    def _joined(self, join: Joined) -> tuple[Relation, _Footprint]:
        (left, here), (right, there) = self.bound(join.left), self.bound(join.right)
        join = replace(join, left=left, right=right)
        if _multiplies(join):
            return self._paired(join, here, there)
        if is_public(right):
            left, footprint = self._widened(left, here, there)
            return replace(join, left=left), footprint
        right, footprint = self._widened(right, there, here)
        return replace(join, right=right), footprint

    def _semi_joined(self, join: SemiJoined) -> tuple[Relation, _Footprint]:
        """Either side may be held, and no row is wider or more often there than it was."""
        (left, here), (right, there) = self.bound(join.left), self.bound(join.right)
        if not is_public(right):
            left, here = self._beside_others(left, here, pairs=join.pairs)
            right, _ = self._beside_others(right, there, pairs=join.pairs)
        return replace(join, left=left, right=right), here

    def _beside_others(self, relation: Relation, footprint: _Footprint, *, pairs: bool) -> tuple[Relation, _Footprint]:
        """One side of a join that may hold it; few rows of it, where all pairs may be looked at."""
        relation, fitted = self.fitted(relation, footprint, footprint.row, footprint.reads)
        rows = max(_MOST_ROWS, footprint.least)
        if not pairs or (fitted.rows is not None and fitted.rows <= rows):
            return relation, fitted
        if isinstance(relation, Limited) and relation.rows == fitted.rows:
            return replace(relation, rows=rows), fitted.limited(rows)
        return Limited(relation, rows, self.share // 2, fitted.texts), fitted.limited(rows)

    def _paired(self, join: Joined, here: _Footprint, there: _Footprint) -> tuple[Relation, _Footprint]:
        """A join in which rows of one unit meet many: so few of each side that all pairs fit."""
        least = [1 if is_public(join.left) else here.least, 1 if is_public(join.right) else there.least]
        row = max(here.fixed + there.fixed, self.counted)
        pairs = self.share // 2 // row
        if least[0] * least[1] > pairs:
            raise _too_large(f"{least[0] * least[1]:,} pairs of rows", least[0] * least[1] * row, pairs * row)
        most = [max(_MOST_ROWS, least[0]), max(_MOST_ROWS, least[1])]
        most = [min(each, side.rows or each) for each, side in zip(most, (here, there), strict=True)]
        first = min(most[0], max(least[0], isqrt(pairs), pairs // most[1]), pairs // least[1])
        second = min(most[1], pairs // first)
        limited = replace(
            join,
            left=self._limited(join.left, here, first, self.share // 4 // second, join.matched),
            right=self._limited(join.right, there, second, self.share // 4 // first, join.matched),
        )
        footprint = replace(here.beside(there), free=0, rows=first * second, least=max(here.least, there.least))
        return limited, footprint

    @staticmethod
    def _limited(
        relation: Relation, footprint: _Footprint, rows: int, size: int, matched: tuple[exp.Expr, ...] | None
    ) -> Relation:
        """At most so many rows of a unit, or of public ones of each value that is compared, and bytes of texts."""
        if footprint.rows is not None and footprint.rows <= rows and not footprint.texts:
            return relation
        return Limited(relation, rows, size, footprint.texts, matched if is_public(relation) else None)


def _multiplies(join: Joined) -> bool:
    """Whether a row of a unit may meet any number of rows: of its own, or public ones."""
    return join.matched is not None or not (is_public(join.left) or is_public(join.right))


def _sum(parts: Iterable[int | None]) -> int | None:
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)


def _too_large(what: str, size: int, most: int) -> TooManyRows:
    return TooManyRows(
        f"one person may have {what} here, which take up to {size:,} bytes where {most:,} are allowed, so that no "
        "person's rows decide whether a query ends; lower max_rows in the policy, ask for fewer columns, or group one "
        "side by the person in a sub-query first"
    )
