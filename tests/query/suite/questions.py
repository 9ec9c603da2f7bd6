"""Random queries about the worlds, from templates: what may be asked today, and what may once it has landed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from suite.features import Feature, landed

__all__ = ["TEMPLATES", "question"]

_ROWS = (
    "COUNT(*)",
    "COUNT({0}x)",
    "COUNT({0}y)",
    "SUM({0}x)",
    "SUM({0}y)",
    "AVG({0}x)",
    "AVG({0}y)",
    "SUM({0}x * {0}y - 1)",
    "SUM(-{0}x)",
    "AVG({0}x / ({0}y + 1))",
    "SUM({0}x) / COUNT(*)",
    "COUNT({0}k)",
    "SUM(2.5)",
)
_LATER: tuple[tuple[str, Feature], ...] = (
    ("SUM({0}x) FILTER (WHERE {0}y > 0)", "filter"),
    ("COUNT(*) FILTER (WHERE {0}k = 'a')", "filter"),
    ("COUNT(DISTINCT {0}x)", "count distinct"),
    ("COUNT(DISTINCT {0}k)", "count distinct"),
    ("VAR_POP({0}x)", "variance"),
    ("STDDEV({0}y)", "variance"),
    ("CORR({0}x, {0}y)", "covariance"),
    ("REGR_SLOPE({0}y, {0}x)", "covariance"),
    ("SUM(CASE WHEN {0}x > 0 THEN {0}y ELSE -{0}x END)", "case"),
    ("SUM(COALESCE({0}y, {0}x))", "case"),
    ("MEDIAN({0}x)", "quantiles"),
    ("MIN({0}y)", "quantiles"),
    ("QUANTILE_CONT({0}y, 0.9) FILTER (WHERE {0}x > 0)", "quantiles"),
    ("MEDIAN(CASE WHEN {0}x > 0 THEN DATE '2024-02-29' WHEN {0}y < 1 THEN DATE '2024-01-01' END)", "quantiles"),
    ("MAX(CASE WHEN {0}k = 'a' THEN TIMESTAMP '2024-02-29 12:00:00' ELSE DATE '2024-01-01' END)", "quantiles"),
    ("MODE({0}x)", "modes"),
    ("MODE({0}y > 0) FILTER (WHERE {0}x > 0)", "modes"),
    ("MODE(CASE WHEN {0}k = 'a' THEN 'a' WHEN {0}x / {0}y > 1 THEN 'more' END)", "modes"),
    ("SUM(ABS({0}x))", "number functions"),
    ("SUM(SQRT({0}y + 1))", "number functions"),
)
_CONDITIONS = (
    "TRUE",
    "TRUE",
    "{0}x > 0",
    "NOT {0}x = 1",
    "{0}y IS NULL OR {0}x IN (1, 99)",
    "{0}y < {0}x",
    "{0}x / {0}y > 1",
    "{0}k LIKE 'a%' OR {0}y >= 0.3",
    "{0}x BETWEEN -1 AND 2",
    "{0}x * {0}x > 5",
)

TEMPLATES: dict[str, tuple[str, str, frozenset[Feature]]] = {
    # name: the source, with the alias of the rows that count; the keys beside the world; what it needs
    "people": ("people AS {0}", "k", frozenset()),
    "orders": ("orders AS {0}", "k q", frozenset()),
    "rows": ("visits AS {0}", "k q", frozenset()),
    "owners": ("orders AS {0} JOIN people AS p ON {0}.person = p.id", "k q p.k", frozenset({"joins"})),
    "all owners": ("people AS p LEFT JOIN orders AS {0} ON {0}.person = p.id", "k q p.k", frozenset({"left joins"})),
    "twice": ("orders AS {0} JOIN orders AS b ON {0}.person = b.person", "k b.q", frozenset({"self joins"})),
    "items": ("items AS {0}", "k", frozenset({"paths"})),
    "chain": (
        "items AS {0} JOIN orders AS o ON {0}.order_no = o.no JOIN people AS p ON o.person = p.id",
        "k o.q p.k",
        frozenset({"paths", "joins"}),
    ),
    "tags": ("orders AS {0} JOIN tags AS g ON {0}.k = g.k", "q g.tag", frozenset({"public tables"})),
    "maybe tags": ("orders AS {0} LEFT JOIN tags AS g ON {0}.k = g.k", "k q", frozenset({"public tables"})),
    "tag keys": ("orders AS {0} JOIN tags AS g ON {0}.k = g.k", "g.k g.size", frozenset({"public tables"})),
    "maybe tag keys": (
        "orders AS {0} LEFT JOIN tags AS g ON {0}.k = g.k",
        "k g.k g.size",
        frozenset({"left joins", "public tables"}),
    ),
    "item tags": ("items AS {0} JOIN tags AS g ON g.k = {0}.k", "g.tag", frozenset({"paths", "public tables"})),
    "listed": ("people AS p, orders AS {0} WHERE p.id = {0}.person", "k q p.k", frozenset({"comma joins"})),
    "listed chain": (
        "people AS p, items AS {0}, orders AS o WHERE {0}.order_no = o.no AND o.x < 3 AND p.id = o.person",
        "k o.q p.k",
        frozenset({"comma joins", "paths"}),
    ),
    "listed tags": (
        "tags AS g CROSS JOIN orders AS {0} JOIN people AS p ON p.x < {0}.y WHERE {0}.k = g.k AND p.id = {0}.person",
        "q g.tag",
        frozenset({"comma joins", "public tables"}),
    ),
    "tied by WHERE": (
        "orders AS {0} JOIN orders AS b ON {0}.k = b.k WHERE {0}.person = b.person AND {0}.x <> 2",
        "k b.q",
        frozenset({"comma joins", "self joins"}),
    ),
    "either": (
        "orders AS {0}, tags AS g WHERE ((g.k = {0}.k AND g.size > 1) OR ({0}.k = g.k AND {0}.x > 0))",
        "q g.tag",
        frozenset({"comma joins", "public tables"}),
    ),
    "listed left": (
        "people AS p, orders AS {0} LEFT JOIN tags AS g ON {0}.k = g.k AND g.size < 3 WHERE p.id = {0}.person",
        "k p.k",
        frozenset({"comma joins", "left joins", "public tables"}),
    ),
    "natural": (
        "(SELECT id AS person, w, k AS pk FROM people) AS p NATURAL JOIN orders AS {0}",
        "k q p.pk",
        frozenset({"natural joins"}),
    ),
    "semi": (
        "people AS {0} SEMI JOIN orders AS o ON {0}.id = o.person AND o.x > 0 AND {0}.y < 1",
        "k",
        frozenset({"semi joins"}),
    ),
    "anti": (
        "orders AS {0} ANTI JOIN orders AS o ON {0}.person = o.person AND {0}.k = o.q AND o.y > 0",
        "k q",
        frozenset({"semi joins"}),
    ),
    "exists": (
        "people AS {0} WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.person = {0}.id AND o.x < {0}.x)",
        "k",
        frozenset({"sub-query conditions"}),
    ),
    "exists or": (
        "people AS {0} WHERE {0}.x > 1 OR EXISTS (SELECT 1 FROM orders AS o WHERE o.person = {0}.id AND o.y < 1)",
        "k",
        frozenset({"sub-query conditions"}),
    ),
    "not exists": (
        "orders AS {0} WHERE NOT EXISTS (SELECT * FROM items AS i WHERE i.order_no = {0}.no AND i.y < {0}.y)",
        "k q",
        frozenset({"sub-query conditions", "paths"}),
    ),
    "in": (
        "orders AS {0} WHERE {0}.no IN (SELECT order_no FROM items GROUP BY order_no HAVING SUM(x) > 0)",
        "k q",
        frozenset({"sub-query conditions", "grouped things", "paths"}),
    ),
    "not in": (
        "orders AS {0} WHERE {0}.x NOT IN (SELECT o.x FROM orders AS o WHERE o.person = {0}.person AND o.q = {0}.k)",
        "k q",
        frozenset({"sub-query conditions"}),
    ),
    "not in public": (
        "people AS {0} WHERE {0}.x NOT IN (SELECT size FROM tags AS g WHERE g.k > {0}.k)",
        "k",
        frozenset({"sub-query conditions", "public tables"}),
    ),
    "all": (
        "orders AS {0} WHERE {0}.y >= ALL (SELECT o.y FROM orders AS o WHERE o.person = {0}.person)",
        "k q",
        frozenset({"sub-query conditions"}),
    ),
    "value": (
        "people AS {0} WHERE {0}.x < (SELECT COUNT(*) FROM orders AS o WHERE o.person = {0}.id AND o.y > 0)",
        "k",
        frozenset({"sub-query values"}),
    ),
    "value of an order": (
        "orders AS {0} WHERE (SELECT MAX(i.y) FROM items AS i WHERE i.order_no = {0}.no) > {0}.y",
        "k q",
        frozenset({"sub-query values", "paths"}),
    ),
    "public value": (
        "orders AS {0} WHERE {0}.x <= (SELECT AVG(size) FROM tags)",
        "k q",
        frozenset({"sub-query values", "public tables"}),
    ),
    "per order": (
        "(SELECT order_no, w, SUM(x) AS x, MAX(y) AS y, 'a' AS k FROM items GROUP BY order_no, w) AS {0}",
        "",
        frozenset({"grouped things", "paths"}),
    ),
    "nested": ("(SELECT * FROM orders WHERE y > -9) AS {0}", "k q", frozenset({"sub-queries"})),
    "both": (
        "(SELECT w, k, x, y FROM orders UNION ALL SELECT w, k, x, y FROM people) AS {0}",
        "k",
        frozenset({"sub-queries", "union all"}),
    ),
    "per person": (
        "(SELECT person, w, SUM(x) AS x, AVG(y) AS y, 'a' AS k FROM orders GROUP BY person, w) AS {0}",
        "",
        frozenset({"per person"}),
    ),
}


def question(dice: random.Random, template: str, *, by_world: bool) -> str:
    """A random query from a template; `by_world` puts the world first among its keys."""
    source, keys, needs = TEMPLATES[template]
    assert landed(needs)
    aggregates: Sequence[str] = (*_ROWS, *(text for text, need in _LATER if landed(frozenset({need}))))
    chosen = dice.sample(aggregates, dice.randrange(1, 4))
    world = "p.w" if template == "all owners" else "t.w"
    names = [key if "." in key else f"t.{key}" for key in keys.split()]
    grouped = [world] * by_world + dice.sample(names, dice.randrange(0, min(len(names), 2) + 1))
    items = [f"{text.format('t.')} AS a{i}" for i, text in enumerate(chosen)]
    select = f"SELECT {', '.join([*grouped, *items])} FROM {source.format('t')}"
    condition = dice.choice(_CONDITIONS).format("t.")
    where = f" AND ({condition})" if " WHERE " in source and source[0] != "(" else f" WHERE {condition}"
    return select + where + _grouped(dice, grouped, by_world=by_world)


def _grouped(dice: random.Random, keys: Sequence[str], *, by_world: bool) -> str:
    """A GROUP BY, now and then of several grouping sets; the world is in each of them."""
    world, free = keys[:by_world], keys[by_world:]
    if free and landed(frozenset({"grouping sets"})) and dice.random() < 0.25:
        sets = dice.choice(["ROLLUP ({})", "CUBE ({})", "GROUPING SETS ({})"]).format(", ".join(free))
        return f" GROUP BY {', '.join([*world, sets])}"
    return f" GROUP BY {', '.join(keys)}" if keys else ""
