"""Every SQL statistic that has landed has an entry, whose databases are neighbours that lose what is claimed."""

from __future__ import annotations

import logging
from collections import Counter
from typing import get_args, get_type_hints

import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.audit.catalog._queries import sql_entries
from discreet.audit.sql._entry import SqlEntry
from discreet.audit.sql._pair import loss_between
from discreet.combined import plan_statement
from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.privacy import PureLoss, RhoLoss
from discreet.query import (
    Grouped,
    Joined,
    Limited,
    Measure,
    Ranked,
    Relation,
    Scan,
    SemiJoined,
    Total,
    parse_query,
    scans,
)
from discreet.query.budget._noise import NoiseMechanism
from discreet.query.measures._aggregates import KINDS
from discreet.query.parse._parse import _CLAUSES
from discreet.query.relations._nodes import walked

pytestmark = pytest.mark.usefixtures("one_database")

ENTRIES = {entry.name: entry for entry in sql_entries()}
BOUNDED = load_policy(
    {
        "version": "1",
        "tables": {
            "t": {
                "unit": "rows",
                "columns": {
                    "x": {"type": "int", "bounds": [1, 9]},
                    "d": {"type": "date"},
                },
            }
        },
    }
)


def functions_of(text: str) -> set[str]:
    """The aggregate functions of a query by class, COUNT(*) apart from COUNT."""
    found = parse_query(text).find_all(exp.AggFunc)
    return {type(node).__name__ + ("(*)" if isinstance(node.this, exp.Star) else "") for node in found}


def supported_functions() -> set[str]:
    """What the planner takes, of every function that the parser knows, of numbers, all, a date and a condition."""
    found: set[str] = set()
    for name in exp.FUNCTION_BY_NAME:
        for argument in ("x", "*", "d", "x, x", "x, 0.5", "x > 1"):
            text = f"SELECT {name}({argument}) AS a FROM t"
            try:
                functions = functions_of(text)
                if not functions <= found:
                    plan_statement(text, BOUNDED)
            except QueryError:
                continue
            found |= functions
    return found


