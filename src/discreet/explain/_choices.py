"""When to choose which mechanism, with one example of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet import mechanisms as of
from discreet.privacy import Loss, approx, pure, rho
from discreet.sensitivity import Mode

__all__ = ["CHOICES", "Choice"]

_OF_SENSITIVITY = "those of the sensitivity"


@dataclass(frozen=True, slots=True)
class Choice:
    """A mechanism, what to choose it for, what it costs in words, and one made for the page.

    `shown` is the code that makes `made`; `error` is the code that tells its error, and the number as text.
    """

    group: str
    kind: type
    use: str
    costs: str
    shown: str
    made: Any
    error_of: Callable[[Any], str] | None = None
    sensitivity: int | None = None
    neighbours: str = _OF_SENSITIVITY

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.kind.__name__

    def loss(self) -> Loss:
        """What a release of the example costs."""
        return self.made.loss() if self.sensitivity is None else self.made.loss(self.sensitivity)

    def error(self) -> str:
        """What the example errs by, in words."""
        return "depends on the data, and is not told" if self.error_of is None else self.error_of(self.made)


def _half_width(made: Any) -> str:
    return f"within {float(made.error(0.95)):.6g} with probability 95 %, standard deviation {made.std:.4g}"


def _worst_step(made: Any) -> str:
    return f"within {made.error(0.95):,} at every one step with probability 95 %"


def _gap(made: Any) -> str:
    return f"at most {made.error(0.95, candidates=10):.3g} below the best of 10 with probability 95 %"


def _spread(made: Any) -> str:
    spread = made.estimate([0, 1] * 5_000).variance[0] ** 0.5
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
        of.DiscreteLaplace,
        "counts and sums under pure ε; nothing errs less at sensitivity 1",
        "pure ε = L1 sensitivity / scale",
        "DiscreteLaplace(scale=1)",
        of.DiscreteLaplace(1),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        of.Laplace,
        "releases that must have a pure ε each, and many of which add up to less than their sum",
        "the losses of Laplace noise at L1 sensitivity / scale; pure ε by itself",
        "Laplace(scale=1)",
        of.Laplace(1),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        of.Staircase,
        "one number that a person may move by many steps, at an ε above 1",
        "pure ε",
        "Staircase(epsilon=3, sensitivity=10)",
        of.Staircase(3, 10),
        _half_width,
        10,
    ),
    Choice(
        _NUMBERS,
        of.BoundedLaplace,
        "a number that must come back within its public bounds",
        "pure ε, by the exact law on the bounds",
        "BoundedLaplace.calibrate(dp.pure(1), sensitivity=1, bounds=(0, 10))",
        of.BoundedLaplace.calibrate(pure(1), 1, bounds=(0, 10)),
        lambda made: f"within {made.error(0.95)} with probability 95 %, whatever the value",
        1,
    ),
    Choice(
        _NUMBERS,
        of.TruncatedLaplace,
        "an error that never exceeds a bound; the least error where δ is not small beside ε",
        "(ε, δ), by the exact law",
        "TruncatedLaplace.calibrate(dp.approx(1, 1e-6), sensitivity=1)",
        of.TruncatedLaplace.calibrate(approx(1, 1e-6), 1),
        lambda made: f"never more than {made.bound}; {_half_width(made)}",
        1,
    ),
    Choice(
        _NUMBERS,
        of.DiscreteGaussian,
        "many counts at once, or many releases, under a budget in ρ",
        "a number by its own loss distribution; a vector ρ = (L2 sensitivity)² / 2σ²",
        "DiscreteGaussian(sigma=3)",
        of.DiscreteGaussian(3),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        of.Gaussian,
        "vectors under (ε, δ) or μ: the exact Gaussian curve, at any ε",
        "μ = L2 sensitivity / σ",
        "Gaussian.calibrate(dp.approx(1, 1e-5), sensitivity=1)",
        of.Gaussian.calibrate(approx(1, 1e-5), 1),
        _half_width,
        1,
    ),
    Choice(
        _NUMBERS,
        of.OnGrid,
        "real numbers: rounds them to a public grid, and counts the rounding",
        "what the mechanism costs at the sensitivity in steps",
        'OnGrid(DiscreteLaplace(100), step="0.01", bounds=(0, 50))',
        of.OnGrid(of.DiscreteLaplace(100), step="0.01", bounds=(0, 50)),
        _half_width,
        1,
    ),
    Choice(
        _CHOICE,
        of.PermuteAndFlip,
        "the best of a public list under ε: never worse than the exponential mechanism",
        "pure ε",
        "PermuteAndFlip(epsilon=1, sensitivity=1)",
        of.PermuteAndFlip(1, 1),
        _gap,
    ),
    Choice(
        _CHOICE,
        of.Exponential,
        "the best of a public list under ρ, which it costs four times less of",
        "ε-bounded range: pure ε, and ρ = ε²/8",
        "Exponential(epsilon=1, sensitivity=1)",
        of.Exponential(1, 1),
        _gap,
    ),
    Choice(
        _CHOICE,
        of.ReportNoisyMax,
        "the same two by their other name, and Laplace noise where a standard asks for it",
        "as `Exponential` with Gumbel noise, as `PermuteAndFlip` with exponential noise, else pure ε",
        'ReportNoisyMax(epsilon=1, sensitivity=1, noise="exponential")',
        of.ReportNoisyMax(1, 1, noise="exponential"),
        _gap,
    ),
    Choice(
        _CHOICE,
        of.TopK,
        "the k best of a public list",
        "k times ε-bounded range",
        "TopK(3, epsilon=1, sensitivity=1)",
        of.TopK(3, 1, 1),
    ),
    Choice(
        _CHOICE,
        of.MostFrequent,
        "the most frequent category of data",
        "that of the choice",
        'MostFrequent.calibrate(dp.pure(1), mode=Mode(("no", "yes")))',
        of.MostFrequent.calibrate(pure(1), mode=Mode(("no", "yes"))),
    ),
    Choice(
        _CHOICE,
        of.PartitionSelection,
        "which private keys of a GROUP BY may be shown",
        "(ε, δ), or ρ and δ",
        "PartitionSelection(epsilon=1, delta=1e-6, keys=1)",
        of.PartitionSelection(1, 1e-6, 1),
        lambda made: f"a key of 15 people is kept with probability {float(made.probability(15)):.3g}",
    ),
    Choice(
        _CHOICE,
        of.ThresholdedCounts,
        "which private keys may be shown, with a noisy count of each",
        "that of the noise on as many counts as a person has keys, and δ",
        "ThresholdedCounts.calibrate(dp.approx(1, 1e-6))",
        of.ThresholdedCounts.calibrate(approx(1, 1e-6)),
        lambda made: f"a key of 15 people is shown with probability {made.probability(15):.3g}",
    ),
    Choice(
        _MANY,
        of.AboveThreshold,
        "a stream of questions of which few are answered yes",
        "pure ε for the whole stream",
        "AboveThreshold(threshold=1000, epsilon=1, sensitivity=1)",
        of.AboveThreshold(1000, 1, 1),
        lambda made: f"answers {made.error(queries=100)} off the threshold are told right among 100, at 95 %",
    ),
    Choice(
        _MANY,
        of.TreeCounter,
        "a running count under pure ε",
        "pure ε = tree height times L1 sensitivity / scale, for all steps",
        "TreeCounter.calibrate(dp.pure(1), sensitivity=1, steps=1000)",
        of.TreeCounter.calibrate(pure(1), 1, steps=1000),
        _worst_step,
        1,
    ),
    Choice(
        _MANY,
        of.ToeplitzCounter,
        "a running count under (ε, δ), ρ or μ",
        "μ, for all steps",
        "ToeplitzCounter.calibrate(dp.rho(0.5), sensitivity=1, steps=1000)",
        of.ToeplitzCounter.calibrate(rho("0.5"), 1, steps=1000),
        _worst_step,
        1,
    ),
    Choice(
        _DATA,
        of.GlobalSensitivity,
        "means, sums and counts of bounded data",
        "its spend",
        'GlobalSensitivity("mean", bounds=(0, 100), spend=dp.pure(1))',
        of.GlobalSensitivity("mean", bounds=(0, 100), spend=pure(1)),
        lambda made: f"within {made.error(records=10_000):.3g} of 10,000 records with probability 95 %",
    ),
    Choice(
        _DATA,
        of.Quantiles,
        "medians, deciles, any quantiles of bounded data",
        "one ε-bounded range per level: one for a quantile or a joint draw, ⌊log₂ m⌋ + 1 for m by recursion",
        "Quantiles.calibrate(dp.pure(1), probabilities=0.5, bounds=(0, 120), step=1)",
        of.Quantiles.calibrate(pure(1), probabilities="0.5", bounds=(0, 120), step=1),
        lambda made: f"{made.error(records=10_000):.3g} records off with probability 95 %",
    ),
    Choice(
        _DATA,
        of.SmoothSensitivity,
        "medians, variances, slopes, and a statistic of your own: noise for the data at hand",
        "its spend",
        'SmoothSensitivity("median", bounds=(0, 100), spend=dp.approx(1, 1e-6))',
        of.SmoothSensitivity("median", bounds=(0, 100), spend=approx(1, 1e-6)),
    ),
    Choice(
        _DATA,
        of.ProposeTestRelease,
        "data that are known to be tame: noise for a proposed sensitivity, or a refusal",
        "its spend, answered or refused",
        'ProposeTestRelease("mean", bound=0.005, bounds=(0, 100), spend=dp.approx(1, 1e-6))',
        of.ProposeTestRelease("mean", bound="0.005", bounds=(0, 100), spend=approx(1, 1e-6)),
        lambda made: f"within {made.error(0.95):.3g} with probability 95 %, if it answers",
    ),
    Choice(
        _DATA,
        of.SampleAndAggregate,
        "any function of data, whatever it does",
        "its spend",
        "SampleAndAggregate(max, chunks=100, bounds=(0, 100), spend=dp.rho(0.1))",
        of.SampleAndAggregate(max, chunks=100, bounds=(0, 100), spend=rho("0.1")),
        lambda made: f"noise of standard deviation {made.std:.3g} on the mean of the chunks' answers",
        neighbours="add/remove and substitution alike",
    ),
    Choice(
        _LOCAL,
        of.RandomizedResponse,
        "answers that nobody may know, not even the collector",
        "ε = abs(ln(p (k − 1) / (1 − p)))",
        "RandomizedResponse(p=0.75)",
        of.RandomizedResponse("3/4"),
        _spread,
    ),
    Choice(
        _LOCAL,
        of.Shuffled,
        "reports that a trusted shuffler mixes before anybody reads them",
        "the reports' loss, amplified by the shuffle",
        "Shuffled(RandomizedResponse(p=0.75), n=10_000)",
        of.Shuffled(of.RandomizedResponse("3/4"), n=10_000),
    ),
    Choice(
        _SAMPLED,
        of.Sampled,
        "a release from a secret random sample of the records",
        "the mechanism's loss, amplified by Poisson sampling",
        "Sampled(DiscreteLaplace(1), rate=0.1, function=len)",
        of.Sampled(of.DiscreteLaplace(1), rate="0.1", function=len),
        None,
        1,
    ),
)
"""Every mechanism that `discreet.mechanisms` exports, in the order of the page."""
