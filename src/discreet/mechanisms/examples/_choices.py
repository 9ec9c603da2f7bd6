"""Examples of choices: from candidates, of categories, and of keys of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.examples._example import Example, Scaled, Setting, all_at_once
from discreet.mechanisms.selection._exponential import Exponential
from discreet.mechanisms.selection._most_frequent import MostFrequent
from discreet.mechanisms.selection._permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection._report_noisy_max import ReportNoisyMax
from discreet.mechanisms.selection._top_k import TopK
from discreet.mechanisms.thresholds._partition_selection import PartitionSelection
from discreet.mechanisms.thresholds._thresholded_counts import ThresholdedCounts
from discreet.privacy import approx, mu, pure, rho
from discreet.sensitivity import Mode

__all__ = ["choices"]

_BEHIND = "the claim is a limit, approached as a candidate falls behind and is chosen ever less often"
_BOUNDED = "δ where two candidates attain the whole curve of bounded range; pure ε is a limit of rare outputs"

_example = partial(Example, group="Choices")


def choices() -> Iterator[Example]:
    """Choices of one candidate and of several, and of keys."""
    yield from _one_choice()
    yield _report_noisy_max()
    yield from _several()
    yield from _keys()


def _scaled(build: Callable[[Any], Any], variant: str = "") -> Scaled:
    """A choice by utilities of sensitivity 1: `build` takes its ε."""
    return Scaled(lambda scale: build(1 / scale), ([0, 1, 2], [1, 1, 1]), variant=variant)


def _gap(mechanism: Any) -> str:
    return f"at most {mechanism.error(0.95, candidates=10):.3g} below the best of 10 with probability 95 %"


def _one_choice() -> Iterator[Example]:
    yield _example(
        PermuteAndFlip,
        use="the best of a public list under ε: never worse than the exponential mechanism",
        costs="pure ε",
        shown="PermuteAndFlip(epsilon=1, sensitivity=1)",
        mechanism=PermuteAndFlip(1, 1),
        settings=(
            Setting(
                "PermuteAndFlip(1, 1)",
                PermuteAndFlip(1, 1),
                (([0, 0], [1, -1]),),
                "attained with equal utilities, of which one rises and one falls",
            ),
            Setting(
                "PermuteAndFlip(1, 1, monotone=True)",
                PermuteAndFlip(1, 1, monotone=True),
                (([0, 0], [1, 0]),),
                "attained with equal utilities, of which one rises",
                variant="monotone",
            ),
        ),
        scaled=(_scaled(lambda epsilon: PermuteAndFlip(epsilon, 1)),),
        calibrate=lambda spend: PermuteAndFlip.calibrate(spend, 1),
        error=_gap,
    )
    yield _example(
        Exponential,
        use="the best of a public list under ρ, which it costs four times less of",
        costs="ε-bounded range: pure ε, and ρ = ε²/8",
        shown="Exponential(epsilon=1, sensitivity=1)",
        mechanism=Exponential(1, 1),
        settings=(
            Setting("Exponential(1, 1)", Exponential(1, 1), (([0, 6], [1, 5]),), _BOUNDED, delta="0.01"),
            Setting(
                "Exponential(1, 1, monotone=True)",
                Exponential(1, 1, monotone=True),
                (([0, 3], [1, 3]),),
                _BOUNDED,
                variant="monotone",
                delta="0.01",
            ),
        ),
        scaled=(_scaled(lambda epsilon: Exponential(epsilon, 1)),),
        calibrate=lambda spend: Exponential.calibrate(spend, 1),
        error=_gap,
    )


def _report_noisy_max() -> Example:
    return _example(
        ReportNoisyMax,
        use="the same two by their other name, and Laplace noise where a standard asks for it",
        costs="as `Exponential` with Gumbel noise, as `PermuteAndFlip` with exponential noise, else pure ε",
        shown='ReportNoisyMax(epsilon=1, sensitivity=1, noise="exponential")',
        mechanism=ReportNoisyMax(1, 1, noise="exponential"),
        settings=(
            Setting(
                'ReportNoisyMax(1, 1, "exponential")',
                ReportNoisyMax(1, 1, "exponential"),
                (([0, 0], [1, -1]),),
                "the law of PermuteAndFlip",
                variant="exponential",
            ),
            Setting(
                'ReportNoisyMax(1, 1, "gumbel")',
                ReportNoisyMax(1, 1, "gumbel"),
                (([0, 6], [1, 5]),),
                f"the law of Exponential: {_BOUNDED}",
                variant="gumbel",
                delta="0.01",
            ),
            Setting(
                'ReportNoisyMax(1, 1, "laplace")',
                ReportNoisyMax(1, 1, "laplace"),
                (([0, 8], [1, 7]),),
                f"{_BEHIND}; at this ratio 0.93 of it is there to be found",
                variant="laplace",
            ),
        ),
        scaled=(
            _scaled(lambda epsilon: ReportNoisyMax(epsilon, 1), "exponential"),
            _scaled(lambda epsilon: ReportNoisyMax(epsilon, 1, "gumbel"), "gumbel"),
            _scaled(lambda epsilon: ReportNoisyMax(epsilon, 1, "laplace"), "laplace"),
        ),
        calibrate=lambda spend: ReportNoisyMax.calibrate(spend, 1),
        error=_gap,
    )


def _several() -> Iterator[Example]:
    vote = MostFrequent.calibrate(pure(1), mode=Mode(("no", "yes")))
    yield _example(
        TopK,
        use="the k best of a public list",
        costs="k times ε-bounded range",
        shown="TopK(3, epsilon=1, sensitivity=1)",
        mechanism=TopK(3, 1, 1),
        settings=(
            Setting(
                'TopK(2, "1/2", 1)',
                TopK(2, "1/2", 1),
                (([11, 0, 0, 0], [10, 1, 1, 1]),),
                f"{_BEHIND}, and two must overtake the leader here",
            ),
        ),
        scaled=(_scaled(lambda epsilon: TopK(2, epsilon / 2, 1)),),
        calibrate=lambda spend: TopK.calibrate(spend, 1, k=2),
    )
    yield _example(
        MostFrequent,
        use="the most frequent category of data",
        costs="that of the choice",
        shown='MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")))',
        mechanism=vote,
        settings=(
            Setting(
                'MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")))',
                vote,
                ((["no"], []),),
                "attained with equal counts, of which one falls",
            ),
            Setting(
                'MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")), relation="substitute")',
                MostFrequent.calibrate(pure(1), mode=Mode(("no", "yes")), relation="substitute"),
                ((["no", "yes"], ["yes", "yes"]), (["no"], ["yes"])),
                "attained with equal counts, of which one rises and one falls",
                variant="substitute",
            ),
        ),
        scaled=(Scaled(lambda scale: MostFrequent.calibrate(pure(1 / scale), mode=Mode((0, 1))), ([0, 0, 1], [0, 1])),),
        calibrate=lambda spend: MostFrequent.calibrate(spend, mode=Mode((0, 1))),
    )


def _keys() -> Iterator[Example]:
    setting = partial(Setting, samples=1_000_000, draw=all_at_once)
    new = ((3, 2), (1, 0))
    yield _example(
        PartitionSelection,
        use="which private keys of a GROUP BY may be shown",
        costs="(ε, δ), or ρ and δ",
        shown="PartitionSelection(epsilon=1, delta=1e-6, keys=1)",
        mechanism=PartitionSelection(1, 1e-6, 1),
        settings=(
            setting(
                'PartitionSelection(1, "0.05", keys=1)',
                PartitionSelection(1, "0.05", 1),
                new,
                "attained by every number of units: ε and δ on the way up, δ alone at the first unit",
            ),
            setting(
                'PartitionSelection.calibrate(dp.rho("0.5", "0.05"), keys=1)',
                PartitionSelection.calibrate(rho("0.5", "0.05"), keys=1),
                new,
                "the selection is pure ε off its δ, of which ρ is no tight account",
                variant="rho",
                delta="0.1",
            ),
        ),
        scaled=(Scaled(lambda scale: PartitionSelection(1 / scale, "0.3"), ([1, 3, 0], [1, 2, 0])),),
        calibrate=lambda spend: PartitionSelection.calibrate(spend, keys=1),
        error=lambda mechanism: f"a key of 15 people is kept with probability {float(mechanism.probability(15)):.3g}",
    )
    known = ((100, 99), (1, 0))
    yield _example(
        ThresholdedCounts,
        use="which private keys may be shown, with a noisy count of each",
        costs="that of the noise on as many counts as a person has keys, and δ",
        shown="ThresholdedCounts.calibrate(dp.approx(1, 1e-6))",
        mechanism=ThresholdedCounts.calibrate(approx(1, 1e-6)),
        settings=(
            setting(
                'ThresholdedCounts.calibrate(dp.approx(1, "0.001"))',
                ThresholdedCounts.calibrate(approx(1, "0.001")),
                known,
                "a key above the threshold: ε but for δ",
                variant="laplace",
            ),
            setting(
                'ThresholdedCounts.calibrate(dp.rho("0.5", "0.001"))',
                ThresholdedCounts.calibrate(rho("0.5", "0.001")),
                known,
                "ρ is told as an ε above the true one",
                variant="rho",
                delta="0.01",
            ),
            setting(
                'ThresholdedCounts.calibrate(dp.mu(1, "0.001"), noise="gaussian")',
                ThresholdedCounts.calibrate(mu(1, "0.001"), noise="gaussian"),
                known,
                "at this δ the best event ends halfway between counts",
                variant="gaussian",
                delta="0.128",
            ),
        ),
        scaled=(
            Scaled(
                lambda scale: ThresholdedCounts(DiscreteLaplace(scale), 5 + 5 * math.ceil(scale)),
                ([1, 10**5, 0], [1, 10**5 - 1, 0]),
            ),
        ),
        calibrate=lambda spend: ThresholdedCounts.calibrate(spend, keys=1),
        error=lambda mechanism: f"a key of 15 people is shown with probability {mechanism.probability(15):.3g}",
    )
