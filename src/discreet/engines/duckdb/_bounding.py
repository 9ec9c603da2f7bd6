"""A bounded aggregate as one DuckDB query: a chain of named steps, each on top of the ones before.

`rows` are the rows that count, with each one's contributions as whole numbers. For row-level units they are summed at
once. For person-level units, only people above a cap need any care:

- `people` are those above a cap, `flagged` their rows.
- `picked`: a person's rows are ranked by their content, and `max_rows` ranks at even steps from a salted start are
  kept. So each row stays with probability max_rows / n, however many rows are alike.
- `few`: a person who still touches more than `max_groups` groups keeps as many, chosen in the same way.
- The result is the sum over everybody, less the flagged rows, plus what was kept of them: exact, because all of it is
  in whole numbers.

A person's part is a function of the salt and the multiset of that person's rows alone: see proofs/bounding.md.
Where the rows fit, `_packed` keeps the same ones without any of these steps.
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
from discreet.engines.duckdb._relation import Relation
from discreet.query import BoundedAggregate, Count, GroupKey, Measure, Sum

__all__ = ["Uncapped", "bounded_sql", "salts", "uncapped"]

_INT32 = 2**31
_INT22 = 2**22
_MASK = 62
"""Up to this many public keys, the groups of one person fit a bit mask in a signed 64-bit integer."""
_MASKED_GROUPS = "bit_count(bit_or(CAST(1 AS BIGINT) << CAST(enum_code(k0) AS BIGINT)))"


def bounded_sql(request: BoundedAggregate, relation: Relation, salt: bytes) -> str:
    """The query over a relation. It returns the keys, the number of units (0 if not asked for), a sum per measure."""
    values = _values(request.measures)
    names = _Names([f"k{i}" for i in range(len(request.keys))], dict(values.values()))
    sums = _sums(request.measures, values)
    by_person = request.unit is not None
    steps = [
        _step("source", _source(request, relation), keep=False),
        _step("rows", _rows(request, values), keep=by_person),
    ]
    if not by_person:
        units = "count(*)" if request.count_units else "0"
        return _chain(steps, f"SELECT {_list(names.keys, units, *_wide(sums))} FROM rows{_group_by(names.keys)}")
    parts = [f"{s} AS p{i}" for i, s in enumerate(sums)]
    grouped = f"SELECT {_list(['u'], *names.keys, 'count(*) AS size', *parts)} FROM %s"
    grouped += _group_by(["u", *names.keys])
    split = _is_split(request)
    if split:
        steps.append(_step("each", grouped % "rows"))
    steps += _flagged(request, names, salts(salt)[1], split=split)
    steps += [_step("parts", grouped % "picked"), *_few(request, names, len(parts), salts(salt)[0])]
    tallies = ["count(*)" if request.count_units else "0", *(f"sum(p{i})" for i in range(len(parts)))]
    if split:
        taken = "each SEMI JOIN people ON each.u = people.u"
        terms = [_term(names, tallies, "each"), _term(names, tallies, taken, sign="-"), _term(names, tallies, "few")]
    else:
        whole, kept = ["0", *sums], ["0", *tallies[1:]]
        terms = [_term(names, whole, "rows"), _term(names, whole, "flagged", sign="-"), _term(names, kept, "few")]
    totals = [f"CAST(coalesce(sum(t{i}), 0) AS HUGEINT)" for i in range(len(parts) + 1)]
    joined = " UNION ALL ".join(terms)
    return _chain(steps, f"SELECT {_list(names.keys, *totals)} FROM ({joined}){_group_by(names.keys)}")


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
    values: dict[str, Measure]
    sums: list[str]


def uncapped(request: BoundedAggregate, relation: Relation) -> Uncapped:
    """The first steps, for a plan that applies the caps elsewhere."""
    values = _values(request.measures)
    steps = [
        _step("source", _source(request, relation), keep=False),
        _step("rows", _rows(request, values), keep=False),
    ]
    return Uncapped(
        "WITH " + ",\n".join(steps) + "\n",
        [f"k{i}" for i in range(len(request.keys))],
        [_is_enum(key, request) for key in request.keys],
        dict(values.values()),
        _wide(_sums(request.measures, values)),
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """The columns of `rows` beside the unit: keys, and values with the measure that says what they range over."""

    keys: list[str]
    values: dict[str, Measure]

    @property
    def content(self) -> list[str]:
        return [*self.keys, *self.values]


def _source(request: BoundedAggregate, relation: Relation) -> str:
    """Only the columns that the query touches, as the policy's types, and the unit as it is."""
    items = [f"{clean(relation.columns[n], request.columns[n])} AS {reference(n)}" for n in sorted(request.used)]
    if request.unit is not None:
        items.append(f"{person(relation.columns[request.unit])} AS u")
    return f"SELECT {_list(items) or '1 AS one'} FROM {relation.sql}"


def _rows(request: BoundedAggregate, values: Mapping[str, tuple[str, Measure]]) -> str:
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
        if isinstance(measure, Sum):
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


def _values(measures: Sequence[Measure]) -> dict[str, tuple[str, Measure]]:
    """A column for each distinct argument; a sum's column also tells where its argument is null."""
    found: dict[str, Measure] = {}
    for measure in sorted(measures, key=lambda m: isinstance(m, Count)):
        if measure.argument is not None:
            found.setdefault(measure.argument.sql(), measure)
    return {sql: (f"v{i}", measure) for i, (sql, measure) in enumerate(found.items())}


def _sums(measures: Sequence[Measure], values: Mapping[str, tuple[str, Measure]]) -> list[str]:
    sums: list[str] = []
    for measure in measures:
        if measure.argument is None:
            sums.append("count(*)")
        elif isinstance(measure, Count):
            sums.append(f"count({values[measure.argument.sql()][0]})")
        else:
            sums.append(f"coalesce(sum({values[measure.argument.sql()][0]}), 0)")
    return sums


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
        _step("picked", f"SELECT * FROM ranked WHERE {_even(request.max_rows)}", keep=False),
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
    if request.count_units or request.max_groups is None:
        return request.count_units
    return not (len(request.keys) == 1 and _is_enum(request.keys[0], request) and _fits_mask(request.keys[0]))


def _fits_mask(key: GroupKey) -> bool:
    return len(key.values or ()) <= _MASK


def _few(request: BoundedAggregate, names: _Names, parts: int, salt: int) -> list[str]:
    if request.max_groups is None:
        return [_step("few", "SELECT * FROM parts", keep=False)]
    columns = _list(names.keys, *(f"p{i}" for i in range(parts)))
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
