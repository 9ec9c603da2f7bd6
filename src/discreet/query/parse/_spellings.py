"""What has another name elsewhere and the same meaning: written as it is known here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sqlglot import exp

from discreet.query.functions._calls import OPERAND_NODES
from discreet.query.parse._trees import size_of, transformed

__all__ = ["FUNCTIONS_ELSEWHERE", "STATISTICS_ELSEWHERE", "each_pattern", "known_spellings"]

_Q = TypeVar("_Q", bound=exp.Query)

STATISTICS_ELSEWHERE: Mapping[str, str] = {
    "VAR": "VAR_SAMP",
    "VARP": "VAR_POP",
    "STDEVP": "STDDEV_POP",
    "STD": "STDDEV_SAMP",
    "MEAN": "AVG",
    "FAVG": "AVG",
    "FSUM": "SUM",
    "SUMKAHAN": "SUM",
    "KAHAN_SUM": "SUM",
    "COUNT_BIG": "COUNT",
    "APPROX_COUNT_DISTINCT": "COUNT(DISTINCT x)",
    "APPROX_DISTINCT": "COUNT(DISTINCT x)",
    "HLL": "COUNT(DISTINCT x)",
    "NDV": "COUNT(DISTINCT x)",
    "UNIQ": "COUNT(DISTINCT x)",
    "UNIQEXACT": "COUNT(DISTINCT x)",
}
"""Names of statistics that other systems have, and which statistic each is."""

FUNCTIONS_ELSEWHERE: Mapping[str, str] = {
    "SUMIF(x, a), AVGIF(x, a)": "SUM(x) FILTER (WHERE a), AVG(x) FILTER (WHERE a)",
    "MID(s, start, length)": "SUBSTRING(s, start, length)",
    "BTRIM(s, 'x')": "TRIM(s, 'x')",
    "BIT_LENGTH(s)": "STRLEN(s) * 8",
    "s LIKE ANY ('a%', 'b%')": "s LIKE 'a%' OR s LIKE 'b%'",
    "s LIKE ALL ('a%', 'b%')": "s LIKE 'a%' AND s LIKE 'b%'",
    "ISNULL(x)": "x IS NULL",
    "ISNULL(x, y)": "COALESCE(x, y)",
    "ZEROIFNULL(x)": "COALESCE(x, 0)",
    "NULLIFZERO(x)": "NULLIF(x, 0)",
    "NVL2(x, a, b)": "CASE WHEN x IS NULL THEN b ELSE a END",
    "GREATEST_IGNORE_NULLS(a, b)": "GREATEST(a, b)",
    "LEAST_IGNORE_NULLS(a, b)": "LEAST(a, b)",
    "SAFE_DIVIDE(a, b)": "a / b",
    "SQUARE(x)": "POWER(x, 2)",
    "TO_CHAR(x), TO_VARCHAR(x)": "CAST(x AS VARCHAR)",
    "CAST(x AS FLOAT64)": "CAST(x AS DOUBLE)",
    "CAST(x AS DECIMAL(9, 2))": "ROUND(CAST(x AS DOUBLE), 2)",
    "DATE(d), TO_DATE(d)": "CAST(d AS DATE)",
    "TIMESTAMP(d)": "CAST(d AS TIMESTAMP)",
    "DATEADD(day, 3, d), ADDDATE(d, INTERVAL 3 DAY)": "d + INTERVAL 3 DAY",
    "DATE_SUB(d, INTERVAL 3 DAY), SUBDATE(d, INTERVAL 3 DAY)": "d - INTERVAL 3 DAY",
    "DATEPART(year, d)": "EXTRACT(YEAR FROM d)",
    "DATE_DIFF(m, d, MONTH), DATETIME_DIFF(m, d, MONTH)": "DATE_DIFF('month', d, m)",
    "DATEDIFF(m, d)": "DATE_DIFF('day', d, m)",
    "EOMONTH(d)": "LAST_DAY(d)",
    "DATE_FORMAT(d, '%Y-%m'), FORMAT_DATE('%Y-%m', d)": "STRFTIME(d, '%Y-%m')",
    "DAYNAME(d)": "STRFTIME(d, '%A')",
    "MONTHNAME(d)": "STRFTIME(d, '%B')",
    "DECADE(d)": "YEAR(d) // 10",
    "CENTURY(d)": "(YEAR(d) + 99) // 100",
    "MILLENNIUM(d)": "(YEAR(d) + 999) // 1000",
}
"""How other systems write functions and operators, and what each is here."""

_PI = "3.141592653589793"
_MOST_PARTS = 5_000
_SIZES = 2
"""DECIMAL(size, digits after the point)."""
_PARTS = ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND")
"""Parts of a date that do not hang on the first day of a week."""
_INTERVALS = (*(part for part in _PARTS if part != "DAYOFYEAR"), "WEEK")
_SAME_CODES = re.compile(r"(?:[^%]|%[YymbdjaHIpSf%])*")
"""Formats of dates that MySQL and DuckDB read in the same way."""

Arguments = Sequence[exp.Expr]


def known_spellings(select: _Q) -> _Q:
    """The tree itself, with what other systems write in another way as it is written here, and PI() as a number.

    A count of distinct values has noise: it is approximate in any case, so an accuracy that is asked for stays, and is
    refused.

    >>> query = "SELECT VAR(x), APPROX_DISTINCT(y), DATEADD(day, 3, d) FROM t GROUP BY d WITH ROLLUP"
    >>> known_spellings(exp.maybe_parse(query, into=exp.Select, dialect="duckdb")).sql()
    "SELECT VARIANCE(x), COUNT(DISTINCT y), d + INTERVAL '3' DAY FROM t GROUP BY ROLLUP (d)"
    """
    plain = transformed(select, _known)
    assert isinstance(plain, type(select))
    for each in plain.find_all(exp.Select):
        limit = each.args.get("limit")
        if isinstance(limit, exp.Limit) and (isinstance(limit.expression, exp.Null) or limit.expression.name == "ALL"):
            each.set("limit", None)
    if isinstance(plain, exp.Select):
        _write_out_histogram(plain)
    return plain


def _write_out_histogram(select: exp.Select) -> None:
    """Write HISTOGRAM(x) that stands alone, or beside keys, as a row for each value, in the tree itself.

    >>> select = exp.maybe_parse("SELECT HISTOGRAM(x) AS h FROM t", into=exp.Select, dialect="duckdb")
    >>> known_spellings(select).sql()
    'SELECT x, COUNT(*) AS h FROM t WHERE NOT x IS NULL GROUP BY x'
    """
    places = [i for i, item in enumerate(select.expressions) if _is_histogram(item.unalias())]
    group = select.args.get("group")
    keys: list[exp.Expr] = [] if group is None else list(group.expressions)
    written = {key.sql() for key in keys}
    others = [item.unalias().sql() for i, item in enumerate(select.expressions) if i not in places]
    plain = group is None or not any(value for name, value in group.args.items() if name != "expressions")
    if len(places) != 1 or not plain or not written.issuperset(others) or select.args.get("distinct"):
        return
    item = select.expressions[places[0]]
    (value,) = item.unalias().expressions
    count = exp.alias_(exp.Count(this=exp.Star()), item.alias or "histogram")
    items = list(select.expressions)
    items[places[0] : places[0] + 1] = [value.copy(), count]
    select.set("expressions", items)
    select.set("group", exp.Group(expressions=[*keys, value.copy()]))
    select.where(exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null())), copy=False)


def _is_histogram(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "HISTOGRAM" and len(node.expressions) == 1


def _known(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Pi():
            return exp.Literal.number(_PI)
        case exp.ApproxDistinct() if not node.args.get("accuracy"):
            return _distinct(_copied([node.this]))
        case exp.Hll() if not node.expressions:
            return _distinct(_copied([node.this]))
        case exp.WithinGroup(this=exp.Mode(this=None), expression=exp.Order(expressions=[exp.Ordered() as ordered])):
            return exp.Mode(this=_copied([ordered.this])[0])
        case exp.Group():
            return _group(node)
        case exp.Fetch() if node.args.get("count") is None:
            node.set("count", exp.Literal.number(1))
            return node
        case exp.DataType() if node.this == exp.DType.USERDEFINED and str(node.args.get("kind")).upper() == "FLOAT64":
            return exp.DataType.build("DOUBLE")
        case exp.Cast() if node.to.this == exp.DType.DECIMAL and (rounded := _rounded(node)) is not None:
            return rounded
        case exp.Like() | exp.ILike() if isinstance(node.expression, exp.Any | exp.All) and not node.args.get("negate"):
            return each_pattern(node)
        case _ if type(node) in _PATTERNS:
            return _pattern_call(node)
        case exp.Anonymous() if (written := _CALLS.get((node.name.upper(), len(node.expressions)))) is not None:
            return written(_copied(node.expressions)) or node
        case exp.Func() if (written := _NODES.get(type(node))) is not None:
            names = (*written[0], *(name for name, value in node.args.items() if value and name not in written[0]))
            parts = [node.args.get(name) for name in names]
            arguments = [part for part in parts if isinstance(part, exp.Expr)]
            return written[1](_copied(arguments)) if len(arguments) == len(written[0]) == len(names) else node
        case _:
            return node


def _copied(nodes: Arguments) -> list[exp.Expr]:
    """The arguments of what is written anew, themselves as they are written here."""
    return [transformed(node.copy(), _known) for node in nodes]


def _group(node: exp.Group) -> exp.Expr:
    """GROUP BY a, b WITH ROLLUP as GROUP BY ROLLUP (a, b); of GROUP BY a, b GROUPING SETS (…) the sets."""
    after = [name for name in ("rollup", "cube", "grouping_sets", "totals", "all") if node.args.get(name)]
    if len(after) != 1 or not node.expressions or len(node.args[after[0]] if after[0] != "all" else ()) != 1:
        return node
    sets = node.args[after[0]][0]
    if after[0] == "grouping_sets":
        return exp.Group(expressions=_copied([sets]))
    if any(isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in node.expressions):
        return node
    return exp.Group(expressions=[type(sets)(expressions=_copied(node.expressions))])


def _pattern_call(node: exp.Expr) -> exp.Expr:
    """A match of a regular expression as a function, by its name here; the node itself if it says more."""
    name, places = _PATTERNS[type(node)]
    parts = [node.args.get(place) for place in places]
    while parts and parts[-1] is None:
        parts.pop()
    used = {*places, "null_if_pos_overflow", "single_replace"}
    known = [part for part in parts if isinstance(part, exp.Expr)]
    if len(known) < len(parts) or any(value for part, value in node.args.items() if part not in used):
        return node
    return exp.Anonymous(this=name, expressions=_copied(known))


def each_pattern(node: exp.Like | exp.ILike) -> exp.Expr:
    """A text and several patterns as a comparison with each; the node itself for patterns that are not listed."""
    listed = node.expression.this.unnest()
    patterns: list[exp.Expr] = listed.expressions if isinstance(listed, exp.Tuple | exp.Array) else [listed]
    text, *patterns = _copied([node.this, *patterns])
    constant = all(isinstance(pattern, exp.Literal) for pattern in patterns)
    parts = size_of(text, OPERAND_NODES)
    if not patterns or not constant or parts > OPERAND_NODES or parts * len(patterns) > _MOST_PARTS:
        return node
    each = [type(node)(this=text.copy(), expression=pattern) for pattern in patterns]
    return exp.paren(_balanced(exp.Or if isinstance(node.expression, exp.Any) else exp.And, each), copy=False)


def _balanced(kind: type[exp.And] | type[exp.Or], parts: Arguments) -> exp.Expr:
    """A tree of few levels."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return kind(this=_balanced(kind, parts[:middle]), expression=_balanced(kind, parts[middle:]))


