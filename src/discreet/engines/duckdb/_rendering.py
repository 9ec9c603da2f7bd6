"""Relations as DuckDB queries: columns ``c:NAME``, a column for the owner, and ``w:NAME`` where rows link up.

A row without an owner is nobody's and is not read. Where tables find their owners in one another, what is compared is
compared as it is stored: as numbers where all of it is whole numbers, else as text, so that no value fails to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.engines.duckdb._expressions import (
    clean,
    condition,
    contribution,
    distinct_value,
    person,
    person_text,
    present,
    reference,
    value_of,
)
from discreet.engines.duckdb._relation import Relation as Stored
from discreet.engines.duckdb._relation import StoredColumn, identifier
from discreet.policy import ColumnType, Policy
from discreet.query import (
    BoundedAggregate,
    Computed,
    Filtered,
    Grouped,
    Joined,
    Own,
    Relation,
    Scan,
    Stacked,
    Sum,
    Total,
    scans,
)

__all__ = ["Rows", "is_whole", "link_family", "rows_sql"]

_WHOLE = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}


@dataclass(frozen=True, slots=True)
class Rows:
    """A query for the rows of a relation, and its column that names the owner; None where rows have none."""

    sql: str
    owner: str | None


def rows_sql(request: BoundedAggregate, policy: Policy, stored: Callable[[str], Stored]) -> str:
    """A query for the rows that a request reads, with the owner as ``u`` where rows have one."""
    rows = _Rendering(request, policy, stored).rows(request.relation)
    return rows.sql if rows.owner is None else f"SELECT *, {rows.owner} AS u FROM ({rows.sql})"


def link_family(stored: str) -> str:
    """Stored types whose equal values have equal texts: whole numbers and texts, or fractions, or one type alone."""
    kind = stored.partition("(")[0]
    if kind in _WHOLE or kind in ("VARCHAR", "ENUM", "UUID"):
        return "texts"
    return "fractions" if kind in ("FLOAT", "DOUBLE") else stored


def is_whole(column: StoredColumn) -> bool:
    """Whether a column links rows as a whole number; otherwise it does as text."""
    return column.type in _WHOLE


@dataclass(slots=True)
class _Rendering:
    request: BoundedAggregate
    policy: Policy
    stored: Callable[[str], Stored]
    _links: frozenset[str] = field(init=False)
    _alike: bool = field(init=False)
    _whole: bool = field(init=False)
    _made: int = 0

    def __post_init__(self) -> None:
        self._links = frozenset(_linked(self.request.relation))
        private = [scan.table for scan in scans(self.request.relation) if not scan.public]
        people = [self._person_of(table) for table in private if self.request.unit is not None]
        self._alike = len({column.type for column in people}) <= 1
        self._whole = all(map(is_whole, [*people, *self._linking()]))

    def rows(self, relation: Relation) -> Rows:
        match relation:
            case Scan():
                return self._scan(relation)
            case Filtered():
                rows = self.rows(relation.input)
                kept = condition(relation.condition, self.request.columns)
                return Rows(f"SELECT * FROM ({rows.sql}) WHERE {kept}", rows.owner)
            case Computed():
                rows = self.rows(relation.input)
                columns = relation.columns.items()
                added = [f"{self._computed(node, kind)} AS {reference(n)}" for n, (node, kind) in columns]
                return Rows(f"SELECT *, {', '.join(added)} FROM ({rows.sql})", rows.owner)
            case Joined():
                return self._joined(relation)
            case Stacked():
                return self._stacked(relation)
            case Grouped():
                return self._grouped(relation)

    def _scan(self, scan: Scan) -> Rows:
        about, stored = self.policy.tables[scan.table], self.stored(scan.table)
        used = {name: column for name, column in scan.columns.items() if name in self.request.used}
        typed = {name: about.columns[column] for name, column in used.items() if column in about.columns}
        items = [
            f"{clean(stored.columns[used[name]], column.type)} AS {reference(name)}" for name, column in typed.items()
        ]
        items += [f"{self._link(stored.columns[used[name]])} AS {_wire(name)}" for name in used if name in self._links]
        kept = [f"{reference(name)} IS NOT NULL" for name, column in typed.items() if not column.nullable]
        owner = None
        if about.person is not None:
            owner = self._name()
            items.append(f"{self._owner(stored.columns[about.person])} AS {owner}")
            kept.insert(0, f"{owner} IS NOT NULL")
        if about.path is not None:
            items.append(f"{self._link(stored.columns[about.path.column])} AS {(way := self._name())}")
            found, target, owner = self._owners(about.path.table, about.path.key)
            rows = f"SELECT {', '.join(items)} FROM {stored.sql}"
            rows = f"SELECT * FROM ({rows}) JOIN ({found}) ON {way} = {target}"
        else:
            rows = f"SELECT {', '.join(items) or '1 AS one'} FROM {stored.sql}"
        if scan.key is not None and self.request.unit is None:
            order = f"PARTITION BY {reference(scan.key)} ORDER BY {', '.join(map(reference, typed))}"
            rows = f"SELECT * FROM ({rows}) QUALIFY row_number() OVER ({order}) = 1"
        return Rows(f"SELECT * FROM ({rows}) WHERE {' AND '.join(kept)}" if kept else rows, owner)

    def _owners(self, table: str, key: str) -> tuple[str, str, str]:
        """For each value of a column of a table, each owner of a row that has it, once; and the two columns' names."""
        about, stored = self.policy.tables[table], self.stored(table)
        way, owner = self._name(), self._name()
        if about.path is None:
            assert about.person is not None
            items = (
                f"{self._link(stored.columns[key])} AS {way}, {self._owner(stored.columns[about.person])} AS {owner}"
            )
            rows = f"SELECT {items} FROM {stored.sql}"
            kept = f"WHERE {way} IS NOT NULL AND {owner} IS NOT NULL"
            return f"SELECT DISTINCT {way}, {owner} FROM ({rows}) {kept}", way, owner
        further, target, owner = self._owners(about.path.table, about.path.key)
        onward = self._name()
        items = (
            f"{self._link(stored.columns[key])} AS {way}, {self._link(stored.columns[about.path.column])} AS {onward}"
        )
        rows = f"SELECT {items} FROM {stored.sql}"
        return f"SELECT DISTINCT {way}, {owner} FROM ({rows}) JOIN ({further}) ON {onward} = {target}", way, owner

    def _person_of(self, table: str) -> StoredColumn:
        about = self.policy.tables[table]
        while about.path is not None:
            table = about.path.table
            about = self.policy.tables[table]
        assert about.person is not None
        return self.stored(table).columns[about.person]

    def _linking(self) -> Iterator[StoredColumn]:
        """The stored columns that find owners: those of paths, and those that joins compare."""
        for scan in scans(self.request.relation):
            about, table = self.policy.tables[scan.table], scan.table
            for name, column in scan.columns.items():
                if name in self._links:
                    yield self.stored(table).columns[column]
            while about.path is not None:
                yield self.stored(table).columns[about.path.column]
                yield self.stored(about.path.table).columns[about.path.key]
                table = about.path.table
                about = self.policy.tables[table]

    def _owner(self, column: StoredColumn) -> str:
        return person(column) if self._alike else self._link(column)

    def _link(self, column: StoredColumn) -> str:
        """A column that links rows, in a form that can be compared with that of another table."""
        return f"TRY_CAST({column.sql} AS HUGEINT)" if self._whole else person_text(column)

    def _joined(self, join: Joined) -> Rows:
        left, right = self.rows(join.left), self.rows(join.right)
        if join.most is not None:
            left, right = (self._at_most(*side) for side in zip((left, right), join.most, strict=True))
        on = [f"{_wire(a)} = {_wire(b)}" for a, b in join.links]
        if left.owner is not None and right.owner is not None:
            on.insert(0, f"{left.owner} = {right.owner}")
        if join.on is not None:
            on.append(condition(join.on, self.request.columns))
        word = "LEFT JOIN" if join.outer else "JOIN"
        sql = f"SELECT * FROM ({left.sql}) {word} ({right.sql}) ON {' AND '.join(on)}"
        return Rows(sql, left.owner or right.owner)

    def _at_most(self, rows: Rows, most: int) -> Rows:
        """So many rows of each owner, chosen by hashes of their content; only owners of more need any care."""
        side, many, who, owner = self._name(), self._name(), self._name(), rows.owner
        counted = f"SELECT {owner} AS {who} FROM {side} GROUP BY {owner} HAVING count(*) > {most}"
        steps = f"{side} AS MATERIALIZED ({rows.sql}), {many} AS MATERIALIZED ({counted})"
        few = f"SELECT {side}.* FROM {side} ANTI JOIN {many} ON {owner} = {who}"
        place = f"row_number() OVER (PARTITION BY {owner} ORDER BY hash({side}), {side})"
        chosen = f"SELECT {side}.* FROM {side} SEMI JOIN {many} ON {owner} = {who} QUALIFY {place} <= {most}"
        return Rows(f"WITH {steps} {few} UNION ALL {chosen}", owner)

    def _stacked(self, stacked: Stacked) -> Rows:
        parts, owner = list[str](), None
        for part, outputs in stacked.parts:
            rows = self.rows(part)
            items = [f"{self._computed(n, stacked.types[name])} AS {reference(name)}" for name, n in outputs.items()]
            if rows.owner is not None:
                owner = owner or self._name()
                items.append(f"{rows.owner} AS {owner}")
            parts.append(f"SELECT {', '.join(items) or '1 AS one'} FROM ({rows.sql})")
        return Rows(" UNION ALL ".join(parts), owner)

    def _grouped(self, grouped: Grouped) -> Rows:
        rows = self.rows(grouped.input)
        assert rows.owner is not None
        owner, columns = self._name(), self.request.columns
        items = [f"{rows.owner} AS {owner}"]
        items += [f"{value_of(node, columns, kind)} AS {reference(n)}" for n, (node, kind) in grouped.keys.items()]
        results: list[str] = []
        for i, (name, total) in enumerate(grouped.totals.items()):
            if (value := self._value(total)) is not None:
                items.append(f"{value} AS v{i}")
            results.append(f"{_total(total, f'v{i}')} AS {reference(name)}")
        keys = [owner, *map(reference, grouped.keys)]
        inner = f"SELECT {', '.join(items)} FROM ({rows.sql})"
        return Rows(f"SELECT {', '.join([*keys, *results])} FROM ({inner}) GROUP BY {', '.join(keys)}", owner)

    def _value(self, total: Total | Own) -> str | None:
        """What a sub-aggregate takes from one row."""
        columns = self.request.columns
        if isinstance(total, Own):
            return reference(total.column)
        if total.argument is None:
            return None
        if total.row is not None:
            return contribution(Sum(total.argument, total.step, 0, *total.row), columns)
        if total.kind == "COUNT":
            return f"CASE WHEN {present(total.argument, columns)} THEN 1 END"
        if total.kind == "COUNT DISTINCT":
            return distinct_value(total.argument, columns)
        return self._computed(total.argument, total.type)

    def _computed(self, node: exp.Expr, kind: ColumnType) -> str:
        return value_of(node, self.request.columns, kind, clamped=True)

    def _name(self) -> str:
        self._made += 1
        return f"u{self._made}"


