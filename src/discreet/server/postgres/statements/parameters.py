"""The parameters ``$1``, ``$2``, … of a query: where they stand, which types they have, and constants in their places.

The tokens are those that the planner's parser reads, so that what is a parameter here is one there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import SqlglotError

from discreet.server.postgres._refusals import SqlError

__all__ = ["Parametrized"]

_POSTGRES = Dialect.get_or_raise("postgres")
_MOST = 65_535
_TEXT, _INT8, _FLOAT8 = 25, 20, 701
_BY_NAME: Final[Mapping[str, int]] = {
    "BOOL": 16, "BOOLEAN": 16, "BIGINT": 20, "INT8": 20, "SMALLINT": 21, "INT2": 21, "INT": 23, "INTEGER": 23,
    "INT4": 23, "TEXT": 25, "VARCHAR": 1043, "REAL": 700, "FLOAT4": 700, "FLOAT8": 701, "DOUBLE": 701, "FLOAT": 701,
    "DOUBLE PRECISION": 701, "DATE": 1082, "TIMESTAMP": 1114, "TIMESTAMPTZ": 1184, "NUMERIC": 1700, "DECIMAL": 1700,
}  # fmt: skip
_COMPARISONS = {
    TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.LIKE,
    TokenType.ILIKE,
}  # fmt: skip
_LISTED = {TokenType.COMMA, TokenType.PARAMETER, TokenType.NUMBER, TokenType.STRING, TokenType.L_PAREN}


@dataclass(frozen=True, slots=True)
class _Place:
    """A parameter in the text: its characters from `start` to before `end`, its number, and its first token's index."""

    start: int
    end: int
    number: int
    token: int


class Parametrized:
    """A query with parameters. Raises `SqlError`: 42601 for a text without tokens, 42P02 for a number out of range.

    >>> query = Parametrized("SELECT COUNT(*) FROM visits WHERE city = $1 AND '$2' <> '' LIMIT $2")
    >>> query.types((), {"city": 25}), query.filled(["'Cork'", "3"])
    ((25, 20), "SELECT COUNT(*) FROM visits WHERE city =  'Cork'  AND '$2' <> '' LIMIT  3 ")
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[Token] = []
        self._places: list[_Place] = []
        if "$" not in text:
            return
        try:
            self._tokens = _POSTGRES.tokenize(text)
        except (SqlglotError, RecursionError):
            raise SqlError("42601", "syntax error: a text, a name or a comment has no end") from None
        for at, (sign, digits) in enumerate(zip(self._tokens, self._tokens[1:], strict=False)):
            if sign.token_type != TokenType.PARAMETER or digits.start != sign.end + 1 or not digits.text.isdecimal():
                continue
            if len(digits.text) > 5 or not 1 <= int(digits.text) <= _MOST:
                raise SqlError("42P02", "there is no such parameter: they are $1, $2 and so on")
            self._places.append(_Place(sign.start, digits.end + 1, int(digits.text), at))

    @property
    def count(self) -> int:
        """The largest number of a parameter."""
        return max((place.number for place in self._places), default=0)

    def types(self, declared: Sequence[int], columns: Mapping[str, int]) -> tuple[int, ...]:
        """The OID of each parameter's type: as declared, or by the column or the cast that it stands beside, or text.

        `columns` are the types of columns by name, in lower case.
        """
        types = list(declared[: max(self.count, len(declared))])
        types += [0] * (self.count - len(types))
        before = (-1, 0)
        for place in self._places:
            if types[place.number - 1] in (0, 705):
                before = place.token, self._inferred(place.token, columns, before)
                types[place.number - 1] = before[1]
        return tuple(each or _TEXT for each in types)

    def filled(self, constants: Sequence[str]) -> str:
        """The query with constants of SQL in the places of its parameters."""
        parts: list[str] = []
        end = 0
        for place in self._places:
            parts += [self._text[end : place.start], f" {constants[place.number - 1]} "]
            end = place.end
        return "".join([*parts, self._text[end:]])

    def _inferred(self, at: int, columns: Mapping[str, int], earlier: tuple[int, int]) -> int:
        """The type of the parameter at a token, after an `earlier` one, which may stand in the same list."""
        after = self._kind(at + 2)
        if after == TokenType.DCOLON or (after == TokenType.ALIAS and self._word(at - 2) == "CAST"):
            return _BY_NAME.get(self._word(at + 3), 0)
        before = self._kind(at - 1)
        if before in (TokenType.LIMIT, TokenType.OFFSET):
            return _INT8
        if before in _COMPARISONS:
            return self._column(at - 2, columns)
        if after in _COMPARISONS:
            end = at + 3
            while self._kind(end + 1) == TokenType.DOT:
                end += 2
            return self._column(end, columns)
        if before == TokenType.BETWEEN:
            return self._column(at - 2, columns)
        if before == TokenType.AND:  # … BETWEEN x AND $2
            start = next((i for i in range(at - 2, max(at - 8, 0), -1) if self._kind(i) == TokenType.BETWEEN), 0)
            return self._column(start - 1, columns) if start else 0
        if before in (TokenType.L_PAREN, TokenType.COMMA):
            start = at - 1
            while start > earlier[0] and self._kind(start) in _LISTED:
                start -= 1
            if start == earlier[0] and start >= 0:
                return earlier[1]
            if self._kind(start) == TokenType.IN:
                return self._column(start - 1 - (self._kind(start - 1) == TokenType.NOT), columns)
        return 0

    def _column(self, at: int, columns: Mapping[str, int]) -> int:
        """The type of the column whose name is a token."""
        if not 0 <= at < len(self._tokens):
            return 0
        name = columns.get(self._tokens[at].text.lower(), 0)
        return name if self._kind(at) != TokenType.STRING else 0

    def _kind(self, at: int) -> TokenType | None:
        return self._tokens[at].token_type if 0 <= at < len(self._tokens) else None

    def _word(self, at: int) -> str:
        return self._tokens[at].text.upper() if 0 <= at < len(self._tokens) else ""
