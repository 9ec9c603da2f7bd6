"""Hierarchies in files: CSV as ARX writes it, and TOML for all columns of a table."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.anonymize.hierarchies._hierarchy import ANY, Hierarchy, intervals, prefixes, taxonomy
from discreet.anonymize.tables import Column
from discreet.errors import ParameterError

__all__ = ["load_hierarchies", "load_taxonomy"]


def load_taxonomy(column: str, path: str | Path) -> Hierarchy:
    """Read a CSV with a row for each value: the value, its parent, and so on, separated by semicolons or commas.

    Raises `ParameterError` for a file that cannot be read or is no hierarchy.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"the hierarchy of {column} cannot be read from {path}: {error}") from None
    first = text.partition("\n")[0]
    rows = [row for row in csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",") if row]
    return taxonomy(column, rows)


def load_hierarchies(path: str | Path, columns: Mapping[str, Column]) -> dict[str, Hierarchy]:
    """Read a TOML file: for each column a table with `widths` (and `start`), `prefixes`, `file`, or `tree`.

    A `tree` is a table of parents, each with a list of values or a table of parents below it. Columns that the file
    names and the table has not are left out. Raises `ParameterError` for a file that is none.
    """
    place = Path(path)
    try:
        data = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParameterError(f"the hierarchies cannot be read from {path}: {error}") from None
    return {name: _from_toml(column, data[name], place.parent) for name, column in columns.items() if name in data}


def _from_toml(column: Column, entry: Any, folder: Path) -> Hierarchy:
    match entry:
        case {"widths": list() as widths, **rest} if set(rest) <= {"start"}:  # pyright: ignore[reportUnknownVariableType]
            return intervals(column, widths, rest.get("start"))  # pyright: ignore[reportUnknownArgumentType]
        case {"prefixes": list() as lengths}:  # pyright: ignore[reportUnknownVariableType]
            return prefixes(column, lengths)  # pyright: ignore[reportUnknownArgumentType]
        case {"file": str() as file}:
            return load_taxonomy(column.name, folder / file)
        case {"tree": dict() as tree}:  # pyright: ignore[reportUnknownVariableType]
            return taxonomy(column.name, _padded(list(_paths(tree, ()))))  # pyright: ignore[reportUnknownArgumentType]
        case _:
            raise ParameterError(f"the hierarchy of {column.name} has widths, prefixes, a file or a tree")


def _paths(tree: Any, above: tuple[str, ...]) -> list[tuple[str, ...]]:
    """From each value up to the root."""
    if isinstance(tree, dict):
        return [path for name, below in tree.items() for path in _paths(below, (str(name), *above))]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(tree, list):
        return [(str(each), *above, ANY) for each in tree]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    raise ParameterError(f"a tree has lists of values at its ends, not {tree!r}")


def _padded(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Shorter paths repeat the value itself at the bottom."""
    height = max(map(len, paths), default=0)
    return [(path[0],) * (height - len(path)) + path for path in paths]