def test_every_aggregate_function_that_the_planner_takes_has_an_entry(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    supported = supported_functions()
    assert supported >= {"Count", "Count(*)", "Sum", "Avg"}
    covered = {function for entry in ENTRIES.values() for function in functions_of(entry.text)}
    assert supported == covered


def test_every_clause_noise_currency_unit_and_relation_has_an_entry() -> None:
    selects = [parse_query(entry.text) for entry in ENTRIES.values()]
    assert {name for select in selects for name, value in select.args.items() if value} >= _CLAUSES
    plans = [plan_statement(entry.text, entry.policy, entry.spend) for entry in ENTRIES.values()]
    noises = [plan.levels[0].noise for plan in plans if plan.levels[0].noise is not None]
    assert {type(mechanism) for noise in noises for mechanism in noise.mechanisms} == set(get_args(NoiseMechanism))
    discovery = {type(noise.loss) for noise in noises if noise.selection is not None}
    assert discovery | {PureLoss} == {type(noise.loss) for noise in noises}
    assert {(plan.unit.name, plan.unit.relation) for plan in plans} == {
        (name, relation) for name in ("u", None) for relation in ("add_remove", "substitute")
    }
    capped = [plan for plan in plans if plan.levels[0].bounded.max_groups is not None]
    assert {plan.levels[0].bounded.count_units for plan in capped} == {True, False}
    assert {measure.argument is None for plan in plans for measure in plan.levels[0].bounded.measures} == {True, False}


def test_every_kind_of_statistic_has_an_entry() -> None:
    """Whatever the planner reads off sums, counts or draws from cells, with FILTER and without, over every relation."""
    plans = [plan_statement(entry.text, entry.policy) for entry in ENTRIES.values()]
    written = " ".join(entry.text for entry in ENTRIES.values())
    assert [name for name in KINDS.values() if f"{name}(" not in written.replace("VARIANCE(", "VAR_SAMP(")] == []
    quantiles = ("MEDIAN", "MIN", "MAX", "QUANTILE_CONT", "QUANTILE_DISC", "APPROX_QUANTILE", "PERCENTILE_CONT")
    assert [name for name in quantiles if f"{name}(" not in written] == []
    assert {each.when is None for plan in plans for each in plan.levels[0].bounded.histograms} == {True, False}
    measures = [measure for plan in plans for measure in plan.levels[0].bounded.measures]
    assert {type(measure) for measure in measures} == set(get_args(Measure))
    assert {measure.when is None for measure in measures} == {True, False}
    nodes = [node for plan in plans for node in walked(plan.levels[0].bounded.relation)]
    by_sql = set(get_args(Relation)) - {Ranked}  # which only synthetic histories ask for
    assert {type(node) for node in nodes} >= by_sql
    assert {node.outer for node in nodes if isinstance(node, Joined)} == {True, False}
    assert {node.missing for node in nodes if isinstance(node, SemiJoined)} == {True, False}
    assert {node.person is None for node in nodes if isinstance(node, Grouped)} == {True, False}
    assert {node.by is None for node in nodes if isinstance(node, Limited)} == {True, False}
    totals = {
        each.kind for n in nodes if isinstance(n, Grouped) for each in n.totals.values() if isinstance(each, Total)
    }
    assert totals == set(get_args(get_type_hints(Total)["kind"]))
    paths = [entry.policy.tables[s.table].path for entry in ENTRIES.values() for s in tables_of(entry)]
    assert any(path is not None for path in paths)


def tables_of(entry: SqlEntry) -> list[Scan]:
    return list(scans(plan_statement(entry.text, entry.policy).levels[0].bounded.relation))


def test_names_are_each_used_once() -> None:
    assert len(ENTRIES) == len(sql_entries())


@pytest.mark.parametrize("name", ENTRIES)
def test_the_databases_are_small_neighbours(name: str) -> None:
    entry = ENTRIES[name]
    (one, other), relation = entry.pair, entry.policy.relation
    assert all(table.num_rows <= 20 for database in entry.pair for table in database.values())
    assert {"t"} <= one.keys() == other.keys() == entry.policy.tables.keys()
    orders = {row.get("o") for row in one["t"].to_pylist() if row["u"] == 1}
    for table, about in entry.policy.tables.items():
        gone, come = changed(one[table], other[table]), changed(other[table], one[table])
        if about.public:
            assert not gone and not come
            continue
        mine = {"1"} if about.path is None else set(map(str, orders))
        assert {row[0] for row in [*gone, *come]} == mine
        if about.buys_cap:
            assert (gone.total(), come.total()) == (8, 0)
        elif about.by_rows:
            assert (gone.total(), come.total()) == (1, int(relation == "substitute"))
        elif relation == "add_remove":
            assert come.total() == 0
            assert gone.total() >= about.rows_per_unit + (table == "t")
        else:
            assert gone.total() == come.total() > about.rows_per_unit


def changed(one: pa.Table, other: pa.Table) -> Counter[tuple[str, ...]]:
    rows = [Counter(tuple(map(str, row.values())) for row in table.to_pylist()) for table in (one, other)]
    return rows[0] - rows[1]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_claim_is_what_the_pair_loses(name: str) -> None:
    """In the currency of the claim: exactly in ε, and within a thousandth where a calibration rounds."""
    entry = ENTRIES[name]
    lost = loss_between(entry.query(), *entry.pair)
    if lost is None:
        assert "private" in name
        return
    match entry.claim:
        case PureLoss(claimed):
            assert claimed == 1
            assert (lost.epsilon() == 1) is entry.tight
            assert lost.epsilon() <= 1
        case RhoLoss(claimed, _):
            assert 0.999 * claimed * entry.tight <= lost.rho() <= claimed
        case claim:
            allowed = claim.epsilon(0.01)
            assert 0.999 * allowed * entry.tight <= lost.epsilon(0.01) <= 1.001 * allowed


@pytest.mark.parametrize("name", [name for name in ENTRIES if "private" in name])
def test_an_entry_answers(name: str) -> None:
    """The others answer in `test_query.py`, at next to no noise."""
    entry: SqlEntry = ENTRIES[name]
    assert "refused" not in entry.query()(entry.pair[1])
