"""Ranges of a histogram: error and CPU beside the bound, the plain and the data-aware strategy. Means of runs.

python bench/histograms.py [folder of data] [runs]
The folder has adult_raw.data and snap_facebook_combined.txt, which are not shipped. The shares and thresholds of the
data-aware histogram were chosen on these four columns, so that its figures here are the best that it will show.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dp
from discreet.census.histograms import CountCells, Histogram, PreparedHistogram
from discreet.census.histograms._plan import histogram_plan
from discreet.policy import load_policy
from discreet.release import ReleaseContext, Terms

CELLS, RANGES = 4_096, 2_000
SEEDED = np.random.default_rng(20_261_126)


def columns(folder: Path) -> dict[str, np.ndarray]:
    """The exact counts by cells of each column."""
    rows = [line.split(", ") for line in (folder / "adult_raw.data").read_text().splitlines() if line.strip()]
    tops = {"fnlwgt": (2, 1_500_000), "capital-gain": (10, 100_000), "capital-loss": (11, 5_000)}
    counts = {}
    for name, (place, top) in tops.items():
        values = np.array([int(row[place]) for row in rows])
        counts[name] = np.bincount(np.clip(values * CELLS // top, 0, CELLS - 1), minlength=CELLS)
    lines = (folder / "snap_facebook_combined.txt").read_text().splitlines()
    edges = int(lines[0].split()[0])
    ends = np.array([line.split() for line in lines[1 : edges + 1]], int)
    counts["facebook"] = np.bincount(ends.ravel(), minlength=CELLS)
    return counts


def prepared(spend: dp.Loss, cells: int = CELLS, workload: str = "ranges", *, aware: bool = False) -> PreparedHistogram:
    column = {"type": "int", "bounds": [1, cells], "nullable": False}
    policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": column}}}}
    question = CountCells("x", spend, cells, workload, data_aware=aware)
    return question.prepare(Terms.of_policy(load_policy(policy)))


def drawn(question: PreparedHistogram, counts: np.ndarray) -> Histogram:
    def counted(request: Any, salt: bytes) -> tuple[Any, ...]:  # noqa: ARG001
        return (counts,)

    def refused(*_: Any) -> Any:
        raise NotImplementedError

    return question.answer(ReleaseContext(question.policy, refused, counted, dict))


def off(estimate: np.ndarray, counts: np.ndarray) -> float:
    """The root mean square error of random ranges."""
    ends = np.sort(SEEDED.integers(0, CELLS, (RANGES, 2)), axis=1)
    running = np.concatenate([[0], np.cumsum(estimate - counts)])
    return float(np.sqrt(np.mean((running[ends[:, 1] + 1] - running[ends[:, 0]]) ** 2)))


def pure(counts: dict[str, np.ndarray], epsilon: str, runs: int) -> None:
    plain, aware = prepared(dp.pure(epsilon)), prepared(dp.pure(epsilon), aware=True)
    plan, by_plan = histogram_plan(plain), histogram_plan(aware)
    print(f"pure {epsilon}: planned {plan.error:.1f}, least {plan.bound:.1f}, {plan.strategy}")
    print(f"  data-aware: unbiased numbers planned to be within {by_plan.error:.1f}")
    errors = []
    for name, exact in counts.items():
        begin, each = time.process_time(), []
        for _ in range(runs):
            made = drawn(plain, exact)
            unbiased = made.estimates.unbiased
            each.append([off(unbiased, exact), off(np.array(made.values), exact)])
        middle = time.process_time()
        drawings = [drawn(aware, exact) for _ in range(runs)]
        by_data = [(off(np.array(made.values), exact), off(made.estimates.unbiased, exact)) for made in drawings]
        end = time.process_time()
        errors.append([*np.mean(each, axis=0), *np.mean(by_data, axis=0)])
        parted = sum(made.partition is not None for made in drawings) / runs
        seconds = f"{(middle - begin) / runs:.2f} and {(end - middle) / runs:.2f} CPU s"
        print(f"  {name:13}{_shown(errors[-1])}  {seconds}; {parted:.0%} by a partition")
    print(f"  mean         {_shown(np.mean(errors, axis=0))}")


def _shown(errors: Any) -> str:
    unbiased, released, aware, aware_unbiased = errors
    return (
        f" unbiased {unbiased:7.1f}  released {released:7.1f}  data-aware {aware:7.1f} ({aware / released:.2f} x), "
        f"unbiased {aware_unbiased:7.1f}"
    )


def gaussian() -> None:
    for workload in ("ranges", "prefixes"):
        for cells in (1_024, 4_096):
            begin = time.process_time()
            plan = histogram_plan(prepared(dp.rho("0.01"), cells, workload))
            seconds = time.process_time() - begin
            ratio = plan.error / plan.bound
            print(
                f"rho .01, {workload} of {cells:,} cells: {plan.error:.2f}, {ratio:.4f} x the SVD bound, {seconds:.2f}s"
            )


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    gaussian()
    if (folder / "adult_raw.data").exists():
        data = columns(folder)
        for epsilon in ("0.01", "0.03", "0.1", "0.3", "1"):
            pure(data, epsilon, runs)
    else:
        print(f"no data in {folder}: only what is planned is shown")
