"""Keys whose groups are read from public tables, before the query is asked and without any private row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from sqlglot import exp

from discreet.errors import DataError, QueryError
from discreet.policy import Key
from discreet.query.budget._noise import Level
from discreet.query.expressions._bounded_keys import literal
from discreet.query.expressions._domains import domain
from discreet.query.expressions._narrowing import Narrowing
from discreet.query.expressions._types import Field
from discreet.query.measures._bounded import BoundedAggregate, Group, GroupKey, PublicKeys, order_of, public_groups
from discreet.query.measures._footprint import HELD_TEXT
from discreet.query.relations._nodes import Filtered, Relation, is_public, scans
from discreet.query.relations._public_rows import PublicRows, public_rows
from discreet.query.relations._to_sql import with_source
from discreet.release import json_digest

__all__ = ["PublicGroups", "ReadPublic", "keys_digest", "public_keys_to_json", "public_reader"]

MOST_GROUPS = 10_000
"""Combinations of values that are read; where there are more, private keys serve better."""

Rows = Sequence[tuple[Key | None, ...]]
ReadPublic = Callable[[BoundedAggregate], Rows]
"""From an aggregate without measures over public tables alone to the groups that there are."""


class _Runs(Protocol):
    """What an engine does here."""

    def accept(self, request: BoundedAggregate) -> None: ...

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]: ...


def public_reader(engine: _Runs) -> ReadPublic:
    """What reads groups of public tables from an engine: nothing else, whatever it is asked.

    It raises `QueryError` if the engine refuses the tables, and `DataError` if it fails; nothing is spent by then.
    """

    def read(request: BoundedAggregate) -> Rows:
        if not is_public(request.relation) or request.measures or request.histograms or request.unit is not None:
            raise QueryError("groups are read from public tables alone; the policy must call a table public for it")
        engine.accept(request)
        try:
            return [group.key for group in engine.run(request, bytes(16))]
        except DataError:
            unread = ", ".join(request.tables)
        raise DataError(f"the groups in the public table {unread} could not be read; nothing was spent for it")

    return read


@dataclass(frozen=True, slots=True)
class PublicGroups:
    """The groups of a query that rows of public tables alone say.

    Attributes
    ----------
    relation
        What the query reads.
    conditions, narrowing
        What all of its rows satisfy.
    fields, used
        Its columns, and those that it uses beside its keys.
    read
        What reads groups; without it they are to be read later.
    """

    relation: Relation
    conditions: Sequence[exp.Expr]
    narrowing: Narrowing
    fields: Mapping[str, Field]
    used: frozenset[str]
    read: ReadPublic | None

    def listed(self, keys: tuple[GroupKey, ...]) -> tuple[GroupKey, ...]:
        """Keys of one grouping set, with those over columns of public tables read there, unless the policy lists them.

        Where there are more than 10,000 groups of them, the keys stay what they are, and those that are private are
        discovered; so they do beside other private keys. Raises `QueryError` where there are no groups, and what `read`
        raises.
        """
        places = [i for i, key in enumerate(keys) if not self._is_listed(key)]
        sources = public_rows([keys[i].expression for i in places], self.relation, self.conditions)
        together = [(source, [places[i] for i in source.places]) for source in sources]
        if any(key.values is None for i, key in enumerate(keys) if all(i not in each for _, each in together)):
            return keys
        done, used = list(keys), self.used.union(*map(_columns, keys))
        for source, each in together:
            for i, key in zip(each, self._read_together([keys[i] for i in each], source, used), strict=True):
                done[i] = key
        public = [key for key in done if key.public is not None]
        if any(key.values is None for key in done) or (public_groups(public) or 0) > MOST_GROUPS:
            return tuple(
                replace(
                    key, public=None if new.public is None or key.values is not None else replace(new.public, rows=None)
                )
                for key, new in zip(keys, done, strict=True)
            )
        return tuple(done)

    def _is_listed(self, key: GroupKey) -> bool:
        """Whether a column of a key has the keys of the policy."""
        fields = [self.fields[name] for name in _columns(key)]
        return any(field.keys is not None and not field.computed for field in fields)

    def _read_together(self, keys: Sequence[GroupKey], source: PublicRows, used: frozenset[str]) -> Sequence[GroupKey]:
        """Keys with their values; as they are if these are too many or not sure."""
        source = self._narrowed(keys, source)
        without = self._without_partner(keys, source)
        if without is None:
            return keys
        public = PublicKeys(tuple(key.name for key in keys), _written(keys, source.relation, used), None)
        if self.read is None:
            return [replace(key, values=(None,), public=public, bounded=None, narrowed=False) for key in keys]
        request = BoundedAggregate(
            relation=source.relation,
            unit=None,
            max_rows=1,
            max_groups=None,
            where=None,
            keys=tuple(GroupKey(key.name, None, key.expression, key.type) for key in keys),
            measures=(),
            columns=self.fields,
            used=used,
            count_units=False,
            most_groups=MOST_GROUPS + 1,
        )
        rows = sorted({*self.read(request), *without}, key=lambda row: [order_of(value) for value in row])
        if not rows:
            tables = ", ".join(dict.fromkeys(scan.table for scan in scans(source.relation)))
            raise QueryError(
                f"no row of the public {tables} satisfies the conditions of the query, so that there are no groups by "
                f"{', '.join(public.names)} and the answer would have no rows; write a WHERE that leaves some"
            )
        if len(rows) > MOST_GROUPS or any(map(_is_cut, itertools.chain.from_iterable(rows))):
            return [replace(key, public=public) if key.values is None else key for key in keys]
        public = replace(public, rows=tuple(rows))
        columns = [tuple(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
        return [
            replace(key, values=values, public=public, bounded=None, narrowed=False)
            for key, values in zip(keys, columns, strict=True)
        ]

    def _narrowed(self, keys: Sequence[GroupKey], source: PublicRows) -> PublicRows:
        """The rows whose columns have values that conditions on other rows as well list for them."""
        across = [each for each in self.conditions if not {c.name for c in each.find_all(exp.Column)} <= source.names]
        narrowing, relation = Narrowing(across, self.fields), source.relation
        for name in sorted(set[str]().union(*map(_columns, keys))):
            column = exp.column(exp.to_identifier(name, quoted=True))
            listed = narrowing.listed(column, self.fields[name].type) if self.fields[name].type in _LITERALS else None
            if listed:
                condition: exp.Expr = exp.In(this=column, expressions=list(map(_literal, listed)))
                if isinstance(relation, Filtered):
                    relation, condition = relation.input, exp.and_(relation.condition, condition, copy=True)
                relation = Filtered(relation, condition)
        return source if source.outer else replace(source, relation=relation)

    def _without_partner(self, keys: Sequence[GroupKey], source: PublicRows) -> list[tuple[Any, ...]] | None:
        """The values of keys where a private row finds no public one; none where it must, None if that is not sure."""
        names = [name for name in source.names if name in self.fields]
        if not source.outer or any(not self.narrowing.column(name).field.nullable for name in names):
            return []
        missing = {name: Field(self.fields[name].type, None, (None,), nullable=True) for name in names}
        values = [domain(key.expression, missing) for key in keys]
        known = [listed for listed in values if listed is not None]
        return list(itertools.product(*known)) if len(known) == len(values) else None


def keys_digest(public: PublicKeys) -> str | None:
    """SHA-256 of the rows that were read, as JSON: a list for each, with dates as ISO 8601 text; None if none were."""
    if public.rows is None:
        return None
    return json_digest([[_plain(value) for value in row] for row in public.rows])


def public_keys_to_json(levels: Sequence[Level]) -> dict[str, Any]:
    """What a certificate says of groups that were read from public tables: nothing where none were.

    Whoever has the tables can ask the query of them, and compare its rows, in their order, with the digest.
    """
    read = [key.public for level in levels for key in level.bounded.keys if key.public is not None]
    listed = [
        {"keys": list(each.names), "query": each.query, "groups": len(each.rows), "rows": keys_digest(each)}
        for each in dict.fromkeys(read)
        if each.rows is not None
    ]
    return {"public_keys": listed} if listed else {}


def _plain(value: Key | None) -> object:
    return value if value is None or isinstance(value, bool | int | str) else value.isoformat()


_LITERALS = ("string", "int")


def _literal(value: Key) -> exp.Expr:
    if isinstance(value, str):
        return exp.Literal.string(value)
    return literal(Fraction(int(value)), "int") if isinstance(value, int) else exp.null()


def _is_cut(value: Key | None) -> bool:
    """Whether an engine may have read the beginning of a text."""
    return isinstance(value, str) and len(value) >= HELD_TEXT


def _columns(key: GroupKey) -> set[str]:
    return {column.name for column in key.expression.find_all(exp.Column)}


def _written(keys: Sequence[GroupKey], relation: Relation, used: frozenset[str]) -> str:
    items = [exp.alias_(key.expression.copy(), exp.to_identifier(key.name, quoted=True)) for key in keys]
    return with_source(exp.Select(expressions=items, distinct=exp.Distinct()), relation, used).sql()
