"""A bounded aggregate as one DuckDB query: a chain of named steps, each on top of the ones before.

`rows` are the rows that count, with each one's contributions as whole numbers. For row-level units they are summed at
once. For person-level units, only people above a cap need any care:

- `people` are those above a cap, `flagged` their rows.
- `picked`: a person's rows are ranked by a salted hash of their content, ties by the content itself, and the
  `max_rows` ranks from a salted start, round the circle, are kept. So each row stays with probability max_rows / n,
  however many rows are alike.
- `few`: a person who still touches more than `max_groups` groups keeps those with the least salted hash.
- The result is the sum over everybody, less the flagged rows, plus what was kept of them: exact, because all of it is
  in whole numbers.

A person's part is a function of the salt and the multiset of that person's rows alone: see proofs/bounding.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.engines.duckdb._expressions import (
    clean,
    condition,
    contribution,
    key_literal,
    person,
    present,
    reference,
    text,
)
from discreet.engines.duckdb._histograms import cells_sql, kept_sql, sums_sql
from discreet.engines.duckdb._relation import Relation
from discreet.query import BoundedAggregate, Count, GroupKey, Histogram, Measure, Sum

__all__ = ["bounded_sql"]

_INT32 = 2**31
_PACKED = 2**39
_MASK = 62
"""Up to this many public keys, the groups of one person fit a bit mask in a signed 64-bit integer."""
_MASKED_GROUPS = "bit_count(bit_or(CAST(1 AS BIGINT) << CAST(enum_code(k0) AS BIGINT)))"


def bounded_sql(request: BoundedAggregate, relation: Relation, salt: bytes) -> str:
    """The query over a relation. It returns the keys, the number of units (0 if not asked for), a sum per measure.

    With histograms it returns what `read_groups` reads.
    """
    values = _values(request.measures) | _cells(request.histograms)
    names = _Names([f"k{i}" for i in range(len(request.keys))], dict(values.values()))
    sums = _sums(request.measures, values)
    by_person = request.unit is not None
    steps = [
        _step("source", _source(request, relation), keep=False),
        _step("rows", _rows(request, values), keep=by_person or bool(request.histograms)),
    ]
    if not by_person:
        units = "count(*) AS units" if request.count_units else "0 AS units"
        summed = [f"{s} AS t{i}" for i, s in enumerate(_wide(sums))]
        final = f"SELECT {_list(names.keys, units, *summed)} FROM rows{_group_by(names.keys)}"
        return _chain(steps, final if not request.histograms else _with_cells(request, names, final, "rows"))
    salts = [int.from_bytes(salt[i : i + 7], "big") for i in (0, 7)]
    parts = [f"{s} AS p{i}" for i, s in enumerate(sums)]
    grouped = f"SELECT {_list(['u'], *names.keys, 'count(*) AS size', *parts)} FROM %s"
    grouped += _group_by(["u", *names.keys])
    split = _is_split(request)
    if split:
        steps.append(_step("each", grouped % "rows"))
    steps += _flagged(request, names, salts, split=split)
    if request.histograms:
        cells = [name for name, value in names.values.items() if isinstance(value, Histogram)]
        steps.append(_step("kept", kept_sql(names.keys, cells, salts[0], request.max_groups)))
    steps += [_step("parts", grouped % "picked"), *_few(request, names, len(parts), salts[0])]
    tallies = ["count(*)", *(f"sum(p{i})" for i in range(len(parts)))]
    if split:
        taken = "each SEMI JOIN people ON each.u = people.u"
        terms = [_term(names, tallies, "each"), _term(names, tallies, taken, sign="-"), _term(names, tallies, "few")]
    else:
        whole, kept = ["0", *sums], ["0", *tallies[1:]]
        terms = [_term(names, whole, "rows"), _term(names, whole, "flagged", sign="-"), _term(names, kept, "few")]
    aliases = ["units", *(f"t{i}" for i in range(len(parts)))]
    totals = [f"CAST(coalesce(sum(t{i}), 0) AS HUGEINT) AS {alias}" for i, alias in enumerate(aliases)]
    joined = " UNION ALL ".join(terms)
    final = f"SELECT {_list(names.keys, *totals)} FROM ({joined}){_group_by(names.keys)}"
    return _chain(steps, final if not request.histograms else _with_cells(request, names, final, "kept"))


def _with_cells(request: BoundedAggregate, names: _Names, final: str, source: str) -> str:
    """The counts of cells; and the sums, unless there is nothing to sum or to discover."""
    cells = [name for name, value in names.values.items() if isinstance(value, Histogram)]
    width = len(request.measures)
    queries = cells_sql(names.keys, cells, source, width)
    if width or request.count_units:
        queries.append(sums_sql(names.keys, "units", [f"t{i}" for i in range(width)], final))
    return " UNION ALL ".join(queries)


@dataclass(frozen=True, slots=True)
class _Names:
    """The columns of `rows` beside the unit: keys, and values with the measure that says what they range over."""

    keys: list[str]
    values: dict[str, Measure | Histogram]

    @property
    def content(self) -> list[str]:
        return [*self.keys, *self.values]


def _source(request: BoundedAggregate, relation: Relation) -> str:
    """Only the columns that the query touches, as the policy's types, and the unit as it is."""
    items = [f"{clean(relation.columns[n], request.columns[n])} AS {reference(n)}" for n in sorted(request.used)]
    if request.unit is not None:
        items.append(f"{person(relation.columns[request.unit])} AS u")
    return f"SELECT {_list(items) or '1 AS one'} FROM {relation.sql}"


