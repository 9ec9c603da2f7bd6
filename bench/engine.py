"""The jobs of a query engine over people, side by side with plain DuckDB and peers: CPU seconds, memory, and growth.

    python bench/engine.py [--install-peers] [--rows 1000000 10000000] [--jobs A B C D] [--runs 3] [--peer-runs 1]
    python bench/engine.py --scale [--jobs A B]

A: COUNT, SUM and AVG by 20 public regions (`rows`: the same where each row is a person; `text`: with texts of 36
characters as people); B: the same by 200 private categories; C: the median by region; D: distinct people, and the same
by region. Ten rows of a person, a tenth as many people as rows, at most 10 rows and 5 groups each, which bites for a
quarter of the people. Every run is a process of its own, in turn: user and system seconds of the whole process after a
first query of a thousand rows, and its peak memory.

--scale asks 1 M, 10 M and 100 M rows, the last a file of 1.6 GB that is deleted afterwards, and says how the cost of a
row grows. Peers live in environments of their own; what is not installed is left out. Tumult needs Spark and is.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

from data import REGIONS, purchases, texted
from peering import HERE, asked, install, python_of

SUMS = "COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a"
BY_REGION = f"SELECT region, {SUMS} FROM t GROUP BY region"
BY_CATEGORY = f"SELECT category, {SUMS} FROM t GROUP BY category"
JOBS = {
    "A": BY_REGION,
    "A rows": BY_REGION,
    "A text": BY_REGION,
    "B": BY_CATEGORY,
    "B text": BY_CATEGORY,
    "C": "SELECT region, MEDIAN(amount) AS m FROM t GROUP BY region",
    "D": "SELECT COUNT(DISTINCT person_id) AS p FROM t",
    "D by region": "SELECT region, COUNT(DISTINCT person_id) AS p FROM t GROUP BY region",
}
WANTED = {"A": 2.5, "A rows": 0.5, "B": 4.0, "C": 3.0, "D": 3.0, "D by region": 3.0}
"""CPU seconds at 10 M rows."""
PEERS = {"opendp": "opendp", "smartnoise": "smartnoise", "pipelinedp": "pipelinedp"}
MOST_ROWS = {"opendp": 10_000_000, "smartnoise": 1_000_000, "pipelinedp": 1_000_000}
"""More would take minutes: the peers at 1 M rows in Python's own lists and frames."""
SCALE = (1_000_000, 10_000_000, 100_000_000)
GROWTH = 1.1
LIMIT_SECONDS = 400
Figures = tuple[float, float, float]


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def made(name: str, rows: int) -> str:
    return str((texted if name.endswith("text") else purchases)(rows, rows // 10))


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
    unit = {"unit": "rows"} if name == "A rows" else {"unit": "person_id", "max_rows": 10, "max_groups": 5}
    policy = {"version": "1", "budget": {"epsilon": 1, "delta": 1e-6}, "tables": {"t": {**unit, "columns": columns}}}
    with dp.connect({"t": path}, policy) as session:
        session.sql(JOBS[name], spend=dp.approx(1, 1e-6) if name[0] == "B" else dp.pure(1))


def job(way: str, name: str, path: str) -> None:
    """One job in this process; prints CPU and wall seconds, and peak memory in MB."""
    small = made(name, 1_000)
    plain(JOBS[name], small) if way == "plain" else private(name, small)
    started, wall = cpu(), time.perf_counter()
    plain(JOBS[name], path) if way == "plain" else private(name, path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(cpu() - started, time.perf_counter() - wall, peak)


def of_us(way: str, name: str, path: str) -> Figures:
    command = [sys.executable, __file__, "--job", way, name, path]
    used, wall, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(used), float(wall), float(peak)


def of_peer(peer: str, name: str, rows: int) -> Any | None:
    """CPU and wall seconds, peak memory and the release of a peer's job; None if it does not do it."""
    command = [str(python_of(peer)), str(HERE / "peers" / "engine_peers.py"), peer, name]
    small = {"path": made(name, 1_000), "rows": 1_000}
    case = {"path": made(name, rows), "rows": rows, "regions": REGIONS, "small": small}
    return asked(command, case, LIMIT_SECONDS)


def medians(found: list[Figures]) -> Figures:
    used, wall, peak = (statistics.median(column) for column in zip(*found, strict=True))
    return used, wall, peak


def make(names: list[str], sizes: list[int]) -> None:
    """Make the data in processes of their own: the peak memory of a parent shows in its children."""
    for size in (1_000, *sizes):
        for name in {"text" if name.endswith("text") else "" for name in names}:
            subprocess.run([sys.executable, __file__, "--make", name, str(size)], check=True)


def show(who: str, name: str, rows: int, figures: Figures, against: float | None) -> None:
    used, wall, peak = figures
    wanted = WANTED.get(name) if who == "discreet" and rows == 10_000_000 else None
    goal = "" if wanted is None else f"   wanted {wanted:g}" + ("" if used <= wanted else ": MISSED")
    ratio = "" if against is None else f"{used / against:.1f}"
    print(f"{name:<13}{rows:>12,}  {who:<14}{used:>8.2f}{wall:>8.2f}{peak:>9.0f}{ratio:>8}{goal}", flush=True)


def compare(options: argparse.Namespace) -> None:
    make(options.jobs, options.rows)
    print(f"medians of {options.runs} runs in turn; of peers {options.peer_runs}; ×: CPU seconds over ours\n")
    print(f"{'job':<13}{'rows':>12}  {'':<14}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}{'×':>8}")
    for name in options.jobs:
        for rows in options.rows:
            path = made(name, rows)
            ways = [(of_us("private", name, path), of_us("plain", name, path)) for _ in range(options.runs)]
            ours, unsafe = (medians(list(each)) for each in zip(*ways, strict=True))
            show("discreet", name, rows, ours, None)
            show("no privacy", name, rows, unsafe, ours[0])
            for peer in PEERS:
                if not python_of(peer).exists() or rows > MOST_ROWS[peer] or name.endswith(("rows", "text")):
                    continue
                found = [of_peer(peer, name, rows) for _ in range(options.peer_runs)]
                if all(found):
                    show(peer, name, rows, medians([(each[0], each[1], each[2]) for each in found if each]), ours[0])
                else:
                    print(f"{name:<13}{rows:>12,}  {peer:<14}failed, or refuses, or takes over {LIMIT_SECONDS} s")
    absent = [peer for peer in PEERS if not python_of(peer).exists()]
    if absent:
        print(f"\nwithout {', '.join(absent)}: python bench/engine.py --install-peers makes their environments")


def scale(options: argparse.Namespace) -> None:
    """How the cost of a row grows; the largest file is deleted."""
    print("private jobs; the cost of a million rows, and its growth from the size before\n")
    print(f"{'job':<13}{'rows':>13}{'CPU s':>9}{'peak MB':>9}{'s/M':>9}{'growth':>9}")
    try:
        make(options.jobs, list(SCALE))
        for name in options.jobs:
            before = None
            for rows in SCALE:
                runs = options.runs if rows < SCALE[-1] else 1
                path = made(name, rows)
                used, _, peak = medians([of_us("private", name, path) for _ in range(runs)])
                each = used / rows * 1e6
                line = f"{name:<13}{rows:>13,}{used:>9.2f}{peak:>9.0f}{each:>9.3f}"
                if before is not None:
                    line += f"{each / before:>9.2f}" + ("" if each <= GROWTH * before else "  MISSED")
                print(line, flush=True)
                before = each
    finally:
        for path in (HERE / "data").glob(f"purchases-{SCALE[-1]}*"):
            path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=1)
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--install-peers", action="store_true")
    options = parser.parse_args()
    if options.install_peers:
        for peer, folder in PEERS.items():
            install(folder, f"engine_{peer}.txt")
    if options.scale:
        scale(options)
    else:
        compare(options)


if __name__ == "__main__":
    if "--job" in sys.argv:
        job(*sys.argv[2:])
    elif "--make" in sys.argv:
        made(sys.argv[2], int(sys.argv[3]))
    else:
        main()
