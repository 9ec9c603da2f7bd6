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
- `kept`: where distinct values or cells have to be counted, which cannot be subtracted, every row that counts.

A person's part is a function of the salt and the multiset of that person's rows alone: see proofs/bounding.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.engines.duckdb._expressions import (
    condition,
    key_literal,
    text,
    value_of,
)
from discreet.engines.duckdb._histograms import cells_sql, sums_sql
from discreet.engines.duckdb._parts import Part, cell_names, distinct_sql, parts_of, sum_sql
from discreet.query import BoundedAggregate, Distinct, GroupKey, People

__all__ = ["bounded_sql"]

_PACKED = 2**39
_MASK = 62
"""Up to this many public keys, the groups of one person fit a bit mask in a signed 64-bit integer."""
_SEEN = ("cell", "value", "when")
_MASKED_GROUPS = "bit_count(bit_or(CAST(1 AS BIGINT) << CAST(enum_code(k0) AS BIGINT)))"


def bounded_sql(request: BoundedAggregate, source: str, salt: bytes) -> str:
    """The query over the rows of `source`: the keys, the number of units (0 if not asked for), a sum per measure.

    With histograms it returns what `read_groups` reads.
    """
    values = parts_of(request.measures, request.columns, request.histograms)
    names = _Names([f"k{i}" for i in range(len(request.keys))], values)
    by_person = request.unit is not None
    apart = by_person and any(isinstance(measure, Distinct) for measure in request.measures)
    sums = ["0" if apart and isinstance(m, Distinct) else sum_sql(m, values) for m in request.measures]
    steps = [
        _step("source", source, keep=False),
        _step("rows", _rows(request, values), keep=by_person or bool(request.histograms)),
    ]
    if not by_person:
        units = f"{'count(*)' if request.count_units else '0'} AS units"
        summed = [f"{s} AS t{i}" for i, s in enumerate(_wide(sums))]
        final = f"SELECT {_list(names.keys, units, *summed)} FROM rows{_group_by(names.keys)}"
        return _chain(steps, _with_cells(request, names, final, "rows"))
    salts = [int.from_bytes(salt[i : i + 7], "big") for i in (0, 7)]
    parts = [f"{s} AS p{i}" for i, s in enumerate(sums)]
    grouped = f"SELECT {_list(['u'], *names.keys, 'count(*) AS size', *parts)} FROM %s"
    grouped += _group_by(["u", *names.keys])
    split = _is_split(request)
    if split:
        steps.append(_step("each", grouped % "rows"))
    steps += _flagged(request, names, salts, split=split)
    steps += [_step("parts", grouped % "picked"), *_few(request, names, len(parts), salts[0])]
    if _is_kept(request):
        steps.append(_step("kept", _kept(request, names), keep=bool(request.histograms)))
    tallies = ["count(*)", *(f"sum(p{i})" for i in range(len(parts)))]
    if split:
        taken = "each SEMI JOIN people ON each.u = people.u"
        terms = [_term(names, tallies, "each"), _term(names, tallies, taken, sign="-"), _term(names, tallies, "few")]
    else:
        whole, kept = ["0", *sums], ["0", *tallies[1:]]
        terms = [_term(names, whole, "rows"), _term(names, whole, "flagged", sign="-"), _term(names, kept, "few")]
    if apart:
        counts = [distinct_sql(m, values) if isinstance(m, Distinct) else "0" for m in request.measures]
        terms.append(_term(names, ["0", *counts], "kept"))
    aliases = ["units", *(f"t{i}" for i in range(len(parts)))]
    totals = [f"CAST(coalesce(sum(t{i}), 0) AS HUGEINT) AS {alias}" for i, alias in enumerate(aliases)]
    joined = " UNION ALL ".join(terms)
    final = f"SELECT {_list(names.keys, *totals)} FROM ({joined}){_group_by(names.keys)}"
    return _chain(steps, _with_cells(request, names, final, "kept"))


def _with_cells(request: BoundedAggregate, names: _Names, final: str, source: str) -> str:
    """The sums, unless there is nothing to sum or to discover, and the counts of cells if there are histograms."""
    if not request.histograms:
        return final
    width = len(request.measures)
    queries = cells_sql(names.keys, cell_names(request.histograms, names.values), source, width)
    if width or request.count_units:
        queries.append(sums_sql(names.keys, "units", [f"t{i}" for i in range(width)], final))
    return " UNION ALL ".join(queries)


