"""The columns of a query's relations, each under a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.query.expressions._domains import Work, domain, key_type
from discreet.query.expressions._intervals import interval, moment_bounds
from discreet.query.expressions._types import Field, Row, check_scalar, nullable
from discreet.query.relations._nodes import Scan

__all__ = ["PERSON", "Columns", "field_of", "stored_field"]


PERSON = "person"
"""The link that a table's person column is; any other is the column of a table at which a path arrives."""


@dataclass(slots=True)
class Columns:
    """What is known of every column so far.

    `fields` are those that expressions may use. `links` say of a column what it identifies; a column that has links and
    no field, because the policy does not list it, can join, group a sub-query, and be counted as people, no more.
    `work` counts the public values that were listed for expressions over them, and `bounded_work` those over columns
    that are moved into their bounds.
    """

    fields: dict[str, Field] = field(default_factory=dict)
    links: dict[str, frozenset[str]] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    work: Work = field(default_factory=Work)
    bounded_work: Work = field(default_factory=Work)
    _taken: set[str] = field(default_factory=set)
    _may_be_missing: set[str] = field(default_factory=set)

    def table_of(self, node: exp.Expr) -> str:
        """The table of the first column of an expression that has no bounds, to say where to add them."""
        names = [column.name for column in node.find_all(exp.Column)]
        unbounded = (n for n in names if n in self.tables and n in self.fields and self.fields[n].bounds is None)
        return next((self.tables[n] for n in unbounded), "NAME")

    @property
    def people(self) -> frozenset[str]:
        """The columns that name the person."""
        return frozenset(name for name, links in self.links.items() if PERSON in links)

    def add(self, wanted: str, field: Field | None, links: frozenset[str] = frozenset()) -> str:
        """A name for a new column, as near to the wanted one as is free.

        No two names differ in case alone: to an engine they would be one.
        """
        name, n = wanted, 1
        while name.casefold() in self._taken:
            n += 1
            name = f"{wanted}_{n}"
        self._taken.add(name.casefold())
        if field is not None:
            self.fields[name] = field
        self.links[name] = links
        return name

    def reserve(self, name: str) -> None:
        """Let no new column have a name that one has already."""
        self._taken.add(name.casefold())

    def scan(self, policy: Policy, table: str) -> tuple[Scan, dict[str, exp.Expr]]:
        """A table of the policy, and for each of its columns the expression that stands for it.

        Raises `QueryError` for the edges of a graph that protects people.
        """
        policy.refuse_edges(table)
        declaration = policy.tables[table]
        arrivals = policy.linked_by(table)
        names: dict[str, str] = {}
        for column in dict.fromkeys([*declaration.columns, *declaration.hidden, *arrivals]):
            links = {f"{table}.{column}"} if column in arrivals else set[str]()
            if column == declaration.person:
                links.add(PERSON)
            if declaration.path is not None and column == declaration.path.column:
                links.add(f"{declaration.path.table}.{declaration.path.key}")
            if column == declaration.key and not declaration.public:
                links.add(f"{table}.{column}")
            declared = declaration.columns.get(column)
            fields = None
            if declared is not None:
                fields = Field.from_column(declared)
            names[column] = self.add(column, fields, frozenset(links))
            self.tables[names[column]] = table
        key = None if declaration.key is None or not declaration.public else names[declaration.key]
        scan = Scan(table, {name: column for column, name in names.items()}, declaration.public, key)
        return scan, {column: exp.column(exp.to_identifier(name, quoted=True)) for column, name in names.items()}

    def linked(self, node: exp.Expr) -> frozenset[str]:
        """What an expression identifies; nothing unless it is a column."""
        inner = node.unnest()
        return self.links.get(inner.name, frozenset()) if isinstance(inner, exp.Column) else frozenset()

    def determines_owner(self, node: exp.Expr) -> bool:
        """Whether rows that agree in a column are of one owner: the person, the end of a path, or a declared key."""
        inner = node.unnest()
        return bool(self.linked(inner)) and inner.name not in self._may_be_missing

    def forget_people(self, names: Mapping[str, exp.Expr]) -> None:
        """Columns that may be null beside an owner, as after LEFT JOIN, no longer say who it is."""
        for node in names.values():
            for column in node.find_all(exp.Column):
                self.links[column.name] = self.links[column.name] - {PERSON}
                self._may_be_missing.add(column.name)
                if column.name in self.fields:
                    field = self.fields[column.name]
                    keys = field.keys
                    if keys is not None and field.computed and None not in keys:
                        keys = (*keys, None)
                    self.fields[column.name] = replace(field, keys=keys, nullable=True)

    def check(self, tree: exp.Expr) -> None:
        """Raise `QueryError` if an expression uses a column that only says whose a row is."""
        for column in tree.find_all(exp.Column):
            if column.name not in self.fields and column.name in self.links and not self._is_counted(column):
                uses = (
                    f"it can join tables, group a sub-query and be counted with COUNT(DISTINCT {column.name})"
                    if PERSON in self.links[column.name]
                    else "it can join tables"
                )
                raise QueryError(
                    f"{column.name} says whose a row is: {uses}; to use it otherwise, list it among the columns in the "
                    "policy"
                )

    def _is_counted(self, column: exp.Column) -> bool:
        """Whether a column is a person that COUNT(DISTINCT …) counts."""
        above = column.parent
        while isinstance(above, exp.Paren):
            above = above.parent
        counted = isinstance(above, exp.Distinct) and isinstance(above.parent, exp.Count)
        return counted and PERSON in self.links[column.name]


def field_of(node: exp.Expr, columns: Columns) -> Field:
    """The type, bounds, keys and nullability of an expression. Raises `QueryError` if it is not supported."""
    columns.check(node)
    inner = node.unnest()
    if isinstance(inner, exp.Column):
        return columns.fields[inner.name]
    kind = check_scalar(node, columns.fields)
    if kind == "null":
        raise QueryError(f"{node.sql()} is always null; leave it out")
    may_be_null = nullable(node, columns.fields)
    if kind != "number":
        keys = domain(node, columns.fields, columns.work)
        return Field(kind, moment_bounds(node, columns.fields), keys, may_be_null, computed=True)
    try:
        limits = interval(node, columns.fields, columns.table_of(node))
        bounds = (limits.lower, limits.upper)
    except QueryError:
        bounds = None
    try:
        key_type(node, columns.fields)
    except QueryError:
        return Field("float", bounds, None, may_be_null)
    return Field("int", bounds, domain(node, columns.fields, columns.work), may_be_null, computed=True)


def stored_field(node: exp.Expr, columns: Columns) -> Field:
    """As `field_of`, of an expression that is computed from columns as they are on the row, not clamped."""
    field = field_of(node, columns)
    return (
        field
        if isinstance(node.unnest(), exp.Column)
        else replace(field, nullable=Row(columns.fields, clamped=False).nullable(node))
    )