def _distinct(parts: Arguments) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=list(parts)))


def _cast(kind: str) -> Callable[[Arguments], exp.Expr]:
    return lambda parts: exp.Cast(this=parts[0], to=exp.DataType.build(kind))


def _rounded(node: exp.Cast) -> exp.Expr | None:
    """A cast to a decimal type as rounding to its digits after the point: 3 where none are written, 0 beside a size."""
    sizes = [each.this for each in node.to.expressions]
    if not all(isinstance(size, exp.Literal) and size.is_int for size in sizes) or len(sizes) > _SIZES:
        return None
    digits = "3" if not sizes else sizes[1].name if len(sizes) == _SIZES else "0"
    (number,) = _copied([node.this])
    return exp.Round(this=_cast("DOUBLE")([number]), decimals=exp.Literal.number(digits))


def _part(node: exp.Expr, known: Sequence[str]) -> str | None:
    """A part of a date that is written as a word, in quotes or without."""
    match node:
        case exp.Column(this=exp.Identifier() as name) if not name.args.get("quoted") and not node.args.get("table"):
            word = name.name.upper()
        case exp.Literal():
            word = node.name.upper()
        case _:
            return None
    return word if word in known else None


def _date_add(parts: Arguments) -> exp.Expr | None:
    """DATEADD(part, number, date); None unless the number is a constant."""
    part, number, date = parts
    word, size = _part(part, _INTERVALS), number.this if isinstance(number, exp.Neg) else number
    if word is None or not isinstance(size, exp.Literal) or size.is_string:
        return None
    interval = exp.Interval(this=exp.Literal.string(size.name), unit=exp.Var(this=word))
    return (exp.Sub if isinstance(number, exp.Neg) else exp.Add)(this=_operand(date), expression=interval)


