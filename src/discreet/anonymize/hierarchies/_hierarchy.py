"""Hierarchies: for each value of a column the coarser ones that may stand for it, level by level."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.tables import Codes, Column
from discreet.errors import ParameterError

__all__ = [
    "ANY",
    "Hierarchy",
    "intervals",
    "load_hierarchies",
    "load_taxonomy",
    "prefixes",
    "taxonomy",
    "text_of",
    "two_levels",
]

ANY = "*"
"""What stands for every value."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """For each value its ancestors, from the value itself up to the root.

    Attributes
    ----------
    column
        Whose values.
    ancestors
        From a value as text to itself and its ancestors as texts, all of them equally many.
    """

    column: str
    ancestors: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        """Raises `ParameterError` unless it is a tree: values that share an ancestor share all above it."""
        heights = {len(each) for each in self.ancestors.values()}
        if len(heights) != 1 or heights == {0}:
            raise ParameterError(f"the hierarchy of {self.column} has values of different heights: pad them to one")
        parents: dict[tuple[int, str], str] = {}
        for chain in self.ancestors.values():
            for level, (child, parent) in enumerate(pairwise(chain)):
                if parents.setdefault((level, child), parent) != parent:
                    raise ParameterError(
                        f"the hierarchy of {self.column} puts {child!r} below {parents[level, child]!r} and {parent!r}"
                    )

    @cached_property
    def height(self) -> int:
        """How many levels there are above the values."""
        return len(next(iter(self.ancestors.values()))) - 1

    def groups(self, column: Column, level: int) -> Codes:
        """For each value of the column the number of its ancestor at a level, in the order in which they come.

        Raises `ParameterError` for a value that is not in the hierarchy.
        """
        places: dict[str, int] = {}
        return np.array([places.setdefault(each, len(places)) for each in self.labels(column, level)], np.int64)

    def shares(self, column: Column, level: int) -> NDArray[np.float64]:
        """What the ancestor of each value costs: the other values below it, over those of the hierarchy."""
        below = Counter(chain[level] for chain in self.ancestors.values())
        others = max(len(self.ancestors) - 1, 1)
        return np.array([(below[label] - 1) / others for label in self.labels(column, level)])

    def labels(self, column: Column, level: int) -> list[str]:
        """For each value of the column its ancestor at a level. Raises `ParameterError` as `groups`."""
        texts = [text_of(each) for each in column.values]
        left = [text for text in texts if text not in self.ancestors]
        if left:
            raise ParameterError(
                f"the hierarchy of {self.column} has no value {left[0]!r}, which the column has"
                f"{f', and {len(left) - 1} more' if len(left) > 1 else ''}: add it"
            )
        return [self.ancestors[text][level] for text in texts]


def text_of(value: Any) -> str:
    """A value as hierarchies name it."""
    return "" if value is None else str(value)


def taxonomy(column: str, rows: Sequence[Sequence[str]]) -> Hierarchy:
    """A hierarchy from rows of a value, its parent, and so on up to the root, as ARX writes them.

    >>> taxonomy("town", [["Delft", "Holland", "*"], ["Leiden", "Holland", "*"]]).height
    2
    """
    ancestors: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if ancestors.setdefault(row[0], tuple(row)) != tuple(row):
            raise ParameterError(f"the hierarchy of {column} has two rows for {row[0]!r}")
    if not ancestors:
        raise ParameterError(f"the hierarchy of {column} is empty")
    return Hierarchy(column, ancestors)


def two_levels(column: Column) -> Hierarchy:
    """The hierarchy of a column that is shown as it is or not at all."""
    return Hierarchy(column.name, {text_of(each): (text_of(each), ANY) for each in column.values})


def intervals(column: Column, widths: Sequence[float], start: float | None = None) -> Hierarchy:
    """A hierarchy of a number: intervals of growing widths, each a multiple of the one before, and then the root.

    >>> import pyarrow as pa
    >>> from discreet.anonymize.tables import read_columns, read_frame
    >>> (age,) = read_columns(read_frame(pa.table({"age": [31, 34, 47]})), ["age"], "quasi")
    >>> intervals(age, [5, 10], start=0).ancestors["34"]
    ('34', '[30, 35)', '[30, 40)', '*')
    """
    if not column.is_number:
        raise ParameterError(f"{column.name} is no number: it has no intervals")
    if not widths or any(not each > 0 for each in widths) or any(b % a for a, b in pairwise(widths)):
        raise ParameterError(f"the widths of {column.name} are positive, each a multiple of the one before")
    origin = float(column.places[0]) if start is None else start
    chains: dict[str, tuple[str, ...]] = {}
    for value, place in zip(column.values, column.places, strict=True):
        ends = [(origin + (place - origin) // width * width, width) for width in widths]
        chains[text_of(value)] = (text_of(value), *(f"[{low:g}, {low + width:g})" for low, width in ends), ANY)
    return Hierarchy(column.name, chains)


def prefixes(column: Column, lengths: Sequence[int]) -> Hierarchy:
    """A hierarchy of texts, as postcodes: ever shorter prefixes, the rest starred, and then the root.

    >>> import pyarrow as pa
    >>> from discreet.anonymize.tables import read_columns, read_frame
    >>> (zip_code,) = read_columns(read_frame(pa.table({"zip": ["02138", "02139"]})), ["zip"], "quasi")
    >>> prefixes(zip_code, [4, 2]).ancestors["02138"]
    ('02138', '0213*', '02***', '*')
    """
    if not lengths or any(b >= a or b < 1 for a, b in pairwise(lengths)) or lengths[0] < 1:
        raise ParameterError(
            f"the lengths of {column.name}'s prefixes are whole numbers, each less than the one before"
        )
    texts = [text_of(each) for each in column.values]
    return Hierarchy(
        column.name,
        {text: (text, *(text[:n] + ANY * max(len(text) - n, 0) for n in lengths), ANY) for text in texts},
    )


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
