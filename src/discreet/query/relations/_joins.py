"""JOIN: which pairs of relations may meet, and on what."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import check_predicate, exact_integer
from discreet.query.passes._conjuncts import conjuncts
from discreet.query.relations._columns import PERSON, Columns
from discreet.query.relations._nodes import Computed, Filtered, Grouped, Joined, Owned, Scan, SemiJoined, stored_names

__all__ = ["beside_one", "is_linked", "is_one", "join", "key_of", "sides_of"]


def join(left: Owned, right: Owned, on: exp.Expr, columns: Columns, *, outer: bool) -> Owned:
    """The join of two relations; with `outer`, rows of the left stay without a partner.

    Raises `QueryError` unless an equality ties the sides together: two private ones person to person.
    """
    links: list[tuple[str, str]] = []
    rest: list[exp.Expr] = []
    tied, same = False, False
    stored = frozenset(stored_names(left.relation)) | frozenset(stored_names(right.relation))
    for part in conjuncts(on):
        sides = sides_of(part, left, right)
        shared = columns.linked(sides[0]) & columns.linked(sides[1]) if sides else frozenset[str]()
        both = left.owner != "nobody" and right.owner != "nobody"
        if sides and PERSON in shared and both:
            same = True
        elif sides and shared and {side.unnest().name for side in sides} <= stored:
            links.append((sides[0].unnest().name, sides[1].unnest().name))
            same = tied = True
        else:
            same = same or bool(shared)
            tied = tied or sides is not None
            columns.check(part)
            rest.append(part)
    _check_owners(left, right, on, same=same, outer=outer)
    if not (tied or same):
        raise QueryError(
            f"JOIN ON {on.sql()} ties no column of one side to one of the other; join on an equality: a.id = b.id"
        )
    pairs = [sides for part in rest if (sides := sides_of(part, left, right))]
    condition = exp.and_(*rest, copy=True) if rest else None
    if condition is not None:
        check_predicate(condition, columns.fields)
    matched = None
    if left.owner != "nobody" and right.owner == "nobody":
        matched = _matched(right, [(there, here) for here, there in pairs], columns)
    elif left.owner == "nobody" and right.owner != "nobody":
        matched = _matched(left, pairs, columns)
    if matched is not None and "row" in (left.owner, right.owner):
        raise QueryError(
            f'JOIN ON {on.sql()} may repeat a row, and with unit = "rows" every row is a person; join a public table '
            'on the column that the policy calls its key, as in key = "id", to a column of the same type'
        )
    relation = Joined(left.relation, right.relation, tuple(links), condition, outer, matched, on)
    owner = left.owner if left.owner != "nobody" else right.owner
    names = left.names | right.names
    return Owned(relation, owner, names, max(left.rows, right.rows), max(left.groups, right.groups))


def is_one(public: Owned) -> bool:
    """Whether a public relation is one row: an aggregate over all rows of public tables."""
    inner = public.relation
    while isinstance(inner, Computed):
        inner = inner.input
    return public.owner == "nobody" and isinstance(inner, Grouped) and not inner.keys


def beside_one(left: Owned, one: Owned) -> Owned:
    """The rows of the left, each with the one row of a public relation."""
    joined = Joined(left.relation, one.relation, (), None, outer=False, matched=None, written=exp.true())
    return replace(left, relation=joined, names=left.names | one.names)


def is_linked(left: Owned, right: Owned, on: exp.Expr, columns: Columns) -> bool:
    """Whether a condition on two private relations says that their rows are of one person."""
    pairs = (sides for part in conjuncts(on) if (sides := sides_of(part, left, right)))
    return any(columns.linked(here) & columns.linked(there) for here, there in pairs)


def sides_of(part: exp.Expr, left: Owned, right: Owned) -> tuple[exp.Expr, exp.Expr] | None:
    """The sides of an equality between the relations, that of the left one first."""
    if not isinstance(part, exp.EQ):
        return None
    here, there = ({column.name for column in side.find_all(exp.Column)} for side in (part.left, part.right))
    if not (here and there):
        return None
    if here <= left.names and there <= right.names:
        return part.left, part.right
    if here <= right.names and there <= left.names:
        return part.right, part.left
    return None


def _check_owners(left: Owned, right: Owned, on: exp.Expr, *, same: bool, outer: bool) -> None:
    if "row" in (left.owner, right.owner) and "nobody" not in (left.owner, right.owner):
        raise QueryError(
            'a table with unit = "rows" cannot be joined to another private table: every row of it is another person'
        )
    if outer and left.owner == "nobody" and right.owner != "nobody":
        raise QueryError(
            "LEFT JOIN from a public table to a private one would show which rows have nobody; "
            "use JOIN, or put the private table on the left"
        )
    if left.owner == right.owner == "person" and not same:
        raise QueryError(
            f"JOIN ON {on.sql()} pairs rows of different people, so that one person could touch any number of rows; "
            "join private tables on the person, or along a path that the policy declares, as in orders.customer_id = "
            "customers.id"
        )


def key_of(public: Owned) -> str | None:
    """The column of a public relation that no two of its rows have the same value of; None without such a column."""
    inner = public.relation
    while isinstance(inner, Filtered | Computed | SemiJoined):
        inner = inner.left if isinstance(inner, SemiJoined) else inner.input
    return inner.key if isinstance(inner, Scan) else None


def _matched(public: Owned, pairs: list[tuple[exp.Expr, exp.Expr]], columns: Columns) -> tuple[exp.Expr, ...] | None:
    """What is compared of a public relation, the first side of each of `pairs`; None if a private row meets one row.

    It does if the key of the public table is compared, or all that the relation is grouped by. Whole numbers have to be
    compared as such: as doubles, two of them may equal the same number.
    """
    compared = {
        there.unnest().name
        for there, here in pairs
        if isinstance(there.unnest(), exp.Column)
        and (columns.fields[there.unnest().name].type != "int" or exact_integer(here, columns.fields))
    }
    inner = public.relation
    while isinstance(inner, Filtered | Computed):
        inner = inner.input
    keys = set(inner.keys) if isinstance(inner, Grouped) else {key_of(public)}
    return None if keys <= compared else tuple(there for there, _ in pairs)
