"""PrivUnit over public directions: a report names one, and those near the sender's vector are likelier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import integer
from discreet.local._estimate import Floats, level_of
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local._scheme import Scheme
from discreet.local.vectors._caps import MOST_CANDIDATES, best_candidates, best_likely, likely_share, slope
from discreet.local.vectors._directions import (
    DIRECTIONS,
    UNIT,
    Steps,
    at_once,
    directions,
    in_ball,
    lengths,
    normals,
    packed,
    unpacked,
)
from discreet.noise import Draws
from discreet.privacy import Loss, pure
from discreet.rational import Number, rational

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PrivUnit", "VectorEstimate"]


@dataclass(frozen=True, slots=True, eq=False)
class VectorEstimate:
    """The mean of the vectors that people hold, one entry a coordinate. It follows from reports alone.

    Attributes
    ----------
    mean
        Unbiased; it can be longer than the radius.
    stderr
        The standard error of each coordinate for the mean of the population that people were drawn from: that of the
        clients' randomness and that of the choice of people together.
    reports
        How many reports there were.
    """

    mean: Floats
    stderr: Floats
    reports: int

    @property
    def error(self) -> float:
        """The root of the mean square of the distance, in l2, between this mean and the population's: √Σ stderr²."""
        return float(np.sqrt((self.stderr**2).sum()))

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each coordinate of the population's mean, by the normal approximation.

        For some hundreds of reports; each coordinate has its own interval, so for all d at once take
        1 − (1 − level)/d. Raises `ParameterError` unless 0 < level < 1.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        half = float(ndtri((1 + level_of(level)) / 2)) * self.stderr
        return self.mean - half, self.mean + half

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value (the coordinate, from 0), mean, stderr, and the interval's low and high."""
        import pyarrow as pa

        low, high = self.interval(level)
        numbers = {"mean": self.mean, "stderr": self.stderr, "low": low, "high": high}
        return pa.table({"value": pa.array(np.arange(self.mean.size)), **{k: pa.array(v) for k, v in numbers.items()}})


_MOST_DIMENSION = 2**16
_LARGEST = Fraction(10) ** 300
_BOOKS = 2**48
_SQUARE = 2**12
"""In what units of 2**−32 the server adds up squares of coordinates."""


