"""Histories and several tables: how near synthetic people with all their rows are to the real ones.

    python bench/synth_histories.py [--fits 20] [--epsilon 1] [--tiers best instant]

The years of people in the RAND experiment (`discreet.datasets.rand`), δ = 1e-9. First as one table with five columns
and the year: the distance (half of L1) of the shares of people with so many rows, and the rank correlation of the
number of visits to a doctor with that of the year before. Then as persons, their visits and the public plans that
they have: the distances of each pair of a column of the person and one of the visit, and whether every link resolves.
Numbers have the bounds of the policy; ages are in five groups, dollars in six. Each figure is a mean over the fits,
with the largest beside it; `alone` is what rows would have that were drawn without what they belong to, or follow.
Seconds are CPU seconds of a fit and of a sample.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import discreet as dp
from discreet import synth
from discreet.datasets import rand
from discreet.policy import load_policy

DELTA = "1e-9"
PLANS = [0, 25, 50, 95, 100]
HISTORY = synth.History(order="year", constant=["coinsurance", "female"], along=["age"], repeats=False)
POLICY: dict[str, Any] = {
    "budget": {"epsilon": 1_000, "delta": "1e-3"},
    "tables": {
        "persons": {
            "unit": "person",
            "max_rows": 1,
            "columns": {
                "plan": {"type": "int", "nullable": False},
                "female": {"type": "bool", "nullable": False},
                "age": {"type": "int", "bounds": [0, 65], "nullable": False},
            },
        },
        "visits": {
            "unit": "person",
            "max_rows": 5,
            "columns": {
                "year": {"type": "int", "keys": {"from": 1, "to": 5}, "nullable": False},
                "doctor_visits": {"type": "int", "bounds": [0, 20], "nullable": False},
                "dollars": {"type": "float", "bounds": [0, 500], "nullable": False},
            },
        },
        "plans": {
            "public": True,
            "key": "plan",
            "columns": {"plan": {"type": "int", "keys": PLANS, "nullable": False}},
        },
    },
}
Columns = Mapping[str, NDArray[Any]]


def arrays(table: pa.Table) -> Columns:
    return {name: table[name].to_numpy() for name in table.column_names}


def lag(rows: Columns) -> float:
    """The rank correlation of visits with those of the row before."""
    order = np.lexsort((rows["year"], rows["person"]))
    person, visits = rows["person"][order], rows["doctor_visits"][order]
    same = person[1:] == person[:-1]
    return float(np.corrcoef(_ranks(visits[:-1][same]), _ranks(visits[1:][same]))[0, 1])


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[places]


def numbers_of_rows(rows: Columns) -> NDArray[np.float64]:
    """The shares of people with so many rows."""
    counts = np.bincount(np.unique(rows["person"], return_counts=True)[1], minlength=6)
    return counts / counts.sum()


def pairs(persons: Columns, visits: Columns) -> dict[str, NDArray[np.float64]]:
    """The shares of visits by a column of the person and one of the visit."""
    order = np.argsort(persons["person"])
    whose = order[np.searchsorted(persons["person"][order], visits["person"])]
    above = {
        "plan": np.searchsorted(PLANS, persons["plan"]),
        "female": persons["female"].astype(int),
        "age": np.minimum(persons["age"] // 13, 4),
    }
    below = {
        "year": visits["year"] - 1,
        "doctor_visits": np.minimum(visits["doctor_visits"], 20),
        "dollars": np.searchsorted([0, 20, 50, 100, 200], np.minimum(visits["dollars"], 500)),
    }
    shares: dict[str, NDArray[np.float64]] = {}
    for one, upper in above.items():
        for other, lower in below.items():
            counts = np.zeros((6, 21))
            np.add.at(counts, (upper[whose], lower), 1 / lower.size)
            shares[f"{one} × {other}"] = counts
    return shares


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.abs(one - other).sum()) / 2


def one_table(options: argparse.Namespace, tier: Any) -> None:
    real, policy = arrays(pq.read_table(rand.table)), load_policy(rand.policy)
    figures: list[tuple[float, float]] = []
    seconds = np.zeros(2)
    for fit in range(options.fits):
        again = policy.model_copy(update={"version": str(fit), "budget": None})
        began = time.process_time()
        with dp.connect({"visits": rand.table}, _with_budget(again)) as session:
            spend = dp.approx(options.epsilon, DELTA)
            model = synth.fit_tables(session, ["visits"], spend, tier=tier, histories={"visits": HISTORY})
        drawing = time.process_time()
        rows = arrays(model.sample()["visits"])
        seconds += (drawing - began, time.process_time() - drawing)
        figures.append((distance(numbers_of_rows(rows), numbers_of_rows(real)), lag(rows) - lag(real)))
    rows_off, lag_off = (np.abs(np.array(each)) for each in zip(*figures, strict=True))
    fitting, sampling = seconds / options.fits
    print(f"\n{tier}, one table, ε = {options.epsilon}: CPU s {fitting:.1f} + {sampling:.2f}")
    print(f"  rows per person: TV {rows_off.mean():.3f}, at most {rows_off.max():.3f} (wanted: .03)")
    mean = lag(real) + float(np.mean([each for _, each in figures]))
    print(
        f"  lag-1 rank correlation of visits: {mean:.3f}, real {lag(real):.3f}; off by {lag_off.mean():.3f}, "
        f"at most {lag_off.max():.3f} (wanted: .08; alone: {lag(real):.3f})"
    )


def _with_budget(policy: Any) -> Any:
    return policy.model_copy(update={"budget": load_policy({**POLICY, "version": "1"}).budget})


def several_tables(options: argparse.Namespace, tier: Any) -> None:
    table = pq.read_table(rand.table)
    rows = arrays(table)
    first = np.unique(rows["person"], return_index=True)[1]
    persons = {"person": rows["person"][first], "plan": rows["coinsurance"][first], "female": rows["female"][first],
               "age": rows["age"][first]}  # fmt: skip
    sources = {
        "persons": pa.table(persons),
        "visits": table.select(["person", "year", "doctor_visits", "dollars"]),
        "plans": pa.table({"plan": PLANS}),
    }
    real = pairs(persons, rows)
    off: dict[str, list[float]] = {name: [] for name in real}
    numbers: list[float] = []
    seconds = 0.0
    for fit in range(options.fits):
        began = time.process_time()
        with dp.connect(sources, {**POLICY, "version": str(fit)}) as session:
            model = synth.fit_tables(
                session, list(sources), dp.approx(options.epsilon, DELTA), tier=tier,
                histories={"visits": synth.History(order="year", repeats=False)},
            )  # fmt: skip
        seconds += time.process_time() - began
        drawn = {name: arrays(each) for name, each in model.sample().items()}
        assert set(drawn["visits"]["person"]) <= set(drawn["persons"]["person"])
        assert set(drawn["persons"]["plan"]) <= set(PLANS)
        numbers.append(distance(numbers_of_rows(drawn["visits"]), numbers_of_rows(rows)))
        for name, shares in pairs(drawn["persons"], drawn["visits"]).items():
            off[name].append(distance(shares, real[name]))
    seconds /= options.fits
    print(f"\n{tier}, persons, visits, public plans, ε = {options.epsilon}: CPU s {seconds:.1f}; every link resolves")
    print(f"  rows per person: TV {np.mean(numbers):.3f}, at most {max(numbers):.3f}")
    for name, each in off.items():
        alone = distance(real[name], np.outer(real[name].sum(axis=1), real[name].sum(axis=0)))
        print(f"  {name}: TV {np.mean(each):.3f}, at most {max(each):.3f} (wanted: .10; alone, no noise: {alone:.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--tiers", nargs="+", default=["best", "instant"])
    options = parser.parse_args()
    for tier in options.tiers:
        one_table(options, tier)
        several_tables(options, tier)


if __name__ == "__main__":
    main()
