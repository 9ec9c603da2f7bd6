"""Examples of mechanisms that answer many times."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.mechanisms.examples._example import Example, Scaled, Setting, small_rho
from discreet.mechanisms.streams._toeplitz_counter import ToeplitzCounter
from discreet.mechanisms.streams._tree_counter import TreeCounter
from discreet.mechanisms.thresholds._above_threshold import AboveThreshold
from discreet.privacy import mu, pure, rho

__all__ = ["streams"]

_example = partial(Example, group="Many answers")
_counted = partial(
    Scaled,
    pair=([0] * 8, [1, *[0] * 7]),
    sensitivity=1,
    number=lambda answers: answers[0],
    step=lambda _: Fraction(1),
)


def streams() -> Iterator[Example]:
    """Questions of which few are answered yes, and sums so far."""
    yield _above_threshold()
    yield from _counters()


def _above_threshold() -> Example:
    setting = partial(
        Setting, note="the claim is a limit: many answers below, then one above, of ever less probability"
    )
    crossed = (([-1] * 5 + [0], [0] * 5 + [-1]),)
    return _example(
        AboveThreshold,
        use="a stream of questions of which few are answered yes",
        costs="pure ε for the whole stream",
        shown="AboveThreshold(threshold=1000, epsilon=1, sensitivity=1)",
        mechanism=AboveThreshold(1000, 1, 1),
        settings=(
            setting("AboveThreshold(0, 1, 1)", AboveThreshold(0, 1, 1), crossed),
            setting(
                "AboveThreshold(0, 1, 1, monotone=True)",
                AboveThreshold(0, 1, 1, monotone=True),
                (([-1] * 6 + [0], [0] * 6 + [0]),),
                variant="monotone",
            ),
            setting(
                'AboveThreshold(0, 1, 1, split="optimal")',
                AboveThreshold(0, 1, 1, split="optimal"),
                crossed,
                variant="optimal",
            ),
            setting(
                "AboveThreshold(0, 1, 1, numeric=True)",
                AboveThreshold(0, 1, 1, numeric=True),
                (([-2] * 3 + [0], [-1] * 3 + [-1]), ([100], [99])),
                variant="numeric",
            ),
        ),
        scaled=(
            Scaled(lambda scale: AboveThreshold(1, 1 / scale, 1), ([0, 1, 2], [1, 1, 1])),
            Scaled(
                lambda scale: AboveThreshold(1, 1 / scale, 1, numeric=True), ([0, 1, 2], [1, 1, 1]), variant="numeric"
            ),
        ),
        calibrate=lambda spend: AboveThreshold.calibrate(spend, 1, threshold=3),
        error=lambda mechanism: (
            f"answers {mechanism.error(queries=100)} off the threshold are told right among 100, at 95 %"
        ),
    )


def _worst_step(counter: Any) -> str:
    return f"within {counter.error(0.95):,} at every one step with probability 95 %"


def _counters() -> Iterator[Example]:
    setting = partial(Setting, pairs=(([0] * 4, [1, 0, 0, 0]),), sensitivity=1)
    tree, binary = (TreeCounter.calibrate(pure(1), 1, steps=4, arity=arity) for arity in (None, 2))
    falls = "the first step is in a node of each of {} levels, and all of their noises must fall low"
    yield _example(
        TreeCounter,
        use="a running count under pure ε",
        costs="pure ε = tree height times L1 sensitivity / scale, for all steps",
        shown="TreeCounter.calibrate(dp.pure(1), sensitivity=1, steps=1000)",
        mechanism=TreeCounter.calibrate(pure(1), 1, steps=1000),
        sensitivity=1,
        settings=(
            setting("TreeCounter.calibrate(dp.pure(1), 1, steps=4)", tree, note=falls.format(tree.height)),
            setting(
                "TreeCounter.calibrate(dp.pure(1), 1, steps=4, arity=2)",
                binary,
                note=falls.format(binary.height),
                variant="binary",
            ),
        ),
        scaled=(_counted(lambda scale: TreeCounter(8, scale)),),
        calibrate=lambda spend: TreeCounter.calibrate(spend, 1, steps=9),
        error=_worst_step,
    )
    yield _example(
        ToeplitzCounter,
        use="a running count under (ε, δ), ρ or μ",
        costs="μ, for all steps",
        shown="ToeplitzCounter.calibrate(dp.rho(0.5), sensitivity=1, steps=1000)",
        mechanism=ToeplitzCounter.calibrate(rho("0.5"), 1, steps=1000),
        sensitivity=1,
        settings=(
            setting(
                "ToeplitzCounter.calibrate(dp.mu(1), 100, steps=4)",
                ToeplitzCounter.calibrate(mu(1), 100, steps=4),
                pairs=(([0] * 4, [100, 0, 0, 0]),),
                sensitivity=100,
                delta="0.05",
                note="the first step moves the whole column",
            ),
        ),
        scaled=(_counted(lambda scale: ToeplitzCounter.calibrate(small_rho(1 / scale), 1, steps=8)),),
        calibrate=lambda spend: ToeplitzCounter.calibrate(spend, 1, steps=9),
        error=_worst_step,
    )
