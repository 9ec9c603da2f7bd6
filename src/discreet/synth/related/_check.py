"""Check what a file says of tables and parts before anything is drawn from it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.synth._checked import check_rules
from discreet.synth._table import SyntheticTable
from discreet.synth.related._parts import Part, Role
from discreet.synth.related._shapes import Shape

__all__ = ["check_parts"]


def check_parts(shapes: Sequence[Shape], parts: Sequence[Part], fits: Sequence[SyntheticTable]) -> None:
    """Raise `ValueError` for parts from which the rows of these tables cannot be drawn."""
    names = [shape.table for shape in shapes]
    if len(set(names)) != len(names) or not names or {part.table for part in parts} != set(names):
        raise ValueError
    for i, shape in enumerate(shapes):
        if (shape.parent is None) != (i == 0) or (shape.parent is not None and shape.parent not in names[:i]):
            raise ValueError
        own = [(part, fit) for part, fit in zip(parts, fits, strict=True) if part.table == shape.table]
        above = next((each for each in shapes[:i] if each.table == shape.parent), None)
        _check_table(shape, own, above, _drawn(shape.parent, parts))


def _drawn(table: str | None, parts: Sequence[Part]) -> set[Role]:
    return {role for part in parts if part.table == table for role in part.roles[part.given :]}


def _check_table(
    shape: Shape, own: Sequence[tuple[Part, SyntheticTable]], above: Shape | None, parent: set[Role]
) -> None:
    if shape.rules.soft or shape.rules.totals:
        raise ValueError
    check_rules(shape.rules, shape.columns)
    which = [part.which for part, _ in own]
    allowed = (["first", "next"],) if shape.order is not None else (["first"], ["every"], ["first", "every"])
    if which not in allowed:
        raise ValueError
    known = {Role("own", name) for name in (shape.order, *shape.along) if name is not None}
    number = Role("children", shape.table)
    if above is None and "first" not in which and which != ["every"]:
        raise ValueError
    if above is not None and number not in parent:
        raise ValueError
    for part, _ in own:
        given, drawn = part.roles[: part.given], part.roles[part.given :]
        if len(set(part.roles)) != len(part.roles):
            raise ValueError
        if any(not _is_given(role, above, known) for role in given):
            raise ValueError
        if any(role.kind not in ("own", "children", "step", "number") for role in drawn):
            raise ValueError
        known |= {role for role in drawn if role.kind == "own"}
        if part.which == "first" and (Role("number", "") in drawn) != (above is None):
            raise ValueError
        if part.which == "next" and Role("step", shape.order or "") not in drawn:
            raise ValueError
        _check_cells(part, shape, above)
    if known != {Role("own", each.name) for each in shape.columns}:
        raise ValueError


def _is_given(role: Role, above: Shape | None, known: set[Role]) -> bool:
    match role.kind:
        case "own" | "previous":
            return Role("own", role.column) in known
        case "parent":
            return above is not None and any(each.name == role.column for each in above.columns)
        case "number":
            return above is not None and not role.column
        case _:
            return False


def _check_cells(part: Part, shape: Shape, above: Shape | None) -> None:
    """Cells of a column are the same in all parts; numbers of rows and steps are numbers."""
    for role, cells in zip(part.roles, part.columns, strict=True):
        if role.kind in ("own", "previous"):
            same = shape.column(role.column)
        elif role.kind == "parent" and above is not None:
            same = above.column(role.column)
        else:
            if cells.type != "int" or cells.keys is not None or cells.nullable or cells.lower < 0:
                raise ValueError
            continue
        if (same.size, same.type, same.keys, same.cuts) != (cells.size, cells.type, cells.keys, cells.cuts):
            raise ValueError
