"""When to choose which mechanism, with one example of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet import mechanisms
from discreet.privacy import Loss, approx, pure, rho
from discreet.sensitivity import Mode

__all__ = ["CHOICES", "Choice"]

_OF_SENSITIVITY = "those of the sensitivity"


@dataclass(frozen=True, slots=True)
class Choice:
    """A mechanism, what to choose it for, what it costs in words, and one example for the page.

    `shown` is the code that makes `example`; `error` is the code that tells its error, and the number as text.
    """

    group: str
    kind: type
    use: str
    costs: str
    shown: str
    example: Any
    error_of: Callable[[Any], str] | None = None
    sensitivity: int | None = None
    neighbours: str = _OF_SENSITIVITY

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.kind.__name__

    def loss(self) -> Loss:
        """What a release of the example costs."""
        return self.example.loss() if self.sensitivity is None else self.example.loss(self.sensitivity)

    def error(self) -> str:
        """What the example errs by, in words."""
        return "depends on the data, and is not told" if self.error_of is None else self.error_of(self.example)


def _half_width(example: Any) -> str:
    return f"within {float(example.error(0.95)):.6g} with probability 95 %, standard deviation {example.std:.4g}"


def _worst_step(example: Any) -> str:
    return f"within {example.error(0.95):,} at every one step with probability 95 %"


def _gap(example: Any) -> str:
    return f"at most {example.error(0.95, candidates=10):.3g} below the best of 10 with probability 95 %"


def _spread(example: Any) -> str:
    spread = example.estimate([0, 1] * 5_000).variance[0] ** 0.5
    return f"a share estimated from 10,000 reports has a standard deviation of {spread:.2g}"


_NUMBERS = "Numbers"
_CHOICE = "Choices"
_DATA = "Statistics of data"
_LOCAL = "People who answer for themselves"
_MANY = "Many answers"
_SAMPLED = "Samples"

CHOICES: tuple[Choice, ...] = (
    Choice(
        _NUMBERS,
        mechanisms.DiscreteLaplace,
        "counts and sums under pure ε; nothing errs less at sensitivity 1",
        "pure ε = L1 sensitivity / scale",
        "DiscreteLaplace(scale=1)",
        mechanisms.DiscreteLaplace(1),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        mechanisms.Laplace,
        "releases that must have a pure ε each, and many of which add up to less than their sum",
        "the losses of Laplace noise at L1 sensitivity / scale; pure ε by itself",
        "Laplace(scale=1)",
        mechanisms.Laplace(1),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        mechanisms.Staircase,
        "one number that a person may move by many steps, at an ε above 1",
        "pure ε",
        "Staircase(epsilon=3, sensitivity=10)",
        mechanisms.Staircase(3, 10),
        _half_width,
        10,
    ),
    Choice(
        _NUMBERS,
        mechanisms.BoundedLaplace,
        "a number that must come back within its public bounds",
        "pure ε, by the exact law on the bounds",
        "BoundedLaplace.calibrate(dp.pure(1), sensitivity=1, bounds=(0, 10))",
        mechanisms.BoundedLaplace.calibrate(pure(1), 1, bounds=(0, 10)),
        lambda example: f"within {example.error(0.95)} with probability 95 %, whatever the value",
        1,
    ),
    Choice(
        _NUMBERS,
        mechanisms.TruncatedLaplace,
        "an error that never exceeds a bound; the least error where δ is not small beside ε",
        "(ε, δ), by the exact law",
        "TruncatedLaplace.calibrate(dp.approx(1, 1e-6), sensitivity=1)",
        mechanisms.TruncatedLaplace.calibrate(approx(1, 1e-6), 1),
        lambda example: f"never more than {example.bound}; {_half_width(example)}",
        1,
    ),
    Choice(
        _NUMBERS,
        mechanisms.DiscreteGaussian,
        "many counts at once, or many releases, under a budget in ρ",
        "a number by its own loss distribution; a vector ρ = (L2 sensitivity)² / 2σ²",
        "DiscreteGaussian(sigma=3)",
        mechanisms.DiscreteGaussian(3),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        mechanisms.Gaussian,
        "vectors under (ε, δ) or μ: the exact Gaussian curve, at any ε",
        "μ = L2 sensitivity / σ",
        "Gaussian.calibrate(dp.approx(1, 1e-5), sensitivity=1)",
        mechanisms.Gaussian.calibrate(approx(1, 1e-5), 1),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        mechanisms.OnGrid,
        "real numbers: rounds them to a public grid, and counts the rounding",
        "what the mechanism costs at the sensitivity in steps",
        'OnGrid(DiscreteLaplace(100), step="0.01", bounds=(0, 50))',
        mechanisms.OnGrid(mechanisms.DiscreteLaplace(100), step="0.01", bounds=(0, 50)),
        _half_width,
        1,
    ),
    Choice(
        _CHOICE,
        mechanisms.PermuteAndFlip,
        "the best of a public list under ε: never worse than the exponential mechanism",
        "pure ε",
        "PermuteAndFlip(epsilon=1, sensitivity=1)",
        mechanisms.PermuteAndFlip(1, 1),
        _gap,
    ),
    Choice(
        _CHOICE,
        mechanisms.Exponential,
        "the best of a public list under ρ, which it costs four times less of",
        "ε-bounded range: pure ε, and ρ = ε²/8",
        "Exponential(epsilon=1, sensitivity=1)",
        mechanisms.Exponential(1, 1),
        _gap,
    ),
    Choice(
        _CHOICE,
        mechanisms.ReportNoisyMax,
        "the same two by their other name, and Laplace noise where a standard asks for it",
        "as `Exponential` with Gumbel noise, as `PermuteAndFlip` with exponential noise, else pure ε",
        'ReportNoisyMax(epsilon=1, sensitivity=1, noise="exponential")',
        mechanisms.ReportNoisyMax(1, 1, noise="exponential"),
        _gap,
    ),
    Choice(
        _CHOICE,
        mechanisms.TopK,
        "the k best of a public list",
        "k times ε-bounded range",
        "TopK(3, epsilon=1, sensitivity=1)",
        mechanisms.TopK(3, 1, 1),
    ),
    Choice(
        _CHOICE,
        mechanisms.MostFrequent,
        "the most frequent category of data",
        "that of the choice",
        'MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")))',
        mechanisms.MostFrequent.calibrate(pure(1), mode=Mode(("no", "yes"))),
    ),
    Choice(
        _CHOICE,
        mechanisms.PartitionSelection,
        "which private keys of a GROUP BY may be shown",
        "(ε, δ), or ρ and δ",
        "PartitionSelection(epsilon=1, delta=1e-6, keys=1)",
        mechanisms.PartitionSelection(1, 1e-6, 1),
        lambda example: f"a key of 15 people is kept with probability {float(example.probability(15)):.3g}",
    ),
    Choice(
        _CHOICE,
        mechanisms.ThresholdedCounts,
        "which private keys may be shown, with a noisy count of each",
        "that of the noise on as many counts as a person has keys, and δ",
        "ThresholdedCounts.calibrate(dp.approx(1, 1e-6))",
        mechanisms.ThresholdedCounts.calibrate(approx(1, 1e-6)),
        lambda example: f"a key of 15 people is shown with probability {example.probability(15):.3g}",
    ),
    Choice(
        _MANY,
        mechanisms.AboveThreshold,
        "a stream of questions of which few are answered yes",
        "pure ε for the whole stream",
        "AboveThreshold(threshold=1000, epsilon=1, sensitivity=1)",
        mechanisms.AboveThreshold(1000, 1, 1),
        lambda example: f"answers {example.error(queries=100)} off the threshold are told right among 100, at 95 %",
    ),
    Choice(
        _MANY,
        mechanisms.TreeCounter,
        "a running count under pure ε",
        "pure ε = tree height times L1 sensitivity / scale, for all steps",
        "TreeCounter.calibrate(dp.pure(1), sensitivity=1, steps=1000)",
        mechanisms.TreeCounter.calibrate(pure(1), 1, steps=1000),
        _worst_step,
        1,
    ),
    Choice(
        _MANY,
        mechanisms.ToeplitzCounter,
        "a running count under (ε, δ), ρ or μ",
        "μ, for all steps",
        "ToeplitzCounter.calibrate(dp.rho(0.5), sensitivity=1, steps=1000)",
        mechanisms.ToeplitzCounter.calibrate(rho("0.5"), 1, steps=1000),
        _worst_step,
        1,
    ),
    Choice(
        _DATA,
        mechanisms.GlobalSensitivity,
        "means, sums and counts of bounded data",
        "its spend",
        'GlobalSensitivity("mean", bounds=(0, 100), spend=dp.pure(1))',
        mechanisms.GlobalSensitivity("mean", bounds=(0, 100), spend=pure(1)),
        lambda example: f"within {example.error(records=10_000):.3g} of 10,000 records with probability 95 %",
    ),
    Choice(
        _DATA,
        mechanisms.Quantiles,
        "medians, deciles, any quantiles of bounded data",
        "one ε-bounded range per level: one for a quantile or a joint draw, ⌊log₂ m⌋ + 1 for m by recursion",
        "Quantiles.calibrate(dp.pure(1), probabilities=0.5, bounds=(0, 120), step=1)",
        mechanisms.Quantiles.calibrate(pure(1), probabilities="0.5", bounds=(0, 120), step=1),
        lambda example: f"{example.error(records=10_000):.3g} records off with probability 95 %",
    ),
    Choice(
        _DATA,
        mechanisms.SmoothSensitivity,
        "medians, variances, slopes, and a statistic of your own: noise for the data at hand",
        "its spend",
        'SmoothSensitivity("median", bounds=(0, 100), spend=dp.approx(1, 1e-6))',
        mechanisms.SmoothSensitivity("median", bounds=(0, 100), spend=approx(1, 1e-6)),
    ),
    Choice(
        _DATA,
        mechanisms.ProposeTestRelease,
        "data that are known to be tame: noise for a proposed sensitivity, or a refusal",
        "its spend, answered or refused",
        'ProposeTestRelease("mean", bound=0.005, bounds=(0, 100), spend=dp.approx(1, 1e-6))',
        mechanisms.ProposeTestRelease("mean", bound="0.005", bounds=(0, 100), spend=approx(1, 1e-6)),
        lambda example: f"within {example.error(0.95):.3g} with probability 95 %, if it answers",
    ),
    Choice(
        _DATA,
        mechanisms.SampleAndAggregate,
        "any function of data, whatever it does",
        "its spend",
        "SampleAndAggregate(max, chunks=100, bounds=(0, 100), spend=dp.rho(0.1))",
        mechanisms.SampleAndAggregate(max, chunks=100, bounds=(0, 100), spend=rho("0.1")),
        lambda example: f"noise of standard deviation {example.std:.3g} on the mean of the chunks' answers",
        neighbours="add/remove and substitution alike",
    ),
    Choice(
        _LOCAL,
        mechanisms.RandomizedResponse,
        "answers that nobody may know, not even the collector",
        "ε = abs(ln(p (k − 1) / (1 − p)))",
        "RandomizedResponse(p=0.75)",
        mechanisms.RandomizedResponse("3/4"),
        _spread,
    ),
    Choice(
        _LOCAL,
        mechanisms.Shuffled,
        "reports that a trusted shuffler mixes before anybody reads them",
        "the reports' loss, amplified by the shuffle",
        "Shuffled(RandomizedResponse(p=0.75), n=10_000)",
        mechanisms.Shuffled(mechanisms.RandomizedResponse("3/4"), n=10_000),
    ),
    Choice(
        _SAMPLED,
        mechanisms.Sampled,
        "a release from a secret random sample of the records",
        "the mechanism's loss, amplified by Poisson sampling",
        "Sampled(DiscreteLaplace(1), rate=0.1, function=len)",
        mechanisms.Sampled(mechanisms.DiscreteLaplace(1), rate="0.1", function=len),
        None,
        1,
    ),
)
"""Every mechanism that `discreet.mechanisms` exports, in the order of the page."""
