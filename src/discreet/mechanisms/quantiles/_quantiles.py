"""Quantiles: one or many, by the exponential mechanism, each in what earlier ones cut off or all of them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import level_of, log_of, positive_of, range_within
from discreet.mechanisms.quantiles._cuts import Stretch, draw_cut
from discreet.mechanisms.quantiles._joint import LEAST_EPSILON, MOST_CELLS, MOST_EPSILON, MOST_QUANTILES, Joint
from discreet.noise import uniform64
from discreet.privacy import BoundedRangeLoss, Loss, Relation, budget_of
from discreet.rational import Number, decimal_text, rational
from discreet.reprs import call_repr
from discreet.sensitivity import adds_or_removes, clamped, interval

__all__ = ["Quantiles"]

_POSITION_BITS = 62
_MOST_STEPS = 2**40
_DEFAULT_STEPS = 2**20
_WIDEST_WINDOW = 64

Method = Literal["recursive", "joint"]
Probabilities = Number | Sequence[Number] | NDArray[Any]


@dataclass(frozen=True, slots=True, init=False)
class Quantiles:
    """The p-quantile, for one p or for many: a t with about p n of n records at most t, the likelier the closer.

    How far t is from p n records is 0 if p n lies between #{x < t} and #{x ≤ t}, and else the distance to the nearer
    of them, so that tied values cost nothing. One quantile is t with probability ∝ exp(−rate · distance). Of many,
    drawn recursively, the middle one is first and cuts the data in two; each half answers for its own, and so on: every
    record counts once per level, and there are ⌊log₂ m⌋ + 1 levels for m quantiles. Drawn jointly, they are the
    likelier the closer the numbers of records between them are to their shares: at equal ε the error is about half.

    Parameters
    ----------
    probabilities
        One p between 0 and 1, or several in rising order. Texts such as ``"1/3"`` are exact.
    bounds
        The public (lower, upper) of the data, in the unit of the data. Records are clamped to them, and what is no
        number counts as the lower one: to refuse it would tell that it was there.
    epsilon
        The bounded range of each level; the pure ε of all is `levels` times that, or just that if drawn jointly.
        `calibrate` takes the total.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``. A substitution needs about twice the ε.
    step
        The public grid of the answers, lower + k · step, to which records are rounded: 1 for ages in years. It must
        divide the width of the bounds into 2**40 parts or fewer; without it they are 2**20.
    method
        ``"recursive"``, or ``"joint"`` for 2 to 20 quantiles on a grid of 1024 points at most, and ε from 1/2**40 to
        2**10. `calibrate` chooses by itself.

    Raises `ParameterError` for an argument out of its range, which never depends on data.
    Source: Smith 2011 for one quantile; Kaplan, Schnapp and Stemmer 2022 for recursion; Gillenwater, Joseph and Kulesza
    2021 for joint draws; the rates, which are up to twice theirs, and the ties in ``proofs/quantiles.md``.

    >>> quartiles = Quantiles(["1/4", "1/2", "3/4"], bounds=(0, 100), epsilon=5, step=1)
    >>> quartiles.release(range(100_000)), quartiles.loss()
    (array([100., 100., 100.]), 2 * bounded_range(5))
    """

    probabilities: Fraction | tuple[Fraction, ...]
    bounds: tuple[Fraction, Fraction]
    epsilon: Fraction
    relation: Relation
    step: Fraction
    method: Method

    __repr__ = call_repr

    def __init__(  # noqa: PLR0913 - one name per field
        self,
        probabilities: Probabilities,
        bounds: tuple[Number, Number],
        epsilon: Number,
        *,
        relation: Relation = "add_remove",
        step: Number | None = None,
        method: Method = "recursive",
    ) -> None:
        interval(bounds)
        ends = rational(bounds[0], "bounds"), rational(bounds[1], "bounds")
        adds_or_removes(relation)
        for name, value in (
            ("probabilities", _probabilities_of(probabilities)),
            ("bounds", ends),
            ("epsilon", positive_of(epsilon, "epsilon")),
            ("relation", relation),
            ("step", _step_of(ends[1] - ends[0], step)),
            ("method", method),
        ):
            object.__setattr__(self, name, value)
        if method == "joint":
            self._refuse_unless_joint()
        elif method != "recursive":
            raise ParameterError(f"method must be 'recursive' or 'joint', got {method!r}")

    def _refuse_unless_joint(self) -> None:
        if not self._could_be_joint:
            raise ParameterError(
                f"method='joint' is for 2 to {MOST_QUANTILES} quantiles on a grid of {MOST_CELLS} points at most, got "
                f"{len(self._asked)} on {self._cells}; use a larger step, or method='recursive'"
            )
        if not LEAST_EPSILON <= self.epsilon <= MOST_EPSILON:
            raise ParameterError(
                f"method='joint' takes an epsilon from 1/2**40 to {MOST_EPSILON}, got {decimal_text(self.epsilon)}; "
                "use method='recursive'"
            )

    @classmethod
    def calibrate(  # noqa: PLR0913 - one name per field
        cls,
        spend: Loss,
        *,
        probabilities: Probabilities,
        bounds: tuple[Number, Number],
        relation: Relation = "add_remove",
        step: Number | None = None,
        method: Method | None = None,
    ) -> Quantiles:
        """The mechanism with the largest ε that the spend allows, in its own currency.

        With d `levels`, the recursive one costs dε, (dε, δ), ρ = dε²/8, or μ; the joint one ε, (ε, δ), at most
        ρ = ε²/8, or μ. Without a `method` it is joint wherever that can be, but for a spend in ρ or μ: all that is
        public. A spend in (ε, δ) is taken at its ε. Costs no privacy. Raises `ParameterError` as the constructor does,
        and for a spend of nothing. Source: ``proofs/quantiles.md``.

        >>> from discreet.privacy import pure
        >>> Quantiles.calibrate(pure(1), probabilities="0.5", bounds=(0, 120), step=1).epsilon
        Fraction(1, 1)
        >>> Quantiles.calibrate(pure(1), probabilities=["0.25", "0.5", "0.75"], bounds=(0, 120), step=1).method
        'joint'
        """
        recursive = cls(probabilities, bounds, 1, relation=relation, step=step)
        if method is None:
            method = recursive._better(spend)
        if method == "joint":
            joint = cls(probabilities, bounds, 1, relation=relation, step=step, method=method)
            epsilon = range_within(spend, counted=joint._joint.counted)  # the share of an ε of 1
        else:
            epsilon = range_within(spend, recursive.levels)
        return cls(probabilities, bounds, epsilon, relation=relation, step=step, method=method)

    def _better(self, spend: Loss) -> Method:
        """By public facts alone, and by what ``bench/quantiles.py`` measures."""
        currency, (epsilon, *_) = budget_of(spend)
        if not self._could_be_joint or currency in ("rho", "mu"):
            return "recursive"
        return "joint" if LEAST_EPSILON <= epsilon <= MOST_EPSILON else "recursive"

    @property
    def levels(self) -> int:
        """How often a record is used: ⌊log₂ m⌋ + 1 times for m quantiles if recursive, else once. Public."""
        return 1 if self.method == "joint" else len(self._asked).bit_length()

    @property
    def _asked(self) -> tuple[Fraction, ...]:
        return self.probabilities if isinstance(self.probabilities, tuple) else (self.probabilities,)

    @property
    def _cells(self) -> int:
        return int((self.bounds[1] - self.bounds[0]) / self.step) + 1

    @property
    def _could_be_joint(self) -> bool:
        return 2 <= len(self._asked) <= MOST_QUANTILES and self._cells <= MOST_CELLS

    @property
    def _joint(self) -> Joint:
        return Joint(self._asked, self._cells, self.epsilon, self.relation)

    @property
    def _jitter_bits(self) -> int:
        return _POSITION_BITS - (self._cells - 1).bit_length()

    def loss(self) -> Loss:
        """One loss of ε-bounded range per level, composed as adaptive; for the `relation` given.

        If joint, of ε-bounded range; or, for three quantiles or more under add/remove, pure ε/12 and then 11ε/12 of it.

        Source: ``proofs/quantiles.md``.

        >>> Quantiles("0.5", (0, 1), epsilon=2).loss().rho(), Quantiles([0.1, 0.5], (0, 1), epsilon=2).loss().rho()
        (0.5, 1.0)
        """
        if self.method == "joint":
            return self._joint.loss()
        level = BoundedRangeLoss(self.epsilon)
        return level if self.levels == 1 else self.levels * level

    def release(self, x: Any) -> float | NDArray[np.float64]:
        """The quantiles, in the unit of the data: an array that never falls, or a float for one p given by itself.

        `x` holds one number per record: a sequence, a NumPy array, an Arrow array or a column of a data frame; it may
        be empty. Takes O(n log n). Costs `loss()`, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError` unless x has one dimension. Source: ``proofs/quantiles.md``.
        """
        lower, upper = (float(each) for each in self.bounds)
        place = (clamped(x, lower, upper) - lower) / (upper - lower) * (self._cells - 1)
        cells = np.floor(place + 0.5).astype(np.int64)
        return self._answers(
            self._joint.drawn(cells) if self.method == "joint" else self._drawn(cells, self._jitter_bits)
        )

    def release_counts(self, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> float | NDArray[np.float64]:
        """The quantiles of counted data: counts[i] records at lower + cells[i] · step; else as `release`.

        `cells` rise strictly from 0 on and no count is negative. One quantile takes time and memory by the cells alone;
        many drawn recursively by the records, 8 bytes each. Costs `loss()`, **and charges nobody**. Raises
        `ParameterError` for arrays that are not so: what is counted must not depend on data. Source:
        ``proofs/quantiles.md``.

        >>> Quantiles("0.5", (0, 9), epsilon=50, step=1).release_counts(np.array([2, 7]), np.array([10, 1000]))
        7.0
        """
        cells, counts = cells.astype(np.int64), counts.astype(np.int64)
        rising = cells.ndim == 1 and cells.shape == counts.shape and bool((np.diff(cells) > 0).all())
        if not rising or (cells.size and (cells[0] < 0 or cells[-1] >= self._cells or counts.min() < 0)):
            raise ParameterError(
                "counted data are cells of the grid in rising order, and a count of 0 or more for each"
            )
        if self.method == "joint":
            return self._answers(self._joint.drawn(cells, counts))
        if self.levels > 1:
            return self._answers(self._drawn(np.repeat(cells, counts), self._jitter_bits))
        some = counts > 0
        data = Stretch(cells[some], 0, self._cells - 1, 0, np.cumsum(counts[some]))
        return self._answers(self._cuts(data, self._asked, Fraction(0), Fraction(1)))

    def _answers(self, cells: list[int]) -> float | NDArray[np.float64]:
        answers = [float(self.bounds[0] + self.step * cell) for cell in cells]
        return np.array(answers) if isinstance(self.probabilities, tuple) else answers[0]

    def _drawn(self, cells: NDArray[np.int64], jitter_bits: int) -> list[int]:
        """The cell of each quantile. Records of one cell get random places in it, so that a cut can part them."""
        y = cells << jitter_bits
        if self.levels > 1 and jitter_bits:
            y += (uniform64(y.size) >> np.uint64(64 - jitter_bits)).astype(np.int64)
        y.sort()
        data = Stretch(y, 0, (self._cells << jitter_bits) - 1, jitter_bits)
        return [cut >> jitter_bits for cut in self._cuts(data, self._asked, Fraction(0), Fraction(1))]

    def _cuts(self, data: Stretch, asked: tuple[Fraction, ...], start: Fraction, stop: Fraction) -> list[int]:
        """The cuts asked for, all between those of probability `start` and `stop` that bound the data."""
        if not asked:
            return []
        middle = len(asked) // 2
        p = asked[middle]
        cut_data = data if len(asked) == 1 else replace(data, cell_bits=0)
        cut = draw_cut(cut_data, (p - start) / (stop - start), self._rate(p, start, stop))
        left, right = data.parted(cut)
        return [
            *self._cuts(left, asked[:middle], start, p),
            cut,
            *self._cuts(right, asked[middle + 1 :], p, stop),
        ]

    def _rate(self, p: Fraction, start: Fraction, stop: Fraction) -> Fraction:
        """By how much an exponent falls per record of distance: ``proofs/quantiles.md``, sections 1 and 2."""
        share = (p - start) / (stop - start)
        span = 2 * max(share, 1 - share)
        if self.relation == "substitute":
            span = 2 * span if stop - start < 1 else Fraction(2)
        return self.epsilon / span

    def error(self, level: Number = 0.95, *, records: int) -> float:
        """How many records any answer t is off at most, for all quantiles together with probability `level` or more.

        That is how far p n is from the interval [#{x < t}, #{x ≤ t}], for n up to `records`. For one quantile it is
        ln(points of the grid / (1 − level)) / rate, whatever `records` is. For many it is for the worst data, and far
        above what others see. Does not depend on data and costs no privacy. Raises `ParameterError` unless
        0 < level < 1 and records ≥ 0. Source: ``proofs/quantiles.md``.

        >>> round(Quantiles("0.5", (0, 120), epsilon=1, step=1).error(records=10_000), 1)
        7.8
        """
        miss = 1 - level_of(level)
        if isinstance(records, bool) or not isinstance(records, int) or records < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"records must be a whole number, 0 or more, got {records!r}")
        if self.method == "joint":
            bound = self._joint.error(records, miss)
        elif self.levels == 1:
            bound = self._farthest(self._asked, _Known(), _Known(Fraction(1)), log_of(self._cells / miss), 0)
        else:
            windows = range(1, min(_WIDEST_WINDOW, records - 1) + 1)
            bound = min((self._bound(records, window, miss) for window in windows), default=math.inf)
        return min(float(records), bound * (1 + 1e-9))

    def _bound(self, records: int, window: int, miss: Fraction) -> float:
        """What holds unless, with half of `miss`, jitter puts `window` records among the `length` places after one."""
        sets = records * math.comb(records - 1, window)
        log_length = self._jitter_bits * math.log(2) + (log_of(miss / 2) - math.log(sets)) / window
        if log_length < 0:
            return math.inf
        cuts = Fraction(self._cells << self._jitter_bits, math.floor(math.exp(log_length)))
        log_odds = log_of(2 * len(self._asked) * cuts / miss)
        return self._farthest(self._asked, _Known(), _Known(Fraction(1)), log_odds, window)

    def _farthest(
        self, asked: tuple[Fraction, ...], below: _Known, above: _Known, log_odds: float, window: int
    ) -> float:
        """How far any answer is off at most, where every cut is at most window + log_odds / rate from its target."""
        if not asked:
            return 0.0
        middle = len(asked) // 2
        p = asked[middle]
        share = float((p - below.p) / (above.p - below.p))
        own = window + log_odds / float(self._rate(p, below.p, above.p))
        answer = own + (1 - share) * below.off + share * above.off
        cut = _Known(p, answer + window)
        return max(
            answer,
            self._farthest(asked[:middle], below, cut, log_odds, window),
            self._farthest(asked[middle + 1 :], cut, above, log_odds, window),
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """A cut, and how many records it is off at most; the ends of the data are where they are."""

    p: Fraction = Fraction(0)
    off: float = 0.0


def _probabilities_of(given: object) -> Fraction | tuple[Fraction, ...]:
    many = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(many, Sequence) or isinstance(many, str | bytes | bytearray):
        return _probability(many)
    probabilities = tuple(_probability(each) for each in many)
    if not probabilities or any(low >= high for low, high in pairwise(probabilities)):
        raise ParameterError("probabilities must be one or more numbers in rising order, each given once")
    return probabilities


def _probability(given: object) -> Fraction:
    exact = rational(cast("Number", given), "a probability")
    if not 0 < exact < 1:
        raise ParameterError(
            f"a probability must be between 0 and 1, both excluded, got {decimal_text(exact)}; "
            "of the least and the largest value, only the public bounds are known for certain"
        )
    return exact


def _step_of(width: Fraction, step: Number | None) -> Fraction:
    if step is None:
        return width / _DEFAULT_STEPS
    exact = positive_of(step, "step")
    steps = width / exact
    if steps.denominator != 1 or not 1 <= steps <= _MOST_STEPS:
        raise ParameterError(
            "step must divide the width of the bounds into a whole number of parts, 2**40 at most; "
            f"{decimal_text(width)} / {decimal_text(exact)} is {decimal_text(steps)}"
        )
    return exact
