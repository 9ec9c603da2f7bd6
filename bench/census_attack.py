"""Blocks of at most 10 people rebuilt from all tables of a census by integer programming: exact tables, and ours.

    python bench/census_attack.py --adult FOLDER [--blocks 500] [--largest 10] [--widths 1 5] [--rho 0.1 0.5 1 …]

FOLDER holds adult.data of the UCI repository. Its 30,162 complete rows are dealt out to a made-up country: blocks of
1 to 10 people, or to so many as --largest says, 40 blocks a tract, 10 tracts a county. Tables at every level: the
total, sex by age, sex by race, and race by age; ages are years, or groups of five. All tables of a block go to
`attack.microdata`: those of exact counts, and those of `census.publish`, whose integers agree with each other. Where
a published block has too few people, the attacker adds those that are most frequent. A second attacker has the
unbiased numbers with their standard errors, which are published too, and the exact national table: among blocks of
the true size it takes the likeliest, by mixed-integer programming with least absolute deviations, as Laplace noise
has them. The control knows how many people the block has, and the exact national table. The last spend is too large
to protect anybody: what it shows is that the attacks work as soon as there is something to learn. --rho takes other
spends, with the shares of 2020 and with shares alike. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import optimize, sparse

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


def country(adult: pa.Table, width: int, largest: int) -> Country:
    """Adult dealt out to blocks of at most so many people, with ages in groups of so many years."""
    draws = np.random.default_rng(28)
    sizes = draws.integers(1, largest + 1, adult.num_rows)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), adult.num_rows)) + 1]
    names = np.array([f"b{i:05d}" for i in range(len(sizes))], object)
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


def publication(own: Country, currency: str, spend: Any, shares: Any) -> census.Publication:
    columns: dict[str, Any] = {"block": {"type": "string"}}
    columns |= {name: {"type": "string", "keys": values, "nullable": False} for name, values in own.kinds.items()}
    policy = {"version": "1", "budget": {currency: 10_000}, "tables": {"people": {"unit": "rows", "columns": columns}}}
    spec = census.Spec("people", own.land, TABLES, shares=shares)
    with dp.connect({"people": own.people}, policy) as session:
        return census.publish(session, spec, spend=spend)


def integers(published: census.Publication) -> TablesOf:
    """All tables of each block, as they are published; cells of zero are left out, which says as much."""
    sums: dict[str, pa.Table] = {}
    for name, by in TABLES.items():
        table = published.table(name, "block").select(["block", *by, "value"]).rename_columns(["block", *by, "n"])
        sums[name] = table if name == "total" else table.filter(pa.array(table["n"].to_numpy() > 0))
    return by_block(sums)


class Likeliest:
    """The second attacker: a block's likeliest people, by unbiased numbers and by how frequent they are at large."""

    def __init__(self, own: Country, published: census.Publication) -> None:
        self.kinds = list(product(*own.kinds.values()))
        frequent = Counter(zip(*(own.people[name].to_pylist() for name in own.kinds), strict=True))
        self.rarity = -np.log([(frequent[kind] + 0.5) / own.people.num_rows for kind in self.kinds])
        cells, numbers, weights = [], [], []
        for name, by in TABLES.items():
            table = published.table(name, "block")
            unbiased = table["unbiased"].to_numpy().reshape(len(own.land.names[-1]), -1)
            rows = table.slice(0, unbiased.shape[1])
            places = [list(own.kinds).index(each) for each in by]
            keys = list(zip(*(rows[each].to_pylist() for each in by), strict=True)) or [()]
            place = {key: i for i, key in enumerate(keys)}
            cell = np.array([place[tuple(kind[i] for i in places)] for kind in self.kinds])
            there = (np.ones(len(cell)), (cell, np.arange(len(cell))))
            cells.append(sparse.csr_array(there, shape=(len(keys), len(cell))))
            numbers.append(unbiased)
            weights.append(np.sqrt(2) / np.maximum(rows["standard_error"].to_numpy(), 1e-3))
        self.cells, self.numbers, self.weights = sparse.vstack(cells), np.hstack(numbers), np.hstack(weights)

    def people(self, block: int, size: int) -> Counter[tuple[str, ...]]:
        rows, columns = self.cells.shape
        off, number = sparse.eye_array(rows), self.numbers[block]
        everybody = sparse.csr_array(np.concatenate([np.ones(columns), np.zeros(rows)])[None])
        solved = optimize.milp(
            np.concatenate([self.rarity, self.weights]),
            integrality=np.repeat([1, 0], [columns, rows]),
            bounds=optimize.Bounds(0, np.inf),
            constraints=[
                optimize.LinearConstraint(sparse.hstack([self.cells, -off]), -np.inf, number),
                optimize.LinearConstraint(sparse.hstack([self.cells, off]), number, np.inf),
                optimize.LinearConstraint(everybody, size, size),
            ],
            options={"time_limit": 5.0, "mip_rel_gap": 1e-3},
        )
        if solved.x is None:
            return Counter()
        return Counter({self.kinds[i]: round(solved.x[i]) for i in np.flatnonzero(solved.x[:columns] > 0.5)})


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


