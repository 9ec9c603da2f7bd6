"""Statistical tables of a country that is made up: errors beside top-down, speed, shares, intervals.

    python bench/census.py [--runs N] [--coverage N]

The country has 3.3 million people, 126 cells and six levels of 1, 8, 77, 1,568, 7,887 and 63,160 areas. Top-down is
the same non-negative least squares level by level on the same measurements, without those of the levels below. Times
are CPU seconds of one process. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import discreet as dp
from discreet import census
from discreet.census._report import report_of
from discreet.census.estimates import Errors, Estimate, Layout, half_widths, weighted_error
from discreet.marginals import ColumnCells
from discreet.marginals.trees import Tree, integers_near
from discreet.noise import discrete_gaussian
from goals import Goals

LEVELS = ("country", "state", "county", "tract", "group", "block")
SIZES = (1, 8, 77, 1_568, 7_887, 63_160)
SHARES = (104, 1_440, 447, 687, 1_256, 165)
PEOPLE, AGES, TOTALS = 3_300_000, 63, Fraction(3, 10)
Counts = NDArray[np.int64]


def at_most(goals: Goals, name: str, value: float, most: float) -> None:
    goals.line(name, f"{value:.3f}", f"at most {most:g}", value <= most)


def at_least(goals: Goals, name: str, value: float, least: float) -> None:
    goals.line(name, f"{value:.4f}", f"at least {least:g}", value >= least)


def made_up(seed: int) -> tuple[Tree, Counts]:
    """A tree of areas, and the people of each block by cell: skewed by tract, with empty blocks."""
    draws = np.random.default_rng(seed)
    parents: list[Counts] = []
    for above, below in pairwise(SIZES):
        more = draws.multinomial(below - above, draws.dirichlet(np.full(above, 8.0)))
        parents.append(np.repeat(np.arange(above), 1 + more))
    blocks = draws.lognormal(3.6, 1.2, SIZES[-1]) * (draws.random(SIZES[-1]) >= 0.3)
    blocks *= PEOPLE / blocks.sum()
    usual = draws.dirichlet(np.full(2 * AGES, 0.15))
    by_tract = draws.dirichlet(usual * 40 + 1e-3, SIZES[3])
    tract = parents[3][parents[4]]
    return Tree(tuple(parents)), draws.poisson(by_tract[tract] * blocks[:, None]).astype(np.int64)


def geography_of(tree: Tree) -> census.Geography:
    levels = LEVELS[: tree.levels]
    names = [tuple(f"{level[:2]}{i:06d}" for i in range(size)) for level, size in zip(levels, tree.sizes, strict=True)]
    return census.Geography(levels, tuple(names), tree)


def layout_of(tree: Tree) -> Layout:
    """The tables of the country: the total, and age by sex."""
    names = tuple(
        tuple(f"{level[:2]}{i:06d}" for i in range(size)) for level, size in zip(LEVELS, tree.sizes, strict=True)
    )
    land = census.Geography(LEVELS, names, tree)
    shares = {
        level: {"total": TOTALS * share, "age_sex": (1 - TOTALS) * share}
        for level, share in zip(LEVELS, SHARES, strict=True)
    }
    spec = census.Spec("people", land, {"total": (), "age_sex": ("age", "sex")}, shares=shares)
    ages = ColumnCells("age", "int", nullable=False, keys=tuple(range(10, 10 + AGES)))
    return Layout(spec, (ages, ColumnCells("sex", "string", nullable=False, keys=("F", "M"))))


def noise_of(layout: Layout, rho: float) -> dict[Any, float]:
    return {each: 1 / (2 * rho * float(share)) for each, share in layout.shares().items()}


def measured(truth: list[Counts], noise: dict[Any, float]) -> dict[Any, Counts]:
    counts: dict[Any, Counts] = {}
    for (level, name), variance in noise.items():
        exact = truth[LEVELS.index(level)]
        exact = exact if name == "age_sex" else exact.sum(axis=1, keepdims=True)
        counts[level, name] = exact + discrete_gaussian(variance**0.5, exact.size).reshape(exact.shape)
    return counts


def errors_beside_top_down(goals: Goals, runs: int) -> None:
    tree, people = made_up(1)
    layout, truth = layout_of(tree), tree.sums(people)
    noise = noise_of(layout, 1.0)
    errors = Errors(layout, noise)
    squared, moved = np.zeros((2, len(LEVELS))), np.zeros((2, len(LEVELS)))
    seconds: list[tuple[float, float]] = []
    bends: Bends = {}
    for _ in range(runs):
        counts = measured(truth, noise)
        start = time.process_time()
        estimate = Estimate(errors, counts)
        _ = estimate.components
        middle = time.process_time()
        ours = tree.sums(integers(tree, lambda level, e=estimate: e.cells(level, layout.detail)))
        seconds.append((middle - start, time.process_time() - middle))
        add_bends(bends, estimate, ours, truth)
        alone = [
            Estimate(Errors(layout, only), counts)
            for only in ({k: v for k, v in noise.items() if k[0] == each} for each in LEVELS)
        ]
        top_down = tree.sums(integers(tree, lambda level, each=alone: each[level].cells(level, layout.detail)))
        for place, integer in enumerate((ours, top_down)):
            for level, (whole, exact) in enumerate(zip(integer, truth, strict=True)):
                off = whole.reshape(exact.shape) - exact
                squared[place, level] += np.mean(off.sum(axis=1) ** 2) / runs
                moved[place, level] += np.abs(off).mean() / runs
    ratios = np.sqrt(squared[0] / squared[1])
    print(f"errors of totals over {runs} runs, ours / top-down by level:", ratios.round(3))
    print("mean absolute error of cells by level, ours:", moved[0].round(3), "top-down:", moved[1].round(3))
    squares, near = np.median(seconds, axis=0)
    print(f"least squares {squares:.2f} s, integers {near:.2f} s (medians)")
    at_most(goals, "totals, worst level / top-down", float(ratios.max()), 1.005)
    for level, most in (("county", 0.96), ("tract", 0.84), ("group", 0.98)):
        at_most(goals, f"totals of each {level} / top-down", float(ratios[LEVELS.index(level)]), most)
    at_most(goals, "cells of blocks, mean absolute error", float(moved[0, -1]), 0.21)
    at_most(goals, "least squares, CPU s", float(squares), 1.0)
    show_bends(goals, bends)


Bends = dict[tuple[str, str], list[tuple[float, float, float, float, int]]]


def add_bends(bends: Bends, estimate: Estimate, ours: list[Counts], truth: list[Counts]) -> None:
    """What a report states of each size of area, beside published less true and less unbiased totals."""
    for row in report_of(estimate, ours).rows:
        level = LEVELS.index(row.level)
        unbiased, values = estimate.table(level, ()), ours[level].sum(axis=1)
        low = -np.inf if row.least == 0 else row.least - 0.5
        inside = (unbiased >= low) & (unbiased < (np.inf if row.most is None else row.most + 0.5))
        true, naive = (float((values - other)[inside].mean()) for other in (truth[level].sum(axis=1), unbiased))
        bends.setdefault((row.level, row.size), []).append((row.bend, row.bend_error, true, naive, row.areas))


def show_bends(goals: Goals, bends: Bends) -> None:
    print("bend of totals by size of the unbiased total: stated, true, and published less unbiased; in people")
    inside, pairs, worst = 0, 0, 0.0
    for (level, size), rows in bends.items():
        stated, error, true, naive, areas = np.array(rows).T
        off = float(((stated - true) * areas).sum() / np.sqrt(((error * areas) ** 2).sum()))
        print(
            f"  {level:<8} {size:<20} {areas.mean():>9,.0f} areas {np.average(stated, weights=areas):+8.2f}"
            f" ± {error.mean():.2f}  true {np.average(true, weights=areas):+8.2f}"
            f"  less unbiased {np.average(naive, weights=areas):+8.2f}  {off:+.1f} standard errors off in all runs"
        )
        inside += int((np.abs(stated - true) <= 1.96 * error).sum())
        pairs += len(rows)
        worst = max(worst, abs(off)) if areas.sum() >= 30 * len(rows) else worst
    at_least(goals, f"stated bends within 1.96 standard errors, of {pairs}", inside / pairs, 0.93)
    at_most(goals, "stated bends over all runs, most standard errors off", worst, 4.0)


def by_level(noise: dict[Any, float]) -> list[dict[Any, float]]:
    return [{each: variance for each, variance in noise.items() if each[0] == level} for level in LEVELS]


def integers(tree: Tree, cells: Any) -> Counts:
    def flat(level: int) -> NDArray[np.float64]:
        return cells(level).reshape(tree.sizes[level], -1)

    return integers_near(tree, lambda level: flat(level).sum(axis=1), flat)


def automatic_shares(goals: Goals) -> None:
    tree, _ = made_up(1)
    layout = layout_of(tree)
    policy = policy_of()
    start = time.process_time()
    auto = census.plan_question(census.Publish(replace(layout.spec, shares="auto", column="block"), dp.rho(1)), policy)
    given = Errors(layout, noise_of(layout, 1.0))
    ratio = weighted_error(auto.errors) / weighted_error(given)
    print(f"automatic shares: error {ratio:.3f} of that of the 2020 shares, {time.process_time() - start:.1f} CPU s")
    at_most(goals, "automatic shares, error / that of 2020 shares", ratio, 0.85)


def policy_of() -> Any:
    from discreet.policy import load_policy

    columns = {
        "block": {"type": "string"},
        "age": {"type": "int", "bounds": [10, 9 + AGES], "nullable": False},
        "sex": {"type": "string", "keys": ["F", "M"], "nullable": False},
    }
    tables = {"people": {"unit": "rows", "columns": columns}}
    return load_policy({"version": "1", "budget": {"rho": 9}, "tables": tables})


def whole_run(goals: Goals) -> None:
    """The country from rows to files, on DuckDB."""
    tree, people = made_up(1)
    layout = layout_of(tree)
    rows, cells = np.nonzero(people)
    repeats = people[rows, cells]
    block, cell = np.repeat(rows, repeats), np.repeat(cells, repeats)
    names = pa.array(layout.spec.geography.names[-1])
    table = pa.table({
        "block": names.take(pa.array(block)),
        "age": cell // 2 + 10,
        "sex": pa.array(["F", "M"]).take(pa.array(cell % 2)),
    })  # fmt: skip
    spec = replace(layout.spec, column="block", cells={"age": AGES})
    with dp.connect({"people": table}, policy_of()) as session:
        start = time.process_time()
        published = census.publish(session, spec, dp.rho(1))
        seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"published {published.total().value:,} people: {seconds:.1f} CPU s with counting, {memory:.2f} GB at most")
    print(published.report())
    at_most(goals, "the country with counting, CPU s", seconds, 20.0)


def coverage(goals: Goals, runs: int) -> None:
    """How often intervals at 95 % hold the truth, over cells of every level, and unions of blocks drawn at random."""
    draws = np.random.default_rng(3)
    parents = (np.zeros(3, np.int64), np.repeat(np.arange(3), 4), np.repeat(np.arange(12), 5))
    tree = Tree(parents)
    shares = {"country": 1, "state": 2, "county": 3, "tract": 3}
    spec = census.Spec("people", geography_of(tree), {"total": (), "age_sex": ("age", "sex")}, shares=shares)
    ages = ColumnCells("age", "int", nullable=False, keys=tuple(range(6)))
    layout = Layout(spec, (ages, ColumnCells("sex", "string", nullable=False, keys=("F", "M"))))
    truth = tree.sums(draws.poisson(4.0, (tree.sizes[-1], 12)).astype(np.int64))
    for rho in (0.5, 0.005):
        noise = noise_of(layout, rho)
        errors = Errors(layout, noise)
        inside, pairs, off = np.zeros(5), np.zeros(5), np.zeros(5)
        unions = [draws.random(tree.sizes[-1]) < 0.4 for _ in range(20)]
        widths = [
            float(
                half_widths(
                    np.array(
                        [
                            errors.variance_of_sum(
                                [None, None, None, union.astype(float)], layout.detail, np.ones((6, 2))
                            )
                        ]
                    ),
                    0.95,
                    heavy=False,
                )[0]
            )
            for union in unions
        ]
        for _ in range(runs):
            counts = measured(truth, noise)
            estimate = Estimate(errors, counts)
            for level in range(4):
                missed = estimate.table(level, layout.detail).reshape(tree.sizes[level], -1) - truth[level]
                half = half_widths(errors.cell_variance(level, layout.detail), 0.95, heavy=False)[:, None]
                inside[level] += (np.abs(missed) <= half).sum()
                pairs[level] += missed.size
                off[level] += missed.sum()
            leaves = estimate.table(3, ()) - truth[3].sum(axis=1)
            for union, half in zip(unions, widths, strict=True):
                inside[4] += abs(leaves[union].sum()) <= half
                pairs[4] += 1
        print(
            f"rho {rho}: coverage by level, and of unions:", (inside / pairs).round(4), f"of {int(pairs.sum()):,} pairs"
        )
        at_least(goals, f"coverage at rho {rho}, worst", float((inside / pairs).min()), 0.945)
        if rho < 0.1:
            at_most(goals, f"coverage at rho {rho}, most", float((inside / pairs).max()), 0.955)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--coverage", type=int, default=4_000)
    options = parser.parse_args()
    goals = Goals()
    errors_beside_top_down(goals, options.runs)
    automatic_shares(goals)
    coverage(goals, options.coverage)
    whole_run(goals)
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
