"""sqlglot's parser, with a limit on the steps that it may take."""

from __future__ import annotations

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, ClassVar

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.parser import Parser
from sqlglot.parsers.duckdb import DuckDBParser

from discreet.errors import QueryError

__all__ = ["DUCKDB", "MAX_DEPTH", "TOO_DEEP", "Grammar", "foreign_grammar", "parse_tokens", "tokenize", "unlogged"]


MAX_DEPTH = 100
TOO_DEEP = f"the query is nested more than {MAX_DEPTH} levels deep; write a long chain of ORs as x IN (…)"
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


def _with_top(tokens: list[Token]) -> list[Token]:
    """The tokens with the word of SELECT TOP 3 and SELECT DISTINCT TOP (3) marked, which other dialects have for LIMIT.

    Elsewhere, and before a comma or FROM, TOP is a name like any other.

    >>> [token.token_type.name for token in tokenize("SELECT TOP 3 top FROM t")]
    ['SELECT', 'TOP', 'NUMBER', 'VAR', 'FROM', 'VAR']
    """
    kinds = [token.token_type for token in tokens]
    for i, token in enumerate(tokens):
        first = i - 1 if i and kinds[i - 1] in (TokenType.DISTINCT, TokenType.ALL) else i
        if (
            token.text.upper() != "TOP"
            or kinds[i] != TokenType.VAR
            or not first
            or kinds[first - 1] != TokenType.SELECT
        ):
            continue
        plain = kinds[i + 1 : i + 2] == [TokenType.NUMBER]
        wrapped = kinds[i + 1 : i + 4] == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]
        if plain or (wrapped and kinds[i + 4 : i + 5] not in ([], [TokenType.COMMA], [TokenType.FROM])):
            token.token_type = TokenType.TOP
    return tokens


def _takes_part(kind: TokenType, last: TokenType | None, before: TokenType | None) -> bool:
    """Whether a token begins an index, or a field of something else than a table; a parser looks at all before it."""
    if kind == TokenType.L_BRACKET:
        return last in _VALUES
    return kind == TokenType.DOT and (last in _CLOSING or before == TokenType.DOT)


def _too_many() -> QueryError:
    return QueryError(f"the query is too large: it has more than {_MAX_TOKENS:,} words and signs; ask for less at once")


_STEPS_PER_TOKEN = 3
_STEPS_AT_LEAST = 1_000
_MAX_INTERVAL = 100


_PARTS = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
"""Parts of dates that are counted alike in all systems; in weeks they are not."""
_SHORT = {
    "YY": "YEAR", "YYYY": "YEAR", "QQ": "QUARTER", "MM": "MONTH", "DD": "DAY", "HH": "HOUR", "MI": "MINUTE",
    "N": "MINUTE", "SS": "SECOND",
}  # fmt: skip
"""How SQL Server shortens them."""


def _date_difference(arguments: list[exp.Expr]) -> exp.Expr:
    """DATEDIFF(part, from, to) as it is; the part may stand last, and of DATEDIFF(to, from) it is the day.

    Where the part stands last, and without one, the later date stands first, as BigQuery, MySQL and Spark have it.
    """
    if len(arguments) == 2:
        return exp.DateDiff(this=arguments[0], expression=arguments[1], unit=exp.Var(this="DAY"))
    if len(arguments) == 3:
        first, last = (_word(arguments[i]) for i in (0, 2))
        if last in _PARTS and first not in (*_PARTS, *_SHORT) and not isinstance(arguments[0], exp.Literal):
            return exp.DateDiff(this=arguments[0], expression=arguments[1], unit=exp.Var(this=last))
        if first in _SHORT:
            arguments = [exp.Var(this=_SHORT[first]), *arguments[1:]]
    return DuckDBParser.FUNCTIONS["DATE_DIFF"](arguments)


def _elapsed(arguments: list[exp.Expr]) -> exp.Expr:
    """TIMESTAMPDIFF(part, from, to) or (to, from, part), which counts what is over: read, so that it can be refused."""
    if len(arguments) == 3 and _word(arguments[0]) in (*_PARTS, "WEEK"):
        return exp.TimestampDiff(this=arguments[2], expression=arguments[1], unit=exp.Var(this=_word(arguments[0])))
    return DuckDBParser.FUNCTIONS["TIMESTAMPDIFF"](arguments)


def _word(node: exp.Expr) -> str:
    """A bare word in capitals; nothing for anything else."""
    name = node.this if isinstance(node, exp.Column) and not node.args.get("table") else node
    plain = isinstance(name, exp.Var) or (isinstance(name, exp.Identifier) and not name.args.get("quoted"))
    return name.name.upper() if plain else ""


