"""A SELECT without aggregates as rows to be counted by public cells: recodes, and columns of joined rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.query._planner import canonical_select, check_depths, group_key, refusals
from discreet.query._records import check_clauses
from discreet.query.expressions._narrowing import Narrowing
from discreet.query.expressions._types import Field, check_predicate, nullable
from discreet.query.measures._bounded import BoundedAggregate, GroupKey
from discreet.query.measures._coded import CodedCells, Cut, cell_of
from discreet.query.measures._footprint import with_bounded_footprint
from discreet.query.parse._ibis import Query, text_of
from discreet.query.parse._parse import check_understood, parse
from discreet.query.passes._conjuncts import conjuncts
from discreet.query.relations._binder import Binder
from discreet.query.relations._columns import Columns, stored_field
from discreet.query.relations._nodes import Computed, named, scans
from discreet.recursion import with_room

__all__ = ["SelectedRows", "select_rows"]

_MOST_COLUMNS = 200
_USUAL = "as in SELECT p.block, p.age, h.kind FROM people p JOIN households h ON p.household = h.id"


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The rows of a SELECT as they were checked, by the policy and the query alone.

    Attributes
    ----------
    columns
        What is publicly known of each column, by its name in the query.
    rows
        Which rows there are; they are counted by no key yet.
    nodes
        The expression that each column stands for.
    keys
        Of columns of public values how rows are grouped by them.
    identifiers
        Columns that say whose a row is.
    policy
        What they were checked under.
    """

    columns: Mapping[str, Field]
    rows: BoundedAggregate
    nodes: Mapping[str, exp.Expr]
    keys: Mapping[str, GroupKey]
    identifiers: frozenset[str]
    policy: Policy

    def coded(self, columns: Mapping[str, CodedCells]) -> BoundedAggregate:
        """The rows by cells of some columns, as `coded_rows` has those of a table."""
        scope = Columns(fields=dict(self.rows.columns))
        for name in self.rows.columns:
            scope.reserve(name)
        computed, keys = dict[str, tuple[exp.Expr, object]](), list[GroupKey]()
        for name, cells in columns.items():
            cuts, field = [each for each in cells if isinstance(each, Cut)], self.columns[name]
            if len(cuts) < len(cells):
                public = tuple(each for each in cells if not isinstance(each, Cut))
                key = self.keys.get(name) or GroupKey(name, None, self.nodes[name], field.type)
                keys.append(replace(key, name=name, values=public))
                continue
            values = tuple(range(len(cuts) + 1 + field.nullable))
            cell = scope.add(f"cell of {name}", Field("int", None, values, nullable=False))
            computed[cell] = cell_of(self.nodes[name], cuts, field.type, nullable=field.nullable), "int"
            keys.append(GroupKey(name, values, exp.column(exp.to_identifier(cell, quoted=True)), "int"))
        read = {node.name for name in columns for node in self.nodes[name].find_all(exp.Column)}
        where = self.rows.where
        filtering = set[str]() if where is None else {node.name for node in where.find_all(exp.Column)}
        bounded = replace(
            self.rows,
            relation=Computed(self.rows.relation, computed) if computed else self.rows.relation,  # pyright: ignore[reportArgumentType]
            keys=tuple(keys),
            columns=scope.fields,
            used=frozenset({*named(self.rows.relation), *read, *filtering}),
        )
        return with_bounded_footprint(bounded, self.policy)


@with_room
def select_rows(query: Query, policy: Policy) -> SelectedRows:
    """Check a SELECT without aggregates whose rows are to be counted. Costs nothing and touches no data.

    Its columns may be computed, and come from tables that are joined as the policy allows. Of one person as many rows
    count as caps allow. Raises `QueryError` for what is not supported.

    >>> from discreet.policy import load_policy
    >>> columns = {"age": {"type": "int", "bounds": [0, 99]}, "site": {"type": "string", "keys": ["a", "b"]}}
    >>> policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}}
    >>> rows = select_rows("SELECT age, site, CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS stage FROM t",
    ...                    load_policy(policy))
    >>> {name: field.keys for name, field in rows.columns.items()}
    {'age': None, 'site': ('a', 'b'), 'stage': ('child', 'adult')}
    """
    with refusals():
        return _selected(parse(text_of(query)), policy)


def _selected(select: exp.Select, policy: Policy) -> SelectedRows:
    check_clauses(select, "rows that are counted", _USUAL, most=_MOST_COLUMNS)
    binder = Binder(policy)
    bound, scope, select = binder.read(select)
    if bound.owner == "nobody":
        raise QueryError("the query reads public tables alone: count them directly, they need no noise")
    select, columns = canonical_select(select, scope), binder.columns
    check_depths(select, bound.relation)
    where = select.args.get("where")
    if where is not None:
        columns.check(where)
        check_predicate(where.this, columns.fields)
    certain = () if where is None else conjuncts(where.this)
    narrowing = Narrowing(certain, columns.fields, nulls_only=True)
    nodes, fields, keys = dict[str, exp.Expr](), dict[str, Field](), dict[str, GroupKey]()
    for item in select.expressions:
        name, node = item.alias_or_name, item.unalias().unnest()
        columns.check(item)
        if not any(node.find_all(exp.Column)):
            raise QueryError(f"{name} is the same on every row: leave it out")
        if name.casefold() in {each.casefold() for each in nodes}:
            raise QueryError(f"two columns are called {name}; name one of them otherwise with AS")
        nodes[name], fields[name] = node, stored_field(node, columns)
        if fields[name].keys is None and fields[name].type not in ("bool", "string"):
            continue
        key = group_key(node, columns, narrowing)
        if key.values is not None:
            public = tuple(value for value in key.values if value is not None)
            may_be_null = None in key.values or nullable(node, columns.fields)
            fields[name], keys[name] = Field(key.type, None, public, may_be_null), key
    rows = BoundedAggregate(
        relation=bound.relation,
        unit=policy.unit(next(each.table for each in scans(bound.relation) if not each.public)).name,
        max_rows=bound.rows,
        max_groups=None,
        where=None if where is None else where.this,
        keys=(),
        measures=(),
        columns=columns.fields,
        used=frozenset(),
        count_units=False,
    )
    check_understood(select)
    identifiers = frozenset(name for name, node in nodes.items() if columns.linked(node))
    return SelectedRows(fields, rows, nodes, keys, identifiers, policy)
