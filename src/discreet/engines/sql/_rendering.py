"""Relations as queries: columns ``c:NAME``, a column for the owner, and ``w:NAME`` where rows link up.

A row without an owner is nobody's and is not read. Where tables find their owners in one another, what is compared is
compared as it is stored: as numbers where all of it is whole numbers, else as text, so that no value fails to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from sqlglot import exp

from discreet.engines._shards import ALL, Shard
from discreet.engines.sql._dialect import Dialect
from discreet.engines.sql._expressions import Expressions
from discreet.engines.sql._relation import Relation as Stored
from discreet.engines.sql._relation import StoredColumn
from discreet.policy import ColumnType, Policy
from discreet.query import (
    HELD_TEXT,
    LONGEST_STORED_TEXT,
    BoundedAggregate,
    Computed,
    Filtered,
    Grouped,
    Joined,
    Limited,
    Own,
    Ranked,
    Relation,
    Scan,
    SemiJoined,
    Stacked,
    Sum,
    Total,
    scans,
    stored_names,
    walked,
)

__all__ = ["Rows", "is_deep", "rows_sql"]


@dataclass(frozen=True, slots=True)
class Rows:
    """A query for the rows of a relation, and its column that names the owner; None where rows have none."""

    sql: str
    owner: str | None


def rows_sql(
    dialect: Dialect, request: BoundedAggregate, policy: Policy, stored: Callable[[str], Stored], shard: Shard = ALL
) -> str:
    """A query for the rows of a shard that a request reads, with the owner as ``u`` where rows have one."""
    rows = _Rendering(dialect, request, policy, stored, shard).rows(request.relation)
    return rows.sql if rows.owner is None else f"SELECT *, {rows.owner} AS u FROM ({rows.sql})"


@dataclass(slots=True)
class _Rendering:
    dialect: Dialect
    request: BoundedAggregate
    policy: Policy
    stored: Callable[[str], Stored]
    shard: Shard
    _write: Expressions = field(init=False)
    _links: frozenset[str] = field(init=False)
    _alike: bool = field(init=False)
    _links_are_integers: bool = field(init=False)
    _owners_are_texts: bool = field(init=False)
    _cuts: bool = field(init=False)
    _names_used: int = 0

    def __post_init__(self) -> None:
        self._write = Expressions(self.dialect, self.request.columns)
        self._links = frozenset(_linked(self.request.relation))
        private = [scan.table for scan in scans(self.request.relation) if not scan.public]
        people = [self._person_of(table) for table in private if self.request.unit is not None]
        self._alike = len({column.type for column in people}) <= 1
        self._links_are_integers = all(map(self.dialect.is_integer, [*people, *self._linking()]))
        self._owners_are_texts = any(map(self.dialect.is_text, people)) if self._alike else not self._links_are_integers
        self._cuts = any(isinstance(node, Limited) for node in walked(self.request.relation))

    def rows(self, relation: Relation) -> Rows:
        match relation:
            case Scan():
                return self._scan(relation)
            case Filtered():
                rows = self.rows(relation.input)
                condition = self._write.condition(relation.condition)
                return Rows(f"SELECT * FROM ({rows.sql}) WHERE {condition}", rows.owner)
            case Computed():
                rows = self._computed_once(relation.input)
                columns = relation.columns.items()
                added = [f"{self._computed(node, kind)} AS {self._column(n)}" for n, (node, kind) in columns]
                return Rows(f"SELECT *, {', '.join(added)} FROM ({rows.sql})", rows.owner)
            case Joined():
                return self._joined(relation)
            case SemiJoined():
                return self._semi_joined(relation)
            case Limited():
                return self._limited(relation)
            case Stacked():
                return self._stacked(relation)
            case Grouped():
                return self._grouped(relation)
            case Ranked():
                return self._ranked(relation)

    def _scan(self, scan: Scan) -> Rows:
        declared, stored = self.policy.tables[scan.table], self.stored(scan.table)
        used = {name: column for name, column in scan.columns.items() if name in self.request.used}
        typed = {name: declared.columns[column] for name, column in used.items() if column in declared.columns}
        items = [
            f"{self._clean(scan, stored.columns[used[name]], column.type)} AS {self._column(name)}"
            for name, column in typed.items()
        ]
        items += [
            f"{self._link(stored.columns[used[name]])} AS {self._wire(name)}" for name in used if name in self._links
        ]
        conditions = [f"{self._column(name)} IS NOT NULL" for name, column in typed.items() if not column.nullable]
        owner = None
        if declared.person is not None:
            owner = self._name()
            items.append(f"{self._owner(stored.columns[declared.person])} AS {owner}")
            conditions.insert(0, f"{owner} IS NOT NULL")
        if declared.path is not None:
            items.append(f"{self._link(stored.columns[declared.path.column])} AS {(way := self._name())}")
            owners, target, owner = self._owners(declared.path.table, declared.path.key)
            rows = f"SELECT {', '.join(items)} FROM {stored.sql}"
            rows = f"SELECT * FROM ({rows}) JOIN ({owners}) ON {way} = {target}"
        else:
            rows = f"SELECT {', '.join(items) or '1 AS one'} FROM {stored.sql}"
        if scan.key is not None:
            by, order = self._column(scan.key), ", ".join(map(self._column, typed))
            place = f"row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS {(first := self._name())}"
            rows = f"SELECT * FROM (SELECT *, {place} FROM ({rows})) WHERE {first} = 1"
        rows = f"SELECT * FROM ({rows}) WHERE {' AND '.join(conditions)}" if conditions else rows
        return Rows(rows if scan.public or self.shard == ALL else self._in_shard(rows, owner), owner)

    def _in_shard(self, rows: str, owner: str | None) -> str:
        """The rows of some owners; where every row is a person, rows by their content."""
        side = self._name()
        hashed = self.dialect.row_hash(side) if owner is None else self.dialect.owner_hash(owner)
        remainder = self.dialect.modulo(hashed, self.shard.count)
        return f"SELECT * FROM ({rows}) AS {side} WHERE {remainder} = {self.shard.index}"

    def _clean(self, scan: Scan, stored: StoredColumn, kind: ColumnType) -> str:
        """A stored column. Texts are cut: of public tables, and where rows of one unit are limited, to what is held."""
        clean = self.dialect.clean(stored, kind)
        if kind != "string" or self.dialect.is_integer(stored):
            return clean
        return self.dialect.cut(clean, HELD_TEXT if scan.public or self._cuts else LONGEST_STORED_TEXT)

    def _owners(self, table: str, key: str) -> tuple[str, str, str]:
        """For each value of a column of a table, each owner of a row that has it, once; and the two columns' names."""
        declared, stored = self.policy.tables[table], self.stored(table)
        way, owner = self._name(), self._name()
        if declared.path is None:
            assert declared.person is not None
            items = (
                f"{self._link(stored.columns[key])} AS {way}, {self._owner(stored.columns[declared.person])} AS {owner}"
            )
            rows = f"SELECT {items} FROM {stored.sql}"
            condition = f"WHERE {way} IS NOT NULL AND {owner} IS NOT NULL"
            return f"SELECT DISTINCT {way}, {owner} FROM ({rows}) {condition}", way, owner
        further, target, owner = self._owners(declared.path.table, declared.path.key)
        onward = self._name()
        linked = self._link(stored.columns[declared.path.column])
        items = f"{self._link(stored.columns[key])} AS {way}, {linked} AS {onward}"
        rows = f"SELECT {items} FROM {stored.sql}"
        return f"SELECT DISTINCT {way}, {owner} FROM ({rows}) JOIN ({further}) ON {onward} = {target}", way, owner

    def _person_of(self, table: str) -> StoredColumn:
        declared = self.policy.tables[table]
        while declared.path is not None:
            table = declared.path.table
            declared = self.policy.tables[table]
        assert declared.person is not None
        return self.stored(table).columns[declared.person]

    def _linking(self) -> Iterator[StoredColumn]:
        """The stored columns that find owners: those of paths, and those that joins compare."""
        for scan in scans(self.request.relation):
            declared, table = self.policy.tables[scan.table], scan.table
            for name, column in scan.columns.items():
                if name in self._links:
                    yield self.stored(table).columns[column]
            while declared.path is not None:
                yield self.stored(table).columns[declared.path.column]
                yield self.stored(declared.path.table).columns[declared.path.key]
                table = declared.path.table
                declared = self.policy.tables[table]

    def _owner(self, column: StoredColumn) -> str:
        return self._short(self.dialect.person(column), column) if self._alike else self._link(column)

    def _link(self, column: StoredColumn) -> str:
        """A column that links rows, in a form that can be compared with that of another table."""
        if self._links_are_integers:
            return self.dialect.integer_link(column)
        return self._short(self.dialect.person_text(column), column)

    def _short(self, name: str, column: StoredColumn) -> str:
        """The owner of a row; a digest in place of a long text, where rows of one unit are collected."""
        return self.dialect.named(name) if self._cuts and self.dialect.is_text(column) else name

    def _joined(self, join: Joined) -> Rows:
        left, right = self.rows(join.left), self.rows(join.right)
        word = "LEFT JOIN" if join.outer else "JOIN"
        sql = f"SELECT * FROM ({left.sql}) {word} ({right.sql}) ON {self._together(join, left, right)}"
        return Rows(sql, left.owner or right.owner)

    def _semi_joined(self, join: SemiJoined) -> Rows:
        left, right = self.rows(join.left), self.rows(join.right)
        on = self._together(join, left, right)
        return Rows(self.dialect.semi_join(left.sql, right.sql, on, missing=join.missing), left.owner)

    def _together(self, join: Joined | SemiJoined, left: Rows, right: Rows) -> str:
        """The condition on a pair of rows: one owner, what links rows, and what the query asks for."""
        on = [f"{self._wire(a)} = {self._wire(b)}" for a, b in join.links]
        if left.owner is not None and right.owner is not None:
            on.insert(0, f"{left.owner} = {right.owner}")
        if join.on is not None:
            on.append(self._write.condition(join.on))
        return " AND ".join(on) or "1 = 1"

    def _limited(self, limited: Limited) -> Rows:
        """Rows chosen by hashes of their content; of private ones, only owners of more need any care."""
        rows = self.rows(limited.input)
        octets = self._octets(limited, rows.owner)
        side, place, size, owner = self._name(), self._name(), self._name(), rows.owner
        by = owner or ", ".join(map(self._compared, limited.by or ()))
        window = f"{f'PARTITION BY {by} ' if by else ''}ORDER BY {self.dialect.row_order(side)}"
        so_far = f"sum({octets}) OVER ({window} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)" if octets else "0"
        placed = f"SELECT {side}.*, row_number() OVER ({window}) AS {place}, {so_far} AS {size} FROM "
        first = f"SELECT * FROM ({placed}%s) WHERE {place} <= {limited.rows} AND {size} <= {limited.size}"
        if owner is None or self.dialect.recomputes:
            return Rows(first % f"({rows.sql}) AS {side}", owner)
        step, many, who = self.dialect.step, self._name(), self._name()
        counted = f"SELECT {owner} AS {who} FROM {side} GROUP BY {owner} HAVING count(*) > {limited.rows}"
        if octets:
            counted += f" OR sum({octets}) > {limited.size}"
        again = any(
            isinstance(node, Joined | SemiJoined | Limited | Grouped | Ranked) for node in walked(limited.input)
        )
        steps = f"{step(side, rows.sql, keep=again)}, {step(many, counted, keep=True)}"
        on = f"{owner} = {who}"
        few = f"SELECT {side}.*, 0 AS {place}, 0 AS {size} FROM {self.dialect.apart(side, many, on)}"
        theirs = self.dialect.fewest(side, self.dialect.among(side, many, on), owner, octets or "0", limited)
        return Rows(f"WITH {steps} {few} UNION ALL {first % theirs}", owner)

    def _octets(self, limited: Limited, owner: str | None) -> str:
        """How many bytes the texts of a row have, with those that say whose it is; empty if there are none."""
        texts = [self._column(name) for name in limited.texts]
        if not self._links_are_integers:
            texts += [
                self._wire(name) for name in stored_names(limited.input) if name in self._links & self.request.used
            ]
        if owner is not None and self._owners_are_texts:
            texts.append(owner)
        return " + ".join(f"coalesce({self.dialect.octets(text)}, 0)" for text in texts)

    def _compared(self, node: exp.Expr) -> str:
        """What an equality compares, such that values that may equal one value are equal."""
        return self._write.comparable(node)

    def _computed_once(self, relation: Relation) -> Rows:
        """Rows to compute from: an engine must not write out their computed columns wherever they are named."""
        rows = self.rows(relation)
        computed = any(isinstance(node, Computed | Stacked) for node in walked(relation))
        return Rows(self.dialect.fenced(rows.sql), rows.owner) if computed else rows

    def _stacked(self, stacked: Stacked) -> Rows:
        parts, owner = list[str](), None
        for part, outputs in stacked.parts:
            rows = self._computed_once(part)
            items = [f"{self._computed(n, stacked.types[name])} AS {self._column(name)}" for name, n in outputs.items()]
            if rows.owner is not None:
                owner = owner or self._name()
                items.append(f"{rows.owner} AS {owner}")
            parts.append(f"SELECT {', '.join(items) or '1 AS one'} FROM ({rows.sql})")
        return Rows(" UNION ALL ".join(parts), owner)

    def _grouped(self, grouped: Grouped) -> Rows:
        rows = self.rows(grouped.input)
        owner = None if rows.owner is None else self._name()
        items = [] if owner is None else [f"{rows.owner} AS {owner}"]
        items += [f"{self._write.held(node, kind)} AS {self._column(n)}" for n, (node, kind) in grouped.keys.items()]
        results: list[str] = []
        for i, (name, total) in enumerate(grouped.totals.items()):
            if (value := self._value(total)) is not None:
                items.append(f"{value} AS v{i}")
            results.append(f"{self._total(total, f'v{i}')} AS {self._column(name)}")
        keys = [*([] if owner is None else [owner]), *map(self._column, grouped.keys)]
        inner = f"SELECT {', '.join(items) or '1 AS one'} FROM ({rows.sql})"
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return Rows(f"SELECT {', '.join([*keys, *results])} FROM ({inner}){by}", owner)

    def _ranked(self, ranked: Ranked) -> Rows:
        """Places by windows over the rows of one owner; an order of equal rows shows in no column."""
        rows = self._computed_once(ranked.input)
        assert rows.owner is not None
        by = ", ".join([rows.owner, *map(self._wire, ranked.within)])
        order = ", ".join(f"{self._column(name)} NULLS FIRST" for name in ranked.order) or by
        window = f"(PARTITION BY {by} ORDER BY {order})"
        items = [f"row_number() OVER {window} AS {self._column(ranked.place)}"]
        items.append(f"count(*) OVER (PARTITION BY {by}) AS {self._column(ranked.number)}")
        items += [
            f"lag({self._column(column)}) OVER {window} AS {self._column(n)}" for n, column in ranked.previous.items()
        ]
        return Rows(f"SELECT *, {', '.join(items)} FROM ({rows.sql})", rows.owner)

    def _value(self, total: Total | Own) -> str | None:
        """What a sub-aggregate takes from one row."""
        if isinstance(total, Own):
            own = self.request.columns.get(total.column)
            value = self._column(total.column)
            return self.dialect.cut(value, HELD_TEXT) if own is not None and own.type == "string" else value
        if total.argument is None:
            return None
        if total.row is not None:
            return self._write.contribution(Sum(total.argument, total.step, 0, *total.row))
        if total.kind == "COUNT":
            return f"CASE WHEN {self._write.present(total.argument)} THEN 1 END"
        if total.kind == "COUNT DISTINCT":
            return self._write.distinct_value(total.argument)
        value = self._write.held(total.argument, total.type)
        is_number = total.type in ("float", "decimal")
        return f"CASE WHEN {self._write.present(total.argument)} THEN {value} END" if is_number else value

    def _total(self, total: Total | Own, value: str) -> str:
        """A sub-aggregate over the values of one owner: exact in whole numbers, and clamped."""
        cast = self.dialect.cast
        if isinstance(total, Own):
            column = self.request.columns.get(total.column)
            return self.dialect.extreme("min", value, "int" if column is None else column.type)
        if total.kind in ("COUNT", "COUNT DISTINCT"):
            distinct = "DISTINCT " if total.kind == "COUNT DISTINCT" else ""
            counted = "*" if total.argument is None else f"{distinct}{value}"
            return cast(f"least(count({counted}), {total.upper})", "BIGINT")
        if total.row is None:
            return self.dialect.extreme(total.kind.lower(), value, total.type)
        step = cast(repr(float(total.step)), "DOUBLE")
        if total.kind == "AVG":
            summed = self.dialect.sum(value, total.row)
            return f"({cast(summed, 'DOUBLE')} / NULLIF(count({value}), 0) * {step})"
        amount = self.dialect.sum(value, total.row) if total.kind == "SUM" else f"{total.kind.lower()}({value})"
        clamped = f"greatest(least({amount}, {total.upper}), {total.lower})"
        if total.type == "int":
            return f"CASE WHEN count({value}) > 0 THEN {cast(clamped, 'BIGINT')} END"
        return f"CASE WHEN count({value}) > 0 THEN {cast(clamped, 'DOUBLE')} * {step} END"

    def _column(self, name: str) -> str:
        return self.dialect.reference(name)

    def _wire(self, name: str) -> str:
        return self.dialect.wire(name)

    def _computed(self, node: exp.Expr, kind: ColumnType) -> str:
        if kind == "string" and self._cuts and not isinstance(node.unnest(), exp.Column):
            return self._write.held(node, kind)  # as columns are held since they were read or computed
        value = self._write.value_of(node, kind, clamped=True)
        is_clean = kind not in ("float", "decimal") or isinstance(node.unnest(), exp.Column)
        return value if is_clean else self.dialect.one_zero(value)

    def _name(self) -> str:
        self._names_used += 1
        return f"u{self._names_used}"


def _linked(relation: Relation) -> Iterator[str]:
    match relation:
        case Scan():
            return
        case Ranked():
            yield from relation.within
            yield from _linked(relation.input)
        case Filtered() | Computed() | Limited() | Grouped():
            yield from _linked(relation.input)
        case Joined() | SemiJoined():
            for pair in relation.links:
                yield from pair
            yield from _linked(relation.left)
            yield from _linked(relation.right)
        case Stacked():
            for part, _ in relation.parts:
                yield from _linked(part)


_DEEP = 40
"""What people write comes to some 20."""


def is_deep(sql: str) -> bool:
    """Whether more than 40 parentheses are within one another, those in texts among them.

    >>> is_deep("SELECT ((1))"), is_deep("(" * 50 + "1" + ")" * 50)
    (False, True)
    """
    return max(accumulate((sign == "(") - (sign == ")") for sign in sql if sign in "()"), default=0) > _DEEP
