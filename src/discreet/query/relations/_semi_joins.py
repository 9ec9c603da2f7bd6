"""SEMI and ANTI JOIN, as the joins with distinct rows that they mean."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import Field, check_predicate
from discreet.query.passes._conjuncts import conjunction, conjuncts
from discreet.query.relations._columns import PERSON, Columns
from discreet.query.relations._group_by import group_rows
from discreet.query.relations._joins import join, sides_of
from discreet.query.relations._nodes import Computed, Filtered, Joined, Owned

__all__ = ["semi_join"]


def semi_join(left: Owned, right: Owned, on: exp.Expr, columns: Columns, *, anti: bool) -> Owned:
    """The rows of the left that have a partner on the right, or with `anti` those that have none, each once.

    On the right stand rows of the same person, or a public table that is compared by its key. `on` holds equalities
    between the sides and conditions of either side alone. Raises `QueryError` for anything else.
    """
    word = f"{'ANTI' if anti else 'SEMI'} JOIN ON {on.sql()}"
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    inside: list[exp.Expr] = []
    rest: list[exp.Expr] = []
    for part in conjuncts(on):
        read = {column.name for column in part.find_all(exp.Column)}
        if (sides := sides_of(part, left, right)) is not None:
            pairs.append(sides)
        elif read and read <= right.names:
            inside.append(part)
        elif read <= left.names:
            rest.append(part)
        else:
            raise QueryError(
                f"{word} compares the sides by something else than an equality; write a JOIN with it, of a sub-query "
                "that groups by the person"
            )
    if (condition := conjunction(inside)) is not None:
        columns.check(condition)
        check_predicate(condition, columns.fields)
        right = replace(right, relation=Filtered(right.relation, condition))
    if right.owner != "nobody":
        right, pairs = _distinct(right, pairs, columns, word)
    right, marker = _marked(right, columns) if anti else (right, "")
    ties = [exp.EQ(this=here.copy(), expression=there.copy()) for here, there in pairs]
    together = conjunction([*ties, *rest])
    if not ties or together is None:
        raise QueryError(f"{word} ties no column of one side to one of the other; write an equality: a.id = b.id")
    joined = join(left, right, together, columns, outer=anti)
    if isinstance(joined.relation, Joined) and joined.relation.matched is not None:
        raise QueryError(
            f"{word} compares no key of the public table, so that a row may have many partners; declare its key in the "
            'policy, as in key = "id"'
        )
    if anti:
        missing = exp.column(exp.to_identifier(marker, quoted=True))
        columns.forget_people({marker: missing})
        without = exp.Is(this=missing.copy(), expression=exp.Null())
        joined = replace(joined, relation=Filtered(joined.relation, without))
    return Owned(joined.relation, joined.owner, left.names, left.rows, left.groups)


def _distinct(
    right: Owned, pairs: list[tuple[exp.Expr, exp.Expr]], columns: Columns, word: str
) -> tuple[Owned, list[tuple[exp.Expr, exp.Expr]]]:
    """One row for each person and what is compared, and the pairs with its columns."""
    if right.owner == "person" and not any(
        PERSON in columns.linked(here) & columns.linked(there) for here, there in pairs
    ):
        raise QueryError(
            f"{word} does not compare the columns that name the person, so that it may ask for rows of other people; "
            "write orders.customer_id = customers.id, and of tables along a path a sub-query that joins them"
        )
    named = [exp.alias_(there.copy(), f"c{i}", quoted=True) for i, (_, there) in enumerate(pairs)]
    select = exp.Select(expressions=named, distinct=exp.Distinct())
    grouped, body = group_rows(select, right, columns)
    return grouped, [(here, item.unalias()) for (here, _), item in zip(pairs, body.expressions, strict=True)]


def _marked(right: Owned, columns: Columns) -> tuple[Owned, str]:
    """The rows with a column that is 1, and so null where a LEFT JOIN has no partner."""
    marker = columns.add("matched", Field("int", None, None, nullable=False))
    computed = Computed(right.relation, {marker: (exp.Literal.number(1), "int")})
    return replace(right, relation=computed, names=right.names | {marker}), marker
