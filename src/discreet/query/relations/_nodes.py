"""What FROM means: a tree of relations, in which every row has exactly one owner, or none if it is public.

Taking a person's rows out of the tables takes the rows that they own out of each relation, and changes no other row. So
a relation needs no sensitivity of its own: the caps of a `BoundedAggregate` over it bound what one owner can do. The
proof is in proofs/relations.md.

Columns have one name each in the whole tree: every expression means the same at any node above the one that made its
columns. Two texts that differ in aliases alone make the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from discreet.policy import ColumnType

__all__ = [
    "Computed",
    "Filtered",
    "Grouped",
    "Joined",
    "Limited",
    "Own",
    "Owned",
    "Ranked",
    "Relation",
    "Scan",
    "SemiJoined",
    "Stacked",
    "Total",
    "expressions",
    "is_public",
    "named",
    "scans",
    "stored_names",
    "unlimited",
    "walked",
]


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a table of the policy whose owner is known; all rows of a public one.

    `columns` are the table's columns, by their names here. Of a public table with a `key`, one row for each key counts.
    """

    table: str
    columns: Mapping[str, str]
    public: bool = False
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """The rows of `input` that satisfy a condition."""

    input: Relation
    condition: exp.Expr


@dataclass(frozen=True, slots=True)
class Computed:
    """The rows of `input` with further columns, so that a join can make them null as it does stored ones."""

    input: Relation
    columns: Mapping[str, tuple[exp.Expr, ColumnType]]


@dataclass(frozen=True, slots=True)
class Joined:
    """Pairs of rows of one owner, or of a private row and public ones, that satisfy `on`; None asks for nothing more.

    `links` are pairs of columns that say whose a row is, compared as they are stored. With `outer`, rows on the left
    that find no partner stay, with nulls for it. Where a private row may meet any number of public ones, `matched` are
    the expressions over the public side that equalities of `on` compare; where it meets at most one, it is None.
    """

    left: Relation
    right: Relation
    links: tuple[tuple[str, str], ...]
    on: exp.Expr | None
    outer: bool
    matched: tuple[exp.Expr, ...] | None
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class SemiJoined:
    """The rows of the left that have a partner on the right, or with `missing` those that have none.

    A partner is a row of the same owner, or a public one, that satisfies `on`, which may compare anything of the two;
    `links` and `written` are as in `Joined`. The right side's columns cannot be named above. With `pairs`, it compares
    rows otherwise than by equality, so that an engine may look at all pairs of them.
    """

    left: Relation
    right: Relation
    links: tuple[tuple[str, str], ...]
    on: exp.Expr | None
    missing: bool
    written: exp.Expr
    pairs: bool


