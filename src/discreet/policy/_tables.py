"""Tables and graphs: whose a row or an edge is, and how much of one person counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, model_validator

from discreet.errors import QueryError
from discreet.policy._column import Column
from discreet.policy._strict import AUTO, BoughtCap, Cap, StrictModel
from discreet.privacy import Relation

__all__ = ["DeclaredGraph", "PersonPath", "Table"]

_UNIT = (
    'unit: is missing: name the column that identifies a person, or say unit = "rows" if every row is another person, '
    'unit = "order_id -> orders.id" if another table knows whose a row is, or public = true if it is about nobody'
)
_KEY = (
    "key = {!r}: in a table about people it is one of its columns, whose values have one owner each, beside a unit "
    "that names the person or a path; leave it out"
)


@dataclass(frozen=True, slots=True)
class PersonPath:
    """Whose a row is when the table has no person of its own: those of the rows of `table` whose `key` is `column`."""

    column: str
    table: str
    key: str


class Table(StrictModel):
    """A table about people, or a public one.

    `unit` says whom a row belongs to: ``"rows"`` (every row is another person), the column that names the person, a
    path to the table that knows, ``"order_id -> orders.id"``, or ``"ends"`` (both ends of an edge, in a graph that
    protects people). A public table has no unit. `key` names the column, if there is one, that no two rows share; in a
    table about people it says that what the column names has one owner, so that a sub-query may group by it.
    ``max_rows = "auto"`` leaves the cap on rows of one person to each query, which chooses one for a part of its spend.
    """

    unit: Annotated[str, Field(min_length=1)] | None = None
    public: StrictBool = False
    key: str | None = None
    max_rows: BoughtCap | None = None
    max_groups: Cap | None = None
    columns: dict[str, Column]

    @model_validator(mode="after")
    def _check(self) -> Self:
        folded = [name.casefold() for name in self.columns]
        if len(set(folded)) != len(folded):
            raise ValueError("column names may not differ by case alone")
        if self.public:
            self._check_public()
        elif self.unit is None:
            raise ValueError(_UNIT)
        elif self.key is not None and (self.unit in ("ends", "rows") or self.key not in self.columns):
            raise ValueError(_KEY.format(self.key))
        elif self.unit == "ends":
            if self.max_rows is not None or self.max_groups is not None:
                raise ValueError(
                    'unit = "ends" is for the edges of a graph, which has no caps but max_degree: leave max_rows and '
                    "max_groups out; a column that names a person needs another name than ends"
                )
        elif self.unit == "rows":
            if (self.max_rows or 1) != 1 or (self.max_groups or 1) != 1:
                raise ValueError('with unit = "rows" every row is another person: leave max_rows and max_groups out')
        elif self.max_rows is None:
            whom = "person" if self.path else self.unit
            raise ValueError(
                f"max_rows is missing: say how many rows of one {whom} may count, for example max_rows = 5, "
                'or "auto" for a cap that each query buys; or, if every row is another person, unit = "rows"'
            )
        return self

    def _check_public(self) -> None:
        if not (self.unit is None and self.max_rows is None and self.max_groups is None):
            raise ValueError("a public table is about nobody: leave unit, max_rows and max_groups out")
        if self.key is not None and self.key not in self.columns:
            raise ValueError(f"key = {self.key!r} is not among the table's columns")

    @property
    def path(self) -> PersonPath | None:
        """The way to the table that knows whose a row is; None where the table has a person column or needs none."""
        if self.unit is None or "->" not in self.unit:
            return None
        column, _, target = (part.strip() for part in self.unit.partition("->"))
        table, _, key = (part.strip() for part in target.partition("."))
        return PersonPath(column, table, key)

    @property
    def person(self) -> str | None:
        """The table's own column that names the person, if it has one."""
        return None if self.unit in (None, "rows", "ends") or self.path else self.unit

    @property
    def by_ends(self) -> bool:
        """Whether a row is an edge that belongs to both its ends."""
        return self.unit == "ends"

    @property
    def by_rows(self) -> bool:
        """Whether every row is another person."""
        return self.unit == "rows"

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that say whose a row is, which need no entry under `columns`."""
        return tuple(name for name in (self.person, self.path and self.path.column) if name)

    @property
    def rows_per_unit(self) -> int:
        """The most rows that one unit contributes. Raises `QueryError` where each query chooses a cap of its own."""
        if self.max_rows == AUTO:
            raise QueryError(
                'max_rows = "auto" is a cap that a query in SQL chooses; for anything else write a number in the policy'
            )
        return 1 if self.max_rows is None else self.max_rows

    @property
    def buys_cap(self) -> bool:
        """Whether each query chooses a cap on rows of its own, for a part of its spend."""
        return self.max_rows == AUTO

    @property
    def groups_per_unit(self) -> int:
        """The most groups that one unit contributes to."""
        return min(self.rows_per_unit, self.max_groups or self.rows_per_unit)


class DeclaredGraph(StrictModel):
    """A graph whose edges are the rows of a table, and whom it protects: single edges, or people with all of theirs.

    `ends` are the two columns that hold the ends of an edge. `nodes` is the column, ``"people.id"``, whose public
    values are the vertices; the public values of the ends if it is not given. Under ``"edge"`` the vertices are public.
    Under ``"node"`` it is the column that names a person, and a vertex is a person who is there: a whole number between
    bounds, or a text, with keys or without. In a public table it lists everybody, and their edges alone are private.
    Loops and repeats do not count, nor does a direction unless the graph is `directed`, from the first end to the
    second: then one arc is protected. `max_degree` is, under ``"node"``, a public cap.
    """

    edges: str
    ends: Annotated[list[str], Field(min_length=2, max_length=2)]
    protects: Literal["edge", "node"]
    nodes: str | None = None
    directed: StrictBool = False
    max_degree: Cap | None = None

    @property
    def counts(self) -> Literal["people", "edges", "arcs"]:
        """Whose losses its ledger counts."""
        if self.protects == "node":
            return "people"
        return "arcs" if self.directed else "edges"

    def check(self, tables: Mapping[str, Table], relation: Relation) -> None:
        """Raise `ValueError` if it is about no such table or columns, or has no public vertices."""
        if self.edges not in tables or tables[self.edges].public:
            raise ValueError(f"edges = {self.edges!r} is no private table of the policy")
        table = tables[self.edges]
        if self.ends[0] == self.ends[1] or not all(end in table.columns for end in self.ends):
            raise ValueError(f"ends are two columns of {self.edges}, declared with their types")
        if self.protects == "edge":
            self._check_edges(table, relation)
        else:
            self._check_people(table, relation)
        home, _, column = (self.nodes or f"{self.edges}.{self.ends[0]}").partition(".")
        if home not in tables or column not in tables[home].columns:
            raise ValueError(f'nodes is a column of the policy, as "people.id", and {self.nodes!r} is none')
        public = column if tables[home].public else None
        if self.protects == "node" and self.nodes is not None and column not in (tables[home].person, public):
            raise ValueError(
                f"nodes names the people of a table, and a row of {home} is not of the person in {column}; name the "
                "unit of a table, or a column of a public table that lists everybody"
            )
        types = {tables[home].columns[column].type, *(table.columns[end].type for end in self.ends)}
        if len(types) > 1:
            raise ValueError(f"both ends and {home}.{column} must be of one type")
        for place, name in ((table, self.ends[0]), (table, self.ends[1]), (tables[home], column)):
            declared = place.columns[name]
            if declared.keys is None and not (declared.type == "int" and declared.bounds):
                if self.protects == "edge":
                    raise ValueError(
                        f"under edge privacy the vertices are public: give {name} keys, or bounds of whole numbers"
                    )
                if declared.type == "int":
                    raise ValueError(f"people who are whole numbers have public bounds: give {name} bounds, or keys")

    def _check_edges(self, table: Table, relation: Relation) -> None:
        if table.unit != "rows":
            raise ValueError(f'with protects = "edge" every row of {self.edges} is an edge: set its unit = "rows"')
        if relation != "add_remove":
            raise ValueError('graphs that differ in one edge are neighbours under relation = "add_remove" alone')
        if self.max_degree is not None:
            raise ValueError('max_degree is for protects = "node"; leave it out')

    def _check_people(self, table: Table, relation: Relation) -> None:
        if self.directed:
            raise ValueError(
                'directed = true is for protects = "edge": a person comes or goes with all arcs, out and in, so leave '
                "it out, and people who are joined either way are joined by one edge"
            )
        if not {table.columns[end].type for end in self.ends} <= {"int", "string"}:
            raise ValueError('with protects = "node" people are whole numbers or texts: declare the ends so')
        if not table.by_ends:
            raise ValueError(
                f'with protects = "node" a row of {self.edges} belongs to both its ends: set its unit = "ends"'
            )
        if relation != "add_remove":
            raise ValueError('a person comes or goes with all edges under relation = "add_remove" alone')
