"""A bounded aggregate as one DuckDB query: a chain of named steps, each on top of the ones before.

`rows` are the rows that count, with each one's contributions as whole numbers. For row-level units they are summed at
once. For person-level units, only people above a cap need any care:

- `people` are those above a cap, `flagged` their rows.
- `picked`: a person's rows are ranked by their content, and `max_rows` ranks at even steps from a salted start are
  kept. So each row stays with probability max_rows / n, however many rows are alike.
- `few`: a person who still touches more than `max_groups` groups keeps as many, chosen in the same way.
- The result is the sum over everybody, less the flagged rows, plus what was kept of them: exact, because all of it is
  in whole numbers.
- `kept`: where distinct values or cells have to be counted, which cannot be subtracted, every row that counts.

A person's part is a function of the salt and the multiset of that person's rows alone: see proofs/bounding.md.
Where the rows of a table fit, `_packed` keeps the same ones without any of these steps.
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

__all__ = ["Uncapped", "bounded_sql", "salts", "uncapped"]

_INT22 = 2**22
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
        if _is_filtered_last(request):
            final += _having(request)
        return _chain(steps, _with_cells(request, names, final, "rows"))
    parts = [f"{s} AS p{i}" for i, s in enumerate(sums)]
    grouped = f"SELECT {_list(['u'], *names.keys, 'count(*) AS size', *parts)} FROM %s"
    grouped += _group_by(["u", *names.keys])
    split = _is_split(request)
    if split:
        steps.append(_step("each", grouped % "rows"))
    steps += _flagged(request, names, salts(salt)[1], split=split)
    steps += [_step("parts", grouped % "picked"), *_few(request, names, len(parts), salts(salt)[0])]
    if _is_kept(request):
        steps.append(_step("kept", _kept(request, names), keep=bool(request.histograms)))
    tallies = ["count(*)" if request.count_units else "0", *(f"sum(p{i})" for i in range(len(parts)))]
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


def salts(salt: bytes) -> tuple[int, int]:
    """A secret number for the cap on groups, and one for that on rows."""
    first, second = (int.from_bytes(salt[i : i + 7], "big") for i in (0, 7))
    return first, second


@dataclass(frozen=True, slots=True)
class Uncapped:
    """The rows that count before any cap: `chain` names `source` and `rows`, which has u, the keys and the values.

    `sums` are the measures over the values; `enums` says which keys are enumerations.
    """

    chain: str
    keys: list[str]
    enums: list[bool]
    values: list[Part]
    sums: list[str]


def uncapped(request: BoundedAggregate, source: str) -> Uncapped:
    """The first steps, for a plan that applies the caps elsewhere."""
    values = parts_of(request.measures, request.columns, request.histograms)
    steps = [_step("source", source, keep=False), _step("rows", _rows(request, values), keep=False)]
    return Uncapped(
        "WITH " + ",\n".join(steps) + "\n",
        [f"k{i}" for i in range(len(request.keys))],
        [_is_enum(key) for key in request.keys],
        values,
        _wide([sum_sql(measure, values) for measure in request.measures]),
    )


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
        if _is_enum(key) and _is_filtered_last(request):
            items.append(f"{value_of(key.expression, request.columns, key.type)} AS k{i}")
            continue
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


def _is_filtered_last(request: BoundedAggregate) -> bool:
    """Whether rows of no public string are dropped as a group: groups of the texts as they are stored are cheaper."""
    return request.unit is None and not request.histograms


def _having(request: BoundedAggregate) -> str:
    """Which groups are of public strings; with an aggregate beside them, or each row would be asked instead."""
    enums = [(i, key) for i, key in enumerate(request.keys) if _is_enum(key)]
    known = [f"k{i} IN ({_list(text(str(value)) for value in key.values or ())})" for i, key in enums]
    return f" HAVING count(*) = 0 OR ({' AND '.join(known)})" if known else ""


def _key(key: GroupKey, request: BoundedAggregate) -> str:
    """A key; public strings as an enumeration, which is a byte or two to group and hash, and null for other values."""
    value = value_of(key.expression, request.columns, key.type)
    if not _is_enum(key):
        return value
    return f"TRY_CAST({value} AS ENUM({_list(text(str(value)) for value in key.values or ())}))"


def _is_enum(key: GroupKey) -> bool:
    return key.values is not None and key.type == "string" and None not in key.values


def _flagged(request: BoundedAggregate, names: _Names, salt: int, *, split: bool) -> list[str]:
    n, groups, source = ("sum(size)", "count(*)", "each") if split else ("count(*)", _MASKED_GROUPS, "rows")
    above = [f"{n} > {request.max_rows}"]
    if request.max_groups is not None:
        above.append(f"{groups} > {request.max_groups}")
    having = f"GROUP BY u HAVING {' OR '.join(above)}"
    start = f"CAST(hash({salt}, u) % CAST({n} AS UBIGINT) AS BIGINT)"
    qualified = _list(f"rows.{name}" for name in ["u", *names.content])
    return [
        _step("people", f"SELECT u, CAST({n} AS BIGINT) AS n, {start} AS start FROM {source} {having}"),
        _step("flagged", f"SELECT {qualified}, n, start FROM rows JOIN people ON rows.u = people.u"),
        _step("ranked", f"SELECT *, {_place(names.content)} AS place FROM flagged", keep=False),
        _step("picked", f"SELECT * FROM ranked WHERE {_even(request.max_rows)}", keep=_is_kept(request)),
    ]


def _place(content: Sequence[str]) -> str:
    """The rank of an item among its person's, from 0, in the order of its content."""
    order = f" ORDER BY {_list(f'{name} NULLS FIRST' for name in content)}" if content else ""
    return f"row_number() OVER (PARTITION BY u{order}) - 1"


def _even(limit: int) -> str:
    """Whether the rank `place` of `n` is floor((j * n + start) / limit) for some j below the limit; all are if few."""
    product = f"(start - place * {limit})" if limit < _INT22 else f"(start - CAST(place AS HUGEINT) * {limit})"
    return f"({product} % n + n) % n < {limit}"


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
    above = f"HAVING count(*) > {request.max_groups}"
    start = f"CAST(hash({salt}, u) % CAST(count(*) AS UBIGINT) AS BIGINT)"
    return [
        _step("many", f"SELECT u, count(*) AS n, {start} AS start FROM parts GROUP BY u {above}"),
        _step(
            "ordered",
            f"SELECT {columns}, n, start, {_place(names.keys)} AS place FROM parts JOIN many USING (u)",
            keep=False,
        ),
        _step(
            "few",
            f"SELECT {columns} FROM parts ANTI JOIN many ON parts.u = many.u "
            f"UNION ALL SELECT {columns} FROM ordered WHERE {_even(request.max_groups)}",
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
