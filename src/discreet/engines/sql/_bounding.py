"""A bounded aggregate as one query: a chain of named steps, each on top of the ones before.

`rows` are the rows that count, with each one's contributions as whole numbers. For row-level units they are summed at
once. For person-level units, only people above a cap need any care:

- `people` are those above a cap, `flagged` their rows.
- `picked`: a person's rows are ranked by their content, and `max_rows` ranks at even steps from a salted start are
  kept. So each row stays with probability max_rows / n, however many rows are alike.
- `few`: a person who still touches more than `max_groups` groups keeps as many, chosen in the same way.
- The result is the sum over everybody, less the flagged rows, plus what was kept of them: exact, because all of it is
  in whole numbers. Or, where an engine finds that cheaper, the sum over the others, plus what was kept.
- `kept`: where distinct values or cells have to be counted, which cannot be subtracted, every row that counts.

A person's part is a function of the salt and the multiset of that person's rows alone: see proofs/bounding.md.
DuckDB keeps the same ones without any of these steps where the rows of a table fit: see its `_packed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.engines.sql._dialect import Dialect
from discreet.engines.sql._expressions import Expressions
from discreet.engines.sql._histograms import cells_sql, sums_sql
from discreet.engines.sql._parts import Parts, cell_names, distinct_sql, distinct_value, parts_of, sum_sql
from discreet.query import HELD_TEXT, BoundedAggregate, Distinct, GroupKey, People

__all__ = ["Uncapped", "bounded_sql", "counted_rows_sql", "records_sql", "salts", "uncapped", "values_sql"]

_INT22 = 2**22
_MASK = 62
"""Up to this many public keys, the groups of one person fit a bit mask in a signed 64-bit integer."""
_SEEN = ("cell", "value", "when")


def bounded_sql(dialect: Dialect, request: BoundedAggregate, source: str, salt: bytes) -> str:
    """The query over the rows of `source`: the keys, the number of units (0 if not asked for), a sum per measure.

    With histograms it returns what `read_groups` reads.
    """
    return _Query.from_request(dialect, request).sql(source, salt)


def counted_rows_sql(dialect: Dialect, request: BoundedAggregate, source: str, salt: bytes) -> tuple[str, str]:
    """A chain of steps to the rows that count, after the caps on them, and the name of the last, which has the keys.

    The request has nothing to sum and no cap on groups. Every row has public keys.
    """
    return replace(_Query.from_request(dialect, request), by_row=True).counted_rows(source, salt)


def records_sql(dialect: Dialect, request: BoundedAggregate, source: str, salt: bytes) -> tuple[str, str]:
    """As `counted_rows_sql`, with all that a row has: the person u, the keys, and the number of each sum."""
    return replace(_Query.from_request(dialect, request), by_row=True, as_records=True).counted_rows(source, salt)


def values_sql(dialect: Dialect, request: BoundedAggregate, source: str, salt: bytes, place: int) -> str:
    """The query for the distinct values that the measure at a place counts: the keys, and each value once."""
    measure = request.measures[place]
    assert isinstance(measure, Distinct)
    return _Query.from_request(dialect, request).values_sql(source, salt, measure)


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
    values: Parts
    sums: list[str]


def uncapped(dialect: Dialect, request: BoundedAggregate, source: str) -> Uncapped:
    """The first steps, for a plan that applies the caps elsewhere."""
    query = _Query.from_request(dialect, request)
    steps = [dialect.step("source", source, keep=False), dialect.step("rows", query.rows(), keep=False)]
    return Uncapped(
        "WITH " + ",\n".join(steps) + "\n",
        query.keys,
        [is_enum(key) for key in request.keys],
        query.values,
        query.wide([sum_sql(measure, query.values, dialect) for measure in request.measures]),
    )


def is_enum(key: GroupKey) -> bool:
    """Whether a key is one of public texts, of which null is none."""
    return key.values is not None and key.type == "string" and None not in key.values


@dataclass(frozen=True, slots=True)
class _Query:
    """A request, and the columns of `rows` beside the unit: keys, and what the row has for the measures."""

    dialect: Dialect
    request: BoundedAggregate
    write: Expressions
    keys: list[str]
    values: Parts
    by_row: bool = False
    """Whether rows are dropped even where it is cheaper to drop groups."""
    as_records: bool = False
    """Whether rows are asked for as they are, with their person and numbers."""

    @classmethod
    def from_request(cls, dialect: Dialect, request: BoundedAggregate) -> _Query:
        write = Expressions(dialect, request.columns)
        values = parts_of(request.measures, write, request.histograms)
        return cls(dialect, request, write, [f"k{i}" for i in range(len(request.keys))], values)

    def sql(self, source: str, salt: bytes) -> str:
        request, steps = self.request, self._first_steps(source)
        if request.unit is not None:
            further, final = self._by_person(salts(salt))
            return _chain([*steps, *further], self._with_cells(final, "kept"))
        sums = self.wide([sum_sql(measure, self.values, self.dialect) for measure in request.measures])
        units = f"{'count(*)' if request.count_units else '0'} AS units"
        summed = [f"{s} AS t{i}" for i, s in enumerate(sums)]
        final = f"SELECT {_list(self.keys, units, *summed)} FROM rows{_group_by(self.keys)}"
        if self._is_filtered_last:
            final += self._having()
        if request.most_groups is not None:
            final += f" LIMIT {request.most_groups}"
        return _chain(steps, self._with_cells(final, "rows"))

    def counted_rows(self, source: str, salt: bytes) -> tuple[str, str]:
        """The steps to the rows that count, and the name of the last."""
        steps = self._first_steps(source)
        if self.request.unit is None:
            return _chain(steps, ""), "rows"
        steps += self._flagged(salts(salt)[1], split=False)
        return _chain([*steps, self._step("kept", self._counted(), keep=False)], ""), "kept"

    def values_sql(self, source: str, salt: bytes, measure: Distinct) -> str:
        """The keys and the value of each distinct value that a measure counts, once."""
        steps, counted = self._first_steps(source), "rows"
        if self.request.unit is not None:
            further, _ = self._by_person(salts(salt))
            steps, counted = [*steps, *further], "kept"
        value, present = distinct_value(measure, self.values)
        columns = _list(self.keys, value)
        return _chain(steps, f"SELECT {columns} FROM {counted} WHERE {present} GROUP BY {columns}")

    def _first_steps(self, source: str) -> list[str]:
        keep = (self.request.unit is not None and self.dialect.keeps_rows) or bool(self.request.histograms)
        return [self._step("source", source, keep=False), self._step("rows", self.rows(), keep=keep)]

    def rows(self) -> str:
        """The rows that count, with each one's contributions."""
        request = self.request
        items = ["u"] if request.unit is not None else []
        conditions: list[str] = []
        if request.where is not None:
            conditions.append(self.write.condition(request.where))
        for i, key in enumerate(request.keys):
            value = self._key(key)
            if is_enum(key) and self._is_filtered_last:
                items.append(f"{value} AS k{i}")
                continue
            if is_enum(key):
                value, condition = self.dialect.known_text(value, [str(known) for known in key.values or ()])
                conditions.append(condition)
            elif key.values is not None and (key.bounded is None or key.narrowed):  # else every value is public
                known = [self.write.key_literal(each) for each in key.values if each is not None]
                also = f" OR {value} IS NULL" if None in key.values else ""
                conditions.append(f"({value} IN ({_list(known)}){also})" if known else f"{value} IS NULL")
            items.append(f"{value} AS k{i}")
        items += [f"{part.sql} AS {part.name}" for part in self.values]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {_list(items) or '1 AS one'} FROM source{where}"

    def _key(self, key: GroupKey) -> str:
        """What to group by. Texts that are held are cut, beyond the longest public one."""
        if is_enum(key) and not self._is_filtered_last:
            return self.write.value_of(key.computed, key.type)
        known = [len(value) + 1 for value in key.values or () if isinstance(value, str)]
        return self.write.held(key.computed, key.type, max([HELD_TEXT, *known]))

    def wide(self, sums: Sequence[str]) -> list[str]:
        """Sums in a type that holds any of them."""
        return [self.dialect.cast(s, "HUGEINT") for s in sums]

    def _by_person(self, salts: tuple[int, int]) -> tuple[list[str], str]:
        """The steps from `rows` to those that count, and the sums over them."""
        request, values = self.request, self.values
        distinct = [isinstance(measure, Distinct) for measure in request.measures]
        sums = ["0" if d else sum_sql(m, values, self.dialect) for d, m in zip(distinct, request.measures, strict=True)]
        parts = [f"{s} AS p{i}" for i, s in enumerate(sums)]
        grouped = f"SELECT {_list(['u'], *self.keys, 'count(*) AS size', *parts)} FROM %s"
        grouped += _group_by(["u", *self.keys])
        split = self._is_split
        steps = [self._step("each", grouped % "rows")] if split else []
        steps += self._flagged(salts[1], split=split)
        again = self.dialect.subtracts or self._is_kept
        steps += [self._step("parts", grouped % "picked", keep=again), *self._few(len(parts), salts[0])]
        if self._is_kept:
            steps.append(self._step("kept", self._counted(), keep=bool(request.histograms)))
        added = [self.dialect.sum(f"p{i}", None) for i in range(len(parts))]
        tallies = ["count(*)" if request.count_units else "0", *added]
        source, complete = ("each", tallies) if split else ("rows", ["0", *sums])
        capped = tallies if split else ["0", *added]
        if self.dialect.subtracts:
            taken = self.dialect.among("each", "people", "each.u = people.u") if split else "flagged"
            terms = [self._term(complete, source), self._term(complete, taken, sign="-"), self._term(capped, "few")]
        else:
            others = self.dialect.apart(source, "people", f"{source}.u = people.u")
            terms = [self._term(complete, others), self._term(capped, "few")]
        if any(distinct):
            counts = [distinct_sql(m, values) if isinstance(m, Distinct) else "0" for m in request.measures]
            terms.append(self._term(["0", *counts], "kept"))
        aliases = ["units", *(f"t{i}" for i in range(len(parts)))]
        added = self.wide([f"coalesce(sum(t{i}), 0)" for i in range(len(aliases))])
        totals = [f"{s} AS {alias}" for s, alias in zip(added, aliases, strict=True)]
        joined = " UNION ALL ".join(terms)
        return steps, f"SELECT {_list(self.keys, *totals)} FROM ({joined}){_group_by(self.keys)}"

    def _with_cells(self, final: str, source: str) -> str:
        """The sums, unless there is nothing to sum or to discover, and the counts of cells if there are histograms."""
        request = self.request
        if not request.histograms:
            return final
        width = len(request.measures)
        queries = cells_sql(self.dialect, self.keys, cell_names(request.histograms, self.values), source, width)
        if width or request.count_units:
            queries.append(sums_sql(self.dialect, self.keys, "units", [f"t{i}" for i in range(width)], final))
        return " UNION ALL ".join(queries)

    @property
    def _content(self) -> list[str]:
        return [*self.keys, *(part.name for part in self.values)]

    @property
    def _is_kept(self) -> bool:
        return bool(self.request.histograms) or any(isinstance(measure, Distinct) for measure in self.request.measures)

    @property
    def _is_filtered_last(self) -> bool:
        """Whether rows of no public string are dropped as a group: groups of texts as they are stored are cheaper."""
        one_row = self.request.unit is None and not self.request.histograms
        return self.dialect.filters_groups and one_row and not self.by_row

    @property
    def _is_split(self) -> bool:
        """Whether all rows have to be summed by person and group first, to count units or a person's groups.

        Groups of a few public strings may be counted more cheaply.
        """
        request = self.request
        people = request.count_units or any(isinstance(measure, People) for measure in request.measures)
        return people or (request.max_groups is not None and self._groups_seen is None)

    @property
    def _groups_seen(self) -> str | None:
        keys = self.request.keys
        return self.dialect.groups_seen(len(keys[0].values or ())) if len(keys) == 1 and is_enum(keys[0]) else None

    def _having(self) -> str:
        """Which groups are of public strings; with an aggregate beside them, or each row would be asked instead."""
        enums = [(i, key) for i, key in enumerate(self.request.keys) if is_enum(key)]
        text = self.dialect.text
        known = [
            f"k{i} IN ({_list(text(str(value)) for value in key.values)})" if key.values else "FALSE"
            for i, key in enums
        ]
        return f" HAVING count(*) = 0 OR ({' AND '.join(known)})" if known else ""

    def _flagged(self, salt: int, *, split: bool) -> list[str]:
        request = self.request
        n, groups, source = ("sum(size)", "count(*)", "each") if split else ("count(*)", self._groups_seen, "rows")
        above = [f"{n} > {request.max_rows}"]
        if request.max_groups is not None:
            above.append(f"{groups} > {request.max_groups}")
        having = f"GROUP BY u HAVING {' OR '.join(above)}"
        numbered = f"{self.dialect.cast(n, 'BIGINT')} AS n, {self.dialect.start(salt, n)} AS start"
        qualified = _list(f"rows.{name}" for name in ["u", *self._content])
        return [
            self._step("people", f"SELECT u, {numbered} FROM {source} {having}"),
            self._step(
                "flagged",
                f"SELECT {qualified}, n, start FROM rows JOIN people ON rows.u = people.u",
                keep=self.dialect.subtracts and not split,
            ),
            self._step("ranked", f"SELECT *, {_place(self._content)} AS place FROM flagged", keep=False),
            self._step("picked", f"SELECT * FROM ranked WHERE {self._chosen(request.max_rows)}", keep=self._is_kept),
        ]

    def _chosen(self, limit: int) -> str:
        return _even(limit, "place" if limit < _INT22 else self.dialect.cast("place", "HUGEINT"))

    def _few(self, parts: int, salt: int) -> list[str]:
        limit = self.request.max_groups
        if limit is None:
            return [self._step("few", "SELECT * FROM parts", keep=False)]
        columns = _list(["u"], *self.keys, *(f"p{i}" for i in range(parts)))
        if not self.dialect.subtracts:
            counted = f"SELECT {columns}, count(*) OVER (PARTITION BY u) AS n, {_place(self.keys)} AS place FROM parts"
            ordered = f"SELECT *, {self.dialect.start(salt, 'n')} AS start FROM ({counted})"
            few = f"SELECT {columns} FROM ordered WHERE n <= {limit} OR {self._chosen(limit)}"
            return [self._step("ordered", ordered, keep=False), self._step("few", few, keep=self._is_kept)]
        numbered = f"count(*) AS n, {self.dialect.start(salt, 'count(*)')} AS start"
        ordered = f"SELECT {columns}, n, start, {_place(self.keys)} AS place FROM parts JOIN many USING (u)"
        fine = self.dialect.apart("parts", "many", "parts.u = many.u")
        few = f"SELECT {columns} FROM {fine} UNION ALL SELECT {columns} FROM ordered WHERE {self._chosen(limit)}"
        return [
            self._step("many", f"SELECT u, {numbered} FROM parts GROUP BY u HAVING count(*) > {limit}"),
            self._step("ordered", ordered, keep=False),
            self._step("few", few, keep=self._is_kept),
        ]

    def _counted(self) -> str:
        """Every row that counts, with what distinct values and cells are counted by."""
        seen = [part.name for part in self.values if self.as_records or part.meaning[0] in _SEEN]
        columns = _list(["u"] if self.as_records else [], *self.keys, *seen) or "1 AS one"
        uncapped = f"SELECT {columns} FROM {self.dialect.apart('rows', 'people', 'rows.u = people.u')}"
        if self.request.max_groups is None:
            return f"{uncapped} UNION ALL SELECT {columns} FROM picked"
        alike = (f"picked.{name} IS NOT DISTINCT FROM few.{name}" for name in self.keys)
        same = " AND ".join(["picked.u = few.u", *alike])
        return f"{uncapped} UNION ALL SELECT {columns} FROM {self.dialect.among('picked', 'few', same)}"

    def _term(self, sums: Sequence[str], source: str, sign: str = "") -> str:
        items = [f"{sign}({s}) AS t{i}" for i, s in enumerate(self.wide(sums))]
        return f"SELECT {_list(self.keys, *items)} FROM {source}{_group_by(self.keys)}"

    def _step(self, name: str, sql: str, *, keep: bool = True) -> str:
        return self.dialect.step(name, sql, keep=keep)


def _place(content: Sequence[str]) -> str:
    """The rank of an item among its person's, from 0, in the order of its content."""
    order = f" ORDER BY {_list(f'{name} NULLS FIRST' for name in content)}" if content else ""
    return f"row_number() OVER (PARTITION BY u{order}) - 1"


def _even(limit: int, place: str = "place") -> str:
    """Whether a rank of `n` is floor((j * n + start) / limit) for some j below the limit; all are if few."""
    return f"((start - {place} * {limit}) % n + n) % n < {limit}"


def _list(first: Iterable[str], *rest: str) -> str:
    return ", ".join([*first, *rest])


def _group_by(keys: Sequence[str]) -> str:
    return f" GROUP BY {_list(keys)}" if keys else ""


def _chain(steps: Sequence[str], final: str) -> str:
    return "WITH " + ",\n".join(steps) + "\n" + final
