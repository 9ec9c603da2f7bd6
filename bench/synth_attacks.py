"""Attacks on synthetic tables of Adult: singling out, membership, links and inference, each beside its control.

    python bench/synth_attacks.py --adult FOLDER [--epsilon 1] [--tiers best instant] [--splits 3] [--targets 2000]
                                  [--games 100] [--records 20]

FOLDER as for bench/synth.py. Each split halves .data by chance: a table is fitted on one half (δ = 1e-9, as many
synthetic rows), and the other half is the control. Numbers beyond their public bounds are moved to them, as in a fit.

singling out: predicates that one synthetic row satisfies succeed where exactly one row of the half does: values and
ends of one column; conjunctions over 4 and 8 random columns of a synthetic row, numbers on its side of the median. The
control has the same predicates and the other half. membership: which of as many targets from either half were fitted,
of which half are, by the distance to the closest synthetic row; by the density of synthetic rows over that of .test;
and by the noisy counts of all measured marginals, over what .test expects. The control is chance. linking: the
synthetic row closest in half of the columns is the closest in the others. inference: the occupation of the row closest
in all other columns. The control has the targets that were not fitted.

Each line has the rate of the attack and of its control with exact intervals at 95 %, and their difference. It has `!`
if the interval of the difference does not hold 0: about one line in twenty will by chance. `real rows resampled` are
drawn from the half with replacement: there the same attacks must succeed. `exact marginals` have counts without noise:
so much can be seen at most in the marginals of a fit by that attack. With noise it sees less, but not nothing: what
bounds it is the loss. Tables with and without a target differ by two rows, for one half is as large as the other; so
nobody's rate of right guesses passes Φ(μ), for the μ that a fit spends.

game: the strongest adversary. It knows all rows but one, and the release with its noisy counts, and guesses by the
likelihood ratio whether that one was there. The records are the rarest of a half by the shares of their cells; each is
in or out of each fit by a coin of its own, so that guesses are right independently, but for the choice of marginals.
e^ε/(1 + e^ε) bounds the rate of any adversary, and Φ(μ/2), which is closer. The control has ε = 30.

Exit status 1 if membership or a game passes its bound with its whole interval, or if where attacks must succeed one of
singling out, of membership or of the games does not reach .6.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

import discreet as dp
from attack_scores import (
    Neighbours,
    Rows,
    Scores,
    Successes,
    auc,
    beyond,
    guesses,
    likelihood_ratios,
    multivariate,
    neighbours,
    singled_out,
    univariate,
)
from discreet import synth
from discreet.mechanisms import Gaussian
from synth import DELTA, LEVELS, NUMBERS, SCORED, adult, policy_of

SPANS = [NUMBERS[name][1] - NUMBERS[name][0] if name in NUMBERS else 0 for name in SCORED]
SECRET = SCORED.index("occupation")
PARTS = (range(0, len(SCORED), 2), range(1, len(SCORED), 2))
WIDTH = 0.1
"""Of the density, in columns that differ."""
WIDE = (4, 8)
RESAMPLED, EXACT = "real rows resampled", "exact marginals"
MUST = 0.6
SEEN = 30.0
"""An ε at which the game is won."""
CONTROL_GAMES = 10


T = TypeVar("T")
Pair = tuple[T, T]
"""Of those that were fitted, and of the control."""


@dataclass(frozen=True)
class Line:
    """An attack, and its control or the rate of chance."""

    attack: Successes
    control: Successes | None = None
    chance: float = 0.5

    def __add__(self, other: Line) -> Line:
        control = None if self.control is None or other.control is None else self.control + other.control
        return Line(self.attack + other.attack, control, self.chance)

    @property
    def difference(self) -> tuple[float, float]:
        if self.control is not None:
            return self.attack.more_than(self.control)
        low, high = self.attack.interval
        return low - self.chance, high - self.chance

    def text(self, name: str, note: str = "", *, can_succeed: bool = False) -> str:
        low, high = self.difference
        control = f"{self.chance:.3f} by chance      " if self.control is None else shown(self.control)
        sign = " " if can_succeed or low <= 0 <= high else "!"
        return f"  {name:<36}{shown(self.attack)}   {control}   {low:+.3f} to {high:+.3f} {sign} {note}".rstrip()


def shown(each: Successes) -> str:
    low, high = each.interval
    return f"{each.rate:.3f} [{low:.3f}, {high:.3f}]"


def encoded(table: pa.Table, policy: Mapping[str, Any]) -> Rows:
    """Numbers within their bounds, and the positions of keys, null after them."""
    columns: list[Any] = []
    for name in SCORED:
        if name in NUMBERS:
            columns.append(np.clip(table[name].to_numpy(), *NUMBERS[name]))
        else:
            keys = [*policy["tables"]["adult"]["columns"][name]["keys"], None]
            places = {key: i for i, key in enumerate(keys)}
            columns.append(np.array([places[value] for value in table[name].to_pylist()]))
    return np.column_stack(columns).astype(np.int64)


def fitted(table: pa.Table, policy: Mapping[str, Any], epsilon: float, tier: Any) -> synth.SyntheticTable:
    with dp.connect({"adult": table}, policy) as session:
        spend = dp.approx(str(epsilon), DELTA)
        return synth.fit(session, "adult", spend, tier=tier, target="income", rules=[LEVELS])


def public_cells(rows: Rows, policy: Mapping[str, Any], model: synth.SyntheticTable) -> Rows:
    """The cell of each value in the columns of a fit."""
    cells = np.empty_like(rows)
    for i, column in enumerate(model.columns):
        values, places = np.unique(rows[:, i], return_inverse=True)
        keys = [] if column.name in NUMBERS else [*policy["tables"]["adult"]["columns"][column.name]["keys"], None]
        cells[:, i] = np.array([column.cell(keys[value] if keys else int(value)) for value in values])[places]
    return cells


def right_at_most(epsilon: float, rows: int) -> float:
    """How often anyone is right at most who guesses which of two tables was fitted, where so many rows differ.

    It is Φ(rows · μ/2), by the μ that a fit spends.
    """
    return NormalDist().cdf(rows / float(Gaussian.calibrate(dp.approx(str(epsilon), DELTA), 1).sigma) / 2)


class Attacks:
    """All attacks on the synthetic rows of one half, and the lines of all halves added up."""

    def __init__(self, policy: Mapping[str, Any], options: argparse.Namespace, reference: Rows) -> None:
        self.policy, self.options, self.reference = policy, options, reference
        self.lines: dict[str, dict[str, Line]] = defaultdict(dict)
        self.areas: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))

    def _add(self, title: str, name: str, line: Line) -> None:
        earlier = self.lines[title].get(name)
        self.lines[title][name] = line if earlier is None else earlier + line

    def single_out(self, title: str, synthetic: Rows, halves: Pair[Rows], rng: np.random.Generator) -> None:
        sets = {"singling out, one column": univariate(synthetic, SPANS, rng, self.options.targets)}
        for columns in WIDE:
            predicates = multivariate(synthetic, SPANS, rng, self.options.targets, columns)
            sets[f"singling out, {columns} columns"] = predicates
        for name, predicates in sets.items():
            self._add(title, name, Line(*(singled_out(predicates, half) for half in halves)))

    def guess(self, title: str, name: str, scores: Pair[Scores], rng: np.random.Generator) -> None:
        self._add(title, name, Line(guesses(*scores, rng)))
        self.areas[title][name].append(auc(*scores))

    def near(self, title: str, there: Pair[Neighbours], usual: Pair[Neighbours], rng: np.random.Generator) -> None:
        ratios = [one.log_density - other.log_density for one, other in zip(there, usual, strict=True)]
        self.guess(title, "membership, closest row", (there[0].closeness, there[1].closeness), rng)
        self.guess(title, "membership, ratio of densities", (ratios[0], ratios[1]), rng)
        linked = [Successes(int(each.linked.sum()), len(each.linked)) for each in there]
        inferred = [Successes(int(each.inferred.sum()), len(each.inferred)) for each in there]
        self._add(title, "linking two halves of a row", Line(*linked))
        self._add(title, "inference of the occupation", Line(*inferred))

    def within(self, title: str, bound: float) -> bool:
        """Whether no rate of membership passes its bound with its whole interval."""
        lines = self.lines[title].items()
        return all(line.attack.interval[0] <= bound for name, line in lines if name.startswith("membership"))

    def print(self, title: str, *, can_succeed: bool = False) -> bool:
        """Print what was added up; whether singling out and membership reach .6."""
        print(f"\n{title}")
        for name, line in self.lines[title].items():
            areas = self.areas[title].get(name, [])
            mean = sum(each for each, _ in areas) / max(len(areas), 1)
            error = math.sqrt(sum(each**2 for _, each in areas)) / max(len(areas), 1)
            note = f"AUC {mean:.3f} ± {error:.3f}" if areas else ""
            print(line.text(name, note, can_succeed=can_succeed), flush=True)
        judged = [line for name, line in self.lines[title].items() if name.startswith(("singling", "membership"))]
        return all(line.attack.rate > MUST for line in judged)


def split(attacks: Attacks, data: pa.Table, seed: int) -> None:
    """Attack tables of one half of the rows, and the controls for success."""
    rng, options, policy = np.random.default_rng(seed), attacks.options, attacks.policy
    order, size = rng.permutation(data.num_rows), data.num_rows // 2
    half, rows = data.take(pa.array(order[:size])), encoded(data, policy)
    halves = rows[order[:size]], rows[order[size : 2 * size]]
    few = options.targets
    targets = halves[0][:few], halves[1][:few]

    def near(rows: Rows) -> Pair[Neighbours]:
        one, other = (neighbours(each, rows, SPANS, SECRET, PARTS, WIDTH) for each in targets)
        return one, other

    usual = near(attacks.reference)
    for tier in options.tiers:
        model = fitted(half, policy, options.epsilon, tier)
        synthetic, title = encoded(model.sample(size), policy), f"discreet {tier}, ε = {options.epsilon:g}"
        attacks.single_out(title, synthetic, halves, rng)
        attacks.near(title, near(synthetic), usual, rng)
        cells = [public_cells(each, policy, model) for each in (*targets, attacks.reference, halves[0])]
        scale = size / len(attacks.reference)
        for name, exact in ((title, None), (EXACT, cells[3])):
            scores = beyond(model, cells[0], cells[2], scale, exact), beyond(model, cells[1], cells[2], scale, exact)
            attacks.guess(name, f"membership, marginals{'' if exact is None else f' of {tier}'}", scores, rng)
    resampled = halves[0][rng.integers(0, size, size)]
    attacks.single_out(RESAMPLED, resampled, halves, rng)
    attacks.near(RESAMPLED, near(resampled), usual, rng)


def rarest(cells: Rows, records: int) -> Rows:
    """The rows whose cells have the fewest rows each, by the sum of logarithms."""
    logs = sum(np.log(np.bincount(column)[column]) for column in cells.T)
    return np.argsort(logs)[:records]


def game(
    data: pa.Table, policy: Mapping[str, Any], epsilon: float, tier: str, games: int, records: int
) -> tuple[Successes, float]:
    """How often the adversary guesses right whether a record was there, and how often the noise of marginals allows."""
    rng, rows = np.random.default_rng(0), encoded(data, policy)
    half = np.sort(rng.permutation(len(rows))[: len(rows) // 2])
    model = fitted(data.take(pa.array(half)), policy, epsilon, tier)
    cells = public_cells(rows[half], policy, model)
    chosen = rarest(cells, records)
    right, allowed = 0, 0.0
    for _ in range(games):
        there = np.ones(len(half), np.bool_)
        there[chosen] = rng.random(records) < 0.5
        model = fitted(data.take(pa.array(half[there])), policy, epsilon, tier)
        information = sum(1 / each.mechanism.std**2 for each in model.measured)
        ratios = likelihood_ratios(model, cells[chosen], cells[there], there[chosen])
        right += int(((ratios > 0) == there[chosen]).sum())
        allowed += NormalDist().cdf(math.sqrt(information) / 2) / games
    return Successes(right, games * records), allowed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--tiers", nargs="+", default=["best", "instant"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--targets", type=int, default=2_000)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--records", type=int, default=20)
    options = parser.parse_args()
    began = time.process_time()
    data, test = adult(options.adult)
    policy = policy_of([data, test])
    attacks, good = Attacks(policy, options, encoded(test, policy)), True
    for seed in range(options.splits):
        split(attacks, data, seed)
    most = right_at_most(options.epsilon, 2)
    print(f"membership: nobody is right more often than Φ(μ) = {most:.3f}")
    print(f"{'':38}{'attack':24}{'control':24}difference")
    for title in list(attacks.lines):
        reached = attacks.print(title, can_succeed=title in {RESAMPLED, EXACT})
        good &= reached if title == RESAMPLED else title == EXACT or attacks.within(title, most)
    if options.games:
        print("\ngame, with and without one record")
        for epsilon, games in ((options.epsilon, options.games), (SEEN, CONTROL_GAMES)):
            pure, gaussian = 1 / (1 + math.exp(-epsilon)), right_at_most(epsilon, 1)
            for tier in options.tiers:
                each, allowed = game(data, policy, epsilon, tier, games, options.records)
                print(
                    f"  {tier}, ε = {epsilon:g}:  {shown(each)} of {each.trials:,} guesses; the noise of marginals "
                    f"allows {allowed:.3f}, Φ(μ/2) = {gaussian:.3f}, e^ε/(1 + e^ε) = {pure:.3f}",
                    flush=True,
                )
                good &= each.interval[0] <= min(pure, gaussian) and (epsilon < SEEN or each.rate > MUST)
    print(f"\n{time.process_time() - began:.0f} CPU s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
