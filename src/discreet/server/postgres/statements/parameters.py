"""The parameters ``$1``, ``$2``, … of a query: where they stand, which types they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Dialect
from sqlglot.errors import SqlglotError

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.statements.tokens import tokens_of

__all__ = ["Parametrized"]

_POSTGRES = Dialect.get_or_raise("postgres")
_MOST = 65_535
_TEXT, _INT8, _FLOAT8 = 25, 20, 701
_BY_NAME: Final[Mapping[str, int]] = {
    "BOOL": 16, "BOOLEAN": 16, "BIGINT": 20, "INT8": 20, "SMALLINT": 21, "INT2": 21, "INT": 23, "INTEGER": 23,
    "INT4": 23, "TEXT": 25, "VARCHAR": 1043, "REAL": 700, "FLOAT4": 700, "FLOAT8": 701, "DOUBLE": 701, "FLOAT": 701,
    "DOUBLE PRECISION": 701, "DATE": 1082, "TIMESTAMP": 1114, "TIMESTAMPTZ": 1184, "NUMERIC": 1700, "DECIMAL": 1700,
}  # fmt: skip
_COMPARISONS: Final = {"=", "<>", "!=", "<", "<=", ">", ">=", "LIKE", "ILIKE"}
_LISTED: Final = {"parameter", "number", "text"}


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
        self._tokens = tokens_of(text) if "$" in text else []
        self._places: list[_Place] = []
        for at, token in enumerate(self._tokens):
            if token.kind == "parameter":
                if len(token.text) > 6 or not 1 <= int(token.text[1:]) <= _MOST:
                    raise SqlError("42P02", "there is no such parameter: they are $1, $2 and so on")
                self._places.append(_Place(token.start, token.end, int(token.text[1:]), at))

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
        """The query with constants of SQL in the places of its parameters.

        Raises `SqlError` (0A000) where the planner's parser would read another text around a constant than PostgreSQL
        does, so that a value is never read as SQL.
        """
        if not self._places:
            return self._text
        parts: list[str] = []
        starts: set[int] = set()
        end = length = 0
        for place in self._places:
            parts += [self._text[end : place.start], f" {constants[place.number - 1]} "]
            starts.add(length + place.start - end + 1)
            length += sum(map(len, parts[-2:]))
            end = place.end
        filled = "".join([*parts, self._text[end:]])
        try:
            read = {token.start for token in _POSTGRES.tokenize(filled)}
        except (SqlglotError, RecursionError):
            read = set[int]()
        if not starts <= read:
            raise SqlError("0A000", "this text cannot have parameters here", "Write its texts and comments plainly.")
        return filled

    def _inferred(self, at: int, columns: Mapping[str, int], earlier: tuple[int, int]) -> int:
        """The type of the parameter at a token, after an `earlier` one, which may stand in the same list."""
        after, before = self._word(at + 1), self._word(at - 1)
        if after == "::" or (after == "AS" and self._word(at - 2) == "CAST"):
            return _BY_NAME.get(self._word(at + 2), 0)
        if before in ("LIMIT", "OFFSET"):
            return _INT8
        if before in _COMPARISONS:
            return self._column(at - 2, columns)
        if after in _COMPARISONS:
            end = at + 2
            while self._word(end + 1) == ".":
                end += 2
            return self._column(end, columns)
        if before == "BETWEEN":
            return self._column(at - 2, columns)
        if before == "AND":  # … BETWEEN x AND $2
            start = next((i for i in range(at - 2, max(at - 8, 0), -1) if self._word(i) == "BETWEEN"), 0)
            return self._column(start - 1, columns) if start else 0
        if before in ("(", ","):
            start = at - 1
            while start > earlier[0] and (self._word(start) in ("(", ",") or self._tokens[start].kind in _LISTED):
                start -= 1
            if start == earlier[0] and start >= 0:
                return earlier[1]
            if self._word(start) == "IN":
                return self._column(start - 1 - (self._word(start - 1) == "NOT"), columns)
        return 0

    def _column(self, at: int, columns: Mapping[str, int]) -> int:
        """The type of the column whose name is a token."""
        if not 0 <= at < len(self._tokens):
            return 0
        token = self._tokens[at]
        if token.kind == "quoted":
            return columns.get(token.text[1:-1].lower(), 0)
        return columns.get(token.text.lower(), 0) if token.kind == "word" else 0

    def _word(self, at: int) -> str:
        return self._tokens[at].text.upper() if 0 <= at < len(self._tokens) else ""
