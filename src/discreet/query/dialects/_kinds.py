"""The kind of an expression in another dialect: what a quotient, a cast or a plus sign means there hangs on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal

from sqlglot import exp

from discreet.policy import ColumnType, Policy

__all__ = ["Kind", "Kinds"]

Kind = Literal["int", "whole", "decimal", "float", "fraction", "string", "bool", "date", "timestamp", "null"]
"""`whole` is a number without a fraction that divides as one with a fraction does, as EXTRACT is in PostgreSQL;
`fraction` a number that may be a `decimal` or a `float`.
"""

_COLUMNS: Mapping[ColumnType, Kind] = {
    "bool": "bool", "int": "int", "float": "float", "decimal": "decimal", "string": "string", "date": "date",
    "timestamp": "timestamp",
}  # fmt: skip
_TYPES: Mapping[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT"), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("DECIMAL", "BIGDECIMAL", "MONEY", "SMALLMONEY"), "decimal"),
    **dict.fromkeys(("TEXT", "VARCHAR", "NVARCHAR", "CHAR", "NCHAR"), "string"),
    **dict.fromkeys(("BOOLEAN", "BIT"), "bool"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIMESTAMPLTZ", "DATETIME", "DATETIME2"), "timestamp"),
}
_WIDER: tuple[Kind, ...] = ("int", "whole", "decimal", "float", "fraction")
_CONDITIONS = (
    exp.Predicate, exp.And, exp.Or, exp.Not, exp.Is, exp.Boolean, exp.In, exp.Between, exp.Exists, exp.Like, exp.ILike,
)  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COUNTS = _words(
    "COUNT COUNT_BIG COUNTIF COUNT_IF APPROX_COUNT_DISTINCT HLL ROW_NUMBER RANK DENSE_RANK NTILE GROUPING LENGTH LEN "
    "CHAR_LENGTH CHARACTER_LENGTH OCTET_LENGTH BYTE_LENGTH BIT_LENGTH STRPOS CHARINDEX INSTR LOCATE POSITION YEAR "
    "QUARTER MONTH DAY DAYOFMONTH DAYOFWEEK DAYOFWEEKISO DAYOFYEAR WEEK WEEKISO WEEKOFYEAR WEEKDAY HOUR MINUTE SECOND "
    "DATEDIFF DATEDIFF_BIG DATE_DIFF DATETIME_DIFF TIMEDIFF TIMESTAMPDIFF DATEPART WIDTH_BUCKET REGR_COUNT"
)
_FLOATS = _words(
    "SQRT EXP LN LOG LOG2 LOG10 POWER POW CBRT STDDEV STDDEV_SAMP STDDEV_POP STDEV STDEVP VAR VARP VARIANCE VAR_SAMP "
    "VAR_POP CORR COVAR_POP COVAR_SAMP SAFE_DIVIDE DIV0 PERCENTILE PERCENTILE_CONT MEDIAN APPROX_PERCENTILE "
    "QUANTILE_CONT PERCENT_RANK CUME_DIST SQUARE"
)
_TEXTS = _words(
    "LOWER UPPER REVERSE LEFT RIGHT SUBSTR SUBSTRING TRIM LTRIM RTRIM BTRIM CONCAT REPLACE TO_CHAR TO_VARCHAR "
    "DATE_FORMAT FORMAT_DATE FORMAT_DATETIME FORMAT_TIMESTAMP FORMAT LCASE UCASE"
)
_FIRST = _words(
    "MIN MAX ABS NULLIF LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE ZEROIFNULL NULLIFZERO MOD COALESCE IFNULL NVL "
    "GREATEST LEAST ISNULL GREATEST_IGNORE_NULLS LEAST_IGNORE_NULLS SUM IF IFF IIF"
)
"""Of the one kind that their arguments have; IF and its kin of those after the condition."""
_CHOICES = {"IF": 1, "IFF": 1, "IIF": 1}
_ROUNDED = _words("FLOOR CEIL CEILING ROUND TRUNC TRUNCATE SIGN")
_DATES = _words("DATE TO_DATE LAST_DAY EOMONTH MAKE_DATE DATE_FROM_PARTS DATEFROMPARTS")
_MOMENTS = _words(
    "DATE_TRUNC DATETRUNC TIMESTAMP_TRUNC DATETIME_TRUNC DATE_ADD DATE_SUB DATEADD DATETIME_ADD DATETIME_SUB "
    "TIMESTAMP_ADD TIMESTAMP_SUB TIMEADD TIMESTAMPADD"
)


class Kinds:
    """The kinds of the expressions of one query, as its dialect has them; None for what nobody can tell.

    A name is what every column of the policy's tables in the query is that bears it, and every alias.
    """

    def __init__(self, tree: exp.Expr, policy: Policy | None, *, cuts_quotients: bool, widens_sums: bool) -> None:
        self._cuts, self._widens = cuts_quotients, widens_sums
        self._known: dict[int, tuple[exp.Expr, Kind | None]] = {}
        self._open: set[str] = set()
        self._aliases: defaultdict[str, list[exp.Expr]] = defaultdict(list)
        self._columns: defaultdict[str, set[Kind | None]] = defaultdict(set)
        for alias in tree.find_all(exp.Alias):
            self._aliases[alias.alias.casefold()].append(alias.this)
        named = {table.name.casefold() for table in tree.find_all(exp.Table)}
        if policy is not None:
            self._read(policy, named)
        self._renamed = any(alias.columns for alias in tree.find_all(exp.TableAlias))

    def _read(self, policy: Policy, named: set[str]) -> None:
        """What the policy says of the columns of some tables; nothing of those that only say whose a row is."""
        for name, table in policy.tables.items():
            if name.casefold() in named:
                for column, each in table.columns.items():
                    self._columns[column.casefold()].add(_COLUMNS[each.type])
                for column in (*table.hidden, *policy.linked_by(name)):
                    if column not in table.columns:
                        self._columns[column.casefold()].add(None)

    def kind(self, node: exp.Expr) -> Kind | None:
        """The kind of a node of the query as it was written."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, self._infer(node))
        return known[1]

    def _infer(self, node: exp.Expr) -> Kind | None:
        match node:
            case (
                exp.Paren() | exp.Neg() | exp.Filter() | exp.Window() | exp.WithinGroup() | exp.Alias() | exp.Distinct()
            ):
                inner = node.this if node.this is not None else next(iter(node.expressions), None)
                return None if inner is None else self.kind(inner)
            case exp.Literal():
                return "string" if node.is_string else _number(node.name)
            case exp.Column():
                return None if self._renamed else self._named(node.name.casefold())
            case exp.Cast() | exp.Convert():
                return type_kind(node.this if isinstance(node, exp.Convert) else node.to)
            case exp.Case() | exp.If():
                return self._one(_values(node))
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() | exp.Div():
                return self._computed(node)
            case exp.AtTimeZone():
                return "timestamp"
            case exp.Extract():
                return "whole" if self._widens else "int"
            case exp.Subquery() if isinstance(node.this, exp.Select) and len(node.this.expressions) == 1:
                return self.kind(node.this.expressions[0])
            case exp.Anonymous():
                return self._called(node)
            case _:
                return _PLAIN.get(type(node)) or ("bool" if isinstance(node, _CONDITIONS) else None)

    def _named(self, name: str) -> Kind | None:
        kinds: set[Kind | None] = set(self._columns.get(name, ()))
        if name not in self._open:
            self._open.add(name)
            kinds |= {self.kind(each) for each in self._aliases.get(name, ())}
            self._open.discard(name)
        kinds.discard("null")
        return kinds.pop() if len(kinds) == 1 else None

    def _computed(self, node: exp.Binary) -> Kind | None:
        left, right = self.kind(node.this), self.kind(node.expression)
        if isinstance(node.expression, exp.Interval) and left in ("date", "timestamp"):
            return "timestamp"
        if left == right == "date" and isinstance(node, exp.Sub):
            return "int"
        if left == right == "string" and isinstance(node, exp.Add):
            return "string"
        numbers = _numbers(left, right)
        if len(numbers) != 2:
            return "fraction" if None in (left, right) and numbers and numbers[0] in ("decimal", "float") else None
        wider = numbers[-1]
        if isinstance(node, exp.Div):
            return (
                wider if wider in ("float", "fraction") else "decimal" if not (self._cuts and wider == "int") else "int"
            )
        return wider

    def _called(self, node: exp.Anonymous) -> Kind | None:
        name, arguments = node.name.upper(), node.expressions
        kinds: list[Kind | None] = [self.kind(each) for each in arguments]
        first = kinds[0] if kinds else None
        match name:
            case "SUM" if first == "int":
                return None if self._widens else "int"
            case "AVG":
                return None if first is None else first if first in ("float", "fraction") else "decimal"
            case "DATE_PART":
                return "whole" if self._widens else "int"
            case _ if name in _COUNTS:
                return "int"
            case _ if name in _FLOATS:
                return None if self._widens and {"decimal", "whole", "fraction"} & set(kinds) else "float"
            case _ if name in _TEXTS:
                return "string"
            case _ if name in _FIRST:
                return self._one(arguments[_CHOICES.get(name, 0) :])
            case _ if name in _ROUNDED:
                digits = len(arguments) > 1
                return (
                    first if digits or first in ("float", "fraction", None) else "int" if not self._widens else "whole"
                )
            case _ if name in _DATES:
                return "date"
            case "TO_TIMESTAMP" if first == "string":
                return "timestamp"
            case _ if name in _MOMENTS:
                return next((kind for kind in reversed(kinds) if kind in ("date", "timestamp")), None)
            case _:
                return None

    def _one(self, nodes: Iterable[exp.Expr]) -> Kind | None:
        every: list[Kind | None] = [self.kind(each) for each in nodes]
        kinds: list[Kind | None] = [kind for kind in every if kind != "null"]
        if kinds and all(kind == kinds[0] for kind in kinds):
            return kinds[0]
        numbers = _numbers(*kinds)
        return numbers[-1] if numbers and len(numbers) == len(kinds) else None


def type_kind(kind: exp.Expr) -> Kind | None:
    """The kind of a type."""
    return _TYPES.get(kind.this.name) if isinstance(kind, exp.DataType) and isinstance(kind.this, exp.DType) else None


_PLAIN: Mapping[type[exp.Expr], Kind] = {
    exp.Null: "null", exp.IntDiv: "int", exp.StrPosition: "int", exp.DPipe: "string", exp.Substring: "string",
    exp.Trim: "string",
}  # fmt: skip


def _values(node: exp.Case | exp.If) -> list[exp.Expr]:
    """What CASE, or IF, can give."""
    if isinstance(node, exp.If):
        parts = [node.args.get("true"), node.args.get("false")]
    else:
        parts = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    return [part for part in parts if part is not None]


def _numbers(*kinds: Kind | None) -> list[Kind]:
    """Those that are numbers, the widest last."""
    return sorted((kind for kind in kinds if kind in _WIDER), key=_WIDER.index)


def _number(digits: str) -> Kind:
    return "int" if digits.isdecimal() else "float" if "e" in digits.casefold() else "decimal"
