"""UNION ALL: the rows of both sides, each with its owner."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType
from discreet.query.expressions._bounded_keys import clamped
from discreet.query.expressions._types import Field
from discreet.query.relations._columns import PERSON, Columns, stored_field
from discreet.query.relations._nodes import Owned, Stacked, scans

__all__ = ["stack"]

Part = tuple[Owned, dict[str, exp.Expr]]


def stack(left: Part, right: Part, columns: Columns) -> Part:
    """The rows of two sub-queries under the names of the first. Raises `QueryError` unless their columns match."""
    (above, first), (below, second) = left, right
    if above.owner != below.owner:
        raise QueryError("UNION ALL takes tables of one kind: both about people, both of row units, or both public")
    _check_apart(above, below)
    if len(first) != len(second):
        raise QueryError(
            f"UNION ALL takes as many columns on one side as on the other; got {len(first)} and {len(second)}"
        )
    outputs: dict[str, exp.Expr] = {}
    types: dict[str, ColumnType] = {}
    parts: tuple[dict[str, exp.Expr], ...] = ({}, {})
    for (name, here), there in zip(first.items(), second.values(), strict=True):
        if PERSON in columns.linked(here) & columns.linked(there):
            added = columns.add(name, None, frozenset({PERSON}))
        else:
            above_about, below_about = stored_field(here, columns), stored_field(there, columns)
            common = _either(name, above_about, below_about)
            added = columns.add(name, common)
            types[added] = common.type
            parts[0][added] = _within(here, above_about, common)
            parts[1][added] = _within(there, below_about, common)
        outputs[name] = exp.column(exp.to_identifier(added, quoted=True))
    relation = Stacked(((above.relation, parts[0]), (below.relation, parts[1])), types, public=above.owner == "nobody")
    rows = above.rows if above.owner == "row" else above.rows + below.rows
    groups = above.groups if above.owner == "row" else above.groups + below.groups
    names = frozenset(column.name for column in outputs.values())
    return Owned(relation, above.owner, names, rows, groups), outputs


def _within(node: exp.Expr, own: Field, common: Field) -> exp.Expr:
    """A side's value, moved into its own bounds first where those of the column are wider."""
    if own.bounds is None or common.bounds is None or own.bounds == common.bounds:
        return node
    return clamped(node, own)


def _check_apart(above: Owned, below: Owned) -> None:
    """A row that is a person of its own has no cap that could hold back a second copy of it."""
    twice = sorted({scan.table for scan in scans(above.relation)} & {scan.table for scan in scans(below.relation)})
    if above.owner == "row" and twice:
        raise QueryError(
            f"UNION ALL reads {twice[0]} on both sides, so that one row of it could count twice; "
            'with unit = "rows" read it once, with OR in its WHERE'
        )


def _either(name: str, here: Field, there: Field) -> Field:
    numeric = {"int", "float", "decimal"}
    if here.type != there.type and not {here.type, there.type} <= numeric:
        raise QueryError(f"UNION ALL: {name} is a {here.type} on one side and a {there.type} on the other")
    kind = here.type if here.type == there.type else "float"
    bounds = None
    if here.bounds is not None and there.bounds is not None:
        bounds = min(here.bounds[0], there.bounds[0]), max(here.bounds[1], there.bounds[1])
    keys = None
    if here.keys is not None and there.keys is not None and here.type == there.type:
        keys = tuple(dict.fromkeys([*here.keys, *there.keys]))
    return Field(kind, bounds, keys, here.nullable or there.nullable, here.computed or there.computed)
