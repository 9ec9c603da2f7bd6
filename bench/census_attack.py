"""Blocks of at most 10 people rebuilt from all tables of a census by integer programming: exact tables, and ours.

    python bench/census_attack.py --adult FOLDER [--blocks 500]

FOLDER holds adult.data of the UCI repository. Its 30,162 complete rows are dealt out to a made-up country: blocks of 1
to 10 people, 40 blocks a tract, 10 tracts a county. Tables at every level: the total, sex by age, sex by race, and race
by age; ages are years, or groups of five. All tables of a block go to `attack.microdata`: those of exact counts, and
those of `census.publish`, whose integers agree with each other. Where a published block has too few people, the
attacker adds those that are most frequent. The control knows how many people the block has, and the exact national
table. The last spend is too large to protect anybody: the attack works as soon as there is something to learn. Exit
status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet import attack, census
from goals import Goals, complete_adult

TABLES = {"total": (), "sex_age": ("sex", "age"), "sex_race": ("sex", "race"), "age_race": ("age", "race")}
SEXES, RACES = ["Female", "Male"], ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]
LARGEST, BLOCKS, TRACTS = 10, 40, 10
SHARES_2020 = {"country": 104, "county": 447, "tract": 687, "block": 165}
SPENDS: dict[str, tuple[str, Any, Any]] = {
    "ρ = 1, shares of 2020": ("rho", dp.rho(1), SHARES_2020),
    "ρ = 2.56, shares of 2020": ("rho", dp.rho("2.56"), SHARES_2020),
    "ρ = 1, shares alike": ("rho", dp.rho(1), {}),
    "ε = 1, shares alike": ("epsilon", dp.pure(1), {}),
    "ρ = 10,000, shares alike": ("rho", dp.rho(10_000), {}),
}
UNPROTECTED = "ρ = 10,000, shares alike"
TablesOf = Callable[[str], list[pa.Table]]


@dataclass(frozen=True)
class Country:
    """The people with their blocks, the areas, and all values of each column of people."""

    people: pa.Table
    land: census.Geography
    kinds: Mapping[str, list[str]]


def country(adult: pa.Table, width: int) -> Country:
    """Adult dealt out to blocks, with ages in groups of so many years."""
    draws = np.random.default_rng(28)
    sizes = draws.integers(1, LARGEST + 1, adult.num_rows)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), adult.num_rows)) + 1]
    names = np.array([f"b{i:04d}" for i in range(len(sizes))], object)
    rows = adult.take(pa.array(draws.permutation(adult.num_rows)))
    people = pa.table({
        "block": pa.array(np.repeat(names, sizes)[: adult.num_rows], pa.string()),
        "sex": rows["sex"],
        "age": pa.array([str(age - age % width) for age in rows["age"].to_pylist()]),
        "race": rows["race"],
    })  # fmt: skip
    places = np.arange(len(names))
    areas = {
        "county": [f"c{i}" for i in places // (BLOCKS * TRACTS)],
        "tract": [f"t{i:03d}" for i in places // BLOCKS],
        "block": names.tolist(),
    }
    land = census.Geography.of_areas(areas, ["county", "tract", "block"], root="country")
    ages = [str(age) for age in range(17 - 17 % width, 91, width)]
    return Country(people, land, {"sex": SEXES, "age": ages, "race": RACES})


def exact(own: Country) -> TablesOf:
    """All tables of each block, of exact counts."""
    sums: dict[str, pa.Table] = {}
    for name, columns in TABLES.items():
        table = own.people.group_by(["block", *columns]).aggregate([([], "count_all")])
        sums[name] = table.rename_columns(["block", *columns, "n"])
    return by_block(sums)


def published(own: Country, currency: str, spend: Any, shares: Any) -> TablesOf:
    """All tables of each block, as they are published; cells of zero are left out, which says as much."""
    columns: dict[str, Any] = {"block": {"type": "string"}}
    columns |= {name: {"type": "string", "keys": values, "nullable": False} for name, values in own.kinds.items()}
    policy = {"version": "1", "budget": {currency: 10_000}, "tables": {"people": {"unit": "rows", "columns": columns}}}
    spec = census.Spec("people", own.land, TABLES, shares=shares)
    with dp.connect({"people": own.people}, policy) as session:
        publication = census.publish(session, spec, spend=spend)
    sums: dict[str, pa.Table] = {}
    for name, by in TABLES.items():
        table = publication.table(name, "block").select(["block", *by, "value"]).rename_columns(["block", *by, "n"])
        sums[name] = table if name == "total" else table.filter(pa.array(table["n"].to_numpy() > 0))
    return by_block(sums)


def rows_by_block(table: pa.Table) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for i, block in enumerate(table["block"].to_pylist()):
        rows.setdefault(block, []).append(i)
    return rows


def by_block(sums: Mapping[str, pa.Table]) -> TablesOf:
    rows = {name: rows_by_block(table) for name, table in sums.items()}

    def tables(block: str) -> list[pa.Table]:
        own = {name: pa.array(rows[name].get(block, []), pa.int64()) for name in sums}
        # A block without people has its total alone.
        return [table.take(own[name]).drop_columns(["block"]) for name, table in sums.items() if len(own[name])]

    return tables


def rebuilt(tables: list[pa.Table], truth: pa.Table, national: pa.Table, own: Country) -> attack.Outcome:
    """A block's people, the surest first; as many as it has."""
    result = attack.microdata(tables, own.kinds, limit=2_000, steps=5_000)
    outcome = result.against(truth, national)
    guessed = Counter(tuple(row[name] for name in own.kinds) for row in outcome.evidence.to_pylist())
    missing = truth.num_rows - guessed.total()
    if not missing:
        return outcome
    frequent = Counter(zip(*(national[name].to_pylist() for name in own.kinds), strict=True))
    added = [kind for kind, _ in frequent.most_common() if kind not in guessed][:missing]
    people = Counter(zip(*(truth[name].to_pylist() for name in own.kinds), strict=True))
    right = ((guessed + Counter(added)) & people).total()
    return attack.Outcome(
        outcome.attack, right, truth.num_rows, outcome.control, outcome.evidence, outcome.claims, outcome.false_claims
    )


