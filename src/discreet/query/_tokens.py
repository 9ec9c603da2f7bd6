"""Text to tokens, no more of them than a parser reads in a moment."""

from __future__ import annotations

import re
from itertools import islice

from sqlglot import Dialect, Token, TokenType

from discreet.errors import QueryError

__all__ = ["DUCKDB", "MAX_DEPTH", "TOO_DEEP", "tokenize"]

MAX_DEPTH = 100
TOO_DEEP = f"the query is nested more than {MAX_DEPTH} levels deep; write a long chain of ORs as x IN (…)"
DUCKDB = Dialect.get_or_raise("duckdb")

_MAX_LENGTH = 2**16
_MAX_TOKENS = 12_000
_MAX_PARTS_TAKEN = 20
_MAX_NAME = 1_000
_MAX_DIGITS = 1_000
_WORD_OR_SIGN = re.compile(r"""'(?:[^']|'')*+'?|"(?:[^"]|"")*+"?|\w+|[^\w\s]""")
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_VALUES = (*_NAMES, *_CLOSING, TokenType.STRING, TokenType.NUMBER)


def tokenize(text: str) -> list[Token]:
    """The tokens of a query in DuckDB's dialect.

    Raises `QueryError` for more than 65,536 characters, 12,000 tokens, 100 open brackets, or 1,000 characters of one
    name or number: each is refused before the step whose time it would take. Raises `TokenError` for what has no
    tokens.

    >>> [token.text for token in tokenize("SELECT COUNT(*)")]
    ['SELECT', 'COUNT', '(', '*', ')']
    """
    if len(text) > _MAX_LENGTH:
        raise QueryError(f"the query is longer than {_MAX_LENGTH:,} characters; ask for less at once")
    if sum(1 for _ in islice(_WORD_OR_SIGN.finditer(text), _MAX_TOKENS + 1)) > _MAX_TOKENS:
        raise _too_many()
    tokens = DUCKDB.tokenize(text)
    if len(tokens) > _MAX_TOKENS:
        raise _too_many()
    depth, parts = 0, 0
    kinds = [None, None, *(token.token_type for token in tokens)]
    for token, before, last in zip(tokens, kinds, kinds[1:], strict=False):
        kind = token.token_type
        parts += _takes_part(kind, last, before)
        if parts > _MAX_PARTS_TAKEN:
            raise QueryError(
                f"the query takes parts of values more than {_MAX_PARTS_TAKEN} times, as x[1] or a.b.c do; SUBSTRING "
                "takes a part of a text, and a column is named as table.column"
            )
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth > MAX_DEPTH:
            raise QueryError(TOO_DEEP)
        if kind in _NAMES and len(token.text) > _MAX_NAME:
            raise QueryError(
                f"the name {token.text[:20]}… is longer than {_MAX_NAME:,} characters; give it a shorter one"
            )
        if kind == TokenType.NUMBER and len(token.text) > _MAX_DIGITS:
            raise QueryError(
                f"{token.text[:20]}… is not a number that a query can use: it has over {_MAX_DIGITS:,} digits"
            )
    return tokens


def _takes_part(kind: TokenType, last: TokenType | None, before: TokenType | None) -> bool:
    """Whether a token begins an index, or a field of something else than a table; a parser looks at all before it."""
    if kind == TokenType.L_BRACKET:
        return last in _VALUES
    return kind == TokenType.DOT and (last in _CLOSING or before == TokenType.DOT)


def _too_many() -> QueryError:
    return QueryError(f"the query is too large: it has more than {_MAX_TOKENS:,} words and signs; ask for less at once")
