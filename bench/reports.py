"""Files of reports added up by DuckDB and by Spark: bytes, CPU seconds and memory for 10^9 reports.

    python bench/reports.py [--reports 10000000 100000000] [--schemes hadamard sketch] [--ways duckdb spark] [--cores 2]
                            [--distinct 100000000] [--folder DIR]

Reports of one scheme are written as Parquet files of a million each, or of as many as the least of --reports, by
`local.to_arrow`; then `local.add_files` (DuckDB) and `local.add_frame` (Spark, `local[2]`) add them up, each in a
process of its own, from nothing to the state. Where more reports are asked for than --distinct, the files are named
again and again. All states of the same files must be the same bytes. CPU seconds are those of all processes, the JVM
and Spark's Python workers among them, with their start; memory is the most that all of them held together. `start` is
Spark with no reports. The last columns are for 10^9 reports: from the difference between the first and the last line
of a way.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from discreet import local

SCHEMES: dict[str, Callable[[], Any]] = {
    "hadamard": lambda: local.HadamardResponse(domain=10_000, epsilon=1),
    "sketch": lambda: local.CountMeanSketch(domain=10_000, epsilon=4, hashes=1024, width=256),
    "unary": lambda: local.OptimizedUnary(domain=1_000, epsilon=1),
}
IN_A_FILE = 1_000_000


class Watched:
    """CPU seconds of this process and of all below it, and the most memory that they held together."""

    def __init__(self) -> None:
        import psutil

        self._me, self._gone, self.peak = psutil.Process(), threading.Event(), 0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        import psutil

        while not self._gone.wait(0.1):
            held = 0
            for each in (self._me, *self._me.children(recursive=True)):
                try:
                    held += each.memory_info().rss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, held)

    def used(self) -> float:
        times = [each.cpu_times() for each in (self._me, *self._me.children(recursive=True))]
        return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def written(scheme: Any, folder: Path, reports: int, distinct: int, in_a_file: int) -> int:
    """Files of the scheme up to so many reports; the bytes of all."""
    values = np.random.default_rng(3).zipf(1.3, in_a_file) % scheme.domain.size
    for number in range(min(reports, distinct) // in_a_file):
        path = folder / f"{number:05}.parquet"
        if not path.exists():
            pq.write_table(local.to_arrow(scheme.simulate(values)), path)
    return sum(each.stat().st_size for each in files(folder, reports))


def files(folder: Path, reports: int) -> list[Path]:
    paths = sorted(folder.glob("*.parquet"))
    return list(itertools.islice(itertools.cycle(paths), reports // pq.read_metadata(paths[0]).num_rows))


def job(way: str, name: str, folder: str, reports: str, cores: str) -> None:
    """Add files up in this process; prints CPU and wall seconds, memory in MiB, and a digest of the state."""
    watched, began = Watched(), time.perf_counter()
    server = SCHEMES[name]().server()
    paths = [str(path) for path in files(Path(folder), int(reports))]
    if way == "duckdb":
        local.add_files(server, paths)
    else:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
        session = builder.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false").getOrCreate()
        if way == "spark":
            local.add_frame(server, session.read.parquet(*paths))
        else:
            session.range(2).count()
    state = hashlib.sha256(bytes(server)).hexdigest()
    print(
        "figures", watched.used(), time.perf_counter() - began, watched.peak / 2**20, server.reports, state, flush=True
    )
    os._exit(0)


def figures(*words: str) -> tuple[float, float, float, int, str]:
    done = subprocess.run([sys.executable, __file__, "--job", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu, wall, peak, reports, state = done.stdout.rpartition("figures")[2].split()
    return float(cpu), float(wall), float(peak), int(reports), state


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--reports", type=int, nargs="+", default=[10_000_000, 100_000_000])
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=["hadamard", "sketch"])
    parser.add_argument("--ways", nargs="+", choices=("start", "duckdb", "spark"), default=["start", "duckdb", "spark"])
    parser.add_argument("--cores", default="2")
    parser.add_argument("--distinct", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, help="Where to keep the files. Default: a temporary directory.")
    given = parser.parse_args()
    print(
        f"{'scheme':<10}{'reports':>14}  {'':<8}{'CPU s':>8}{'wall s':>8}{'MiB':>7}{'raw B':>7}{'Parquet B':>11}"
        f"{'CPU s / 10⁹':>13}{'wall s / 10⁹':>14}"
    )
    with tempfile.TemporaryDirectory(dir=given.folder) as home:
        for name in given.schemes:
            folder = (given.folder or Path(home)) / name
            folder.mkdir(exist_ok=True)
            measured(name, folder, given)
            if given.folder is None:
                for each in folder.iterdir():
                    each.unlink()


def measured(name: str, folder: Path, given: argparse.Namespace) -> None:
    scheme = SCHEMES[name]()
    before: dict[str, tuple[int, float, float]] = {}
    in_a_file = min(IN_A_FILE, *given.reports)
    for reports in given.reports:
        size, states = written(scheme, folder, reports, given.distinct, in_a_file), set()
        for way in given.ways:
            cpu, wall, peak, counted, state = figures(way, name, str(folder), str(reports), given.cores)
            line = f"{name:<10}{reports:>14,}  {way:<8}{cpu:>8.1f}{wall:>8.1f}{peak:>7.0f}"
            if way != "start":
                states.add((counted, state))
                line += f"{scheme.layout.width:>7}{size / reports:>11.2f}"
                if way in before:
                    few, less, sooner = before[way]
                    more = (reports - few) / 1e9
                    line += f"{(cpu - less) / more:>13,.0f}{(wall - sooner) / more:>14,.0f}"
                before.setdefault(way, (reports, cpu, wall))
            print(line, flush=True)
        if len(states) > 1 or any(counted != reports for counted, _ in states):
            raise SystemExit("the states are not the same")


if __name__ == "__main__":
    if "--job" in sys.argv:
        job(*sys.argv[2:])
    else:
        main()
