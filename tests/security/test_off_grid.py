"""No output tells by its low-order bits what it was made from: all are multiples of a public step.

Sources of the attacks: Mironov 2012, section 4; Haney, Desfontaines, Hartman, Shrestha and Hay 2022.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp

pytestmark = pytest.mark.usefixtures("one_database")

DRAWS = 4_000
ALARM = 1e-12  # per event of a run; about 100 events and 4 bounds for each, so a run fails by chance once in 10^9


def numbers(outputs: Iterable[object]) -> list[Fraction]:
    """The numbers among the outputs: a framework may also refuse."""
    return [Fraction(each) for each in outputs if each is not None]  # type: ignore[arg-type]


def lowest_bit(number: float | Fraction) -> int:
    """The exponent of the last binary digit that is not zero."""
    exact = Fraction(number)
    if exact == 0:
        return 10_000
    return (exact.numerator & -exact.numerator).bit_length() - exact.denominator.bit_length()


def proven_epsilon(one: Iterable[float | Fraction], other: Iterable[float | Fraction], delta: float = 0) -> float:
    """A lower bound of ε, from events "the last binary digit is at j or below" and "is at j" alone.

    With probability 1 − 4 · `ALARM` · events the truth is not below it: Clopper and Pearson 1934.
    """
    counts = [Counter(map(lowest_bit, outputs)) for outputs in (one, other)]
    sizes = [counted.total() for counted in counts]
    digits = sorted(counts[0].keys() | counts[1].keys())
    events = [{j} for j in digits] + [{j for j in digits if j <= last} for last in digits]
    best = 0.0
    for event in events:
        seen = [sum(counted[j] for j in event) for counted in counts]
        for here, there in ((0, 1), (1, 0)):
            low = stats.beta.ppf(ALARM, seen[here], sizes[here] - seen[here] + 1) if seen[here] else 0.0
            high = stats.beta.ppf(1 - ALARM, seen[there] + 1, sizes[there] - seen[there])
            high = 1.0 if math.isnan(high) else high
            if low > delta:
                best = max(best, math.log((low - delta) / high))
    return best


@pytest.mark.parametrize(
    ("noise", "claimed"), [("laplace", dp.laplace(1)), ("normal", dp.gaussian(1))], ids=["laplace", "normal"]
)
def test_the_attack_breaks_floating_point_noise(noise: str, claimed: dp.Loss) -> None:
    """numpy's generators at scale 1: around 0 the answer 0 gives digits below 2**−53, and the answer 1 never does."""
    rng = np.random.default_rng()
    one, other = ((answer + getattr(rng, noise)(size=5 * DRAWS)).tolist() for answer in (0.0, 1.0))
    assert proven_epsilon(one, other, claimed.delta(2)) > 2.5
    assert min(map(lowest_bit, one)) < -53 <= min(map(lowest_bit, other))


def test_the_attack_breaks_a_grid_that_follows_the_data() -> None:
    """Two-sided geometric noise divided by the number of rows: the outputs of 63 rows are not those of 64."""
    rng = np.random.default_rng()
    one, other = ((rng.geometric(0.01, DRAWS) - rng.geometric(0.01, DRAWS)) / n for n in (64, 63))
    assert proven_epsilon(one.tolist(), other.tolist()) > 3


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("draws", [DRAWS // 10, pytest.param(DRAWS // 4, marks=pytest.mark.soak)])
def test_the_attack_finds_nothing_in_our_releases(numeric_case, draws: int) -> None:
    mechanism = numeric_case.at(Fraction(3, 2))
    one, other = (numbers(numeric_case.draw(mechanism, world, draws)) for world in numeric_case.worlds)
    epsilon = 1.0
    delta = float(numeric_case.loss(mechanism).delta(epsilon))
    assert proven_epsilon(one, other, delta) <= epsilon


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(3, 2), Fraction(10**7, 3), Fraction(10**12)], ids=str)
def test_every_output_is_a_multiple_of_the_public_step(numeric_case, scale: Fraction) -> None:
    try:
        mechanism = numeric_case.at(scale)
    except dp.ParameterError:
        return  # `test_scales.py` says which may refuse
    for world in numeric_case.worlds:
        outputs = numbers(numeric_case.draw(mechanism, world, 40))
        assert [each % numeric_case.step(mechanism) for each in outputs] == [0] * len(outputs)


def test_noise_reaches_every_multiple_of_the_step(additive_case) -> None:
    """No holes: around each of two answers, all near multiples come up, the same ones.

    Each of the 9 has probability above 0.03 at scale 3, so it is missed by 4,000 draws with probability below 1e-50.
    """
    mechanism = additive_case.at(3)
    for world in additive_case.worlds:
        assert set(range(-4, 5)) <= set(additive_case.draw(mechanism, world, DRAWS))


@pytest.mark.parametrize(
    ("currency", "spend"), [("epsilon", dp.pure(1)), ("rho", dp.rho(1)), ("mu", dp.mu(1))], ids=["pure", "rho", "mu"]
)
def test_released_sums_are_multiples_of_the_planned_step(currency: str, spend: dp.Loss) -> None:
    """Over values with all 53 digits, and over none: what is released is on the grid of the bounds."""
    columns = {"x": {"type": "float", "bounds": [-1, 3]}, "y": {"type": "int", "bounds": [0, 9]}}
    policy = {"version": "1", "budget": {currency: 100}, "tables": {"t": {"unit": "rows", "columns": columns}}}
    query = "SELECT SUM(x) AS x, SUM(x * x) AS xx, SUM(y) AS y, COUNT(*) AS n FROM t"
    for values in (np.random.default_rng(1).laplace(size=200), np.array([math.pi])):
        table = pa.table({"x": values, "y": np.arange(len(values)) % 10})
        with dp.connect({"t": table}, policy) as session:
            steps = [1 if each.x is None else each.x.step for each in session.plan(query, spend).aggregates]
            (row,) = session.sql(query, spend).to_arrow().to_pylist()
        assert steps == [Fraction(1, 2**29), Fraction(1, 2**27), 1, 1]
        assert [Fraction(value) % step for value, step in zip(row.values(), steps, strict=True)] == [0] * 4