def _is_kept(request: BoundedAggregate) -> bool:
    return bool(request.histograms) or any(isinstance(measure, Distinct) for measure in request.measures)


@dataclass(frozen=True, slots=True)
class _Names:
    """The columns of `rows` beside the unit: keys, and what the row has for the measures."""

    keys: list[str]
    values: Sequence[Part]

    @property
    def content(self) -> list[str]:
        return [*self.keys, *(part.name for part in self.values)]


def _rows(request: BoundedAggregate, values: Sequence[Part]) -> str:
    items = ["u"] if request.unit is not None else []
    conditions: list[str] = []
    if request.where is not None:
        conditions.append(condition(request.where, request.columns))
    for i, key in enumerate(request.keys):
        value = _key(key, request)
        items.append(f"{value} AS k{i}")
        if _is_enum(key):
            conditions.append(f"{value} IS NOT NULL")
        elif key.values is not None:
            known = [key_literal(each) for each in key.values if each is not None]
            also = f" OR {value} IS NULL" if None in key.values else ""
            conditions.append(f"({value} IN ({_list(known)}){also})" if known else f"{value} IS NULL")
    items += [f"{part.sql} AS {part.name}" for part in values]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {_list(items) or '1 AS one'} FROM source{where}"


def _key(key: GroupKey, request: BoundedAggregate) -> str:
    """A key; public strings as an enumeration, which is a byte or two to group and hash, and null for other values."""
    value = value_of(key.expression, request.columns, key.type)
    if not _is_enum(key):
        return value
    return f"TRY_CAST({value} AS ENUM({_list(text(str(value)) for value in key.values or ())}))"


def _is_enum(key: GroupKey) -> bool:
    return key.values is not None and key.type == "string" and None not in key.values


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
            keep=_is_kept(request),
        ),
    ]


def _content_order(request: BoundedAggregate, names: _Names, salt: int) -> str:
    """An order of a person's rows that looks random and depends on content alone: a salted hash, then the content.

    Where the content is at most 39 bits, it goes beneath 24 bits of the hash in one integer, which sorts much faster.
    """
    hashed = f"hash({salt}, {_list(['u'], *names.content)})"
    packed, size = "CAST(0 AS BIGINT)", 1
    for name, key in zip(names.keys, request.keys, strict=True):
        if not _is_enum(key):
            return _list([hashed], *names.content)
        count = len(key.values or ())
        packed, size = f"({packed} * {count} + CAST(enum_code({name}) AS BIGINT))", size * count
    for part in names.values:
        if part.limits is None:
            return _list([hashed], *names.content)
        lower, upper = part.limits
        count = upper - lower + 2
        digit = f"coalesce(CAST({part.name} AS BIGINT) - {lower - 1}, 0)"
        packed, size = f"({packed} * {count} + {digit})", size * count
    if size > _PACKED:
        return _list([hashed], *names.content)
    return f"(CAST({hashed} >> 40 AS BIGINT) * {_PACKED} + {packed})"


def _is_split(request: BoundedAggregate) -> bool:
    """Whether all rows have to be summed by person and group first, to count units or a person's groups.

    Groups of a few public strings are counted more cheaply, as bits of a mask.
    """
    people = request.count_units or any(isinstance(measure, People) for measure in request.measures)
    if people or request.max_groups is None:
        return people
    return not (len(request.keys) == 1 and _is_enum(request.keys[0]) and _fits_mask(request.keys[0]))


def _fits_mask(key: GroupKey) -> bool:
    return len(key.values or ()) <= _MASK


def _few(request: BoundedAggregate, names: _Names, parts: int, salt: int) -> list[str]:
    if request.max_groups is None:
        return [_step("few", "SELECT * FROM parts", keep=False)]
    columns = _list(["u"], *names.keys, *(f"p{i}" for i in range(parts)))
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
            keep=_is_kept(request),
        ),
    ]


def _kept(request: BoundedAggregate, names: _Names) -> str:
    """Every row that counts, with what distinct values and cells are counted by."""
    columns = _list(names.keys, *(part.name for part in names.values if part.meaning[0] in _SEEN)) or "1 AS one"
    whole = f"SELECT {columns} FROM rows ANTI JOIN people ON rows.u = people.u"
    if request.max_groups is None:
        return f"{whole} UNION ALL SELECT {columns} FROM picked"
    same = " AND ".join(f"picked.{name} IS NOT DISTINCT FROM few.{name}" for name in ["u", *names.keys])
    return f"{whole} UNION ALL SELECT {columns} FROM picked SEMI JOIN few ON {same}"


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
