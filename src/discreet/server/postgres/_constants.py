"""Queries without FROM that connections are tried with, often: constants, and who and where one is.

The catalogue knows them too; here they cost next to nothing.

Source: PostgreSQL manual, section "System Information Functions and Operators".
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.server.postgres._settings import SERVER_VERSION
from discreet.server.postgres.statements.tokens import Token, tokens_of

__all__ = ["constant_answer"]

_MOST_CHARACTERS = 1_000
_WORDS: Mapping[str, tuple[str, Any, pa.DataType]] = {
    "TRUE": ("bool", True, pa.bool_()),
    "FALSE": ("bool", False, pa.bool_()),
    "NULL": ("?column?", None, pa.string()),
}
_NOT_NAMES = {"FROM", "WHERE", "UNION", "LIMIT", "ORDER", "GROUP", "HAVING", "INTERSECT", "EXCEPT", "OFFSET", "FETCH"}


def constant_answer(text: str, account: str, database: str, process: int) -> pa.Table | None:
    """The answer to a SELECT of constants and of what a session knows; None for any other query.

    >>> constant_answer("SELECT 1, 'a' AS x", "ada", "visits", 7).to_pydict()
    {'?column?': [1], 'x': ['a']}
    """
    if len(text) > _MOST_CHARACTERS:
        return None
    tokens = tokens_of(text)
    if not tokens or tokens[0].text.upper() != "SELECT":
        return None
    known = {
        "version": f"PostgreSQL {SERVER_VERSION} (discreet)",
        "current_database": database,
        "current_schema": "public",
        "current_user": account,
        "session_user": account,
        "user": account,
        "pg_backend_pid": process,
        "pg_advisory_unlock_all": "",
    }
    fields: list[pa.Field] = []
    values: list[Any] = []
    at = 1
    while at < len(tokens):
        item = _item(tokens, at, known)
        if item is None:
            return None
        name, value, kind, at = item
        if at < len(tokens) and tokens[at].text.upper() == "AS":
            at += 1
            if at == len(tokens):
                return None
        if at < len(tokens) and tokens[at].text != ",":
            named = _name(tokens[at])
            if named is None:
                return None
            name, at = named, at + 1
        fields.append(pa.field(name, kind))
        values.append(pa.array([value], kind))
        if at == len(tokens):
            return pa.table(values, schema=pa.schema(fields))
        if tokens[at].text != ",":
            return None
        at += 1
    return None


def _item(tokens: list[Token], at: int, known: Mapping[str, Any]) -> tuple[str, Any, pa.DataType, int] | None:
    """A constant or a function that begins at a token: its name, value and type, and the token after it."""
    token, word = tokens[at], tokens[at].text
    if token.kind == "text" and word.startswith("'"):
        return "?column?", word[1:-1].replace("''", "'"), pa.string(), at + 1
    if token.kind == "number":
        return _number(word, at + 1)
    if token.kind != "word":
        return None
    if word.upper() in _WORDS:
        return *_WORDS[word.upper()], at + 1
    if word.lower() == "pg_catalog" and [each.text for each in tokens[at + 1 : at + 2]] == ["."]:
        return _item(tokens, at + 2, known) if at + 2 < len(tokens) and tokens[at + 2].text != "pg_catalog" else None
    name = word.lower()
    if name not in known:
        return None
    called = [each.text for each in tokens[at + 1 : at + 3]] == ["(", ")"]
    if called == (name in ("current_user", "session_user", "user")):
        return None
    kind = pa.int32() if isinstance(known[name], int) else pa.string()
    return name, known[name], kind, at + (3 if called else 1)


def _number(word: str, after: int) -> tuple[str, Any, pa.DataType, int] | None:
    if word.isdecimal():
        number = int(word)
        if number < 1 << 63:
            return "?column?", number, pa.int32() if number < 1 << 31 else pa.int64(), after
        return None
    parts = word.split(".")
    if len(parts) == 2 and all(part.isdecimal() for part in parts) and len(word) < 38:
        return "?column?", Decimal(word), pa.decimal128(len(word), len(parts[1])), after
    return None


def _name(token: Token) -> str | None:
    if token.kind == "quoted":
        return token.text[1:-1].replace('""', '"')
    if token.kind == "word" and token.text.upper() not in _NOT_NAMES:
        return token.text.lower()
    return None
