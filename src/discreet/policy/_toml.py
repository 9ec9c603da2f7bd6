"""Columns, names and values of a policy as TOML writes them."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from fractions import Fraction

from discreet.policy._column import Bound, Column, Key

__all__ = ["column_to_toml", "toml_key", "toml_value"]


def column_to_toml(name: str, column: Column) -> str:
    """The line of a column under ``[tables.NAME.columns]``.

    >>> column_to_toml("body mass", Column(type="float", bounds=(0, "32.5")))
    '"body mass" = { type = "float", bounds = [0, 32.5] }'
    """
    parts = [f'type = "{column.type}"']
    if column.bounds is not None:
        parts.append(f"bounds = [{', '.join(map(toml_value, column.bounds))}]")
    if column.keys is not None:
        parts.append(f"keys = [{', '.join(map(toml_value, column.keys))}]")
    if not column.nullable:
        parts.append("nullable = false")
    return f"{toml_key(name)} = {{ {', '.join(parts)} }}"


def toml_key(name: str) -> str:
    """A name as TOML writes it before `=`, or between dots."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Key | Bound) -> str:
    r"""A value as TOML writes it, on one line: a number exactly, as text if no decimal is.

    >>> toml_value(True), toml_value(Fraction(1, 8)), toml_value(Fraction(1, 3)), toml_value('a "b"')
    ('true', '0.125', '"1/3"', '"a \\"b\\""')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dt.date():
            return value.isoformat()
        case Fraction() if value.denominator != 1 or abs(value) >= 10**18:
            decimal = Decimal(value.numerator) / Decimal(value.denominator)
            if Fraction(decimal) != value:
                return f'"{value}"'
            form = "f" if Fraction(1, 10**6) <= abs(value) < 10**18 else "e"
            return format(decimal.normalize(), form).replace("e+", "e")
        case _:
            return str(value)
