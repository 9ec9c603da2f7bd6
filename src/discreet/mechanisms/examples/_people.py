"""Examples of people who answer for themselves, and of random samples of records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.examples._example import Example, Scaled, Setting, all_at_once
from discreet.mechanisms.randomizers._randomized_response import RandomizedResponse
from discreet.mechanisms.randomizers._sampled import Sampled
from discreet.mechanisms.randomizers._shuffled import Shuffled

__all__ = ["people", "samples"]

_example = partial(Example, group="People who answer for themselves")


def people() -> Iterator[Example]:
    """Randomized response, and reports that a shuffler mixes."""
    truthful = partial(Setting, pairs=((0, 1),), samples=1_000_000, note="attained by every true report")
    crowd = Shuffled(RandomizedResponse("3/4"), n=3)
    yield _example(
        RandomizedResponse,
        use="answers that nobody may know, not even the collector",
        costs="ε = abs(ln(p (k − 1) / (1 − p)))",
        shown="RandomizedResponse(p=0.75)",
        mechanism=RandomizedResponse("3/4"),
        settings=(
            truthful("RandomizedResponse.from_epsilon(1, k=2)", RandomizedResponse.from_epsilon(1, 2), variant="2"),
            truthful("RandomizedResponse.from_epsilon(1, k=5)", RandomizedResponse.from_epsilon(1, 5), variant="5"),
        ),
        scaled=(Scaled(lambda scale: RandomizedResponse.from_epsilon(1 / scale, k=3), (0, 1)),),
        calibrate=RandomizedResponse.calibrate,
        error=_spread,
        draw=all_at_once,
    )
    yield _example(
        Shuffled,
        use="reports that a trusted shuffler mixes before anybody reads them",
        costs="the reports' loss, amplified by the shuffle",
        shown="Shuffled(RandomizedResponse(p=0.75), n=10_000)",
        mechanism=Shuffled(RandomizedResponse("3/4"), n=10_000),
        settings=(
            Setting(
                'Shuffled(RandomizedResponse("3/4"), n=3)',
                crowd,
                (([0, 0, 0], [1, 0, 0]), ([0, 0, 1], [1, 0, 1])),
                "the theorem is not tight: the true δ is up to 1.16 times below it",
                delta="0.1",
            ),
        ),
        scaled=(
            Scaled(
                lambda scale: Shuffled(RandomizedResponse.from_epsilon(1 / scale, k=3), 3),
                ([0, 1, 2], [1, 1, 2]),
                number=lambda reports: reports.tolist(),
            ),
        ),
        calibrate=lambda spend: Shuffled.calibrate(spend, n=100),
    )


def _spread(mechanism: Any) -> str:
    spread = mechanism.estimate([0, 1] * 5_000).variance[0] ** 0.5
    return f"a share estimated from 10,000 reports has a standard deviation of {spread:.2g}"


def samples() -> Iterator[Example]:
    """A release from a random sample of the records."""
    yield Example(
        Sampled,
        group="Samples",
        use="a release from a secret random sample of the records",
        costs="the mechanism's loss, amplified by Poisson sampling",
        shown="Sampled(DiscreteLaplace(1), rate=0.1, function=len)",
        mechanism=Sampled(DiscreteLaplace(1), rate="0.1", function=len),
        sensitivity=1,
        settings=(
            Setting(
                'Sampled(DiscreteLaplace("2/3"), rate="1/2", function=len)',
                Sampled(DiscreteLaplace("2/3"), rate="1/2", function=len),
                (([0], []),),
                "the only record: outputs of 1 or more attain it",
                sensitivity=1,
            ),
        ),
        scaled=(
            Scaled(
                lambda scale: Sampled(DiscreteLaplace(scale), rate="1/2", function=sum),
                ([0], [0, 1]),
                sensitivity=1,
                step=lambda _: Fraction(1),
            ),
        ),
        calibrate=lambda spend: Sampled.calibrate(spend, 1, kind=DiscreteLaplace, rate="0.1", function=len),
    )
