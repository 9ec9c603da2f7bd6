"""The plan of a suggestion: which histograms and keys it needs, and with what noise.

Theory: ``proofs/suggest.md``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Column, Key, Policy, Table
from discreet.prices import check_spend
from discreet.privacy import Loss, Unit, to_json
from discreet.query._certificate_levels import level_to_json
from discreet.query._sql import noisy_groups
from discreet.query._verify import recompute_query_loss, verify_query_loss
from discreet.query.budget._calibrate import calibrate, level_spends
from discreet.query.budget._noise import Level, level_loss
from discreet.query.expressions._types import Field
from discreet.query.measures._bounded import BoundedAggregate, Group, GroupKey
from discreet.query.measures._measures import Count
from discreet.query.measures._sensitivity import measure_norms
from discreet.query.passes._names import match_name
from discreet.query.relations._columns import Columns
from discreet.query.relations._nodes import Computed, Filtered, Grouped, Relation, Scan, Total
from discreet.query.suggest._choose import choose_bounds, choose_cap
from discreet.query.suggest._ladder import Ladder, cap_ladder, value_ladder
from discreet.query.suggest._suggestion import Suggestion
from discreet.release import ReleaseContext, ReleaseKind, Terms, json_digest, register
from discreet.reprs import shortened

__all__ = ["PreparedSuggestion", "Suggest", "SuggestionPlan", "key_level", "plan_suggestion"]

_FORMAT = 1
_NUMBERS = ("int", "float", "decimal")
_SHARES = {1: (1,), 2: ("3/4", "1/4"), 3: ("1/2", "1/4", "1/4")}
"""How the spend is shared: the values first, then the caps, for which fewer rows tell more."""

What = Literal["bounds", "keys", "max_rows", "max_groups"]


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that is bought: what an engine counts for it, in which cells, and its share of the spend."""

    what: What
    level: Level
    ladder: Ladder | None
    share: Fraction


@dataclass(frozen=True, slots=True)
class SuggestionPlan:
    """A checked suggestion with its noise. Making one costs nothing and touches no data."""

    table: str
    column: str
    declared: Column
    unit: Unit
    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        column, parts = shortened(f"{self.table}.{self.column}"), ", ".join(part.what for part in self.parts)
        return f"<SuggestionPlan of {column}; {parts}; loss {shortened(repr(self.loss))}>"

    @property
    def levels(self) -> tuple[Level, ...]:
        """What an engine counts, part by part."""
        return tuple(part.level for part in self.parts)

    @property
    def loss(self) -> Loss:
        """What all parts together will charge."""
        loss = level_loss(self.levels)
        assert loss is not None
        return loss

    def hash(self, policy: Policy) -> str:
        """SHA-256 of what is suggested, the policy's digest, its version label, the loss and the format."""
        content = {
            "format": _FORMAT,
            "suggest": [self.table, self.column, *(part.what for part in self.parts)],
            "policy": policy.digest(),
            "version": policy.version,
            "spend": to_json(self.loss),
        }
        return json_digest(content)

    def finish(self, noisy: Sequence[Sequence[Group]], policy: Policy) -> Suggestion:
        """The suggestion from the noisy groups of each part, in its order: post-processing, which costs nothing."""
        chosen = {part.what: _chosen(part, groups) for part, groups in zip(self.parts, noisy, strict=True)}
        suggestion = Suggestion(
            table=self.table,
            column=self.column,
            type=self.declared.type,
            bounds=chosen.get("bounds"),
            keys=chosen.get("keys"),
            max_rows=chosen.get("max_rows"),
            max_groups=chosen.get("max_groups"),
            loss=self.loss,
            certificate={},
        )
        return replace(suggestion, certificate={**self._certificate(policy), "answer": suggestion.digest()})

    def _certificate(self, policy: Policy) -> dict[str, Any]:
        return {
            "kind": "suggestion",
            "table": self.table,
            "column": self.column,
            "plan": self.hash(policy),
            "policy": policy.digest(),
            "version": policy.version,
            "unit": self.unit.name or "rows",
            "relation": self.unit.relation,
            "loss": to_json(self.loss),
            "levels": [_part_to_json(part) for part in self.parts],
        }


@dataclass(frozen=True, slots=True)
class Suggest:
    """Bounds, keys or caps for one column, as a question; see `discreet.Session.suggest`."""

    table: str
    column: str
    spend: Loss
    keys: bool = False

    def prepare(self, terms: Terms) -> PreparedSuggestion:
        """The plan of the suggestion. Raises `QueryError` where there is nothing to suggest, `ParameterError`."""
        plan = plan_suggestion(terms.policy, self.table, self.column, self.spend, keys=self.keys)
        for level in plan.levels:
            terms.accept(level.bounded)
        return PreparedSuggestion(plan, plan.loss, plan.hash(terms.policy))


