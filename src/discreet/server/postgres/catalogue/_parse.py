"""Text to one query of the catalogue, or the finding that it is none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import SqlglotError

from discreet.errors import QueryError
from discreet.query.parse import foreign_grammar, unlogged
from discreet.server.postgres.catalogue._calls import TABLE_FUNCTIONS, function_name, known_function
from discreet.server.postgres.catalogue._nodes import PARAMETER, fold

__all__ = ["names_nothing", "parse", "reads_catalogue"]

_MAX_LENGTH = 2**16
_MAX_TOKENS = 6_000
_MAX_DEPTH = 60
_MAX_NODES = 8_000
_MAX_QUERIES = 24
"""Half as many again as any client was seen to send: what DuckDB takes to plan them doubles with every five."""
_READS = re.compile(r'\bfrom\s+["a-z_]', re.IGNORECASE)
_WORD = re.compile(r"\w+")
_SCHEMAS = ("pg_catalog", "information_schema")
_STEPS_PER_TOKEN = 8
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_BEGINNINGS = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.VALUES)
_PARSER = foreign_grammar("postgres").parser
_DIALECT = Dialect.get_or_raise("postgres")
vars(_DIALECT)["INDEX_OFFSET"] = 0  # of this instance alone: places in arrays are left as they are written
_TOO_LARGE = "the query of the catalogue is too large; ask for less at once"
_REGISTERED = ("REGCLASS", "REGTYPE", "REGPROC", "REGNAMESPACE", "OID")


def parse(text: str, parameters: Sequence[Any] = ()) -> exp.Query | None:
    """The one query that a text is, in PostgreSQL's dialect, names folded and $1, $2, … replaced by values.

    None for other statements, and for what is no SQL, which are not the catalogue's to answer. Raises `QueryError` for
    what is too large or nested too deeply.
    """
    if len(text) > _MAX_LENGTH or "\0" in text or not _is_unicode(text):
        return None
    try:
        with unlogged():
            tokens = _DIALECT.tokenize(text)
            if not tokens or tokens[0].token_type not in _BEGINNINGS or not _is_small(tokens):
                return None
            parser = _PARSER(dialect=_DIALECT)
            parser.steps = _STEPS_PER_TOKEN * len(tokens) + 1_000
            statements = [each for each in parser.parse(_typed(tokens), text) if each is not None]
        if len(statements) != 1 or not isinstance(statements[0], exp.Query | exp.Subquery):
            return None
        query = statements[0]
        if _count(query) > _MAX_NODES:
            return None
        fold(query)
        return _bound(query, parameters)
    except QueryError:
        raise
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        return None


def names_nothing(text: str, relations: frozenset[str]) -> bool:
    """Whether a text reads something, and has not even a word that could name a relation or rows of the catalogue.

    Tells most questions from queries of the catalogue before either is parsed; others may turn out to be neither.
    """
    if len(text) > _MAX_LENGTH:
        return True
    if _READS.search(text) is None:
        return False
    words = {word.lower() for word in _WORD.findall(text)}
    return words.isdisjoint(relations) and not any(word.startswith("pg_") for word in words)


def _is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_small(tokens: Sequence[Token]) -> bool:
    if len(tokens) > _MAX_TOKENS:
        return False
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > _MAX_DEPTH:
            return False
    return sum(token.token_type == TokenType.SELECT for token in tokens) <= _MAX_QUERIES


def _count(query: exp.Expr) -> int:
    return sum(1 for _ in query.walk())


def _typed(tokens: list[Token]) -> list[Token]:
    """The tokens, with an array of regtype and its like in one, which the parser does not read."""
    typed = list[Token]()
    for token in tokens:
        kinds = [each.token_type for each in typed[-2:]]
        if token.token_type == TokenType.R_BRACKET and len(typed) > 1 and kinds[-1] == TokenType.L_BRACKET:
            named = typed[-2]
            if named.text.upper() in _REGISTERED:
                typed.pop()
                named.token_type, named.text = TokenType.VAR, f"_{named.text.lower()}"
                continue
        typed.append(token)
    return typed


def _bound(query: exp.Expr, parameters: Sequence[Any]) -> Any:
    for node in list(query.find_all(exp.Parameter, exp.Placeholder)):
        place = node.this
        number = int(place.name) if isinstance(place, exp.Literal) and place.name.isdecimal() else 0
        if not 1 <= number <= len(parameters):
            raise QueryError(f"there is no parameter ${place.name if place else '?'}")
        value = parameters[number - 1]
        constant = exp.Literal.string(value) if isinstance(value, str) else exp.convert(value)
        constant.meta[PARAMETER] = number
        node.replace(constant)
    return query


def reads_catalogue(query: exp.Expr, tables: Mapping[tuple[str, str], Any]) -> bool:
    """Whether a query reads the catalogue and nothing else: its tables, or, with no table, its functions alone.

    Raises `QueryError` for one that reads both the catalogue and something else.
    """
    names = {each.alias for each in query.find_all(exp.CTE)}
    own, foreign, absent = list[str](), list[str](), list[str]()
    for table in query.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or (not table.db and table.name in names):
            continue
        known = table.db in ("", *_SCHEMAS) and (table.db or _SCHEMAS[0], table.name) in tables
        (own if known else absent if table.db in _SCHEMAS else foreign).append(f"{table.db}.{table.name}".lstrip("."))
    if foreign or absent:
        if own or absent:
            raise QueryError(
                f'relation "{(absent or foreign)[0][:200]}" is not in the catalogue: a query reads the catalogue or '
                "tables of the policy, not both"
            )
        return False
    if own:
        return True
    calls = [name for each in query.find_all(exp.Anonymous) if (name := function_name(each)) is not None]
    return all(known_function(name) or name in TABLE_FUNCTIONS or name == "all" for name in calls)
