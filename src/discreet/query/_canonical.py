"""Pass: one spelling for each meaning, so that equal questions have equal plans."""

from __future__ import annotations

from itertools import islice

from sqlglot import exp

from discreet.query._constants import spelt_out
from discreet.query._functions_calls import OPERAND_NODES

__all__ = ["canonicalize", "name_outputs"]

_OPERATORS = (exp.Binary, exp.Unary, exp.In)


def canonicalize(select: exp.Select) -> exp.Select:
    """Put parentheses exactly around nested operators, spell out BETWEEN of a short operand, write COUNT of nothing or 1
    as COUNT(*), FETCH as LIMIT, a // b as DIVIDE(a, b), CASE x WHEN 1 as CASE WHEN x = 1, and MAKE_DATE of constants as
    a date.

    >>> query = "SELECT COUNT(1) FROM t WHERE ((x BETWEEN 1 AND 2)) -- why"
    >>> canonicalize(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT COUNT(*) FROM t WHERE (x >= 1) AND (x <= 2)'
    """
    tree = select.copy()
    for node in reversed(list(tree.walk())):
        node.comments = None
        if isinstance(node, exp.Ordered) and not node.args.get("desc"):
            node.set("desc", None)  # ASC goes without saying
        plain = _canonical_node(node)
        if plain is not node:
            node.replace(plain)
    for node in reversed(list(tree.walk())):
        if isinstance(node, _OPERATORS) and isinstance(node.parent, _OPERATORS):
            paren = exp.Paren()
            node.replace(paren)
            paren.set("this", node)
    return tree


def name_outputs(select: exp.Select) -> exp.Select:
    """Give every column of the result a name that is not taken.

    >>> name_outputs(exp.maybe_parse("SELECT city, COUNT(*), COUNT(x) FROM t", into=exp.Select)).sql()
    'SELECT city AS "city", COUNT(*) AS "count", COUNT(x) AS "count_2" FROM t'
    """
    select = select.copy()
    taken = {e.alias for e in select.expressions if isinstance(e, exp.Alias)}
    named: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            inner, name = item.this, item.alias
        else:
            inner, name = item, _free_name(item, taken)
            taken.add(name)
        named.append(exp.Alias(this=inner, alias=exp.to_identifier(name, quoted=True)))
    select.set("expressions", named)
    return select


def _canonical_node(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Paren):
        return node.this
    if node.args.get("negate"):
        positive = node.copy()
        positive.set("negate", None)
        return exp.Not(this=positive)
    if isinstance(node, exp.Between) and not node.args.get("symmetric") and _is_small(node.this):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return exp.And(this=low, expression=high)
    if isinstance(node, exp.Fetch) and not _is_special(node.args.get("limit_options")):
        return exp.Limit(expression=node.args["count"])
    if isinstance(node, exp.Case) and node.this is not None and _is_small(node.this):
        plain = node.copy()
        for branch in plain.args["ifs"]:
            branch.set("this", exp.EQ(this=node.this.copy(), expression=branch.this.copy()))
        plain.set("this", None)
        return plain
    if isinstance(node, exp.IntDiv):  # which other dialects write as a cast, and that rounds
        return exp.Anonymous(this="DIVIDE", expressions=[node.this, node.expression])
    if isinstance(node, exp.DateFromParts | exp.TimestampFromParts):
        return spelt_out(node)
    alone = isinstance(node, exp.Count) and not node.args.get("expressions")
    if alone and (node.this is None or isinstance(node.this, exp.Literal | exp.Boolean)):
        return exp.Count(this=exp.Star())
    return node


def _is_small(operand: exp.Expr) -> bool:
    """Whether an operand may be copied, without that copies of copies add up."""
    return sum(1 for _ in islice(operand.walk(), OPERAND_NODES + 1)) <= OPERAND_NODES


def _is_special(options: exp.Expr | None) -> bool:
    """Whether FETCH asks for a share of the rows, or for ties."""
    return options is not None and bool(options.args.get("percent") or options.args.get("with_ties"))


def _free_name(item: exp.Expr, taken: set[str]) -> str:
    base = item.name if isinstance(item, exp.Column) else type(item).__name__.lower()
    base = "quantile" if isinstance(item, exp.PercentileCont) else base
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    return name