@dataclass(frozen=True, slots=True)
class PreparedSuggestion:
    """A suggestion that was planned."""

    plan: SuggestionPlan
    loss: Loss
    hash: str
    fresh: bool = False
    counts: Literal["people"] = "people"

    def answer(self, context: ReleaseContext) -> Suggestion:
        """The suggestion from noisy groups of each part; see `discreet.release.Prepared`."""
        suggestion = self.plan.finish(noisy_groups(self.plan.levels, context), context.policy)
        return replace(suggestion, certificate=context.certify(suggestion.certificate))

    def read(self, payload: bytes) -> Suggestion:
        """Restore a stored suggestion. Raises `LedgerError` if the bytes are none."""
        return Suggestion.from_bytes(payload)


def plan_suggestion(policy: Policy, table: str, column: str, spend: Loss, *, keys: bool = False) -> SuggestionPlan:
    """Check what is asked against the policy and calibrate its noise. Costs nothing and touches no data.

    Raises `QueryError` for a table or column that has nothing to suggest, `ParameterError` for a spend that cannot buy
    it; see `discreet.session.Session.suggest`.
    """
    if not (isinstance(table, str) and isinstance(column, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise QueryError('name a table and one of its columns as texts, for example suggest("visits", "cost", spend)')
    name = match_name(table, policy.tables, "the policy", "table")
    declaration = policy.tables[name]
    declared_name, declared = _declared(name, declaration, column)
    by_keys = _checked(name, declared_name, declared, keys=keys)
    check_spend(spend)
    unit = policy.unit(name)
    counted = _Counted(policy, name, declaration, declared_name, _without_keys(declared))
    bought: list[tuple[What, BoundedAggregate, Ladder | None]] = [counted.keys() if by_keys else counted.values()]
    if not declaration.by_rows:
        bought.append(counted.per_person(None))
        if by_keys:
            bought.append(counted.per_person(declared_name))
    shares = [Fraction(share) for share in _SHARES[len(bought)]]
    spends = level_spends(spend, [bounded.count_units for _, bounded, _ in bought], shares)
    parts: list[Part] = []
    for (what, bounded, ladder), price, share in zip(bought, spends, shares, strict=True):
        norms = tuple(measure_norms(measure, bounded, unit.relation) for measure in bounded.measures)
        slopes = [[1.0] * len(norms)] if norms else []
        noise = calibrate(price, bounded, norms, unit, slopes)
        parts.append(Part(what, Level(bounded, norms, noise), ladder, share))
    return SuggestionPlan(name, declared_name, declared, unit, tuple(parts))


def key_level(policy: Policy, table: str, column: str, spend: Loss) -> Level:
    """What an engine counts to discover the keys of a column, and with which noise, as a query by private keys does.

    Raises `ParameterError` for a spend without a δ, or too small to show any.
    """
    declared = policy.tables[table].columns[column]
    _, bounded, _ = _Counted(policy, table, policy.tables[table], column, _without_keys(declared)).keys()
    return Level(bounded, (), calibrate(spend, bounded, (), policy.unit(table)))


def _without_keys(declared: Column) -> Field:
    """What is known of the column, but for keys: they are what is looked for."""
    return replace(Field.from_column(declared), keys=None)


def _declared(table: str, declaration: Table, column: str) -> tuple[str, Column]:
    if declaration.public:
        raise QueryError(f"{table} is public: read its values directly, they need no privacy")
    hidden = [name for name in declaration.hidden if name.casefold() == column.casefold()]
    if hidden and column.casefold() not in {name.casefold() for name in declaration.columns}:
        raise QueryError(f"{column} says whose a row is, so it has neither bounds nor keys")
    name = match_name(column, declaration.columns, table, "column")
    return name, declaration.columns[name]


def _checked(table: str, name: str, declared: Column, *, keys: bool) -> bool:
    """Whether keys are wanted, not bounds. Raises `QueryError` where there is nothing to look for."""
    where = f"{table}.{name}"
    if declared.type == "bool":
        raise QueryError(f"{where} is a bool, whose groups are public as it is: false, true and, if it can be, null")
    if keys and declared.type in ("float", "decimal"):
        raise QueryError(f"{where} is a {declared.type}, which has no keys; ask for its bounds, or declare it int")
    by_keys = keys or declared.type not in _NUMBERS
    if by_keys and declared.keys is not None:
        raise QueryError(f"{where} has public keys in the policy already; to look for others, take them out first")
    return by_keys


@dataclass(frozen=True, slots=True)
class _Counted:
    """The bounded aggregates about one column of one table."""

    policy: Policy
    table: str
    declaration: Table
    column: str
    field: Field

    def values(self) -> tuple[What, BoundedAggregate, Ladder]:
        """How many rows hold a value in each cell; of one person `max_rows` of the policy at most."""
        scan, columns, number = self._scan()
        ladder = value_ladder(self.field.bounds, integer=self.field.type == "int")
        present = exp.Not(this=exp.Is(this=number.copy(), expression=exp.Null()))
        relation, cells = self._celled(Filtered(scan, present), columns, number, ladder)
        return "bounds", self._request(relation, columns, (cells,), used=number), ladder

    def keys(self) -> tuple[What, BoundedAggregate, None]:
        """Which values there are, found as the private keys of a query are."""
        scan, columns, value = self._scan()
        key = GroupKey(self.column, None, value, self.field.type)
        request = self._request(scan, columns, (key,), used=value)
        capped = self.declaration.groups_per_unit < self.declaration.rows_per_unit
        most = self.declaration.groups_per_unit if capped else None
        return "keys", replace(request, measures=(), count_units=True, max_groups=most), None

    def per_person(self, distinct: str | None) -> tuple[What, BoundedAggregate, Ladder]:
        """How many people have so many rows, or so many different values: each person is in one cell."""
        scan, columns, value = self._scan()
        ladder = cap_ladder()
        limits = (Fraction(0), ladder.ends[-1])
        number = columns.add("n", Field("int", limits, None, nullable=False))
        owner = columns.add("owner", None)
        counted = None if distinct is None else value
        kind = "COUNT" if distinct is None else "COUNT DISTINCT"
        total = Total(kind, counted, "int", upper=int(ladder.ends[-1]))
        person = next(name for name, stored in scan.columns.items() if stored in self.declaration.hidden)
        relation = Grouped(scan, person, owner, {}, {number: total})
        node = exp.column(exp.to_identifier(number, quoted=True))
        celled, cells = self._celled(relation, columns, node, ladder)
        request = self._request(celled, columns, (cells,), used=node if counted is None else counted)
        what: What = "max_rows" if distinct is None else "max_groups"
        return what, replace(request, max_rows=1, used=request.used | {number}), ladder

    @staticmethod
    def _celled(relation: Relation, columns: Columns, number: exp.Expr, ladder: Ladder) -> tuple[Relation, GroupKey]:
        """The relation with a column for the cell of a number, worked out once for each row, and that as a key."""
        keys = tuple(range(ladder.cells))
        name = columns.add("cell", Field("int", None, keys, nullable=False))
        computed = Computed(relation, {name: (ladder.cell(number), "int")})
        return computed, GroupKey(name, keys, exp.column(exp.to_identifier(name, quoted=True)), "int")

    def _scan(self) -> tuple[Scan, Columns, exp.Expr]:
        columns = Columns()
        scan, nodes = columns.scan(self.policy, self.table)
        node = nodes[self.column]
        columns.fields[node.name] = self.field
        return scan, columns, node

    def _request(
        self, relation: Relation, columns: Columns, keys: tuple[GroupKey, ...], used: exp.Expr
    ) -> BoundedAggregate:
        return BoundedAggregate(
            relation=relation,
            unit=self.policy.unit(self.table).name,
            max_rows=self.declaration.rows_per_unit,
            max_groups=None,
            where=None,
            keys=keys,
            measures=(Count(None),),
            columns=columns.fields,
            used=frozenset({used.name}),
            count_units=False,
        )


def _chosen(part: Part, groups: Sequence[Group]) -> Any:
    if part.ladder is None:
        return tuple(sorted(_plain_time(group.key[0]) for group in groups if group.key[0] is not None))
    noise = part.level.noise
    assert noise is not None
    noisy = np.array([group.sums[0] for group in groups], dtype=np.float64)
    choose = choose_bounds if part.what == "bounds" else choose_cap
    return choose(noisy, part.ladder, noise.mechanisms[0], part.share)


def _plain_time(key: Key) -> Any:
    return key.replace(tzinfo=None) if isinstance(key, dt.datetime) else key


def _part_to_json(part: Part) -> dict[str, Any]:
    """What one part ran, in plain JSON."""
    return {
        "of": part.what,
        "cells": None if part.ladder is None else part.ladder.cells,
        **level_to_json(part.level),
    }


SUGGESTION = register(
    ReleaseKind("suggestion", Suggestion.from_bytes, Suggestion.digests, recompute_query_loss, verify_query_loss)
)
