"""A codebook: what is known of columns that a file does not declare, as CSV or TOML."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from discreet.cli._text_files import text_in
from discreet.errors import ParameterError, PolicyError
from discreet.policy import Column, load_policy
from discreet.query import type_in_policy

__all__ = ["Codebook", "CodebookEntry", "read_codebook"]


@dataclass(frozen=True, slots=True)
class CodebookEntry:
    """A column as a policy has it, and a word on what it is."""

    column: Column
    label: str = ""


Codebook = Mapping[str, CodebookEntry]
"""From a column's name."""

_FIELDS = ("column", "type", "lower", "upper", "keys", "label")


def read_codebook(path: Path) -> Codebook:
    """The columns that a codebook describes. Raises `ParameterError` if it cannot be read, or says what no policy may.

    A CSV file has a line for each column, under a header with ``column`` and ``type`` and, where they are known,
    ``lower`` and ``upper``, ``keys`` with ``|`` between them, and ``label``. A TOML file has ``age = "int"`` or
    ``age = { type = "int", bounds = [0, 120], label = "in years" }``. Types are those of policies or of SQL.
    """
    text = text_in(path, "a codebook has a line for each column")
    try:
        rows = _from_toml(text) if path.suffix.lower() == ".toml" else _from_csv(text)
        entries, labels = _entries(rows)
    except _Wrong as error:
        raise ParameterError(f"{path}: {error}") from None
    try:
        policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": entries}}})
    except PolicyError as error:
        words = "; ".join(f"{'.'.join(where[3:]) or 'column'}: {what}" for where, what in error.problems)
        raise ParameterError(f"{path}: {words}") from None
    return {name: CodebookEntry(column, labels[name]) for name, column in policy.tables["t"].columns.items()}


class _Wrong(Exception):
    """What is wrong with a codebook."""


def _from_toml(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise _Wrong(f"it is not valid TOML: {error}") from None
    for name, value in content.items():
        if isinstance(value, str):
            yield name, {"type": value}
        elif isinstance(value, dict):
            yield name, dict(cast("dict[str, Any]", value))
        else:
            raise _Wrong(f'{name} is neither a type nor a table: write {name} = "int" or {name} = {{ type = "int" }}')


def _from_csv(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(field.strip() for field in row)]
    except csv.Error as error:
        raise _Wrong(f"it is not valid CSV: {error}") from None
    header = [name.strip().casefold() for name in rows[0]] if rows else []
    allowed = f"its header line has column and type, and may have {', '.join(_FIELDS[2:])}"
    if not {"column", "type"} <= set(header):
        raise _Wrong(f"{allowed}; it lacks {' and '.join(name for name in _FIELDS[:2] if name not in header)}")
    if unknown := [name for name in header if name not in _FIELDS]:
        raise _Wrong(f"{allowed}; remove or rename {', '.join(unknown)}")
    if len(set(header)) < len(header):
        raise _Wrong("its header line names a field twice; remove one of them")
    for row in rows[1:]:
        if len(row) > len(header):
            raise _Wrong(f"the line of {row[0]!r} has more fields than the header; quote what holds a comma")
        fields = {name: value.strip() for name, value in zip(header, row, strict=False) if value.strip()}
        yield fields.get("column", ""), _from_fields(fields)


def _from_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """The line of a CSV codebook as a table of TOML."""
    entry: dict[str, Any] = {name: fields[name] for name in ("type", "label") if name in fields}
    if "lower" in fields or "upper" in fields:
        if not {"lower", "upper"} <= fields.keys():
            raise _Wrong(f"{fields.get('column')} has one bound; write lower and upper, or neither")
        entry["bounds"] = [fields["lower"], fields["upper"]]
    if "keys" in fields:
        kind = type_in_policy(fields.get("type", ""))
        entry["keys"] = [_key(kind, part.strip()) for part in fields["keys"].split("|")]
    return entry


def _key(kind: str | None, text: str) -> bool | int | str:
    if kind == "int":
        try:
            return int(text)
        except ValueError:
            return text
    return {"true": True, "false": False}.get(text.casefold(), text) if kind == "bool" else text


def _entries(rows: Iterator[tuple[str, dict[str, Any]]]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Columns as a policy has them, and their labels."""
    entries: dict[str, dict[str, Any]] = {}
    labels: dict[str, str] = {}
    for name, entry in rows:
        if not name:
            raise _Wrong("a line has no name of a column; write one, or remove the line")
        if name in entries:
            raise _Wrong(f"it describes {name} twice; remove one of them")
        label = entry.pop("label", "")
        if not isinstance(label, str):
            raise _Wrong(f"the label of {name} is no text; put it in quotes")
        written = entry.get("type")
        if isinstance(written, str):
            entry["type"] = type_in_policy(written) or written
        entries[name], labels[name] = entry, label
    return entries, labels
