"""How much better the best split of a spend is than an even one, and when Gaussian noise beats Laplace noise.

    python bench/budgets.py [--runs 20000]

Measured: the root mean square error of each column over that many draws of the noise, in four groups of 500 made-up
rows, with the noise of the plan and with that of even shares. The geometric mean of their ratios is the objective of
the split: above 1, ours errs less. Exits with 1 if a ratio or a half-width that is wanted is missed.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian
from discreet.policy import load_policy
from discreet.privacy import Loss, MuLoss, PureLoss, RhoLoss, budget_of
from discreet.query import Group, Plan, make_plan

REGIONS = ["north", "east", "south", "west"]
ROWS = 500
QUERIES = {
    "three": "COUNT(*) AS n, SUM(age) AS total, AVG(age) AS mean",
    "three with a spread": "COUNT(*) AS n, AVG(age) AS mean, STDDEV(age) AS spread",
    "three of two columns": "AVG(age) AS mean, AVG(cost) AS costs, CORR(age, cost) AS r",
    "five": "COUNT(*) AS n, SUM(age) AS total, AVG(age) AS mean, STDDEV(age) AS spread, AVG(cost) AS costs",
}
WANTED = {"three": 0.98, "three with a spread": 1.02, "three of two columns": 1.15, "five": 1.05}
"""The least ratio of the even split's geometric mean to ours in pure epsilon, for each query."""

SPENDS: dict[str, Loss] = {"pure(1)": dp.pure(1), "rho(0.1)": dp.rho(0.1), "mu(0.5)": dp.mu(0.5)}
POLICY = {
    "version": "1",
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "region": {"type": "string", "keys": REGIONS},
                "age": {"type": "int", "bounds": [0, 100], "nullable": False},
                "cost": {"type": "float", "bounds": [0, 1000], "nullable": False},
            },
        }
    },
}


def table() -> pa.Table:
    """Ages about 40, with costs that rise with them."""
    dice = random.Random("budgets")
    ages = [min(max(round(dice.gauss(40, 18)), 0), 100) for _ in range(ROWS * len(REGIONS))]
    costs = [min(max(5 * age + dice.gauss(150, 120), 0.0), 1000.0) for age in ages]
    return pa.table({"region": [REGIONS[i % 4] for i in range(len(ages))], "age": ages, "cost": costs})


def even(plan: Plan, spend: Loss) -> list[Any]:
    """The noise that even shares of the spend buy."""
    name, (main, *_) = budget_of(spend)
    (level,) = plan.levels
    each = main / len(level.norms)
    kind = {"pure": DiscreteLaplace, "rho": DiscreteGaussian, "mu": Gaussian}[name]
    price = {"pure": PureLoss(each), "rho": RhoLoss(each, Fraction(0)), "mu": MuLoss(each, Fraction(0))}[name]
    return [kind.calibrate(price, norms) for norms in level.norms]


def errors(plan: Plan, groups: Sequence[Group], noises: Sequence[Any], runs: int) -> dict[str, float]:
    """The root mean square error of each column over all groups and runs."""
    many = [group for group in groups for _ in range(runs)]
    columns = [noise.release([group.sums[i] for group in many]) for i, noise in enumerate(noises)]
    noisy = [Group(group.key, 0, tuple(int(c[at]) for c in columns)) for at, group in enumerate(many)]
    drawn, exact = plan.finish([noisy]).table, plan.finish([many]).table
    found: dict[str, float] = {}
    for name in plan.noisy:
        off = np.asarray(drawn.column(name), dtype=float) - np.asarray(exact.column(name), dtype=float)
        found[name] = float(np.sqrt(np.nanmean(off**2)))
    return found


def splits(runs: int) -> bool:
    """The table of errors; whether every ratio that is wanted is there."""
    print(f"root mean square error, even split → best split, {runs:,} runs, 4 groups of {ROWS} rows\n")
    good = True
    policy = load_policy(POLICY)
    with closing(DuckDB({"t": table()}, policy)) as engine:
        for title, items in QUERIES.items():
            text = f"SELECT region, {items} FROM t GROUP BY region"
            for spoken, spend in SPENDS.items():
                plan = make_plan(text, policy, spend)
                groups = engine.run(plan.levels[0].bounded, bytes(16))
                noise = plan.levels[0].noise
                assert noise is not None
                before = errors(plan, groups, even(plan, spend), runs)
                after = errors(plan, groups, noise.mechanisms, runs)
                ratio = math.exp(sum(math.log(before[name] / after[name]) for name in before) / len(before))
                cells = ", ".join(f"{name} {before[name]:.4g} → {after[name]:.4g}" for name in before)
                verdict = ""
                if spoken == "pure(1)":
                    missed = ratio < WANTED[title]
                    good = good and not missed
                    verdict = f"; wanted {WANTED[title]:g} at least{': MISSED' if missed else ''}"
                shares = " ".join(f"{float(100 * share):.0f}" for share in noise.shares)
                print(f"  {title:<22}{spoken:<10}{ratio:.3f}×  {cells}; shares {shares} %{verdict}", flush=True)
    return good


def kinds() -> bool:
    """Counts of people by group under (1, 1e-6), with what a pure ε of 1 buys beside it."""
    print("\nCOUNT(DISTINCT person) by 100 public keys, a person in up to g groups, half-width at 95 %\n")
    good = True
    for most in (1, 5, 10, 20, 50, 100):
        columns = {"u": {"type": "int"}, "k": {"type": "int", "keys": list(range(100))}}
        about = {"unit": "u", "max_rows": most, "columns": columns}
        policy = load_policy({"version": "1", "tables": {"t": about}})
        text = "SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k"
        laplace, chosen = (make_plan(text, policy, spend) for spend in (dp.pure(1), dp.approx(1, 1e-6)))
        noise = chosen.levels[0].noise
        assert noise is not None
        halves = [plan.error("n") or math.nan for plan in (laplace, chosen)]
        good = good and halves[1] <= halves[0]
        kind = type(noise.mechanisms[0]).__name__
        print(f"  g = {most:<4} pure(1) ± {halves[0]:<6g} approx(1, 1e-6) ± {halves[1]:<6g} {kind}", flush=True)
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    chosen = parser.parse_args()
    verdicts = [splits(chosen.runs), kinds()]
    raise SystemExit(0 if all(verdicts) else 1)
