"""Every mechanism, built at a scale and fed with neighbours: what each test here runs over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet.mechanisms import stated_loss
from discreet.mechanisms.examples import Draw, Example, Scaled, examples
from discreet.privacy import Loss


@dataclass(frozen=True)
class Case:
    """One mechanism.

    at: scale → the mechanism whose ε is 1/scale, or whose noise has that scale, at sensitivity 1.
    worlds: two neighbouring data sets.
    step: the mechanism → the grid of its outputs; None for outputs that are choices.
    draw: (mechanism, data, how many) → so many releases, as one number or choice each.
    loss: the mechanism → what one release costs for those neighbours.
    spoilt: data with NaN and infinities in it; `refuses` says whether a release raises or goes on without them.
    plain: takes numbers of any size, is calibrated to a spend and a sensitivity alone, and has a law whose ratio to its
        neighbour is monotone, which goes into `LAWS` of `test_calibration.py`.
    """

    at: Callable[[Any], Any]
    worlds: tuple[Any, Any]
    spoilt: tuple[Any, ...]
    step: Callable[[Any], Fraction] | None
    draw: Callable[[Any, Any, int], list[Any]]
    loss: Callable[[Any], Loss]
    refuses: bool
    plain: bool


NAN, INF = math.nan, math.inf
SPOILT_NUMBERS = (NAN, INF, -INF, np.float64(NAN), np.float32(INF), [0, NAN], np.array([0.0, INF]), [None], "nan")
SPOILT_LISTS = ([0, 1, NAN], [0, INF, 1], [-INF, 0, 1], np.array([0, 1, NAN]), [0, 1, np.float32(INF)], [0, 1, None])


SPOILT = {
    "Sampled": ([NAN] * 60, [INF] * 60, 5),
    "MostFrequent": (1, 2.5, None),
    "OnGrid": SPOILT_NUMBERS,
    "RandomizedResponse": SPOILT_LISTS,
}
"""Where it does not follow from the neighbours what a release takes."""
PLAIN = {"DiscreteGaussian", "DiscreteLaplace", "Gaussian", "Laplace"}


def in_this_process(mechanism: Any, data: Any, size: int) -> list[Any]:
    """`release` without the process for each chunk, which has its own tests and takes most of the time."""

    def answer(chunk: Any) -> float:
        try:
            return math.nan if chunk is None else float(mechanism.function(chunk))
        except ValueError:  # the mean of two infinities
            return math.nan

    def answers(_sent: bytes, chunks: Any, _seconds: int) -> list[float]:
        return [answer(chunk) for chunk in chunks]

    module = "discreet.mechanisms.statistics._sample_and_aggregate"
    with patch(f"{module}.check_function", lambda _: b""), patch(f"{module}.answers", answers):
        return [mechanism.release(data) for _ in range(size)]


DRAWN: dict[str, Draw] = {"SampleAndAggregate": in_this_process}
"""Where the example has a faster way than `release`."""


def case_of(example: Example, scaled: Scaled) -> Case:
    first, _ = scaled.pair
    takes_data = isinstance(first, np.ndarray)
    spoilt: tuple[Any, ...] = SPOILT_NUMBERS if isinstance(first, int) else SPOILT_LISTS
    if takes_data:
        spoilt = tuple(np.array([*first, *bad]) for bad in ([NAN], [INF, -INF], [NAN] * 9))
        spoilt += (np.full(9, NAN), np.full(9, INF))
    draw = DRAWN.get(example.name) or example.drawn_by(scaled)
    return Case(
        at=scaled.at,
        worlds=scaled.pair,
        spoilt=SPOILT.get(example.name, spoilt),
        step=scaled.step,
        draw=lambda mechanism, data, size: [scaled.number(each) for each in draw(mechanism, data, size)],
        loss=lambda mechanism: stated_loss(mechanism, scaled.sensitivity),
        refuses=not takes_data,
        plain=example.name in PLAIN,
    )


CASES: dict[str, Case] = {
    example.named(scaled): case_of(example, scaled) for example in examples() for scaled in example.scaled
}
"""By name of the class, and after a space the variant."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case` is each mechanism in turn, `additive_case` each plain noise, `numeric_case` each that releases numbers."""
    chosen = {
        "case": CASES,
        "additive_case": {name: case for name, case in CASES.items() if case.plain},
        "numeric_case": {name: case for name, case in CASES.items() if case.step is not None},
    }
    for argument in chosen.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(argument, chosen[argument].values(), ids=chosen[argument].keys())


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    return CASES
