"""Outputs on odd neighbours of one's own are held to the claim. Flags have a false alarm of 1e-10."""

from __future__ import annotations

import math
from collections.abc import Iterator

import discreet as dp
from discreet.audit.black_box._claim import claim_of
from discreet.audit.black_box._subject import subject
from discreet.audit.probes._probe import custom_neighbours
from discreet.mechanisms import DiscreteLaplace

NOISE = DiscreteLaplace(1)
PAIR = ([0.25, 0.5, 1.0], [0.25, 0.5, 0.0])


def huge(x: list[float]) -> Iterator[list[float]]:
    for bad in (2.0**70, math.nan, math.inf):
        yield [bad, *x[1:]]


def test_neighbours_of_ones_own_are_held_to_the_claim() -> None:
    def unclamped(x: list[float]) -> float:
        return sum(x) + NOISE.release(0)

    claim = claim_of(dp.pure(1), None)
    assert [each.mark for each in custom_neighbours(subject(unclamped), PAIR[0], huge, claim, 2_000)] == ["LEAK"] * 3

    def clamped(x: list[float]) -> int:
        return NOISE.release(sum(round(min(max(y, 0), 1)) if y == y else 0 for y in x))

    assert [each.mark for each in custom_neighbours(subject(clamped), PAIR[0], huge, claim, 2_000)] == ["fine"] * 3
    assert [each.mark for each in custom_neighbours(subject(clamped), PAIR[0], lambda _: (), claim, 2_000)] == ["n/a"]


def test_exceptions_that_appear_with_spoilt_data_are_held_to_the_claim() -> None:
    def refusing(x: list[float]) -> int:
        if x[0] > 1:
            raise ValueError("too large")
        return NOISE.release(0)

    told = custom_neighbours(subject(refusing), PAIR[0], huge, claim_of(dp.pure(1), None), 2_000)
    assert [each.mark for each in told] == ["LEAK", "fine", "LEAK"]
