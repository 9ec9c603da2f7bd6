"""SEMI and ANTI JOIN: the rows that have a partner of the same person, or among public rows, and those that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import check_predicate
from discreet.query.passes._conjuncts import conjunction
from discreet.query.relations._columns import PERSON, Columns
from discreet.query.relations._joins import sides_of
from discreet.query.relations._nodes import Owned, SemiJoined, stored_names

__all__ = ["semi_join"]


def semi_join(
    left: Owned, right: Owned, parts: Sequence[exp.Expr], columns: Columns, word: str, *, missing: bool = False
) -> Owned:
    """The rows of the left that have a partner on the right, or with `missing` those that have none, each once.

    A partner satisfies all `parts`. On the right stand public rows, or rows that an equality of `parts` ties to the
    same person; the others may compare anything. `word` is what the query calls it. Raises `QueryError` for rows of
    other people.
    """
    links: list[tuple[str, str]] = []
    rest: list[exp.Expr] = []
    same = False
    stored = frozenset(stored_names(left.relation)) | frozenset(stored_names(right.relation))
    for part in parts:
        sides = sides_of(part, left, right)
        shared = columns.linked(sides[0]) & columns.linked(sides[1]) if sides else frozenset[str]()
        same = same or bool(shared)
        if sides and shared and PERSON not in shared and {side.unnest().name for side in sides} <= stored:
            links.append((sides[0].unnest().name, sides[1].unnest().name))
        elif not (sides and PERSON in shared and "person" == left.owner == right.owner):
            columns.check(part)
            rest.append(part)
    _check_owners(left, right, word, same=same)
    condition = conjunction(rest)
    if condition is not None:
        check_predicate(condition, columns.fields)
    written = conjunction(parts) or exp.true()
    relation = SemiJoined(left.relation, right.relation, tuple(links), condition, missing, written)
    return replace(left, relation=relation)


def _check_owners(left: Owned, right: Owned, word: str, *, same: bool) -> None:
    if right.owner == "nobody":
        return
    if left.owner == "nobody":
        raise QueryError(
            f"{word} asks of a public table's rows whether anybody has one: those that are left would tell of people; "
            "put the table about people first, and join the public one to it"
        )
    if "row" in (left.owner, right.owner):
        raise QueryError(
            'a table with unit = "rows" cannot be joined to another private table: every row of it is another person'
        )
    if not same:
        raise QueryError(
            f"{word} does not tie its rows to those of the same person, so that it may ask for rows of other people; "
            "compare the columns that name the person, or those of a path that the policy declares, as in "
            "orders.customer_id = customers.id; what is true of other people has to be asked for in a query of its own"
        )
