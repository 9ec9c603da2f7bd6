"""sqlglot's nodes for functions and operators, read as one type: a name, its arguments and an option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import QueryError

__all__ = ["OPERAND_NODES", "Call", "arguments_read", "integer_literal", "read"]

OPERAND_NODES = 20
"""CASE x WHEN … compares x once for each branch, and BETWEEN twice, so x stays small where that is written out."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name in `FUNCTIONS`; `option` is the type of a cast, the part of a date or its
    format.

    CASE has pairs of a condition and a value as arguments, and after them ELSE's value if there is one.
    """

    name: str
    args: tuple[exp.Expr, ...]
    option: str = ""


_FLAGS = {"safe", "ignore_nulls", "coalesce", "typed", "date_part_boundary", "big_int"}
"""How dialects differ; parsed from DuckDB's, they say what is so here."""
_PARTS = {
    **{part: part for part in ("YEAR", "MONTH", "DAY", "QUARTER", "WEEK", "HOUR", "MINUTE", "SECOND")},
    **dict.fromkeys(("YEARS", "YR", "YRS", "Y"), "YEAR"),
    **dict.fromkeys(("MONTHS", "MON", "MONS"), "MONTH"),
    **dict.fromkeys(("DAYS", "D", "DAYOFMONTH"), "DAY"),
    **dict.fromkeys(("QUARTERS",), "QUARTER"),
    **dict.fromkeys(("WEEKS", "W", "WEEKOFYEAR"), "WEEK"),
    **dict.fromkeys(("HOURS", "H", "HR", "HRS"), "HOUR"),
    **dict.fromkeys(("MINUTES", "MIN", "MINS"), "MINUTE"),
    **dict.fromkeys(("SECONDS", "SEC", "SECS", "S"), "SECOND"),
    **dict.fromkeys(("DOW", "DAYOFWEEK", "WEEKDAY"), "DAYOFWEEK"),
    "ISODOW": "ISODOW",
    **dict.fromkeys(("DOY", "DAYOFYEAR"), "DAYOFYEAR"),
}
_SHAPES: Mapping[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    **{
        node: (name, ("this", "expression"))
        for node, name in {
            exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.DPipe: "||",
            exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
            exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
            exp.And: "AND", exp.Or: "OR", exp.Like: "LIKE", exp.ILike: "ILIKE",
            exp.Nullif: "NULLIF", exp.Pow: "POWER", exp.Left: "LEFT", exp.Right: "RIGHT",
            exp.StartsWith: "STARTS_WITH", exp.EndsWith: "ENDS_WITH", exp.Contains: "CONTAINS",
            exp.Coalesce: "COALESCE", exp.Greatest: "GREATEST", exp.Least: "LEAST",
        }.items()
    },
    **{
        node: (name, ("this",))
        for node, name in {
            exp.Neg: "NEGATE", exp.Not: "NOT", exp.Abs: "ABS", exp.Sign: "SIGN", exp.Floor: "FLOOR", exp.Ceil: "CEIL",
            exp.Trunc: "TRUNC", exp.Sqrt: "SQRT", exp.Ln: "LN", exp.Exp: "EXP", exp.Year: "YEAR", exp.Month: "MONTH",
            exp.Day: "DAY", exp.DayOfMonth: "DAY", exp.Quarter: "QUARTER", exp.Week: "WEEK", exp.WeekOfYear: "WEEK",
            exp.DayOfWeek: "DAYOFWEEK", exp.DayOfWeekIso: "ISODOW", exp.DayOfYear: "DAYOFYEAR", exp.Hour: "HOUR",
            exp.Minute: "MINUTE", exp.Second: "SECOND", exp.Lower: "LOWER", exp.Upper: "UPPER", exp.Length: "LENGTH",
            exp.Reverse: "REVERSE",
        }.items()
    },
    exp.Coalesce: ("COALESCE", ("this", "expressions")),
    exp.Greatest: ("GREATEST", ("this", "expressions")),
    exp.Least: ("LEAST", ("this", "expressions")),
    exp.In: ("IN", ("this", "expressions")),
    exp.Between: ("BETWEEN", ("this", "low", "high")),
    exp.Round: ("ROUND", ("this", "decimals")),
    exp.Log: ("LOG", ("this", "expression")),
    exp.WidthBucket: ("WIDTH_BUCKET", ("this", "min_value", "max_value", "num_buckets")),
    exp.Substring: ("SUBSTRING", ("this", "start", "length")),
    exp.Concat: ("CONCAT", ("expressions",)),
    exp.Replace: ("REPLACE", ("this", "expression", "replacement")),
    exp.StrPosition: ("POSITION", ("this", "substr")),
    exp.DateAdd: ("+ INTERVAL", ("this", "expression")),
    exp.DateSub: ("- INTERVAL", ("this", "expression")),
    exp.Trim: ("TRIM", ("this", "expression")),
}  # fmt: skip
_MORE: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Extract: ("this", "expression"),
    exp.TimestampTrunc: ("this", "unit"),
    exp.DateTrunc: ("this", "unit"),
    exp.TimeToStr: ("this", "format"),
    exp.DateDiff: ("this", "expression", "unit"),
    exp.Cast: ("this", "to"),
    exp.TryCast: ("this", "to"),
    exp.Trim: ("this", "expression", "position"),
    exp.Is: ("this", "expression"),
    exp.Interval: ("this", "unit"),
    exp.Like: ("this", "expression", "negate"),
    exp.ILike: ("this", "expression", "negate"),
    exp.Anonymous: ("this", "expressions"),
}


