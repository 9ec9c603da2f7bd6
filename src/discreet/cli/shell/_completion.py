"""What may stand where the cursor is: commands, keywords, functions, and the policy's tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from discreet.cli.shell._statements import is_command

if TYPE_CHECKING:
    from discreet.policy import Policy

__all__ = ["completions"]

_KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS", "AND", "OR", "NOT", "IN", "BETWEEN",
    "LIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "DISTINCT", "FILTER", "JOIN",
    "LEFT JOIN", "ON", "USING", "UNION ALL", "ROLLUP", "CUBE", "GROUPING SETS", "ASC", "DESC", "WITH", "INTERVAL",
)  # fmt: skip
_ORDER_STATISTICS = ("MIN", "MAX", "MEDIAN", "QUANTILE_CONT")
_WORD = re.compile(r'(?:(?P<table>\w+|"[^"]+")\.)?(?P<word>"?\w*)$')
_AFTER_TABLE = re.compile(r"\b(?:FROM|JOIN)\s+$", re.IGNORECASE)
_PLAIN = re.compile(r"[a-zA-Z_]\w*", re.ASCII)


def completions(before: str, policy: Policy, commands: Sequence[str]) -> tuple[str, list[str]]:
    """The word before the cursor, and what it may become. Depends on the policy alone."""
    if is_command(before) and " " not in before.strip():
        word = before.lstrip()
        return word, [command for command in commands if command.startswith(word)]
    match = _WORD.search(before)
    assert match is not None  # it matches nothing as well
    table, word = match["table"], match["word"]
    if table is not None:
        return word, _beginning(word, _columns(policy, table.strip('"')))
    if _AFTER_TABLE.search(before[: match.start()]) or before.lstrip().startswith("\\columns"):
        return word, _beginning(word, policy.tables)
    if not word:
        return word, []
    return word, [*_beginning(word, (*policy.tables, *_columns(policy, None))), *_upper(word)]


def _columns(policy: Policy, table: str | None) -> list[str]:
    """The columns of a table, or of all tables where the name is an alias or none."""
    named = [each for name, each in policy.tables.items() if table is not None and name.casefold() == table.casefold()]
    return list(dict.fromkeys(column for each in named or policy.tables.values() for column in each.columns))


def _beginning(word: str, names: Iterable[str]) -> list[str]:
    start = word.lstrip('"').casefold()
    return [_quoted(name) for name in names if name.isprintable() and name.casefold().startswith(start)]


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"{}"'.format(name.replace('"', '""'))


def _upper(word: str) -> list[str]:
    """Keywords and functions, which are written in capitals."""
    from sqlglot import exp

    from discreet.query import FUNCTIONS, STATISTICS

    statistics = [name for each in STATISTICS if issubclass(each, exp.Func) for name in each.sql_names()]
    functions = [name for each in FUNCTIONS for name in each.names if _PLAIN.fullmatch(name)]
    known = dict.fromkeys((*_KEYWORDS, *_ORDER_STATISTICS, *sorted({*statistics, *functions})))
    return [each for each in known if each.startswith(word.upper())]
