"""Which parts of a query are read in another dialect; what is not listed is refused, whatever sqlglot makes of it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import integer_literal
from discreet.query.functions._registry import refusal
from discreet.query.parse._parse import refuse
from discreet.query.parse._refusals import because

__all__ = ["check_node", "known_parts"]

_PAIR = ("this", "expression")
_READ: Mapping[type[exp.Expr], tuple[str, ...]] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv), _PAIR),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ), _PAIR),
    **dict.fromkeys((exp.And, exp.Or), _PAIR),
    exp.Is: (*_PAIR, "negate"),
    **dict.fromkeys((exp.Like, exp.ILike), (*_PAIR, "negate")),
    **dict.fromkeys((exp.Div, exp.DPipe), (*_PAIR, "typed", "safe")),
    **dict.fromkeys((exp.Not, exp.Neg, exp.Paren, exp.Where, exp.Having, exp.Qualify, exp.From, exp.All), ("this",)),
    **dict.fromkeys((exp.Any, exp.Exists), ("this",)),
    **dict.fromkeys((exp.Null, exp.Star), ()),
    exp.Boolean: ("this",),
    exp.Literal: ("this", "is_string"),
    exp.Identifier: ("this", "quoted"),
    exp.Column: ("this", "table", "db"),
    exp.Between: ("this", "low", "high"),
    exp.In: ("this", "expressions", "query"),
    exp.Tuple: ("expressions",),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Interval: ("this", "unit"),
    exp.Var: ("this",),
    exp.Anonymous: ("this", "expressions"),
    exp.Cast: ("this", "to"),
    exp.AtTimeZone: ("this", "zone"),
    exp.TryCast: ("this", "to", "safe", "requires_string"),
    exp.Convert: ("this", "expression", "safe"),
    exp.Extract: ("this", "expression"),
    exp.Substring: ("this", "start", "length"),
    exp.Trim: ("this", "expression", "position"),
    exp.StrPosition: ("this", "substr"),
    exp.Distinct: ("expressions", "on"),
    exp.Filter: ("this", "expression"),
    exp.WithinGroup: ("this", "expression"),
    exp.Window: ("this", "partition_by", "order", "spec", "alias", "over"),
    exp.WindowSpec: ("kind", "start", "start_side", "end", "end_side"),
    exp.Alias: ("this", "alias"),
    exp.Select: (
        "expressions", "from_", "joins", "with_", "where", "group", "having", "qualify", "order", "limit", "offset",
        "distinct", "windows",
    ),
    exp.Subquery: ("this", "alias"),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), (*_PAIR, "distinct", "with_", "order", "limit", "offset")),
    exp.With: ("expressions", "recursive"),
    exp.CTE: ("this", "alias"),
    exp.TableAlias: ("this", "columns"),
    exp.Table: ("this", "alias", "db", "catalog"),
    exp.Join: ("this", "on", "using", "side", "kind", "method"),
    exp.Group: ("expressions", "rollup", "cube", "grouping_sets", "all"),
    exp.Rollup: ("expressions",),
    exp.Cube: ("expressions",),
    exp.GroupingSets: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression",),
    exp.Offset: ("expression",),
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.LimitOptions: ("rows",),
}  # fmt: skip
_PLACES: Mapping[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.Alias: (exp.Select,),
    exp.Order: (exp.Select, exp.SetOperation, exp.Window, exp.WithinGroup),
    exp.Limit: (exp.Select, exp.SetOperation),
    exp.Distinct: (exp.Select, exp.Anonymous),
    exp.Star: (exp.Select, exp.Anonymous),
    exp.Interval: (exp.Add, exp.Sub, exp.Anonymous),
    exp.Any: (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike),
    exp.All: (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike),
}
"""Where else they stand they mean something else, as ORDER BY within an aggregate."""
_FLAVOUR = "its regular expressions are read in another way; use LIKE, or REGEXP_MATCHES in DuckDB's dialect"
_WRITE: Mapping[type[exp.Expr], str] = {
    **dict.fromkeys((exp.RegexpLike, exp.RegexpILike, exp.SimilarTo), _FLAVOUR),
    exp.BitwiseXor: "write POWER(x, y) for a power, or <> for truth values",
    exp.Pow: "write POWER(x, y)",
    exp.Escape: "write STRPOS(s, '%') > 0 for a text that holds % or _",
    exp.Collate: "texts are compared by their code points; leave it out, or write LOWER on both sides",
    exp.SafeFunc: "what fails is NULL here in any case; write it without SAFE",
    exp.JSONExtract: "a column is named as table.column; write CAST(x AS type) for a type",
    exp.Bracket: "use SUBSTRING for a part of a text, and QUANTILE_CONT(x, 0.5) for a quantile",
}
_PARTS: Mapping[str, str] = {
    "hint": "a hint is not read; write the query without it",
    "hints": "a hint is not read; write the table without it",
    "options": "an option is not read; write the query without it",
    "percent": "its number of rows would depend on the data; write TOP n",
    "with_ties": "its number of rows would depend on the data; write TOP n or FETCH FIRST n ROWS ONLY",
    "limit_options": "its number of rows would depend on the data; write TOP n",
}


def known_parts(node: exp.Expr) -> tuple[str, ...]:
    """The parts of a node that are read."""
    return _READ[type(node)]


def _instead(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Bracket) and node.this.name.upper() == "APPROX_QUANTILES" and len(node.expressions) == 1:
        parts, place = integer_literal(node.this.expressions[-1]), integer_literal(node.expressions[0])
        if parts and place is not None and 0 < place < parts:
            return f"write QUANTILE_CONT({node.this.expressions[0].sql()}, {place / parts:g})"
    return _WRITE.get(type(node))


def check_node(node: exp.Expr, title: str) -> None:
    """Raise `QueryError` for a node, or a part of one, whose meaning in a dialect nobody has looked up."""
    kind = type(node)
    parent = node.parent.parent if isinstance(node.parent, exp.Paren) and kind is not exp.Star else node.parent
    if kind not in _READ or (kind in _PLACES and not isinstance(parent, _PLACES[kind])):
        if (why := _instead(node)) is not None:
            raise QueryError(f"{_short(node)} in {title} is not supported: {why}")
        if because(node) is None and isinstance(node, exp.Func):
            raise refusal(node)
        raise refuse(f"{_short(node)} in {title}", node)
    for name, value in node.args.items():
        if value and name not in _READ[kind]:
            if name in _PARTS:
                what = "TOP … PERCENT and WITH TIES" if name == "limit_options" else name.replace("_", " ").upper()
                raise QueryError(f"{what} in {title} is not supported: {_PARTS[name]}")
            raise refuse(f"{name.rstrip('_').upper()} in {_short(node)} of {title}", name)


def _short(node: exp.Expr) -> str:
    return node.sql(comments=False)[:100]