def _datetime_difference(parts: Arguments) -> exp.Expr:
    """DATETIME_DIFF, whose weeks begin on Sunday."""
    later, earlier, part = parts
    kind = exp.DateDiff if part.name.upper() in _INTERVALS and part.name.upper() != "WEEK" else exp.DatetimeDiff
    return kind(this=later, expression=earlier, unit=part)


def _date_part(parts: Arguments) -> exp.Expr | None:
    """DATEPART(year, date); with the part in quotes it is DuckDB's own."""
    word = _part(parts[0], _PARTS) if isinstance(parts[0], exp.Column) else None
    return None if word is None else exp.Extract(this=exp.Var(this=word), expression=parts[1])


def _moved(kind: type[exp.Add] | type[exp.Sub]) -> Callable[[Arguments], exp.Expr | None]:
    def write(parts: Arguments) -> exp.Expr | None:
        date, interval = parts
        return kind(this=_operand(date), expression=interval) if isinstance(interval, exp.Interval) else None

    return write


def _formatted(parts: Arguments) -> exp.Expr | None:
    """DATE_FORMAT, in codes that mean what they mean in STRFTIME."""
    date, text = parts
    same = isinstance(text, exp.Literal) and text.is_string and _SAME_CODES.fullmatch(text.name)
    return exp.TimeToStr(this=date, format=text) if same else None


