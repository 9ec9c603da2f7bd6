"""Several attributes: tables beside splitting ε over them, and numbers by key beside published protocols.

    python bench/several.py [--people 200000] [--rounds 5] [--only marginals|keys|rates]

Tables: six attributes of 2 to 10 values that depend on each other, and the mean total variation distance of the 15
two-way tables from the truth. "split over tables" tells all 15 at ε/15 each, "split over attributes" all 6 at ε/6 each
and multiplies what is told; both use the oracle that is best for that ε.

Numbers by key: 100 keys by Zipf, people of 1 to 3 pairs, padding 3. Root mean squared errors of the frequencies of all
keys, and of the means of the 20 most frequent (bounds −1 and 1; an estimate is cut to them), over rounds. The peers are
the published perturbations and estimators, drawn from the law of their counts: PrivKV with ε/2 for the key and for the
number each (Ye, Hu, Meng and Zheng 2019, one round), PCKV-UE and PCKV-GRR with the optimised budgets of Gu et al. 2020.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import local
from discreet.local.multidimensional._cell_oracle import best_oracle
from discreet.noise import fresh_draws

Floats = np.ndarray
SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 8, "f": 10}
KEYS, PADDING, SHOWN = 100, 3, 20


def correlated(people: int) -> dict[str, np.ndarray]:
    """A hidden type of each person leans all attributes."""
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 4, people)
    columns = {}
    for name, size in SIZES.items():
        weights = rng.dirichlet(np.full(size, 0.7), 4)
        ends = np.cumsum(weights, axis=1)[kind]
        columns[name] = np.minimum((rng.random(people)[:, None] > ends).sum(axis=1), size - 1)
    return columns


def table_of(columns: dict[str, np.ndarray], names: tuple[str, str]) -> Floats:
    one, two = (columns[name] for name in names)
    shape = tuple(SIZES[name] for name in names)
    return np.bincount(one * shape[1] + two, minlength=math.prod(shape)).reshape(shape) / one.size


def kind_of(size: int, epsilon: float) -> Any:
    every = (local.KaryRandomizedResponse, local.HadamardResponse, local.ProjectiveGeometry)
    kinds = {each.protocol: each for each in every}
    return kinds[best_oracle(size, local.Duchi((0, 1), epsilon).epsilon)](size, epsilon)


def sampled(columns: dict[str, np.ndarray], epsilon: float) -> dict[tuple[str, str], Floats]:
    scheme = local.Marginals(SIZES, epsilon)
    found = scheme.server().add(scheme.simulate(columns)).estimate()
    return {names: found.marginal(*names).table for names in scheme.tables}


def split_over_tables(columns: dict[str, np.ndarray], epsilon: float) -> dict[tuple[str, str], Floats]:
    pairs = list(itertools.combinations(SIZES, 2))
    found = {}
    for names in pairs:
        shape = tuple(SIZES[name] for name in names)
        scheme = kind_of(math.prod(shape), epsilon / len(pairs))
        reports = scheme.simulate(columns[names[0]] * shape[1] + columns[names[1]])
        found[names] = scheme.server().add(reports).estimate().frequencies.reshape(shape)
    return found


def split_over_attributes(columns: dict[str, np.ndarray], epsilon: float) -> dict[tuple[str, str], Floats]:
    cells, added = {}, {}
    for name, size in SIZES.items():
        scheme = kind_of(size, epsilon / len(SIZES))
        cells[name] = scheme.layout.unpack(scheme.simulate(columns[name]).rows)[0].numbers[0]
        added[name] = np.array(
            [scheme.read(unit, 1, None).frequencies for unit in np.eye(scheme.cells, dtype=np.int64)]
        )
    found = {}
    for one, two in itertools.combinations(SIZES, 2):
        shape = len(added[one]), len(added[two])
        both = np.bincount(cells[one] * shape[1] + cells[two], minlength=math.prod(shape)).reshape(shape)
        found[one, two] = added[one].T @ (both / cells[one].size) @ added[two]
    return found


def marginals(people: int, rounds: int) -> None:
    columns = correlated(people)
    ways: dict[str, Callable[..., dict[tuple[str, str], Floats]]] = {
        "sampled (Marginals)": sampled,
        "split over attributes": split_over_attributes,
        "split over tables": split_over_tables,
    }
    print(f"\nmean total variation distance of 15 two-way tables, {people:,} people: raw, and made consistent")
    for epsilon in (0.5, 1, 2, 4):
        line = f"ε = {epsilon:<4}"
        for name, estimated in ways.items():
            raw, kept = [], []
            for _ in range(rounds):
                for names, table in estimated(columns, epsilon).items():
                    truth = table_of(columns, names)
                    like = local.Marginal(names, (), table, table, 1, 1.0)
                    raw.append(abs(table - truth).sum() / 2)
                    kept.append(abs(like.consistent() - truth).sum() / 2)
            line += f"   {name} {np.mean(raw):.3f} {np.mean(kept):.3f}"
        print(line, flush=True)


def population(people: int) -> tuple[list[dict[int, float]], Floats, Floats, Floats, Floats]:
    """People; and the share and the mean of each key; the shares of each key with the number rounded down and up."""
    rng = np.random.default_rng(2)
    weights = 1 / np.arange(1, KEYS + 1)
    level = np.linspace(-0.8, 0.8, KEYS)[rng.permutation(KEYS)]
    held = [
        dict(
            zip(keys.tolist(), np.clip(level[keys] + 0.2 * rng.standard_normal(keys.size), -1, 1).tolist(), strict=True)
        )
        for keys in (
            rng.choice(KEYS, size, replace=False, p=weights / weights.sum()) for size in rng.integers(1, 4, people)
        )
    ]
    count, total, words = np.zeros(KEYS), np.zeros(KEYS), np.zeros((2, KEYS))
    for person in held:
        for key, number in person.items():
            count[key] += 1
            total[key] += number
    words[0], words[1] = (count - total) / 2 / people, (count + total) / 2 / people
    return held, count / people, total / count, words[0], words[1]


def three(rng: np.random.Generator, people: Floats, chances: tuple[float, float]) -> tuple[Floats, Floats]:
    """How many of so many people say plus, and how many minus, at these probabilities."""
    plus = rng.binomial(people, chances[0])
    return plus, rng.binomial(people - plus, chances[1] / (1 - chances[0]))


def told(rng: np.random.Generator, people: int, low: Floats, high: Floats, slots: int) -> tuple[Floats, Floats]:
    """How many people draw each key and round its number down, and up."""
    drawn = rng.multinomial(people, [*low / slots, *high / slots, 1 - (low + high).sum() / slots])
    return drawn[:KEYS], drawn[KEYS : 2 * KEYS]


def pckv_ue(rng: np.random.Generator, people: int, low: Floats, high: Floats, epsilon: float) -> tuple[Floats, Floats]:
    grown = math.exp(epsilon)
    a, b, p = 0.5, 2 / (grown + 3), grown / (grown + 1)
    minus, plus = told(rng, people, low, high, PADDING)
    parts = (
        three(rng, plus, (a * p, a * (1 - p))),
        three(rng, minus, (a * (1 - p), a * p)),
        three(rng, people - plus - minus, (b / 2, b / 2)),
    )
    ups, downs = (sum(part[i] for part in parts) for i in (0, 1))
    share = ((ups + downs) / people - b) / (a - b)
    change = (ups - downs) / people / (a * (2 * p - 1))
    return PADDING * share, change / share


def pckv_grr(rng: np.random.Generator, people: int, low: Floats, high: Floats, epsilon: float) -> tuple[Floats, Floats]:
    words = 2 * (KEYS + PADDING)
    truth, lie = math.exp(epsilon) / (math.exp(epsilon) + words - 1), 1 / (math.exp(epsilon) + words - 1)
    shares = np.concatenate((low, high, np.full(2 * PADDING, (PADDING - (low + high).sum()) / (2 * PADDING)))) / PADDING
    found = (rng.multinomial(people, lie + (truth - lie) * shares) / people - lie) / (truth - lie)
    total, change = found[KEYS : 2 * KEYS] + found[:KEYS], found[KEYS : 2 * KEYS] - found[:KEYS]
    return PADDING * total, change / total


def priv_kv(rng: np.random.Generator, people: int, low: Floats, high: Floats, epsilon: float) -> tuple[Floats, Floats]:
    p = math.exp(epsilon / 2) / (math.exp(epsilon / 2) + 1)  # both for the key and for the number
    asked = rng.multinomial(people, np.full(KEYS, 1 / KEYS))
    plus = rng.binomial(asked, high)
    minus = rng.binomial(asked - plus, low / (1 - high))
    parts = (
        three(rng, plus, (p * p, p * (1 - p))),
        three(rng, minus, (p * (1 - p), p * p)),
        three(rng, asked - plus - minus, ((1 - p) / 2, (1 - p) / 2)),
    )
    ups, downs = (sum(part[i] for part in parts) for i in (0, 1))
    both = np.maximum(ups + downs, 1)
    share = ((ups + downs) / np.maximum(asked, 1) - (1 - p)) / (2 * p - 1)
    ups = np.clip(((p - 1) * both + ups) / (2 * p - 1), 0, both)
    return share, (2 * ups - both) / both


def keys(people: int, rounds: int) -> None:
    held, shares, means, low, high = population(people)
    most = np.argsort(-shares)[:SHOWN]
    rng = np.random.default_rng(3)
    peers = {"PCKV-UE": pckv_ue, "PCKV-GRR": pckv_grr, "PrivKV": priv_kv}
    print(f"\nroot mean squared errors, {people:,} people: of 100 frequencies, and of the means of 20 keys")
    print(f"    {'always 0':<16}{np.sqrt((shares**2).mean()):.4f}   {np.sqrt((means[most] ** 2).mean()):.3f}")
    for epsilon in (0.5, 1, 2, 4):
        errors: dict[str, list[tuple[float, float]]] = {}
        oracles = {"ours": None, "ours, Hadamard": "hadamard_response", "ours, k-ary": "kary_randomized_response"}
        schemes = {
            name: local.KeyValues(KEYS, (-1, 1), epsilon, padding=PADDING, oracle=oracle)
            for name, oracle in oracles.items()
        }
        prepared = next(iter(schemes.values())).prepare(held)
        for _ in range(rounds):
            for name, scheme in schemes.items():
                reports = local.Reports(scheme.fingerprint, scheme.perturb(prepared, fresh_draws()))
                found = scheme.server().add(reports).estimate()
                _note(errors, name, found.frequencies - shares, (np.nan_to_num(found.means) - means)[most])
            for name, peer in peers.items():
                with np.errstate(divide="ignore", invalid="ignore"):
                    frequencies, estimated = peer(rng, people, low, high, epsilon)
                cut = np.clip(np.nan_to_num(estimated), -1, 1)
                _note(errors, name, frequencies - shares, (cut - means)[most])
        print(f"ε = {epsilon}")
        for name, found in errors.items():
            frequencies, numbers = np.sqrt(np.mean(found, axis=0))
            print(f"    {name:<16}{frequencies:.4f}   {numbers:.3f}", flush=True)


def _note(errors: dict[str, list[tuple[float, float]]], name: str, frequencies: Floats, means: Floats) -> None:
    errors.setdefault(name, []).append((float((frequencies**2).mean()), float((means**2).mean())))


def rates(people: int) -> None:
    rng = np.random.default_rng(4)
    columns = {name: rng.integers(0, size, people) for name, size in SIZES.items()}
    held = [{int(key): 0.5, int(key) + 2500: 0.1} for key in rng.integers(0, 2500, people)]
    numbers = {"way": rng.integers(0, 10_000, people), "hours": rng.random(people), "share": rng.random(people)}
    several = local.SampledAttributes(
        {
            "way": local.HadamardResponse(10_000, 1),
            "hours": local.SquareWave((0, 1), 1),
            "share": local.Hybrid((0, 1), 1),
        }
    )
    print(f"\nreports a CPU second, {people:,} people, ε = 1")
    for scheme, values in (
        (several, numbers),
        (local.Marginals(SIZES, 1), columns),
        (local.KeyValues(5000, (0, 1), 1, padding=2), held),
    ):
        start = time.process_time()
        reports = scheme.simulate(values)
        encoded = time.process_time()
        batches = 5
        for _ in range(batches):
            scheme.server().add(reports)
        added = (time.process_time() - encoded) / batches
        print(
            f"{scheme.protocol:<20}{people / (encoded - start):>14,.0f}{people / added:>14,.0f}   {reports.width} bytes"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("marginals", "keys", "rates"))
    given = parser.parse_args()
    if given.only in (None, "marginals"):
        marginals(given.people, given.rounds)
    if given.only in (None, "keys"):
        keys(given.people, given.rounds)
    if given.only in (None, "rates"):
        rates(5 * given.people)


if __name__ == "__main__":
    main()
