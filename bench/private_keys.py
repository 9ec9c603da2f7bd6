"""Private keys beside peers: what is shown, how far off it is, and whether its error bars hold, in one run.

    python bench/private_keys.py --adult adult.data --pums PUMS.csv [--install-peers] [--releases 60]
                                 [--peer-releases 20] [--peers opendp ...] [--epsilons 0.2 0.5 1]

Two questions by race × education, both private, of tables in which every row is another person: COUNT(*), and COUNT(*),
SUM(age) and AVG(age) with ages clamped to [17, 90]; δ = 1e-6. The first table is Adult as the UCI repository has it,
without a header, the second a sample of PUMS with the columns age, educ and race. Without either, a made-up table with
groups of Zipf sizes is asked. Every peer is asked in the way of its manual that errs least:

- opendp: Polars, one noisy count with a threshold, and a sum by an even split;
- smartnoise: censor_dims and row_privacy, the same; it charges 1.5 times its δ, so it has 2/3 of it;
- pipelinedp (Google's library): a count of people with post_aggregation_thresholding, and a sum; `mean`: COUNT, SUM and
  MEAN, which share a count, and the selection of partitions;
- tumult: get_groups, then a count and a sum, by an even split; `core`: the counts by which Tumult Core selects groups.

AVG is the sum by the count where a peer's own would cost more. Columns: the mean absolute error of what is shown; that
of all groups, where a missing one is answered by 0 (none for an average); that of groups of 100 people or more, which
most show; ± is a standard error over the releases. Then groups that are shown, those of them that nobody is in, how
many 95 % bars hold, how many at a limit of an average hold, and CPU seconds of a release. Peers without a bar have none
there. A line of ours is WORSE where a peer errs less or shows more by more than three standard errors.

Peers live in environments of their own; what is not installed is left out. Tumult needs Java 17.
"""

from __future__ import annotations

import argparse
import csv
import math
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from peering import HERE, asked, install, python_of

BOUNDS = (17, 90)
DELTA = 1e-6
LARGE = 100
LIMIT_SECONDS = 3_600
SIGNIFICANT = 3.0
PEERS = {
    "opendp": ("opendp", "engine_opendp.txt"),
    "smartnoise": ("smartnoise", "engine_smartnoise.txt"),
    "pipelinedp": ("pipelinedp", "engine_pipelinedp.txt"),
    "pipelinedp mean": ("pipelinedp", "engine_pipelinedp.txt"),
    "tumult": ("tumult", "tumult.txt"),
    "tumult core": ("tumult", "tumult.txt"),
}
"""The environment of each way to ask a peer, and what is in it."""
ONLY = {"pipelinedp mean": True, "tumult core": False}
"""Whether a way is one for sums or for counts alone; the others do for both."""
Shown = dict[str, dict[str, float]]
Truth = dict[str, dict[str, float]]


def adult(path: str) -> pa.Table:
    """Adult: no header, commas and spaces between fields."""
    with Path(path).open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
    return people([row[8] for row in rows], [row[3] for row in rows], [int(row[0]) for row in rows])


