"""The bounded aggregate on Spark: CPU seconds, bytes shuffled a row, and what that makes of 10^12 rows.

    python bench/scale.py [--rows 1000000 10000000] [--jobs A] [--ways start plain private] [--runs 1] [--archive]
                          [--plan]

The jobs are those of bench/engine.py. Each run is a process of its own, from nothing to the groups: CPU seconds are
those of all processes, the JVM among them, with its start. `start` is a session and no query; `plain` the query without
people, caps or noise. Bytes are what Spark reports to have written for its shuffles. --archive measures sessions that
start from an archive that `python -m discreet.engines.spark` makes first, uncounted; without it there is none. --plan
prints the physical plan.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from data import REGIONS, purchases
from engine import JOBS

WAYS = ("start", "plain", "private")
COLUMNS = {
    "region": {"type": "string", "keys": REGIONS},
    "category": {"type": "string"},
    "amount": {"type": "float", "bounds": [0, 1000]},
}


def used() -> float:
    """CPU seconds of this process and of all below it, those that have ended among them."""
    import psutil

    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def job(way: str, name: str, path: str, cores: str, *, show: bool) -> None:
    """One job in this process; prints CPU and wall seconds, peak memory of the JVM in MB, and bytes shuffled."""
    from discreet.engines.spark import Spark, session_of

    wall = time.perf_counter()
    session = session_of(f"spark://local[{cores}]?t={path}")
    if way == "plain":
        session.sql(JOBS[name]).collect()
    elif way == "private":
        import discreet as dp
        from discreet.policy import load_policy
        from discreet.query import make_plan

        unit = {"unit": "rows"} if name == "A rows" else {"unit": "person_id", "max_rows": 10, "max_groups": 5}
        policy = load_policy({"version": "1", "tables": {"t": {**unit, "columns": COLUMNS}}})
        engine = Spark(session, policy)
        engine.check("t")
        bounded = make_plan(JOBS[name], policy, dp.approx(1, 1e-6)).levels[0].bounded
        if show:
            print(engine.explain(bounded))
        engine.run(bounded, bytes(16))
    written = _shuffled(session)
    print("figures", used(), time.perf_counter() - wall, _peak(), written, flush=True)
    os._exit(0)


def _shuffled(session: Any) -> int:
    """Bytes written for shuffles by all stages so far."""
    context = session.sparkContext
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)  # noqa: SLF001
    stages = context._jsc.sc().statusStore().stageList(None, *[False] * 2, no_quantiles, None)  # noqa: SLF001
    return sum(stages.apply(i).shuffleWriteBytes() for i in range(stages.size()))


def _peak() -> float:
    import psutil

    found = [process.memory_info().rss for process in psutil.Process().children(recursive=True)]
    return max(found, default=0) / 2**20


def figures(way: str, name: str, path: str, cores: str, *, show: bool = False) -> list[float]:
    command = [sys.executable, __file__, "--job", way, name, path, cores, str(int(show))]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    plan, _, numbers = said.rpartition("figures")
    if show:
        print(plan)
    return [float(number) for number in numbers.split()]


def cache(*, archive: bool) -> None:
    """Have the runs start from an archive of classes, or from none."""
    folder = Path(__file__).parent.resolve() / "data" / ("archive" if archive else "no-archive")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    if archive and not list(folder.glob("discreet/*.jsa")):
        subprocess.run([sys.executable, "-m", "discreet.engines.spark"], check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=["A", "A rows"])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--cores", default="*")
    parser.add_argument("--archive", action="store_true")
    parser.add_argument("--plan", action="store_true")
    options = parser.parse_args()
    cache(archive=options.archive)
    for rows in options.rows:  # in a process of its own: the data takes memory
        make = f"from data import purchases; purchases({rows}, {rows // 10})"
        subprocess.run([sys.executable, "-c", make], check=True, cwd=os.path.dirname(__file__) or ".")  # noqa: PTH120
    print(
        f"{'job':<14}{'rows':>13}  {'':<9}{'CPU s':>8}{'wall s':>8}{'JVM MB':>8}{'MB sent':>9}{'B/row':>7}{'µs/row':>8}"
    )
    for name in options.jobs:
        before: tuple[int, float] | None = None
        for rows in options.rows:
            path = str(purchases(rows, rows // 10))
            for way in options.ways:
                runs = [figures(way, name, path, options.cores, show=options.plan) for _ in range(options.runs)]
                cpu, wall, peak, sent = sorted(runs)[len(runs) // 2]
                line = f"{name:<14}{rows:>13,}  {way:<9}{cpu:>8.1f}{wall:>8.1f}{peak:>8.0f}"
                line += f"{sent / 1e6:>9.1f}{sent / rows:>7.1f}"
                if way == "private" and before is not None:
                    line += f"{(cpu - before[1]) / (rows - before[0]) * 1e6:>8.2f}"
                print(line, flush=True)
            before = rows, cpu


if __name__ == "__main__":
    if "--job" in sys.argv:
        job(*sys.argv[2:6], show=sys.argv[6] == "1")
    else:
        main()
