"""Neighbouring databases under a policy: one unit is added or removed, or replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.audit.neighbours._hostile import MOST_ROWS, Row, ends, row_of
from discreet.errors import ParameterError
from discreet.policy import Policy, Table

__all__ = ["ArrowTables", "neighbouring_databases", "without_person", "without_row"]

ArrowTables = Mapping[str, pa.Table]
"""A database of Arrow tables by name, spelt as the policy spells them."""


def without_person(tables: ArrowTables, policy: Policy, person: object) -> dict[str, pa.Table]:
    """The database without the rows of one person, in every table whose unit is a person.

    `person` is a value of the unit columns. A table whose unit is ``"rows"`` stays as it is: see `without_row`. So
    does one whose unit is a path: its rows that belong to nobody once the person's rows are gone are still there, and
    no query reads them. Costs no privacy. Raises `ParameterError` if a table is not an Arrow table or lacks its unit,
    and for None, which is nobody.

    >>> policy = Policy.model_validate({"version": "1", "tables": {"t": {"unit": "u", "max_rows": 2, "columns": {}}}})
    >>> without_person({"t": pa.table({"u": [1, 2, 1], "x": [7, 8, 9]})}, policy, 1)["t"].to_pylist()
    [{'u': 2, 'x': 8}]
    """
    if person is None:
        raise ParameterError("rows without a unit are nobody's; give a value of the unit column")
    return {name: _others(table, policy.tables.get(name), person) for name, table in _checked(tables, policy).items()}


def without_row(tables: ArrowTables, table: str, row: int) -> dict[str, pa.Table]:
    """The database without one row, counted from 0, of one table: a neighbour where the unit is ``"rows"``.

    Costs no privacy. Raises `ParameterError` if there is no such row.

    >>> without_row({"t": pa.table({"x": [7, 8, 9]})}, "t", 1)["t"].to_pylist()
    [{'x': 7}, {'x': 9}]
    """
    chosen = tables.get(table)
    if not isinstance(chosen, pa.Table) or not 0 <= row < chosen.num_rows:
        raise ParameterError(f"there is no row {row} in an Arrow table {table} of this database")
    return {**tables, table: pa.concat_tables([chosen.slice(0, row), chosen.slice(row + 1)])}


def neighbouring_databases(
    tables: ArrowTables, policy: Policy, most: int | None = None
) -> Iterator[tuple[dict[str, pa.Table], dict[str, pa.Table]]]:
    """Pairs of neighbours under a policy: this database, and it with one unit changed, each unit in turn.

    Under ``"add_remove"`` the second of a pair is without the unit. Under ``"substitute"`` the unit's rows are others
    there: as many as count (1,000 at most), all at the lower ends of what the policy allows, and in a further pair all
    at the upper ends. A unit is a person, in all tables at once, or a row of a table whose unit is ``"rows"``.

    `most` is how many units are changed at most, the extreme ones first: those with the most rows, then those whose
    bounded numbers lie farthest from zero. Costs no privacy. Raises `ParameterError` as `without_person` does.

    >>> policy = Policy.model_validate({"version": "1", "tables": {"t": {"unit": "u", "max_rows": 2, "columns": {}}}})
    >>> pairs = neighbouring_databases({"t": pa.table({"u": [1, 2, 1]})}, policy, most=1)
    >>> [(one["t"].num_rows, other["t"].num_rows) for one, other in pairs]
    [(3, 1)]
    """
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"most must be a whole number, 1 or more, or None for every unit, got {most!r}")
    database = _checked(tables, policy)
    for table, who in _units(database, policy)[:most]:
        apart = without_person(database, policy, who) if table is None else without_row(database, table, who)
        if policy.relation == "add_remove":
            yield database, apart
            continue
        for upper in (False, True):
            yield database, _with_others(apart, policy, table, who, upper=upper)


def _checked(tables: ArrowTables, policy: Policy) -> dict[str, pa.Table]:
    checked = dict(tables)
    for name, table in checked.items():
        if not isinstance(table, pa.Table):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"{name} is a {type(table).__name__}; neighbours are made of Arrow tables")
        unit = _person_of(policy.tables.get(name))
        if unit is not None and unit not in table.column_names:
            raise ParameterError(f"{name} lacks {unit}, the column of its unit, spelt as in the policy")
    return checked


def _person_of(table: Table | None) -> str | None:
    return None if table is None else table.person


def _others(table: pa.Table, declared: Table | None, person: object) -> pa.Table:
    unit = _person_of(declared)
    if unit is None:
        return table
    mask = [value is None or value != person for value in table.column(unit).to_pylist()]
    return table.filter(pa.array(mask, pa.bool_()))


def _units(tables: ArrowTables, policy: Policy) -> list[tuple[str | None, Any]]:
    """(None, person) and (table, row), the extreme ones first."""
    sizes: dict[tuple[str | None, Any], list[float]] = {}
    for name, table in tables.items():
        declared = policy.tables.get(name)
        if declared is None or (declared.person is None and not declared.by_rows):
            continue
        unit = _person_of(declared)
        people: list[Any] = list(range(table.num_rows)) if unit is None else table.column(unit).to_pylist()
        for who, far in zip(people, _distances(table, declared), strict=True):
            if who is not None and who == who:  # noqa: PLR0124 - NaN is nobody
                size = sizes.setdefault((name if unit is None else None, who), [0, 0])
                size[0] += 1
                size[1] += far
    return sorted(sizes, key=lambda unit: [-part for part in sizes[unit]])


def _distances(table: pa.Table, declared: Table) -> list[float]:
    """For each row how far its bounded numbers are from zero, in units of their larger bound."""
    total = [0.0] * table.num_rows
    for name, column in declared.columns.items():
        if column.number_bounds is None or name not in table.column_names:
            continue
        larger = float(max(map(abs, column.number_bounds)))
        numbers = pc.cast(table.column(name), pa.float64(), safe=False).to_pylist()
        for i, number in enumerate(numbers):
            total[i] += min(abs(number) / larger, 1.0) if number is not None and number == number else 0.0  # noqa: PLR0124
    return total


def _with_others(
    tables: Mapping[str, pa.Table], policy: Policy, table: str | None, who: object, *, upper: bool
) -> dict[str, pa.Table]:
    """The tables with rows at one end of the policy in place of those that were taken out."""
    changed = dict(tables)
    for name, declared in policy.tables.items():
        unit = _person_of(declared)
        if declared.public or declared.path is not None:
            continue
        if name not in tables or (unit is None) != (table is not None) or (table is not None and name != table):
            continue
        row: Row = ends(declared, upper=upper) | ({} if unit is None else {unit: who})
        added = pa.Table.from_pylist(
            [row_of(row, tables[name])] * min(declared.rows_per_unit, MOST_ROWS), schema=tables[name].schema
        )
        changed[name] = pa.concat_tables([tables[name], added])
    return changed
