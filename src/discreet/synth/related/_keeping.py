"""People all of whose rows keep the rules of their tables: those who do not are drawn anew, with all their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.marginals.conditions import rows_that_keep
from discreet.synth.related._rows import Rows, Values, persons_of, tables_of
from discreet.synth.related._shapes import Shape
from discreet.synth.rows._rows import public_rows
from discreet.synth.rules import BoundRules

__all__ = ["people_that_keep"]

_ANEW = 64
"""How often people are drawn anew."""
_FEWEST = 256
Cells = NDArray[np.int64]


def people_that_keep(
    shapes: Sequence[Shape], people: int, draw: Callable[[int], Mapping[str, Rows]]
) -> dict[str, pa.Table]:
    """So many people of those whom `draw` gives, each with rows that keep the rules alone.

    Where too few do after 64 draws, some are there twice. Where none does, people have one row each of which only the
    rules are known, which keeps them, and no rows of other tables.
    """
    batches = [_keeping_people(shapes, draw(people), people)]
    missing = people - _people(shapes, batches[0])
    for _ in range(_ANEW):
        if missing == 0:
            break
        batches.append(_keeping_people(shapes, draw(max(missing, _FEWEST)), missing))
        missing -= _people(shapes, batches[-1])
    there = people - missing
    if people and not there:
        return _of_rules_alone(shapes, people)
    joined = _joined(shapes, batches)
    return tables_of(shapes, joined if missing == 0 else _chosen(shapes, joined, np.arange(people) % there))


def _keeping_people(shapes: Sequence[Shape], drawn: Mapping[str, Rows], most: int) -> dict[str, Rows]:
    """The first people, all of whose rows keep the rules; each has a row of the first table at least."""
    persons, tables = persons_of(shapes, drawn), tables_of(shapes, drawn)
    keep = np.ones(_people(shapes, drawn), bool)
    for shape in shapes:
        broken = ~rows_that_keep(shape.rules.hard, tables[shape.table])
        keep[persons[shape.table][broken]] = False
    return _chosen(shapes, drawn, np.flatnonzero(keep)[:most])


def _people(shapes: Sequence[Shape], rows: Mapping[str, Rows]) -> int:
    return int(rows[shapes[0].table].above.max(initial=-1)) + 1


def _chosen(shapes: Sequence[Shape], drawn: Mapping[str, Rows], people: Cells) -> dict[str, Rows]:
    """The rows of these people, in their order, with repeats; they are numbered anew."""
    rows: dict[str, Cells] = {}
    chosen: dict[str, Rows] = {}
    for shape in shapes:
        each = drawn[shape.table]
        wanted = people if shape.parent is None else rows[shape.parent]
        starts = np.searchsorted(each.above, wanted, side="left")
        counts = np.searchsorted(each.above, wanted, side="right") - starts
        above = np.repeat(np.arange(wanted.size), counts)
        first = np.cumsum(counts) - counts
        rows[shape.table] = np.arange(above.size) - first[above] + starts[above]
        chosen[shape.table] = Rows(above, {role: values.at(rows[shape.table]) for role, values in each.drawn.items()})
    return chosen


def _joined(shapes: Sequence[Shape], batches: Sequence[Mapping[str, Rows]]) -> dict[str, Rows]:
    """The rows of all batches of people, numbered one after the other."""
    joined: dict[str, Rows] = {}
    for shape in shapes:
        before, aboves = 0, list[Cells]()
        for batch in batches:
            aboves.append(batch[shape.table].above + before)
            before += _people(shapes, batch) if shape.parent is None else batch[shape.parent].above.size
        drawn = {
            role: Values(
                np.concatenate([batch[shape.table].drawn[role].cells for batch in batches]),
                np.concatenate([batch[shape.table].drawn[role].places for batch in batches]),
            )
            for role in batches[0][shape.table].drawn
        }
        joined[shape.table] = Rows(np.concatenate(aboves), drawn)
    return joined


def _of_rules_alone(shapes: Sequence[Shape], people: int) -> dict[str, pa.Table]:
    tables: dict[str, pa.Table] = {}
    for shape in shapes:
        rows = public_rows(BoundRules(shape.rules, shape.columns), people)
        numbers = pa.array(np.arange(1, people + 1))
        for name, kind in shape.surrogates.items():
            rows = rows.append_column(name, numbers.cast(pa.string()) if kind == "string" else numbers)
        table = rows.select(list(shape.names))
        tables[shape.table] = table if shape.parent is None else table.slice(0, 0)
    return tables