def _total(total: Total | Own, value: str) -> str:
    """A sub-aggregate over the values of one owner: exact in whole numbers, and clamped."""
    if isinstance(total, Own):
        return f"min({value})"
    if total.kind in ("COUNT", "COUNT DISTINCT"):
        counted = "*" if total.argument is None else f"DISTINCT {value}" if total.kind == "COUNT DISTINCT" else value
        return f"CAST(least(count({counted}), {total.upper}) AS BIGINT)"
    if total.row is None:
        return f"{total.kind.lower()}({value})"
    if total.kind == "AVG":
        return f"(CAST(sum({value}) AS DOUBLE) / NULLIF(count({value}), 0) * {float(total.step)!r}::DOUBLE)"
    whole = f"greatest(least({total.kind.lower()}({value}), {total.upper}), {total.lower})"
    if total.type == "int":
        return f"CASE WHEN count({value}) > 0 THEN CAST({whole} AS BIGINT) END"
    return f"CASE WHEN count({value}) > 0 THEN CAST({whole} AS DOUBLE) * {float(total.step)!r}::DOUBLE END"


def _wire(name: str) -> str:
    return identifier(f"w:{name}")


def _linked(relation: Relation) -> Iterator[str]:
    match relation:
        case Scan():
            return
        case Filtered() | Computed() | Grouped():
            yield from _linked(relation.input)
        case Joined():
            for pair in relation.links:
                yield from pair
            yield from _linked(relation.left)
            yield from _linked(relation.right)
        case Stacked():
            for part, _ in relation.parts:
                yield from _linked(part)