@dataclass(frozen=True, slots=True, init=False)
class PrivUnit(Scheme[VectorEstimate]):
    """Reports a direction, e^ε times as likely if it is among those nearest to the sender's vector.

    For the mean of vectors within `radius` of 0, in l2; a longer one counts as the one of length `radius` in its
    direction. A report is 7 or 8 bytes whatever the dimension: it names one of 2**48 public books, drawn without
    looking at the vector, and one of the `candidates` that the book lists. Of all mechanisms whose reports are averaged
    without bias PrivUnit with the best cap has the least error in the worst case, and this is within 2 % of it up to
    ε = 12; beyond, 2**16 candidates are too few to tell more. Shorter vectors have that error too. Pure ε-local
    privacy, exactly, whatever the directions are. Raises `ParameterError` unless 1 ≤ dimension ≤ 2**16, 1e-6 ≤ ε ≤ 100,
    1e-300 ≤ radius ≤ 1e300, and for parameters out of the ranges below.
    Source: Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018, "Protection Against Reconstruction and Its Applications
    in Private Federated Learning"; Asi, Feldman and Talwar 2022, "Optimal Algorithms for Mean Estimation under Local
    Differential Privacy" (the best cap); ``proofs/vectors.md``.

    Parameters
    ----------
    candidates
        How many directions a client ranks, an even number up to 2**16, which is its work: candidates·dimension/2
        coordinates. By default the least power of two that is within 2 %.
    likely
        How many of them are likely, up to half. By default the number with the least error.

    >>> scheme = PrivUnit(dimension=3, epsilon=4)
    >>> estimate = scheme.server().add(scheme.client().encode([[0.5, -0.5, 0.0]] * 20_000)).estimate()
    >>> low, high = estimate.interval(level="0.999999999")
    >>> bool((low < [0.5, -0.5, 0.0]).all() and (high > [0.5, -0.5, 0.0]).all())
    True
    """

    protocol: ClassVar[str] = "priv_unit"
    hash_names: ClassVar[tuple[str, ...]] = (DIRECTIONS,)

    dimension: int
    epsilon: Fraction
    radius: Fraction
    candidates: int
    likely: int
    longitudinal: Longitudinal

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        dimension: int,
        epsilon: Number,
        *,
        radius: Number = 1,
        candidates: int | None = None,
        likely: int | None = None,
        longitudinal: Longitudinal = "once",
    ) -> None:
        size, exact = integer(dimension, "dimension", 1, _MOST_DIMENSION), epsilon_of(epsilon)
        wide = rational(radius, "radius")
        if not 1 / _LARGEST <= wide <= _LARGEST:
            raise ParameterError(f"radius must be from 1e-300 to 1e300, got {radius!r}; it is the longest vector's")
        if candidates is None:
            if likely is not None:
                raise ParameterError("likely says how many of the candidates; give candidates beside it, or leave it")
            candidates = best_candidates(size, exact)
        if integer(candidates, "candidates", 2, MOST_CANDIDATES) % 2:
            raise ParameterError(f"candidates are pairs of opposite directions: an even number, got {candidates!r}")
        if likely is None:
            likely = best_likely(size, exact, int(candidates))
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "radius", wide)
        object.__setattr__(self, "candidates", int(candidates))
        object.__setattr__(self, "likely", integer(likely, "likely", 1, int(candidates) // 2))
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes their vector to any other."""
        return pure(self.epsilon)

    @property
    def layout(self) -> Layout:
        """The book and the number of the direction in it."""
        return Layout((self._books, self.candidates))

    @property
    def cells(self) -> int:
        """The sum of each coordinate, and then of each one's square."""
        return 2 * self.dimension

    @property
    def reach(self) -> tuple[int, int]:
        """A coordinate from −2**16, and a square up to 2**20."""
        return -UNIT, UNIT**2 // _SQUARE

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, and the name of the directions' specification."""
        return {
            "dimension": self.dimension,
            "epsilon": str(self.epsilon),
            "radius": str(self.radius),
            "candidates": self.candidates,
            "likely": self.likely,
            "hash": DIRECTIONS,
        }

    def prepare(self, values: Any) -> NDArray[Any]:
        """One vector or many, in steps of radius / 2**20, as bytes."""
        return packed(in_ball(values, self.dimension, float(self.radius)))

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A book; by a coin one of the likely directions in it, or any. A short vector may first be turned round."""
        vectors = unpacked(prepared, self.dimension)
        people = len(vectors)
        book = draws.below(self._books, people)
        place = draws.below(self.likely, people)
        number = draws.below(self.candidates, people)
        chosen = draws.coins(likely_share(self.epsilon, self.candidates, self.likely), people)
        turned = draws.steps(np.rint((1 - lengths(vectors)) * 2.0**31).astype(np.uint64))
        near = self._ranked(vectors, book, place) ^ turned
        return self.layout.pack(book, np.where(chosen, near, number))

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Add the coordinates of the directions, and their squares."""
        book, number = fields.numbers
        some = at_once(self.dimension)
        for start in range(0, book.size, some):
            rows = slice(start, start + some)
            vectors = directions(book[rows], number[rows] >> 1, self.dimension)
            sign = (1 - 2 * (number[rows] & 1)).astype(np.float64)
            counts[: self.dimension] += (sign @ vectors).astype(np.int64)
            counts[self.dimension :] += np.rint(vectors**2 / _SQUARE).sum(axis=0).astype(np.int64)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> VectorEstimate:
        """The mean direction over `slope`, and the reports' own variance."""
        if candidates is not None:
            raise ParameterError("this scheme estimates every coordinate; estimate() takes no candidates here")
        per_unit = self.slope * UNIT
        mean = counts[: self.dimension] / (reports * per_unit)
        square = counts[self.dimension :] * (_SQUARE / per_unit**2) / reports
        stderr = np.sqrt(np.maximum(square - mean**2, 0) / reports)
        radius = float(self.radius)
        return VectorEstimate(radius * mean, radius * stderr, reports)

    @property
    def slope(self) -> float:
        """The mean of ⟨direction reported, sender's direction⟩, by which the server divides."""
        return slope(self.dimension, self.epsilon, self.candidates, self.likely)

    def variance(self, values: ArrayLike) -> float:
        """The mean squared distance in l2 of the estimate, times n, were these the vectors that people hold.

        That is radius²/slope² less their mean square, over the randomness of the clients. Does not depend on data and
        costs no privacy. Raises `ParameterError` as `client().encode`.

        >>> round(PrivUnit(dimension=100, epsilon=4).variance([1] + [0] * 99), 1)
        43.4
        """
        share = lengths(in_ball(values, self.dimension, float(self.radius)))
        return float(self.radius) ** 2 * (self.slope**-2 - float((share**2).mean()))

    @property
    def _books(self) -> int:
        return _BOOKS

    def _ranked(self, vectors: Steps, book: Integers, place: Integers) -> Integers:
        """The candidate at this place, from 0, when those of the book are ranked by inner product with the vector.

        Candidates 2l and 2l + 1 are the direction of line l and its opposite. Equals are ranked by line. Inner products
        of whole numbers are exact, in whatever order they are added: 2**8·2**16 (normals) times 2**20 is below 2**53.
        """
        lines = np.arange(self.candidates // 2)
        some = at_once(self.dimension)
        numbers = np.empty(len(vectors), dtype=np.int64)
        people = max(1, some // lines.size)
        for start in range(0, len(vectors), people):
            rows = slice(start, start + people)
            blocks = [
                _inner(vectors[rows], book[rows], lines[first : first + some]) for first in range(0, lines.size, some)
            ]
            inner = np.concatenate(blocks, axis=1)
            order = np.argsort(-np.abs(inner), axis=1, kind="stable")
            line = np.take_along_axis(order, place[rows, None], axis=1)
            numbers[rows] = (2 * line + (np.take_along_axis(inner, line, axis=1) < 0))[:, 0]
        return numbers


def _inner(vectors: Steps, books: Integers, lines: Integers) -> NDArray[np.float64]:
    """The inner product of each vector with the directions of these lines of its book."""
    people, dimension = vectors.shape
    candidates = normals(np.repeat(books, lines.size), np.tile(lines, people), dimension).reshape(people, -1, dimension)
    inner = np.matmul(candidates, vectors.astype(np.float64)[:, :, None])[:, :, 0]
    return inner / np.sqrt(np.einsum("ijk,ijk->ij", candidates, candidates))
