"""Reading a specification: the keys of a TOML file, the lists that it names, and the lines of what is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from discreet.census.specs._geography import Geography, read_public
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.toml_lines import key_lines, line_of

__all__ = [
    "SpecFile",
    "at_key",
    "below",
    "only_keys",
    "read_geography",
    "read_spec",
    "read_table",
    "required",
    "spec_fields",
]

_OWN = frozenset({"table", "column", "cells", "tables", "shares", "zeros", "held", "share"})
_KEYS = (_OWN - {"column"}) | {"name", "geography", "districts", "precision", "universes", "rules"}
_GEOGRAPHY = frozenset({"areas", "levels", "column", "root"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SpecFile:
    """The TOML file that a specification was read from, so that errors name its lines."""

    path: Path
    text: str

    @contextmanager
    def naming_lines(self) -> Generator[None]:
        """Errors that begin with a key of the file name the file, and its line; others are left as they are."""
        try:
            yield
        except DiscreetError as error:
            line = self._line(str(error))
            if line is None:
                raise
            raise type(error)(f"{self.path}, line {line}: {error}") from None

    def _line(self, message: str) -> int | None:
        return line_of(tuple(message.split(":", 1)[0].split(".")), key_lines(self.text))


def read_spec(
    kind: Callable[..., _T], path: Path, fields: Callable[[Mapping[str, Any], Path], dict[str, Any]] | None = None
) -> _T:
    """A specification from a TOML file, by its fields. Raises `DataError`, or `ParameterError` naming the line.

    What reads `fields` from the content is that of statistical tables where none is given.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text, parse_float=Decimal)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path} is not valid TOML: {error}") from None
    file = SpecFile(path, text)
    try:
        with file.naming_lines():
            if fields is not None:
                return kind(**fields(data, path.parent))
            return kind(**spec_fields(data, path.parent, kind), file=file)
    except (ParameterError, DataError) as error:
        named = str(error).startswith(str(path))
        raise type(error)(str(error) if named else f"{path}: {error}") from None


def spec_fields(data: Mapping[str, Any], folder: Path, kind: Callable[..., object]) -> dict[str, Any]:
    """The fields of a specification, from a dict of the shape of the file; `kind` makes one of fields.

    What is said of all rows, areas, districts and precision, is also said of other universes.
    """
    only_keys(data, _KEYS, "")
    geography = read_geography(data, folder)
    precision = read_table(data, "precision")
    shared: dict[str, Any] = {
        "geography": geography,
        "districts": {
            kind: at_key(f"districts.{kind}", lambda kind=kind, each=each: _districts(geography, kind, each, folder))
            for kind, each in read_table(data, "districts").items()
        },
        "precision": {rule: float(each) for rule, each in precision.items() if rule != "action"},
        "imprecise": precision.get("action", "mark"),
    }
    universes: dict[str, object] = {}
    for name, each in read_table(data, "universes").items():
        if not isinstance(each, Mapping):
            raise ParameterError(f"universes.{name}: it must be a table, written [universes.{name}]")
        given = cast("Mapping[str, Any]", each)
        only_keys(given, _OWN, f"universes.{name}.")
        universes[name] = below(f"universes.{name}", lambda given=given: kind(**shared, **_own_fields(given, folder)))
    column = read_table(data, "geography").get("column", "")
    beside = {"name": data.get("name", ""), "universes": universes, "rules": _texts(data, "rules")}
    return shared | _own_fields(data, folder) | {"column": column} | beside


