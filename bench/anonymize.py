"""Classical anonymisation of Adult: what it loses, how long it takes, and its verifier; beside anonypy and pycanon.

    python bench/anonymize.py --adult FOLDER [--arx FOLDER] [--large] [--install]

FOLDER holds adult.data of the UCI repository; its 30,162 complete rows are taken, with eight quasi-identifiers.
NCP is the mean over cells of a number's range, or of distinct values less 1, over that of the table. --arx is a folder
with ARX's adult_hierarchy_COLUMN.csv, for generalisation of whole columns. --large adds a million rows. --install puts
the peers into an environment of their own. Times are CPU seconds of one process. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from discreet.anonymize import KAnonymity, intervals, load_taxonomy, read_columns, read_frame, risk, verify
from discreet.anonymize._losses import losses_of
from discreet.anonymize.algorithms import Problem, full_domain
from discreet.attack import homogeneity
from goals import QUASI, Goals, complete_adult, timed
from peering import HERE, asked, install, python_of

SIZES = (5, 10, 50, 100)
FAST = (0.036, 0.064, 0.164, 0.221)
BEST = (0.025, 0.046, 0.127, 0.175)
ARX = (0.220, 0.260, 0.355, 0.395)
PEERS = "anonymity"


def asked_of(k: int, method: str, **conditions: Any) -> KAnonymity:
    return KAnonymity(k=k, quasi=QUASI, sensitive=["salary"], method=method, **conditions)


def mondrian(goals: Goals, table: pa.Table) -> None:
    for method, losses, limit in (("fast", FAST, 0.5), ("best", BEST, 2.0)):
        for k, loss in zip(SIZES, losses, strict=True):
            out, seconds = timed(lambda k=k, method=method: asked_of(k, method).fit_transform(table))
            name, lost = f"{method}, k = {k}", round(out.losses.certainty, 3)
            goals.line(f"{name}: NCP", f"{out.losses.certainty:.4f}", f"<= {loss}", lost <= loss)
            goals.line(f"{name}: CPU s, with its checks", f"{seconds:.2f}", f"<= {limit}", seconds <= limit)
            goals.line(f"{name}: k as verified", str(out.verdict.k), f">= {k}", out.verdict.k >= k)
            goals.line(f"{name}: suppressed", f"{out.losses.suppressed:.1%}", "0", out.losses.suppressed == 0)


def conditions(goals: Goals, table: pa.Table) -> None:
    plain = asked_of(10, "fast").fit_transform(table)
    outcome = homogeneity(plain.table, QUASI, "salary")
    share = outcome.claims / outcome.targets if outcome.claims else 0.0
    goals.line("fast, k = 10: in classes of one salary", f"{share:.1%}", "about 30 %", abs(share - 0.3) < 0.03)
    for name, extra in (("l = 2", {"l": 2}), ("t = 0.2", {"t": 0.2})):
        for method in ("fast", "best"):
            out = asked_of(10, method, **extra).fit_transform(table)
            claims = homogeneity(out.table, QUASI, "salary").claims
            goals.line(f"{method}, k = 10, {name}: in classes of one salary", str(claims), "0", claims == 0)
            goals.line(f"{method}, k = 10, {name}: NCP", f"{out.losses.certainty:.4f}")


def whole_columns(goals: Goals, table: pa.Table, folder: Path) -> None:
    trees = {name: load_taxonomy(name, folder / f"adult_hierarchy_{name}.csv") for name in QUASI}
    quasi = read_columns(read_frame(table), QUASI, "quasi")
    for k, loss in zip(SIZES, ARX, strict=True):
        problem = Problem(quasi, k, (), (1.0,) * len(quasi), tuple(trees[name] for name in QUASI))
        classes, seconds = timed(lambda problem=problem: full_domain(problem, is_geometric=True, recodes=False))
        found = losses_of(problem, classes).geometric
        goals.line(f"full-domain, k = {k}: loss of ARX", f"{found:.4f}", f"<= {loss}", round(found, 3) <= loss)
        goals.line(f"full-domain, k = {k}: CPU s", f"{seconds:.2f}", "<= 3", seconds <= 3)
        recoded = losses_of(problem, full_domain(problem, is_geometric=True))
        goals.line(f"full-domain, k = {k}: its rest recoded", f"{recoded.geometric:.4f}")
    more = ["relationship", "hours-per-week", "education-num", "capital-gain"]
    quasi = read_columns(read_frame(table), [*QUASI, *more], "quasi")
    widths = {"hours-per-week": [5, 10, 20, 40], "education-num": [2, 4, 8], "capital-gain": [1000, 10_000, 50_000]}
    several = tuple(
        trees[each.name] if each.name in trees
        else intervals(each, widths[each.name], 0) if each.name in widths else None
        for each in quasi
    )  # fmt: skip
    problem = Problem(quasi, 5, (), (1.0,) * len(quasi), several)
    _, seconds = timed(lambda: full_domain(problem, is_geometric=True, recodes=False))
    goals.line("full-domain, 12 quasi-identifiers, k = 5: CPU s", f"{seconds:.1f}", "finishes", met=True)


def verifier(goals: Goals, table: pa.Table, scratch: Path) -> None:
    out = asked_of(10, "best").fit_transform(table)
    large = pa.concat_tables([out.table] * 10)
    _, seconds = timed(lambda: verify(large, QUASI, ["salary"]))
    goals.line(f"verifier, k, l, t of {large.num_rows:,} rows: CPU s", f"{seconds:.2f}", "<= 1", seconds <= 1)
    pyarrow.csv.write_csv(large, scratch / "large.csv")
    found = peer("pycanon", scratch / "large.csv", 600)
    if found is not None:
        goals.line("pycanon, the same: CPU s of k, l, t", "  ".join(f"{each:.1f}" for each in found["seconds"]))


def peers(goals: Goals, table: pa.Table, scratch: Path) -> None:
    pyarrow.csv.write_csv(table.select([*QUASI, "salary"]), scratch / "adult.csv")
    for k in (50, 100, 5):
        found = peer("anonypy", scratch / "adult.csv", 120 if k == 5 else 600, k)
        told = "not in 120 s" if found is None else f"{found['ncp']:.4f}, {found['seconds'][0]:.0f} s"
        goals.line(f"anonypy, k = {k}: NCP, CPU s", told)


def uniqueness(goals: Goals, table: pa.Table) -> None:
    """Estimates from samples of populations in which the unique are counted."""
    dice = np.random.default_rng(29)
    errors: dict[str, list[float]] = {"chosen": [], "pitman": [], "zayatz": []}
    for name, population in known_populations(table, dice).items():
        size, names = population.num_rows, population.column_names
        for part in (0.01, 0.05, 0.2, 0.5):
            sample = population.take(pa.array(dice.choice(size, int(size * part), replace=False)))
            count, guess = (risk(sample, names, each).population for each in (population, size))
            off = guess.unique - count.unique
            if part >= 0.05:
                errors["chosen"].append(off)
                for model in ("pitman", "zayatz"):
                    errors[model].append(guess.estimates[model] - count.unique)
            near = {0.01: None, 0.05: 0.15 if size * part >= 10_000 else 0.25}.get(part, 0.07)
            met = None if near is None else abs(off) <= near
            shown = f"{count.unique:.3f} {guess.unique:.3f} [{guess.low:.2f}, {guess.high:.2f}]"
            goal = "" if near is None else f"off <= {near}"
            goals.line(f"{name}, {part:.0%}: unique, {guess.method}", shown, goal, met)
    for model, listed in errors.items():
        off = np.array(listed)
        goals.line(f"samples of 5 % and more, {model}: bias, worst", f"{off.mean():+.3f}, {np.abs(off).max():.3f}")


def known_populations(table: pa.Table, dice: np.random.Generator) -> dict[str, pa.Table]:
    """Adult by several columns, and people whose classes have shares of several laws."""
    several = [["age", "education", "occupation"], ["age", "sex", "race", "education", "hours-per-week"]]
    populations = {f"Adult by {len(names)}": table.select(names) for names in (QUASI, *several)}
    laws = {
        "Zipf .7": np.arange(1, 200_001) ** -0.7,
        "Zipf 1.1": np.arange(1, 500_001) ** -1.1,
        "log-normal": dice.lognormal(0, 2, 150_000),
        "gamma": dice.gamma(0.2, size=100_000),
        "equal": np.ones(60_000),
    }
    for name, shares in laws.items():
        populations[name] = pa.table({"cell": dice.choice(len(shares), 200_000, p=shares / shares.sum())})
    return populations


def peer(name: str, path: Path, seconds: float, k: int = 10) -> dict | None:
    python = python_of(PEERS)
    if not python.exists():
        return None
    case = {"peer": name, "table": str(path), "quasi": QUASI, "sensitive": "salary", "k": k}
    return asked([str(python), str(HERE / "peers" / "anonymity_peers.py")], case, seconds)


def million(goals: Goals, table: pa.Table) -> None:
    """Adult's rows drawn with replacement, a fifth of the cells those of other rows."""
    dice = np.random.default_rng(27)
    rows = dice.integers(table.num_rows, size=1_000_000)
    columns = {}
    for name in [*QUASI, "salary"]:
        own = np.where(dice.random(len(rows)) < 0.2, dice.integers(table.num_rows, size=len(rows)), rows)
        columns[name] = table[name].take(pa.array(own)).combine_chunks()
    large = pa.table(columns)
    for method, limit in (("fast", 5), ("best", 60)):
        out, seconds = timed(lambda method=method: asked_of(10, method).fit_transform(large))
        goals.line(f"{method}, k = 10, a million rows: NCP", f"{out.losses.certainty:.4f}")
        goals.line(f"{method}, k = 10, a million rows: CPU s", f"{seconds:.1f}", f"<= {limit}", seconds <= limit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--arx", type=Path)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if options.install:
        install(PEERS, "anonymity.txt")
    table, goals = complete_adult(options.adult), Goals()
    counts = table.group_by(QUASI).aggregate([("salary", "count")])["salary_count"].to_numpy()
    print(
        f"Adult, {table.num_rows:,} rows; {(counts == 1).sum() / table.num_rows:.0%} are unique in {len(QUASI)} columns"
    )
    mondrian(goals, table)
    conditions(goals, table)
    uniqueness(goals, table)
    if options.arx is not None:
        whole_columns(goals, table, options.arx)
    if options.large:
        million(goals, table)
    with tempfile.TemporaryDirectory() as name:
        verifier(goals, table, Path(name))
        peers(goals, table, Path(name))
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
