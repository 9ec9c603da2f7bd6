"""Rules of a fit from the command line: conditions, and files of all kinds of rules."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.synth.rules import Rule

__all__ = ["rules_of"]

_LARGEST = 2**24
_FIELDS: Mapping[str, frozenset[str]] = {
    "soft": frozenset({"condition", "weight"}),
    "follows": frozenset({"column", "given", "values", "file"}),
    "totals": frozenset({"rows", "where"}),
}


def rules_of(conditions: Sequence[str], file: Path | None) -> list[Rule]:
    """The rules that options name. Raises `ParameterError` for a file that cannot be read, or holds something else."""
    return [*conditions, *([] if file is None else _from_file(file))]


def _from_file(path: Path) -> list[Rule]:
    from discreet.synth import Soft, Total

    try:
        content = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path} is no TOML: {error}") from None
    odd = set(content) - {"hard", *_FIELDS}
    if odd:
        raise ParameterError(f"{path}: there is no {min(odd)} among rules; there are hard, soft, follows and totals")
    hard = content.get("hard", [])
    if not isinstance(hard, list):
        raise ParameterError(f'{path}: hard is a list of conditions, as in hard = ["cost = 0 OR visits > 0"]')
    rules: list[Rule] = list(hard)  # pyright: ignore[reportUnknownArgumentType]
    rules += [Soft(each.get("condition", ""), each.get("weight", 1.0)) for each in _sections(path, content, "soft")]
    rules += [_follows(path, each) for each in _sections(path, content, "follows")]
    return rules + [Total(each.get("rows", -1), each.get("where")) for each in _sections(path, content, "totals")]


def _sections(path: Path, content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    sections: Any = content.get(name, [])
    if not isinstance(sections, list) or not all(isinstance(each, dict) for each in sections):  # pyright: ignore[reportUnknownVariableType]
        raise ParameterError(f"{path}: write each of {name} as a section [[{name}]]")
    for each in sections:  # pyright: ignore[reportUnknownVariableType]
        odd = set(each) - _FIELDS[name]  # pyright: ignore[reportUnknownArgumentType]
        if odd:
            raise ParameterError(f"{path}: [[{name}]] has {', '.join(sorted(_FIELDS[name]))}, and no {min(odd)}")
    return sections  # pyright: ignore[reportUnknownVariableType]


def _follows(path: Path, section: Mapping[str, Any]) -> Rule:
    from discreet.synth import Follows

    if "column" not in section or "given" not in section or ("values" in section) == ("file" in section):
        raise ParameterError(f"{path}: [[follows]] has a column, what it is given by, and either values or a file")
    column, given = section["column"], section["given"]
    if "values" in section:
        return Follows(column, given, section["values"])
    names = [given] if isinstance(given, str) else list(given)
    return Follows(column, given, _listed(path.parent / str(section["file"]), names, str(column)))


def _listed(path: Path, given: Sequence[str], column: str) -> dict[Any, object]:
    """What follows from each value, by a CSV file with a header; an empty field is NULL."""
    lines = list(csv.DictReader(_text(path).splitlines()))
    missing = [name for name in (*given, column) if not lines or name not in lines[0]]
    if missing:
        raise ParameterError(f"{path} has no column {missing[0]}: its first line names the columns")
    keys = [tuple(_value(line[name]) for name in given) for line in lines]
    return {
        (key if len(given) > 1 else key[0]): _value(line[column]) for key, line in zip(keys, lines, strict=True)
    }  # fmt: skip


def _value(text: str | None) -> object:
    """A whole number or a truth value where it reads as one, else the text; NULL where it is empty."""
    plain = (text or "").strip()
    if plain.lstrip("-").isdecimal() and plain.isascii() and len(plain) < 19:
        return int(plain)
    return {"": None, "true": True, "false": False}.get(plain.casefold(), plain)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise ParameterError(f"{path} is larger than {_LARGEST >> 20} MiB; rules are a few lines")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"{path}: there is no such file") from None
    except (OSError, ValueError):
        raise ParameterError(f"{path} cannot be read; save it as UTF-8 text that this user may read") from None
