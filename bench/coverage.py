"""Whether error bars keep their promise: how often the truth is within the released value ± its 95 % half-width.

    python bench/coverage.py [--runs 4000] [--only AVG] [--unit people]

The truth is the same statistic of the clamped and capped rows, without noise: an engine sums them once, and then noise
is drawn and the answer finished in every run. In each cell stands the coverage in percent, where less than 90 % of runs
have a value how many have, and the median half-width. Groups are of 20,000, 1,000, 60 and 4 rows: there is next to no
noise in the first and next to nothing else in the last.

A column that is not approximate has to cover 93 % at least, and 97 % at most where its noise spans ten steps of its
grid or more; an approximate one (~) 93 % at least in the large group, 88 % elsewhere; a quantile's error in rank 93 %.
Of rows that a query picks by their noisy values, all bars that are shown count together. A cell that breaks its
promise has an exclamation mark, and then the exit status is 1; cells with less than a twentieth of the runs are not
judged. What is approximate has half of the runs, quantiles and picked rows a quarter. With 4,000 runs a cell that
covers 95 % fails with probability 1e-8, an approximate one with 1e-5.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.privacy import Loss
from discreet.query import Group, GroupKey, Plan, draw, make_plan
from discreet.query.measures._bounded import complete

SIZES = {"large": 20_000, "middle": 1_000, "small": 60, "tiny": 4}
SPENDS: dict[str, Loss] = {
    "pure(1)": dp.pure(1),
    "pure(0.1)": dp.pure("0.1"),
    "approx(1, 1e-6)": dp.approx(1, "1e-6"),
    "rho(0.05)": dp.rho("0.05"),
    "mu(0.5)": dp.mu("0.5"),
}
WITH_DELTA: dict[str, Loss] = {"approx(1, 1e-6)": dp.approx(1, "1e-6"), "rho(0.05, 1e-6)": dp.rho("0.05", "1e-6")}
STATISTICS = [
    *("COUNT(*)", "COUNT(z)", "COUNT_IF(z > 2)", "COUNT(DISTINCT name)", "SUM(x)", "SUM(z)", "AVG(x)", "AVG(z)"),
    "SUM(x) FILTER (WHERE z > 2)",
    *("VAR_POP(x)", "VAR_SAMP(x)", "STDDEV_POP(x)", "STDDEV_SAMP(x)", "COVAR_POP(y, x)", "COVAR_SAMP(y, x)"),
    *("CORR(y, x)", "REGR_COUNT(y, z)", "REGR_AVGX(y, z)", "REGR_AVGY(y, z)", "REGR_SXX(y, x)", "REGR_SYY(y, x)"),
    *("REGR_SXY(y, x)", "REGR_SLOPE(y, x)", "REGR_INTERCEPT(y, x)", "REGR_R2(y, x)"),
    *("SUM(x) - 2 * SUM(y)", "100 * COUNT_IF(z > 2) / COUNT(*)", "SUM(x) / SUM(y)", "AVG(x) - AVG(y)"),
    *("AVG(x) / AVG(y)", "STDDEV_SAMP(x) / AVG(x)", "STDDEV_POP(x) / SQRT(COUNT(*))", "SUM(x) * COUNT(*)"),
    *("ABS(SUM(z))", "GREATEST(AVG(x), 4)", "GREATEST(AVG(x), AVG(y))", "ROUND(AVG(x), 1)", "SQRT(COUNT(*))"),
    *("CASE WHEN COUNT(*) > 30 THEN AVG(x) END", "COALESCE(VAR_SAMP(x), 0)"),
]
OF_PEOPLE = ["COUNT(DISTINCT who)", "SUM(x) / COUNT(DISTINCT who)"]
QUANTILES = [
    *("MEDIAN(x)", "MEDIAN(z)", "QUANTILE_CONT(x, 0.9)", "MIN(x)", "MAX(x)", "MEDIAN(w)"),
]
PICKED = [
    ("ROLLUP", "SELECT g, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY ROLLUP (g)", SPENDS),
    ("private keys", "SELECT h, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY h", WITH_DELTA),
    (
        "k chosen keys",
        "SELECT c, COUNT(DISTINCT who) AS n, AVG(x) AS a FROM t GROUP BY c ORDER BY n DESC LIMIT 3",
        SPENDS,
    ),
    ("k ranked keys", "SELECT c, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY c ORDER BY n DESC LIMIT 3", SPENDS),
    ("HAVING", "SELECT c, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY c HAVING n > 215", SPENDS),
]
COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": list(SIZES)},
    "h": {"type": "string"},
    "c": {"type": "int", "keys": list(range(100))},
    "x": {"type": "float", "bounds": [0, 10], "nullable": False},
    "y": {"type": "float", "bounds": [0, 20], "nullable": False},
    "z": {"type": "int", "bounds": [-2, 5]},
    "w": {"type": "int", "bounds": [0, 100_000]},
    "name": {"type": "int"},
}
LEAST, MOST, ROUGHLY, STEPS = 93.0, 97.0, 88.0, 10


def table() -> pa.Table:
    """Rows with values beyond their bounds and nulls; people with one to three rows, in up to three groups."""
    rng = np.random.default_rng(7)
    g = np.repeat(list(SIZES), list(SIZES.values())).tolist()
    rows = len(g)
    x = rng.normal(4, 2.5, rows)
    z = [None if i % 9 == 4 else int(v) for i, v in enumerate(rng.integers(-3, 7, rows))]
    columns = {"g": g, "h": g, "c": (100 * rng.beta(1, 1.05, rows)).astype(int), "x": x, "z": pa.array(z, pa.int64())}
    columns |= {"y": 3 + 1.2 * x + rng.normal(0, 3, rows), "w": rng.lognormal(6, 2, rows).astype(int)}
    return pa.table(columns | {"name": rng.integers(0, rows // 3, rows), "who": rng.permutation(rows) // 2})


def policies() -> Mapping[str, Policy]:
    """Where every row is another person, and where a person has at most 3 rows, or rows in at most 40 groups."""
    about = {"rows": {"unit": "rows", "columns": COLUMNS}}
    people = COLUMNS | {"who": {"type": "int"}}
    about["people"] = {"unit": "who", "max_rows": 3, "max_groups": 2, "columns": people}
    about["busy people"] = {"unit": "who", "max_rows": 40, "columns": people}
    return {unit: load_policy({"version": "1", "tables": {"t": each}}) for unit, each in about.items()}


def exact(engine: DuckDB, plan: Plan) -> list[list[Group]]:
    """What the engine sums, level by level, before noise."""
    return [complete(engine.run(level.bounded, bytes(16)), level.bounded) for level in plan.levels]


def repeated(plan: Plan, group: Group, runs: int) -> list[Group]:
    """So many independent draws of one group's noise."""
    (level,) = plan.levels
    assert level.noise is not None
    keys = (GroupKey("run", tuple(range(runs)), exp.column("run"), "int"),)
    copies = [replace(group, key=(run,)) for run in range(runs)]
    drawn = draw(copies, replace(level.bounded, keys=keys), level.noise)
    return [replace(each, key=group.key) for each in drawn]


