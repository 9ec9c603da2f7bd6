"""`--data` to a source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.errors import ParameterError

__all__ = ["source_of"]

_NAMED = re.compile(r"([^=/\\.]+)=(.+)", re.DOTALL)


def source_of(data: Sequence[str]) -> str | dict[str, str]:
    """A path for every table, or a dict from a table's name to its path.

    >>> source_of(["visits=in/visits.csv"]), source_of(["shop.duckdb"])
    ({'visits': 'in/visits.csv'}, 'shop.duckdb')
    """
    named: dict[str, str] = {}
    for item in data:
        match = _NAMED.fullmatch(item)
        if match is None:
            if len(data) > 1:
                raise ParameterError(f"with several --data each says its table: write NAME={item}")
            return item
        name, path = match.groups()
        if name.casefold() in (known.casefold() for known in named):
            raise ParameterError(f"--data names the table {name} twice")
        named[name] = path
    return named
