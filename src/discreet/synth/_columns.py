"""Which columns of a table a fit takes, and in which public cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from discreet.errors import ParameterError, QueryError
from discreet.marginals import CellChoice, ColumnCells, column_cells
from discreet.policy import Policy
from discreet.query import match_name

__all__ = ["column_named", "fitted_columns"]

_FEWEST = 1


def fitted_columns(
    policy: Policy,
    table: str,
    columns: Sequence[str] | None,
    cells: Mapping[str, CellChoice],
    following: Collection[str] = (),
) -> tuple[ColumnCells, ...]:
    """The cells of the columns that are fitted: those that are named, or all but the ones that say whose a row is.

    Columns that are `following` from others are not.

    Raises `QueryError` for a column that is not there, or has neither keys nor bounds, and `ParameterError` for cells
    of a column that is not fitted.
    """
    declared = policy.tables[table].columns
    surrogates = policy.identifiers(table)
    if columns is None:
        wanted = [name for name in declared if name not in surrogates]
    else:
        wanted = list(dict.fromkeys(match_name(str(name), declared, table, "column") for name in columns))
    wanted = [name for name in wanted if name not in following]
    refused = [name for name in wanted if name in surrogates]
    if refused:
        raise QueryError(f"{refused[0]} says whose a row is: it gets new numbers, and cannot be fitted; leave it out")
    if len(wanted) < _FEWEST:
        raise QueryError(f"{table} has no column to fit; list columns with keys or bounds in the policy")
    chosen = {match_name(str(name), declared, table, "column"): choice for name, choice in cells.items()}
    odd = [name for name in chosen if name not in wanted]
    if odd:
        follows = ": it follows from others" if odd[0] in following else ""
        raise ParameterError(f"cells are chosen for {odd[0]}, which is not among the fitted columns{follows}")
    fitted = tuple(column_cells(table, name, declared[name], chosen.get(name)) for name in wanted)
    if all(column.keys == () for column in fitted):
        raise QueryError(
            f"{table}: a fit needs a column with public keys or bounds beside text whose keys are discovered; list the "
            "keys or bounds of one in the policy"
        )
    return fitted


def column_named(columns: Sequence[ColumnCells], name: object, what: str) -> int:
    """The position of a fitted column. Raises `QueryError` if there is none of that name."""
    names = [column.name for column in columns]
    return names.index(match_name(str(name), names, what, "column"))
