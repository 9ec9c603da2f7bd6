"""COUNT, SUM and AVG by 20 public regions over 10 M rows of 1 M people: private against plain DuckDB, in turn.

    python bench/queries.py [ROWS]

Medians of CPU seconds and of their ratio to the plain query, pair by pair. Each job runs in a process of its own.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

from data import REGIONS, purchases

SQL = "SELECT region, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM t GROUP BY region"
RUNS = 5


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def plain(path: str) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute(SQL.replace("FROM t", f"FROM '{path}'")).fetchall()


def private(path: str, unit: str) -> None:
    import discreet as dp

    columns = {"region": {"type": "string", "keys": REGIONS}, "amount": {"type": "float", "bounds": [0, 1000]}}
    caps = {} if unit == "rows" else {"max_rows": 10, "max_groups": 5}
    table = {"unit": unit, **caps, "columns": columns}
    policy = {"version": "1", "budget": {"epsilon": 1}, "tables": {"t": table}}
    with dp.connect({"t": path}, policy) as session:
        session.sql(SQL, spend=dp.pure(1))


def job(name: str, path: str) -> None:
    """One job in this process; prints CPU and wall seconds, and peak memory in MB.

    A thousand rows go first, so that imports are left out: startup.py measures those.
    """
    few = str(purchases(1_000, 100))
    plain(few) if name == "plain" else private(few, name)
    started, wall = cpu(), time.perf_counter()
    plain(path) if name == "plain" else private(path, name)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(cpu() - started, time.perf_counter() - wall, peak)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    for size in (1_000, rows):  # in a process of its own: the peak memory of a parent shows in its children
        subprocess.run([sys.executable, __file__, "--make", str(size)], check=True)
    path = str(purchases(rows, rows // 10))
    jobs = ["plain", "rows", "person_id"]
    figures: dict[str, list[tuple[float, ...]]] = {name: [] for name in jobs}
    for _ in range(RUNS):
        for name in jobs:
            line = subprocess.run(
                [sys.executable, __file__, "--job", name, path], check=True, capture_output=True, text=True
            ).stdout
            figures[name].append(tuple(map(float, line.split())))
    print(f"{rows:,} rows, {RUNS} runs in turn; CPU seconds, medians\n")
    print(f"{'unit':<12}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}{'× plain':>9}")
    for name in jobs:
        ratio = statistics.median(a[0] / b[0] for a, b in zip(figures[name], figures["plain"], strict=True))
        middle = [statistics.median(column) for column in zip(*figures[name], strict=True)]
        print(f"{name:<12}{middle[0]:>8.2f}{middle[1]:>8.2f}{middle[2]:>9.0f}{ratio:>9.1f}")


if __name__ == "__main__":
    if "--job" in sys.argv:
        job(*sys.argv[2:])
    elif "--make" in sys.argv:
        purchases(int(sys.argv[2]), int(sys.argv[2]) // 10)
    else:
        main()
