"""How good suggested bounds are: the error of a mean between them, by that between the best fixed bounds.

    python bench/suggest.py [--runs 200] [--adult /path/to/adult.data]

The columns are of the RAND health insurance experiment (in statsmodels) and, where its file is given or found in
`shared/data`, of the Adult census extract. Every row is a unit, nothing is known of any column but its type, and
ε = 0.1. For each column, over so many suggestions with 50 means each:

- apart: the suggestion has an ε of 0.1 of its own, the mean another;
- from one: a share of one ε of 0.1 buys the suggestion, the rest the mean. Errors are by those of the best fixed
  bounds with all of the 0.1, so even perfect bounds would have 1/(1 − share).

Fixed bounds are chosen with full knowledge of the data: of 60 × 80 pairs of values, those 5 are tried with 4,000 means
each for which what is clipped below, what is clipped above and the noise are least in sum, and the best one counts. To
add what is clipped on either side forgoes luck: [mean − t, mean + t] with t near zero has no error at all on a table
whose mean is known, and serves on no other.

Exits with 1 if a ratio of "apart" is above 1.5.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import statsmodels

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import Group, Plan, draw, make_plan, plan_suggestion

EPSILON = Fraction(1, 10)
SHARES = (Fraction(3, 10), Fraction(4, 10), Fraction(5, 10))
MEANS = 50
TRIED = 4_000
WANTED = 1.5

RAND = ("mdvis", "outpdol", "meddol", "drugdol", "suppdol", "mentdol", "inpdol", "totadm", "disea", "income", "xage")
ADULT = {"age": 0, "fnlwgt": 2, "education-num": 4, "capital-gain": 10, "capital-loss": 11, "hours-per-week": 12}


@dataclass
class Case:
    """A column, and all that is computed of it once."""

    name: str
    values: pa.Array[Any]
    exact: dict[tuple[Fraction, Fraction], tuple[Any, list[Group]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kind = "int" if pa.types.is_integer(self.values.type) else "float"
        self.numbers = np.asarray(self.values.drop_null(), dtype=np.float64)
        self.truth = float(self.numbers.mean())

    def policy(self, bounds: tuple[Fraction, Fraction] | None = None) -> Any:
        about = {"type": self.kind} | ({} if bounds is None else {"bounds": bounds})
        return load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": about}}}})

    def groups(self, policy: Any, bounded: Any) -> list[Group]:
        with closing(DuckDB({"t": pa.table({"x": self.values})}, policy)) as engine:
            return engine.run(bounded, bytes(16))

    def errors(self, bounds: tuple[Fraction, Fraction], epsilon: Fraction, runs: int) -> np.ndarray[Any, Any]:
        """How far off so many means are."""
        plan: Plan = make_plan("SELECT AVG(x) AS a FROM t", self.policy(bounds), dp.pure(epsilon))
        (level,) = plan.levels
        if bounds not in self.exact:
            self.exact[bounds] = level.bounded, self.groups(self.policy(bounds), level.bounded)
        assert level.noise is not None
        (group,) = self.exact[bounds][1]
        columns = [
            noise.release([total] * runs) for noise, total in zip(level.noise.mechanisms, group.sums, strict=True)
        ]
        noisy = [Group((), 0, tuple(map(int, row))) for row in zip(*columns, strict=True)]
        means = np.asarray(plan.finish([noisy]).table.column("a"), dtype=np.float64)
        return np.abs(means - self.truth)

    def best(self) -> tuple[tuple[Fraction, Fraction], float]:
        """The best fixed bounds, and their mean error."""
        low = np.unique(np.quantile(self.numbers, np.r_[np.linspace(0, 0.02, 30), np.linspace(0.02, 0.5, 30)]))
        high = np.unique(np.quantile(self.numbers, 1 - np.r_[np.linspace(0, 0.02, 50), np.linspace(0.02, 0.5, 30)]))
        below = {a: np.maximum(a - self.numbers, 0).mean() for a in low}
        above = {b: np.maximum(self.numbers - b, 0).mean() for b in high}
        scored: list[tuple[float, float, float]] = []
        for a in low:
            for b in high[high > a]:
                half, mean = (b - a) / 2, self.truth + below[a] - above[b]
                noise = 0.75 * 2 * np.sqrt(2) / float(EPSILON) * np.hypot(half, mean - (a + b) / 2) / self.numbers.size
                scored.append((below[a] + above[b] + noise, a, b))
        tried: list[tuple[float, tuple[Fraction, Fraction]]] = []
        for _, a, b in sorted(scored)[:5]:
            ends = (Fraction(int(a)), Fraction(int(b))) if self.kind == "int" else (Fraction(a), Fraction(b))
            tried.append((float(self.errors(ends, EPSILON, TRIED).mean()), ends))
        error, ends = min(tried)
        return ends, error

    def suggested(self, epsilon: Fraction, runs: int) -> list[tuple[Fraction, Fraction]]:
        """So many suggestions."""
        policy = self.policy()
        plan = plan_suggestion(policy, "t", "x", dp.pure(epsilon))
        (level,) = plan.levels
        exact = self.groups(policy, level.bounded)
        assert level.noise is not None
        found = [plan.finish([draw(exact, level.bounded, level.noise)], policy).bounds for _ in range(runs)]
        return [bounds for bounds in found if bounds is not None]


def cases(adult: Path) -> Iterator[Case]:
    rand = pd.read_csv(Path(statsmodels.__file__).parent / "datasets" / "randhie" / "src" / "randhie.csv")
    for name in RAND:
        yield Case(f"RAND {name}", pa.array(rand[name], from_pandas=True))
    if adult.exists():
        table = pd.read_csv(adult, header=None, skipinitialspace=True)
        for name, at in ADULT.items():
            yield Case(f"Adult {name}", pa.array(table[at], from_pandas=True))


def measured(case: Case, suggestion: Fraction, mean: Fraction, runs: int) -> tuple[float, Counter[Any]]:
    """The mean error between suggested bounds, and which they were."""
    found = Counter(case.suggested(suggestion, runs))
    errors = [case.errors(bounds, mean, MEANS * times) for bounds, times in found.items()]
    assert found.total() == runs, "some runs found no bounds"
    return float(np.concatenate(errors).mean()), found


def main(runs: int, adult: Path) -> bool:
    heads = "".join(f"{f'one, {float(share):.0%}':>10}" for share in SHARES)
    print(f"mean |error| of AVG at ε = {float(EPSILON)} over {runs} suggestions × {MEANS} means\n")
    print(f"{'column':<22}{'best fixed':>24}{'error':>11}{'apart':>8}{heads}  most often suggested")
    good = True
    for case in cases(adult):
        ends, least = case.best()
        error, found = measured(case, EPSILON, EPSILON, runs)
        one = [measured(case, EPSILON * share, EPSILON * (1 - share), runs)[0] / least for share in SHARES]
        (often, times), *_ = found.most_common(1)
        good = good and error / least <= WANTED
        spoken = f"{float(ends[0]):.6g} to {float(ends[1]):.6g}"
        cells = "".join(f"{each:>10.2f}" for each in one)
        usual = f"{float(often[0]):g} to {float(often[1]):g} ({times / runs:.0%})"
        print(f"{case.name:<22}{spoken:>24}{least:>11.4g}{error / least:>8.2f}{cells}  {usual}", flush=True)
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--adult", type=Path, default=Path(__file__).parents[1] / "shared" / "data" / "adult_raw.data")
    chosen = parser.parse_args()
    raise SystemExit(0 if main(chosen.runs, chosen.adult) else 1)