@dataclass(frozen=True, slots=True)
class Limited:
    """At most `rows` rows of `input` for each owner, or of a public relation for each combination of values of `by`.

    Of an owner's rows in the order of a hash of their content, and then of the content, the first `rows` are taken, and
    of them those before the texts in the columns `texts` add up to more than `size` bytes.
    """

    input: Relation
    rows: int
    size: int
    texts: tuple[str, ...]
    by: tuple[exp.Expr, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stacked:
    """UNION ALL: for each part a relation, and what it puts into each column."""

    parts: tuple[tuple[Relation, Mapping[str, exp.Expr]], ...]
    types: Mapping[str, ColumnType]
    public: bool


@dataclass(frozen=True, slots=True)
class Total:
    """A sub-aggregate over the rows of one owner, clamped to [lower, upper] steps; dates and texts are as they are."""

    kind: Literal["COUNT", "COUNT DISTINCT", "SUM", "AVG", "MIN", "MAX"]
    argument: exp.Expr | None
    type: ColumnType
    step: Fraction = Fraction(1)
    row: tuple[int, int] | None = None
    lower: int = 0
    upper: int = 0


@dataclass(frozen=True, slots=True)
class Own:
    """A column that is the same in all rows of one owner."""

    column: str


@dataclass(frozen=True, slots=True)
class Grouped:
    """One row for each owner and value of the keys among the owner's rows, with sub-aggregates of that group.

    `person` is the column of the input that said who the owner is, and `owner` the one that does so here. Both are None
    where the keys are of one owner, as the policy says, and where nobody owns the rows.
    """

    input: Relation
    person: str | None
    owner: str | None
    keys: Mapping[str, tuple[exp.Expr, ColumnType]]
    totals: Mapping[str, Total | Own]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rows of `input`, each with its place among those of its owner that agree in the link columns `within`.

    They are in the order of the columns `order`, which must be all columns that anything above reads: rows that tie are
    equal there, so that what follows is a function of the owner's rows as a multiset.

    Attributes
    ----------
    place, number
        New columns for the place of a row, from 1, and for how many rows there are.
    previous
        New columns, each for what another of `order` is in the row before; null in the first row.
    """

    input: Relation
    within: tuple[str, ...]
    order: tuple[str, ...]
    place: str
    number: str
    previous: Mapping[str, str]


Relation = Scan | Filtered | Computed | Joined | SemiJoined | Limited | Stacked | Grouped | Ranked


def is_public(relation: Relation) -> bool:
    """Whether nobody owns the rows of a relation."""
    return all(scan.public for scan in scans(relation))


def unlimited(relation: Relation) -> Relation:
    """The relation without its limits."""
    match relation:
        case Scan():
            return relation
        case Limited():
            return unlimited(relation.input)
        case Filtered() | Computed() | Grouped() | Ranked():
            return replace(relation, input=unlimited(relation.input))
        case Joined() | SemiJoined():
            return replace(relation, left=unlimited(relation.left), right=unlimited(relation.right))
        case Stacked():
            return replace(relation, parts=tuple((unlimited(part), columns) for part, columns in relation.parts))


def walked(relation: Relation) -> Iterator[Relation]:
    """Every node of a relation, itself first, and then from left to right."""
    yield relation
    match relation:
        case Scan():
            return
        case Filtered() | Computed() | Limited() | Grouped() | Ranked():
            yield from walked(relation.input)
        case Joined() | SemiJoined():
            yield from walked(relation.left)
            yield from walked(relation.right)
        case Stacked():
            for part, _ in relation.parts:
                yield from walked(part)


def scans(relation: Relation) -> Iterator[Scan]:
    """The tables that a relation reads, from left to right."""
    return (node for node in walked(relation) if isinstance(node, Scan))


def expressions(relation: Relation) -> Iterator[exp.Expr]:
    """What the nodes of a relation compute and compare, with repeats."""
    for node in walked(relation):
        match node:
            case Filtered():
                yield node.condition
            case Joined(on=on) | SemiJoined(on=on) if on is not None:
                yield on
            case Computed():
                yield from (computed for computed, _ in node.columns.values())
            case Stacked():
                yield from (computed for _, columns in node.parts for computed in columns.values())
            case Grouped():
                yield from (key for key, _ in node.keys.values())
                yield from (t.argument for t in node.totals.values() if isinstance(t, Total) and t.argument is not None)
            case _:
                pass


def named(relation: Relation) -> Iterator[str]:
    """The columns that the expressions of a relation name, with repeats."""
    match relation:
        case Scan():
            yield from [relation.key] if relation.key else []
        case Filtered():
            yield from _columns(relation.condition)
            yield from named(relation.input)
        case Computed():
            for node, _ in relation.columns.values():
                yield from _columns(node)
            yield from named(relation.input)
        case Joined() | SemiJoined():
            yield from _columns(relation.on)
            for pair in relation.links:
                yield from pair
            yield from _columns(relation.written)
            yield from named(relation.left)
            yield from named(relation.right)
        case Limited():
            yield from named(relation.input)
        case Ranked():
            yield from relation.within
            yield from relation.order
            yield from named(relation.input)
        case Stacked():
            for part, columns in relation.parts:
                for node in columns.values():
                    yield from _columns(node)
                yield from named(part)
        case Grouped():
            for node, _ in relation.keys.values():
                yield from _columns(node)
            for total in relation.totals.values():
                yield from [total.column] if isinstance(total, Own) else _columns(total.argument)
            yield from [] if relation.person is None else [relation.person]
            yield from named(relation.input)


def stored_names(relation: Relation) -> Iterator[str]:
    """The columns of tables that rows of a relation still have, as they are stored."""
    match relation:
        case Scan():
            yield from relation.columns
        case Filtered() | Computed() | Limited() | Ranked():
            yield from stored_names(relation.input)
        case Joined():
            yield from stored_names(relation.left)
            yield from stored_names(relation.right)
        case SemiJoined():
            yield from stored_names(relation.left)
        case Stacked() | Grouped():
            return


def _columns(node: exp.Expr | None) -> Iterator[str]:
    if node is not None:
        yield from (column.name for column in node.find_all(exp.Column))


Owner = Literal["person", "row", "nobody"]


@dataclass(frozen=True, slots=True)
class Owned:
    """A relation, who owns its rows, and how many rows and groups of one owner count in a query over it."""

    relation: Relation
    owner: Owner
    names: frozenset[str]
    rows: int = 1
    groups: int = 1
