"""A parser that gives up: sqlglot's, with a limit on the steps that it may take."""

from __future__ import annotations

from typing import Any

from sqlglot import Token, exp
from sqlglot.parsers.duckdb import DuckDBParser

from discreet.errors import QueryError
from discreet.query._tokens import DUCKDB

__all__ = ["parse_tokens"]

_STEPS_PER_TOKEN = 3
_STEPS_AT_LEAST = 1_000
_MAX_INTERVAL = 100


class _Parser(DuckDBParser):
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


def parse_tokens(tokens: list[Token], text: str) -> list[exp.Expr | None]:
    """The statements that the tokens of a text are, as sqlglot reads them.

    Raises `QueryError` for a text that takes more steps than its size allows, `ParseError` for what is no statement.
    """
    parser = _Parser(dialect=DUCKDB)
    parser.steps = _STEPS_PER_TOKEN * len(tokens) + _STEPS_AT_LEAST
    statements = parser.parse(tokens, text)
    for statement in statements:
        for node in () if statement is None else statement.walk():
            node._meta = None  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # where it stood; copies would copy it
    return statements
