"""SEMI and ANTI JOIN: the rows that have a partner of the same person or a public one, and those that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.expressions._types import check_predicate
from discreet.query.passes._conjuncts import conjunction
from discreet.query.relations._columns import PERSON, Columns
from discreet.query.relations._joins import sides_of
from discreet.query.relations._nodes import Owned, SemiJoined, stored_names

__all__ = ["Tied", "semi_join"]


@dataclass(frozen=True, slots=True)
class Tied:
    """The rows of a table or sub-query, the conditions that tie them to others, and what the query calls it."""

    right: Owned
    ties: Sequence[exp.Expr]
    word: str


def semi_join(left: Owned, tied: Tied, columns: Columns, *, missing: bool) -> Owned:
    """The rows of the left that have a partner on the right, or with `missing` those that have none, each once.

    A partner satisfies all ties. On the right stand public rows, or rows that an equality ties to the same person; the
    other ties may compare anything. Raises `QueryError` for rows of other people.
    """
    right = tied.right
    links: list[tuple[str, str]] = []
    rest: list[exp.Expr] = []
    same = False
    stored = frozenset(stored_names(left.relation)) | frozenset(stored_names(right.relation))
    for part in tied.ties:
        sides = sides_of(part, left, right)
        shared = columns.linked(sides[0]) & columns.linked(sides[1]) if sides else frozenset[str]()
        same = same or bool(shared)
        if sides and shared and PERSON not in shared and {side.unnest().name for side in sides} <= stored:
            links.append((sides[0].unnest().name, sides[1].unnest().name))
        elif not (sides and PERSON in shared and "person" == left.owner == right.owner):
            columns.check(part)
            rest.append(part)
    _check_owners(left, right, tied.word, same=same)
    condition = conjunction(rest)
    if condition is not None:
        check_predicate(condition, columns.fields)
    written = conjunction(tied.ties) or exp.true()
    pairs = any(sides_of(part, left, right) is None and _reads_both(part, left, right) for part in rest)
    relation = SemiJoined(left.relation, right.relation, tuple(links), condition, missing, written, pairs)
    return replace(left, relation=relation)


def _reads_both(part: exp.Expr, left: Owned, right: Owned) -> bool:
    names = {column.name for column in part.find_all(exp.Column)}
    return bool(names & left.names and names & right.names)


def _check_owners(left: Owned, right: Owned, word: str, *, same: bool) -> None:
    if right.owner == "nobody":
        return
    if left.owner == "nobody":
        raise QueryError(
            f"{word} asks of a public table's rows whether anybody has one: those that are left would tell of people; "
            "write the table about people first, and join the public one to it"
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