def shared(guessed: Counter[Any], truth: pa.Table, own: Country) -> int:
    return (guessed & Counter(zip(*(truth[name].to_pylist() for name in own.kinds), strict=True))).total()


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
    return replace(outcome, right=shared(guessed + Counter(added), truth, own))


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


def show(goals: Goals, name: str, goal: str, outcome: attack.Outcome, seconds: float) -> None:
    is_met = {"exact": outcome.success >= 0.9, "ours": outcome.advantage <= 0.05}.get(goal)
    words = {"exact": "at least 90%", "ours": "at most the control + 5 points"}.get(goal, "")
    goals.line(name, f"{outcome.success:.1%}", words, is_met)
    (low, high), (gain_low, gain_high) = outcome.interval(), outcome.advantage_interval()
    claims = "" if outcome.claims is None else f"certain {outcome.claims:,}, of these false {outcome.false_claims:,}; "
    print(
        f"      {outcome.right:,} of {outcome.targets:,} ({low:.1%} to {high:.1%}); control {outcome.baseline:.1%}; "
        f"advantage {outcome.advantage:+.1%} ({gain_low:+.1%} to {gain_high:+.1%}); {claims}{seconds:.1f} CPU s",
        flush=True,
    )


def spends_of(rhos: Sequence[str]) -> dict[str, tuple[str, Any, Any]]:
    """The spends to be tried: those of the table above, or these."""
    if not rhos:
        return SPENDS
    return {
        f"ρ = {rho}, {words}": ("rho", dp.rho(rho), shares)
        for rho in rhos
        for words, shares in (("shares of 2020", SHARES_2020), ("shares alike", {}))
    }


def attacked(goals: Goals, own: Country, blocks: int, spends: Mapping[str, tuple[str, Any, Any]]) -> None:
    """Rebuild so many blocks, taken at random, from exact tables and from each spend's, and print what came of it."""
    names = own.land.names[-1]
    rows = rows_by_block(own.people)
    national = own.people.drop_columns(["block"])
    chosen = np.random.default_rng(29).permutation(len(names))[:blocks]
    truths = [national.take(pa.array(rows[names[i]])) for i in chosen]

    def from_tables(tables: TablesOf) -> attack.Outcome:
        return pooled([rebuilt(tables(names[i]), t, national, own) for i, t in zip(chosen, truths, strict=True)])

    begun = time.process_time()
    plain = from_tables(exact(own))
    show(goals, "exact", "exact", plain, time.process_time() - begun)
    for name, spent in spends.items():
        published = publication(own, *spent)
        goal = "" if name == UNPROTECTED else "ours"
        begun = time.process_time()
        outcome = from_tables(integers(published))
        show(goals, name, goal, outcome, time.process_time() - begun)
        begun = time.process_time()
        guesser = Likeliest(own, published)
        right = sum(shared(guesser.people(i, t.num_rows), t, own) for i, t in zip(chosen, truths, strict=True))
        likeliest = replace(outcome, right=right, claims=None, false_claims=None)
        show(goals, f"{name}, likeliest", goal, likeliest, time.process_time() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=500)
    parser.add_argument("--largest", type=int, default=LARGEST)
    parser.add_argument("--widths", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rho", nargs="*", default=[])
    given = parser.parse_args()
    goals = Goals()
    adult = complete_adult(given.adult)
    for width in given.widths:
        ages = "years" if width == 1 else f"groups of {width} years"
        print(f"\n{given.blocks:,} blocks of 1 to {given.largest} people, ages in {ages}: people rebuilt")
        attacked(goals, country(adult, width, given.largest), given.blocks, spends_of(given.rho))
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
