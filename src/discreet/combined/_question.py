"""A query as a question: one release, or SQL over several, planned, charged at once, drawn, and combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pyarrow as pa
from sqlglot import exp

from discreet.combined._answer import CombinedAnswer, combined_to_stored
from discreet.combined._plan import CombinedPlan, combined_plan, public_schemas
from discreet.combined._release import CombinedRelease
from discreet.combined._split import NoRelease
from discreet.errors import ParameterError, QueryError
from discreet.policy import Policy
from discreet.privacy import Loss, to_json
from discreet.query import (
    Plan,
    PreparedSQL,
    Query,
    ReadPublic,
    Release,
    assumed,
    assuming,
    bars_digest,
    certificate_of,
    draw_levels,
    make_plan,
    parse_query,
    plain_value,
    plan_with_bias,
    read_rows,
    text_of,
    values_digest,
)
from discreet.recursion import with_room
from discreet.release import Prepared, ReleaseContext, Terms, json_digest

__all__ = ["PreparedCombined", "Statement", "plan_statement", "plan_under"]


@with_room
def plan_statement(
    query: Query, policy: Policy, spend: Loss | None = None, read: ReadPublic | None = None, *, bias: bool = False
) -> Plan:
    """The plan of a query: of one release, or a `CombinedPlan` of SQL over several. Costs nothing.

    Whatever can be one release is one. Raises `QueryError` for what is neither, `ParameterError` for a spend that
    cannot buy it. `bias` is for one release alone.
    """
    if bias:
        return plan_with_bias(query, policy, spend, read)
    text = text_of(query)
    try:
        plan = make_plan(query, policy, spend, read)
    except QueryError as error:
        refused = error
    else:
        return _grouped_pivot(text, policy, spend, read) or plan
    parsed = parse_query(text)
    try:
        return combined_plan(parsed, policy, spend, read)
    except NoRelease:
        raise refused from None
    except QueryError:
        if sum(1 for _ in parsed.find_all(exp.Query)) == 1:
            raise refused from None
        raise


def _grouped_pivot(text: str, policy: Policy, spend: Loss | None, read: ReadPublic | None) -> Plan | None:
    """A PIVOT as a query over one by groups and values, of which each has the noise of all; None where that is worse.

    So it is where noise decides which groups there are, or columns would lose their error bars.
    """
    if "pivot" not in text.casefold():
        return None
    query = parse_query(text)
    if query.find(exp.Pivot) is None:
        return None
    try:
        plan = combined_plan(query, policy, spend, read, grouped=True)
    except QueryError:
        return None
    public = all(key.values is not None for level in plan.levels for key in level.bounded.keys)
    return plan if public and not any(map(plan.barless, plan.noisy)) else None


def plan_under(plan: Plan, assume: Mapping[str, int] | Release | None) -> Plan:
    """The plan under an assumption, as `discreet.query.assuming` has it; of several releases each has so many rows."""
    if not isinstance(plan, CombinedPlan):
        return assuming(plan, assume)
    if isinstance(assume, Release):
        raise ParameterError('a plan over releases takes assume={"rows": n}; ask plan.parts with a release of theirs')
    rows, _ = assumed(assume)
    return replace(plan, rows=rows, parts=tuple(assuming(part, assume) for part in plan.parts))


@dataclass(frozen=True, slots=True)
class Statement:
    """A query with its spend; see `discreet.Session.sql`. With `bias`, a tenth of the spend estimates its bias."""

    query: Query
    spend: Loss
    bias: bool = False

    def prepare(self, terms: Terms) -> Prepared[Release]:
        """The plan of the query, and the rows of the public tables that are read beside releases.

        Raises `QueryError` for what is not supported, `ParameterError` for a wrong spend, `DataError` where a public
        table cannot be read.
        """
        plan = plan_statement(self.query, terms.policy, self.spend, terms.read_public, bias=self.bias)
        if plan.loss is None:
            raise ParameterError("say what the answer may cost, for example spend=dp.pure(0.5)")
        for level in plan.all_levels:
            terms.accept(level.bounded)
        if not isinstance(plan, CombinedPlan):
            return PreparedSQL(plan, plan.loss, plan.hash(terms.policy))
        return PreparedCombined(plan, plan.loss, plan.hash(terms.policy), _public_tables(plan, terms))


@dataclass(frozen=True, slots=True)
class PreparedCombined:
    """A plan over releases with a spend, and the public tables that it reads."""

    plan: CombinedPlan
    loss: Loss
    hash: str
    tables: Mapping[str, pa.Table] = field(default_factory=dict[str, pa.Table])
    fresh: bool = False
    counts: Literal["people"] = "people"

    def answer(self, context: ReleaseContext) -> Release:
        """The releases from noisy groups, one after the other, and what is computed from them."""
        drawn = [draw_levels(part, context) for part in self.plan.parts]
        plan = replace(self.plan, parts=tuple(part for part, _ in drawn))
        answer, complete = plan.combined([groups for _, levels in drawn for groups in levels], self.tables)
        statement = self._stated(plan.parts, context.policy, answer, complete=complete)
        return CombinedRelease(answer, self.loss, context.certify(statement))

    def read(self, payload: bytes) -> Release:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return CombinedRelease.from_bytes(payload)

    def _stated(
        self, parts: Sequence[Plan], policy: Policy, answer: CombinedAnswer, *, complete: bool
    ) -> dict[str, Any]:
        plan = self.plan
        return {
            "kind": "combined",
            "statement": plan.sql,
            "rest": plan.rest,
            "plan": self.hash,
            "policy": policy.digest(),
            "version": policy.version,
            "unit": plan.unit.name or "rows",
            "relation": plan.unit.relation,
            "loss": to_json(self.loss),
            "parts": [
                certificate_of(part, part.hash(policy), policy, each)
                for part, each in zip(parts, answer.parts, strict=True)
            ],
            "public_tables": [
                {"table": table.name, "columns": list(table.columns), "rows": _rows_digest(rows)}
                for table, rows in zip(plan.tables, self.tables.values(), strict=True)
            ],
            "complete": complete,
            "answer": values_digest(answer.table),
            "error_bars": bars_digest(*combined_to_stored(answer)),
        }


def _public_tables(plan: CombinedPlan, terms: Terms) -> dict[str, pa.Table]:
    if plan.tables and terms.read_public is None:
        raise ParameterError("the query reads public tables beside releases, and needs a source of them")
    tables: dict[str, pa.Table] = {}
    for table, (name, (schema, _)) in zip(plan.tables, public_schemas(plan.tables, terms.policy).items(), strict=True):
        assert terms.read_public is not None
        rows = read_rows(terms.policy, table.name, table.columns, terms.read_public)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
        arrays = [pa.array(column, each.type) for column, each in zip(columns, schema, strict=True)]
        tables[name] = pa.table(arrays, schema=schema)
    return tables


def _rows_digest(rows: pa.Table) -> str:
    lines = [[plain_value(value) for value in row.values()] for row in rows.to_pylist()]
    return json_digest(sorted(lines, key=repr))
