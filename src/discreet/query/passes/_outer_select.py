"""A SELECT over an answer, ``SELECT … FROM (SELECT … GROUP BY …) WHERE … ORDER BY … LIMIT …``, as one SELECT.

Its WHERE becomes HAVING, and its columns are written out. Proof: ``proofs/query_flattened.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.measures._keys import grouped_by_all
from discreet.query.parse._parse import check_block, refuse_clauses
from discreet.query.parse._windows import is_windowed
from discreet.query.passes._names import Scope, expand_references, resolve_names
from discreet.query.passes._windows import is_window_function
from discreet.query.relations._binder import source_of

__all__ = ["Layer", "flattened", "peeled"]

_MOST_PARTS = 5_000


@dataclass(frozen=True, slots=True)
class Layer:
    """A SELECT over an answer: its clauses, and what it calls the answer and the answer's columns."""

    select: exp.Select
    alias: str
    names: tuple[tuple[str, ...], ...] = ()


def peeled(select: exp.Select) -> tuple[exp.Select, tuple[Layer, ...]]:
    """The SELECT that aggregates, and the layers around it, the innermost first.

    A layer neither aggregates nor groups, and reads one sub-query or one common table expression and nothing else. A
    query without an aggregate below its layers is given back as it is: it asks for rows, and the planner says so.

    >>> query = "SELECT * FROM (SELECT city, COUNT(*) AS n FROM t GROUP BY city) AS g WHERE n > 10"
    >>> core, layers = peeled(exp.maybe_parse(query, into=exp.Select))
    >>> core.sql(), len(layers)
    ('SELECT city, COUNT(*) AS n FROM t GROUP BY city', 1)
    """
    layers: list[Layer] = []
    core = select
    while not _aggregates(core) and (below := _below(core)) is not None:
        core, layer = below
        layers.insert(0, layer)
    return (core, tuple(layers)) if layers and _aggregates(core) else (select, ())


def flattened(core: exp.Select, layers: Sequence[Layer]) -> exp.Select:
    """A SELECT whose names are resolved and whose references are expanded, with its layers written into it.

    Raises `QueryError` for a layer that filters, sorts or limits what a LIMIT has left, for a name that the answer does
    not have, and for a column of it that needs a name.
    """
    for layer in layers:
        core = _merged(core, layer)
    if layers and core.args.get("qualify") and not is_windowed(core):
        return _without_qualify(core)
    return core


def _without_qualify(core: exp.Select) -> exp.Select:
    """The filters of a SELECT that has no windows left, as HAVING alone."""
    core = core.copy()
    filters = [clause.this for name in ("having", "qualify") if (clause := core.args.get(name)) is not None]
    core.set("qualify", None)
    core.set("having", exp.Having(this=exp.and_(*filters)))
    return core


def _aggregates(select: exp.Select) -> bool:
    """Whether a SELECT itself groups or aggregates, not a sub-query that it reads; a window does neither."""
    if any(select.args.get(name) for name in ("group", "having", "distinct")):
        return True
    clauses = [*select.expressions, *(select.args.get(name) for name in ("where", "qualify", "order"))]
    nodes = (node for clause in clauses if clause is not None for node in clause.find_all(exp.AggFunc))
    return not all(map(is_window_function, nodes))


def _below(select: exp.Select) -> tuple[exp.Select, Layer] | None:
    """What a SELECT reads, if that is one SELECT, and the layer around it; None otherwise."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins") or source.this.args.get("joins"):
        return None
    node, named = source.this, _names(source.this)
    above = select.args.get("with_")
    known = [] if above is None or above.args.get("recursive") else list(above.expressions)
    alias = node.alias
    if isinstance(node, exp.Table):
        last = known.pop() if known else None
        if last is None or node.args.get("db") or last.alias.casefold() != node.name.casefold():
            return None
        refuse_clauses(node, ("this", "alias"), "a table")
        refuse_clauses(last, ("this", "alias", "materialized"), "a common table expression")
        named, inner, alias = (*_names(last), *named), last.this, alias or last.alias
    elif isinstance(node, exp.Subquery):
        refuse_clauses(node, ("this", "alias"), "a sub-query")
        inner = node.this
    else:
        return None
    while isinstance(inner, exp.Subquery) and not any(value for key, value in inner.args.items() if key != "this"):
        inner = inner.this
    if not isinstance(inner, exp.Select):
        return None
    return _with(inner, above, known), Layer(select, alias or "the sub-query", named)


def _names(node: exp.Expr) -> tuple[tuple[str, ...], ...]:
    alias = node.args.get("alias")
    columns = None if alias is None else alias.args.get("columns")
    return (tuple(column.name for column in columns),) if columns else ()


def _with(select: exp.Select, above: exp.Expr | None, known: Sequence[exp.Expr]) -> exp.Select:
    """A sub-query with the common table expressions that it could name where it stood."""
    if above is None or (not known and not above.args.get("recursive")):
        return select
    own = select.args.get("with_")
    outer = list(above.expressions) if above.args.get("recursive") else list(known)
    recursive = bool(above.args.get("recursive") or (own is not None and own.args.get("recursive")))
    inside = [] if own is None else list(own.expressions)
    copied = select.copy()
    copied.set("with_", exp.With(expressions=[each.copy() for each in (*outer, *inside)], recursive=recursive or None))
    return copied


def _merged(core: exp.Select, layer: Layer) -> exp.Select:
    check_block(layer.select, nested=False)
    core = grouped_by_all(core)
    above = {name: layer.select.args.get(name) for name in ("where", "qualify", "order", "limit", "offset")}
    windowed = is_windowed(layer.select)
    if (core.args.get("limit") or core.args.get("offset")) and (windowed or any(above.values())):
        raise QueryError(
            "the query filters, sorts, limits or numbers the rows that a LIMIT or OFFSET has left; put the LIMIT last, "
            "or do the rest with the release, which is free"
        )
    if windowed and (core.args.get("qualify") or (is_windowed(core) and above["where"])):
        raise QueryError(
            "the query computes windows over the rows that a filter by other windows has left; put the filter last, or "
            "do the rest with the release, which is free"
        )
    scope = Scope((source_of(layer.alias, "the sub-query", _outputs(core), *layer.names),))
    body = expand_references(resolve_names(layer.select, scope))
    merged = core.copy()
    merged.set("expressions", body.expressions)
    if (where := body.args.get("where")) is not None:
        kind = exp.Qualify if is_windowed(core) else exp.Having
        before = core.args.get(kind.key)
        both = where.this if before is None else exp.and_(before.this.copy(), where.this.copy())
        merged.set(kind.key, kind(this=both))
    for name in ("qualify", "order", "limit", "offset"):
        if body.args.get(name) is not None:
            merged.set(name, body.args[name])
    if sum(1 for _ in merged.walk()) > _MOST_PARTS:
        raise QueryError(f"the query is too large: its sub-queries add up to more than {_MOST_PARTS:,} parts")
    return merged


def _outputs(core: exp.Select) -> dict[str, exp.Expr]:
    outputs: dict[str, exp.Expr] = {}
    taken: set[str] = set()
    for item in core.expressions:
        name = item.alias or (item.name if isinstance(item, exp.Column) else "")
        if not name:
            raise QueryError(f"give {item.sql()} a name with AS: a sub-query's columns need one")
        if name.casefold() in taken:
            raise QueryError(f"two columns of a sub-query are called {name}")
        taken.add(name.casefold())
        outputs[name] = item.unalias()
    return outputs