class _Counting(Parser):
    """Counts steps forward and back. Where a text may be read in two ways, as ROW(…) may be a type or a value, sqlglot
    tries one and goes back for the other; nested, that doubles with each level. Queries in tests take 2.4 steps for
    each token at most.
    """

    steps = 0

    def _advance(self, times: int = 1) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise QueryError(
                "the query can be read in too many ways, as ROW(ROW(…)) and nested types can; "
                "write it with fewer of them"
            )
        super()._advance(times)

    def _parse_interval_span(self, this: exp.Expr, *args: Any, **kwargs: Any) -> exp.Interval:
        # The parser looks for a number and a unit from every place in the text.
        if isinstance(this, exp.Literal) and len(this.name) > _MAX_INTERVAL:
            raise QueryError(f"INTERVAL takes a number and a unit, such as INTERVAL 3 DAY, not {this.name[:20]!r}…")
        return super()._parse_interval_span(this, *args, **kwargs)


class _DuckDBParser(_Counting, DuckDBParser):
    """DuckDB's grammar, and differences of dates as other systems write them."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {
        **DuckDBParser.FUNCTIONS,
        "DATEDIFF": _date_difference,
        "DATE_DIFF": _date_difference,
        "TIMESTAMPDIFF": _elapsed,
    }


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a dialect is read: its tokens by sqlglot, its statements by a parser that counts its steps."""

    dialect: Dialect
    parser: type[_Counting]


DUCKDB = Grammar(Dialect.get_or_raise("duckdb"), _DuckDBParser)

_CONSTRUCTS = ("CAST", "TRY_CAST", "SAFE_CAST", "CONVERT", "TRY_CONVERT", "EXTRACT", "POSITION", "SUBSTRING", "TRIM")
"""What has a syntax of its own where other functions have a list of arguments."""


@cache
def foreign_grammar(name: str) -> Grammar:
    """The grammar of a dialect of sqlglot, which leaves each function by the name and arguments that are written.

    What sqlglot takes a function of another dialect for is not looked at: tables of this package say what each means.

    >>> tsql = foreign_grammar("tsql")
    >>> parse_tokens(tokenize("SELECT LEN(x)", tsql), "SELECT LEN(x)", tsql)[0].expressions[0]
    Anonymous(
      this=LEN,
      expressions=[
        Column(
          this=Identifier(this=x, quoted=False))])
    """
    dialect = Dialect.get_or_raise(name)
    base: Any = dialect.parser_class
    constructs = {word: base.FUNCTION_PARSERS[word] for word in _CONSTRUCTS if word in base.FUNCTION_PARSERS}
    bare = type(f"_{base.__name__}", (_Counting, base), {"FUNCTIONS": {}, "FUNCTION_PARSERS": constructs})
    return Grammar(dialect, bare)


def tokenize(text: str, grammar: Grammar = DUCKDB) -> list[Token]:
    """The tokens of a query.

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
    tokens = grammar.dialect.tokenize(text)
    if grammar is DUCKDB:
        tokens = _with_top(tokens)
    else:
        for token in tokens:
            if token.token_type in (TokenType.NATIONAL_STRING, TokenType.RAW_STRING):  # N'…' of T-SQL, r'…' of BigQuery
                token.token_type = TokenType.STRING
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


def parse_tokens(tokens: list[Token], text: str, grammar: Grammar = DUCKDB) -> list[exp.Expr | None]:
    """The statements that the tokens of a text are, as sqlglot reads them.

    Raises `QueryError` for a text that takes more steps than its size allows, `ParseError` for what is no statement.
    """
    parser = grammar.parser(dialect=grammar.dialect)
    parser.steps = _STEPS_PER_TOKEN * len(tokens) + _STEPS_AT_LEAST
    statements = parser.parse(tokens, text)
    for statement in statements:
        for node in () if statement is None else statement.walk():
            node._meta = None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # where it stood; copies would copy it
    return statements


_MUTED: ContextVar[bool] = ContextVar("muted", default=False)


@contextmanager
def unlogged() -> Generator[None, None, None]:
    """Drop what sqlglot logs in this context; other threads, and other users of it, keep their log.

    >>> with unlogged():
    ...     logging.getLogger("sqlglot").warning("a query")
    """
    logging.getLogger("sqlglot").addFilter(_unmuted)
    before = _MUTED.set(True)
    try:
        yield
    finally:
        _MUTED.reset(before)


def _unmuted(_: logging.LogRecord) -> bool:
    return not _MUTED.get()
