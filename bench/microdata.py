"""Microdata of blocks of Adult from tables as a census publishes them, exact and noisy, beside a guess without them.

    python bench/microdata.py --adult FOLDER [--blocks 200]

FOLDER holds adult.data of the UCI repository, of which the 30,162 complete rows are taken. A block is either so many
people at random, or everybody with one education, country, work class and marital status, where they are 2 to 30. Kinds
are sex × year of age × race. Tables are those of the 2010 census's Summary File 1, by name: PCT12 (sex by year of age),
P12A-I (sex by 23 groups of age by race), P8 (race) and P13A-I (median age by sex by race, to tenths; with means beside
them, which that file has not). Through a session every block has ε = 1 in total. The control guesses as many records as
the block has people, as frequent as they are in all of Adult.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet import attack

FIELDS = {"sex": 9, "age": 0, "race": 8, "education": 3, "country": 13, "work": 1, "marital": 5}
STARTS = [0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85, 111]
AGES = list(range(17, 91))
KINDS: dict[str, Any] = {
    "sex": ["Female", "Male"],
    "age": AGES,
    "race": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"],
}


def adult(folder: Path) -> pa.Table:
    lines = (folder / "adult.data").read_text(encoding="utf-8").splitlines()
    rows = [line.split(", ") for line in lines if line and "?" not in line]
    table = pa.table({name: [row[place] for row in rows] for name, place in FIELDS.items()})
    return table.set_column(1, "age", table["age"].cast(pa.int64()))


def counts(block: pa.Table, *names: str) -> pa.Table:
    """People by some columns; `group` is the age in groups."""
    ages = block["age"].to_numpy()
    places = np.searchsorted(STARTS, ages, side="right") - 1
    block = block.append_column("group", pa.array([f"[{STARTS[i]}, {STARTS[i + 1]})" for i in places]))
    table = block.group_by(list(names)).aggregate([([], "count_all")])
    return table.rename_columns(["age" if name == "group" else name for name in names] + ["n"])


TABLES: dict[str, Callable[[pa.Table], list[pa.Table]]] = {
    "PCT12, P12A-I": lambda b: [counts(b, "sex", "age"), counts(b, "sex", "group", "race")],
    "PCT12, P8": lambda b: [counts(b, "sex", "age"), counts(b, "race")],
}


def summarised(block: pa.Table) -> pa.Table:
    """Median and mean age by sex by race, as they are published: to tenths."""
    ages: dict[tuple[str, str], list[int]] = {}
    for row in block.to_pylist():
        ages.setdefault((row["sex"], row["race"]), []).append(row["age"])
    return pa.table({
        "sex": [sex for sex, _ in ages],
        "race": [race for _, race in ages],
        "median": [statistics.median(each) for each in ages.values()],
        "mean": [round(statistics.mean(each), 1) for each in ages.values()],
    })  # fmt: skip


MEDIANS = {"median": attack.Statistic("median", "age", "0.1"), "mean": attack.Statistic("mean", "age", "0.1")}
SUMMARIES: dict[str, Callable[[pa.Table], list[pa.Table]]] = {
    "P12A-I": lambda b: [counts(b, "sex", "group", "race")],
    "with P13A-I": lambda b: [counts(b, "sex", "group", "race"), summarised(b).drop_columns(["mean"])],
    "and means": lambda b: [counts(b, "sex", "group", "race"), summarised(b)],
}


def random_blocks(table: pa.Table, size: int, number: int) -> list[pa.Table]:
    draws = np.random.default_rng(27)
    return [table.take(pa.array(draws.choice(table.num_rows, size, replace=False))) for _ in range(number)]


def keyed_blocks(table: pa.Table, number: int) -> list[pa.Table]:
    keys = zip(*(table[name].to_pylist() for name in ("education", "country", "work", "marital")), strict=True)
    rows: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        rows.setdefault(key, []).append(i)
    blocks = [each for each in rows.values() if 2 <= len(each) <= 30]
    chosen = np.random.default_rng(27).permutation(len(blocks))[:number]
    return [table.take(pa.array(blocks[i])) for i in chosen]


def solved(tables: list[pa.Table]) -> attack.Microdata:
    """By the solver where there are medians, for as long as a hundred thousand lists take it."""
    present = {name: each for name, each in MEDIANS.items() if any(name in table.column_names for table in tables)}
    if present:
        return attack.microdata(tables, KINDS, statistics=present, solver="cp-sat", limit=100_000, seconds=5)
    return attack.microdata(tables, KINDS, limit=2000, steps=10_000)


def exact(
    name: str, blocks: list[pa.Table], national: pa.Table, published: dict[str, Callable[[pa.Table], list[pa.Table]]]
) -> None:
    for tables, publish in published.items():
        begun = time.process_time()
        results = [(solved(publish(each)), each) for each in blocks]
        seconds = time.process_time() - begun
        outcomes = [(result, result.against(each, national)) for result, each in results]
        people = sum(o.targets for _, o in outcomes)
        unique = [o for result, o in outcomes if result.is_unique]
        right, blind, certain = (
            sum(each) / people
            for each in zip(*((o.right, o.baseline * o.targets, o.claims or 0) for _, o in outcomes), strict=True)
        )
        print(
            f"{name:<24}{tables:<15}one solution {len(unique) / len(blocks):6.1%}, right in "
            f"{sum(o.right == o.targets for o in unique)} of {len(unique)}; records right {right:.1%}, from the "
            f"national table {blind:.1%}; certain {certain:.1%}, of these false "
            f"{sum(o.false_claims or 0 for _, o in outcomes)}; left open "
            f"{sum(not result.is_complete for result, _ in outcomes)}; {seconds:.1f} CPU s",
            flush=True,
        )


def noisy(blocks: list[pa.Table], national: pa.Table) -> None:
    """Each block's tables at ε = 1 in total, as they are, and with as large a margin as noise needs."""
    columns = {
        "sex": {"type": "string", "keys": KINDS["sex"]},
        "age": {"type": "int", "keys": AGES},
        "race": {"type": "string", "keys": KINDS["race"]},
    }
    policy = {"version": "1", "budget": {"epsilon": 1}, "tables": {"people": {"unit": "rows", "columns": columns}}}
    states: dict[int, list[attack.Microdata]] = {0: [], 10: []}
    right = people = 0
    for block in blocks:
        with tempfile.TemporaryDirectory() as folder:
            session = dp.connect({"people": block.select(list(columns))}, policy=policy, ledger=f"{folder}/b.ledger")
            tables = [
                session.sql(f"SELECT {by}, COUNT(*) AS n FROM people GROUP BY {by}", dp.pure("1/2")).to_arrow()
                for by in ("sex, age", "sex, race")
            ]
            session.close()
        for margin, results in states.items():
            results.append(attack.microdata(tables, KINDS, margin=margin, limit=1000, steps=5000))
        outcome = states[10][-1].against(block, national)
        right, people = right + outcome.right, people + outcome.targets
    for margin, results in states.items():
        none = sum(each.is_complete and not each.solutions for each in results)
        one = sum(each.is_unique for each in results)
        print(
            f"noisy, ε = 1, margin {margin}: {len(results)} blocks, contradictory {none}, one solution {one}, "
            f"many or open {len(results) - none - one}"
        )
    print(f"noisy, ε = 1: records right {right / people:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--blocks", type=int, default=200)
    given = parser.parse_args()
    table = adult(given.adult)
    keyed = keyed_blocks(table, given.blocks)
    exact("2 to 30 by public keys", keyed, table, TABLES)
    for size in (5, 10, 20, 30):
        exact(f"{size} at random", random_blocks(table, size, given.blocks), table, TABLES)
    for size, blocks in ((5, given.blocks), (10, given.blocks // 10)):
        exact(f"{size} at random", random_blocks(table, size, blocks), table, SUMMARIES)
    noisy(keyed[:20], table)


if __name__ == "__main__":
    main()
