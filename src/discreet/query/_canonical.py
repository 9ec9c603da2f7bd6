"""Pass: one spelling for each meaning, so that equal questions have equal plans."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._constants import spelt_out
from discreet.query._functions_calls import OPERAND_NODES
from discreet.query._trees import put, size_of

__all__ = ["canonicalize", "name_outputs"]

_MOST_PARTS = 5_000
_OPERATORS = (exp.Binary, exp.Unary, exp.In)


def canonicalize(select: exp.Select) -> exp.Select:
    """Put parentheses exactly around nested operators; write some operators as others that mean the same.

    These are BETWEEN of a short operand, COUNT of nothing or 1 as COUNT(*), FETCH as LIMIT, a // b as DIVIDE(a, b),
    CASE x WHEN 1 as CASE WHEN x = 1, and MAKE_DATE of constants as a date.

    >>> query = "SELECT COUNT(1) FROM t WHERE ((x BETWEEN 1 AND 2)) -- why"
    >>> canonicalize(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT COUNT(*) FROM t WHERE (x >= 1) AND (x <= 2)'
    """
    tree = select.copy()
    size = 0
    for node in reversed(list(tree.walk())):
        node.comments = None
        if isinstance(node, exp.Between) or (isinstance(node, exp.Case) and node.this is not None):
            size += size_of(node.this, _MOST_PARTS) * max(len(node.args.get("ifs", ())), 1)  # what is written again
            if size > _MOST_PARTS:
                raise QueryError(
                    f"the query is too large: with BETWEEN as >= AND <=, and CASE x WHEN y as CASE WHEN x = y, it has "
                    f"more than {_MOST_PARTS:,} parts more"
                )
        if isinstance(node, exp.Ordered) and not node.args.get("desc"):
            node.set("desc", None)  # ASC goes without saying
        plain = _canonical_node(node)
        put(node, plain)
    for node in reversed(list(tree.walk())):
        if isinstance(node, _OPERATORS) and isinstance(node.parent, _OPERATORS):
            paren = exp.Paren()
            put(node, paren)
            paren.set("this", node)
    return tree


def name_outputs(select: exp.Select) -> exp.Select:
    """Give every column of the result a name that is not taken.

    >>> name_outputs(exp.maybe_parse("SELECT city, COUNT(*), COUNT(x) FROM t", into=exp.Select)).sql()
    'SELECT city AS "city", COUNT(*) AS "count", COUNT(x) AS "count_2" FROM t'
    """
    select = select.copy()
    taken = {e.alias for e in select.expressions if isinstance(e, exp.Alias)}
    numbers: dict[str, int] = {}
    named: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            inner, name = item.this, item.alias
        else:
            inner, name = item, _free_name(item, taken, numbers)
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
    if (
        isinstance(node, exp.Between)
        and not node.args.get("symmetric")
        and size_of(node.this, OPERAND_NODES) <= OPERAND_NODES
    ):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        return exp.And(this=low, expression=high)
    if isinstance(node, exp.Fetch) and not _is_special(node.args.get("limit_options")):
        return exp.Limit(expression=node.args["count"])
    if isinstance(node, exp.Case) and node.this is not None and size_of(node.this, OPERAND_NODES) <= OPERAND_NODES:
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


def _is_special(options: exp.Expr | None) -> bool:
    """Whether FETCH asks for a share of the rows, or for ties."""
    return options is not None and bool(options.args.get("percent") or options.args.get("with_ties"))


def _free_name(item: exp.Expr, taken: set[str], numbers: dict[str, int]) -> str:
    """A name that is not taken; `numbers` are the last ones that were tried after each word."""
    base = item.name if isinstance(item, exp.Column) else type(item).__name__.lower()
    base = "quantile" if isinstance(item, exp.PercentileCont) else base
    name, n = base, numbers.get(base, 1)
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    numbers[base] = n
    return name