def arguments_read(node: exp.Expr) -> frozenset[str]:
    """The names of a node's parts that `read` reads, or knows to be so in every query; empty for other nodes."""
    parts = _MORE.get(type(node)) or _SHAPES.get(type(node), ("", ()))[1]
    return frozenset(parts) | _FLAGS if parts else frozenset()


def read(node: exp.Expr) -> Call | None:
    """A function or an operator as a call; None for anything else.

    Raises `QueryError` for a part that is not understood.

    >>> read(exp.maybe_parse("EXTRACT(year FROM d)"))
    Call(name='YEAR', args=(Column(
      this=Identifier(this=d, quoted=False)),), option='')
    """
    known = arguments_read(node)
    if not known:
        return None
    for name, value in node.args.items():
        if value and name not in known:
            raise QueryError(f"{name.rstrip('_').upper()} in {node.sql()} is not supported; leave it out")
    return _special(node) if type(node) in _MORE else _plain(node, *_SHAPES[type(node)])


def integer_literal(node: exp.Expr) -> int | None:
    """The whole number that a constant such as 3 or -3 is, None for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = integer_literal(node.this)
        return None if inner is None else -inner
    digits = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and node.name.isascii()
    return int(node.name) if digits and len(node.name) <= 18 else None


def _plain(node: exp.Expr, name: str, parts: tuple[str, ...]) -> Call:
    if isinstance(node, exp.Add | exp.Sub):
        for side, other in ((node.expression, node.this), (node.this, node.expression)):
            if isinstance(side, exp.Interval) and (side is node.expression or name == "+"):
                return Call(f"{name} INTERVAL", (other, side))
    args: list[exp.Expr] = []
    for part in parts:
        value = node.args.get(part)
        args += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, exp.Expr)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(node, exp.Log) and len(args) == 2:
        base = integer_literal(args[0])
        if base in (2, 10):
            return Call(f"LOG{base}", (args[1],))
    if isinstance(node, exp.Log) and len(args) == 1:
        return Call("LOG10", tuple(args))
    return Call(name, tuple(args))


def _special(node: exp.Expr) -> Call | None:
    match node:
        case exp.Case():
            return _case(node)
        case exp.If():
            return Call("CASE", tuple(node.args[part] for part in ("this", "true", "false") if node.args.get(part)))
        case exp.Extract():
            return Call(_part(node.this, "EXTRACT"), (node.expression,))
        case exp.TimestampTrunc() | exp.DateTrunc():
            return Call("DATE_TRUNC", (node.this,), _part(node.args["unit"], "DATE_TRUNC"))
        case exp.DateDiff() if node.args.get("unit"):
            return Call("DATE_DIFF", (node.expression, node.this), _part(node.args["unit"], "DATE_DIFF"))
        case exp.TimeToStr():
            return _format(node)
        case exp.Cast():
            return Call("CAST", (node.this,), node.to.sql())
        case exp.Trim():
            name = {None: "TRIM", "BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}[node.args.get("position")]
            return _plain(node, name, ("this", "expression"))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return Call("IS NULL", (node.this,))
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            return Call("IS NOT DISTINCT FROM", (node.this, node.expression))
        case exp.Like() | exp.ILike() if not node.args.get("negate"):
            return _plain(node, *_SHAPES[type(node)])
        case exp.Like() | exp.ILike():
            positive = type(node)(this=node.this.copy(), expression=node.expression.copy())
            return Call("NOT", (positive,))
        case exp.Anonymous():
            return _anonymous(node)
        case _:
            return None


def _format(node: exp.TimeToStr) -> Call:
    text = node.args["format"].unnest()
    if not (isinstance(text, exp.Literal) and text.is_string):
        raise QueryError("STRFTIME takes a constant format in quotes, for example STRFTIME(d, '%Y-%m')")
    return Call("STRFTIME", (node.this,), text.name)


def _case(node: exp.Case) -> Call:
    operand = node.this
    if operand is not None and sum(1 for _ in operand.walk()) > OPERAND_NODES:
        raise QueryError(
            f"{operand.sql()} is too long to stand after CASE, which compares it in each branch; "
            "write CASE WHEN … with a condition in each branch"
        )
    args: list[exp.Expr] = []
    for branch in node.args["ifs"]:
        condition = branch.this
        if operand is not None:
            condition = exp.EQ(this=operand.copy(), expression=branch.this.copy())
        args += [condition, branch.args["true"]]
    default = node.args.get("default")
    return Call("CASE", (*args, default) if default is not None else tuple(args))


def _anonymous(node: exp.Anonymous) -> Call | None:
    name, args = node.name.upper(), tuple(node.expressions)
    match name:
        case "DATE_PART" | "DATEPART" if len(args) == 2:
            return Call(_part(args[0], name), args[1:])
        case "WEEKDAY":
            return Call("DAYOFWEEK", args)
        case "PREFIX" | "SUFFIX":
            return Call({"PREFIX": "STARTS_WITH", "SUFFIX": "ENDS_WITH"}[name], args)
        case _:
            return None


def _part(node: exp.Expr, name: str) -> str:
    part = _PARTS.get(node.name.upper()) if isinstance(node, exp.Var | exp.Literal) else None
    if part is None:
        epoch = node.name.upper() == "EPOCH"
        instead = ", or write DATE_DIFF('second', TIMESTAMP '1970-01-01', d)" if epoch else ""
        raise QueryError(
            f"{name} takes a part of a date, not {node.sql()}; use one of {', '.join(_NAMED_PARTS)}{instead}"
        )
    return part


_NAMED_PARTS = sorted(set(_PARTS.values()))
