"""Times that follow the noise, or the input, are found; ours are let pass. Flags have a false alarm of 1e-10."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.audit.black_box._subject import subject
from discreet.audit.probes._clock import TIME_OF_INPUT, TIME_OF_NOISE, clock, rank_correlation, timed
from discreet.mechanisms import DiscreteLaplace

COINS = np.random.default_rng()


def counted(x: int) -> int:
    """Geometric noise as a textbook draws it: trials until the first failure."""
    noise = 0
    while COINS.random() < 0.98:
        noise += 1
    return x + noise


def found(mechanism: Any, pair: Any = (0, 1), calls: int = 800) -> dict[str, str]:
    return {each.name: each.mark for each in clock(subject(mechanism), pair, calls)}


def test_a_sampler_that_counts_is_caught() -> None:
    assert found(counted) == {TIME_OF_NOISE: "LEAK", TIME_OF_INPUT: "fine"}
    assert found(lambda x: [counted(x), "text"])[TIME_OF_NOISE] == "LEAK"


def test_ours_is_let_pass() -> None:
    assert found(DiscreteLaplace(50)) == {TIME_OF_NOISE: "fine", TIME_OF_INPUT: "fine"}


def test_work_that_depends_on_the_input_is_caught() -> None:
    noise = DiscreteLaplace(50)

    def release(x: int) -> int:
        sum(range(20_000 * x))
        return noise.release(x)

    assert found(release, calls=300)[TIME_OF_INPUT] == "LEAK"
    assert found(release, pair=(1, 0), calls=300)[TIME_OF_INPUT] == "LEAK"


def test_waiting_that_depends_on_the_input_is_caught() -> None:
    def release(x: int) -> None:
        time.sleep(0.004 * x)

    told = clock(subject(release), (0, 1), 300)
    assert [each.mark for each in told] == ["n/a", "LEAK"]
    assert "takes more time than" in told[1].sentence


def test_too_few_calls_are_not_judged() -> None:
    assert set(found(counted, calls=50).values()) == {"n/a"}


@pytest.mark.parametrize("output", [None, "a", 5, float("nan"), [1, None], 10**400, ValueError("no")], ids=range(7))
def test_outputs_of_any_kind_pass(output: Any) -> None:
    assert TIME_OF_NOISE in found(lambda _: output, calls=100)


def test_the_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        one, other = rng.integers(0, 9, 50).astype(float), rng.normal(size=50)
        assert rank_correlation(one, other) == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-12)
    assert rank_correlation(np.ones(5), np.arange(5.0)) == 0


def test_the_order_of_calls_is_a_coin_flip() -> None:
    """Of 2,000 pairs of calls the first input is first in about half: outside of 800 to 1,200 with chance 1e-18."""
    seen: list[int] = []
    timed(subject(seen.append), (0, 1), 2_000)
    first = sum(seen[i] == 0 for i in range(20, len(seen), 2))
    assert len(seen) == 4_020
    assert 800 < first < 1_200
