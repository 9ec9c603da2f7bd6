"""Which rows of public tables alone say what the keys of a query over private ones can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.query.passes._conjuncts import conjunction
from discreet.query.relations._conditions import conditions
from discreet.query.relations._joins import key_of
from discreet.query.relations._nodes import (
    Computed,
    Filtered,
    Grouped,
    Joined,
    Limited,
    Owned,
    Relation,
    Scan,
    SemiJoined,
    Stacked,
    is_public,
)

__all__ = ["PublicRows", "public_rows"]


@dataclass(frozen=True, slots=True)
class PublicRows:
    """Public rows that hold all values which the keys at some places have together, in rows of the query that count.

    With `outer` these may find no such row, and then its `names` are null.
    """

    relation: Relation
    names: frozenset[str]
    places: tuple[int, ...]
    outer: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A public relation that is joined to the private rows."""

    relation: Relation
    names: frozenset[str]
    outer: bool


def public_rows(nodes: Sequence[exp.Expr], relation: Relation, certain: Sequence[exp.Expr]) -> list[PublicRows]:
    """From where the values of keys can be read, of those that are computed from columns of public tables alone.

    Tables are read together where one is looked up from the other by its declared key, so that there are no more rows
    than in one table. `certain` are the conditions that every row of the query satisfies: those over what is read
    together hold there too, and any other only makes there be more values than any row has.
    """
    parts = list(_parts(relation, outer=False))
    columns = [{column.name for column in node.find_all(exp.Column)} for node in nodes]
    roots = [part for part in parts if any(part.names & used for used in columns)]
    looked_up = sorted((_looked_up(root, parts, certain) for root in roots), key=len, reverse=True)
    sources: list[PublicRows] = []
    assigned = set[int]()
    for together in looked_up:
        names = frozenset[str]().union(*(part.names for part, _ in together))
        places = tuple(i for i, used in enumerate(columns) if i not in assigned and used <= names)
        assigned.update(places)
        if places:
            sources.append(PublicRows(_joined(together, names, certain), names, places, together[0][0].outer))
    return sources


def _parts(relation: Relation, *, outer: bool) -> Iterator[_Part]:
    """The largest public relations whose columns a query sees as they are, from left to right."""
    if is_public(relation):
        yield _Part(relation, frozenset(_names(relation)), outer)
        return
    match relation:
        case Joined():
            yield from _parts(relation.left, outer=outer)
            yield from _parts(relation.right, outer=outer or relation.outer)
        case SemiJoined():
            yield from _parts(relation.left, outer=outer)
        case Filtered() | Computed() | Limited():
            yield from _parts(relation.input, outer=outer)
        case _:
            pass


def _names(relation: Relation) -> Iterator[str]:
    """The columns of a public relation."""
    match relation:
        case Scan():
            yield from relation.columns
        case Computed():
            yield from relation.columns
            yield from _names(relation.input)
        case Filtered() | Limited():
            yield from _names(relation.input)
        case Joined():
            yield from _names(relation.left)
            yield from _names(relation.right)
        case SemiJoined():
            yield from _names(relation.left)
        case Grouped():
            yield from (*relation.keys, *relation.totals)
        case Stacked():
            yield from relation.types
        case _:
            pass


def _looked_up(root: _Part, parts: Sequence[_Part], certain: Sequence[exp.Expr]) -> list[tuple[_Part, exp.Expr | None]]:
    """A part, and all those of which a row of it finds one at most by their keys, each with the equality that does."""
    together: list[tuple[_Part, exp.Expr | None]] = [(root, None)]
    names = root.names
    left = [] if root.outer else [part for part in parts if part is not root and not part.outer]
    while True:
        more = next(((part, tie) for part in left if (tie := _tie(part, names, certain)) is not None), None)
        if more is None:
            return together
        together.append(more)
        names |= more[0].names
        left.remove(more[0])


def _tie(part: _Part, names: frozenset[str], certain: Sequence[exp.Expr]) -> exp.Expr | None:
    """The equality of the key of a part with what is computed from some columns."""
    key = key_of(Owned(part.relation, "nobody", part.names))
    for condition in certain if key is not None else ():
        inner = condition.unnest()
        if isinstance(inner, exp.EQ):
            for side, other in ((inner.left, inner.right), (inner.right, inner.left)):
                used = {column.name for column in other.find_all(exp.Column)}
                column = side.unnest()
                if isinstance(column, exp.Column) and column.name == key and used and used <= names:
                    return inner
    return None


def _joined(
    together: Sequence[tuple[_Part, exp.Expr | None]], names: frozenset[str], certain: Sequence[exp.Expr]
) -> Relation:
    """The rows of parts that are read together, as far as they satisfy the conditions over them."""
    relation = together[0][0].relation
    for part, tie in together[1:]:
        assert tie is not None
        relation = Joined(relation, part.relation, (), tie, outer=False, matched=None, written=tie)
    known = [id(each) for part, _ in together for each in conditions(part.relation)]
    known += [id(tie) for _, tie in together]
    more = [
        condition
        for condition in certain
        if id(condition) not in known
        and condition.find(exp.Column)
        and all(column.name in names for column in condition.find_all(exp.Column))
    ]
    rest = conjunction(more)
    return relation if rest is None else Filtered(relation, rest)
