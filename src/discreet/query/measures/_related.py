"""The rows of one table of several by cells: of their own columns, the row before, the row that they belong to.

What is counted of a history or of linked tables. Each row is of one person, by the functions of one person's rows that
relations are (``proofs/relations.md``), so that caps bound what a person does: ``proofs/synth_histories.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from discreet.policy import ColumnType, Key, Policy
from discreet.query.expressions._types import Field
from discreet.query.measures._bounded import BoundedAggregate, GroupKey
from discreet.query.measures._coded import Cut, cell_of
from discreet.query.measures._footprint import with_bounded_footprint
from discreet.query.relations._columns import Columns
from discreet.query.relations._joins import join
from discreet.query.relations._nodes import Computed, Filtered, Owned, Ranked, Relation, named

__all__ = ["RelatedKey", "related_rows"]

_MOST = Fraction(2**31)
_Cells = Sequence[Cut] | tuple[Key | None, ...]
_New = dict[str, tuple[exp.Expr, ColumnType]]
Which = Literal["every", "first", "next"]


@dataclass(frozen=True, slots=True)
class RelatedKey:
    """What rows are counted by, under the name `label`: the cells of one thing, as `coded_rows` takes them.

    Attributes
    ----------
    kind
        ``"own"``: a column of the row. ``"previous"``: the same of the row before. ``"parent"``: a column of the row
        that it belongs to. ``"step"``: how far the order column is from that of the row before, in whole numbers or
        days. ``"number"``: how many rows belong to the same row, or person, as this one. ``"children"``: how many rows
        of another table belong to it.
    column
        The column; of ``"children"`` the table, of ``"number"`` nothing.
    nullable
        Whether numbers have a last cell for null.
    """

    kind: Literal["own", "previous", "parent", "step", "number", "children"]
    column: str
    cells: _Cells
    label: str
    nullable: bool = False


def related_rows(  # noqa: PLR0913
    policy: Policy,
    table: str,
    keys: Sequence[RelatedKey],
    *,
    which: Which = "every",
    parent: str | None = None,
    order: str | None = None,
    once: int | None = None,
    most: int,
) -> BoundedAggregate:
    """The rows of a table that count, at most so many of one person, by keys.

    With a `parent`, on the policy's path or by the person, rows belong to rows of that table. They have an order among
    those that belong to the same row or, without a path, to the same person: that of a column, and then of their
    content. ``"first"`` are those that come first in it, ``"next"`` those that follow another. A row without a value in
    the order column does not count.

    Of the rows of one person with the same value of the key at the place `once`, one counts: that which comes first in
    the order of that key and then of the others.
    """
    building = _Building(policy, table, keys)
    building.read_own()
    if which != "every":
        building.rank(order, which)
    if parent is not None:
        building.join_parent(parent)
    if once is not None:
        building.keep_once(once)
    relation = building.owned.relation
    groups = tuple(building.key(i) for i in range(len(keys)))
    used = {*named(relation), *(column.name for key in groups for column in key.expression.find_all(exp.Column))}
    bounded = BoundedAggregate(
        relation=relation,
        unit=policy.unit(table).name,
        max_rows=most,
        max_groups=None,
        where=None,
        keys=groups,
        measures=(),
        columns=building.scope.fields,
        used=frozenset(used),
        count_units=False,
    )
    return with_bounded_footprint(bounded, policy)


@dataclass(slots=True)
class _Building:
    """A relation under way. `at` says for each key, by its place in `keys`, which column of the relation has it."""

    policy: Policy
    table: str
    keys: Sequence[RelatedKey]
    scope: Columns = field(default_factory=Columns)
    at: dict[int, str] = field(default_factory=dict)
    owned: Owned = field(init=False)
    nodes: dict[str, exp.Expr] = field(init=False)

    def __post_init__(self) -> None:
        self.owned, self.nodes = self._scan(self.table)

    def read_own(self) -> None:
        """The cells of the table's rows, and how many rows of other tables belong to each."""
        numbers = {i: self._number_of(key.column) for i, key in self._keys("children")}
        cells: _New = {}
        for i, key in self._keys("own", "previous"):
            twin = next(
                (self.at[j] for j, k in self._keys("own", "previous") if j in self.at and k.column == key.column), ""
            )
            self.at[i] = twin or self._celled(key, self.nodes[key.column], self.table, cells)
        for i, number in numbers.items():
            self.at[i] = self._counted(self.keys[i], number, cells)
        self._compute(cells)

    def rank(self, order: str | None, which: Which) -> None:
        """The rows that come first, or those that follow, with what the row before has and how far it is."""
        first: tuple[str, ...] = () if order is None else (self.nodes[order].name,)
        if order is not None and self.policy.tables[self.table].columns[order].nullable:
            missing = exp.Is(this=self.nodes[order].copy(), expression=exp.Null())
            self.owned = replace(self.owned, relation=Filtered(self.owned.relation, exp.Not(this=missing)))
        content = tuple(dict.fromkeys([*first, *self.at.values()]))
        lagged = [self.at[i] for i, _ in self._keys("previous")] + ([*first] if self._keys("step") else [])
        before = {name: self._before(name) for name in dict.fromkeys(lagged)}
        place, number = self._integer("place"), self._integer("number")
        previous = {new: name for name, new in before.items()}
        ranked = Ranked(self.owned.relation, self._within(self.table, self.nodes), content, place, number, previous)
        one = exp.Literal.number(1)
        test = (
            exp.EQ(this=_column(place), expression=one)
            if which == "first"
            else exp.GT(this=_column(place), expression=one)
        )
        self.owned = _over(self.owned, Filtered(ranked, test), [place, number, *previous])
        self.at |= {i: before[self.at[i]] for i, _ in self._keys("previous")}
        cells: _New = {}
        for i, key in self._keys("number"):
            self.at[i] = self._counted(key, _column(number), cells)
        for i, key in self._keys("step"):
            self.at[i] = self._counted(key, self._step(key.column, before[self.nodes[key.column].name]), cells)
        self._compute(cells)

    def join_parent(self, parent: str) -> None:
        """The rows with the columns of the row that each belongs to."""
        above, nodes = self._scan(parent)
        cells: _New = {}
        for i, key in self._keys("parent"):
            self.at[i] = self._celled(key, nodes[key.column], parent, cells)
        if cells:
            above = _over(above, Computed(above.relation, cells), cells)
        self.owned = join(self.owned, above, self._link(self.table, self.nodes, parent, nodes), self.scope, outer=False)

    def keep_once(self, i: int) -> None:
        """The first row of a person for each value of a key, or null: in the order of it, one that differs from the
        row before.
        """
        name = self.at[i]
        content = tuple(dict.fromkeys([name, *self.at.values()]))
        before, place, number = self._before(name), self._integer("place"), self._integer("number")
        self.scope.fields[before] = replace(self.scope.fields[before], nullable=True)
        ranked = Ranked(self.owned.relation, (), content, place, number, {before: name})
        missing = exp.Is(this=_column(before), expression=exp.Null())
        test = exp.Or(this=missing, expression=exp.NEQ(this=_column(name), expression=_column(before)))
        self.owned = _over(self.owned, Filtered(ranked, test), [place, number, before])

    def key(self, i: int) -> GroupKey:
        """A key as the aggregate has it."""
        key, name = self.keys[i], self.at[i]
        kind = self.scope.fields[name].type
        public = tuple(each for each in key.cells if not isinstance(each, Cut))
        values = public or self.scope.fields[name].keys
        return GroupKey(key.label, values, _column(name), kind)

    def _keys(self, *kinds: str) -> list[tuple[int, RelatedKey]]:
        return [(i, key) for i, key in enumerate(self.keys) if key.kind in kinds]

    def _scan(self, table: str) -> tuple[Owned, dict[str, exp.Expr]]:
        scan, nodes = self.scope.scan(self.policy, table)
        return Owned(scan, "person", frozenset(scan.columns), self.policy.tables[table].rows_per_unit), nodes

    def _number_of(self, child: str) -> exp.Expr:
        """How many rows of a table belong to each row: null where there are none."""
        rows, nodes = self._scan(child)
        place, number = self._integer("place"), self._integer("number")
        ranked = Ranked(rows.relation, self._within(child, nodes), (), place, number, {})
        first = Filtered(ranked, exp.EQ(this=_column(place), expression=exp.Literal.number(1)))
        counted = _over(rows, first, [place, number])
        self.owned = join(self.owned, counted, self._link(child, nodes, self.table, self.nodes), self.scope, outer=True)
        self.scope.fields[number] = replace(self.scope.fields[number], nullable=True)
        return _column(number)

    def _within(self, table: str, nodes: Mapping[str, exp.Expr]) -> tuple[str, ...]:
        path = self.policy.tables[table].path
        return () if path is None else (nodes[path.column].name,)

    def _link(self, child: str, nodes: Mapping[str, exp.Expr], parent: str, above: Mapping[str, exp.Expr]) -> exp.Expr:
        """The equality by which rows of a table belong to rows of another."""
        here, there = self.policy.tables[child], self.policy.tables[parent]
        if here.path is not None:
            return exp.EQ(this=nodes[here.path.column].copy(), expression=above[here.path.key].copy())
        assert here.person is not None
        assert there.person is not None
        return exp.EQ(this=nodes[here.person].copy(), expression=above[there.person].copy())

    def _integer(self, wanted: str) -> str:
        return self.scope.add(wanted, Field("int", (Fraction(0), _MOST), None, nullable=False))

    def _before(self, name: str) -> str:
        """A column for what the row before has in another; there is one in each row that is left."""
        return self.scope.add(f"previous {name}", self.scope.fields[name])

    def _step(self, order: str, before: str) -> exp.Expr:
        """How far a row is from the one before."""
        declared, here = self.policy.tables[self.table].columns[order], self.nodes[order].copy()
        name = self._integer("step")
        far: exp.Expr = exp.Sub(this=here, expression=_column(before))
        if declared.type == "date":
            far = exp.DateDiff(this=here, expression=_column(before), unit=exp.var("DAY"), date_part_boundary=True)
        self._compute({name: (far, "int")})
        return _column(name)

    def _celled(self, key: RelatedKey, node: exp.Expr, table: str, cells: _New) -> str:
        """The column that has a key: one of the table, or a new one for cells of numbers."""
        declared = self.policy.tables[table].columns[key.column]
        cuts = [each for each in key.cells if isinstance(each, Cut)]
        if len(cuts) < len(key.cells):
            return node.name
        name = self._cell_column(key.column, len(cuts) + 1 + key.nullable)
        cells[name] = cell_of(node, cuts, declared.type, nullable=key.nullable), "int"
        return name

    def _counted(self, key: RelatedKey, number: exp.Expr, cells: _New) -> str:
        """A new column for the cell of a whole number, or of 0 where it is null."""
        cuts = [each for each in key.cells if isinstance(each, Cut)]
        name = self._cell_column(key.label, len(cuts) + 1)
        missing = exp.If(this=exp.Is(this=number.copy(), expression=exp.Null()), true=exp.Literal.number(0))
        cells[name] = exp.Case(ifs=[missing], default=cell_of(number, cuts, "int", nullable=False)), "int"
        return name

    def _cell_column(self, label: str, count: int) -> str:
        return self.scope.add(f"cell of {label}", Field("int", None, tuple(range(count)), nullable=False))

    def _compute(self, cells: _New) -> None:
        if cells:
            self.owned = _over(self.owned, Computed(self.owned.relation, cells), cells)


def _over(owned: Owned, relation: Relation, names: Iterable[str]) -> Owned:
    return replace(owned, relation=relation, names=owned.names | frozenset(names))


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))
