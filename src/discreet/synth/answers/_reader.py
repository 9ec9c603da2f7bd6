"""Read a SELECT over one table as linear functions of its cells: a weight for each row, summed within each group.

What cannot be read so is no error: the rows of the synthetic table answer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query import expand_references

__all__ = ["Functional", "Item", "Plain", "bind", "is_plain", "read"]

_READ = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset"}
_LAST = ("having", "order", "limit", "offset")
_AGGREGATES = (exp.AggFunc, exp.Filter, exp.Window, exp.Subquery)
_NAME = "table"
"""What may stand in FROM for the table, whatever its own name is."""


@dataclass(frozen=True)
class Functional:
    """The sum over rows of a weight, an expression of the row; in each group, or over all rows if `is_total`."""

    weight: exp.Expr
    is_total: bool = False

    @property
    def text(self) -> str:
        """The same text is the same functional."""
        return f"{self.is_total} {self.weight.sql('duckdb')}"


@dataclass(frozen=True)
class Item:
    """One column of the answer: a key by its place in GROUP BY, or an expression of functionals ``a0``, ``a1``, …

    It has neither where it is no function of them: then only the rows of the synthetic table answer it.
    """

    name: str
    text: exp.Expr
    key: int | None = None
    expression: exp.Expr | None = None


@dataclass
class Plain:
    """A SELECT from one table, with GROUP BY, that is read as functionals.

    The first `shown` items are the columns of the answer, the others are read by HAVING and ORDER BY alone; in `last`,
    these and LIMIT, they are columns ``c0``, ``c1``, …
    """

    keys: list[exp.Expr]
    items: list[Item] = field(default_factory=list[Item])
    functionals: list[Functional] = field(default_factory=list[Functional])
    where: exp.Expr | None = None
    shown: int = 0
    last: Mapping[str, exp.Expr] = field(default_factory=dict[str, exp.Expr])

    def use(self, functional: Functional) -> exp.Expr:
        """A placeholder for a functional, the same one for the same text."""
        texts = [each.text for each in self.functionals]
        if functional.text not in texts:
            self.functionals.append(functional)
            texts.append(functional.text)
        return exp.Placeholder(this=f"a{texts.index(functional.text)}")


def bind(select: exp.Select, table: str) -> exp.Select:
    """The query with the table under its own name, wherever it stands. Raises `QueryError` for another table."""
    select = select.copy()
    named = {cte.alias.casefold() for cte in select.find_all(exp.CTE)}
    for node in list(select.find_all(exp.Table)):
        if not isinstance(node.this, exp.Identifier):
            raise QueryError(
                f"FROM {node.sql('duckdb')} is not supported: the synthetic table has rows of {table} alone"
            )
        name = node.name.casefold()
        if name in named and not node.db:
            continue
        if node.db or name not in (table.casefold(), _NAME):
            raise QueryError(f"{node.sql('duckdb')} is not in this synthetic table; it has {table}")
        node.set("this", exp.to_identifier(table, quoted=True))
        if name == _NAME and not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(_NAME, quoted=True)))
    return select


def is_plain(select: exp.Select) -> bool:
    """Whether a query is one SELECT over one table, but for sub-queries that are totals in its items."""
    source = select.args.get("from_")
    return (
        not any(value for name, value in select.args.items() if name not in _READ)
        and source is not None
        and isinstance(source.this, exp.Table)
        and not any(value for name, value in source.this.args.items() if name not in ("this", "alias"))
    )


def read(select: exp.Select) -> Plain | None:
    """A query as functionals; None for one that is not plain, has no aggregate, or groups by sets.

    The clauses after GROUP BY are left to the caller. Raises `QueryError` for references that lead nowhere.

    >>> from discreet.query import parse
    >>> plain = read(parse("SELECT a, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY 1"))
    >>> [item.expression.sql() for item in plain.items[1:]]
    [':a0', ':a1 / :a2']
    >>> [each.weight.sql() for each in plain.functionals[::2]]
    ['1', 'CASE WHEN x IS NULL THEN 0 ELSE 1 END']
    """
    if not is_plain(select) or any(isinstance(each, exp.Star) for each in select.expressions):
        return None
    select = expand_references(select)
    group = select.args.get("group")
    if group is not None and any(value for name, value in group.args.items() if name != "expressions"):
        return None
    keys: list[exp.Expr] = [] if group is None else list(group.expressions)
    if any(
        isinstance(key, exp.Rollup | exp.Cube | exp.GroupingSets) or key.find(exp.AggFunc, exp.Query) for key in keys
    ):
        return None
    where = select.args.get("where")
    plain = Plain(keys, where=None if where is None else where.this)
    for place, projection in enumerate(select.expressions):
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        name = projection.alias or (inner.name if isinstance(inner, exp.Column) else _default(inner, place))
        plain.items.append(_item(name, inner, plain))
    plain.shown = len(plain.items)
    if len({item.name.casefold() for item in plain.items}) < plain.shown or not (plain.functionals or plain.keys):
        return None
    plain.last = {name: _over_items(select.args[name], plain) for name in _LAST if select.args.get(name)}
    return plain


def _item(name: str, inner: exp.Expr, plain: Plain) -> Item:
    texts = [key.sql("duckdb") for key in plain.keys]
    text = inner.sql("duckdb")
    return Item(name, inner, texts.index(text)) if text in texts else Item(name, inner, None, _placed(inner, plain))


def _over_items(clause: exp.Expr, plain: Plain) -> exp.Expr:
    """HAVING, ORDER BY or LIMIT over the items, to which it adds those that it needs."""
    keys = {key.sql("duckdb") for key in plain.keys}

    def visit(node: exp.Expr) -> exp.Expr:
        texts = [item.text.sql("duckdb") for item in plain.items]
        text = node.sql("duckdb")
        if text not in texts and (text in keys or isinstance(node, _AGGREGATES)):
            plain.items.append(_item(f"c{len(texts)}", node.copy(), plain))
            texts.append(text)
        if text in texts:
            return exp.column(f"c{texts.index(text)}")
        for child in list(node.iter_expressions()):
            new = visit(child)
            if new is not child:
                child.replace(new)
        return node

    clause = clause.copy()
    for child in list(clause.iter_expressions()):
        new = visit(child)
        if new is not child:
            child.replace(new)
    return clause


def _default(inner: exp.Expr, place: int) -> str:
    return inner.sql("duckdb").lower() or f"column {place}"


def _placed(node: exp.Expr, plain: Plain) -> exp.Expr | None:
    """An expression with a placeholder for each aggregate; None if it has one that is not linear, or columns beside."""
    replaced = _replace(node.copy(), plain)
    if replaced is None or replaced.find(exp.Column, exp.AggFunc, exp.Query, exp.Window) is not None:
        return None
    return replaced if replaced.find(exp.Placeholder) is not None else None


def _replace(node: exp.Expr, plain: Plain) -> exp.Expr | None:
    known = _functionals(node, plain)
    if known is not None:
        return known
    if isinstance(node, exp.AggFunc | exp.Window | exp.Query | exp.Filter):
        return None
    for child in list(node.iter_expressions()):
        new = _replace(child, plain)
        if new is None:
            return None
        if new is not child:
            child.replace(new)
    return node


def _functionals(node: exp.Expr, plain: Plain) -> exp.Expr | None:
    match node:
        case exp.Window(this=exp.Sum(this=inner)) if not _has_more(node, "this", "over"):
            weight = _weight(inner, plain.where)
            return None if weight is None else plain.use(Functional(weight, is_total=True))
        case exp.Subquery(this=exp.Select()) if not _has_more(node, "this"):
            return _total(node.this, plain)
        case exp.Avg(this=inner) if not isinstance(inner, exp.Distinct):
            return _ratio(inner, None, plain)
        case exp.Filter(this=exp.Avg(this=inner)) if not isinstance(inner, exp.Distinct):
            return _ratio(inner, node.expression.this, plain)
        case _:
            weight = _weight(node, plain.where)
            return None if weight is None else plain.use(Functional(weight))


def _ratio(inner: exp.Expr, condition: exp.Expr | None, plain: Plain) -> exp.Expr | None:
    total = _filtered(_filtered(_number(inner), condition), plain.where)
    count = _filtered(_filtered(_present(inner), condition), plain.where)
    return exp.Div(this=plain.use(Functional(total)), expression=plain.use(Functional(count)))


def _total(select: exp.Select, plain: Plain) -> exp.Expr | None:
    """A sub-query of one aggregate over the whole table, perhaps with WHERE."""
    if not is_plain(select) or len(select.expressions) != 1:
        return None
    if any(select.args.get(each) for each in ("group", "having", "order", "limit", "offset")):
        return None
    item, where = select.expressions[0], select.args.get("where")
    weight = _weight(item.this if isinstance(item, exp.Alias) else item, None if where is None else where.this)
    return None if weight is None else plain.use(Functional(weight, is_total=True))


def _has_more(node: exp.Expr, *names: str) -> bool:
    return any(value for name, value in node.args.items() if name not in names)


def _weight(node: exp.Expr, where: exp.Expr | None) -> exp.Expr | None:
    """What a row adds to an aggregate that is a sum over rows; None for others."""
    condition = None
    if isinstance(node, exp.Filter):
        node, condition = node.this, node.expression.this
    if isinstance(getattr(node, "this", None), exp.Distinct) or node.args.get("expressions"):
        return None
    match node:
        case exp.Count(this=exp.Star() | None):
            weight: exp.Expr = exp.Literal.number(1)
        case exp.Count(this=inner):
            weight = _present(inner)
        case exp.CountIf(this=inner):
            weight = exp.Case(
                ifs=[exp.If(this=inner.copy(), true=exp.Literal.number(1))], default=exp.Literal.number(0)
            )
        case exp.Sum(this=inner):
            weight = _number(inner)
        case _:
            return None
    return _filtered(_filtered(weight, condition), where)


def _present(inner: exp.Expr) -> exp.Expr:
    return _unless_null(inner, exp.Literal.number(1))


def _number(inner: exp.Expr) -> exp.Expr:
    return _unless_null(inner, exp.Cast(this=inner.copy(), to=exp.DataType.build("double")))


def _unless_null(inner: exp.Expr, value: exp.Expr) -> exp.Expr:
    missing = exp.Is(this=inner.copy(), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=missing, true=exp.Literal.number(0))], default=value)


def _filtered(weight: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    if condition is None:
        return weight
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=weight)], default=exp.Literal.number(0))
