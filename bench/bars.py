"""Whether all error bars together keep their promise on real data, those at limits included.

    python bench/bars.py [--adult adult.data] [--pums PUMS.csv] [--runs 100] [--epsilons 0.2 0.5 1]

Every row of Adult, as the UCI repository has it, and of a sample of PUMS with the columns age, educ, race, income and
married, is another person. Counts, sums, averages, deviations, shares, ratios and medians are asked over all rows, by
race × education as public keys, of which many have few people or nobody, and as private ones, with a count of people
and δ = 1e-6. The truth is the same answer without noise: an engine sums the rows once, and then noise is drawn and the
answer finished in every run, and five times as often over all rows, where an answer has one bar. A group of nobody has
no average: its bar is not counted there, but those of its counts and sums are. A bar is at a limit where what it is of
was moved to a bound: an average to an end of the column's bounds, a variance to 0 or its largest. Bars of medians are
in rank and hold for whatever data: they are not in the totals.

In a cell stands how many nominal 95 % bars hold, in percent, and of how many those at limits. The bars of a group in a
run are not independent, so what runs differ by gives the standard error of the totals.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

import discreet as dp
from coverage import exact
from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import Group, Plan, draw, make_plan
from discreet.query.results._answer import Answer
from discreet.query.results._statistics import read

DELTA = "1e-6"
BAND = (93.5, 97.5)
QUERIES = [
    "COUNT(*) AS count, SUM(age) AS sum, AVG(age) AS avg",
    "COUNT(*) AS count, STDDEV_SAMP(age) AS stddev",
    "COUNT(*) AS count, AVG(money) AS skewed_avg, SUM(money) AS skewed_sum, STDDEV_POP(money) AS skewed_stddev",
    "COUNT(*) AS count, AVG(yes) AS share, COUNT_IF(yes = 1) AS count_if, COUNT_IF(yes = 1) / COUNT(*) AS ratio",
    "COUNT(*) AS count, SUM(money) / SUM(age) AS ratio_of_sums, CORR(money, age) AS corr",
    "COUNT(*) AS count, MEDIAN(age) AS median",
]
MORE = 5
GROUPINGS = ("all rows", "public keys", "private keys")


@dataclass(slots=True)
class Tally:
    """By run, how many bars there were and how many of them held; the same of those at limits."""

    bars: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    at_limit: list[bool] = field(default_factory=list[bool])

    def add(self, run: int, held: np.ndarray, at_limit: np.ndarray) -> None:
        self.bars[run] += held.tolist()
        self.at_limit += held[at_limit].tolist()

    def merge(self, other: Tally) -> None:
        for run, held in other.bars.items():
            self.bars[run] += held
        self.at_limit += other.at_limit

    def __str__(self) -> str:
        every = [held for run in self.bars.values() for held in run]
        if not every:
            return f"{'-':<25}"
        limits = f" ({100 * float(np.mean(self.at_limit)):.1f} of {len(self.at_limit):,})" if self.at_limit else ""
        return f"{100 * float(np.mean(every)):5.1f}{limits}".ljust(25)

    def total(self) -> tuple[float, float, int]:
        """The coverage in percent, its standard error by runs, and the number of bars."""
        counts = np.array([(sum(run), len(run)) for run in self.bars.values() if run], dtype=float)
        mean = counts[:, 0].sum() / counts[:, 1].sum()
        error = math.sqrt(np.sum((counts[:, 0] - mean * counts[:, 1]) ** 2)) / counts[:, 1].sum()
        return 100 * mean, 100 * error, int(counts[:, 1].sum())


def adult(path: str) -> pa.Table:
    with Path(path).open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
    numbers = {"age": [int(row[0]) for row in rows], "money": [int(row[10]) for row in rows]}
    keys = {"race": [row[8] for row in rows], "educ": [row[3] for row in rows]}
    return pa.table(keys | numbers | {"yes": [int(row[14].startswith(">")) for row in rows]})


def pums(path: str) -> pa.Table:
    with Path(path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = {"age": "age", "money": "income", "yes": "married"}
    keys = {name: [row[name] for row in rows] for name in ("race", "educ")}
    return pa.table(keys | {name: [int(float(row[each])) for row in rows] for name, each in numbers.items()})


def made_up() -> pa.Table:
    rng = np.random.default_rng(1)
    race, educ = ([str(i) for i in rng.zipf(1.8, 20_000) % most] for most in (5, 16))
    age, yes = (rng.integers(low, high, 20_000).tolist() for low, high in ((17, 91), (0, 2)))
    return pa.table(
        {"race": race, "educ": educ, "age": age, "money": rng.lognormal(8, 2, 20_000).astype(int).tolist(), "yes": yes}
    )


def policy_of(table: pa.Table, *, public: bool) -> Mapping[str, Any]:
    keys = {name: {"type": "string"} for name in ("race", "educ")}
    if public:
        keys = {
            name: each | {"keys": sorted({str(key) for key in table[name].to_pylist()})} for name, each in keys.items()
        }
    bounds = {"age": [17, 90], "money": [0, 100_000], "yes": [0, 1]}
    numbers = {name: {"type": "int", "bounds": each, "nullable": False} for name, each in bounds.items()}
    return {"version": "1", "tables": {"t": {"unit": "rows", "columns": keys | numbers}}}


def limited(answer: Answer, column: str) -> np.ndarray:
    """In which rows an aggregate of a column was moved to a bound."""
    rows, basis = answer.table.num_rows, answer.basis
    if basis is None or column not in basis.items:
        return np.zeros(rows, dtype=bool)
    used = {leaf.name for leaf in basis.items[column].find_all(exp.Placeholder) if leaf.name in basis.aggregates}
    pairs = [
        (read(each, basis.sums).value, read(each, basis.sums, clamped=False).value)
        for name, each in basis.aggregates.items()
        if name in used
    ]
    return np.any([(moved != free) & ~np.isnan(free) for moved, free in pairs], axis=0)


def by_key(table: pa.Table, column: str) -> dict[tuple[Any, ...], float | None]:
    names = [name for name in ("race", "educ") if name in table.column_names]
    keys = zip(*(table[name].to_pylist() for name in names), strict=True) if names else [()]
    return dict(zip(keys, table[column].to_pylist(), strict=True))


def tally(plan: Plan, groups: list[list[Group]], runs: int) -> dict[str, Tally]:
    """The bars of each column over some runs, but those of medians."""
    (level,) = plan.levels
    assert level.noise is not None
    places = tuple((0.0,) * len(each.probabilities) for each in level.bounded.histograms)  # of medians, which are apart
    exactly = plan.finish([[replace(group, quantiles=places) for group in groups[0]]]).table
    names = [name for name in plan.noisy if plan.rank_error(name) is None]
    truths = {name: by_key(exactly, name) for name in names}
    people = by_key(exactly, "count")
    tallies = {name: Tally() for name in names}
    for run in range(runs):
        answer = plan.finish([draw(groups[0], level.bounded, level.noise)])
        for name in names:
            values = by_key(answer.table, name)
            rough = plan.approximate(name)
            true = np.array([truths[name][key] if people[key] or not rough else None for key in values], dtype=float)
            noisy, half = np.array(list(values.values()), dtype=float), answer.error(name)
            known = ~np.isnan(true) & ~np.isnan(noisy) & ~np.isnan(half)
            held = np.abs(noisy - true) <= half * (1 + 1e-9) + 1e-9
            tallies[name].add(run, held[known], limited(answer, name)[known])
    return tallies


def ranks(plan: Plan, groups: list[list[Group]], runs: int) -> Tally:
    """How often a median is as near in rank as it is said to be."""
    (level,) = plan.levels
    assert level.noise is not None
    (histogram,) = level.bounded.histograms
    within = plan.rank_error("median")
    assert within is not None
    result = Tally()
    cells = {group.key: group.cells[0] for group in groups[0] if group.cells}
    for run in range(runs):
        held = list[bool]()
        for group in draw(groups[0], level.bounded, level.noise):
            if group.key not in cells or not len(cells[group.key][1]):
                continue
            places, counts = cells[group.key]
            at = round(group.quantiles[0][0] / float(histogram.step)) - histogram.center
            total, below = counts.sum(), np.concatenate([[0], np.cumsum(counts)])
            low, high = (below[np.searchsorted(places, at, side)] for side in ("left", "right"))
            wanted = float(histogram.probabilities[0]) * total
            held.append(bool(max(0, low - wanted, wanted - high) <= min(within, total)))
        result.add(run, np.array(held, dtype=bool), np.zeros(len(held), dtype=bool))
    return result


def measured(name: str, table: pa.Table, options: argparse.Namespace) -> bool:
    """Print the table of one data set; whether the bars of each ε hold as often as they say."""
    print(f"\n{name}: {table.num_rows:,} people; bars that hold, %, and in brackets those at limits\n")
    print(f"{'':<32}" + "".join(f"ε = {each:g}".ljust(25) for each in options.epsilons))
    totals = {epsilon: Tally() for epsilon in options.epsilons}
    for grouping in GROUPINGS:
        together = {epsilon: Tally() for epsilon in options.epsilons}
        lines: dict[str, list[Tally]] = defaultdict(lambda: [Tally() for _ in options.epsilons])
        policy = load_policy(policy_of(table, public=grouping == "public keys"))
        keys = "" if grouping == "all rows" else "race, educ"
        runs = options.runs if keys else MORE * options.runs
        with closing(DuckDB({"t": table}, policy)) as engine:
            for query in QUERIES:
                text = f"SELECT {keys}, {query} FROM t GROUP BY {keys}" if keys else f"SELECT {query} FROM t"
                groups = None
                for at, epsilon in enumerate(options.epsilons):
                    spend = dp.approx(str(epsilon), DELTA) if grouping == "private keys" else dp.pure(str(epsilon))
                    plan = make_plan(text, policy, spend)
                    groups = exact(engine, plan) if groups is None else groups
                    for column, each in tally(plan, groups, runs).items():
                        lines[column][at].merge(each)
                        together[epsilon].merge(each)
                    if "MEDIAN" in query:
                        lines["median, in rank"][at].merge(ranks(plan, groups, runs))
        for column, line in lines.items():
            print(f"{grouping:<14}{column:<18}{''.join(map(str, line))}", flush=True)
        print(f"{grouping:<14}{'all but medians':<18}{''.join(map(str, together.values()))}\n", flush=True)
        for epsilon, each in together.items():
            totals[epsilon].merge(each)
    good = True
    for epsilon, each in totals.items():
        mean, error, bars = each.total()
        kept = BAND[0] <= mean <= BAND[1]
        good = good and kept
        verdict = "" if kept else f"; wanted {BAND[0]} to {BAND[1]}: MISSED"
        limits = f", of {len(each.at_limit):,} at limits {np.mean(each.at_limit):.1%}" if each.at_limit else ""
        print(f"all but medians, ε = {epsilon:g}: {mean:.2f} ± {error:.2f} % of {bars:,} bars hold{limits}{verdict}")
    return good


def main() -> bool:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult")
    parser.add_argument("--pums")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 0.5, 1.0])
    options = parser.parse_args()
    tables: dict[str, pa.Table] = {}
    if options.adult:
        tables["Adult"] = adult(options.adult)
    if options.pums:
        tables["PUMS"] = pums(options.pums)
    print(f"{options.runs} runs of each query")
    kept = [measured(name, table, options) for name, table in (tables or {"made up": made_up()}).items()]
    return all(kept)


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