def pums(path: str) -> pa.Table:
    with Path(path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    return people([row["race"] for row in rows], [row["educ"] for row in rows], [int(row["age"]) for row in rows])


def made_up() -> pa.Table:
    rng = np.random.default_rng(1)
    race, educ = (rng.zipf(1.8, 20_000) % most for most in (5, 16))
    return people([f"r{i}" for i in race], [f"e{i}" for i in educ], rng.integers(17, 91, 20_000).tolist())


def people(race: Sequence[str], educ: Sequence[str], value: Sequence[int]) -> pa.Table:
    return pa.table({"race": race, "educ": educ, "value": pa.array(np.clip(value, *BOUNDS), pa.int64())})


def truth_of(table: pa.Table) -> Truth:
    counted = table.group_by(["race", "educ"]).aggregate([("value", "count"), ("value", "sum")]).to_pylist()
    return {
        f"{row['race']}|{row['educ']}": {
            "n": row["value_count"],
            "s": row["value_sum"],
            "a": row["value_sum"] / row["value_count"],
        }
        for row in counted
    }


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def ours(
    table: pa.Table, *, sums: bool, epsilons: Sequence[float], releases: int
) -> Iterator[tuple[float, list[Shown]]]:
    """For each ε the CPU seconds of a release, and the releases, each of a question that was not asked before."""
    columns = {
        "race": {"type": "string"},
        "educ": {"type": "string"},
        "value": {"type": "int", "bounds": list(BOUNDS), "nullable": False},
    }
    limits = {"epsilon": 2 * releases * sum(epsilons), "delta": 2 * DELTA * releases * len(epsilons)}
    policy = {"version": "1", "budget": limits, "tables": {"t": {"unit": "rows", "columns": columns}}}
    select = "COUNT(*) AS n" + (", SUM(value) AS s, AVG(value) AS a" if sums else "")
    with dp.connect({"t": table}, policy) as session:
        for at, epsilon in enumerate(epsilons):
            shown = list[Shown]()
            before = cpu()
            for number in range(releases):
                where = f"WHERE value > {-1 - number - releases * at}"
                query = f"SELECT race, educ, {select} FROM t {where} GROUP BY race, educ"
                shown.append(rows_of(session.sql(query, dp.approx(str(epsilon), str(DELTA)))))
            yield (cpu() - before) / releases, shown


def rows_of(release: dp.Release) -> Shown:
    table = release.to_arrow()
    names = [name for name in table.column_names if name in "nsa"]
    named = {name: table[name].to_numpy() for name in names} | {f"{name}±": release.error(name) for name in names}
    keys = [
        f"{race}|{educ}" for race, educ in zip(*(table[name].to_pylist() for name in ("race", "educ")), strict=True)
    ]
    return {key: {name: float(values[i]) for name, values in named.items()} for i, key in enumerate(keys)}


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over releases and its standard error."""

    mean: float
    error: float

    @staticmethod
    def over(values: Sequence[float]) -> Figure:
        known = [value for value in values if not math.isnan(value)]
        if not known:
            return Figure(math.nan, math.nan)
        return Figure(float(np.mean(known)), float(np.std(known, ddof=1)) / math.sqrt(len(known)))

    def __str__(self) -> str:
        return "-" if math.isnan(self.mean) else f"{self.mean:.3g} ± {float(f'{self.error:.1g}'):g}"


@dataclass(frozen=True, slots=True)
class Line:
    """What the releases of one column are worth."""

    shown: Figure
    every: Figure
    large: Figure
    groups: Figure
    false: int
    bars: str
    at_limit: str
    cpu: float

    def worse_than(self, other: Line) -> list[str]:
        """In what the other is better by more than chance. What is shown alone is not compared: of fewer groups."""
        pairs = {"every": (self.every, other.every), "large": (self.large, other.large)}
        pairs["groups"] = (Figure(-self.groups.mean, self.groups.error), Figure(-other.groups.mean, other.groups.error))
        return [
            name
            for name, (mine, its) in pairs.items()
            if mine.mean - its.mean > SIGNIFICANT * math.hypot(mine.error, its.error)
        ]


def mean_of(values: Sequence[float]) -> float:
    """The mean of the numbers that are known, NaN if none are."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def line_of(column: str, releases: Sequence[Shown], truth: Truth, used: float) -> Line:
    off = [
        {key: abs(row[column] - truth[key][column]) for key, row in each.items() if key in truth} for each in releases
    ]
    large = [key for key, row in truth.items() if row["n"] >= LARGE]
    missing = {key: math.nan if column == "a" else abs(row[column]) for key, row in truth.items()}
    rows = [(key, row) for each in releases for key, row in each.items() if key in truth]
    held = [
        (abs(row[column] - truth[key][column]) <= row[f"{column}±"] * (1 + 1e-9), column == "a" and row["a"] in BOUNDS)
        for key, row in rows
        if f"{column}±" in row
    ]
    return Line(
        shown=Figure.over([mean_of(list(each.values())) for each in off]),
        every=Figure.over([float(np.mean([each.get(key, missing[key]) for key in truth])) for each in off]),
        large=Figure.over([mean_of([each.get(key, missing[key]) for key in large]) for each in off]),
        groups=Figure.over([len(each) for each in releases]),
        false=sum(key not in truth for each in releases for key in each),
        bars=share([each for each, _ in held]),
        at_limit=share([each for each, at_limit in held if at_limit]),
        cpu=used,
    )


def share(held: Sequence[bool]) -> str:
    """How many of some bars hold, in percent, with a standard error as if they were independent, and of how many."""
    if not held:
        return "-"
    mean = float(np.mean(held))
    return f"{100 * mean:.1f} ± {100 * math.sqrt(mean * (1 - mean) / len(held)):.1f} of {len(held):,}"


HEADING = (
    f"{'ε':>4} {'':<17}{'':<4}{'shown':>15}{'all groups':>16}{f'≥ {LARGE}':>15}{'groups':>14}{'false':>6}"
    f"{'bars that hold, %':>24}{'at limits':>22}{'CPU s':>8}"
)


def compare(name: str, table: pa.Table, options: argparse.Namespace, *, sums: bool) -> list[str]:
    """Print the table of one question; in what a peer is better."""
    truth = truth_of(table)
    path = HERE / "data" / f"private_keys_{name}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table, path)
    case = {"path": str(path), "bounds": BOUNDS, "sums": sums, "epsilons": options.epsilons, "delta": DELTA}
    answers: dict[str, Sequence[tuple[float, list[Shown]]]] = {}
    answers["discreet"] = list(ours(table, sums=sums, epsilons=options.epsilons, releases=options.releases))
    for way in options.peers:
        if ONLY.get(way, sums) == sums and python_of(PEERS[way][0]).exists():
            command = [str(python_of(PEERS[way][0])), str(HERE / "peers" / "private_keys_peers.py"), way]
            answer: Any = asked(command, case | {"releases": options.peer_releases}, LIMIT_SECONDS)
            if answer is not None:
                answers[way] = answer
            else:
                print(f"  {way} failed, or takes over {LIMIT_SECONDS:,} s")
    select = "COUNT(*), SUM(age), AVG(age)" if sums else "COUNT(*)"
    print(f"\n{name}: {select} by {len(truth)} groups of {table.num_rows:,} people, δ = {DELTA:g}\n\n{HEADING}")
    better: list[str] = []
    for at, epsilon in enumerate(options.epsilons):
        for column in "nsa" if sums else "n":
            lines = {who: line_of(column, answer[at][1], truth, answer[at][0]) for who, answer in answers.items()}
            for who, each in lines.items():
                ahead = lines["discreet"].worse_than(each) if who != "discreet" else []
                better += [f"{name}, ε = {epsilon:g}, {column}: {who} is better in {what}" for what in ahead]
                print(
                    f"{epsilon:>4g} {who:<17}{column:<4}{each.shown!s:>15}{each.every!s:>16}{each.large!s:>15}"
                    f"{each.groups!s:>14}{each.false:>6}{each.bars:>24}{each.at_limit:>22}{each.cpu:>8.2f}",
                    flush=True,
                )
    return better


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult")
    parser.add_argument("--pums")
    parser.add_argument("--releases", type=int, default=60)
    parser.add_argument("--peer-releases", type=int, default=20)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 0.5, 1.0])
    parser.add_argument("--questions", nargs="+", choices=["counts", "sums"], default=["counts", "sums"])
    parser.add_argument("--install-peers", action="store_true")
    options = parser.parse_args()
    if options.install_peers:
        for name, requirements in dict(PEERS.values()).items():
            install(name, requirements)
    tables: dict[str, pa.Table] = {}
    if options.adult:
        tables["Adult"] = adult(options.adult)
    if options.pums:
        tables["PUMS"] = pums(options.pums)
    tables = tables or {"made up": made_up()}
    print(f"{options.releases} releases of ours, {options.peer_releases} of each peer; ±: a standard error")
    better: list[str] = []
    for name, table in tables.items():
        for question in options.questions:
            better += compare(name, table, options, sums=question == "sums")
    print("\n" + ("\n".join(f"WORSE: {each}" for each in better) or "no peer is better in any of them"))
    absent = [way for way in options.peers if not python_of(PEERS[way][0]).exists()]
    if absent:
        print(f"\nwithout {', '.join(absent)}: python bench/private_keys.py --install-peers makes their environments")


if __name__ == "__main__":
    main()
