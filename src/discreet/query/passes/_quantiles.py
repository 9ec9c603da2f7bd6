"""Pass: every way to write a quantile becomes one of MEDIAN, MIN, MAX and PERCENTILE_CONT(x, p)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.query.parse._parse import refuse
from discreet.rational import decimal_text, rational

__all__ = ["QUANTILES", "QUANTILE_NAMES", "probability", "spell_quantiles"]

QUANTILES = (exp.Median, exp.Min, exp.Max, exp.PercentileCont)
"""The aggregates that are quantiles once this pass has run."""

QUANTILE_NAMES = (
    "MEDIAN", "MIN", "MAX", "QUANTILE_CONT", "QUANTILE_DISC", "QUANTILE", "APPROX_QUANTILE", "PERCENTILE_CONT",
    "PERCENTILE_DISC", "PERCENTILE", "APPROX_PERCENTILE", "PERCENTILE_APPROX",
)  # fmt: skip
"""How people write them."""
_SPELLINGS = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
_EXTREME = Fraction(1, 100)
_HALF = Fraction(1, 2)
_FINEST = 10**12


def spell_quantiles(select: exp.Select) -> exp.Select:
    """Write quantiles in one way, and a list of them in the SELECT list as one column each, named by its percent.

    Interpolated or not is no difference, as answers lie on a grid. Raises `QueryError` for a p that is no constant from
    0 to 1, and for a list anywhere else.

    >>> query = "SELECT QUANTILE_DISC(x, [0.25, 0.5]) AS q, PERCENTILE_CONT(1) WITHIN GROUP (ORDER BY x) AS m FROM t"
    >>> print(spell_quantiles(exp.maybe_parse(query, into=exp.Select, dialect="duckdb")).sql())
    SELECT PERCENTILE_CONT(x, 0.25) AS "q_25", MEDIAN(x) AS "q_50", MAX(x) AS m FROM t
    """
    select = select.copy()
    select.set("expressions", [column for item in select.expressions for column in _columns(item)])
    for node in list(select.find_all(exp.WithinGroup, *_SPELLINGS)):
        if isinstance(node.parent, exp.WithinGroup) and isinstance(node, _SPELLINGS):
            continue
        argument, p, descending = _parts(node)
        if isinstance(p, exp.Array):
            raise QueryError(
                f"{_sql(node)} gives a list; in arithmetic, HAVING and ORDER BY take one quantile at a time"
            )
        share = _share(p)
        node.replace(_plain(argument.copy(), 1 - share if descending else share))
    return select


def probability(node: exp.Expr) -> Fraction:
    """The p of a quantile as `spell_quantiles` writes it; MIN and MAX are the 1 % and the 99 % quantile."""
    match node:
        case exp.Min():
            return _EXTREME
        case exp.Max():
            return 1 - _EXTREME
        case exp.Median():
            return _HALF
        case _:
            return _share(node.expression)


def _columns(item: exp.Expr) -> list[exp.Expr]:
    """One item of the SELECT list, or as many as it has quantiles in a list."""
    inner = item.this.unnest() if isinstance(item, exp.Alias) else item.unnest()
    where = inner.expression if isinstance(inner, exp.Filter) else None
    inner = inner if where is None else inner.this
    if not isinstance(inner, (exp.WithinGroup, *_SPELLINGS)):
        return [item]
    argument, p, descending = _parts(inner)
    if not isinstance(p, exp.Array):
        return [item]
    if not p.expressions:
        raise QueryError(f"{_sql(inner)} asks for no quantile; list one p or more, for example [0.25, 0.5, 0.75]")
    base = item.alias or "quantile"
    columns: list[exp.Expr] = []
    for each in p.expressions:
        share = _share(each)
        name = exp.to_identifier(f"{base}_{decimal_text(100 * share)}", quoted=True)
        plain = _plain(argument.copy(), 1 - share if descending else share)
        one = plain if where is None else exp.Filter(this=plain, expression=where.copy())
        columns.append(exp.Alias(this=one, alias=name))
    return columns


def _parts(node: exp.Expr) -> tuple[exp.Expr, exp.Expr, bool]:
    """What a quantile is of, its p, and whether p counts from above."""
    if isinstance(node, exp.WithinGroup):
        inner, order = node.this, node.expression
        known = isinstance(inner, exp.PercentileCont | exp.PercentileDisc) and not _extra(inner, "this")
        ordered = order.expressions if isinstance(order, exp.Order) else []
        if not known or len(ordered) != 1 or _extra(ordered[0], "this", "desc", "nulls_first"):
            raise refuse(_sql(node))
        return ordered[0].this, inner.this, bool(ordered[0].args.get("desc"))
    p = node.args.get("quantile") or node.args.get("expression")
    if p is None or isinstance(p, exp.Order) or _extra(node, "this", "quantile", "expression"):
        raise refuse(_sql(node))
    return node.this, p, False


def _extra(node: exp.Expr, *known: str) -> bool:
    return any(value for name, value in node.args.items() if name not in known)


def _plain(argument: exp.Expr, share: Fraction) -> exp.Expr:
    if share in (0, 1):
        return exp.Max(this=argument) if share else exp.Min(this=argument)
    if share == _HALF:
        return exp.Median(this=argument)
    return exp.PercentileCont(this=argument, expression=_constant(share))


def _constant(share: Fraction) -> exp.Expr:
    if share == Fraction(_text(share)):
        return exp.Literal.number(_text(share))
    return exp.Div(this=exp.Literal.number(share.numerator), expression=exp.Literal.number(share.denominator))


def _text(share: Fraction) -> str:
    return format((Decimal(share.numerator) / Decimal(share.denominator)).normalize(), "f")


def _share(node: exp.Expr) -> Fraction:
    """A constant from 0 to 1."""
    inner = node.unnest()
    try:
        if isinstance(inner, exp.Div):
            top, bottom = (rational(side.unnest().name, "a probability") for side in (inner.left, inner.right))
            plain = all(_is_number(side.unnest()) for side in (inner.left, inner.right)) and bottom != 0
            share = top / bottom if plain else None
        else:
            share = rational(inner.name, "a probability") if _is_number(inner) else None
    except ParameterError:
        share = None
    if share is None or not 0 <= share <= 1 or share.denominator > _FINEST:
        raise QueryError(
            f"the p of a quantile is a number from 0 to 1, of 12 digits at most, such as 0.25 or 1/3; got {_sql(node)}"
        )
    return share


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _sql(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb")
