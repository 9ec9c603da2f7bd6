"""The parameters ``$1``, ``$2``, … of a query: where they stand, which types they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlglot import Dialect
from sqlglot.errors import SqlglotError

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.statements.tokens import Token, tokens_of

__all__ = ["Parameter", "Parametrized"]

_POSTGRES = Dialect.get_or_raise("postgres")
_MOST = 65_535
_MOST_CHARACTERS = 1 << 16
_TEXT, _INT8, _FLOAT8 = 25, 20, 701
_BY_NAME: Final[Mapping[str, int]] = {
    "BOOL": 16, "BOOLEAN": 16, "BIGINT": 20, "INT8": 20, "SMALLINT": 21, "INT2": 21, "INT": 23, "INTEGER": 23,
    "INT4": 23, "TEXT": 25, "VARCHAR": 1043, "REAL": 700, "FLOAT4": 700, "FLOAT8": 701, "DOUBLE": 701, "FLOAT": 701,
    "DOUBLE PRECISION": 701, "DATE": 1082, "TIMESTAMP": 1114, "TIMESTAMPTZ": 1184, "NUMERIC": 1700, "DECIMAL": 1700,
    "OID": 26, "NAME": 19, "REGCLASS": 2205, "REGTYPE": 2206, "REGPROC": 24,
}  # fmt: skip
_ARRAYS: Final = {16: 1000, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 26: 1028, 19: 1003, 1043: 1015}
_COMPARISONS: Final = {"=", "<>", "!=", "<", "<=", ">", ">=", "LIKE", "ILIKE"}
_LISTED: Final = {"parameter", "number", "text"}


class Parameter(NamedTuple):
    """The OID of a parameter's type, and the column that it stands beside, if any."""

    oid: int
    column: str | None = None


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
    >>> query.parameters((), {"city": 25})
    (Parameter(oid=25, column='city'), Parameter(oid=20, column=None))
    >>> query.filled(["'Cork'", "3"])
    "SELECT COUNT(*) FROM visits WHERE city =  'Cork'  AND '$2' <> '' LIMIT  3 "
    """

    def __init__(self, text: str) -> None:
        self.text = text
        tokens = tokens_of(text) if "$" in text else []
        self._places: list[_Place] = []
        for at, token in enumerate(tokens):
            if token.kind == "parameter":
                if len(token.text) > 6 or not 1 <= int(token.text[1:]) <= _MOST:
                    raise SqlError("42P02", "there is no such parameter: they are $1, $2 and so on")
                self._places.append(_Place(token.start, token.end, int(token.text[1:]), at))

    @property
    def count(self) -> int:
        """The largest number of a parameter."""
        return max((place.number for place in self._places), default=0)

    def parameters(self, declared: Sequence[int], columns: Mapping[str, int]) -> tuple[Parameter, ...]:
        """Each parameter's type: as declared, or by the column or the cast that it stands beside, or else text.

        `columns` are the types of columns by name, in lower case.
        """
        all_of_them = [Parameter(oid) for oid in declared]
        all_of_them += [Parameter(0)] * (self.count - len(all_of_them))
        tokens = tokens_of(self.text) if self._places else []
        before = (-1, Parameter(0))
        for place in self._places:
            oid, column = all_of_them[place.number - 1]
            if column is None:
                before = place.token, _Beside(tokens, columns).parameter(place.token, before)
                inferred = before[1]
                all_of_them[place.number - 1] = Parameter(inferred.oid if oid in (0, 705) else oid, inferred.column)
        return tuple(each._replace(oid=each.oid or _TEXT) for each in all_of_them)

    def filled(self, constants: Sequence[str]) -> str:
        """The query with constants of SQL in the places of its parameters.

        Raises `SqlError`: 54000 for more than 65,536 characters, and 0A000 where the planner's parser would read other
        text around a constant than PostgreSQL does, so that a value is never read as SQL.
        """
        if not self._places:
            return self.text
        added = sum(len(constants[place.number - 1]) + 2 - (place.end - place.start) for place in self._places)
        if len(self.text) + added > _MOST_CHARACTERS:
            raise SqlError("54000", f"a query with its values has at most {_MOST_CHARACTERS:,} characters here")
        parts: list[str] = []
        starts: set[int] = set()
        end = length = 0
        for place in self._places:
            parts += [self.text[end : place.start], f" {constants[place.number - 1]} "]
            starts.add(length + place.start - end + 1)
            length += sum(map(len, parts[-2:]))
            end = place.end
        filled = "".join([*parts, self.text[end:]])
        try:
            read = {token.start for token in _POSTGRES.tokenize(filled)}
        except (SqlglotError, RecursionError):
            read = set[int]()
        if not starts <= read:
            raise SqlError("0A000", "this text cannot have parameters here", "Write its texts and comments plainly.")
        return filled


class _Beside:
    """What stands beside the parameters of a query, by which their types are told."""

    def __init__(self, tokens: Sequence[Token], columns: Mapping[str, int]) -> None:
        self._tokens, self._columns = tokens, columns

    def parameter(self, at: int, earlier: tuple[int, Parameter]) -> Parameter:
        """The type of the parameter at a token, after an `earlier` one, which may stand in the same list."""
        after, before = self._word(at + 1), self._word(at - 1)
        if after == "::" or (after == "AS" and self._word(at - 2) == "CAST"):
            oid = _BY_NAME.get(self._word(at + 2), 0)
            return Parameter(_ARRAYS.get(oid, 0) if self._word(at + 3) == "[" else oid)
        if before in ("LIMIT", "OFFSET"):
            return Parameter(_INT8)
        if before in _COMPARISONS:
            return self._column(at - 2)
        if after in _COMPARISONS:
            end = at + 2
            while self._word(end + 1) == ".":
                end += 2
            return self._column(end)
        if before == "BETWEEN":
            return self._column(at - 2)
        if before == "AND":  # … BETWEEN x AND $2
            start = next((i for i in range(at - 2, max(at - 8, 0), -1) if self._word(i) == "BETWEEN"), 0)
            return self._column(start - 1) if start else Parameter(0)
        if before in ("(", ","):
            start = at - 1
            while start > earlier[0] and (self._word(start) in ("(", ",") or self._tokens[start].kind in _LISTED):
                start -= 1
            if start == earlier[0] and start >= 0:
                return earlier[1]
            if self._word(start) == "IN":
                return self._column(start - 1 - (self._word(start - 1) == "NOT"))
        return Parameter(0)

    def _column(self, at: int) -> Parameter:
        """The type of the column whose name is a token."""
        token = self._tokens[at] if 0 <= at < len(self._tokens) else None
        if token is None or token.kind not in ("word", "quoted"):
            return Parameter(0)
        name = (token.text[1:-1] if token.kind == "quoted" else token.text).lower()
        return Parameter(self._columns[name], name) if name in self._columns else Parameter(0)

    def _word(self, at: int) -> str:
        return self._tokens[at].text.upper() if 0 <= at < len(self._tokens) else ""
