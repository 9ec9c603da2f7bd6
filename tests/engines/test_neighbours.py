"""Planned sensitivities against random neighbours, through the real planner and the real engine.

A person leaves with every row of every table, or another comes instead, and the integers below the noise are compared.
Faults are planted to show that the comparison sees them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "query"))

from suite.features import landed
from suite.moves import beyond, moves
from suite.questions import TEMPLATES, question
from suite.worlds import CAPS, CHOSEN, Bench, Pair, make_pair, world_policy

from discreet.privacy import Relation, approx
from discreet.query import BoundedAggregate, Plan, Sum, make_plan

pytestmark = pytest.mark.usefixtures("one_database")

ASKED = sorted(name for name, (*_, needs) in TEMPLATES.items() if landed(needs))
WORLDS = 25
RELATIONS: tuple[Relation, ...] = ("add_remove", "substitute")
SPEND = approx(1, "1e-6")

Fault = Callable[[BoundedAggregate], BoundedAggregate]


def _sound(bounded: BoundedAggregate) -> BoundedAggregate:
    return bounded


def _first_beyond(bench: Bench, plan: Plan, pairs: list[Pair], salt: bytes, fault: Fault) -> str | None:
    """The first world, of a query by world, that moves further than planned."""
    sums = []
    for side in ("one", "other"):
        bench.load(getattr(pair, side) for pair in pairs)
        sums.append([bench.by_world(fault(level.bounded), salt) for level in plan.levels])
    for world in sorted({world for side in sums for level in side for world in level}, key=str):
        found = beyond(plan, *([level.get(world, []) for level in side] for side in sums))
        if found is not None:
            return f"world {world}: {found}"
    return None


def _hunt(template: str, relation: Relation, caps: str, rounds: int, fault: Fault = _sound) -> str | None:
    """Ask `rounds` random queries of `WORLDS` random pairs each; what moved too far, if anything did."""
    dice = random.Random(f"{template} {relation} {caps}")
    bench = Bench(world_policy(WORLDS, relation, caps))
    for _ in range(rounds):
        query = question(dice, template, by_world=True)
        plan = bench.plan(query, SPEND)
        pairs = [make_pair(dice, i, relation) for i in range(WORLDS)]
        found = _first_beyond(bench, plan, pairs, dice.randbytes(16), fault)
        if found is not None:
            return f"{query}: {found}"
    return None


def _hunt_alone(template: str, relation: Relation, caps: str, rounds: int) -> str | None:
    """The same with one pair at a time, and queries that need not have keys; or of the counts that choose a cap."""
    dice = random.Random(f"alone {template} {relation} {caps}")
    bench = Bench(world_policy(1, relation, caps))
    for _ in range(rounds):
        query = question(dice, template, by_world=False)
        plan = bench.plan(query, SPEND)
        if caps == CHOSEN:
            if plan.cap is None:  # of sub-queries with one row for each person
                continue
            plan = replace(plan, levels=(plan.cap.level,))
        pair, salt = make_pair(dice, 0, relation), dice.randbytes(16)
        sums = []
        for world in (pair.one, pair.other):
            bench.load([world])
            sums.append([bench.run(level.bounded, salt) for level in plan.levels])
        found = beyond(plan, *sums)
        if found is not None:
            return f"{query}: {found} between {pair}"
    return None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("template", ASKED)
def test_a_person_moves_no_answer_further_than_planned(template: str, relation: Relation, caps: str) -> None:
    assert _hunt(template, relation, caps, rounds=1) is None


@pytest.mark.sampled
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("template", ASKED)
def test_nor_does_one_of_a_database_asked_alone(template: str, relation: Relation) -> None:
    assert _hunt_alone(template, relation, "2 rows 1 group", rounds=2) is None


@pytest.mark.sampled
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("template", ASKED)
def test_nor_do_the_counts_that_choose_a_cap(template: str, relation: Relation) -> None:
    assert _hunt_alone(template, relation, CHOSEN, rounds=3) is None


@pytest.mark.soak
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("template", ASKED)
def test_nor_do_they_in_many_pairs(template: str, relation: Relation) -> None:
    assert _hunt_alone(template, relation, CHOSEN, rounds=60) is None


@pytest.mark.soak
@pytest.mark.parametrize("caps", CAPS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("template", ASKED)
def test_ten_thousand_pairs_move_no_answer_further_than_planned(template: str, relation: Relation, caps: str) -> None:
    """At least 3 templates, by 2 relations, 4 caps, 20 rounds and 25 worlds: 12,000 pairs, and 1,200 more alone."""
    assert _hunt(template, relation, caps, rounds=20) is None
    assert _hunt_alone(template, relation, caps, rounds=50) is None


def _one_row_more(bounded: BoundedAggregate) -> BoundedAggregate:
    return replace(bounded, max_rows=bounded.max_rows + 1)


def _no_group_cap(bounded: BoundedAggregate) -> BoundedAggregate:
    return replace(bounded, max_groups=None)


def _one_group_more(bounded: BoundedAggregate) -> BoundedAggregate:
    return replace(bounded, max_groups=None if bounded.max_groups is None else bounded.max_groups + 1)


def _one_step_wider(bounded: BoundedAggregate) -> BoundedAggregate:
    wider = [replace(m, upper=m.upper + 1, lower=m.lower - 1) if isinstance(m, Sum) else m for m in bounded.measures]
    return replace(bounded, measures=tuple(wider))


def _of_nobody(bounded: BoundedAggregate) -> BoundedAggregate:
    return replace(bounded, unit=None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("caps", ["2 rows", "2 rows 1 group"])
@pytest.mark.parametrize(
    "fault",
    [_one_row_more, _one_step_wider, _no_group_cap, _one_group_more, _of_nobody],
    ids=lambda each: each.__name__[1:],
)
def test_planted_faults_are_found(fault: Fault, caps: str, relation: Relation) -> None:
    if fault in (_no_group_cap, _one_group_more) and caps == "2 rows":
        caps = "4 rows 2 groups"
    assert _hunt("orders", relation, caps, rounds=40, fault=fault) is not None


def test_a_fault_of_one_query_alone_is_found() -> None:
    """A person of three alike rows, of whom two count: without the last cap the count moves by three."""
    bench = Bench(world_policy(1, "add_remove", "2 rows"))
    row = {"no": 1, "person": 7, "w": "0", "k": "a", "q": "p", "x": 3, "y": 2.0}
    empty: dict[Literal["people", "orders", "items", "visits", "tags"], list] = {
        "people": [],
        "orders": [],
        "items": [],
        "visits": [],
        "tags": [],
    }
    plan = make_plan("SELECT COUNT(*) AS n, SUM(x) AS s, MEDIAN(y) AS m FROM orders", bench.policy, SPEND)
    sums = []
    for orders in ([row] * 3, []):
        bench.load([{**empty, "orders": orders}])
        (level,) = plan.levels
        sums.append([[bench.run(bounded, b"x" * 16)] for bounded in (level.bounded, _one_row_more(level.bounded))])
    (kept, more), (nobody, _) = sums
    assert beyond(plan, kept, nobody) is None
    assert "in L1 moved 3, planned 2" in (beyond(plan, more, nobody) or "")
    found = [
        (what, move, most) for what, move, most in moves(plan, more, nobody) if what.startswith("rows in the cells")
    ]
    assert [(move, most) for _, move, most in found] == [(3, 2)]
