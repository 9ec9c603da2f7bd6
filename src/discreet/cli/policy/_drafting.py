"""From declared names and types, and what the owner decided, to a draft of the policy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.cli.policy._codebook import Codebook
from discreet.cli.policy._skeleton import ColumnDraft, TableDraft
from discreet.engines import Declared
from discreet.errors import DataError, ParameterError, printable
from discreet.policy import Column

__all__ = ["Decisions", "draft_tables", "match_types", "row_cap"]


@dataclass(frozen=True, slots=True)
class Decisions:
    """What options say of the tables; None, or nothing, where they leave it open."""

    units: Sequence[str] = ()
    tables: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    max_rows: int | Literal["auto"] | None = None
    max_groups: int | None = None


def row_cap(text: str) -> int | Literal["auto"]:
    """A cap on the rows of one person as it is typed. Raises `ParameterError` for what is none."""
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise ParameterError(f"write a whole number from 1 to 1,000,000 as the cap on rows, or auto, and not {text!r}")
    return int(text)


def match_types(
    declared: Mapping[str, Declared], created: Mapping[str, Declared]
) -> tuple[dict[str, Declared], set[tuple[str, str]]]:
    """The tables with their types from CREATE TABLE, and what that names: pairs of a table and a column.

    One table and one statement belong together whatever they are called.
    """
    by_name = {name.casefold(): columns for name, columns in created.items()}
    if len(declared) == len(created) == 1:
        by_name = dict.fromkeys((name.casefold() for name in declared), next(iter(created.values())))
    if not any(name.casefold() in by_name for name in declared):
        raise ParameterError(
            f"--types creates {', '.join(created)}, and the data has {', '.join(declared)}; name the tables alike"
        )
    tables: dict[str, Declared] = {}
    known: set[tuple[str, str]] = set()
    for name, columns in declared.items():
        types = {column.casefold(): kind for column, kind in by_name.get(name.casefold(), {}).items()}
        tables[name] = {column: types.get(column.casefold(), kind) for column, kind in columns.items()}
        known |= {(name, column) for column in columns if column.casefold() in types}
    return tables, known


def draft_tables(
    declared: Mapping[str, Declared],
    decisions: Decisions,
    codebook: Codebook,
    guessed: Iterable[tuple[str, str]],
) -> tuple[TableDraft, ...]:
    """The tables as far as they are decided. `guessed` are the columns whose source declares no type.

    Raises `ParameterError` for a decision about a table or column that is not there, `DataError` for names that differ
    by case alone.
    """
    chosen = _chosen(declared, decisions.tables)
    _check_names(chosen)
    units = _units(chosen, decisions.units)
    wanted = None if decisions.columns is None else {name.casefold() for name in decisions.columns}
    if decisions.columns is not None:
        everything = [column for columns in chosen.values() for column in columns]
        for name in decisions.columns:
            _match(name, everything, "--columns", "the data")
    owned = [name for name in chosen if units[name] not in (None, "rows")]
    if not owned and None not in units.values() and (decisions.max_rows or decisions.max_groups):
        raise ParameterError("with --unit rows every row is another person: leave --max-rows and --max-groups out")
    described = {name.casefold(): entry for name, entry in codebook.items()}
    without_type = set(guessed)
    return tuple(
        TableDraft(
            table,
            tuple(
                _column(name, kind, described, guessed=(table, name) in without_type)
                for name, kind in columns.items()
                if (name.casefold() in wanted if wanted is not None else not _is_person(units[table], name))
            ),
            units[table],
            None if units[table] == "rows" else decisions.max_rows,
            None if units[table] == "rows" else decisions.max_groups,
        )
        for table, columns in chosen.items()
    )


def _column(name: str, kind: str | None, described: Codebook, *, guessed: bool) -> ColumnDraft:
    entry = described.get(name.casefold())
    if entry is not None:
        return ColumnDraft(name, entry.column, label=entry.label)
    return ColumnDraft(name, None if kind is None else Column.model_validate({"type": kind}), guessed)


def _chosen(declared: Mapping[str, Declared], tables: Sequence[str] | None) -> dict[str, Declared]:
    if tables is None:
        return dict(declared)
    names = [_match(name, declared, "--tables", "the data") for name in tables]
    return {name: declared[name] for name in dict.fromkeys(names)}


def _check_names(tables: Mapping[str, Declared]) -> None:
    """Raise `DataError` for names that SQL takes for one."""
    for what, names in [("tables", list(tables)), *((f"columns of {t}", list(c)) for t, c in tables.items())]:
        folded: dict[str, str] = {}
        for name in names:
            other = folded.setdefault(name.casefold(), name)
            if other != name:
                raise DataError(
                    f"the {what} {printable(other)} and {printable(name)} differ by case alone, which SQL ignores: "
                    f"rename one of them where they are stored"
                )


def _is_person(unit: str | None, column: str) -> bool:
    return unit is not None and unit.partition("->")[0].strip().casefold() == column.casefold()


def _units(tables: Mapping[str, Declared], given: Sequence[str]) -> dict[str, str | None]:
    """The unit of each table: the one that is given for it by name, else the one that is given for all."""
    named: dict[str, str] = {}
    general: list[str] = []
    folded = {name.casefold(): name for name in tables}
    for text in given:
        table, sign, unit = text.partition("=")
        if sign and table.strip().casefold() in folded:
            named[folded[table.strip().casefold()]] = unit.strip()
        else:
            general.append(text.strip())
    if len(general) > 1:
        raise ParameterError(f"--unit is given for all tables {len(general)} times; write TABLE=COLUMN for one table")
    units: dict[str, str | None] = dict.fromkeys(tables)
    for table, unit in named.items():
        units[table] = _unit(unit, table, tables)
    rest = [table for table in tables if table not in named]
    if general:
        for table in rest:
            if len(rest) == 1 or _has(general[0], tables[table]):
                units[table] = _unit(general[0], table, tables)
        if not any(units[table] for table in rest):
            _match(general[0], [column for table in rest for column in tables[table]], "--unit", "the data")
    return units


def _has(unit: str, columns: Iterable[str]) -> bool:
    return unit == "rows" or any(_is_person(unit, column) for column in columns)


def _unit(unit: str, table: str, tables: Mapping[str, Declared]) -> str:
    """A unit as the table spells it. Raises `ParameterError` for a column that is not there."""
    if unit == "rows":
        return unit
    if "->" not in unit:
        return _match(unit, tables[table], "--unit", table)
    column, _, target = (part.strip() for part in unit.partition("->"))
    other, _, key = (part.strip() for part in target.partition("."))
    column = _match(column, tables[table], "--unit", table)
    other = _match(other, tables, "--unit", "the data")
    return f"{column} -> {other}.{_match(key, tables[other], '--unit', other)}"


def _match(name: str, names: Iterable[str], option: str, what: str) -> str:
    """The name without regard to case. Raises `ParameterError` with what is near it."""
    folded = {each.casefold(): each for each in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    near = difflib.get_close_matches(name.casefold(), folded, 1)
    hint = f"did you mean {folded[near[0]]}? " if near else ""
    raise ParameterError(f"{option}: {what} has no {name!r}; {hint}it has {_some(list(folded.values()))}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(names[:20]) + more
