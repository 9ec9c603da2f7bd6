"""Rules of a fit from the command line: conditions, and files of all kinds of rules."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli._text_files import text_in
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.synth.rules import Rule

__all__ = ["rules_of"]

_USUAL = "rules are a few lines, and values one for each of a column"
_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "soft": (("condition",), ("weight",)),
    "follows": (("column", "given"), ("values", "file")),
    "totals": (("rows",), ("where",)),
}
"""Of each kind of section the fields that it needs, and those that it may have."""


def rules_of(conditions: Sequence[str], file: Path | None) -> list[Rule]:
    """The rules that options name. Raises `ParameterError` for a file that cannot be read, or holds something else."""
    return [*conditions, *([] if file is None else _from_file(file))]


def _from_file(path: Path) -> list[Rule]:
    from discreet.synth import Soft, Total

    try:
        content = tomllib.loads(text_in(path, _USUAL))
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path} is no TOML: {error}") from None
    odd = set(content) - {"hard", *_FIELDS}
    if odd:
        raise ParameterError(f"{path}: there is no {min(odd)} among rules; there are hard, soft, follows and totals")
    hard = content.get("hard", [])
    if not isinstance(hard, list):
        raise ParameterError(f'{path}: hard is a list of conditions, as in hard = ["cost = 0 OR visits > 0"]')
    rules: list[Rule] = list(hard)  # pyright: ignore[reportUnknownArgumentType]
    rules += [Soft(each["condition"], each.get("weight", 1.0)) for each in _sections(path, content, "soft")]
    rules += [_follows(path, each) for each in _sections(path, content, "follows")]
    return rules + [Total(each["rows"], each.get("where")) for each in _sections(path, content, "totals")]


def _sections(path: Path, content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    sections: Any = content.get(name, [])
    if not isinstance(sections, list) or not all(isinstance(each, dict) for each in sections):  # pyright: ignore[reportUnknownVariableType]
        raise ParameterError(f"{path}: write each of {name} as a section [[{name}]]")
    needed, optional = _FIELDS[name]
    for each in sections:  # pyright: ignore[reportUnknownVariableType]
        odd, missing = set(each) - {*needed, *optional}, set(needed) - set(each)  # pyright: ignore[reportUnknownArgumentType]
        if odd:
            raise ParameterError(f"{path}: [[{name}]] has {', '.join((*needed, *optional))}, and no {min(odd)}")
        if missing:
            raise ParameterError(f"{path}: [[{name}]] needs {' and '.join(needed)}; {min(missing)} is missing")
    return sections  # pyright: ignore[reportUnknownVariableType]


def _follows(path: Path, section: Mapping[str, Any]) -> Rule:
    from discreet.synth import Follows

    column, given = section["column"], section["given"]
    names: Any = given if isinstance(given, list) else [given]
    if not all(isinstance(name, str) for name in (column, *names)) or column in names:
        raise ParameterError(f"{path}: [[follows]] has a column, and another one or a list of others as given")
    if ("values" in section) == ("file" in section):
        raise ParameterError(f"{path}: [[follows]] has either values, a table of one given column, or a file")
    if "file" in section:
        return Follows(column, names, _listed(path.parent / str(section["file"]), (*names, column)))
    return Follows(column, names, _inline(path, section["values"], names, column))


def _inline(path: Path, values: object, given: Sequence[str], column: str) -> pa.Table:
    import pyarrow as pa

    if not isinstance(values, Mapping) or len(given) != 1:
        raise ParameterError(f"{path}: values of [[follows]] are a table of one given column; use a file for several")
    try:
        return pa.table({given[0]: list(values), column: pa.array(list(values.values()))})  # pyright: ignore[reportUnknownArgumentType]
    except (pa.ArrowException, TypeError, OverflowError):
        raise ParameterError(f"{path}: values of [[follows]] are of one type, that of {column}") from None


def _listed(path: Path, names: Sequence[str]) -> pa.Table:
    """Columns of a CSV file with a header, as text; an empty field is NULL."""
    import pyarrow as pa

    try:
        header, *lines = list(csv.reader(io.StringIO(text_in(path, _USUAL), newline=""))) or [list[str]()]
    except csv.Error as error:
        raise ParameterError(f"{path} is no CSV: {error}") from None
    missing = [name for name in names if name not in header]
    if missing:
        raise ParameterError(f"{path} has no column {missing[0]}: its first line names the columns")
    twice = [name for name in names if header.count(name) > 1]
    if twice:
        raise ParameterError(f"{path} has two columns {twice[0]}: rename or remove one")
    odd = next((i for i, line in enumerate(lines, start=2) if line and len(line) != len(header)), None)
    if odd is not None:
        raise ParameterError(f"{path}, line {odd}: it has not as many fields as the first line has columns")
    places = [header.index(name) for name in names]
    filled = [line for line in lines if line]
    return pa.table(
        {
            name: pa.array([line[i] or None for line in filled], pa.string())
            for name, i in zip(names, places, strict=True)
        }
    )