def _own_fields(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What is said of the rows of one universe."""
    required(data, "table")
    return {
        "table": data["table"],
        "tables": {name: _columns(name, each) for name, each in read_table(data, "tables").items()},
        "column": data.get("column", ""),
        "shares": data.get("shares", {}),
        "share": data.get("share", 1),
        "cells": read_table(data, "cells"),
        "zeros": _texts(data, "zeros"),
        "held": {
            level: at_key(f"held.{level}", lambda level=level, each=each: _totals(level, each, folder))
            for level, each in read_table(data, "held").items()
        },
    }


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = data.get(key, ())
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(f'{key}: give a list of texts, as in {key} = ["…"]')
    return tuple(map(str, cast("Sequence[object]", given)))


def below(key: str, result: Callable[[], _T]) -> _T:
    """The result of a function; the keys that its errors name are below another."""
    try:
        return result()
    except DiscreetError as error:
        raise type(error)(f"{key}.{error}") from None


def read_geography(data: Mapping[str, Any], folder: Path) -> Geography:
    """The areas under ``[geography]``, from the list that it names."""
    land = read_table(data, "geography")
    only_keys(land, _GEOGRAPHY, "geography.")
    for key in ("areas", "levels"):
        if key not in land:
            _missing(f"geography.{key}")
    return at_key(
        "geography",
        lambda: Geography.of_areas(_beside(folder, land["areas"]), land["levels"], land.get("root", "all")),
    )


def required(data: Mapping[str, Any], key: str) -> None:
    """Raise `ParameterError`, with an example, where a key is missing."""
    if not data.get(key):
        _missing(key)


def at_key(where: str, result: Callable[[], _T]) -> _T:
    """The result of a function; its errors are at a key."""
    try:
        return result()
    except DiscreetError as error:
        raise type(error)(f"{where}: {error}") from None


def _beside(folder: Path, given: object) -> object:
    return folder / given if isinstance(given, str) else given


def _districts(geography: Geography, kind: str, given: object, folder: Path) -> dict[str, tuple[str, ...]]:
    """Areas off the tree, from a list with a row for each area of the tree in one of them."""
    if isinstance(given, Mapping) and "areas" not in given:
        return {str(name): tuple(map(str, inside)) for name, inside in cast("Mapping[str, Any]", given).items()}
    areas = cast("Mapping[str, Any]", given)["areas"] if isinstance(given, Mapping) else given
    table = read_public(_beside(folder, areas))
    level = next((each for each in reversed(geography.levels) if each in table.column_names), None)
    if level is None or kind not in table.column_names:
        raise ParameterError(f"the list needs a column {kind}, and one that is named as a level")
    inside: dict[str, list[str]] = {}
    for area, name in zip(table.column(level).to_pylist(), table.column(kind).to_pylist(), strict=True):
        if name is not None:
            inside.setdefault(str(name), []).append(str(area))
    return {name: tuple(areas) for name, areas in sorted(inside.items())}


def _totals(level: str, given: object, folder: Path) -> dict[str, int]:
    """Public totals, as a dict, or from a list with the columns of the level and ``people``."""
    if isinstance(given, Mapping):
        return cast("dict[str, int]", dict(given))
    table = read_public(_beside(folder, given))
    if level not in table.column_names or "people" not in table.column_names:
        raise ParameterError(f"the list needs the columns {level} and people")
    try:
        people = [int(str(each)) for each in table.column("people").to_pylist()]
    except ValueError:
        raise ParameterError("people must be whole numbers") from None
    return dict(zip(map(str, table.column(level).to_pylist()), people, strict=True))


def _columns(name: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(f'tables.{name}: give a list of columns, as in ["age", "sex"], or [] for the total')
    return tuple(map(str, cast("Sequence[object]", given)))


def read_table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The table of TOML under a key, empty if there is none."""
    given = data.get(name, {})
    if not isinstance(given, Mapping):
        raise ParameterError(f"{name}: it must be a table, written [{name}]")
    return cast("Mapping[str, Any]", given)


def only_keys(data: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    """Raise `ParameterError` for a key that is not known."""
    odd = sorted(data.keys() - known)
    if odd:
        raise ParameterError(f"{where}{odd[0]}: unknown key; there are {', '.join(sorted(known))}")


def _missing(key: str) -> NoReturn:
    example = {
        "table": 'table = "people"',
        "geography.areas": 'areas = "areas.csv", a list of the smallest areas with a column for each level',
        "geography.levels": 'levels = ["state", "county"], from large to small',
    }[key]
    raise ParameterError(f"{key}: is missing; write for example {example}")
