"""The bound behind the probes: it holds, at the rate that is stated, and it is of use."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

import discreet as dp
from discreet.audit.black_box._claim import claim_of
from discreet.audit.probes._distinguisher import distinguish

RNG = np.random.default_rng()


def answers(p: float, size: int) -> list[bool]:
    return (RNG.random(size) < p).tolist()


def test_a_claim_that_just_holds_is_refuted_as_rarely_as_stated() -> None:
    """Randomised response of ε = 1 exactly, 400 times at an alarm of 0.2: a binomial test at 1e-9."""
    p = 1 / (1 + math.exp(-1))
    claim = claim_of(dp.pure(1), None)
    tested = [distinguish({"it": (answers(p, 400), answers(1 - p, 400))}, claim, alarm=0.2) for _ in range(400)]
    assert sum(each is not None and each.refuted for each in tested) <= stats.binom.isf(1e-9, 400, 0.2)


def test_many_properties_of_noise_show_nothing() -> None:
    """Learning from thousands of cells does not leak into the test: each run alarms with probability 0.2."""
    alarms = 0
    for _ in range(100):
        worlds = [RNG.integers(0, 3_000, (8, 800)).tolist() for _ in range(2)]
        tested = distinguish({str(i): (worlds[0][i], worlds[1][i]) for i in range(8)}, None, alarm=0.2)
        alarms += tested is not None and tested.epsilon > 0
    assert alarms <= stats.binom.isf(1e-9, 100, 0.2)


def test_the_property_that_tells_is_found_among_those_that_do_not() -> None:
    noise = {f"noise {i}": (answers(0.5, 2_000), answers(0.5, 2_000)) for i in range(20)}
    tested = distinguish({**noise, "it": (answers(0.9, 2_000), answers(0.1, 2_000))}, claim_of(dp.pure(1), None))
    assert tested is not None
    assert tested.property_name == "it"
    assert tested.refuted
    assert 1.4 < tested.epsilon < math.log(9)
    assert tested.size == 1_000


def test_cells_that_come_up_once_each_are_tried_on_others_first() -> None:
    """All outputs differ: what was seen on one input only says nothing, and the coarser property is chosen."""
    fine = list(range(2_000)), list(range(2_000, 4_000))
    tested = distinguish({"fine": fine, "coarse": (answers(0.9, 2_000), answers(0.1, 2_000))}, None)
    assert tested is not None
    assert tested.property_name == "coarse"


def test_too_few_outputs_are_not_tested() -> None:
    assert distinguish({"it": ([True] * 10, [False] * 10)}, None) is None
    assert distinguish({}, None) is None


def test_a_claim_with_delta_allows_rare_events() -> None:
    first = [False] * 20_000
    second = answers(0.08, 20_000)
    claims = claim_of(dp.approx("0.01", "0.1"), None), claim_of(dp.pure("0.01"), None)
    tested = [distinguish({"it": (first, second)}, claim) for claim in claims]
    assert [each is not None and each.refuted for each in tested] == [False, True]