def _rows(request: BoundedAggregate, values: Mapping[str, tuple[str, Measure | Histogram]]) -> str:
    items = ["u"] if request.unit is not None else []
    conditions = ["u IS NOT NULL"] if request.unit is not None else []
    conditions += [f"{reference(n)} IS NOT NULL" for n in sorted(request.used) if not request.columns[n].nullable]
    if request.where is not None:
        conditions.append(condition(request.where, request.columns))
    for i, key in enumerate(request.keys):
        value = _key(key, request)
        items.append(f"{value} AS k{i}")
        if _is_enum(key, request):
            conditions.append(f"{value} IS NOT NULL")
        elif key.values is not None:
            conditions.append(f"{value} IN ({_list(map(key_literal, key.values))})")
    for name, measure in values.values():
        if isinstance(measure, Sum | Histogram):
            small = measure.lower >= -_INT32 and measure.upper < _INT32
            value = contribution(measure, request.columns)
            items.append(f"{f'CAST({value} AS INTEGER)' if small else value} AS {name}")
        elif measure.argument is not None:
            items.append(f"CASE WHEN {present(measure.argument, request.columns)} THEN 1 END AS {name}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {_list(items) or '1 AS one'} FROM source{where}"


def _key(key: GroupKey, request: BoundedAggregate) -> str:
    """A key; public strings as an enumeration, which is a byte or two to group and hash, and null for other values."""
    if not _is_enum(key, request):
        return reference(key.name)
    return f"TRY_CAST({reference(key.name)} AS ENUM({_list(text(str(value)) for value in key.values or ())}))"


def _is_enum(key: GroupKey, request: BoundedAggregate) -> bool:
    return key.values is not None and request.columns[key.name].type == "string"


def _values(measures: Sequence[Measure]) -> dict[str, tuple[str, Measure | Histogram]]:
    """A column for each distinct argument; a sum's column also tells where its argument is null."""
    found: dict[str, Measure] = {}
    for measure in sorted(measures, key=lambda m: isinstance(m, Count)):
        if measure.argument is not None:
            found.setdefault(measure.argument.sql(), measure)
    return {sql: (f"v{i}", measure) for i, (sql, measure) in enumerate(found.items())}


def _cells(histograms: Sequence[Histogram]) -> dict[str, tuple[str, Measure | Histogram]]:
    """A column of cells for each histogram, under a name that is no argument's."""
    return {f"cells of {histogram.argument.sql()}": (f"h{i}", histogram) for i, histogram in enumerate(histograms)}


def _sums(measures: Sequence[Measure], values: Mapping[str, tuple[str, Measure | Histogram]]) -> list[str]:
    sums: list[str] = []
    for measure in measures:
        if measure.argument is None:
            sums.append("count(*)")
        elif isinstance(measure, Count):
            sums.append(f"count({values[measure.argument.sql()][0]})")
        else:
            sums.append(f"coalesce(sum({values[measure.argument.sql()][0]}), 0)")
    return sums


def _flagged(request: BoundedAggregate, names: _Names, salts: Sequence[int], *, split: bool) -> list[str]:
    n, groups, source = ("sum(size)", "count(*)", "each") if split else ("count(*)", _MASKED_GROUPS, "rows")
    above = [f"{n} > {request.max_rows}"]
    if request.max_groups is not None:
        above.append(f"{groups} > {request.max_groups}")
    having = f"GROUP BY u HAVING {' OR '.join(above)}"
    start = f"CAST(hash({salts[1]}, u) % CAST({n} AS UBIGINT) AS BIGINT)"
    qualified = _list(f"rows.{name}" for name in ["u", *names.content])
    return [
        _step("people", f"SELECT u, CAST({n} AS BIGINT) AS n, {start} AS start FROM {source} {having}"),
        _step("flagged", f"SELECT {qualified}, n, start FROM rows JOIN people ON rows.u = people.u"),
        _step(
            "ranked",
            f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {_content_order(request, names, salts[0])}) - 1 "
            "AS place FROM flagged",
            keep=False,
        ),
        _step(
            "picked",
            f"SELECT * FROM ranked WHERE (place + n - start) % n < {request.max_rows}",
            keep=bool(request.histograms),
        ),
    ]


