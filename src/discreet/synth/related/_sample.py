"""Sample people with all their rows: each row on the condition of the row before and of the row that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.marginals import ColumnCells, PublicStream, places_of, sample_given
from discreet.synth._table import SyntheticTable
from discreet.synth.related._keeping import people_that_keep
from discreet.synth.related._parts import Part, Role
from discreet.synth.related._rows import Rows, Values, tables_of
from discreet.synth.related._shapes import Shape

__all__ = ["sample_tables"]

Cells = NDArray[np.int64]


def sample_tables(
    shapes: Sequence[Shape], parts: Sequence[Part], fits: Sequence[SyntheticTable], people: int, name: bytes
) -> dict[str, pa.Table]:
    """The rows of each table, for so many people; a public function of all that is given.

    People are drawn on the condition that all their rows keep the rules: those of whom one does not are drawn anew.
    """
    stream = PublicStream(name)

    def draw(many: int) -> dict[str, Rows]:
        return _all_drawn(shapes, parts, fits, many, stream)

    if not any(shape.rules.hard for shape in shapes):
        return tables_of(shapes, draw(people))
    return people_that_keep(shapes, people, draw)


def _all_drawn(
    shapes: Sequence[Shape],
    parts: Sequence[Part],
    fits: Sequence[SyntheticTable],
    people: int,
    stream: PublicStream,
) -> dict[str, Rows]:
    numbers = {role: cells for part in parts for role, cells in zip(part.roles, part.columns, strict=True)}
    sampled: dict[str, Rows] = {}
    for shape in shapes:
        own = {part.which: (part, fit) for part, fit in zip(parts, fits, strict=True) if part.table == shape.table}
        drawing = _Drawing(
            shape,
            {which: _Drawn(part, fit, stream) for which, (part, fit) in own.items()},
            numbers.get(Role("children", shape.table)),
        )
        sampled[shape.table] = drawing.rows(None if shape.parent is None else sampled[shape.parent], people)
    return sampled


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One part, from which cells are drawn."""

    part: Part
    fit: SyntheticTable
    stream: PublicStream

    def column(self, role: Role) -> ColumnCells:
        return self.part.columns[self.part.roles.index(role)]

    def draw(self, known: Mapping[Role, Cells], rows: int) -> dict[Role, Values]:
        """The columns of so many rows that are not given, on the condition of those that are."""
        roles, given = self.part.roles, self.part.given
        fixed = {i: self.fit.merges[i].places[known[roles[i]]] for i in range(given)}
        merged = sample_given(self.fit.model, fixed, rows, self.stream)
        return {roles[i]: self._spread(i, merged[i]) for i in range(given, len(roles))}

    def _spread(self, i: int, merged: Cells) -> Values:
        """A public cell for each merged one, and a place in it, in shares as even as can be."""
        merge = self.fit.merges[i]
        order = self.stream.order(merged.size)
        along = order[np.argsort(merged[order], kind="stable")]
        held = merged[along]
        numbers = np.bincount(held, minlength=merge.size)
        ranks = np.arange(held.size) - (np.cumsum(numbers) - numbers)[held]
        cells, within = np.empty(held.size, np.int64), np.empty(held.size)
        spread = merge.spread(held, places_of(ranks, i, self.stream.uniform(merge.size)[held]))
        cells[along], within[along] = spread
        return Values(cells, within)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The rows of one table under way; `number` are the cells of how many belong to one row of the parent."""

    shape: Shape
    parts: Mapping[str, _Drawn]
    number: ColumnCells | None

    def rows(self, parent: Rows | None, people: int) -> Rows:
        """The rows of people, or of the rows of the parent."""
        if parent is None:
            above, known, number = np.arange(people), dict[Role, Cells](), None
        else:
            known = {Role("parent", name): each.cells for (kind, name), each in parent.drawn.items() if kind == "own"}
            number = parent.drawn[Role("children", self.shape.table)]
            above = np.arange(number.cells.size)
        firsts: dict[Role, Values] = {}
        counts = np.ones(above.size, np.int64)
        if number is not None:
            assert self.number is not None
            counts = steps_of(self.number, number)
        if "first" in self.parts:
            inside = np.flatnonzero(counts > 0)
            above, counts = above[inside], counts[inside]
            known = {role: cells[inside] for role, cells in known.items()}
            if number is not None:
                known[Role("number", "")] = number.cells[inside]
            firsts = self.parts["first"].draw(_wanted(self.parts["first"], known), above.size)
            if number is None:
                counts = steps_of(self.parts["first"].column(Role("number", "")), firsts[Role("number", "")])
        if self.shape.order is not None:
            return _History(self.shape, self.parts["next"], known, above).rows(firsts, counts)
        repeated = np.repeat(np.arange(above.size), counts)
        drawn = {role: each.at(repeated) for role, each in firsts.items() if role.kind != "number"}
        if "every" in self.parts:
            known = {role: cells[repeated] for role, cells in known.items()}
            known |= {role: each.cells for role, each in drawn.items()}
            drawn |= self.parts["every"].draw(_wanted(self.parts["every"], known), repeated.size)
        return Rows(above[repeated], drawn)


def _wanted(part: _Drawn, known: Mapping[Role, Cells]) -> dict[Role, Cells]:
    return {role: known[role] for role in part.part.roles[: part.part.given]}


@dataclass(frozen=True, slots=True)
class _History:
    """The rows of a table with an order, of several owners at a time: `known` and `above` are those of each owner."""

    shape: Shape
    following: _Drawn
    known: Mapping[Role, Cells]
    above: Cells

    def rows(self, first: Mapping[Role, Values], counts: Cells) -> Rows:
        """All rows, from the first ones and how many there are; fewer where the order has no more places."""
        shape, order = self.shape, self.shape.column(self.shape.order or "")
        least = 0 if shape.repeats else 1
        lower, upper = _ends(order)
        if not shape.repeats:
            counts = np.minimum(counts, upper - lower + 1)
        place = np.minimum(steps_of(order, first[Role("own", order.name)]), upper - (counts - 1) * least)
        start = place
        owners = np.arange(self.above.size)
        latest = {role: each for role, each in first.items() if role.kind != "number"}
        latest[Role("own", order.name)] = at_steps(order, place)
        begun = {name: latest[Role("own", name)] for name in shape.along}
        collected = [(owners, latest)]
        for turn in range(2, int(counts.max(initial=1)) + 1):
            inside = np.flatnonzero(counts[owners] >= turn)
            if not inside.size:
                break
            owners, place = owners[inside], place[inside]
            latest = {role: each.at(inside) for role, each in latest.items()}
            drawn = self.following.draw(self._given(latest, owners), owners.size)
            step = steps_of(self.following.column(Role("step", order.name)), drawn.pop(Role("step", order.name)))
            room = upper - place - (counts[owners] - turn) * least
            place = place + np.clip(step, least, np.maximum(room, least))
            latest = {**latest, **drawn, Role("own", order.name): at_steps(order, place)}
            for name in shape.along:
                latest[Role("own", name)] = moved(shape.column(name), begun[name].at(owners), place - start[owners])
            collected.append((owners, latest))
        owner = np.concatenate([each for each, _ in collected])
        sort = np.argsort(owner, kind="stable")
        drawn = {
            role: Values(
                np.concatenate([each[role].cells for _, each in collected])[sort],
                np.concatenate([each[role].places for _, each in collected])[sort],
            )
            for role in latest
        }
        return Rows(self.above[owner[sort]], drawn)

    def _given(self, latest: Mapping[Role, Values], owners: Cells) -> dict[Role, Cells]:
        part = self.following.part
        given: dict[Role, Cells] = {}
        for role in part.roles[: part.given]:
            own = Role("own", role.column)
            given[role] = self.known[role][owners] if role.kind == "parent" else latest[own].cells
        return given


def steps_of(column: ColumnCells, values: Values) -> Cells:
    """Numbers as whole numbers of steps of their grid; of null any."""
    points = column.points[np.minimum(values.cells, column.valued - 1)]
    return points[:, 0] + np.minimum((values.places * points[:, 1]).astype(np.int64), points[:, 1] - 1)


def at_steps(column: ColumnCells, steps: Cells) -> Values:
    """The values that are so many steps of the grid."""
    cells = np.searchsorted(column.points[:, 0], steps, side="right") - 1
    points = column.points[cells]
    return Values(cells.astype(np.int64), (steps - points[:, 0] + 0.5) / points[:, 1])


def moved(column: ColumnCells, values: Values, by: Cells) -> Values:
    """Numbers that are so many steps further, within the bounds; null stays."""
    lower, upper = _ends(column)
    there = at_steps(column, np.clip(steps_of(column, values) + by, lower, upper))
    missing = values.cells == column.valued
    return Values(np.where(missing, values.cells, there.cells), np.where(missing, values.places, there.places))


def _ends(column: ColumnCells) -> tuple[int, int]:
    points = column.points
    return int(points[0, 0]), int(points[-1].sum() - 1)