def pooled(outcomes: Sequence[attack.Outcome]) -> attack.Outcome:
    """One outcome of the people of all blocks."""
    people = sum(each.targets for each in outcomes)
    blind = sum(each.baseline * each.targets for each in outcomes)
    return attack.Outcome(
        "blocks from tables",
        sum(each.right for each in outcomes),
        people,
        attack.Control(blind / people, people),
        pa.concat_tables([each.evidence for each in outcomes]),
        claims=sum(each.claims or 0 for each in outcomes),
        false_claims=sum(each.false_claims or 0 for each in outcomes),
    )


def attacked(goals: Goals, name: str, own: Country, make: Callable[[], TablesOf], blocks: int) -> attack.Outcome:
    """Rebuild so many blocks, taken at random, and print what came of it."""
    begun = time.process_time()
    tables = make()
    between = time.process_time()
    names = own.land.names[-1]
    rows = rows_by_block(own.people)
    national = own.people.drop_columns(["block"])
    chosen = [names[i] for i in np.random.default_rng(29).permutation(len(names))[:blocks]]
    outcome = pooled([rebuilt(tables(b), national.take(pa.array(rows[b])), national, own) for b in chosen])
    goal, is_met = "", None
    if name == "exact":
        goal, is_met = "at least 90%", outcome.success >= 0.9
    elif name != UNPROTECTED:
        goal, is_met = "at most the control + 5 points", outcome.advantage <= 0.05
    goals.line(f"{name}: people rebuilt", f"{outcome.success:.1%}", goal, is_met)
    (low, high), (gain_low, gain_high) = outcome.interval(), outcome.advantage_interval()
    print(
        f"      {outcome.right:,} of {outcome.targets:,} ({low:.1%} to {high:.1%}); control {outcome.baseline:.1%}; "
        f"advantage {outcome.advantage:+.1%} ({gain_low:+.1%} to {gain_high:+.1%}); certain {outcome.claims:,}, "
        f"of these false {outcome.false_claims:,}; {between - begun:.1f} + {time.process_time() - between:.1f} CPU s",
        flush=True,
    )
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=500)
    given = parser.parse_args()
    goals = Goals()
    adult = complete_adult(given.adult)
    for ages, width in (("years", 1), ("groups of five years", 5)):
        own = country(adult, width)
        print(f"\n{given.blocks:,} blocks, ages in {ages}")
        attacked(goals, "exact", own, lambda own=own: exact(own), given.blocks)
        for name, spent in SPENDS.items():
            attacked(goals, name, own, lambda own=own, spent=spent: published(own, *spent), given.blocks)
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