def _content_order(request: BoundedAggregate, names: _Names, salt: int) -> str:
    """An order of a person's rows that looks random and depends on content alone: a salted hash, then the content.

    Where the content is at most 39 bits, it goes beneath 24 bits of the hash in one integer, which sorts much faster.
    """
    hashed = f"hash({salt}, {_list(['u'], *names.content)})"
    packed, size = "CAST(0 AS BIGINT)", 1
    for name, key in zip(names.keys, request.keys, strict=True):
        if not _is_enum(key, request):
            return _list([hashed], *names.content)
        count = len(key.values or ())
        packed, size = f"({packed} * {count} + CAST(enum_code({name}) AS BIGINT))", size * count
    for name, measure in names.values.items():
        count = measure.upper - measure.lower + 2
        digit = f"coalesce(CAST({name} AS BIGINT) - {measure.lower - 1}, 0)"
        packed, size = f"({packed} * {count} + {digit})", size * count
    if size > _PACKED:
        return _list([hashed], *names.content)
    return f"(CAST({hashed} >> 40 AS BIGINT) * {_PACKED} + {packed})"


def _is_split(request: BoundedAggregate) -> bool:
    """Whether all rows have to be summed by person and group first, to count units or a person's groups.

    Groups of a few public strings are counted more cheaply, as bits of a mask.
    """
    if request.count_units or request.max_groups is None:
        return request.count_units
    return not (len(request.keys) == 1 and _is_enum(request.keys[0], request) and _fits_mask(request.keys[0]))


def _fits_mask(key: GroupKey) -> bool:
    return len(key.values or ()) <= _MASK


def _few(request: BoundedAggregate, names: _Names, parts: int, salt: int) -> list[str]:
    if request.max_groups is None:
        return [_step("few", "SELECT * FROM parts", keep=False)]
    columns = _list(names.keys, *(f"p{i}" for i in range(parts)))
    order = _list([f"hash({salt}, u, {_list(names.keys)})"], *names.keys)
    return [
        _step("many", f"SELECT u FROM parts GROUP BY u HAVING count(*) > {request.max_groups}"),
        _step(
            "ordered",
            f"SELECT {columns}, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place "
            "FROM parts SEMI JOIN many ON parts.u = many.u",
            keep=False,
        ),
        _step(
            "few",
            f"SELECT {columns} FROM parts ANTI JOIN many ON parts.u = many.u "
            f"UNION ALL SELECT {columns} FROM ordered WHERE place <= {request.max_groups}",
            keep=False,
        ),
    ]


def _term(names: _Names, sums: Sequence[str], source: str, sign: str = "") -> str:
    items = [f"{sign}({s}) AS t{i}" for i, s in enumerate(_wide(sums))]
    return f"SELECT {_list(names.keys, *items)} FROM {source}{_group_by(names.keys)}"


def _wide(sums: Sequence[str]) -> list[str]:
    return [f"CAST({s} AS HUGEINT)" for s in sums]


def _list(first: Iterable[str], *rest: str) -> str:
    return ", ".join([*first, *rest])


def _group_by(keys: Sequence[str]) -> str:
    return f" GROUP BY {_list(keys)}" if keys else ""


def _step(name: str, sql: str, *, keep: bool = True) -> str:
    return f"{name} AS {'' if keep else 'NOT '}MATERIALIZED ({sql})"


def _chain(steps: Sequence[str], final: str) -> str:
    return "WITH " + ",\n".join(steps) + "\n" + final
