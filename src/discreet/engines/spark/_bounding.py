"""A bounded aggregate as one query whose rows cross the network once, whatever the caps.

`rows` are the rows that count, each as its unit, its keys and its contributions. For row-level units they are summed
where they lie, and partial sums alone are sent. For person-level units they are sent to where their person's rows meet;
all further steps are windows over one person's rows, in one order, so that no row moves or is sorted by people again:

- `placed` and `picked`: a person's rows are ranked by their content, and `max_rows` ranks at even steps from a salted
  start are kept. So each row stays with probability max_rows / n, however many rows are alike.
- `grouped`, `counted` and `few`: a person who still touches more than `max_groups` groups keeps as many, chosen in the
  same way among the groups by their keys.
- `marked`: which of a person's rows in a group is the first, and the first that a condition holds for, to count people.
- The sums over what is left are partial where it lies; one row for each group and task is sent.

A step that no person can need by the policy alone is left out. A person's part is a function of the salt and the
multiset of that person's rows: see proofs/bounding.md, of which this is the definition itself, without subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.engines._records import record_items
from discreet.engines.spark._dialect import DIALECT
from discreet.engines.spark._marginals import NUMBERS, key_sql
from discreet.engines.sql import Parts, cell_names, distinct_value, salts, uncapped, when_name
from discreet.query import BoundedAggregate, Computed, Distinct, Filtered, Grouped, People, RecordRows, public_groups

__all__ = ["bounded_sql", "keys_sql", "records_query", "values_sql"]

_INT22 = 2**22
_EVERYTHING = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def bounded_sql(request: BoundedAggregate, source: str, salt: bytes) -> str:
    """The query over the rows of `source`: the keys, the number of units (0 if not asked for), a sum per measure.

    With histograms it has `h`, `cell` and `n` instead of the units, as `read_groups` reads them.
    """
    query, chain, counted = _chained(request, source, salt)
    return chain + query.final(counted)


def keys_sql(request: BoundedAggregate, source: str, salt: bytes) -> str:
    """The query for the keys of each row that counts, after the caps: texts, or whole numbers."""
    query, chain, counted = _chained(request, source, salt)
    items = [key_sql(name, key.type) for name, key in zip(query.keys, request.keys, strict=True)]
    return f"{chain}SELECT {', '.join(items) or '1 AS one'} FROM {counted}"


def records_query(request: RecordRows, source: str, salt: bytes) -> str:
    """The query for the person, the keys and the numbers of each row that counts, after the caps."""
    _, chain, counted = _chained(request.bounded, source, salt)
    return f"{chain}SELECT {', '.join(record_items(request, NUMBERS, 'BIGINT'))} FROM {counted}"


def records_chain(request: BoundedAggregate, source: str, salt: bytes) -> tuple[str, str]:
    """A chain of steps to the rows that count, after the caps, and the name of the last."""
    _, chain, counted = _chained(request, source, salt)
    return chain, counted


def values_sql(request: BoundedAggregate, source: str, salt: bytes, place: int) -> str:
    """The query for the distinct values that the measure at a place counts: the keys, and each value once."""
    query, chain, counted = _chained(request, source, salt)
    measure = request.measures[place]
    assert isinstance(measure, Distinct)
    return chain + query.distinct(measure, counted)


def _chained(request: BoundedAggregate, source: str, salt: bytes) -> tuple[_Query, str, str]:
    """The query, its steps, and the name of the last."""
    rows = uncapped(DIALECT, request, source)
    query = _Query(request, rows.keys, rows.values, rows.sums)
    if request.unit is None or query.is_one_row:
        return query, rows.chain, "rows"
    steps = [*query.rows_kept(salts(salt)[1]), *query.groups_kept(salts(salt)[0]), *query.marks()]
    chain = rows.chain.rstrip() + "".join(f",\n{name} AS ({sql})" for name, sql in steps) + "\n"
    return query, chain, steps[-1][0]


@dataclass(frozen=True, slots=True)
class _Query:
    request: BoundedAggregate
    keys: list[str]
    values: Parts
    sums: list[str]

    @property
    def is_one_row(self) -> bool:
        """Whether nobody has more than one row, as after grouping by the person alone."""
        relation = self.request.relation
        while isinstance(relation, Filtered | Computed):
            relation = relation.input
        return isinstance(relation, Grouped) and not relation.keys and self.request.unit is not None

    @property
    def _content(self) -> list[str]:
        return [*self.keys, *(part.name for part in self.values)]

    @property
    def _columns(self) -> str:
        return ", ".join(["u", *self._content])

    def rows_kept(self, salt: int) -> list[tuple[str, str]]:
        limit, over = self.request.max_rows, _over(["u"], self._content)
        placed = (
            f"SELECT *, row_number() OVER ({over}) - 1L AS place, count(*) OVER ({over} {_EVERYTHING}) AS n FROM rows"
        )
        picked = f"SELECT {self._columns} FROM placed WHERE n <= {limit} OR {_even('place', 'n', limit, salt)}"
        return [("placed", placed), ("picked", picked)]

    def groups_kept(self, salt: int) -> list[tuple[str, str]]:
        limit, public = self.request.max_groups, public_groups(self.request.keys)
        if limit is None or (public is not None and public <= limit):
            return []
        over = _over(["u"], self.keys)
        grouped = f"SELECT *, dense_rank() OVER ({over}) - 1L AS place FROM picked"
        counted = f"SELECT *, max(place) OVER ({over} {_EVERYTHING}) + 1L AS m FROM grouped"
        few = f"SELECT {self._columns} FROM counted WHERE m <= {limit} OR {_even('place', 'm', limit, salt)}"
        return [("grouped", grouped), ("counted", counted), ("few", few)]

    def marks(self) -> list[tuple[str, str]]:
        """A column for each way to count people, 1 on the first row of each in each group."""
        conditions = list(dict.fromkeys(self._marked(m) for m in self.request.measures if isinstance(m, People)))
        if self.request.count_units and "one" not in conditions:
            conditions.append("one")
        if not conditions:
            return []
        limit, public = self.request.max_groups, public_groups(self.request.keys)
        before = "picked" if limit is None or (public is not None and public <= limit) else "few"
        over = _over(["u", *self.keys], [part.name for part in self.values])
        seen = f"OVER ({over} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        items = [
            f"CASE WHEN {'' if c == 'one' else f'{c} IS NOT NULL AND '}count({'*' if c == 'one' else c}) {seen} = 1 "
            f"THEN 1 END AS first_{c}"
            for c in conditions
        ]
        return [("marked", f"SELECT *, {', '.join(items)} FROM {before}")]

    def final(self, source: str) -> str:
        request, columns = self.request, cell_names(self.request.histograms, self.values)
        sums = [
            self._people(self._marked(measure)) if isinstance(measure, People) else total
            for measure, total in zip(request.measures, self.sums, strict=True)
        ]
        units = self._people("one") if request.count_units else "0"
        if not request.histograms:
            items = [*map(self._key, range(len(self.keys))), f"{units} AS units", *_named(sums)]
            by = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
            most = "" if request.most_groups is None else f" LIMIT {request.most_groups}"
            return f"SELECT {', '.join(items)} FROM {source}{by}{most}"
        cells = [f"named_struct('h', {i}, 'cell', CAST({cell} AS INT))" for i, cell in enumerate(columns)]
        if request.measures or request.count_units:
            cells.append("named_struct('h', -1, 'cell', 0)")
        each = f"SELECT *, inline(array({', '.join(cells)})) FROM {source}"
        n = f"CASE WHEN h < 0 THEN {units} ELSE count(*) END AS n"
        items = [*map(self._key, range(len(self.keys))), "h", "cell", n, *_named(sums)]
        by = ", ".join([*self.keys, "h", "cell"])
        return f"SELECT {', '.join(items)} FROM ({each}) WHERE cell IS NOT NULL GROUP BY {by}"

    def distinct(self, measure: Distinct, source: str) -> str:
        value, present = distinct_value(measure, self.values)
        items = ", ".join([*map(self._key, range(len(self.keys))), value])
        return f"SELECT {items} FROM {source} WHERE {present} GROUP BY {', '.join([*self.keys, value])}"

    def _people(self, condition: str) -> str:
        """How many people there are, of whom each has one first row."""
        if self.request.unit is None or self.is_one_row:
            return "count(*)" if condition == "one" else f"count({condition})"
        return f"count(first_{condition})"

    def _marked(self, measure: People) -> str:
        return "one" if measure.when is None else when_name(measure.when, self.values)

    def _key(self, i: int) -> str:
        """A key as a value that needs no calendar to be read: days or microseconds since 1970."""
        match self.request.keys[i].type:
            case "date":
                return f"unix_date(k{i}) AS k{i}"
            case "timestamp":
                return f"unix_micros(CAST(k{i} AS TIMESTAMP_LTZ)) AS k{i}"
            case _:
                return f"k{i}"


def _over(partition: Sequence[str], content: Sequence[str]) -> str:
    """One order for all windows: by the unit, then by content; a unit alone is its own content."""
    order = ", ".join(f"{name} NULLS FIRST" for name in content or ["u"])
    return f"PARTITION BY {', '.join(partition)} ORDER BY {order}"


def _even(place: str, count: str, limit: int, salt: int) -> str:
    """Whether a rank of `count` is floor((j * count + start) / limit) for some j below the limit."""
    if limit >= _INT22:
        place = f"CAST({place} AS DECIMAL(38,0))"
    return f"pmod({DIALECT.start(salt, count)} - {place} * {limit}, {count}) < {limit}"


def _named(sums: Sequence[str]) -> list[str]:
    return [f"{sql} AS t{i}" for i, sql in enumerate(sums)]
