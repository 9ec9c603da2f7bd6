"""A bounded aggregate as one DuckDB query: a chain of named steps, each on top of the one before.

`rows` are the rows that count, with each one's contributions as whole numbers. For person-level units the caps follow:

- Row cap. People with more than `max_rows` rows are *over*. Their rows are ranked by a salted hash of the row's
  content, ties by the content itself, and the `max_rows` ranks from a salted start, round the circle, are kept: each
  row stays with probability max_rows / n, however many rows are alike. Nobody else is ranked, which is what makes it fast.
- Group cap. People who still touch more than `max_groups` groups keep those with the least salted hash.

A person's part is a function of the salt and the multiset of that person's rows alone. See proofs/bounding.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.duckdb._expressions import clean, condition, contribution, key_literal, person, present, reference
from discreet.engines.duckdb._relation import Relation
from discreet.policy import Column
from discreet.query import BoundedAggregate, Count, Measure, Sum

__all__ = ["bounded_sql"]


def bounded_sql(request: BoundedAggregate, relation: Relation, salt: bytes) -> str:
    """The query over a relation. It returns the keys, then the number of units (0 if not asked for), then one sum for each measure."""
    keys = [f"k{i}" for i in range(len(request.keys))]
    values = _values(request.measures)
    steps = [("source", _source(request, relation)), ("rows", _rows(request, values))]
    named = [name for name, _ in values.values()]
    if request.unit is None:
        final = _select(keys, ["count(*)" if request.count_units else "0", *_sums(request.measures, values)], "rows")
        return _chain(steps, final + _group_by(keys))
    salts = [int.from_bytes(salt[i : i + 7], "big") for i in (0, 7)]
    steps += _cap_rows(keys, named, request.max_rows, salts)
    if request.max_groups is None and not request.count_units:
        return _chain(steps, _select(keys, ["0", *_sums(request.measures, values)], "kept") + _group_by(keys))
    parts = [f"{s} AS p{i}" for i, s in enumerate(_sums(request.measures, values))]
    steps.append(("parts", _select(["u", *keys], parts, "kept") + _group_by(["u", *keys])))
    source = "parts"
    if request.max_groups is not None:
        steps += _cap_groups(keys, len(parts), request.max_groups, salts[0])
        source = "few"
    totals = [f"CAST(coalesce(sum(p{i}), 0) AS HUGEINT)" for i in range(len(parts))]
    return _chain(steps, _select(keys, ["count(*)", *totals], source) + _group_by(keys))


def _source(request: BoundedAggregate, relation: Relation) -> str:
    """Only the columns that the query touches, as the policy's types, and the unit as it is."""
    trees: list[exp.Expr] = [] if request.where is None else [request.where]
    trees += [m.argument for m in request.measures if m.argument is not None]
    used = {c.name for tree in trees for c in tree.find_all(exp.Column)} | {key.name for key in request.keys}
    columns: Mapping[str, Column] = request.columns
    items = [f"{clean(relation.columns[name], columns[name])} AS {reference(name)}" for name in sorted(used)]
    if request.unit is not None:
        items.append(f"{person(relation.columns[request.unit])} AS u")
    return f"SELECT {', '.join(items) or '1 AS one'} FROM {relation.sql}"


def _rows(request: BoundedAggregate, values: Mapping[str, tuple[str, Measure]]) -> str:
    items = ["u"] if request.unit is not None else []
    items += [f"{reference(key.name)} AS k{i}" for i, key in enumerate(request.keys)]
    for name, measure in values.values():
        if isinstance(measure, Sum):
            items.append(f"{contribution(measure, request.columns)} AS {name}")
        elif measure.argument is not None:
            items.append(f"CASE WHEN {present(measure.argument, request.columns)} THEN 1 END AS {name}")
    conditions = ["u IS NOT NULL"] if request.unit is not None else []
    if request.where is not None:
        conditions.append(condition(request.where, request.columns))
    for key in request.keys:
        if key.values is not None:
            listed = ", ".join(key_literal(value) for value in key.values)
            conditions.append(f"{reference(key.name)} IN ({listed})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(items) or '1 AS one'} FROM source{where}"


def _values(measures: tuple[Measure, ...]) -> dict[str, tuple[str, Measure]]:
    """A column for each distinct argument; a sum's column also tells where its argument is null."""
    found: dict[str, Measure] = {}
    for measure in sorted(measures, key=lambda m: isinstance(m, Count)):
        if measure.argument is not None:
            found.setdefault(measure.argument.sql(), measure)
    return {sql: (f"v{i}", measure) for i, (sql, measure) in enumerate(found.items())}


def _sums(measures: tuple[Measure, ...], values: Mapping[str, tuple[str, Measure]]) -> list[str]:
    sums: list[str] = []
    for measure in measures:
        if measure.argument is None:
            sums.append("count(*)")
        elif isinstance(measure, Count):
            sums.append(f"count({values[measure.argument.sql()][0]})")
        else:
            sums.append(f"coalesce(sum({values[measure.argument.sql()][0]}), 0)")
    return [f"CAST({s} AS HUGEINT)" for s in sums]


def _cap_rows(keys: list[str], values: list[str], cap: int, salts: list[int]) -> list[tuple[str, str]]:
    content = [*keys, *values]
    listed = "".join(f", {name}" for name in content)
    qualified = "".join(f", rows.{name}" for name in content)
    order = f"hash({salts[0]}, rows.u{qualified}){qualified}"
    ranked = (
        f"SELECT rows.u{qualified}, n, row_number() OVER (PARTITION BY rows.u ORDER BY {order}) - 1 AS r "
        "FROM rows JOIN over_cap ON rows.u = over_cap.u"
    )
    start = f"CAST(hash({salts[1]}, u) % n AS BIGINT)"
    return [
        ("over_cap", f"SELECT u, count(*) AS n FROM rows GROUP BY u HAVING count(*) > {cap}"),
        ("ranked", ranked),
        (
            "kept",
            f"SELECT u{listed} FROM rows ANTI JOIN over_cap ON rows.u = over_cap.u "
            f"UNION ALL SELECT u{listed} FROM ranked WHERE (r + {start}) % n < {cap}",
        ),
    ]


def _cap_groups(keys: list[str], parts: int, cap: int, salt: int) -> list[tuple[str, str]]:
    columns = ", ".join([*keys, *(f"p{i}" for i in range(parts))])
    listed = ", ".join(keys)
    return [
        ("many", f"SELECT u FROM parts GROUP BY u HAVING count(*) > {cap}"),
        (
            "few",
            f"SELECT {columns} FROM parts ANTI JOIN many ON parts.u = many.u UNION ALL SELECT {columns} FROM ("
            f"SELECT {columns}, row_number() OVER (PARTITION BY u ORDER BY hash({salt}, u, {listed}), {listed}) AS r "
            f"FROM parts SEMI JOIN many ON parts.u = many.u) WHERE r <= {cap}",
        ),
    ]


def _select(keys: list[str], items: list[str], source: str) -> str:
    return f"SELECT {', '.join([*keys, *items])} FROM {source}"


def _group_by(keys: list[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _chain(steps: list[tuple[str, str]], final: str) -> str:
    named = ",\n".join(f"{name} AS ({sql})" for name, sql in steps)
    return f"WITH {named}\n{final}"
