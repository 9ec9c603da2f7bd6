"""Sample and aggregate: any function of the data, run on random chunks of them, and a private average."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.elapsed import elapsed
from discreet.errors import ParameterError
from discreet.mechanisms.additive._discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.additive._gaussian import Gaussian
from discreet.mechanisms.numeric._chunks import assignment, cut, draws, frame, persons
from discreet.mechanisms.statistics._isolated import answers, check_function, here
from discreet.mechanisms.statistics._smooth import SmoothSensitivity
from discreet.privacy import Loss, currency
from discreet.rational import Number, rational
from discreet.reprs import call_repr

__all__ = ["SampleAndAggregate"]

Aggregator = Literal["mean", "median"]

_STEPS = 2**30
"""Grid steps between the bounds: an answer is rounded to one of them, and moves by at most all of them."""

_MOST_CHUNKS = 10**6
_MOST_SECONDS = 10**6


@dataclass(frozen=True, slots=True, init=False)
class SampleAndAggregate:
    """The private mean, or median, of what a function returns for each of a fixed number of random chunks of the data.

    Every person (every row, without a `unit`) falls into one chunk, at random and independently of all others, and rows
    of a chunk come in random order. Each chunk has a fresh process. A chunk without rows, and one on which the function
    raises, exits, exceeds its CPU time, or returns no real number, counts as the midpoint of the bounds; other answers
    are clamped to the bounds. So one person moves one answer, and the mean by at most (upper − lower)/chunks, whether
    the person is added, removed or replaced.

    Parameters
    ----------
    function
        Takes a chunk, of the kind of the data, and returns a number. It must be defined at the top of a module, so
        that a fresh process can load it. It must know nothing of the data but its chunk, and is trusted with that:
        processes share the machine's files and network.
    chunks
        How many; public. More mean less noise, and fewer rows for the function to see.
    bounds
        The public (lower, upper) of the answers.
    spend
        `dp.pure(ε)`, `dp.approx(ε, δ)` or `dp.rho(ρ)`; for the mean also `dp.mu(μ)`.
    aggregator
        ``"mean"``, with discrete Laplace noise, discrete Gaussian noise for a spend in ρ, or Gaussian noise for one in
        μ; or ``"median"``, by `SmoothSensitivity`, with the noise that it takes for the spend.
    unit
        The column that says which rows are one person's; rows without a value there count as one person. For a NumPy
        array a field's name, or a column's number.
    cpu_seconds
        CPU time for each chunk, rounded up to whole seconds. Waiting is not limited. How long a release takes depends
        on the data, and is not hidden.

    Raises `ParameterError` for an argument out of its range, which never depends on data. Needs Linux or macOS.
    Source: Nissim, Raskhodnikova and Smith 2007, section 4, with the constants of ``proofs/sample_and_aggregate.md``.

    >>> import statistics
    >>> from discreet.privacy import pure
    >>> SampleAndAggregate(statistics.fmean, chunks=100, bounds=(0, 1), spend=pure(1)).loss()
    pure(1)
    """

    function: Callable[[Any], Any]
    chunks: int
    bounds: tuple[Fraction, Fraction]
    spend: Loss
    aggregator: Aggregator
    unit: str | int | None
    cpu_seconds: int

    __repr__ = call_repr

    def __init__(  # noqa: PLR0913 (all but the first by keyword)
        self,
        function: Callable[[Any], Any],
        *,
        chunks: int,
        bounds: tuple[Number, Number],
        spend: Loss,
        aggregator: Aggregator = "mean",
        unit: str | int | None = None,
        cpu_seconds: Number = 10,
    ) -> None:
        seconds = rational(cpu_seconds, "cpu_seconds")
        if not callable(function):
            raise ParameterError("function must be callable: it takes a chunk of the data and returns a number")
        if isinstance(chunks, bool) or not isinstance(chunks, int) or not 1 <= chunks <= _MOST_CHUNKS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"chunks must be a whole number from 1 to a million, got {chunks!r}")
        if aggregator not in {"mean", "median"}:
            raise ParameterError(f"aggregator must be 'mean' or 'median', got {aggregator!r}")
        if not 0 < seconds <= _MOST_SECONDS:
            raise ParameterError(f"cpu_seconds must be above 0 and at most a million, got {cpu_seconds!r}")
        for name, value in (
            ("function", function),
            ("chunks", chunks),
            ("bounds", _interval(bounds)),
            ("spend", spend),
            ("aggregator", aggregator),
            ("unit", unit),
            ("cpu_seconds", math.ceil(seconds)),
        ):
            object.__setattr__(self, name, value)
        self.loss()  # a spend that the noise cannot meet is refused now

    def loss(self) -> Loss:
        """What a release costs, at most the spend: under add/remove and under substitution alike.

        Source: ``proofs/sample_and_aggregate.md``.
        """
        return self.median.loss() if self.aggregator == "median" else self._noise.loss(_STEPS)

    def release(self, data: Any) -> float:
        """The mean or median of the chunks' answers, with noise, in the unit of the answers.

        Takes as many processes as there are CPUs. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        Parameters
        ----------
        data
            A NumPy array of 1 dimension or more, rows first; an Arrow table, batch or array; or a pandas data frame
            or series. Column names and types are taken to be public, the index of a pandas object is left out.

        Raises `ParameterError` if the data are of another kind, if the unit is not a column, and if a fresh process
        cannot load the function. Source: ``proofs/sample_and_aggregate.md``.
        """
        rows = frame(data)
        person = persons(rows, self.unit)
        sent = check_function(self.function)
        with elapsed():
            steps = self._before_noise(rows, person, sent, draws(len(rows), int(person.max(initial=-1)) + 1))
        return self._with_noise(steps)

    def rehearse(self, data: Any) -> float:
        """What `release` might return for **public or made-up** data: the same chunks and noise, all in this process.

        Fast, and for trying things only: nothing here keeps chunks apart or limits their time, and any function will
        do. `data` and what is raised as for `release`; what the function raises counts as no answer.
        """
        rows = frame(data)
        person = persons(rows, self.unit)
        chosen = assignment(person, self.chunks, draws(len(rows), int(person.max(initial=-1)) + 1))
        return self._with_noise([self._steps(here(self.function, cut(rows, rows_of))) for rows_of in chosen])

    def _with_noise(self, steps: list[int]) -> float:
        lower, step = self.bounds[0], self._answer_step
        if self.aggregator == "median":
            return self.median.release([float(lower + each * step) for each in steps])
        return float(lower + self._noise.release(sum(steps)) * step / self.chunks)

    def _before_noise(self, rows: Any, person: Any, sent: bytes, drawn: Any) -> list[int]:
        """Each chunk's answer, in steps above the lower bound. SENSITIVE."""
        chosen = assignment(person, self.chunks, drawn)
        return [
            self._steps(each) for each in answers(sent, (cut(rows, rows_of) for rows_of in chosen), self.cpu_seconds)
        ]

    def _steps(self, number: float) -> int:
        lower, upper = self.bounds
        if math.isnan(number):
            return _STEPS // 2
        if math.isinf(number):
            return _STEPS if number > 0 else 0
        return round((max(lower, min(Fraction(number), upper)) - lower) / self._answer_step)

    @property
    def step(self) -> Fraction:
        """The grid of what is released, in the unit of the answers."""
        return self.median.step if self.aggregator == "median" else self._answer_step / self.chunks

    @property
    def _answer_step(self) -> Fraction:
        return (self.bounds[1] - self.bounds[0]) / _STEPS

    @property
    def _noise(self) -> DiscreteLaplace | DiscreteGaussian | Gaussian:
        match currency(self.spend):
            case "rho":
                return DiscreteGaussian.calibrate(self.spend, _STEPS)
            case "mu":
                return Gaussian.calibrate(self.spend, _STEPS)
            case _:
                return DiscreteLaplace.calibrate(self.spend, _STEPS)

    @property
    def std(self) -> float:
        """The standard deviation of the noise on the mean of the chunks' answers, in their unit. Public."""
        return self._noise.std * float(self._answer_step / self.chunks)

    @property
    def median(self) -> SmoothSensitivity:
        """How the median is released: the answers are data of public size, of which neighbours change one value."""
        return SmoothSensitivity("median", bounds=self.bounds, spend=self.spend, relation="substitute")


def _interval(bounds: object) -> tuple[Fraction, Fraction]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(f"bounds must be a pair (lower, upper) of public numbers, got {bounds!r}")
    lower, upper = (rational(each, "bounds") for each in bounds)
    if not -(2**1000) <= lower < upper <= 2**1000:
        raise ParameterError(f"bounds must be (lower, upper) with lower < upper, at most 2**1000, got {bounds!r}")
    return lower, upper
