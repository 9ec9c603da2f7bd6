"""Examples of statistics of bounded data, with the frameworks of local sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from discreet.mechanisms.examples._example import Example, Pair, Scaled, Setting, small_rho
from discreet.mechanisms.quantiles._quantiles import Quantiles
from discreet.mechanisms.statistics._global import GlobalSensitivity
from discreet.mechanisms.statistics._propose_test_release import ProposeTestRelease
from discreet.mechanisms.statistics._sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms.statistics._smooth import SmoothSensitivity
from discreet.privacy import Loss, approx, mu, pure, rho

__all__ = ["statistics"]

_RARE = "the move and the stretch of the noise meet in its tail, which is rare"
_LOOSE_IN_RHO = "the theorem is not tight, and ρ is told as an ε above the true one"

_example = partial(Example, group="Statistics of data")


def statistics() -> Iterator[Example]:
    """Sums and means, quantiles, statistics by their local sensitivity, and any function of chunks."""
    yield _global()
    yield _quantiles()
    yield _smooth()
    yield _propose_test_release()
    yield _sample_and_aggregate()


def _approx(epsilon: Any) -> Loss:
    return approx(epsilon, "0.1")


def _scaled(
    build: Callable[[Loss], Any], spend: Callable[[Any], Loss], step: Callable[[Any], Any], **more: Any
) -> Scaled:
    """A statistic of sixty numbers in [0, 1]: `build` takes its spend, and `spend` an ε."""
    values = np.array([0.0, 1.0] * 30)
    return Scaled(lambda scale: build(spend(1 / scale)), (values, values[:-1]), step=step, **more)


def _step(mechanism: Any) -> Any:
    return mechanism.step


def _global() -> Example:
    def of_numbers(statistic: str, spend: Loss) -> tuple[str, GlobalSensitivity]:
        return (
            f'GlobalSensitivity("{statistic}", bounds=(0, 1), spend=dp.{spend!r})',
            GlobalSensitivity(statistic, bounds=(0, 1), spend=spend),
        )

    one_more = (([1.0], []),)
    return _example(
        GlobalSensitivity,
        use="means, sums and counts of bounded data",
        costs="its spend",
        shown='GlobalSensitivity("mean", bounds=(0, 100), spend=dp.pure(1))',
        mechanism=GlobalSensitivity("mean", bounds=(0, 100), spend=pure(1)),
        settings=(
            Setting(*of_numbers("sum", pure(1)), one_more, "one record at the upper bound", variant="sum"),
            Setting(
                *of_numbers("sum", rho("0.5")),
                one_more,
                "ρ is told as an ε above the true one",
                variant="sum rho",
                delta="0.01",
            ),
            Setting(
                *of_numbers("sum", mu(1)), one_more, "one record at the upper bound", variant="sum mu", delta="0.05"
            ),
            Setting(
                *of_numbers("variance", pure(1)), (([0.0, 1.0], [0.0]),), "from none to the most", variant="variance"
            ),
            Setting(
                *of_numbers("mean", pure(1)),
                (([1.0] * 3, [1.0] * 2),),
                "one number of two noisy sums tells less than both, which are what is paid for",
                variant="mean",
            ),
            Setting(
                'GlobalSensitivity("mean", bounds=(0, 1), spend=dp.pure(1), relation="substitute")',
                GlobalSensitivity("mean", bounds=(0, 1), spend=pure(1), relation="substitute"),
                (([1.0] * 20, [0.0, *[1.0] * 19]), ([0.0] * 9 + [1.0] * 10, [0.0] * 10 + [1.0] * 9)),
                "from one bound to the other, in the middle, where few answers are cut off",
                variant="mean substitute",
            ),
        ),
        scaled=(_scaled(lambda spend: GlobalSensitivity("sum", bounds=(0, 1), spend=spend), pure, _step),),
        calibrate=lambda spend: GlobalSensitivity("mean", bounds=(0, 1), spend=spend),
        error=lambda mechanism: f"within {mechanism.error(records=10_000):.3g} of 10,000 records with probability 95 %",
    )


def _middle(quantiles: Any) -> float:
    return float(quantiles[1])


def _quantiles() -> Example:
    one = partial(Setting, delta="0.01", samples=40_000)
    many = partial(
        Setting,
        pairs=(([0.0, 100.0], [0.0, 95.0, 100.0]), ([0.0] * 4, [0.0] * 4 + [95.0])),
        samples=10_000,
        note="a limit of rare outputs, in which all quantiles must lie on the losing side",
    )
    of_many = 'Quantiles.calibrate(dp.pure(1), probabilities={}, bounds=(0, 100), step=1, method="{}")'
    quarters, thirds = ["1/4", "1/2", "3/4"], ["1/3", "2/3"]
    in_hundreds = partial(Quantiles.calibrate, pure(1), bounds=(0, 100), step=1)
    median = partial(Quantiles.calibrate, pure(1), probabilities="1/2", bounds=(0, 1000), step=1)
    return _example(
        Quantiles,
        use="medians, deciles, any quantiles of bounded data",
        costs="one ε-bounded range per level: one for a quantile or a joint draw, ⌊log₂ m⌋ + 1 for m by recursion",
        shown="Quantiles.calibrate(dp.pure(1), probabilities=0.5, bounds=(0, 120), step=1)",
        mechanism=Quantiles.calibrate(pure(1), probabilities="0.5", bounds=(0, 120), step=1),
        settings=(
            one(
                'Quantiles.calibrate(dp.pure(1), probabilities="1/2", bounds=(0, 1000), step=1)',
                median(),
                (([0.0], [0.0, 800.0]),),
                "outputs above the record lose by as much as all others gain; at δ = 0 a limit of rare outputs",
                variant="median",
            ),
            one(
                'Quantiles.calibrate(dp.pure(1), probabilities="1/2", bounds=(0, 1000), step=1, relation="substitute")',
                median(relation="substitute"),
                (([0.0, 100.0], [100.0, 1000.0]),),
                "outputs below the others lose by as much as those above gain; at δ = 0 a limit of rare outputs",
                variant="median substitute",
            ),
            many(
                of_many.format('["1/4", "1/2", "3/4"]', "recursive"),
                in_hundreds(probabilities=quarters, method="recursive"),
                variant="recursive",
            ),
            many(
                of_many.format('["1/3", "2/3"]', "joint"),
                in_hundreds(probabilities=thirds, method="joint"),
                variant="joint",
            ),
            many(
                of_many.format('["1/4", "1/2", "3/4"]', "joint"),
                in_hundreds(probabilities=quarters, method="joint"),
                variant="joint three",
            ),
        ),
        scaled=(
            _scaled(lambda spend: Quantiles.calibrate(spend, probabilities="1/2", bounds=(0, 1)), pure, _step),
            _scaled(
                lambda spend: Quantiles.calibrate(spend, probabilities=quarters, bounds=(0, 1)),
                pure,
                _step,
                variant="many",
                number=_middle,
            ),
        ),
        calibrate=lambda spend: Quantiles.calibrate(spend, probabilities="1/2", bounds=(0, 1)),
        error=lambda mechanism: f"{mechanism.error(records=10_000):.3g} records off with probability 95 %",
    )


def _smooth() -> Example:
    def setting(noise: Any, statistic: str, spend: Loss, pair: Pair, note: str = _RARE) -> Setting:
        in_rho = noise.endswith("log_normal")
        return Setting(
            f'SmoothSensitivity("{statistic}", bounds=(0, 1), spend=dp.{spend!r}, noise="{noise}")',
            SmoothSensitivity(statistic, bounds=(0, 1), spend=spend, noise=noise),
            (pair,),
            _LOOSE_IN_RHO if in_rho else note,
            variant=noise,
            delta="0.01" if in_rho else None,
            samples=40_000,
        )

    def scaled(noise: Any, spend: Callable[[Any], Loss]) -> Scaled:
        return _scaled(
            lambda spend: SmoothSensitivity("median", bounds=(0, 1), spend=spend, noise=noise),
            spend,
            _step,
            variant=noise,
        )

    half = rho("0.5")
    return _example(
        SmoothSensitivity,
        use="medians, variances, slopes, and a statistic of your own: noise for the data at hand",
        costs="its spend",
        shown='SmoothSensitivity("median", bounds=(0, 100), spend=dp.approx(1, 1e-6))',
        mechanism=SmoothSensitivity("median", bounds=(0, 100), spend=approx(1, 1e-6)),
        settings=(
            setting("laplace", "mean", approx(1, "0.05"), ([0, 1, 1, 1], [0, 0, 1, 1, 1])),
            setting("cauchy", "median", pure(1), ([], [0.0]), "one scale for both: the worst move alone"),
            setting("student_t", "median", pure(1), ([0, 0.5], [0, 0.5, 0.5])),
            setting("uniform_log_normal", "median", half, ([], [1])),
            setting("laplace_log_normal", "median", half, ([0.5, 1], [0.5, 1, 1])),
        ),
        scaled=(
            scaled("laplace", _approx),
            scaled("cauchy", pure),
            scaled("student_t", pure),
            scaled("uniform_log_normal", small_rho),
            scaled("laplace_log_normal", small_rho),
        ),
        calibrate=lambda spend: SmoothSensitivity("median", bounds=(0, 1), spend=spend),
    )


def _propose_test_release() -> Example:
    rows = [*[0.0] * 119, 1.0]
    return _example(
        ProposeTestRelease,
        use="data that are known to be tame: noise for a proposed sensitivity, or a refusal",
        costs="its spend, answered or refused",
        shown='ProposeTestRelease("mean", bound=0.005, bounds=(0, 100), spend=dp.approx(1, 1e-6))',
        mechanism=ProposeTestRelease("mean", bound="0.005", bounds=(0, 100), spend=approx(1, 1e-6)),
        settings=(
            Setting(
                'ProposeTestRelease("mean", bound="1/108", bounds=(0, 1), spend=dp.approx(1, "0.001"))',
                ProposeTestRelease("mean", bound="1/108", bounds=(0, 1), spend=approx(1, "0.001")),
                (([*rows, 1.0], rows),),
                "the test and the noise pay half each: data at the threshold that move by nearly the whole bound",
                samples=40_000,
            ),
        ),
        scaled=(
            _scaled(lambda spend: ProposeTestRelease("mean", bound="0.1", bounds=(0, 1), spend=spend), _approx, _step),
        ),
        calibrate=lambda spend: ProposeTestRelease("mean", bound="0.1", bounds=(0, 1), spend=spend),
        error=lambda mechanism: f"within {mechanism.error(0.95):.3g} with probability 95 %, if it answers",
    )


def _rehearsed(mechanism: SampleAndAggregate, rows: Any, size: int) -> list[Any]:
    """Without a process for each chunk, which keeps chunks apart and takes most of the time."""
    return [mechanism.rehearse(rows) for _ in range(size)]


def _sample_and_aggregate() -> Example:
    def setting(aggregator: Any, chunks: int, spend: Loss, note: str) -> Setting:
        return Setting(
            f"SampleAndAggregate(fmean, chunks={chunks}, bounds=(0, 1), spend=dp.{spend!r}, aggregator={aggregator!r})",
            SampleAndAggregate(fmean, chunks=chunks, bounds=(0, 1), spend=spend, aggregator=aggregator),
            ((np.array([0.0]), np.array([1.0])),),
            f"{note}. Rehearsed: a release has a process for each chunk, and the same noise",
            variant=aggregator,
            samples=40_000,
        )

    def scaled(aggregator: Any, spend: Callable[[Any], Loss]) -> Scaled:
        build = partial(SampleAndAggregate, fmean, chunks=4, bounds=(0, 1), aggregator=aggregator)
        return _scaled(lambda paid: build(spend=paid), spend, _step, variant=aggregator)

    return _example(
        SampleAndAggregate,
        use="any function of data, whatever it does",
        costs="its spend",
        shown="SampleAndAggregate(max, chunks=100, bounds=(0, 100), spend=dp.rho(0.1))",
        mechanism=SampleAndAggregate(max, chunks=100, bounds=(0, 100), spend=rho("0.1")),
        settings=(
            setting("mean", 4, pure(1), "one row: its chunk moves from bound to bound, whichever it is"),
            setting(
                "median",
                1,
                approx(1, "0.05"),
                "one answer: its scale never differs, and half of ε pays for scales that do",
            ),
        ),
        scaled=(
            scaled("mean", pure),
            scaled("median", _approx),
        ),
        calibrate=lambda spend: SampleAndAggregate(max, chunks=10, bounds=(0, 1), spend=spend),
        error=lambda mechanism: f"noise of standard deviation {mechanism.std:.3g} on the mean of the chunks' answers",
        draw=_rehearsed,
        neighbours="add/remove and substitution alike",
    )