def _named(code: str) -> Callable[[Arguments], exp.Expr]:
    return lambda parts: exp.TimeToStr(this=parts[0], format=exp.Literal.string(code))


def _years(size: int, more: int) -> Callable[[Arguments], exp.Expr]:
    def write(parts: Arguments) -> exp.Expr:
        year: exp.Expr = exp.Year(this=parts[0])
        year = exp.Paren(this=exp.Add(this=year, expression=exp.Literal.number(more))) if more else year
        return exp.Anonymous(this="DIVIDE", expressions=[year, exp.Literal.number(size)])

    return write


def _condition(kind: type[exp.Func]) -> Callable[[Arguments], exp.Expr]:
    return lambda parts: exp.Filter(this=kind(this=parts[0]), expression=exp.Where(this=parts[1]))


def _call(kind: type[exp.Func], *names: str) -> Callable[[Arguments], exp.Expr]:
    return lambda parts: kind(**dict(zip(names or ("this",), parts, strict=True)))


def _operand(node: exp.Expr) -> exp.Expr:
    return exp.paren(node, copy=False) if isinstance(node, exp.Binary | exp.Unary | exp.Case) else node


def _operator(kind: type[exp.Binary]) -> Callable[[Arguments], exp.Expr]:
    return lambda parts: exp.paren(kind(this=_operand(parts[0]), expression=_operand(parts[1])), copy=False)


def _least(kind: type[exp.Func]) -> Callable[[Arguments], exp.Expr]:
    return lambda parts: kind(this=parts[0], expressions=list(parts[1:]), ignore_nulls=True)