def spans(plan: Plan, column: str) -> bool:
    """Whether every noise of a column spans ten steps of its grid or more."""
    noise = plan.levels[0].noise
    assert noise is not None
    return all(noise.mechanisms[i].error(0.95) >= STEPS for i in plan.measures_of(column))


def cell(hits: np.ndarray, halves: np.ndarray, runs: int, band: tuple[float, float]) -> tuple[str, bool]:
    """A cell of the table, and whether it keeps its promise."""
    if not len(hits):
        return f"{'-':<25}", True
    coverage, share = 100 * float(hits.mean()), len(hits) / runs
    good = band[0] <= coverage <= band[1] or share < 0.05
    known = f" of {100 * share:.0f} %" if share < 0.9 else ""
    shown = f"± {np.median(halves):.3g}{known}"
    return f"{coverage:5.1f}{' ' if good else '!'} {shown:<18}", good


def statistic(engine: DuckDB, policy: Policy, text: str, spend: Loss, runs: int) -> tuple[list[str], bool, bool]:
    """The cells of one statistic by group, whether it is approximate, and whether all keep their promise."""
    plan = make_plan(f"SELECT g, {text} AS a FROM t GROUP BY g", policy, spend)
    rounded = f"SELECT g, {text.removeprefix('ROUND(').removesuffix(', 1)')} AS a FROM t GROUP BY g"  # of the same sums
    (groups,) = exact(engine, plan)
    truths = make_plan(rounded, policy, spend).finish([groups]).table.column("a").to_pylist()
    rough, cells, good = plan.approximate("a"), list[str](), True
    runs = runs // 2 if rough else runs
    for size, group, truth in zip(SIZES, groups, truths, strict=True):
        answer = plan.finish([repeated(plan, group, runs)])
        values, halves = np.array(answer.table.column("a").to_pylist(), dtype=float), answer.error("a")
        known = ~np.isnan(values) & ~np.isnan(halves) & (truth is not None)
        hits = np.abs(values - (truth or 0.0))[known] <= halves[known]
        least = ROUGHLY if rough and size != "large" else LEAST
        most = MOST if spans(plan, "a") and not rough else 100.0
        shown, kept = cell(hits, halves[known], runs, (least, most))
        cells.append(shown)
        good = good and kept
    return cells, rough, good


