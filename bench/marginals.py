"""All pairs of columns, counted in one pass as a synthetic table's fit asks for them: CPU seconds and peak memory.

    python bench/marginals.py [--rows 1000000 10000000] [--jobs pairs people wide] [--engines duckdb] [--runs 1]

pairs: 91 pairs of 14 columns, half texts and half whole numbers, of 32 values each, where every row is a person;
people: the same where a person has three rows on average, of which two count; wide: 4,950 pairs of 100 columns of 10
values. Every run is a process of its own: user and system seconds of the process and all below it, after a first
request about a thousand rows, and the peak memory of the process.

All engines and runs must count the same, or it ends with an error.

--engines spark starts an application with two cores; its seconds are those of the JVM and of Python's workers, without
the start. --engines postgres starts a server of its own, and loads the table first, uncounted.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"
SERVER = FOLDER / "postgres"
SHAPES = {"pairs": (14, 32), "people": (14, 32), "wide": (100, 10)}
"""Columns and values of each."""
WANTED = {
    ("duckdb", "pairs", 10_000_000): (12, 1_500),
    ("duckdb", "pairs", 100_000_000): (120, 1_500),
    ("duckdb", "wide", 1_000_000): (15, 1_000),
    ("spark", "pairs", 100_000_000): (900, None),
}
"""CPU seconds and MB."""
_CHUNK = 1_000_000


def texts(columns: int) -> int:
    """How many of the columns are texts, which come first."""
    return columns // 2


def table(job: str, rows: int) -> Path:
    """The Parquet file, made on first use."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, values = SHAPES[job]
    path = FOLDER / f"marginals-{columns}-{values}-{rows}.parquet"
    if path.exists():
        return path
    FOLDER.mkdir(exist_ok=True)
    partial = path.with_suffix(".part")
    dice, writer = np.random.default_rng(1), None
    names = pa.array([f"value {i:02}" for i in range(values)])
    for begin in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - begin)
        made: dict[str, Any] = {"person": dice.integers(0, max(rows // 3, 1), count)}
        for i in range(columns):
            skewed = np.minimum(dice.geometric(3 / values, count) - 1, values - 1)
            codes = dice.integers(0, values, count) if i % 2 else skewed
            made[f"c{i}"] = names.take(pa.array(codes)) if i < texts(columns) else codes
        part = pa.table(made)
        writer = writer or pq.ParquetWriter(partial, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()
    partial.rename(path)
    return path


def policy_of(job: str) -> Any:
    from discreet.policy import load_policy

    count, values = SHAPES[job]
    names = [f"value {i:02}" for i in range(values)]
    columns = {
        f"c{i}": {"type": "string", "keys": names} if i < texts(count) else {"type": "int", "keys": list(range(values))}
        for i in range(count)
    }
    unit = {"unit": "person", "max_rows": 2} if job == "people" else {"unit": "rows"}
    return load_policy({"version": "1", "tables": {"t": {**unit, "columns": columns}}})


def request_of(policy: Any) -> Any:
    from discreet.query import Marginals, make_plan

    names = list(policy.tables["t"].columns)
    each = [make_plan(f"SELECT COUNT(*) AS n FROM t GROUP BY {name}", policy).levels[0].bounded for name in names]
    bounded = replace(
        each[0],
        keys=tuple(one.keys[0] for one in each),
        columns={name: known for one in each for name, known in one.columns.items()},
        used=frozenset(name for one in each for name in one.used),
        measures=(),
        max_groups=None,
    )
    return Marginals(bounded, tuple(itertools.combinations(range(len(names)), 2)))


def opened(engine: str, policy: Any, path: Path, url: str) -> Any:
    if engine == "duckdb":
        from discreet.engines import open_engine

        return open_engine({"t": path}, policy)
    if engine == "postgres":
        from discreet.engines.postgres import PostgreSQL

        return PostgreSQL(url, policy, {"t": f"public.{loaded(url, path)}"})
    from discreet.engines.spark import Spark, session_of

    return Spark(session_of(f"spark://local[2]?t={path}"), policy)


def loaded(url: str, path: Path) -> str:
    """The name of a file's table in a server."""
    import psycopg
    import pyarrow.parquet as pq

    name = path.stem.replace("-", "_")
    file = pq.ParquetFile(path)
    kinds = ["text" if str(field.type) == "string" else "bigint" for field in file.schema_arrow]
    columns = ", ".join(f"{field} {kind}" for field, kind in zip(file.schema_arrow.names, kinds, strict=True))
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}".encode())
        cursor.execute(f"CREATE UNLOGGED TABLE {name} ({columns})".encode())
        for batch in file.iter_batches(10_000):
            with cursor.copy(f"COPY {name} FROM STDIN".encode()) as rows:
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    rows.write_row(row)
        cursor.execute(f"ANALYZE {name}".encode())
    return name


def used() -> float:
    """CPU seconds of this process, of a server, and of all below them, those that have ended among them."""
    import psutil

    roots = [psutil.Process()]
    if (SERVER / "postmaster.pid").exists():
        roots.append(psutil.Process(int((SERVER / "postmaster.pid").read_text().split()[0])))
    every = {process.pid: process for root in roots for process in (root, *root.children(recursive=True))}
    times = [process.cpu_times() for process in every.values()]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def job(engine: str, name: str, rows: str) -> None:
    """One request in this process; prints CPU and wall seconds, peak memory in MB, and a digest of all counts."""
    import numpy as np

    policy = policy_of(name)
    request = request_of(policy)
    url = ""
    if engine == "postgres":
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from servers import start_postgres

        server = start_postgres(SERVER)
        url = server if isinstance(server, str) else server.get_uri()
    for size in (1_000, int(rows)):
        running = opened(engine, policy, table(name, size), url)
        running.check("t")
        started, wall = used(), time.perf_counter()
        counts = running.count_marginals(request, bytes(16))
        spent, waited = used() - started, time.perf_counter() - wall
        assert len(counts) == len(request.sets)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in counts)).hexdigest()
    print("figures", spent, waited, peak, digest, flush=True)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--jobs", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--engines", nargs="+", choices=["duckdb", "postgres", "spark"], default=["duckdb"])
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    print(f"{'engine':<10}{'job':<8}{'rows':>13}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}{'µs/row':>9}")
    for name, rows in itertools.product(options.jobs, options.rows):
        for size in (1_000, rows):  # in a process of its own: the data takes memory
            subprocess.run([sys.executable, __file__, "--make", name, str(size)], check=True)
        digests: set[str] = set()
        for engine in options.engines:
            command = [sys.executable, __file__, "--job", engine, name, str(rows)]
            runs = [
                subprocess.run(command, capture_output=True, text=True, check=True).stdout.rpartition("figures")[2]
                for _ in range(options.runs)
            ]
            digests |= {run.split()[-1] for run in runs}
            columns = zip(*([float(number) for number in run.split()[:-1]] for run in runs), strict=True)
            cpu, wall, peak = map(statistics.median, columns)
            line = f"{engine:<10}{name:<8}{rows:>13,}{cpu:>9.2f}{wall:>9.2f}{peak:>9.0f}{cpu / rows * 1e6:>9.2f}"
            seconds, memory = WANTED.get((engine, name, rows), (None, None))
            if seconds is not None:
                missed = cpu > seconds or (memory is not None and peak > memory)
                line += f"   wanted {seconds} s" + (f", {memory} MB" if memory else "") + (": MISSED" if missed else "")
            print(line, flush=True)
        if len(digests) > 1:
            sys.exit(f"{name} of {rows:,} rows: not all counts are the same")


if __name__ == "__main__":
    if "--job" in sys.argv:
        job(*sys.argv[2:])
    elif "--make" in sys.argv:
        table(sys.argv[2], int(sys.argv[3]))
    else:
        main()