_ZERO = exp.Literal.number(0)
_CALLS: Mapping[tuple[str, int], Callable[[Arguments], exp.Expr | None]] = {
    ("VAR", 1): _call(exp.Variance),
    ("VARP", 1): _call(exp.VariancePop),
    ("STDEVP", 1): _call(exp.StddevPop),
    ("STD", 1): _call(exp.Stddev),
    ("MEAN", 1): _call(exp.Avg),
    ("FAVG", 1): _call(exp.Avg),
    **{(name, 1): _call(exp.Sum) for name in ("FSUM", "SUMKAHAN", "KAHAN_SUM")},
    ("COUNT_BIG", 1): _call(exp.Count),
    **{(name, 1): _distinct for name in ("NDV", "UNIQ", "UNIQEXACT")},
    ("SUMIF", 2): _condition(exp.Sum),
    ("AVGIF", 2): _condition(exp.Avg),
    **{
        (name, 2): _call(exp.Quantile, "this", "quantile")
        for name in ("APPROX_PERCENTILE", "PERCENTILE_APPROX", "PERCENTILE")
    },
    ("MID", 3): _call(exp.Substring, "this", "start", "length"),
    ("BTRIM", 1): _call(exp.Trim),
    ("BTRIM", 2): _call(exp.Trim, "this", "expression"),
    ("ISNULL", 1): lambda parts: exp.paren(exp.Is(this=_operand(parts[0]), expression=exp.Null()), copy=False),
    ("ISNULL", 2): lambda parts: exp.Coalesce(this=parts[0], expressions=[parts[1]]),
    ("ZEROIFNULL", 1): lambda parts: exp.Coalesce(this=parts[0], expressions=[_ZERO.copy()]),
    ("NULLIFZERO", 1): lambda parts: exp.Nullif(this=parts[0], expression=_ZERO.copy()),
    **{("GREATEST_IGNORE_NULLS", n): _least(exp.Greatest) for n in range(1, 101)},
    **{("LEAST_IGNORE_NULLS", n): _least(exp.Least) for n in range(1, 101)},
    ("SQUARE", 1): lambda parts: exp.Pow(this=_operand(parts[0]), expression=exp.Literal.number(2)),
    ("TO_VARCHAR", 1): _cast("TEXT"),
    ("TO_DATE", 1): _cast("DATE"),
    ("EOMONTH", 1): _call(exp.LastDay),
    ("DATEADD", 3): _date_add,
    ("ADDDATE", 2): _moved(exp.Add),
    ("SUBDATE", 2): _moved(exp.Sub),
    ("DATE_SUB", 2): _moved(exp.Sub),
    ("DATEPART", 2): _date_part,
    ("DATE_FORMAT", 2): _formatted,
    **{
        (name, 2): lambda parts: exp.TimeToStr(this=parts[1], format=parts[0])
        for name in ("FORMAT_DATE", "FORMAT_DATETIME", "FORMAT_TIMESTAMP")
    },
    ("DECADE", 1): _years(10, 0),
    ("CENTURY", 1): _years(100, 99),
    ("MILLENNIUM", 1): _years(1000, 999),
}
"""By name and number of arguments, what the parser has no node for."""

_PATTERNS: Mapping[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.RegexpLike: ("REGEXP_MATCHES", ("this", "expression", "flag")),
    exp.RegexpFullMatch: ("REGEXP_FULL_MATCH", ("this", "expression", "options")),
    exp.SimilarTo: ("REGEXP_FULL_MATCH", ("this", "expression")),
    exp.RegexpExtract: ("REGEXP_EXTRACT", ("this", "expression", "group", "parameters")),
    exp.RegexpReplace: ("REGEXP_REPLACE", ("this", "expression", "replacement", "modifiers")),
}
"""The parser's nodes of regular expressions, the function that each is, and the parts that are its arguments."""

_NODES: Mapping[type[exp.Expr], tuple[tuple[str, ...], Callable[[Arguments], exp.Expr]]] = {
    exp.Nvl2: (
        ("this", "true", "false"),
        lambda parts: exp.Case(
            ifs=[exp.If(this=exp.Is(this=_operand(parts[0]), expression=exp.Null()), true=parts[2])], default=parts[1]
        ),
    ),
    exp.SafeDivide: (("this", "expression"), _operator(exp.Div)),
    exp.BitLength: (
        ("this",),
        lambda parts: exp.paren(
            exp.Mul(this=exp.Anonymous(this="STRLEN", expressions=parts), expression=exp.Literal.number(8)), copy=False
        ),
    ),
    exp.DatetimeDiff: (("this", "expression", "unit"), _datetime_difference),
    exp.Date: (("this",), _cast("DATE")),
    exp.Timestamp: (("this",), _cast("TIMESTAMPNTZ")),
    exp.ToChar: (("this",), _cast("TEXT")),
    exp.Dayname: (("this",), _named("%A")),
    exp.Monthname: (("this",), _named("%B")),
}
"""By the parser's node, and the names of the parts that it must have and no others."""
