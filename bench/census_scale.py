"""Statistical tables of a large country, from Parquet to files: CPU seconds, memory, and whether both are linear.

    python bench/census_scale.py [--people 10000000 100000000] [--blocks 20000 200000] [--engines duckdb spark]
                                 [--folder DIR] [--profile]

The country is made up: blocks in groups, tracts, counties and states, and 252 cells of sex, age and origin. Each run is
a process of its own, which reads the list of areas and the people from Parquet, publishes the total and all cells at
six levels with rho = 1, and saves a folder: every table at every level, the noisy counts and the publication. CPU
seconds are those of all of it with the JVM of Spark, memory the most that the process held. Spark must count the
integers that DuckDB counts. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from goals import Goals

LEVELS = ("state", "county", "tract", "group", "block")
PARTS = (20_000, 800, 40, 8, 1)
"""Blocks in an area of each level, on average."""
SHARES = (104, 1_440, 447, 687, 1_256, 165)
AGES, ORIGINS = 63, ("hispanic", "other")
CELLS = 2 * AGES * len(ORIGINS)
CHUNK = 2_000_000
GOALS = {100_000_000: (400.0, 4.0)}
"""For so many people CPU seconds and GB."""


def make(folder: Path, people: int, blocks: int) -> None:
    """Write the list of areas and the people: by some millions, among whom blocks are in no order."""
    draws = np.random.default_rng(7)
    sizes = [max(blocks // part, 1) for part in PARTS]
    place, columns = np.arange(blocks), dict[str, Any]()
    for level, above, below in zip(reversed(LEVELS[:-1]), reversed(sizes[:-1]), reversed(sizes[1:]), strict=True):
        cuts = np.sort(draws.permutation(below - 1)[: above - 1] + 1)
        place = np.searchsorted(cuts, place, side="right")
        columns[level] = [f"{level[:2]}{i:06d}" for i in place.tolist()]
    columns["block"] = [f"bl{i:07d}" for i in range(blocks)]
    pq.write_table(pa.table({level: columns[level] for level in LEVELS}), folder / "areas.parquet")
    weights = draws.lognormal(0, 1.2, blocks) * (draws.random(blocks) >= 0.3)
    whole = np.diff(np.rint(np.concatenate([[0], np.cumsum(weights / weights.sum() * people)])).astype(np.int64))
    tracts = np.unique(np.array(columns["tract"]), return_inverse=True)[1]
    usual = draws.dirichlet(np.full(CELLS, 0.3))
    by_tract = np.cumsum(draws.dirichlet(usual * 60 + 1e-3, tracts.max() + 1), axis=1)
    names = pa.array(columns["block"])
    ends = np.cumsum(whole)
    writer: pq.ParquetWriter | None = None
    for begin in range(0, people, CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, people))
        block = np.searchsorted(ends, rows, side="right")
        starts = by_tract[tracts[block[0]] : tracts[block[-1]] + 1]
        at = tracts[block] - tracts[block[0]]
        cell = np.searchsorted(
            (starts + np.arange(len(starts))[:, None]).ravel(), at + draws.random(len(rows)) * (1 - 1e-9)
        )
        cell = np.minimum(cell - at * CELLS, CELLS - 1)
        order = draws.permutation(len(rows))
        block, cell = block[order], cell[order]
        table = pa.table({
            "block": pa.DictionaryArray.from_arrays(pa.array(block.astype(np.int32)), names).cast(pa.string()),
            "sex": pa.array(["F", "M"]).take(pa.array(cell % 2)),
            "age": pa.array((cell // 2 % AGES).astype(np.int32)),
            "origin": pa.array(ORIGINS).take(pa.array(cell // 2 // AGES)),
        })  # fmt: skip
        writer = writer or pq.ParquetWriter(folder / "people.parquet", table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def spec_of(folder: Path) -> Any:
    from discreet import census

    table = pq.read_table(folder / "areas.parquet")
    return census.Spec(
        "people",
        census.Geography.of_areas(table, LEVELS, root="country"),
        {"total": (), "cells": ("age", "sex", "origin")},
        cells={"age": AGES},
        shares={
            level: {"total": 3 * share, "cells": 7 * share}
            for level, share in zip(("country", *LEVELS), SHARES, strict=True)
        },
    )


def policy_of() -> dict[str, Any]:
    columns = {
        "block": {"type": "string"},
        "age": {"type": "int", "bounds": [0, AGES - 1], "nullable": False},
        "sex": {"type": "string", "keys": ["F", "M"], "nullable": False},
        "origin": {"type": "string", "keys": list(ORIGINS), "nullable": False},
    }
    return {"version": "1", "budget": {"rho": 9}, "tables": {"people": {"unit": "rows", "columns": columns}}}


def used() -> float:
    """CPU seconds of this process and of all below it."""
    import psutil

    me = psutil.Process()
    times = [process.cpu_times() for process in (me, *me.children(recursive=True))]
    return sum(each.user + each.system + each.children_user + each.children_system for each in times)


def source_of(folder: Path, engine: str) -> Any:
    people = folder / "people.parquet"
    return {"people": people} if engine == "duckdb" else f"spark://local[*]?people={people}"


def one_run(folder: Path, engine: str) -> None:
    """Publish and save in this process; print figures as JSON."""
    import discreet as dp
    from discreet import census
    from discreet.census._question import PreparedPublication

    exact = hashlib.sha256()
    times = [("", used())]

    def timed(name: str) -> Any:
        method = getattr(PreparedPublication, name)

        def call(*arguments: Any) -> Any:
            made = method(*arguments)
            if name == "counted":
                for each, counts in made.items():
                    exact.update(repr(each).encode() + counts.tobytes())
            times.append((name, used()))
            return made

        return call

    for name in ("request", "counted", "measured", "_released"):
        setattr(PreparedPublication, name, timed(name))
    ledger, out = folder / f"{engine}.ledger", folder / f"{engine}-published"
    spec = spec_of(folder)
    times.append(("areas", used()))
    with dp.connect(source_of(folder, engine), policy_of(), ledger) as session:
        published = census.publish(session, spec, dp.rho(1))
        times.append(("stored", used()))
        published.save(f"{out}/")
        times.append(("saved", used()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    steps = [(name, round(end - start, 2)) for (_, start), (name, end) in pairwise(times)]
    files = sum(each.stat().st_size for each in out.iterdir())
    print(json.dumps({
        "cpu": times[-1][1] - times[0][1], "peak": peak, "steps": steps, "exact": exact.hexdigest(),
        "people": published.total().value, "files": files, "ledger": ledger.stat().st_size,
    }))  # fmt: skip


def run(folder: Path, engine: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", str(folder), engine]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(said.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[10_000_000, 100_000_000])
    parser.add_argument("--blocks", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--engines", nargs="+", choices=("duckdb", "spark"), default=["duckdb"])
    parser.add_argument("--folder", type=Path, help="keep the country here, and use the one that is here")
    options = parser.parse_args()
    goals, before = Goals(), None
    for people, blocks in zip(options.people, options.blocks, strict=True):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.folder or Path(temporary)) / f"{people}-{blocks}"
            if not folder.exists():
                folder.mkdir(parents=True)
                make(folder, people, blocks)
            size = (folder / "people.parquet").stat().st_size / 1e9
            print(f"\n{people:,} people in {blocks:,} blocks, {CELLS} cells, {size:.2f} GB of Parquet", flush=True)
            runs = {engine: run(folder, engine) for engine in options.engines}
            for path in folder.iterdir():
                if path.name not in {"people.parquet", "areas.parquet"}:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        for engine, made in runs.items():
            print(f"  {engine}: {made['people']:,} people published, {made['files'] / 1e6:,.0f} MB of files")
            print("   CPU s:", ", ".join(f"{name} {seconds}" for name, seconds in made["steps"]))
            most_cpu, most_gb = GOALS.get(people, (None, None)) if engine == "duckdb" else (None, None)
            goals.line(f"{engine}, CPU s", f"{made['cpu']:.1f}", *at_most(made["cpu"], most_cpu))
            goals.line(f"{engine}, GB at most", f"{made['peak']:.2f}", *at_most(made["peak"], most_gb))
        if len({made["exact"] for made in runs.values()}) > 1:
            goals.line("integers before noise", "differ", "the same", met=False)
        elif len(runs) > 1:
            goals.line("integers before noise", "the same", "the same", met=True)
        first = runs[options.engines[0]]["cpu"]
        if before is not None:
            ratio = first / before[1] / (people / before[0])
            goals.line("CPU beside linear", f"{ratio:.2f}", *at_most(ratio, 1.2))
        before = people, first
    return goals.close()


def at_most(value: float, most: float | None) -> tuple[str, bool | None]:
    return ("", None) if most is None else (f"at most {most:g}", value <= most)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one_run(Path(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(main())
