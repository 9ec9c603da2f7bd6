"""The four jobs of a query engine over people: CPU seconds and memory, private against plain DuckDB, and how they grow.

    python bench/engine.py [--rows 1000000 10000000] [--jobs A B C D] [--runs 3] [--large]

A: COUNT, SUM and AVG by 20 public regions (`rows`: the same where each row is a person); B: the same by 200 private
categories; C: the median by region; D: distinct people. Ten rows of a person, a tenth as many people as rows, at most
10 rows and 5 groups each, which bites for a quarter of the people. --large adds 100 M rows, a file of 1.6 GB that takes
minutes to make. Every run is a process of its own, in turn: user and system seconds of the whole process from a first
query of a thousand rows on, and its peak memory.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from data import REGIONS, purchases

SUMS = "COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a"
JOBS = {
    "A": f"SELECT region, {SUMS} FROM t GROUP BY region",
    "rows": f"SELECT region, {SUMS} FROM t GROUP BY region",
    "B": f"SELECT category, {SUMS} FROM t GROUP BY category",
    "C": "SELECT region, MEDIAN(amount) AS m FROM t GROUP BY region",
    "D": "SELECT COUNT(DISTINCT person_id) AS p FROM t",
}
LARGE = 100_000_000


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def plain(sql: str, path: str) -> None:
    import duckdb

    duckdb.connect().execute(sql.replace("FROM t", f"FROM '{path}'")).fetchall()


def private(name: str, path: str) -> None:
    import discreet as dp

    columns = {
        "region": {"type": "string", "keys": REGIONS},
        "category": {"type": "string"},
        "amount": {"type": "float", "bounds": [0, 1000]},
    }
    unit = {"unit": "rows"} if name == "rows" else {"unit": "person_id", "max_rows": 10, "max_groups": 5}
    policy = {"version": "1", "budget": {"epsilon": 1, "delta": 1e-6}, "tables": {"t": {**unit, "columns": columns}}}
    with dp.connect({"t": path}, policy) as session:
        session.sql(JOBS[name], spend=dp.approx(1, 1e-6) if name == "B" else dp.pure(1))


def job(way: str, name: str, path: str) -> None:
    """One job in this process; prints CPU and wall seconds, and peak memory in MB."""
    small = str(purchases(1_000, 100))
    plain(JOBS[name], small) if way == "plain" else private(name, small)
    started, wall = cpu(), time.perf_counter()
    plain(JOBS[name], path) if way == "plain" else private(name, path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(cpu() - started, time.perf_counter() - wall, peak)


def asked(way: str, name: str, path: str) -> tuple[float, ...] | None:
    """The figures of one run; None if the query is refused."""
    command = [sys.executable, __file__, "--job", way, name, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "QueryError" in done.stderr:
        return None
    done.check_returncode()
    return tuple(map(float, done.stdout.split()))


def measured(name: str, path: str, runs: int) -> tuple[list[float], list[float]] | None:
    """Medians of the private job, and of the plain one; None if it is refused."""
    found: dict[str, list[tuple[float, ...]]] = {"plain": [], "private": []}
    for _ in range(runs):
        for way, so_far in found.items():
            figures = asked(way, name, path)
            if figures is None:
                return None
            so_far.append(figures)
    private_, plain_ = (
        [statistics.median(column) for column in zip(*found[way], strict=True)] for way in ("private", "plain")
    )
    return private_, plain_


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    sizes = [*options.rows, LARGE] if options.large else options.rows
    for size in (1_000, *sizes):  # in a process of its own: the peak memory of a parent shows in its children
        subprocess.run([sys.executable, __file__, "--make", str(size)], check=True)
    print(f"medians of {options.runs} runs in turn\n")
    print(f"{'job':<6}{'rows':>13}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}{'plain CPU s':>13}{'× plain':>9}{'s/M':>10}")
    for name in options.jobs:
        for size in sizes:
            path = purchases(size, size // 10)
            figures = measured(name, str(path), options.runs)
            if figures is None:
                print(f"{name:<6}{size:>13,}  refused")
                continue
            (used, wall, peak), (other, *_) = figures
            line = f"{name:<6}{size:>13,}{used:>8.2f}{wall:>8.2f}{peak:>9.0f}{other:>13.2f}{used / other:>9.1f}"
            print(f"{line}{used / size * 1e6:>10.3f}", flush=True)
    for size in sizes:
        print(f"\n{size:,} rows are {Path(purchases(size, size // 10)).stat().st_size / 1e6:,.0f} MB of Parquet")


if __name__ == "__main__":
    if "--job" in sys.argv:
        job(*sys.argv[2:])
    elif "--make" in sys.argv:
        purchases(int(sys.argv[2]), int(sys.argv[2]) // 10)
    else:
        main()