def quantile(engine: DuckDB, policy: Policy, text: str, spend: Loss, runs: int) -> tuple[list[str], bool]:
    """The cells of one quantile, whose error is in rank; it holds for whatever data, so it may cover up to 100 %."""
    plan = make_plan(f"SELECT g, {text} AS a FROM t GROUP BY g", policy, spend)
    (groups,) = exact(engine, plan)
    (histogram,) = plan.levels[0].bounded.histograms
    within = plan.rank_error("a")
    assert within is not None
    cells, good = list[str](), True
    for group in groups:
        drawn = np.array([each.quantiles[0][0] for each in repeated(plan, group, runs)])
        places, counts = group.cells[0]
        at = np.rint(drawn / float(histogram.step)) - histogram.center
        total, wanted = counts.sum(), float(histogram.probabilities[0]) * counts.sum()
        below = np.concatenate([[0], np.cumsum(counts)])
        low, high = below[np.searchsorted(places, at, "left")], below[np.searchsorted(places, at, "right")]
        off = np.maximum(0, np.maximum(low - wanted, wanted - high))
        shown, kept = cell(off <= min(within, total), np.full(runs, within), runs, (LEAST, 100.0))
        cells.append(shown)
        good = good and kept
    return cells, good


def picked(engine: DuckDB, policy: Policy, text: str, spend: Loss, runs: int) -> Iterator[tuple[str, str, bool, bool]]:
    """For each column its cell over the rows that a query picks in each run, with the label and the verdict."""
    plan = make_plan(text, policy, spend)
    groups = exact(engine, plan)
    bare = plan.select.copy()
    for clause in ("having", "order", "limit"):
        bare.set(clause, None)
    truth = rows_of(replace(plan, select=bare).finish(groups).table, plan.noisy)
    hits: dict[str, list[bool]] = {name: [] for name in plan.noisy}
    halves: dict[str, list[float]] = {name: [] for name in plan.noisy}
    for _ in range(runs):
        noisy = [
            draw(here, level.bounded, level.noise)
            for here, level in zip(groups, plan.levels, strict=True)
            if level.noise
        ]
        answer = plan.finish(noisy)
        found = rows_of(answer.table, plan.noisy)
        for name in plan.noisy:
            for (key, values), half in zip(found.items(), answer.error(name), strict=True):
                if values[name] is not None and not math.isnan(half):
                    hits[name].append(abs(values[name] - truth[key][name]) <= half)
                    halves[name].append(float(half))
    for name in plan.noisy:
        rough = plan.approximate(name)
        most = MOST if spans(plan, name) and not rough else 100.0
        shown, good = cell(np.array(hits[name]), np.array(halves[name]), 1, (ROUGHLY if rough else LEAST, most))
        yield name, shown, rough, good


def rows_of(result: pa.Table, noisy: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows of a result by their keys."""
    return {tuple(v for k, v in row.items() if k not in noisy): row for row in result.to_pylist()}


def measured(runs: int, only: str, wanted: str) -> bool:
    """Print the table; whether every promise is kept."""
    promises: list[bool] = []
    data = table()
    sizes = "  ".join(f"{rows:,} rows".ljust(25) for rows in SIZES.values())
    print(f"{runs:,} runs                                        {sizes}")
    for unit, policy in ((unit, policy) for unit, policy in policies().items() if wanted in unit):
        with closing(DuckDB({"t": data}, policy)) as engine:
            texts = [] if unit == "busy people" else [*STATISTICS, *(OF_PEOPLE if unit == "people" else [])]
            for text in (each for each in texts if only in each):
                for spoken, spend in SPENDS.items():
                    cells, rough, good = statistic(engine, policy, text, spend, runs)
                    promises.append(good)
                    print(f"{unit:<7}{text[:28]:<29}{spoken:<16}{'~' if rough else ' '} {'  '.join(cells)}", flush=True)
            for text in (each for each in QUANTILES if only in each and unit != "busy people"):
                for spoken, spend in SPENDS.items():
                    cells, good = quantile(engine, policy, text, spend, runs // 4)
                    promises.append(good)
                    print(f"{unit:<7}{text[:28]:<29}{spoken:<16}  {'  '.join(cells)} in rank", flush=True)
            for title, text, spends in (each for each in PICKED if only in each[0]):
                if ("chosen" in title) != (unit == "busy people"):
                    continue
                for spoken, spend in spends.items():
                    for name, shown, rough, good in picked(engine, policy, text, spend, max(runs // 4, 1)):
                        promises.append(good)
                        about = f"{title}: {name}"
                        print(
                            f"{unit[:6]:<7}{about:<29}{spoken:<16}{'~' if rough else ' '} {shown} of all rows",
                            flush=True,
                        )
    print(f"\n{sum(promises):,} of {len(promises):,} lines keep their promise")
    return all(promises)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--unit", default="")
    chosen = parser.parse_args()
    raise SystemExit(0 if measured(chosen.runs, chosen.only, chosen.unit) else 1)
