"""The parts of a fit of several tables: which rows are counted by what, and what of it is given when they are drawn.

- *first* rows: how many there are of a person, or of a row of another table, and the first of them.
- *next* rows: how each follows from the one before.
- *every* row: of tables without a history, by what is constant and by the row that it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from discreet.marginals import ColumnCells, column_cells
from discreet.marginals.conditions import column_names, condition
from discreet.policy import Column, Policy
from discreet.query import BoundedAggregate, RelatedKey, related_rows
from discreet.synth.related._shapes import Shape
from discreet.synth.rules import Rules

__all__ = ["KINDS", "Kind", "Part", "Role", "Which", "bounded_of", "parts_of", "rules_of", "shares_of"]

Which = Literal["every", "first", "next"]
Kind = Literal["own", "previous", "parent", "step", "number", "children"]
KINDS = ("own", "previous", "parent", "step", "number", "children")
_EACH = 32
_GROWTH = 1.15


class Role(NamedTuple):
    """What a column of a part is, as `discreet.query.RelatedKey` has it."""

    kind: Kind
    column: str


@dataclass(frozen=True, slots=True)
class Part:
    """One distribution: of which rows, and over which columns, the first `given` of which are given.

    Attributes
    ----------
    table, which
        Which rows.
    roles
        What each column is.
    columns
        Their cells.
    given
        How many of the columns are known of a row before it is drawn.
    most
        How many rows of one person count.
    """

    table: str
    which: Which
    roles: tuple[Role, ...]
    columns: tuple[ColumnCells, ...]
    given: int
    most: int

    @property
    def name(self) -> str:
        """A name in words."""
        return f"{self.table}: {self.which} row{'' if self.which == 'every' else 's'}"

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of columns that matter most: each with what it was before, the order with the number of rows."""
        at = {role: i for i, role in enumerate(self.roles)}
        pairs = [
            (at[Role("previous", name)], i)
            for (kind, name), i in at.items()
            if kind == "own" and Role("previous", name) in at
        ]
        number = at.get(Role("number", ""))
        for (kind, name), i in at.items():
            if kind == "step":
                pairs.append((at[Role("previous", name)], i))
            if kind == "own" and number is not None and i >= self.given:
                pairs.append((number, i))
        return tuple((min(each), max(each)) for each in pairs)

    def to_json(self) -> dict[str, Any]:
        """The part as plain JSON, but for the cells."""
        return {
            "table": self.table,
            "which": self.which,
            "roles": [list(role) for role in self.roles],
            "given": self.given,
            "most": self.most,
        }


def parts_of(policy: Policy, shapes: Sequence[Shape]) -> tuple[Part, ...]:
    """The parts of tables, in the order in which rows are drawn."""
    return tuple(part for shape in shapes for part in _parts(policy, shape, shapes))


def _parts(policy: Policy, shape: Shape, shapes: Sequence[Shape]) -> list[Part]:
    most = policy.tables[shape.table].rows_per_unit
    above = next((each for each in shapes if each.table == shape.parent), None)
    parent = (
        []
        if above is None
        else [_named(Role("parent", each.name), each, f"{above.table}.{each.name}") for each in above.columns]
    )
    children = [_number(Role("children", each.table), policy, each) for each in shapes if each.parent == shape.table]
    own = {each.name: (Role("own", each.name), each) for each in shape.columns}
    number = [] if most == 1 and above is None else [_number(Role("number", ""), policy, shape)]
    part = _Maker(shape.table)
    if shape.order is not None:
        per_person = 1 if shape.link is None else min(most, policy.tables[shape.parent or ""].rows_per_unit)
        given = [*parent, *number] if above is not None else []
        drawn = [*(number if above is None else []), *own.values(), *children]
        first = part.planned("first", given, drawn, per_person)
        before = [
            _named(Role("previous", name), own[name][1], f"previous {name}")
            for name in (shape.order, *shape.along, *shape.changing)
        ]
        constant = [own[name] for name in shape.constant]
        drawn = [_step(shape), *(own[name] for name in shape.changing), *children]
        return [first, part.planned("next", [*parent, *constant, *before], drawn, max(most // 2, 1))]
    parts: list[Part] = []
    constant = [own[name] for name in shape.constant]
    if constant or (above is None and number):
        per_person = 1 if shape.link is None else min(most, policy.tables[shape.parent or ""].rows_per_unit)
        given = [*parent, *number] if above is not None else []
        parts.append(part.planned("first", given, [*(number if above is None else []), *constant], per_person))
    drawn = [*(own[name] for name in shape.changing), *children]
    if drawn:
        parts.append(part.planned("every", [*parent, *constant], drawn, most))
    return parts


_Column = tuple[Role, ColumnCells]


@dataclass(frozen=True, slots=True)
class _Maker:
    table: str

    def planned(self, which: Which, given: Sequence[_Column], drawn: Sequence[_Column], most: int) -> Part:
        every = [*given, *drawn]
        return Part(
            self.table, which, tuple(role for role, _ in every), tuple(cells for _, cells in every), len(given), most
        )


def _named(role: Role, cells: ColumnCells, label: str) -> _Column:
    return role, replace(cells, name=label)


def _number(role: Role, policy: Policy, shape: Shape) -> _Column:
    """How many rows of a table belong to one row; or to one person, who has one at least."""
    return role, _integer(f"rows of {shape.table}", int(shape.parent is None), policy.tables[shape.table].rows_per_unit)


def _step(shape: Shape) -> _Column:
    assert shape.order is not None
    cells = shape.column(shape.order)
    return Role("step", shape.order), _integer(f"step of {shape.order}", 0, int(cells.upper - cells.lower))


def _integer(label: str, lower: int, upper: int) -> ColumnCells:
    """Cells of whole numbers: one for each of a few, else wider and wider ones."""
    column = Column(type="int", bounds=(lower, upper), nullable=False)
    if upper - lower < _EACH:
        return column_cells("", label, column)
    ends: list[int] = []
    end = lower + 1
    while end < upper:
        ends.append(end)
        end = max(end + 1, lower + round((end - lower) * _GROWTH))
    return column_cells("", label, column, ends)


def bounded_of(policy: Policy, part: Part, shape: Shape) -> BoundedAggregate:
    """What an engine counts for a part."""
    keys = [
        RelatedKey(kind, column, cells.coded, cells.name, cells.nullable)
        for (kind, column), cells in zip(part.roles, part.columns, strict=True)
    ]
    above = any(kind == "parent" for kind, _ in part.roles)
    return related_rows(
        policy, shape.table, keys, which=part.which, parent=shape.parent if above else None, order=shape.order,
        most=part.most,
    )  # fmt: skip


def rules_of(part: Part, rules: Rules) -> Rules:
    """The conditions that the part's own columns determine: cells without rows are left out when it is estimated."""
    own = [column for kind, column in part.roles if kind == "own"]
    following = tuple(each for each in rules.followers if set(each.given) <= set(own))
    known = {name.casefold() for name in (*own, *(each.name for each in following))}
    hard = [each for each in rules.hard if {name.casefold() for name in column_names(condition(each))} <= known]
    return Rules(hard=tuple(hard), followers=following)


def shares_of(parts: Sequence[Part]) -> tuple[Fraction, ...]:
    """How a spend is shared among parts: by how many columns are drawn, where several rows of a person count twice."""
    weights = [(len(part.columns) - part.given) * (1 if part.most == 1 else 2) for part in parts]
    return tuple(Fraction(weight, sum(weights)) for weight in weights)
