"""Groups that overlap, of a made-up country of a million people: CPU seconds, and whether groups get their detail.

    python bench/census_detail.py [--people 1000000] [--runs 5]

400 groups, at most 8 of one person, at three levels of 1, 10 and 100 areas, with rho = 1. Thresholds are the least that
a plan accepts for the level with most noise, and 4 and 12 times that. In each county five groups for each threshold
have as many people as are 20 % above it, and no more; others have sizes by Zipf's law. Each run opens a ledger of its
own, counts and publishes. CPU seconds are those of one run with counting, the median of all. Exit status 1 if a goal is
missed.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet import census
from discreet.census.details._chance import least_threshold
from discreet.policy import load_policy
from goals import Goals

GROUPS, MOST, PLANTED = 400, 8, 5
STATES, COUNTIES = 10, 100
DETAILS = {
    "by_sex": {"columns": ["sex"]},
    "by_age": {"columns": ["sex", "age"], "cells": {"age": [18, 45, 65]}},
    "by_year": {"columns": ["sex", "age"], "cells": {"age": list(range(5, 86, 5))}},
}
TIMES = (1, 4, 12)
SPEND = dp.rho(1)


def codes() -> list[str]:
    return [f"g{i:03d}" for i in range(GROUPS)]


def policy() -> dict[str, Any]:
    sex = {"type": "string", "keys": ["F", "M"], "nullable": False}
    age = {"type": "int", "bounds": [0, 99], "nullable": False}
    people = {"unit": "person", "max_rows": 1, "columns": {"county": {"type": "string"}, "sex": sex, "age": age}}
    groups = {"unit": "person -> people.person", "max_rows": MOST, "columns": {
        "origin": {"type": "string", "keys": codes()}}}  # fmt: skip
    return {"version": "1", "budget": {"rho": 9}, "tables": {"people": people, "origins": groups}}


def spec(thresholds: list[int]) -> census.DetailSpec:
    counties = np.arange(COUNTIES)
    areas = {
        "state": [f"s{i}" for i in counties * STATES // COUNTIES],
        "county": [f"c{i:02d}" for i in counties],
    }
    detail = {
        name: {"from": start, **each} for (name, each), start in zip(DETAILS.items(), thresholds, strict=True)
    }  # fmt: skip
    return census.DetailSpec.of_dict({
        "table": "origins",
        "groups": {"column": "origin", "most": MOST},
        "geography": {"areas": areas, "levels": ["state", "county"], "root": "country"},
        "detail": detail,
    })  # fmt: skip


def plan(thresholds: list[int]) -> census.DetailPlan:
    return census.plan_detail_question(census.PublishDetail(spec(thresholds), SPEND), load_policy(policy()))


def accepted() -> list[int]:
    """The least threshold that every level can promise, and its multiples."""
    noise = plan([10**6 * each for each in TIMES]).prepared.mechanisms
    least = max(least_threshold(each["totals"], Fraction(1, 5), Fraction(99, 100)) for each in noise.values())
    return [least * each for each in TIMES]


def made_up(people: int, thresholds: list[int]) -> dict[str, pa.Table]:
    """The people with a county, and their groups: planted ones, one of a person for each threshold, and up to five."""
    draws = np.random.default_rng(7)
    county = np.sort(draws.integers(0, COUNTIES, people))
    persons, groups = [], []
    for place, threshold in enumerate(thresholds):
        many = math.ceil(threshold * 1.2)
        for at in range(COUNTIES):
            inside = np.flatnonzero(county == at)
            if len(inside) < PLANTED * many:
                raise SystemExit(f"too few people for groups of {many:,} in each county")
            persons.append(draws.permutation(inside)[: PLANTED * many])
            groups.append(np.repeat(np.arange(PLANTED) + PLANTED * place, many))
    usual = 1 / np.arange(1, GROUPS - PLANTED * len(thresholds) + 1)
    for _ in range(MOST - len(thresholds)):
        some = np.flatnonzero(draws.random(people) < 0.5)
        persons.append(some)
        groups.append(draws.choice(len(usual), len(some), p=usual / usual.sum()) + PLANTED * len(thresholds))
    names = pa.array([f"c{i:02d}" for i in range(COUNTIES)])
    return {
        "people": pa.table({
            "person": np.arange(people),
            "county": names.take(pa.array(county)),
            "sex": pa.array(["F", "M"]).take(pa.array(draws.integers(0, 2, people))),
            "age": draws.integers(0, 100, people),
        }),
        "origins": pa.table({
            "person": np.concatenate(persons),
            "origin": pa.array(codes()).take(pa.array(np.concatenate(groups))),
        }),
    }  # fmt: skip


def refined(tables: census.DetailTables) -> np.ndarray:
    """For each threshold how many planted groups are shown at least so finely, of all counties."""
    finer = list(DETAILS)
    rows = tables.totals("county")
    pairs = zip(rows["group"].to_pylist(), rows["county"].to_pylist(), strict=True)
    shown = dict(zip(pairs, rows["detail"].to_pylist(), strict=True))
    names = codes()
    return np.array([
        sum(
            shown[names[PLANTED * place + group], f"c{at:02d}"] in finer[place:]
            for group in range(PLANTED)
            for at in range(COUNTIES)
        )
        for place in range(len(finer))
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    goals = Goals()
    thresholds = accepted()
    planned = plan(thresholds)
    people = made_up(given.people, thresholds)
    print(f"{given.people:,} people in {people['origins'].num_rows:,} rows of {GROUPS} groups; thresholds {thresholds}")
    seconds, reached, off, cells = [], np.zeros(len(DETAILS)), [], 0
    for _ in range(given.runs):
        with dp.connect(people, policy()) as session:
            begun = time.process_time()
            made = census.detail(session, spec(thresholds), SPEND)
            seconds.append(time.process_time() - begun)
        reached += refined(made)
        for place, threshold in enumerate(thresholds):
            totals = [made.total(codes()[PLANTED * place], f"c{at:02d}", "county") for at in range(COUNTIES)]
            off += [(each.unbiased - math.ceil(threshold * 1.2)) / each.standard_error for each in totals]
        cells = made.table("county").num_rows
    pairs = given.runs * PLANTED * COUNTIES
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    goals.line("CPU s with counting, median", f"{np.median(seconds):.1f}")
    print(f"  cells of counties {cells:,}; memory {memory:.2f} GB with the people")
    for place, (name, threshold) in enumerate(zip(DETAILS, thresholds, strict=True)):
        chance, share = planned.chance(name, "county", math.ceil(threshold * 1.2)), float(reached[place]) / pairs
        sure = 4 * (chance * (1 - chance) / pairs) ** 0.5
        goals.line(
            f"{name}, from {threshold:,}: planned chance in counties", f"{chance:.4f}", "at least 0.99", chance >= 0.99
        )
        goals.line(f"{name}: groups 20 % above, of {pairs:,}", f"{share:.4f}", "as planned, within 4 standard errors",
                   abs(share - chance) <= sure + 1e-9)  # fmt: skip
    mean = float(np.mean(off)) * len(off) ** 0.5
    goals.line(
        "fresh totals less the truth, in standard errors of the mean", f"{mean:+.2f}", "within 4", abs(mean) <= 4
    )
    return goals.close()


if __name__ == "__main__":
    sys.exit(main())
