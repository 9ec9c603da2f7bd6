"""A sub-query that stands for one value: a LEFT JOIN with one row for each of what it is compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.parse._trees import transformed
from discreet.query.passes._conjuncts import conjunction, conjuncts
from discreet.query.relations._columns import Columns, stored_field
from discreet.query.relations._group_by import group_rows
from discreet.query.relations._joins import beside_one, join, key_of, sides_of
from discreet.query.relations._nodes import Computed, Filtered, Grouped, Joined, Owned, Total
from discreet.query.relations._semi_joins import Tied

__all__ = ["scalar_join"]


def scalar_join(left: Owned, tied: Tied, value: exp.Expr, columns: Columns) -> tuple[Owned, exp.Expr]:
    """The rows of the left with one more value each, and the expression that it is.

    The value is an aggregate over the rows of the same person that the equalities ask for, or over public rows, or a
    column of the one row that a public table has for its key. It is null where there is no row, but a count is 0. Of a
    column of public rows that nothing ties to the query it is the least value: where SQL gives one, there is no other.
    Raises `QueryError` for anything else, and for rows of other people.
    """
    right, word = tied.right, tied.word
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    for tie in tied.ties:
        sides = sides_of(tie, left, right)
        if sides is None:
            raise QueryError(
                f"{word} is tied to the query around it by {tie.sql()}; write an equality between a column of it and "
                "one of the query, as in WHERE o.customer_id = c.id"
            )
        pairs.append(sides)
    if right.owner != "nobody":
        _check_owners(left, tied, pairs, columns)
    if not any(value.find_all(exp.AggFunc)):
        if _is_one(right) or (right.owner == "nobody" and not pairs):
            value = exp.Min(this=value)
        elif right.owner == "nobody" and pairs:
            return _looked_up(left, tied, value, pairs, columns)
        else:
            raise QueryError(f"{word} may have many rows where one value is needed; write MIN, MAX, SUM or AVG of it")
    keys = [exp.alias_(there.copy(), f"k{i}", quoted=True) for i, (_, there) in enumerate(pairs)]
    select = exp.Select(expressions=[exp.alias_(value.copy(), "value", quoted=True), *keys])
    if pairs:
        select.set("group", exp.Group(expressions=[there.copy() for _, there in pairs]))
    grouped, body = group_rows(select, right, columns)
    outcome, *there = (item.unalias() for item in body.expressions)
    if not pairs:
        return beside_one(left, grouped), outcome
    on = conjunction([exp.EQ(this=h.copy(), expression=t.copy()) for (h, _), t in zip(pairs, there, strict=True)])
    assert on is not None
    joined = join(left, grouped, on, columns, outer=True)
    assert isinstance(grouped.relation, Grouped)
    outcome = _none_is_zero(outcome, grouped.relation)
    columns.forget_people({name: exp.column(exp.to_identifier(name, quoted=True)) for name in grouped.names})
    return replace(joined, rows=left.rows, groups=left.groups), outcome


def _check_owners(left: Owned, tied: Tied, pairs: Sequence[tuple[exp.Expr, exp.Expr]], columns: Columns) -> None:
    if "row" in (left.owner, tied.right.owner):
        raise QueryError(
            'a table with unit = "rows" cannot be joined to another private table: every row of it is another person'
        )
    if left.owner == "nobody" or not any(columns.linked(here) & columns.linked(there) for here, there in pairs):
        raise QueryError(
            f"{tied.word} reads rows of other people; compare the columns that name the person, or those of a path "
            "that the policy declares, or ask for the value in a query of its own and put it in its place: "
            "discreet.bind(query, …) does that with what was released"
        )


def _looked_up(
    left: Owned, tied: Tied, value: exp.Expr, pairs: Sequence[tuple[exp.Expr, exp.Expr]], columns: Columns
) -> tuple[Owned, exp.Expr]:
    """A value of the one row of a public table whose key is compared."""
    field = stored_field(value, columns)
    name = columns.add("value", field)
    computed = Computed(tied.right.relation, {name: (value, field.type)})
    right = replace(tied.right, relation=computed, names=tied.right.names | {name})
    on = conjunction([exp.EQ(this=here.copy(), expression=there.copy()) for here, there in pairs])
    assert on is not None
    joined = join(left, right, on, columns, outer=True)
    if isinstance(joined.relation, Joined) and joined.relation.matched is not None:
        raise QueryError(
            f"{tied.word} compares no key of the public table, so that it may have many rows where one is needed; "
            'declare its key in the policy, as in key = "id", or write MIN, MAX, SUM or AVG'
        )
    column = exp.column(exp.to_identifier(name, quoted=True))
    columns.forget_people({name: column})
    return replace(joined, names=left.names | {name}), column


def _is_one(right: Owned) -> bool:
    """Whether there is one row at most, as the key of a public table is a constant."""
    key, inner = key_of(right), right.relation
    while isinstance(inner, Filtered | Computed):
        for part in conjuncts(inner.condition) if isinstance(inner, Filtered) else ():
            if key is not None and isinstance(part, exp.EQ):
                ends = [part.left.unnest(), part.right.unnest()]
                named = [isinstance(end, exp.Column) and end.name == key for end in ends]
                if any(named) and not ends[1 - named.index(True)].find(exp.Column):
                    return True
        inner = inner.input
    return False


def _none_is_zero(value: exp.Expr, grouped: Grouped) -> exp.Expr:
    """The value where no row is no group: a count of it is 0, not null."""
    counts = {
        name for name, total in grouped.totals.items() if isinstance(total, Total) and total.kind.startswith("COUNT")
    }

    def swap(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in counts:
            return exp.Coalesce(this=node.copy(), expressions=[exp.Literal.number(0)])
        return node

    return transformed(value.copy(), swap)
